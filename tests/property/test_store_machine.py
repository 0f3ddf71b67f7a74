"""Any sequence of transactions, edits by hand, git commands and crashes, against a model that is two dictionaries."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self
from unittest import mock

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from gitmem.document.message import Message
from gitmem.git.fast_import import Writer
from gitmem.git.index import IndexUpdate
from gitmem.git.worktree import WorkTree
from gitmem.platform.machine import Context
from gitmem.store.init import Place, init_store
from gitmem.store.store import Store
from gitmem.store.transact import transact
from tests.copies import USER
from tests.world import Crash, forget_private

PATHS = st.sampled_from(["memory.md", "daily/2026/11/21.md", "daily/2026/11/22.md", "a b.md", "결정/일.md", "run.sh"])
LINES = st.sampled_from([b"one\n", b"two\r\n", b"\n", b"three", b"\xff\xfe\0\n", "결정\n".encode()])
CONTENTS = st.lists(LINES, max_size=4).map(b"".join)


def _readable(path: str, data: bytes | None) -> bytes | None:
    """Return what may be put into a file: a binary memory.md is set aside, which tests in test_transaction look at."""
    return data.replace(b"\0", b"") if data is not None and path == "memory.md" else data


CHANGES = st.dictionaries(PATHS, st.none() | CONTENTS, min_size=1, max_size=3).map(
    lambda changes: {path: _readable(path, data) for path, data in changes.items()}
)
CRASHES = {
    "before the branch moves": (Writer, "finish"),
    "before a file is written": (WorkTree, "publish"),
    "after the first file": (WorkTree, "publish"),
    "before the index is written": (IndexUpdate, "finish"),
    "before the mark is written": (Store, "record_checkout"),
}


class File(tuple):
    """Content, and whether it is executable."""

    __slots__ = ()

    def __new__(cls, data: bytes, executable: bool = False) -> Self:
        return super().__new__(cls, (data, executable))

    def entry(self) -> str:
        digest = hashlib.sha1(b"blob %d\0" % len(self[0]) + self[0]).hexdigest()
        return f"{'100755' if self[1] else '100644'} {digest}"


class StoreMachine(RuleBasedStateMachine):
    """`tip` is what the branch must hold, `disk` what the work tree must hold; between commands they may differ."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="gitmem-machine-"))
        self.now = datetime(2026, 11, 21, tzinfo=UTC)
        self.context = Context(dict(os.environ), str(self.folder / "home"), "box", self.clock)
        self.root = self.folder / "project" / ".gitmem"
        self.tip: dict[str, File] = {}
        self.disk: dict[str, File] = {}

    def clock(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now

    def teardown(self) -> None:
        assert self.git("fsck", "--strict", "--no-dangling") == b""
        shutil.rmtree(self.folder)

    def git(self, *args: str) -> bytes:
        run = subprocess.run(
            ["git", *args], cwd=self.root, env={**os.environ, **USER}, capture_output=True, check=False
        )
        assert run.returncode == 0, (args, run.stderr)
        return run.stdout

    @initialize()
    def make(self) -> None:
        (self.folder / "project").mkdir()
        self.store = init_store(str(self.folder / "project"), self.context, Place.PROJECT).store
        self.tip = {
            path.name: File(path.read_bytes()) for path in self.root.iterdir() if path.is_file() and path.name != ".git"
        }
        self.disk = dict(self.tip)

    # Commands of gitmem

    def transact(self, changes: dict[str, bytes | None], *, scan: bool) -> None:
        def plan(transaction) -> None:
            transaction.commit(Message("change", (("Gitmem-Op", "save"),)), changes)

        assert transact(self.store, plan, purpose="test", scan=scan).notices == ()

    def expect(self, changes: dict[str, bytes | None], *, scan: bool) -> None:
        """Model a transaction: files it touches, or all, are committed as edited by hand, then changed."""
        for path in {*self.disk, *self.tip} if scan else {*changes, *self.followed()}:
            _set(self.tip, path, self.disk.get(path))
        for path, data in changes.items():
            before = self.disk.get(path)
            after = None if data is None else File(data, before is not None and before[1])
            _set(self.tip, path, after)
            _set(self.disk, path, after)

    def followed(self) -> list[str]:
        """Return memory.md if its edit was committed without a scan, as after a branch that moved."""
        entry = self.git("ls-tree", "HEAD", "memory.md").decode().replace(" blob ", " ").partition("\t")[0]
        return ["memory.md"] if entry == (self.disk["memory.md"].entry() if "memory.md" in self.disk else "") else []

    @rule(changes=CHANGES, scan=st.booleans())
    def save(self, changes: dict[str, bytes | None], scan: bool) -> None:
        self.transact(changes, scan=scan)
        self.expect(changes, scan=scan)

    @rule()
    def settle(self) -> None:
        self.transact({}, scan=True)
        self.expect({}, scan=True)

    @rule(changes=CHANGES, scan=st.booleans(), point=st.sampled_from(list(CRASHES)), recover=st.booleans())
    def crash(self, changes: dict[str, bytes | None], scan: bool, point: str, recover: bool) -> None:
        """Kill a process at some point; the next one repairs."""
        owner, name = CRASHES[point]
        real = getattr(owner, name)

        def end(this, *args) -> None:
            if point == "after the first file":
                real(this, list(args[0])[:1])
            raise Crash

        self.transact({}, scan=False)  # so that the mark is written only once more
        self.expect({}, scan=False)  # which commits a memory.md that a reset left
        before = self.git("rev-parse", "HEAD")
        ended = False
        with mock.patch.object(owner, name, end):
            try:
                self.transact(changes, scan=scan)
            except Crash:
                ended = True
        if not ended or self.git("rev-parse", "HEAD") != before:
            self.expect(changes, scan=scan)
        self.store = Store(str(self.root), self.context)
        self.transact({}, scan=recover)
        if recover:
            self.expect({}, scan=True)

    @rule()
    def reopen(self) -> None:
        self.store = Store(str(self.root), self.context)

    # Acts of a user

    @rule(path=PATHS, data=CONTENTS)
    def edit(self, path: str, data: bytes) -> None:
        data = _readable(path, data) or b""
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_bytes(data)
        before = self.disk.get(path)
        self.disk[path] = File(data, before is not None and before[1])

    @rule(path=PATHS)
    def remove(self, path: str) -> None:
        (self.root / path).unlink(missing_ok=True)
        self.disk.pop(path, None)

    @precondition(lambda _: os.name == "posix")
    @rule(path=PATHS, executable=st.booleans())
    def chmod(self, path: str, executable: bool) -> None:
        if path in self.disk:
            (self.root / path).chmod(0o755 if executable else 0o644)
            self.disk[path] = File(self.disk[path][0], executable)

    @rule()
    def add(self) -> None:
        self.git("add", "-A")

    @rule()
    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "by hand")
        self.tip = dict(self.disk)

    @rule()
    def commit_one(self) -> None:
        """`git commit FILE` of the first file that differs, whatever else is staged."""
        path = next((path for path in sorted(self.disk) if self.disk[path] != self.tip.get(path)), None)
        if path is not None:
            self.git("add", "--", path)
            self.git("commit", "-q", "-m", "by hand", "--only", "--", path)
            self.tip[path] = self.disk[path]

    @rule()
    def throw_away(self) -> None:
        self.git("reset", "-q", "--hard")
        self.git("clean", "-qfd")
        self.disk = dict(self.tip)

    @precondition(lambda self: len(self.git("rev-list", "HEAD").split()) > 3)
    @rule(how=st.sampled_from(["--soft", "--mixed", "--hard"]))
    def reset(self, how: str) -> None:
        if how == "--hard":
            self.git("clean", "-qfd")
        self.git("reset", "-q", how, "HEAD~1")
        listed = self.git("ls-tree", "-r", "-z", "HEAD").split(b"\0")[:-1]
        self.tip = {}
        for line in listed:
            meta, _, path = line.partition(b"\t")
            mode, _, oid = meta.decode().split()
            self.tip[os.fsdecode(path)] = File(self.git("cat-file", "blob", oid), mode == "100755")
        if how == "--hard":
            self.disk = dict(self.tip)

    @rule()
    def tidy(self) -> None:
        self.git("gc", "-q", "--prune=now")

    @rule()
    def forget(self) -> None:
        """Delete the private folder but for the spool: nothing is lost."""
        forget_private(self.root / ".git" / "gitmem")

    # Invariants after each step

    @invariant()
    def the_tip_is_what_it_must_be(self) -> None:
        if not self.tip:
            return
        listed = self.git("ls-tree", "-r", "-z", "HEAD").replace(b" blob ", b" ").split(b"\0")[:-1]
        found = {os.fsdecode(line.partition(b"\t")[2]): line.partition(b"\t")[0].decode() for line in listed}
        assert found == {path: file.entry() for path, file in self.tip.items()}

    @invariant()
    def the_files_are_what_they_must_be(self) -> None:
        if not self.tip:
            return
        found = {}
        for path in self.root.rglob("*"):
            name = path.relative_to(self.root).as_posix()
            if path.is_file() and name.split("/")[0] not in {".git", ".tmp"}:
                found[name] = File(path.read_bytes(), bool(path.stat().st_mode & 0o100))
        assert found == self.disk

    @invariant()
    def git_sees_the_edits_and_nothing_else(self) -> None:
        if not self.tip:
            return
        said = self.git("status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames").split(b"\0")[:-1]
        seen = {os.fsdecode(line[3:]) for line in said}
        edits = {path for path in {*self.tip, *self.disk} if self.tip.get(path) != self.disk.get(path)}
        assert edits <= seen
        # Files staged and then restored count as edited until the next scan of the whole store.
        assert edits == seen or any(line[:1] not in {b" ", b"?"} for line in said)


def _set(files: dict[str, File], path: str, file: File | None) -> None:
    if file is None:
        files.pop(path, None)
    else:
        files[path] = file


_QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
TestStore = StoreMachine.TestCase
TestStore.settings = settings(max_examples=3, stateful_step_count=15, deadline=None, suppress_health_check=_QUIET)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.timeout(1200)
class TestStoreForLong(StoreMachine.TestCase):
    settings = settings(max_examples=60, stateful_step_count=30, deadline=None, suppress_health_check=_QUIET)
