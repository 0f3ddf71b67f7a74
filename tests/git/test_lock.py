import errno
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gitmem.errors import BusyError
from gitmem.git import lock as file
from gitmem.git.left_behind import LEFT_BEHIND_SECONDS
from gitmem.git.lock import STALE_SECONDS, Clock, FileLock, Holder, Lock
from gitmem.git.locking import LOCK_REF, LockKind, RefLock, open_lock
from gitmem.git.process import Git
from tests.copies import new_repository

ROOT = Path(__file__).resolve().parents[2]
WORKER = """
import os, sys
root, folder, kind, code = sys.argv[1:]
sys.path.insert(0, root)
from gitmem.git.locking import LockKind, open_lock
from gitmem.git.process import Git
from gitmem.errors import BusyError
git = Git(os.path.join(folder, ".git"), None, os.environ)
lock = open_lock(git, os.path.join(folder, ".git", "gitmem"), kind=LockKind(kind), purpose="tests", machine="box")
exec(code)
"""
OBEY = """
print("ready", flush=True)
for line in sys.stdin:
    print(eval(line), flush=True)
"""
COUNT = """
for _ in range(25):
    with lock.acquire(100):
        with open(os.path.join(folder, "count"), "r+") as file:
            number = int(file.read()) + 1
            file.seek(0)
            file.write(str(number))
"""
LIVE_DANGEROUSLY = """
import time, random
marker = os.path.join(folder, "inside")
def lives(pid):
    # A process that was killed loses its locks a moment before it looks dead.
    for _ in range(200):
        try:
            with open(f"/proc/{pid}/stat") as file: state = file.read().rpartition(")")[2].split()[0]
        except OSError:
            return False
        if state in "ZX": return False
        time.sleep(0.01)
    return True
while True:
    with lock.acquire(100):
        try:
            os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            with open(marker) as file: other = file.read()
            if other and lives(other):
                with open(os.path.join(folder, "violation"), "a") as file: file.write(other)
        with open(marker, "w") as file: file.write(str(os.getpid()))
        time.sleep(random.random() / 100)
        os.unlink(marker)
    print("done", flush=True)
"""
proc_needed = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the system does not tell")
UNREADABLE = [b"", b'{"pid": 1', b"\xff\xfe\x00", b"[" * 5000, b'{"pid": "x"}', b'{"at": 1e999}']


class FakeTime:
    """A clock that moves when it is told to, or when somebody sleeps; it sleeps long, so as not to wake often."""

    def __init__(self, start: float = 1000.0) -> None:
        self.now = start

    def clock(self) -> Clock:
        return Clock(monotonic=lambda: self.now, wall=lambda: 1_700_000_000.0, sleep=self.sleep)

    def sleep(self, seconds: float) -> None:
        self.now += max(seconds, 1.0)


