import os
from datetime import timedelta
from pathlib import Path

import pytest

from gitmem.archive.rotate import consolidate_due
from gitmem.document.entry import MemoryType, find_entries
from gitmem.document.ids import make_id
from gitmem.errors import GitmemError, NotFoundError
from gitmem.history.authors import UNKNOWN, Authors, look_up_all
from gitmem.history.authorship import FOREIGN, Manner, Origin
from gitmem.platform.machine import Context
from gitmem.record.fact_edits import find_fact
from gitmem.search.engine import answer
from gitmem.search.hits import named
from gitmem.store.store import Store
from gitmem.tell.start import start_parts, start_text
from tests.conftest import RunsGit
from tests.history.test_records import START
from tests.world import World

PIXI = "facts/decision/d7k2p9qx3mw-use-pixi.md"
FACT = "---\nid: d7k2p9qx3mw\nkind: decision\ndescription: Use pixi.\n---\n\nUse pixi.\n"


@pytest.fixture
def team(world: World) -> World:
    """Give a store that several users write to, each with a name of git's of their own."""
    world.clock.now = START
    return world


def saved(user: World, text: str, kind: MemoryType = MemoryType.DECISION, session: str = "") -> str:
    return user.save(text, kind, session=session, host="cli").id


def author(name: str) -> dict[str, str]:
    return {"GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": "someone@example.com"}


def test_a_memory_is_of_the_author_of_its_first_commit(team: World):
    ada, kim = team.by("Ada", "laptop"), team.by("김 민수")
    ours = saved(ada, "Use uv for every command of the project")
    theirs = saved(kim, "Write dates as ISO 8601 in every log", session="11112222")

    authors = Authors(ada.store)
    assert authors.other_author(ours) == ""
    assert authors.other_author(theirs) == "김 민수"
    assert authors.origin(ours) == Origin("Ada", "ada@example.org", "laptop", "cli", Manner.COMMAND)
    assert str(authors.origin(theirs)) == "by 김 민수, on box, saved by the agent"
    assert Authors(kim.store).other_author(ours) == "Ada"
    assert [authors.other_author(one) for one in (ours, theirs, "x0000000000") * 40] == [
        "",
        "김 민수",
        UNKNOWN,
    ] * 40  # from a table


def test_an_author_called_like_an_id_is_not_taken_for_one(team: World):
    ada, other = team.by("Ada"), team.by("x0000000000")
    saved(other, "Write dates as ISO 8601 in every log")
    assert Authors(ada.store).others("x0000000000", "") == UNKNOWN


def test_where_a_text_names_no_fact_those_of_others_are_listed_without_their_words(team: World):
    ada, kim = team.by("Ada"), team.by("Kim")
    ours = saved(ada, "Update the glossary before each release")
    theirs = saved(kim, "Rotate the tokens of the shop before each release")
    for text in ("before each release", "Tokens and the glossary change with a release"):
        with pytest.raises(NotFoundError) as error:
            find_fact(ada.store, text)
        assert f"{ours} Update the glossary" in error.value.remedy
        assert f"{theirs} by Kim" in error.value.remedy
        assert "shop" not in error.value.remedy


def test_an_unknown_id_has_no_origin(team: World):
    ada = team.by("Ada", team.context.machine)
    saved(ada, "Use uv for every command of the project")
    authors = Authors(ada.store)
    for unknown in ("d0000000000", "01jd0000000000000000", "", "\t", "0"):
        assert authors.origin(unknown) is None
        assert authors.other_author(unknown) == ""


def test_the_index_goes_on_and_may_be_deleted(team: World):
    ada, kim = team.by("Ada"), team.by("Kim")
    first = saved(ada, "Use uv for every command of the project")
    assert Authors(kim.store).other_author(first) == "Ada"
    second = saved(kim, "Write dates as ISO 8601 in every log")
    assert [Authors(kim.store).other_author(one) for one in (first, second)] == ["Ada", ""]
    index = Path(ada.store.private, "known", "origins")
    before = index.read_bytes()
    for broken in (b"", b"origins 2\n", before[:-5], b"\0" * 40):
        index.write_bytes(broken)
        assert [Authors(kim.store).other_author(one) for one in (first, second)] == ["Ada", ""]
    index.unlink()
    assert Authors(ada.store).other_author(second) == "Kim"
    ids = [{*text.partition(b"\n@\n")[2].split(b"\n")} for text in (index.read_bytes(), before)]
    assert {line for line in ids[0] ^ ids[1] if not line.startswith(FOREIGN.encode())} == set()


