"""Exchanges are grouped at a session's end, and what is joined or split later keeps its links (spec V3)."""

from datetime import timedelta
from pathlib import Path

import pytest

from gitmem.errors import NotFoundError, RefusedError
from gitmem.history.undo import undo
from gitmem.lessons.concepts import find_concept, group, known_concepts, merge, split
from gitmem.sessions.end import replay
from gitmem.sessions.exchanges import save_exchanges
from gitmem.sessions.turns import Turn
from gitmem.store.store import Store


def worked(desk, session: str, *tasks: tuple[str, str, str], later=timedelta(0)) -> list[Turn]:
    """Have a session end in which these were asked, answered, and these files changed."""
    desk.clock.now += timedelta(days=1) + later
    turns = []
    for number, (asked, answer, file) in enumerate(tasks):
        at = desk.clock.now + timedelta(minutes=number)
        files = (file,) if file else ()
        turns.append(Turn(session, "claude-code", f"t{number}", at, at, asked, answer, files, tools=1, closed=True))
    desk.store = Store(desk.store.root, desk.store.context)
    save_exchanges(desk.store, session, "claude-code", turns)
    group(desk.store, session, "claude-code", turns)
    return turns


PARSER = ("Make the parser read CRLF", "Changed the parser to read CRLF line ends.", "src/parser.py")
FASTER = ("The parser is slow on CRLF files", "Made the parser cache its tokens for CRLF files.", "src/parser.py")
DEPLOY = ("Deploy to Fly", "Added a Fly configuration for the release branch.", "fly.toml")


def test_sessions_are_grouped_by_what_they_are_about(desk, bare_git):
    worked(desk, "s-1", PARSER, ("commit it", "Committed it.", ""))
    worked(desk, "s-2", DEPLOY, FASTER)
    parser, fly = sorted(known_concepts(desk.store), key=lambda one: one.name)[::-1]
    assert fly.name.startswith("fly.toml: ")
    assert parser.name.startswith("parser.py: ")
    assert (len(parser.exchanges), len(fly.exchanges)) == (3, 1)
    text = desk.text(parser.path)
    assert text.count("(../sessions/2026/11/") == 3
    for line in text.split("\n- ")[1:]:
        link = line.partition("](../")[2].partition(")")[0]
        assert line.split()[-1] in desk.text(link)
    root = Path(desk.store.root)
    assert bare_git(root, "status", "--porcelain") == ""
    assert bare_git(root, "log", "-1", "--format=%s").startswith("Group into 2 concepts, 1 new: ")


def test_again_it_adds_nothing(desk, recorder, bare_git):
    path = recorder.write()
    replay(desk.store, path)
    tip = desk.store.tip
    assert known_concepts(desk.store)
    replay(Store(desk.store.root, desk.store.context), path)
    assert desk.store.tip == tip


def test_to_merge_keeps_every_link(desk):
    worked(desk, "s-1", PARSER)
    worked(desk, "s-2", DEPLOY)
    one, other = sorted(known_concepts(desk.store), key=lambda found: found.created)
    assert merge(desk.store, one, one) == ()
    merge(desk.store, one, other)
    [whole] = known_concepts(desk.store)
    assert set(whole.exchanges) == {*one.exchanges, *other.exchanges}
    assert find_concept(desk.store, other.id) == whole
    assert all(identifier in desk.text(whole.path).partition("---\n#")[2] for identifier in whole.exchanges)
    worked(desk, "s-3", ("Deploy to Fly again", "Changed the Fly configuration of the release branch.", "fly.toml"))
    assert len(find_concept(desk.store, other.id).exchanges) == 3


def test_to_split_keeps_every_link_and_can_be_undone(desk):
    worked(desk, "s-1", PARSER, ("commit it", "Committed it.", ""))
    worked(desk, "s-2", FASTER)
    [concept] = known_concepts(desk.store)
    [commit] = split(desk.store, concept, [concept.exchanges[2]], "Speed of the parser")
    rest, part = find_concept(desk.store, concept.id), find_concept(desk.store, "Speed")
    assert (*rest.exchanges, *part.exchanges) == concept.exchanges
    assert part.exchanges[0] in desk.text(part.path).partition("---\n#")[2]
    assert part.exchanges[0] not in desk.text(rest.path)
    with pytest.raises(NotFoundError):
        split(desk.store, rest, ["zzz"], "x")
    with pytest.raises(RefusedError):
        split(desk.store, rest, list(rest.exchanges), "x")
    undo(desk.store, revision=commit)
    assert find_concept(desk.store, concept.id).exchanges == concept.exchanges


def test_a_concept_is_found_by_its_id_or_name(desk):
    worked(desk, "s-1", PARSER)
    [concept] = known_concepts(desk.store)
    for name in (concept.id, concept.id[:5], "Parser.PY", concept.path):
        assert find_concept(desk.store, name) == concept
    for name in ("", "nothing"):
        with pytest.raises(NotFoundError):
            find_concept(desk.store, name)
