"""A merge that nothing points to yet is kept from git's clean-up, and by nothing once the branch has moved."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gitmem.document.message import Message
from gitmem.errors import BusyError
from gitmem.git.repository import read_refs
from gitmem.git.worktree import WorkTree
from gitmem.platform.machine import Context
from gitmem.store.init import Place, init_store
from gitmem.store.maintenance import join_listed, listed_packs, maintain, new_pending_ref, remove_abandoned
from gitmem.store.remotes import add_remote
from gitmem.store.transact import transact
from gitmem.sync.clone import clone_store
from gitmem.sync.fetch import Options, SyncStep
from tests.conftest import RunsGit
from tests.copies import new_repository
from tests.world import CRASHES, World, sync_store


@pytest.mark.slow
@pytest.mark.parametrize("place", [Place.PROJECT, Place.BRANCH])
def test_a_clean_up_at_each_step_of_a_sync(world, opened, context, bare_git: RunsGit, tmp_path: Path, place: Place):  # noqa: PLR0917
    remote, other = tmp_path / "remote.git", tmp_path / "other"
    bare_git(tmp_path, "init", "-q", "--bare", str(remote))
    bare_git(tmp_path, "init", "-q", str(other))
    add_remote(world.store, "origin", str(remote))
    world.append("memory.md", b"- first\n")
    sync_store(world.store)
    made = opened(clone_store(str(other), context, place, str(remote), asks=False, options=Options()).root)
    world.append("memory.md", b"- here\n")
    sync_store(world.store)
    made.append("knowledge/there.md", b"there\n")
    steps: list[str] = []

    def collect(step: str) -> None:
        steps.append(step)
        made.git("gc", "--quiet", "--prune=now")

    sync_store(made.store, progress=collect)
    assert {SyncStep.MERGE, SyncStep.PUSH, SyncStep.FILES} <= set(steps)
    assert b"- here\n" in made.files()["memory.md"]
    assert read_refs(made.store.repository.git, "refs/gitmem/pending/") == {}
    made.sound()


def test_what_a_killed_sync_left_goes_after_a_day(world):
    git, tip = world.store.repository.git, world.tip
    old, new = new_pending_ref(world.store).replace("/1", "/0"), new_pending_ref(world.store)
    for ref in (old, new):
        git.run("update-ref", ref, tip)
    maintain(world.store)
    assert list(read_refs(git, "refs/gitmem/pending/")) == [new]
    remove_abandoned(world.store)
    assert list(read_refs(git, "refs/gitmem/pending/")) == [new]


@pytest.fixture
def project(tmp_path: Path, bare_git: RunsGit) -> Path:
    folder = new_repository(tmp_path / "theirs")
    for name in ("one", "two"):
        (folder / name).write_text(name)
        bare_git(folder, "add", name)
        bare_git(folder, "commit", "-qm", name)
        bare_git(folder, "repack", "-dq")
    (folder / "loose").write_text("loose")
    bare_git(folder, "add", "loose")
    return folder


def _packs(project: Path) -> set[str]:
    names = os.listdir(project / ".git" / "objects" / "pack")
    return {name.removesuffix(".pack") for name in names if name.endswith(".pack")}


def test_gitmems_packs_are_joined_and_no_other_is_touched(project, context, opened, bare_git):
    theirs = _packs(project)
    world = opened(init_store(str(project), context, Place.BRANCH).store.root)
    for number in range(25):
        world.append("memory.md", b"- %d\n" % number)
    assert set(listed_packs(world.store)) == _packs(project) - theirs
    assert world.store.spare_packs() > 0
    loose = bare_git(project, "count-objects")
    join_listed(world.store)
    assert bare_git(project, "count-objects") == loose
    assert theirs < _packs(project)
    assert set(listed_packs(world.store)) == _packs(project) - theirs
    assert len(listed_packs(world.store)) == 1
    assert world.store.spare_packs() <= 0
    world.append("memory.md", b"- after\n")
    assert len(listed_packs(world.store)) == 2
    world.sound()


def test_packs_that_git_has_packed_again_are_no_longer_listed(project, context, opened, bare_git):
    world = opened(init_store(str(project), context, Place.BRANCH).store.root)
    world.append("memory.md", b"- one\n")
    bare_git(project, "gc", "--quiet", "--prune=now")
    assert listed_packs(world.store) == []
    join_listed(world.store)
    world.append("memory.md", b"- two\n")
    assert len(listed_packs(world.store)) == 1
    world.sound()


def test_an_index_over_several_packs_stays_right(project, context, opened, bare_git):
    world = opened(init_store(str(project), context, Place.BRANCH).store.root)
    for number in range(3):
        world.append("memory.md", b"- %d\n" % number)
    bare_git(project, "multi-pack-index", "write")
    packs = _packs(project)
    join_listed(world.store)
    assert _packs(project) == packs
    bare_git(project, "multi-pack-index", "verify")


@pytest.fixture
def branch(project: Path, context: Context, opened: Callable[..., World]) -> World:
    """Give a store on a branch of a project, with one save."""
    world = opened(init_store(str(project), context, Place.BRANCH).store.root)
    world.append("memory.md", b"- one\n")
    return world


def _keep(project: Path, pack: str, said: str = "fast-import", *, old: bool = True) -> Path:
    path = project / ".git" / "objects" / "pack" / f"{pack}.keep"
    path.write_text(said)
    if old:
        os.utime(path, (1, 1))
    return path


def test_what_a_killed_save_left_beside_its_pack_goes(project, branch):
    """A user's own fast-import, whose file looks the same, is left alone."""
    ours = _keep(project, listed_packs(branch.store)[-1], old=False)
    theirs = _keep(project, "pack-1234", old=False)
    branch.append("memory.md", b"- two\n")
    assert (ours.exists(), theirs.exists()) == (False, True)
    theirs.with_suffix(".pack").write_bytes(b"")
    os.utime(theirs, (1, 1))  # its index has not come
    branch.append("memory.md", b"- three\n")
    assert not theirs.exists()