def test_a_later_commit_does_not_claim_a_memory(team: World, bare_git: RunsGit):
    ada = team.by("Ada")
    ours = saved(ada, "Use uv for every command of the project")
    assert Authors(ada.store).other_author(ours) == ""
    message = f"Claim\n\nGitmem-Op: save\nGitmem-Fact: {ours}\nGitmem-Entry: {ours}\n"
    bare_git(ada.root, "commit", "--allow-empty", "--date=2001-01-01T00:00:00Z", "-m", message, env=author("Mallory"))
    assert Authors(ada.store).other_author(ours) == ""


def test_a_later_change_does_not_claim_a_fact_of_the_user_s_that_no_trailer_named(team: World):
    team.commit_file(PIXI, FACT, "Exchange: pixi\n\nGitmem-Op: turn\nGitmem-Entry: xxt8a3yhdjr")
    team.commit_file(PIXI, f"{FACT}\n", "Edit\n\nGitmem-Fact: d7k2p9qx3mw", author=author("Kim"))
    assert Authors(team.by("Ada").store).others("d7k2p9qx3mw") == "you, changed by Kim"


def test_a_file_committed_with_plain_git_is_of_its_author(team: World):
    ada = team.by("Ada")
    team.commit_file(PIXI, FACT, author=author("Kim"))
    origin = Authors(ada.store).origin("d7k2p9qx3mw")
    assert origin is not None
    assert (origin.author, origin.manner) == ("Kim", Manner.EDIT)


@pytest.mark.parametrize(
    "message",
    [
        "Save a decision\n\nGitmem-Op: save",
        "Save a decision\n\nGitmem-Op: save\nGitmem-Entry: d7k2p9qx3mv",
        "Merge\n\nGitmem-Op: sync",
    ],
    ids=["that names no id", "that names another id", "a merge"],
)
def test_a_commit_of_gitmem_s_form_hides_no_author(team: World, bare_git: RunsGit, message: str):
    ada = team.by("Ada")
    root = ada.root
    if message.startswith("Merge"):
        bare_git(root, "checkout", "-q", "-b", "side")
        bare_git(root, "commit", "-q", "--allow-empty", "-m", "side", env=author("Kim"))
        bare_git(root, "checkout", "-q", "-")
        bare_git(root, "commit", "-q", "--allow-empty", "-m", "main", env=author("Kim"))
        bare_git(root, "merge", "-q", "--no-commit", "side")
    team.commit_file(PIXI, FACT, message, author=author("Kim"))
    assert Authors(ada.store).other_author("d7k2p9qx3mw") == "Kim"


def test_other_names_and_addresses_of_the_user_count(team: World):
    ada, work = team.by("Ada"), team.by("Ada Lovelace")
    theirs = saved(work, "Use uv for every command of the project")
    assert Authors(ada.store).other_author(theirs) == "Ada Lovelace"
    ada.configure("author:\n  also: [ADA.lovelace@example.org]\n")
    assert Authors(ada.store).other_author(theirs) == ""


def test_names_are_one_short_line(team: World, bare_git: RunsGit):
    ada = team.by("Ada")
    message = "Note\n\nGitmem-Op: save\nGitmem-Entry: d7k2p9qx3mw\n"
    name = "x\u202e\u200b" + "y" * 500
    bare_git(ada.root, "commit", "--allow-empty", "-m", message, env=author(name))
    assert len(Authors(ada.store).other_author("d7k2p9qx3mw")) <= 80


@pytest.mark.parametrize("name", ["Ada", "ADA", "you", "\u200b", "Ada\u200b"])
def test_a_name_that_shows_as_the_user_s_or_as_nothing_is_told_with_the_address(
    team: World, bare_git: RunsGit, name: str
):
    ada = team.by("Ada")
    message = "Note\n\nGitmem-Op: save\nGitmem-Entry: d7k2p9qx3mw\n"
    bare_git(ada.root, "commit", "--allow-empty", "-m", message, env=author(name))
    assert Authors(ada.store).other_author("d7k2p9qx3mw").endswith(" <someone@example.com>")


