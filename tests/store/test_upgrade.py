"""Stores of format version 1, brought over by the first command that writes (docs/format.md, "Versions")."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gitmem.document.entry import Entry, find_entries, render_entry
from gitmem.document.ids import exchange_id, tail_of
from gitmem.errors import StoreFormatError
from gitmem.sessions.outcome import Fields, split_fields
from gitmem.sessions.turns import derived_id
from gitmem.store import store as store_module
from gitmem.store import upgrade
from gitmem.store.store import Store
from gitmem.store.undo import undo

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import RunsGit
    from tests.store.machines import Machine

SESSION, TAG = "abcd1234-5678", ("abcd1234",)
DAY = "daily/2026/11/2026-11-20.md"
FILE = "sessions/2026/11/20261120_140000-abcd1234-5678.md"
CONCEPT = "concepts/k4f7k2m9q0x-a.md"
HEAD = "---\nid: {}\nkind: {}\ncreated: 2026-11-20T00:00:00Z\n---\n"


def turn(key: str, number: int, *, prompt: str, answer: str) -> tuple[Entry, list[Entry]]:
    """What version 1 wrote of a turn: its exchange, and its entries in the daily log."""
    from datetime import UTC, datetime, timedelta

    began = datetime(2026, 11, 20, 14, number, 0, 250_000, tzinfo=UTC)
    ended = began + timedelta(seconds=30)

    def entry(label: str, at: datetime, text: str, *what: str) -> Entry:
        return Entry(derived_id(at, SESSION, key, *what), at.strftime("%H:%M:%S"), label, text)

    logged = [
        *([entry("User Prompt", began, prompt, "prompt")] if prompt else []),
        entry("Error", began + timedelta(seconds=10), "`make`: error: no → then worked: `make -B`", "error", "1"),
        entry("Assistant Response", ended, answer, "answer", answer),
        entry("Tool Usage", ended + timedelta(milliseconds=1), "Files modified: a.py, b.py", "files", "a.py"),
    ]
    exchange = Entry(derived_id(began, SESSION, key), f"{ended:%Y-%m-%d %H:%M:%S}", "Exchange", prompt, TAG)
    return exchange, logged


FIRST, FIRST_LOGGED = turn("t-1", 1, prompt="Fix the parser\nfor CRLF", answer="The parser reads CRLF.")
SECOND, SECOND_LOGGED = turn("t-2", 5, prompt="", answer="The docs say so.")
UNKNOWN = turn("t-3", 9, prompt="nobody knows", answer="of this turn")[1]
NOTE = Entry("1ksd9q2x0m3v8t5w7zab", "16:00:00", "Note", "A note.")


def lines(*entries: Entry) -> str:
    return "".join(map(render_entry, entries))


def of_version_1(machine: Machine, bare_git: RunsGit) -> None:
    """Make the store one of version 1, as that gitmem left it."""
    root = machine.root
    files = {
        "FORMAT.md": (root / "FORMAT.md").read_text(encoding="utf-8").replace("version: 2", "version: 1"),
        DAY: HEAD.format("day-2026-11-20", "daily")
        + "# 2026-11-20\n\n## Timeline\n\n"
        + lines(*FIRST_LOGGED, *SECOND_LOGGED, *UNKNOWN)
        + "\nWritten by hand.\n\n## Note\n\n"
        + lines(NOTE),
        "memory.md": HEAD.format("memory", "memory")
        + "# Memory\n\n## Recent Context\n\n"
        + lines(FIRST, SECOND._replace(text="Done: The docs say so.")),
        FILE: HEAD.format("session-x", "session") + "# Session\n\n## Exchanges\n\n" + lines(FIRST),
        CONCEPT: "---\nid: k4f7k2m9q0x\nkind: concept\nname: a\ncreated: 2026-11-20T00:00:00Z\n"
        f'exchanges: ["{FIRST.id}"]\n---\n# a\n\n## Exchanges\n\n- 2026-11-20 [Fixed.](../{FILE}) {FIRST.id}\n',
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    bare_git(root, "add", "-A")
    bare_git(root, "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "Version 1")
    machine.store = Store(str(root), machine.context)


def test_the_first_write_makes_one_entry_of_each_turn(machine: Callable[[str], Machine], bare_git: RunsGit) -> None:
    first = machine("laptop")
    of_version_1(first, bare_git)
    first.save("something new")
    assert "version: 2" in (first.root / "FORMAT.md").read_text(encoding="utf-8")
    text = (first.root / DAY).read_text(encoding="utf-8")
    entries = {found.entry.id: found.entry for found in find_entries(text)}
    one, two = exchange_id(SESSION, "t-1"), exchange_id(SESSION, "t-2")
    assert (tail_of(FIRST.id), tail_of(SECOND.id)) == (one[1:], two[1:])
    error = ("`make`: error: no → then worked: `make -B`",)
    files = ("a.py", "b.py")
    asked = "Fix the parser\nfor CRLF"
    assert split_fields(entries[one].text) == Fields(asked, "The parser reads CRLF.", (), error, files)
    assert split_fields(entries[two].text) == Fields("", "The docs say so.", (), error, files)
    assert (entries[one].time, entries[one].tags) == ("14:01:00", TAG)
    assert [entry for entry in entries.values() if entry.label != "Exchange"] == [*UNKNOWN, NOTE], "stay as they are"
    assert "\nWritten by hand.\n" in text
    for path in ("memory.md", FILE, CONCEPT):
        content = (first.root / path).read_text(encoding="utf-8")
        assert one in content
        assert FIRST.id not in content
    subjects = bare_git(first.root, "log", "--format=%s", "-2").splitlines()
    assert subjects == ["Save note: something new", "Bring the store over to format version 2"]
    assert bare_git(first.root, "status", "--porcelain") == ""


def test_it_is_done_once_and_can_be_taken_back(machine: Callable[[str], Machine], bare_git: RunsGit) -> None:
    first = machine("laptop")
    of_version_1(first, bare_git)
    before = bare_git(first.root, "rev-parse", "HEAD^{tree}")
    first.save("something new")
    first.save("something else")
    log = bare_git(first.root, "log", "--format=%s").splitlines()
    assert log.count("Bring the store over to format version 2") == 1
    undo(Store(str(first.root), first.context), revision="HEAD~2")
    assert bare_git(first.root, "diff", "--stat", before, "HEAD", "--", "FORMAT.md", FILE, CONCEPT, DAY) == ""
    again = Store(str(first.root), first.context)
    first.store = again
    first.save("one more")
    assert "version: 2" in first.read("FORMAT.md")


def test_two_machines_bring_it_over_and_then_sync(pair: tuple[Machine, Machine], bare_git: RunsGit) -> None:
    first, second = pair
    of_version_1(first, bare_git)
    bare_git(second.root, "pull", "-q", str(first.root), "HEAD")
    second.store = Store(str(second.root), second.context)
    first.save("of the laptop")
    second.save("of the desktop")
    for one in (first, second, first):
        one.sync()
    assert bare_git(first.root, "rev-parse", "HEAD^{tree}") == bare_git(second.root, "rev-parse", "HEAD^{tree}")
    text = first.read(DAY)
    assert text == second.read(DAY)
    ids = [found.entry.id for found in find_entries(text)]
    assert ids.count(exchange_id(SESSION, "t-1")) == 1
    assert len([found for found in find_entries(text) if found.entry.label == "Exchange"]) == 2


def test_a_sync_brings_it_over_before_it_merges(pair: tuple[Machine, Machine], bare_git: RunsGit) -> None:
    first, second = pair
    of_version_1(first, bare_git)
    bare_git(second.root, "pull", "-q", str(first.root), "HEAD")
    second.store = Store(str(second.root), second.context)
    first.save("of the laptop")
    first.sync()
    second.sync()
    assert "version: 2" in second.read("FORMAT.md")
    assert len([found for found in find_entries(second.read(DAY)) if found.entry.label == "Exchange"]) == 2
    first.sync()
    assert first.tip == second.tip


def test_a_killed_migration_is_done_again(
    machine: Callable[[str], Machine], bare_git: RunsGit, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = machine("laptop")
    of_version_1(first, bare_git)
    tip = first.tip

    def killed(*_: object) -> dict[str, bytes]:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(upgrade, "STEPS", (*upgrade.STEPS, killed))
        with pytest.raises(KeyboardInterrupt):
            first.save("something new")
    assert first.tip == tip
    first.save("something newer")
    assert "version: 2" in first.read("FORMAT.md")
    assert first.git("status", "--porcelain") == ""


def test_an_older_gitmem_refuses_the_store(machine: Callable[[str], Machine], monkeypatch: pytest.MonkeyPatch) -> None:
    first = machine("laptop")
    monkeypatch.setattr(store_module, "FORMAT_VERSION", 1)
    with pytest.raises(StoreFormatError, match="has format version 2; this gitmem knows version 1") as refused:
        Store(str(first.root), first.context)
    assert "Upgrade gitmem" in refused.value.remedy


def test_what_lasts_becomes_a_fact_with_its_line(pair, bare_git):
    machine, _ = pair
    of_version_1(machine, bare_git)
    decision = Entry("1ksd9q2x0m3v8t5w7zac", "16:01:00", "Decision", "Use uv, not pnpm.")
    memory, day = machine.root / "memory.md", machine.root / DAY
    dated = decision._replace(time="2026-11-20 16:01:00")
    memory.write_text(memory.read_text("utf-8") + "\n## Core Decisions\n\n" + lines(dated), encoding="utf-8")
    day.write_text(day.read_text("utf-8") + "\n## Decision\n\n" + lines(decision), encoding="utf-8")
    bare_git(machine.root, "commit", "-qam", "as version 1 left it")
    machine.save("a note")
    [path] = (machine.root / "facts" / "decision").iterdir()
    identifier = path.name.partition("-")[0]
    assert "Use uv, not pnpm." in path.read_text("utf-8")
    for log in (memory, day):
        assert f"Use uv, not pnpm. ^{identifier}\n" in log.read_text("utf-8")
        assert decision.id not in log.read_text("utf-8")