def _unlisted(world: World) -> str:
    """Return the name of a pack of a save that was killed before git listed it."""
    pack = listed_packs(world.store)[-1]
    Path(world.store.packs_file).write_text("")
    return pack


def test_what_a_save_left_that_was_killed_before_git_listed_its_pack_goes(project, branch):
    young = _keep(project, _unlisted(branch), old=False)
    branch.append("memory.md", b"- two\n")
    assert young.exists()
    os.utime(young, (1, 1))
    branch.append("memory.md", b"- three\n")
    assert not young.exists()


@pytest.mark.few(1)
@pytest.mark.parametrize("said", ["", "mine", "fast-import\n"])
@pytest.mark.parametrize("listed", [True, False], ids=["listed", "not listed"])
def test_a_users_own_mark_beside_a_save_stays(project, branch, said, listed):
    keep = _keep(project, listed_packs(branch.store)[-1] if listed else _unlisted(branch), said)
    branch.append("memory.md", b"- two\n")
    assert keep.read_text() == said


@pytest.mark.parametrize("commits", [["main"], ["main", "gitmem"]], ids=" and ".join)
def test_a_mark_beside_commits_of_a_user_stays(project, branch, bare_git, commits):
    before = _packs(project)
    bare_git(project, "pack-objects", "-q", "--revs", ".git/objects/pack/pack", stdin="\n".join(commits).encode())
    [pack] = _packs(project) - before
    keep = _keep(project, pack)
    branch.append("memory.md", b"- two\n")
    assert keep.exists()


def test_a_mark_beside_a_damaged_pack_stays_and_stops_no_save(project, branch):
    keep = _keep(project, "pack-1234")
    for suffix in (".pack", ".idx"):
        keep.with_suffix(suffix).write_bytes(b"damaged")
    branch.append("memory.md", b"- two\n")
    assert keep.exists()


