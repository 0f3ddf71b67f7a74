from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gitmem.git.commit.branch import BranchLockedError, BranchMovedError, Move, clear_left_move, is_plain
from gitmem.git.process.run import Git

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import RunsGit

pytestmark = pytest.mark.skipif(os.name != "posix", reason="git moves branches itself here")

REF = "refs/heads/gitmem"
WHO = b"gitmem <gitmem@localhost> 1795266202 +0000\tgitmem"


class Repository:
    """A repository whose branch has two commits; `old` is where it is, `new` where it is to go."""

    def __init__(self, folder: Path, bare_git: RunsGit) -> None:
        folder.mkdir(parents=True)
        bare_git(folder, "init", "-q", "-b", "gitmem")
        self.git = Git(folder / ".git", folder, dict(os.environ))
        self.dir = folder / ".git"
        self.tree = self.git.run("mktree", stdin=b"").decode().strip()
        self.old, self.new, self.other = (self.commit(text) for text in ("old", "new", "other"))
        self.git.run("update-ref", "-m", "born", REF, self.old)

    def commit(self, text: str) -> str:
        ada = {"GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "Ada"}
        env = {**ada, "GIT_COMMITTER_EMAIL": "a@b"}
        return self.git.run("commit-tree", "-m", text, self.tree, env=env).decode().strip()

    def tip(self) -> str:
        return self.git.run("rev-parse", REF).decode().strip()

    def move(self, old: str | None = None, new: str | None = None) -> bool:
        with Move(str(self.dir), REF, old or self.old, new or self.new) as moving:
            if moving.ready:
                moving.finish(WHO)
            return moving.ready

    def locks(self) -> list[str]:
        return sorted(path.name for path in self.dir.rglob("*.lock"))

    def reflog(self, name: str) -> list[str]:
        return self.git.run("reflog", "--format=%H %gs", name).decode().splitlines()


@pytest.fixture
def repository(tmp_path: Path, bare_git: RunsGit) -> Repository:
    return Repository(tmp_path / "a b 저장소", bare_git)


def test_the_branch_moves_and_both_reflogs_tell(repository):
    assert is_plain(str(repository.dir), REF)
    assert repository.move()
    assert repository.tip() == repository.new
    for name in (REF, "HEAD"):
        assert repository.reflog(name) == [f"{repository.new} gitmem", f"{repository.old} born"]
    assert repository.locks() == []
    repository.git.run("fsck", "--strict")
    repository.git.run("update-ref", REF, repository.old, repository.new)  # git goes on from there


def test_the_reflogs_are_those_of_git(repository, tmp_path, bare_git):
    twin = Repository(tmp_path / "twin", bare_git)
    assert repository.move()
    who = {"GIT_COMMITTER_NAME": "gitmem", "GIT_COMMITTER_EMAIL": "gitmem@localhost"}
    env = {**who, "GIT_COMMITTER_DATE": "1795266202 +0000"}
    twin.git.run("update-ref", "-m", "gitmem", REF, twin.new, twin.old, env=env)
    for name in (Path("logs", "HEAD"), Path("logs", REF)):
        mine, gits = ((one.dir / name).read_bytes().splitlines()[-1] for one in (repository, twin))
        assert mine.split(b" ", 2)[2] == gits.split(b" ", 2)[2]


def test_a_branch_that_is_elsewhere_stays(repository):
    repository.git.run("update-ref", REF, repository.other)
    with pytest.raises(BranchMovedError):
        repository.move()
    assert repository.tip() == repository.other
    assert repository.locks() == []


@pytest.mark.parametrize("name", [f"{REF}.lock", "HEAD.lock"])
def test_a_lock_of_another_process_is_respected(repository, name):
    (repository.dir / name).write_bytes(b"theirs")
    with pytest.raises(BranchLockedError) as caught:
        repository.move()
    assert Path(caught.value.lock) == repository.dir / name
    assert repository.tip() == repository.old
    assert (repository.dir / name).read_bytes() == b"theirs"
    assert len(repository.locks()) == 1


def _pack(repository: Repository) -> None:
    repository.git.run("pack-refs", "--all")


def _detach(repository: Repository) -> None:
    repository.git.run("update-ref", "--no-deref", "HEAD", repository.other)


def _check_out_another(repository: Repository) -> None:
    repository.git.run("symbolic-ref", "HEAD", "refs/heads/other")


def _keep_no_log(repository: Repository) -> None:
    (repository.dir / "logs" / REF).unlink()


def _keep_no_log_of_head(repository: Repository) -> None:
    (repository.dir / "logs" / "HEAD").unlink()


def _use_reftables(repository: Repository) -> None:
    (repository.dir / "reftable").mkdir()


def _be_a_linked_work_tree(repository: Repository) -> None:
    (repository.dir / "commondir").write_text("../..\n")


def _be_symbolic(repository: Repository) -> None:
    repository.git.run("update-ref", "refs/heads/target", repository.old)
    repository.git.run("symbolic-ref", REF, "refs/heads/target")


def _be_torn(repository: Repository) -> None:
    (repository.dir / REF).write_bytes(b"\0" * 41)


OTHERS = [
    *(_pack, _detach, _check_out_another, _keep_no_log, _keep_no_log_of_head),
    *(_use_reftables, _be_a_linked_work_tree, _be_symbolic),
]


@pytest.mark.parametrize("change", OTHERS)
def test_what_is_not_plain_is_left_to_git(repository, change: Callable[[Repository], None]):
    change(repository)
    files = {path: path.read_bytes() for path in repository.dir.rglob("*") if path.is_file()}
    assert repository.move() is False
    assert {path: path.read_bytes() for path in repository.dir.rglob("*") if path.is_file()} == files


def test_a_torn_ref_is_not_written_over(repository):
    _be_torn(repository)
    with pytest.raises(BranchMovedError):
        repository.move()
    assert (repository.dir / REF).read_bytes() == b"\0" * 41
    assert repository.locks() == []


def test_what_is_left_unfinished_changes_nothing(repository):
    with Move(str(repository.dir), REF, repository.old, repository.new) as moving:
        assert moving.ready
        assert repository.locks() == ["HEAD.lock", "gitmem.lock"]
        assert repository.tip() == repository.old
    assert repository.tip() == repository.old
    assert repository.locks() == []
    assert len(repository.reflog(REF)) == 1


def test_the_permissions_of_a_shared_repository_stay(repository):
    (repository.dir / REF).chmod(0o664)
    assert repository.move()
    assert (repository.dir / REF).stat().st_mode & 0o777 == 0o664


def test_no_torn_line_stays_in_a_reflog(repository, monkeypatch):
    write = os.write

    def half(descriptor: int, data: bytes) -> int:
        if b"\t" not in data:
            return write(descriptor, data)
        if len(data) < 100:
            raise OSError(28, "No space left on device")
        return write(descriptor, data[: len(data) // 2])

    before = (repository.dir / "logs" / REF).read_bytes()
    monkeypatch.setattr(os, "write", half)
    with pytest.raises(OSError, match="No space"):
        repository.move()
    monkeypatch.undo()
    assert (repository.dir / "logs" / REF).read_bytes() == before
    assert repository.tip() == repository.old
    assert repository.locks() == []


def test_of_many_that_move_it_from_one_commit_one_does(repository):
    said = []

    def try_it(number: int) -> None:
        new = repository.new if number % 2 else repository.other
        try:
            said.append(repository.move(new=new))
        except (BranchMovedError, BranchLockedError):
            said.append(False)

    threads = [threading.Thread(target=try_it, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(said) == 1
    assert len(repository.reflog(REF)) == 2
    assert repository.locks() == []


def left_by_a_killed_gitmem(repository: Repository) -> None:
    """Leave both locks as they are when a process ends between two steps."""
    moving = Move(str(repository.dir), REF, repository.old, repository.new)
    left = {path: path.read_bytes() for path in repository.dir.rglob("*.lock")}
    moving.__exit__()
    for path, content in left.items():
        path.write_bytes(content)


def test_the_locks_of_a_gitmem_that_was_killed_are_known_by_what_they_say(repository):
    left_by_a_killed_gitmem(repository)
    assert repository.locks() == ["HEAD.lock", "gitmem.lock"]
    clear_left_move(str(repository.dir), REF)
    assert repository.locks() == []
    assert repository.move()


def test_a_lock_of_the_branch_s_that_a_git_command_holds_stays(repository):
    left_by_a_killed_gitmem(repository)
    (repository.dir / f"{REF}.lock").write_bytes(b"0123456789" * 4 + b"\n")
    clear_left_move(str(repository.dir), REF)
    assert repository.locks() == ["gitmem.lock"]


def test_an_empty_lock_of_the_branch_s_is_a_git_command_s_for_a_moment(repository):
    left_by_a_killed_gitmem(repository)
    lock = repository.dir / f"{REF}.lock"
    lock.write_bytes(b"")
    clear_left_move(str(repository.dir), REF)
    assert repository.locks() == ["HEAD.lock", "gitmem.lock"]
    os.utime(lock, (time.time() - 2, time.time() - 2))
    clear_left_move(str(repository.dir), REF)
    assert repository.locks() == []


def test_a_lock_of_head_s_that_a_git_command_holds_stays(repository):
    for name in ("HEAD.lock", f"{REF}.lock"):
        (repository.dir / name).write_bytes(repository.new.encode() + b"\n")
    clear_left_move(str(repository.dir), REF)
    assert repository.locks() == ["HEAD.lock", "gitmem.lock"]


def test_nothing_was_left(repository):
    clear_left_move(str(repository.dir), REF)
    assert repository.tip() == repository.old


def test_who_was_taken_for_dead_does_not_move_the_branch(repository):
    with Move(str(repository.dir), REF, repository.old, repository.new) as slow:
        clear_left_move(str(repository.dir), REF)
        with pytest.raises(BranchMovedError):
            slow.finish(WHO)
        with Move(str(repository.dir), REF, repository.old, repository.other) as quick:
            with pytest.raises(BranchMovedError):
                slow.finish(WHO)
            quick.finish(WHO)
    assert repository.tip() == repository.other
    assert repository.locks() == []
    assert repository.reflog(REF) == [f"{repository.other} gitmem", f"{repository.old} born"]