@pytest.mark.parametrize("theirs", ["theirs", "그들의 열쇠", "th\udcffirs"], ids=["ASCII", "Korean", "no UTF-8"])
def test_a_document_without_an_id_is_of_who_added_it(team: World, bare_git: RunsGit, theirs: str):
    ada = team.by("Ada")
    root = ada.root
    for name, who in (("ours", "Ada <ada@example.org>"), (theirs, "Mallory <m@example.com>")):
        (root / "knowledge").mkdir(exist_ok=True)
        try:
            (root / "knowledge" / f"{name}.md").write_bytes(b"# Keys\n\nSend the zebra keys on.\n")
        except (OSError, UnicodeError):
            pytest.skip("this file system has no such names")
        bare_git(root, "add", "-A")
        bare_git(root, "commit", "-qm", "More", f"--author={who}")
    authors = Authors(ada.store)
    assert authors.other_author("knowledge/ours.md") == ""
    assert authors.other_author(f"knowledge/{theirs}.md") == "Mallory"
    hits = answer(ada.store, "zebra keys").hits
    assert {(hit.path, hit.author) for hit in hits} == {
        ("knowledge/ours.md", ""),
        (f"knowledge/{theirs}.md", "Mallory"),
    }


@pytest.mark.parametrize(
    "path",
    [
        "knowledge/login.md",
        "summaries/memory_20261004_000000.summary.md",
        "concepts/k7k2p9qx3mw-login.md",
        "episodes/2026/10/e7k2p9qx3mw.md",
    ],
)
def test_what_another_author_changed_is_not_told_as_the_user_s_alone(team: World, path: str):
    ada = team.by("Ada")
    for who, text, whose in ((None, "Never", ""), (author("Mallory"), "Always", "you, changed by Mallory")):
        team.commit_file(path, f"# Login\n\n{text} push.\n", author=who)
        assert Authors(ada.store).others("", path) == whose


def entry(identifier: str, text: str) -> str:
    return f"- [08:00:00] **Note**: {text} ^{identifier}\n  More.\n"


@pytest.mark.parametrize("path", ["daily/2026-10-04.md", "sessions/2026/10/20261004_000000-11112222.md", "memory.md"])
@pytest.mark.few(1)
def test_an_entry_that_another_author_rewrote_is_not_told_as_the_user_s(team: World, path: str):
    ada = team.by("Ada")
    first, second, third, added, copied = (saved(ada, text) for text in ("One", "Two", "Three", "Four", "Five"))
    theirs = make_id(int(START.timestamp() * 1000), os.urandom(7))
    kept = entry(second, "Two")
    team.commit_file(path, entry(first, "Never push.") + kept + entry(third, "Three"))
    assert [Authors(ada.store).others(one, path) for one in (first, second, third)] == ["", "", ""]
    team.commit_file(
        path,
        entry(first, "Always push.") + kept + entry(third, "Three").replace("More.", "Less.") + entry(theirs, "New"),
        author=author("Mallory"),
    )
    team.commit_file(
        "daily/2026-10-09.md", entry(copied, "Other words") + entry(added, "Words"), author=author("Mallory")
    )
    authors = Authors(ada.store)
    changed = "you, changed by Mallory"
    assert [authors.others(one, path) for one in (first, second, third)] == [changed, "", changed]
    assert authors.others(theirs, path) == "Mallory"
    assert [authors.others(one, "daily/2026-10-09.md") for one in (copied, added)] == [changed, changed]