POINTS = (*CRASHES,)
UNWRITTEN = POINTS[0]
BEFORE = {
    "memory.md": b"# Memory\n\none\n\ntwo\n\nthree\n",
    "daily/day.md": b"day\n",
    "gone.md": b"going\n",
    "untouched.md": b"u\n",
}
AFTER = {
    "memory.md": b"# Memory\n\none\n\ntwo\n\nthree\nsaved\n",
    "daily/day.md": b"day\nsaved\n",
    "gone.md": None,
    "new/file.md": b"new\n",
}


@pytest.fixture
def crashed(world, crashing):
    """Give a function that cuts a transaction off at a point after the branch has moved."""
    world.commit(BEFORE)

    def crash(point: str) -> None:
        with crashing(point):
            world.commit(AFTER)
        assert world.tree()["memory.md"] == AFTER["memory.md"]
        world.reopen()

    return crash


def saved(world) -> None:
    """What the transaction that was cut off brought is there, in the tip and in the files."""
    for tree in (world.tree(), world.files()):
        assert tree["memory.md"].count(b"\nsaved\n") == 1
        assert tree["daily/day.md"].count(b"\nsaved\n") == 1
        assert tree["new/file.md"] == b"new\n"
        assert "gone.md" not in tree


# Without an edit in between


@pytest.mark.few(1)
@pytest.mark.parametrize("point", POINTS)
def test_a_secret_that_was_taken_out_of_an_edit_does_not_come_back(world, crashing, point):
    secret = b"ghp_" + b"0123456789abcdefghijABCDEFGHIJ012345"
    world.commit(BEFORE)
    world.write("memory.md", BEFORE["memory.md"] + b"token " + secret + b"\n")
    world.write("notes.md", b"token " + secret + b"\n")
    with crashing(point):
        world.append("memory.md", b"saved\n", scan=True)
    world.reopen()
    world.settle()
    assert secret not in b"".join(world.files().values())
    assert b"saved\n" in world.files()["memory.md"]
    world.sound()
    assert world.git("log", "--all", "-S", secret.decode(), "--format=%h") == ""
    world.git("repack", "-adq")
    kinds = world.git("cat-file", "--batch-check", "--batch-all-objects").splitlines()
    blobs = [line.split()[0] for line in kinds if " blob " in line]
    assert not any(secret.decode() in world.git("cat-file", "blob", blob) for blob in blobs)


# With an edit in between


@pytest.mark.parametrize("scan", [False, True])
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.few(3)
def test_an_edit_in_another_place_is_merged(world, crashed, point, scan):
    crashed(point)
    edited = world.files()["memory.md"].replace(b"# Memory\n", b"# Our memory\n")
    world.write("memory.md", edited)
    outcome = world.append("memory.md", b"next\n", scan=scan)
    assert world.files()["memory.md"] == b"# Our memory\n\none\n\ntwo\n\nthree\nsaved\nnext\n"
    assert bool(outcome.notices) is (b"saved" not in edited)
    saved(world)
    world.sound()


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.few(2)
def test_a_line_added_in_the_same_place_is_kept_as_well(world, crashed, point):
    crashed(point)
    world.write("memory.md", world.files()["memory.md"] + b"by hand\n")
    world.write("daily/day.md", world.files()["daily/day.md"] + b"by hand\n")
    world.settle()
    assert sorted(world.files()["memory.md"].splitlines()[-2:]) == [b"by hand", b"saved"]
    assert sorted(world.files()["daily/day.md"].splitlines()) == [b"by hand", b"day", b"saved"]
    saved(world)
    world.sound()


@pytest.mark.parametrize("content", [b"three, but different\n", b"\0\1\2"])
def test_an_edit_of_the_same_line_stays_beside(world, crashing, content):
    world.commit({"memory.md": b"one\ntwo\n"})
    with crashing(UNWRITTEN):
        world.commit({"memory.md": b"one\nTWO\n"})
    world.write("memory.md", b"one\n" + content)
    outcome = transact(world.reopen(), lambda _: None, purpose="test", scan=True)
    (notice,) = outcome.notices
    beside = [name for name in world.files() if ".edited-" in name]
    assert beside == [notice.rstrip(".").rpartition(" ")[2]]
    assert world.files()[beside[0]] == b"one\n" + content
    assert beside[0].startswith("memory.edited-2026")
    assert beside[0].endswith(".md")
    assert world.files()["memory.md"] == b"one\nTWO\n"
    world.sound()