class Other:
    """Another process that has the same lock; `tell` has it evaluate an expression."""

    def __init__(self, project: Path, kind: LockKind, code: str = OBEY, *, group: bool = False) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER, str(ROOT), str(project), kind.value, code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=group,
        )
        self.group = group
        if code == OBEY:
            assert self._line() == "ready"

    def _line(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def tell(self, expression: str) -> str:
        assert self.process.stdin
        self.process.stdin.write(expression + "\n")
        self.process.stdin.flush()
        return self._line()

    def kill(self, *, reap: bool = True) -> None:
        if self.group:
            os.killpg(self.process.pid, signal.SIGKILL)
        else:
            self.process.kill()
        if reap:
            self.close()

    def close(self) -> None:
        self.process.communicate(timeout=100)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project" / ".git" / "gitmem").mkdir(parents=True)
    return new_repository(tmp_path / "project")


@pytest.fixture(params=[LockKind.FILE, LockKind.REF], ids=["file", "ref"])
def kind(request: pytest.FixtureRequest) -> LockKind:
    return request.param


@pytest.fixture
def make(project: Path, kind: LockKind, environ: dict[str, str]) -> Iterator[Callable[..., Lock]]:
    """Make a lock on the project; what is still held at the end is released."""
    made = []

    def make_lock(clock: Clock | None = None, machine: str = "desk") -> Lock:
        git = Git(project / ".git", None, environ)
        lock = open_lock(
            git, project / ".git" / "gitmem", kind=kind, purpose="a test", machine=machine, clock=clock or Clock()
        )
        made.append(lock)
        return lock

    yield make_lock
    for lock in made:
        lock.release()


@pytest.fixture
def other(project: Path, kind: LockKind) -> Iterator[Other]:
    process = Other(project, kind)
    yield process
    if process.process.poll() is None:
        process.kill()


# What both locks promise


@pytest.mark.slow
def test_processes_exclude_each_other(project, kind):
    (project / "count").write_text("0")
    workers = [Other(project, kind, COUNT) for _ in range(4)]
    for worker in workers:
        worker.close()
        assert worker.process.returncode == 0
    assert (project / "count").read_text() == "100"


def test_waiting_lasts_until_the_holder_lets_go(make, other):
    other.tell("lock.acquire(10)")
    waiting = Clock(sleep=lambda seconds: (other.tell("lock.release()"), time.sleep(seconds))[1])
    assert make(waiting).acquire(100).held()


@proc_needed
@pytest.mark.parametrize("reaped", [True, False], ids=["reaped", "zombie"])
def test_the_lock_of_a_dead_holder_is_taken_at_once(make, other, reaped):
    other.tell("lock.acquire(10)")
    other.kill(reap=reaped)
    frozen = FakeTime(time.monotonic())
    lock = make(frozen.clock())
    if not reaped:
        while Path(f"/proc/{other.process.pid}/stat").read_text().split()[2] != "Z":
            time.sleep(0.01)
    try:
        assert lock.acquire(STALE_SECONDS / 2).held()
    finally:
        if not reaped:
            other.close()


def test_a_live_holder_keeps_its_lock_for_its_time_and_by_a_heartbeat_for_longer(make):
    times = FakeTime(), FakeTime()
    holder, waiter = make(times[0].clock()), make(times[1].clock())
    holder.acquire(0)
    for beats in range(4):
        for moving in times:
            moving.now += STALE_SECONDS - 1
        if beats:
            holder.heartbeat()
        with pytest.raises(BusyError):
            waiter.acquire(0)
        assert holder.held()
    times[1].now += STALE_SECONDS + 1
    waiter.acquire(0)
    assert not holder.held()


def test_a_holder_that_lost_its_lock_does_no_harm(make):
    late = FakeTime()
    loser, winner, third = make(FakeTime().clock()), make(late.clock()), make(late.clock())
    loser.acquire(0)
    late.now += STALE_SECONDS + 1
    winner.acquire(0)
    loser.heartbeat()
    loser.release()
    loser.release()
    assert winner.held()
    with pytest.raises(BusyError):
        third.acquire(0)
    winner.release()
    assert third.acquire(0).held()
    third.release()
    assert loser.acquire(0).held()


@pytest.mark.parametrize("text", UNREADABLE)
@pytest.mark.few(3)
def test_an_unreadable_record_keeps_the_lock_for_its_time(make, project, bare_git, text):
    holder = make().acquire(10)
    if isinstance(holder, FileLock):
        (project / ".git" / "gitmem" / "lock").write_bytes(text)
    else:
        blob = bare_git(project, "hash-object", "-w", "--stdin", stdin=text)
        bare_git(project, "update-ref", LOCK_REF, blob)
    with pytest.raises(BusyError, match="held by another process"):
        make(FakeTime().clock()).acquire(STALE_SECONDS - 1)
    assert make(FakeTime().clock()).acquire(STALE_SECONDS + 1).held()
    assert not holder.held()


@pytest.mark.slow
@proc_needed
def test_processes_killed_at_random_leave_a_lock_that_works(project, kind):
    end = time.monotonic() + 25
    chance = random.Random(7)
    workers = [Other(project, kind, LIVE_DANGEROUSLY, group=True) for _ in range(4)]
    kills = 0
    while time.monotonic() < end:
        time.sleep(chance.random() / 5)
        victim = chance.randrange(len(workers))
        workers[victim].kill()
        workers[victim] = Other(project, kind, LIVE_DANGEROUSLY, group=True)
        kills += 1
    for worker in workers:
        worker.kill()
    assert kills > 20
    assert not (project / "violation").exists()
    survivor = Other(project, kind)
    assert survivor.tell("lock.acquire(60).held()") == "True"
    survivor.kill()


# What the file lock promises


@pytest.fixture
def private(project: Path) -> Path:
    return project / ".git" / "gitmem"


def file_lock(private: Path, clock: Clock | None = None) -> FileLock:
    return FileLock(str(private), purpose="a test", machine="desk", clock=clock or Clock())


def test_retired_files_are_removed(private):
    moving = FakeTime()
    for _ in range(4):
        file_lock(private, moving.clock()).acquire(0)
        moving.now += STALE_SECONDS
    assert sorted(path.name for path in private.iterdir()) == ["lock"]


def test_a_lock_that_is_removed_leaves_no_file_and_takes_no_other_ones(private):
    lock = file_lock(private).acquire(0)
    lock.remove()
    assert not (private / "lock").exists()
    other = file_lock(private).acquire(0)
    lock.remove()
    assert other.held()
    other.release()


def test_a_removed_file_or_folder_is_a_lost_lock(private):
    lock = file_lock(private).acquire(0)
    (private / "lock").unlink()
    assert not lock.held()
    assert file_lock(private).acquire(0).held()
    assert not lock.held()
    shutil.rmtree(private)
    assert not lock.held()
    lock.release()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_release_counts_although_a_forked_child_has_the_file_open(private):
    lock = file_lock(private).acquire(0)
    child = os.fork()
    if child == 0:
        time.sleep(100)
        os._exit(0)
    try:
        lock.release()
        assert file_lock(private).acquire(0).held()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


# What the ref lock promises


@pytest.fixture
def git(project: Path, environ: dict[str, str]) -> Git:
    return Git(project / ".git", None, environ)


def ref_lock(git: Git, project: Path, clock: Clock | None = None) -> RefLock:
    folder = str(project / ".git" / "gitmem")
    return RefLock(git, folder, purpose="a test", machine="desk", clock=clock or Clock())


def set_record(git: Git, **changes: object) -> None:
    holder = Holder.from_bytes(git.run("cat-file", "blob", LOCK_REF))
    assert holder
    blob = git.run("hash-object", "-w", "--stdin", stdin=holder._replace(**changes).to_bytes())
    git.run("update-ref", LOCK_REF, blob.decode().strip())


def test_the_ref_is_never_deleted_and_keeps_no_log(git, project, bare_git):
    bare_git(project, "config", "core.logAllRefUpdates", "always")
    lock = ref_lock(git, project)
    for _ in range(2):
        with lock.acquire(0):
            assert json.loads(git.run("cat-file", "blob", LOCK_REF))["pid"] == os.getpid()
        assert git.run("cat-file", "blob", LOCK_REF).startswith(b"free")
    assert not (project / ".git" / "logs" / LOCK_REF).exists()
    assert not list((project / ".git" / "gitmem").iterdir())


def test_it_works_in_a_repository_of_sha256(tmp_path, environ, bare_git):
    bare_git(tmp_path, "init", "-q", "--object-format=sha256", "new")
    (tmp_path / "new" / ".git" / "gitmem").mkdir()
    git = Git(tmp_path / "new" / ".git", None, environ)
    for _ in range(2):
        lock = ref_lock(git, tmp_path / "new").acquire(0)
        assert lock.held()
        with pytest.raises(BusyError):
            ref_lock(git, tmp_path / "new").acquire(0)
        lock.release()


def test_linked_work_trees_share_it(project, environ, bare_git):
    bare_git(project, "commit", "-q", "--allow-empty", "-m", "first")
    bare_git(project, "worktree", "add", "-q", "../linked")
    linked = Git(project / ".git" / "worktrees" / "linked", project.parent / "linked", environ)
    with ref_lock(Git(project / ".git", None, environ), project).acquire(0), pytest.raises(BusyError):
        ref_lock(linked, project).acquire(0)
    leave_behind(project, LEFT_BEHIND_SECONDS + 1)
    assert ref_lock(linked, project).acquire(20).held()


@proc_needed
def test_a_process_that_got_the_number_of_a_dead_holder_is_not_the_holder(git, project):
    ref_lock(git, project).acquire(0)
    set_record(git, started="1")
    assert ref_lock(git, project).acquire(0).held()


@pytest.mark.parametrize("place", ["", "another boot pid:[1]"])
def test_a_holder_elsewhere_is_believed_for_its_time(git, project, place):
    ref_lock(git, project).acquire(0)
    set_record(git, place=place, pid=999_999_999, beat=-1e9)
    with pytest.raises(BusyError):
        ref_lock(git, project).acquire(0)
    stamp = time.time() - STALE_SECONDS - 5
    os.utime(project / ".git" / LOCK_REF, (stamp, stamp))
    assert ref_lock(git, project).acquire(0).held()


def test_a_holder_elsewhere_is_watched_where_the_ref_has_no_file(git, project, bare_git):
    ref_lock(git, project).acquire(0)
    set_record(git, place="elsewhere")
    bare_git(project, "pack-refs", "--all")
    with pytest.raises(BusyError):
        ref_lock(git, project, FakeTime().clock()).acquire(STALE_SECONDS - 1)
    assert ref_lock(git, project, FakeTime().clock()).acquire(STALE_SECONDS + 1).held()


def test_a_move_that_went_through_unnoticed_is_noticed(git, project, monkeypatch):
    lock = ref_lock(git, project)
    move = lock._move
    answers = iter([False, True])
    monkeypatch.setattr(lock, "_move", lambda new, old: move(new, old) and next(answers))
    assert lock.acquire(30).held()


def leave_behind(project: Path, age: float) -> Path:
    path = project / ".git" / (LOCK_REF + ".lock")
    path.parent.mkdir(exist_ok=True)
    path.touch()
    stamp = time.time() - age
    os.utime(path, (stamp, stamp))
    return path


def test_what_a_killed_git_left_behind_is_cleared_and_what_a_running_one_holds_is_not(git, project):
    lock = leave_behind(project, 0)
    with pytest.raises(BusyError):
        ref_lock(git, project).acquire(0.2)
    assert lock.exists()
    leave_behind(project, LEFT_BEHIND_SECONDS + 1)
    assert ref_lock(git, project).acquire(20).held()
    assert not lock.exists()


def test_a_pruned_repository_gives_the_lock_back(git, project, bare_git):
    lock = ref_lock(git, project).acquire(0)
    bare_git(project, "gc", "-q", "--prune=now")
    assert lock.held()
    lock.release()
    assert not lock.held()
    assert ref_lock(git, project).acquire(0).held()


@pytest.mark.slow
def test_a_record_whose_blob_is_lost_keeps_the_lock_for_its_time(git, project):
    ref_lock(git, project).acquire(0)
    blob = git.run("rev-parse", LOCK_REF).decode().strip()
    (project / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(BusyError):
        ref_lock(git, project, FakeTime().clock()).acquire(STALE_SECONDS - 1)
    assert ref_lock(git, project, FakeTime().clock()).acquire(STALE_SECONDS + 1).held()


@pytest.mark.slow
def test_packing_refs_meanwhile_does_not_make_it_stick(git, project, bare_git):
    bare_git(project, "commit", "-q", "--allow-empty", "-m", "first")
    workers = [Other(project, LockKind.REF, COUNT) for _ in range(3)]
    (project / "count").write_text("0")
    while any(worker.process.poll() is None for worker in workers):
        bare_git(project, "pack-refs", "--all", "--prune")
    for worker in workers:
        worker.close()
    assert (project / "count").read_text() == "75"


# Which of them a store gets


def automatic(git: Git, project: Path) -> Lock:
    return open_lock(git, project / ".git" / "gitmem", purpose="a test", machine="desk")


@pytest.mark.skipif(sys.platform != "linux", reason="mount types are read on Linux")
@pytest.mark.parametrize("system", ["nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "fuse", "afs", "lustre"])
def test_what_machines_share_gets_the_ref_lock(git, project, system, tmp_path, monkeypatch):
    device = project.stat().st_dev
    mounts = tmp_path / "mountinfo"
    lines = ["22 27 999:1 / /proc rw,relatime - proc proc rw"]
    lines += [f"29 27 {os.major(device)}:{os.minor(device)} / /a\\040b rw shared:1 master:2 - {system} server:/x rw"]
    mounts.write_text("\n".join(lines))
    monkeypatch.setattr(file, "_MOUNTS", str(mounts))
    assert isinstance(automatic(git, project), RefLock)


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL, errno.EIO])
def test_a_system_without_file_locks_gets_the_ref_lock(git, project, number, monkeypatch):
    def refuses(_folder):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(file, "_try_out", refuses)
    if number == errno.EIO:  # another error is told
        with pytest.raises(OSError, match=os.strerror(number)):
            automatic(git, project)
    else:
        assert isinstance(automatic(git, project), RefLock)
