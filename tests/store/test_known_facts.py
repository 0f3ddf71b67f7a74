"""Edits by hand that nothing has committed yet, as commands, a session's start and the viewer show them."""

import contextlib
import io
import json
import os
from pathlib import Path

import pytest

from gitmem.cli.app import App, real_app
from gitmem.cli.commands.hook import hook
from gitmem.errors import RefusedError
from gitmem.history import marks
from gitmem.history.marks import marks_for
from gitmem.model.fact import Fact
from gitmem.platform.safe_open import HANDLES
from gitmem.search.engine import answer
from gitmem.search.passages import read_passage
from gitmem.store import known_facts as facts
from gitmem.store.known_facts import known_facts, read_headers
from gitmem.store.locate import KNOWN_FOLDER
from gitmem.store.store import Store
from tests.cli.commands.conftest import gitmem, run  # noqa: F401
from tests.command_line import Runner
from tests.platform.test_safe_open import Swap
from tests.web.conftest import Viewer


def put(world, name: str, text: str) -> Path:
    path = Path(world.store.root, "facts", name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def said(data: bytes, path: str) -> tuple[tuple[str, ...], list[object]] | None:
    text = data.decode("utf-8", "replace")
    return ((path, "a\tb"), [text, ("한", "글")]) if text.startswith("said") else None


def headers(world, **more) -> list[tuple[tuple[str, ...], list[object]]]:
    return [(header.key, header.load()) for header in read_headers(world.store, "facts", ["words"], said, **more)]


def test_what_is_remembered_is_what_was_read(world):
    put(world, "한글 b.md", "said\twith a tab\nand a line")
    put(world, "a.md", "said")
    put(world, "other.md", "another thing")
    wanted = [
        (("facts/a.md", "a b"), ["said", ("한", "글")]),
        (("facts/한글 b.md", "a b"), ["said\twith a tab\nand a line", ("한", "글")]),
    ]
    assert headers(world) == wanted
    put(world, "a.md", "said again")
    assert headers(world)[0][1][0] == "said again"


def test_a_file_that_got_another_name_is_known_by_it(world):
    before = put(world, "a.md", "said")
    put(world, "c.md", "said")
    assert [path for (path, _), _ in headers(world)] == ["facts/a.md", "facts/c.md"]
    before.rename(before.with_name("b.md"))  # which changes neither its time nor its size
    paths = [header.path for header in read_headers(world.store, "facts", ["words"], said)]
    assert paths == ["facts/b.md", "facts/c.md"]


@pytest.mark.parametrize("damage", [b"", b"2\nfacts/a.md\t1\t2\t", b"1\nx\n", b"\xff\xfe"])
def test_a_damaged_cache_is_made_anew(world, damage):
    put(world, "a.md", "said")
    assert len(headers(world)) == 1
    (Path(world.store.private) / KNOWN_FOLDER / "facts.tsv").write_bytes(damage)
    assert len(headers(world)) == 1


def test_what_cannot_be_read_now_is_read_the_next_time(world, monkeypatch):
    put(world, "a.md", "said")

    def fail(path: str) -> bytes:
        raise OSError(os.strerror(24), path)

    with monkeypatch.context() as patch:
        patch.setattr(type(world.store), "read", lambda _, path: fail(path))
        assert headers(world) == []
    assert len(headers(world)) == 1


def test_at_most_so_many_are_read_that_are_not_known(world):
    for number in range(5):
        put(world, f"{number}.md", "said")
    assert [len(headers(world, most=2)) for _ in range(4)] == [2, 4, 5, 5]


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="this system has no links")
def test_links_are_not_followed(world, tmp_path):
    (tmp_path / "outside.md").write_text("said")
    put(world, "a.md", "said")
    os.symlink(tmp_path / "outside.md", Path(world.store.root, "facts", "b.md"))
    assert len(headers(world)) == 1


