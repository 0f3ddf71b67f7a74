"""Two to five clones and one bare remote: whatever people and machines do, with failures, all reach one memory."""

import contextlib
import shutil
import tempfile
from datetime import timedelta
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from gitmem.document.document import Document
from gitmem.document.entry import MemoryType, find_entries, remove_entries
from gitmem.errors import GitmemError
from gitmem.git.index import IndexUpdate
from gitmem.git.remote import Connection, PushRacedError
from gitmem.git.worktree import WorkTree
from gitmem.history.undo import undo
from gitmem.store import foreign_commits
from gitmem.store.init import Place, init_store
from gitmem.store.remotes import add_remote
from gitmem.store.store import Store
from gitmem.sync import rounds as syncing
from gitmem.sync.guard import Accept
from tests.copies import run_git
from tests.world import NOON, Crash, Machine, make_machines

PASSING = [kind for kind in MemoryType if not kind.lasts]  # the others: tests/property/test_facts_machine.py
CLONES = st.integers(0, 4)
ROTATES_SOON = "rotation:\n  threshold_tokens: 400\n  carryover_tokens: 80\nmaintenance:\n  automatic: false\n"
FACT = "---\nid: d001\nkind: decision\nuses: {uses}\ntags: [{tags}]\n---\n# Use uv\n\nIt is {why}.\n\nMore.\n"


def _crash(*_: object, **__: object) -> None:
    raise Crash


def _cut(*_: object, **__: object) -> None:
    raise GitmemError("The line went dead.", "")


def _race(*_: object, **__: object) -> None:
    raise PushRacedError


# Places where a sync can fail: the function replaced, and its replacement.
FAILURES = {
    "the fetch is cut": (Connection, "fetch", _cut),
    "the push is cut": (Connection, "push", _cut),
    "the push is refused again and again": (Connection, "push", _race),
    "killed before the branch moves": (foreign_commits, "move_refs", _crash),
    "killed before the files are written": (WorkTree, "publish", _crash),
    "killed before the index is written": (IndexUpdate, "finish", _crash),
    "killed before the mark is written": (Store, "mark", _crash),
    "killed after all but the record": (syncing, "note_synced", _crash),
}