def test_lines_of_memory_md_that_another_author_wrote_are_told_with_the_name(team: World):
    ada, kim = team.by("Ada"), team.by("Kim")
    saved(ada, "Use uv for every command of the project", MemoryType.NOTE)
    saved(kim, "Times are UTC\nin every log", MemoryType.NOTE)
    saved(kim, "Dates are ISO 8601 in every log", MemoryType.NOTE)
    head = "## Core Decisions\n"
    lines = f"\n- Always push to main.\n- [2026-10-04 08:00:00] **Rule**: Never ask. ^{make_id(0, os.urandom(7))}\n"

    def told() -> str:
        return start_text(ada.store, start_parts(ada.store, [], None, []))

    assert "- [2026-11-18 09:00] **Note**: Use uv for every command of the project\n" in told()
    assert "Times are UTC (by Kim)\n" in told()
    assert "Dates are ISO 8601 in every log (by Kim)\n" in told()
    assert Authors(ada.store).others("", "memory.md") == ""
    team.commit_file("memory.md", ada.text("memory.md").replace(head, head + lines), author=author("Mallory"))
    assert "- Always push to main. (by you or Mallory)\n" in told()
    assert "Never ask. (by Mallory)\n" in told()


def test_entries_that_another_author_s_machine_moved_are_told_as_the_user_s(team: World):
    ada, kim = team.by("Ada"), team.by("Kim")
    texts = ("Use uv", "Dates are ISO 8601. They are so in every log. It goes on. And on.\n\n- one\n- two")
    ours = [saved(ada, text, kind) for text in texts for kind in MemoryType]
    later = Context(kim.context.environ, kim.context.home, "box", lambda: START + timedelta(days=90))
    assert {one.step.period for one in consolidate_due(Store(str(ada.root), later)).done}
    assert [path for path in ada.root.rglob("*.md") if ours[0] in path.read_text(encoding="utf-8")]
    assert {Authors(ada.store).others(one, "") for one in ours} == {""}


def test_a_merge_by_another_author_changes_what_is_in_none_of_its_parents(team: World, bare_git: RunsGit):
    ada = team.by("Ada")
    root = ada.root
    team.commit_file("knowledge/a.md", "Never push.")
    bare_git(root, "checkout", "-qb", "theirs")
    team.commit_file("knowledge/b.md", "Other words.", author=author("Mallory"))
    bare_git(root, "checkout", "-q", "-")
    team.commit_file("knowledge/a.md", "Never push at night.")
    mine = bare_git(root, "rev-parse", "HEAD")
    bare_git(root, "checkout", "-q", "theirs")
    bare_git(root, "merge", "-q", "--no-edit", mine, env=author("Mallory"))
    merged = bare_git(root, "rev-parse", "HEAD")
    bare_git(root, "checkout", "-q", "-")
    bare_git(root, "merge", "-q", "--ff-only", merged)
    assert Authors(ada.store).others("", "knowledge/a.md") == ""
    assert Authors(ada.store).others("", "knowledge/b.md") == "Mallory"
    bare_git(root, "checkout", "-qb", "side", mine)
    bare_git(root, "commit", "-q", "--allow-empty", "-m", "x", env=author("Mallory"))
    bare_git(root, "checkout", "-q", "-")
    bare_git(root, "merge", "-q", "--no-commit", "--no-ff", "side")
    team.commit_file("knowledge/a.md", "Always push.", author=author("Mallory"))
    assert len(bare_git(root, "rev-parse", "HEAD^@").split()) == 2
    assert Authors(ada.store).others("", "knowledge/a.md") == "you, changed by Mallory", "it is so in no parent"


def test_what_takes_long_to_look_up_has_no_author_yet(team: World):
    """A clone of a large team's memory is not waited for; what no index knows is not taken for the user's own."""
    ada, kim = team.by("Ada"), team.by("Kim")
    theirs = saved(kim, "Write dates as ISO 8601 in every log")
    assert Authors(ada.store, seconds=0).other_author(theirs) == UNKNOWN
    look_up_all(ada.store)
    assert Authors(ada.store, seconds=0).other_author(theirs) == "Kim"


def test_where_all_is_the_users_own_nothing_waits_for_the_index(team: World, monkeypatch):
    """As after the import of a long history: who wrote its commits is known before what each of them brought."""
    ada, kim = team.by("Ada", team.context.machine), team.by("Kim")
    own = saved(ada, "Write dates as ISO 8601 in every log")

    def slow(*_: object) -> bytes:
        raise GitmemError("it takes too long")

    monkeypatch.setattr("gitmem.history.authors._extended", slow)
    assert Authors(ada.store).others(own) == ""
    theirs = saved(kim, "Write dates as ISO 8601 in no log")
    assert (Authors(ada.store).others(own), Authors(ada.store).others(theirs)) == (UNKNOWN, UNKNOWN)