@pytest.mark.skipif(not HANDLES, reason="the system opens nothing relative to a folder")
@pytest.mark.parametrize(
    "act",
    [
        headers,
        lambda world: read_passage(world.store, "facts/below/a.md").text,
        lambda world: world.store.glance("facts/below/a.md", 4),
    ],
)
def test_a_folder_that_becomes_a_link_while_it_is_read_is_not_followed(world, tmp_path, act):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.md").write_text("said outside\n" * 9)
    put(world, "first.md", "said")
    below = put(world, "below.md", "said").parent / "below"
    below.mkdir()
    (below / "a.md").write_text("said inside\n" * 9)
    number, happened = 0, True
    while happened:
        number += 1
        (Path(world.store.private) / KNOWN_FOLDER / "facts.tsv").unlink(missing_ok=True)
        with pytest.MonkeyPatch.context() as patch:
            swap = Swap(patch, below, tmp_path / "outside", number)
            told = None
            with contextlib.suppress(RefusedError, OSError):
                told = act(world)
        assert "outside" not in str(told), f"read at call {number}"
        happened = swap.happened
        if happened:
            below.unlink()
            Path(f"{below}-was").rename(below)
    assert number > 3


def test_in_haste_no_large_document_is_read_and_none_once_it_is_late(world):
    put(world, "large.md", "said " + "x" * (1 << 18))
    put(world, "small.md", "said")
    assert headers(world, most=9, late=lambda: True) == []
    assert [key[0] for key, _ in headers(world, most=9)] == ["facts/small.md"]
    assert len(headers(world)) == 2
    put(world, "small.md", "said again")
    assert headers(world, most=9, late=lambda: True)[1][1][0] == "said", "as it is known, without a look"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_a_pipe_in_the_place_of_the_cache_keeps_nobody_waiting(world):
    put(world, "a.md", "said")
    cache = Path(world.store.private) / KNOWN_FOLDER / "facts.tsv"
    cache.parent.mkdir(exist_ok=True)
    os.mkfifo(cache)
    assert len(headers(world)) == 1


SAID = "The cache is in memory."


@pytest.fixture
def decided(gitmem: Runner) -> str:  # noqa: F811
    return str(gitmem.json("save", SAID, "--type", "decision")["id"])


def change(path: Path, old: str, new: str) -> None:
    """Edit a file as an editor does that writes in place."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def file_of(gitmem: Runner, identifier: str) -> Path:  # noqa: F811
    return gitmem.root / gitmem.json("facts", "show", identifier)["path"]


def told(gitmem: Runner) -> str:  # noqa: F811
    """Return what the hook of a session's start tells."""
    out = io.StringIO()
    payload = {"hook_event_name": "SessionStart", "source": "startup", "session_id": "s", "cwd": str(gitmem.cwd)}
    given = io.TextIOWrapper(io.BytesIO(json.dumps(payload).encode()))
    app = App(gitmem.environ, str(gitmem.cwd), given, out, io.StringIO())
    hook(("hook", "claude", "SessionStart"), app)
    return out.getvalue()


def viewer_of(gitmem: Runner) -> Viewer:  # noqa: F811
    return Viewer(str(gitmem.root), real_app().context())


def test_a_fact_that_was_made_in_an_editor_is_a_page_before_something_commits_it(gitmem):  # noqa: F811
    path = gitmem.root / "facts" / "rule" / "r0000000001-run-the-linter.md"
    path.parent.mkdir(parents=True)
    path.write_text("---\ndescription: Run the linter.\n---\nRun the linter.\n", encoding="utf-8")
    assert "Run the linter." in told(gitmem)
    viewer = viewer_of(gitmem).sign_in()
    page = viewer.json("/fact/r0000000001.json")
    assert (page["text"], page["life"]) == ("Run the linter.", [])
    assert "Run the linter." in viewer.get("/fact/r0000000001")
    gitmem("save", "a note")
    assert [step["act"] for step in viewer.json("/fact/r0000000001.json")["life"]] == ["learned"]


def test_without_an_edit_no_git_is_asked(gitmem, decided, monkeypatch):  # noqa: F811
    store = Store(str(gitmem.root), real_app().context())
    monkeypatch.setattr("gitmem.git.process.Git.spawn", None)
    assert [fact.description for fact in known_facts(store)] == [SAID]


