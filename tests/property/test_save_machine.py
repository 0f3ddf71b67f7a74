"""Any sequence of saves, deliveries, checks, edits by hand and commits of the user's: each text is stored once.

Through the public functions, on real stores; the model is a dictionary of texts.
"""

import os
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from gitmem.archive.rotate import check
from gitmem.document.entry import MemoryType, clean_text, find_entries
from gitmem.document.event import Save
from gitmem.document.ids import make_id
from gitmem.platform.machine import Context
from gitmem.record.save import drain, save
from gitmem.redact.redact import redact
from gitmem.store.init import Place, init_store
from tests.world import World

LIKE_MARKDOWN = [
    *("## Timeline", "# 제목", "---", "```", "- [10:00:00] **Note**: not an entry ^00000000000000000000"),
    "^0123456789abcdefghjk",
    "Gitmem-Op: rotate",
    "",
    "  indented",
    "\ttab",
    "- item",
    "<<<<<<< ours",
    "한글 기억 🧠",
    *("trailing  ", "\u2028separator\x85"),
]
LINES = st.one_of(st.sampled_from(LIKE_MARKDOWN), st.text(max_size=60), st.text("가나다 라마", max_size=30))
HUGE = st.builds(
    lambda character, size: character * size, st.sampled_from(["x", "한", "🧠", "a b "]), st.integers(1000, 120_000)
)
TEXTS = st.one_of(
    st.builds(str.join, st.sampled_from(["\n", "\r\n", "\n\n", "\r"]), st.lists(LINES, min_size=1, max_size=6)), HUGE
)
PASSING = [kind for kind in MemoryType if not kind.lasts]  # the others: tests/property/test_facts_machine.py
EDITED = ["memory.md", "config.yaml", "a note of my own.md", "notes/메모.txt"]
SETTINGS = "rotation:\n  threshold_tokens: 600\n  carryover_tokens: 80\n"


class SaveMachine(RuleBasedStateMachine):
    """One store, its expected contents, and the events that wait."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="gitmem-")
        self.now = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)
        self.number = 0
        self.said: dict[str, str] = {}
        self.waiting: dict[str, str] = {}
        self.saves: dict[str, Save] = {}
        self.edits: list[str] = []
        root = Path(self.folder.name).resolve()
        environ = {**os.environ, "HOME": str(root / "home"), "XDG_CONFIG_HOME": "", "APPDATA": ""}
        (root / "project").mkdir()
        context = Context(environ, str(root / "home"), "box", lambda: self.now)
        self.world = World(init_store(str(root / "project"), context, Place.PROJECT).store.root, context)

    @initialize(rotates=st.booleans())
    def configure(self, rotates: bool) -> None:
        if rotates:
            self.world.configure(SETTINGS)

    @rule(text=TEXTS, kind=st.sampled_from(PASSING), scan=st.booleans())
    def save(self, text: str, kind: MemoryType, scan: bool) -> None:
        if what := self._something(text, kind):
            self.said[what.id] = self._as_kept(what)
            save(self.world.store, what, scan=scan)
            self._all_came()

    @rule(text=TEXTS, kind=st.sampled_from(PASSING), times=st.integers(1, 2))
    def deliver(self, text: str, kind: MemoryType, times: int) -> None:
        if what := self._something(text, kind):
            self.waiting[what.id] = self._as_kept(what)
            for _ in range(times):
                self.world.store.spool.deliver(what.to_event())

    @precondition(lambda self: self.said)
    @rule(data=st.data())
    def deliver_again(self, data: st.DataObject) -> None:
        identifier = data.draw(st.sampled_from(sorted(self.said)))
        self.world.store.spool.deliver(self.saves[identifier].to_event())
        self.waiting[identifier] = self.said[identifier]

    @rule()
    def drain(self) -> None:
        drain(self.world.store)
        self._all_came()

    @rule()
    def check(self) -> None:
        check(self.world.store)

    @rule(path=st.sampled_from(EDITED), ending=st.sampled_from(["\n", "\r\n", ""]), size=st.sampled_from([0, 900]))
    def edit(self, path: str, ending: str, size: int) -> None:
        self.number += 1
        line = f"# by hand {self.number}" + " lorem" * (size // 6)
        file = self.world.root / path
        file.parent.mkdir(exist_ok=True)
        before = file.read_bytes() if file.exists() else b""
        gap = b"" if not before or before.endswith(b"\n") else b"\n"
        file.write_bytes(before + gap + (line + ending).encode())
        self.edits.append(line)

    @rule()
    def commit_by_hand(self) -> None:
        self.world.git("add", "--all")
        self.world.git("commit", "--quiet", "--allow-empty", "-m", "mine")

    @rule(hours=st.integers(-2, 40))
    def wait(self, hours: int) -> None:
        self.now += timedelta(hours=hours, seconds=1)

    @rule()
    def reopen(self) -> None:
        self.world.reopen()

    @invariant()
    def what_was_said_is_there_once(self) -> None:
        days = [entry for path in self.world.root.glob("daily/*/*/*.md") for entry in _entries(path)]
        assert sorted(entry.id for entry in days) == sorted(self.said)
        assert {entry.id: entry.text for entry in days} == self.said
        seen = {}
        for path in (self.world.root / "memory.md", *self.world.root.glob("archive/*.md")):
            entries = _entries(path)
            assert len({entry.id for entry in entries}) == len(entries)
            seen.update({entry.id: entry.text for entry in entries})
        assert seen == self.said

    @invariant()
    def what_was_edited_is_there(self) -> None:
        everything = b"\n".join(
            path.read_bytes() for path in self.world.root.rglob("*") if path.suffix in {".md", ".yaml", ".txt"}
        )
        lines = set(everything.decode("utf-8").replace("\r\n", "\n").split("\n"))
        assert [line for line in self.edits if line not in lines] == []

    def teardown(self) -> None:
        save(self.world.store, Save(self._id(), self.now, "the last word"), scan=True)
        assert self.world.store.spool.names() == []
        assert self.world.store.spool.aside() == []
        self.world.sound()
        self.folder.cleanup()

    def _something(self, text: str, kind: MemoryType) -> Save | None:
        what = Save(self._id(), self.now, text, kind, ("tag",)) if clean_text(redact(text).text) else None
        if what:
            self.saves[what.id] = what
        return what

    def _id(self) -> str:
        self.number += 1
        return make_id(int(self.now.timestamp() * 1000), self.number.to_bytes(7))

    def _as_kept(self, what: Save) -> str:
        return clean_text(redact(what.text).text)

    def _all_came(self) -> None:
        self.said |= self.waiting
        self.waiting.clear()


def _entries(path: Path) -> list:
    with path.open(encoding="utf-8", newline="") as file:
        return [found.entry for found in find_entries(file.read())]


class TestSaves(SaveMachine.TestCase):
    settings = settings(max_examples=5, stateful_step_count=10)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.timeout(600)
class TestManySaves(SaveMachine.TestCase):
    settings = settings(max_examples=30, stateful_step_count=20)