def test_two_edits_beside_in_one_minute_are_two_files(world, crashing):
    moment = world.context.clock()
    world.context = world.context._replace(clock=lambda: moment)
    world.reopen()
    for number in range(3):
        world.commit({"memory.md": b"one\ntwo %d\n" % number})
        with crashing(UNWRITTEN):
            world.commit({"memory.md": b"one\nTWO %d\n" % number})
        world.write("memory.md", b"one\nmine %d\n" % number)
        world.settle()
    kept = {data for name, data in world.files().items() if ".edited-" in name}
    assert kept == {b"one\nmine %d\n" % number for number in range(3)}
    world.sound()


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.few(2)
def test_an_edit_of_a_file_that_was_to_go_is_kept(world, crashed, point):
    crashed(point)
    world.write("gone.md", b"going, but edited\n")
    world.settle()
    assert world.tree()["gone.md"] == b"going, but edited\n"
    world.sound()


def test_a_new_file_that_a_user_made_first_is_merged_or_stays_beside(world, crashed):
    crashed(UNWRITTEN)
    world.write("new/file.md", b"new\nand by hand\n")
    world.settle()
    assert {b"new\n", b"and by hand\n"} <= {line for data in world.files().values() for line in data.splitlines(True)}
    world.sound()


@pytest.mark.parametrize("point", POINTS[2:])
def test_a_file_that_was_removed_in_between_stays_removed(world, crashed, point):
    crashed(point)
    (world.root / "daily" / "day.md").unlink()
    world.settle()
    assert "daily/day.md" not in world.tree()
    world.sound()


def test_a_link_in_the_way_is_not_followed(world, crashed, tmp_path):
    (tmp_path / "outside").write_bytes(b"not ours")
    crashed(UNWRITTEN)
    (world.root / "memory.md").unlink()
    (world.root / "memory.md").symlink_to(tmp_path / "outside")
    outcome = world.commit({"other.md": b"o\n"})
    assert any("memory.md is a symbolic link" in notice for notice in outcome.notices)
    assert (tmp_path / "outside").read_bytes() == b"not ours"
    (world.root / "memory.md").unlink()
    world.git("checkout", "--", "memory.md")
    world.settle()
    saved(world)
    world.sound()


def editing(world, monkeypatch, path, times):
    """Have a user add a line to a file each time, but so often at most, when gitmem is about to write it."""
    stage, lines = WorkTree.stage, []

    def slow(tree, name, content, **more):
        staged = stage(tree, name, content, **more)
        if name == path and len(lines) < times:
            lines.append(b"by hand %d\n" % len(lines))
            world.write(path, lines[-1] + (world.root / path).read_bytes())
        return staged

    monkeypatch.setattr(WorkTree, "stage", slow)


@pytest.mark.parametrize("times", [1, 3])
def test_nobody_goes_on_before_a_file_that_is_being_edited_is_brought_up(world, crashed, monkeypatch, times):
    """What the tip had and the file had not would be taken for what a user removed."""
    crashed(UNWRITTEN)
    editing(world, monkeypatch, "daily/day.md", times)
    world.append("daily/day.md", b"next\n")
    monkeypatch.undo()
    by_hand = b"".join(b"by hand %d\n" % number for number in reversed(range(times)))
    assert world.files()["daily/day.md"] == by_hand + AFTER["daily/day.md"] + b"next\n"
    assert world.subjects()[:3] == ["append", "Edit by hand: daily/day.md", "put"]
    saved(world)
    world.sound()


@pytest.mark.parametrize("times", [1, 4])
def test_a_file_that_is_edited_while_it_is_published_keeps_both(world, monkeypatch, times):
    world.commit(BEFORE)
    editing(world, monkeypatch, "daily/day.md", times)
    outcome = world.commit(AFTER)
    monkeypatch.undo()
    assert outcome.notices == ("daily/day.md was edited by hand during a save; both versions were merged.",)
    assert world.append("memory.md", b"next\n").notices == ()
    world.settle()
    assert world.files()["daily/day.md"].count(b"by hand") == times
    saved(world)
    world.sound()