QUERIES = ("redis cache", "memory cache", "flicker", "port of staging", "linter", "tabs")


@pytest.fixture
def book(gitmem: Runner) -> tuple[Store, dict[str, str]]:  # noqa: F811
    said = {
        "memory": "Keep the cache in memory.",
        "redis": "Use Redis for the session cache.",
        "port": "The port of staging is 5433.",
        "linter": "Run the linter before each commit.",
        "tabs": "Indent with tabs.",
    }
    ids = {name: str(gitmem.json("save", text, "--type", "decision")["id"]) for name, text in said.items()}
    gitmem("facts", "supersede", ids["memory"], ids["redis"])
    gitmem("facts", "retire", ids["linter"])
    gitmem("facts", "retire", ids["tabs"])
    ids["again"] = str(gitmem.json("save", said["tabs"], "--type", "rule")["id"])
    gitmem("facts", "edit", ids["port"], "The port of staging is 5434.")
    store = Store(str(gitmem.root), real_app().context())
    known_facts(store)
    for path in gitmem.root.rglob("*"):  # as if all had been there for a while
        os.utime(path, (1, 1))
    known_facts(store)
    return store, ids


def hits(store, *, hurried, monkeypatch):
    if not hurried:
        monkeypatch.setattr("gitmem.search.ranking.marks_for", lambda store, shown, hurried: marks.known_marks(store))
    return [answer(store, query, hurried=True).hits for query in QUERIES]


def test_a_prompt_is_told_of_facts_what_a_search_tells(book, monkeypatch):
    store, ids = book
    quick = hits(store, hurried=True, monkeypatch=monkeypatch)

    assert quick == hits(store, hurried=False, monkeypatch=monkeypatch)
    assert ids["linter"] not in marks_for(store, ()).in_force
    assert ids["memory"] in marks_for(store, ()).words
    assert ids["tabs"] not in marks_for(store, ()).words, "another fact in force says the same"


@pytest.mark.slow
def test_only_facts_that_may_need_a_mark_and_those_shown_are_parsed(gitmem, book, monkeypatch):  # noqa: F811
    store, ids = book
    for number in range(20):
        gitmem("save", f"Service number {number} listens on port {number}.", "--type", "rule")
    known_facts(store)
    shown = str(gitmem.json("save", "Deploy on Fridays.", "--type", "rule")["id"])
    for path in gitmem.root.rglob("*"):
        os.utime(path, (1, 1))
    known_facts(store)
    monkeypatch.setattr(marks, "known_marks", None)
    read = marks_for(store, {shown}).facts.keys()

    assert {shown, ids["memory"], ids["redis"], ids["linter"], ids["tabs"], ids["again"], ids["port"]} >= read
    assert shown in read


def test_a_fact_that_ended_just_now_is_marked(gitmem, book):  # noqa: F811
    store, ids = book
    gitmem("facts", "retire", ids["redis"])

    assert marks_for(store, {ids["redis"]}).has_ended(ids["redis"])
    change(file_of(gitmem, ids["again"]), "status: active", "status: retired")
    assert marks_for(store, {ids["again"]}).has_ended(ids["again"])


def test_a_cache_from_before_a_field_was_added_is_made_anew(book, monkeypatch):
    store, ids = book
    monkeypatch.setattr(facts, "_CACHED", [name for name in facts._CACHED if name != "forbids"])
    monkeypatch.setattr(facts, "_COLUMNS", (*facts._CACHED, "state"))
    facts.fact_of.cache_clear()
    assert len(known_facts(store)) == len(ids)
    monkeypatch.undo()
    facts.fact_of.cache_clear()
    assert {fact.id for fact in known_facts(store)} == {*ids.values()}
    assert " forbids " in Path(store.private, KNOWN_FOLDER, "facts.tsv").read_text("utf-8")


def test_each_field_of_a_fact_but_its_text_and_file_is_cached():
    assert {*facts._COLUMNS} - {"state"} == {*Fact._fields} - {"text", "file", "source"}
