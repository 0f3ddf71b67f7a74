"""What episodes, concepts, error patterns and facts are without exchanges that are undone. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection

from gitmem.document.document import Document
from gitmem.document.entry import LINKS, find_section
from gitmem.model.concept import lines_of, parse_concept, render_changed
from gitmem.model.episode import Episode, episode_path, parse_episode, render_episode
from gitmem.model.fact import CONFIRMED, parse_changeable, render_fact
from gitmem.model.pattern import parse_pattern, render_pattern, unseen
from gitmem.model.request import classify

Changes = dict[str, bytes | None]


def without_exchanges(path: str, data: bytes, gone: Collection[str]) -> Changes:
    """Return the changes of a file by which it tells nothing of exchanges; what tells of no others is removed."""
    kind = _KINDS.get(path.partition("/")[0])
    return kind(path, data, gone) if kind else {}


def _episode(path: str, data: bytes, gone: Collection[str]) -> Changes:
    episode = parse_episode(data, path)
    left = tuple(one for one in episode.exchanges if one not in gone) if episode else ()
    if episode is None or left == episode.exchanges:
        return {}
    if not left:
        return {path: None}
    links = tuple(line for line in episode.links if line.rpartition(" ")[2] not in gone)
    titles = [title for line in links if (title := line.partition("[")[2].rpartition("](")[0])]
    task = titles[0].partition(" \u2192 ")[0] if titles else episode.task
    again = Episode(  # nothing says which of its other parts were of the exchanges that are gone
        **{name: getattr(episode, name) for name in ("id", "session", "host", "created", "ended", "scope")},
        type=classify(task),
        task=task,
        outcome=episode.outcome if episode.exchanges[-1] in left else None,
        exchanges=left,
        links=links,
        problem=task,
        solution=titles[-1].partition(" \u2192 ")[2] if titles else "",
    )
    return {path: None, episode_path(again): render_episode(again)}


def _concept(path: str, data: bytes, gone: Collection[str]) -> Changes:
    concept = parse_concept(data, path)
    left = tuple(one for one in concept.exchanges if one not in gone) if concept else ()
    if concept is None or left == concept.exchanges:
        return {}
    if not left:
        return {path: None}
    said = " ".join(line for one, line in lines_of(Document.parse(data).body) if one not in gone).casefold()
    keywords = tuple(word for word in concept.keywords if word.casefold() in said) or concept.keywords
    return {path: render_changed(data, concept._replace(exchanges=left, keywords=keywords), (), without=gone)}


def _pattern(path: str, data: bytes, gone: Collection[str]) -> Changes:
    pattern = parse_pattern(data, path)
    left = unseen(pattern, gone) if pattern else None
    return {path: render_pattern(left) if left else None} if pattern and left != pattern else {}


def _fact(path: str, data: bytes, gone: Collection[str]) -> Changes:
    fact = parse_changeable(data, path)
    left = tuple(one for one in fact.sources if one not in gone) if fact else ()
    if fact is None or left == fact.sources:
        return {}
    is_learned = fact.origin.get("exchange") in gone and "tool" not in fact.origin and fact.confidence != CONFIRMED
    return {path: None if is_learned and not left else render_fact(fact._replace(sources=left))}


_KINDS: dict[str, Callable[[str, bytes, Collection[str]], Changes]] = {
    "episodes": _episode,
    "concepts": _concept,
    "patterns": _pattern,
    "facts": _fact,
}


def without_links(data: bytes, gone: Collection[str]) -> bytes:
    """Return a document without its links to these files, and without the section if it has no others."""
    document = Document.parse(data)
    body, there = document.body, find_section(document.body, LINKS)
    if there is None:
        return data
    lines = body[there.body : there.end].splitlines(keepends=True)
    left = [line for line in lines if line.rpartition("../")[2].rstrip().removesuffix(")") not in gone]
    before, after = body[: there.body] + "".join(left), body[there.end :]
    if not "".join(left).strip():
        before = body[: there.start].rstrip() + document.newline * (2 if after else 1)
    return data if left == lines else document.with_body(before + after).render()