def test_a_file_that_is_edited_all_the_time_is_left_alone(world, crashed, monkeypatch):
    crashed(UNWRITTEN)
    tip = world.tip
    editing(world, monkeypatch, "memory.md", 1000)
    with pytest.raises(BusyError, match=r"memory\.md"):
        world.append("memory.md", b"next\n")
    monkeypatch.undo()
    assert world.tip == tip
    world.settle()
    assert world.files()["memory.md"].endswith(AFTER["memory.md"])
    saved(world)
    world.sound()


def test_what_was_repaired_is_said_though_the_branch_moves_meanwhile(world, crashed):
    crashed(UNWRITTEN)
    world.write("memory.md", b"# Edited\n" + BEFORE["memory.md"])
    tries = []

    def plan(transaction):
        tries.append(transaction.read("memory.md"))
        if len(tries) == 1:
            world.git("commit", "-q", "--allow-empty", "--only", "-m", "race")
        return transaction.commit(Message("ours", ()), {"other.md": b"o\n"})

    outcome = transact(world.store, plan, purpose="test", scan=True)
    assert len(tries) == 2
    assert outcome.notices == ("memory.md was edited by hand during a save; both versions were merged.",)
    saved(world)
    world.sound()


# The user's own git in between


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize(
    "command",
    [
        ("reset", "-q", "--hard"),
        ("reset", "-q"),
        ("checkout", "--", "."),
        ("add", "memory.md"),
        ("stash",),
        ("read-tree", "HEAD"),
        ("commit", "-q", "--allow-empty", "--only", "-m", "by hand"),
        ("gc", "-q"),
    ],
)
@pytest.mark.few(1)
def test_a_command_of_the_user_s_after_a_crash(world, crashed, point, command):
    crashed(point)
    world.git(*command)
    world.settle()
    saved(world)
    world.sound()


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.few(2)
def test_a_reset_behind_what_was_cut_off(world, crashed, point):
    """Then it is as if it had never been: the event waits in the spool and is saved again."""
    crashed(point)
    world.git("reset", "-q", "--hard", "HEAD~1")
    world.settle()
    assert world.files()["memory.md"] == BEFORE["memory.md"]
    assert world.files()["gone.md"] == BEFORE["gone.md"]
    world.sound()


# What else a killed process leaves


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.few(2)
def test_a_failure_after_the_branch_moved_is_said_and_made_up_for(world, monkeypatch, point):
    world.commit(BEFORE)

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device", "file")

    with monkeypatch.context() as patch:
        patch.setattr(CRASHES[point], fail)
        outcome = world.commit(AFTER)
    assert len(outcome.commits) == 1
    (notice,) = outcome.notices
    assert outcome.commits[0][:10] in notice
    assert "No space left on device" in notice
    world.settle()
    saved(world)
    world.sound()


def test_modes_are_brought_up_too(world, crashing):
    world.write("run.sh", b"one\n")
    (world.root / "run.sh").chmod(0o755)
    world.settle()
    with crashing(UNWRITTEN):
        world.commit({"run.sh": b"two\n"})
    (world.root / "run.sh").unlink()
    world.git("checkout-index", "run.sh")  # as it was at the last commit
    world.reopen()
    world.settle()
    assert (world.root / "run.sh").read_bytes() == b"two\n"
    assert os.access(world.root / "run.sh", os.X_OK)
    world.sound()


def test_a_submodule_that_came_with_a_commit_is_nothing_to_repair(world, bare_git, tmp_path):
    world.commit(BEFORE)
    mark = world.tip
    oid = world.git("rev-parse", "HEAD")
    world.git("update-index", "--add", "--cacheinfo", f"160000,{oid},module")
    world.git("commit", "-qm", "module\n\nGitmem-Op: save")
    (world.root / "module").mkdir()
    world.store.record_checkout(mark)
    world.append("memory.md", b"saved\n")
    assert world.files()["memory.md"].endswith(b"saved\n")
    assert world.status() == ""