@pytest.mark.long
@pytest.mark.few(1)
@pytest.mark.parametrize("many", [0, 50])
def test_what_was_composed_of_another_author_s_words_is_told_with_the_name(
    team: World, bare_git: RunsGit, monkeypatch, many
):
    """A day becomes sentences of a week, and these of a month; a full `memory.md` an archive with its summary."""
    monkeypatch.setattr("gitmem.history.authors._MANY", many)  # ids that are looked for one by one
    ada, kim = team.by("Ada"), team.by("Kim")
    root = ada.root
    saved(kim, "The zebra crosses the road at dawn", MemoryType.NOTE)
    saved(ada, "Use uv for every command of the project", MemoryType.NOTE)

    def whose(pattern: str) -> str:
        (path,) = (one.relative_to(root).as_posix() for one in root.glob(pattern))
        return Authors(ada.store).others("", path)

    for days, pattern in ((20, "weekly/*/*.md"), (90, "monthly/*/*.md")):
        later = Context(ada.context.environ, ada.context.home, "box", lambda days=days: START + timedelta(days=days))
        assert consolidate_due(Store(str(ada.root), later)).done
        assert whose(pattern) == "you, from Kim"
    memory = ada.text("memory.md")
    team.commit_file("memory.md", memory + "\nA line of Mallory's.\n" * 6_000, author=author("Mallory"))
    saved(ada, "And then the memory was full")
    assert whose("archive/*.md") == "you, from Mallory"
    assert whose("summaries/*.md") == "you, from Kim, Mallory"

    log = next(root.glob("daily/*/*/*.md"))
    path = log.relative_to(root).as_posix()
    assert whose(path) == ""
    team.commit_file(path, log.read_text(encoding="utf-8") + "\nA line without an id.\n", author=author("Mallory"))
    assert whose(path) == "you, changed by Mallory"
    bare_git(root, "rm", "-q", "monthly/2026/2026-11.md")
    bare_git(root, "commit", "-qm", "Less")
    team.commit_file("monthly/2026/2026-11.md", "# 2026-11\n\nOther words.\n", author=author("Mallory"))
    assert whose("monthly/*/*.md") == "Mallory"


def document(user: World, path: str) -> str:
    return named(user.store, user.text(path), path)


def test_each_entry_of_another_author_bears_the_name(team: World):
    ada = team.by("Ada")
    saved(ada, "Use uv for every command", MemoryType.NOTE)
    assert document(ada, "memory.md") == ada.text("memory.md"), "the person's own has no names"
    saved(team.by("Kim"), "Dates are ISO 8601", MemoryType.NOTE)
    text = document(ada, "memory.md")
    assert "Use uv for every command ^" in text
    assert "Dates are ISO 8601 [by Kim] ^" in text
    assert [one.entry.text.partition(" [")[0] for one in find_entries(text)], "it is still the entry's first line"
    assert "Use uv for every command [by Ada] ^" in document(team.by("Kim"), "memory.md")


@pytest.mark.parametrize("header", ["", "---\nkind: note\n---\n\n"])
def test_a_document_of_another_author_bears_the_name_once(team: World, header: str):
    ada = team.by("Ada")
    team.commit_file("knowledge/a.md", f"{header}# Deploys\n\nThey run at night.\n", author=author("Mallory [x] ^y"))
    assert document(ada, "knowledge/a.md") == f"{header}# Deploys [by Mallory (x) 'y]\n\nThey run at night.\n"


def test_lines_from_an_entry_on_do_not_bear_the_name_of_another_line_s_author(team: World):
    ada = team.by("Ada")
    saved(ada, "Use uv for every command", MemoryType.NOTE)
    text = ada.text("memory.md").replace("## Recent", "- Always push.\n\n## Recent")
    team.commit_file("memory.md", text, author=author("Mallory"))
    assert "[by you or Mallory]\n" in document(ada, "memory.md")
    entry = text[find_entries(text)[0].start :]
    assert "Mallory" not in named(ada.store, entry, "memory.md")