class SyncMachine(RuleBasedStateMachine):
    """`saved` has the entries, by id, that must be there once; `gone` those removed on purpose, or perhaps."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="gitmem-sync-machine-"))
        self.now = NOON
        self.saved: set[str] = set()
        self.gone: set[str] = set()
        self.lines: set[str] = set()
        self.number = 0
        self.machines: list[Machine] = []

    @initialize(clones=st.integers(2, 5))
    def make(self, clones: int) -> None:
        self.remote = self.folder / "remote.git"
        self.machines = make_machines(self.folder, *(f"clone {number}" for number in range(clones)))
        self.machines[0].configure(ROTATES_SOON)  # of the home that all have
        run_git(self.remote, "config", "receive.denyNonFastForwards", "true")  # no sync needs to force a push

    def machine(self, clone: int) -> Machine:
        machine = self.machines[clone % len(self.machines)]
        self.now = machine.now = self.now + timedelta(minutes=7)
        machine.reopen()
        return machine

    def sync(self, machine: Machine) -> None:
        machine.sync(Accept.DELETIONS, Accept.OTHER_PROJECT)

    @rule(clone=CLONES, kind=st.sampled_from(PASSING), long=st.booleans())
    def save(self, clone: int, kind: MemoryType, long: bool) -> None:
        self.number += 1
        text = f"said number {self.number}" + "\n\nmore of it" * (30 if long else 0)
        self.saved.add(self.machine(clone).save(text, kind).id)

    @rule(clone=CLONES)
    def edit(self, clone: int) -> None:
        """A user adds a line, in a document all have and in one of their own."""
        self.number += 1
        root = self.machine(clone).root
        line = f"A line by hand, number {self.number}."
        for path in (root / "knowledge" / "all.md", root / "knowledge" / f"own {self.number}.md"):
            path.parent.mkdir(exist_ok=True)
            text = path.read_text() if path.exists() else "# Knowledge\n"
            path.write_text(f"{text}\n{line}\n")
        self.lines.add(line)

    @rule(clone=CLONES, uses=st.integers(0, 3), tags=st.sampled_from(["a", "a, b", "c"]), why=st.integers(0, 9))
    def change_a_fact(self, clone: int, uses: int, tags: str, why: int) -> None:
        text = FACT.format(uses=uses, tags=tags, why=why)
        self.machine(clone).write("facts/decision/d001-use-uv.md", text)

    @rule(clone=CLONES, name=st.sampled_from(["d001-use-uv.md", "d001-uv.md"]))
    def rename_a_fact(self, clone: int, name: str) -> None:
        folder = self.machine(clone).root / "facts" / "decision"
        facts = sorted(folder.glob("d001*.md")) if folder.exists() else []
        if facts and facts[0].name != name and ".other-" not in facts[0].name:
            facts[0].rename(folder / name)

    @rule(clone=CLONES, data=st.data())
    def take_an_entry_out(self, clone: int, data: st.DataObject) -> None:
        """A user removes an entry by hand, wherever it stands in this clone."""
        root = self.machine(clone).root
        documents = [path for path in root.rglob("*.md") if ".git" not in path.parts and path.parent.name != "archive"]
        ids = {found.entry.id for path in documents for found in find_entries(path.read_text())}
        if not ids:
            return
        chosen = data.draw(st.sampled_from(sorted(ids)))
        for path in root.rglob("*.md"):
            document = Document.parse(path.read_bytes())
            path.write_bytes(document.with_body(remove_entries(document.body, {chosen})).render())
        self.gone.add(chosen)

    @rule(clone=CLONES)
    def undo_the_last(self, clone: int) -> None:
        machine = self.machine(clone)
        before = self.entries(machine)
        try:
            undo(machine.store)
        except GitmemError:  # nothing to undo, or a later change is in the way: nothing was done
            return
        self.gone |= before - self.entries(machine)
        self.saved |= self.entries(machine) - before

    @rule(clone=CLONES)
    def sync_one(self, clone: int) -> None:
        self.sync(self.machine(clone))

    @rule(clone=CLONES, failure=st.sampled_from(sorted(FAILURES)))
    def sync_that_fails(self, clone: int, failure: str) -> None:
        owner, name, instead = FAILURES[failure]
        with mock.patch.object(owner, name, instead), contextlib.suppress(GitmemError, Crash):
            self.sync(self.machine(clone))

    @rule(one=CLONES, other=CLONES)
    def sync_two_at_once(self, one: int, other: int) -> None:
        """One clone pushes between another's merge and its push."""
        first, second = self.machine(one), self.machine(other)
        if first is second:
            return
        push, done = Connection.push, []

        def interrupted(connection: Connection, *args: object) -> None:
            if not done:
                done.append(True)
                self.sync(second)
            push(connection, *args)

        with mock.patch.object(Connection, "push", interrupted):
            self.sync(first)

    @precondition(lambda self: self.number % 7 == 3)
    @rule(clone=CLONES)
    def work_on_from_a_new_clone(self, clone: int) -> None:
        """Replace a clone by a fresh one from the remote; unsynced entries are lost."""
        machine = self.machine(clone)
        self.sync(machine)
        shutil.rmtree(machine.root)
        init_store(str(machine.project), machine.context, Place.PROJECT)
        add_remote(machine.reopen(), "origin", str(self.remote))
        self.sync(machine)

    def entries(self, machine: Machine) -> set[str]:
        return {one for one, _ in self.placed(machine)}

    def placed(self, machine: Machine) -> list[tuple[str, str]]:
        """Return id and folder of every entry in the daily logs and archives of a clone, and in `memory.md`."""
        found = []
        for path in machine.root.rglob("*.md"):
            if ".git" not in path.parts:
                name = path.relative_to(machine.root).parts[0]
                found += [(one.entry.id, name) for one in find_entries(path.read_text(errors="replace"))]
        return found

    def teardown(self) -> None:
        try:
            if self.machines:
                self.check()
        finally:
            shutil.rmtree(self.folder)

    def check(self) -> None:
        for _ in range(2):
            for number in range(len(self.machines)):
                self.sync(self.machine(number))
        tips = {machine.tip for machine in self.machines}
        assert tips == {run_git(self.remote, "rev-parse", "refs/heads/gitmem")}, "all are at one commit"
        for machine in self.machines:
            assert machine.status() == ""
            machine.whole(killed=True)
        assert run_git(self.remote, "fsck", "--strict", "--no-dangling", "--no-progress") == ""
        placed = self.placed(self.machines[0])
        daily = [one for one, name in placed if name == "daily"]
        assert len(daily) == len(set(daily)), "each is there once"
        memory = [one for one, name in placed if name == "memory.md"]
        assert len(memory) == len(set(memory))
        assert self.saved - self.gone <= set(daily), "nothing is lost"
        for path in self.machines[0].root.rglob("*.md"):
            assert "<<<<<<<" not in path.read_text(errors="replace")
        text = "\n".join(path.read_text() for path in (self.machines[0].root / "knowledge").glob("*.md"))
        assert all(text.count(f"{line}\n") >= 2 for line in self.lines), "no line by hand is lost"


class TestQuick(SyncMachine.TestCase):
    settings = settings(max_examples=2, stateful_step_count=10, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.timeout(3600)
class TestThorough(SyncMachine.TestCase):
    settings = settings(max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck))
