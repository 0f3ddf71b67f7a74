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
from gitmem.sync.retries import Options, SyncStep
from tests.boxes import CRASHES, Box
from tests.conftest import RunsGit
from tests.copies import new_repository
from tests.store.machines import sync_store


@pytest.mark.slow
@pytest.mark.parametrize("place", [Place.PROJECT, Place.BRANCH])
def test_a_clean_up_at_each_step_of_a_sync(box, boxes, context, bare_git: RunsGit, tmp_path: Path, place: Place):  # noqa: PLR0917
    remote, other = tmp_path / "remote.git", tmp_path / "other"
    bare_git(tmp_path, "init", "-q", "--bare", str(remote))
    bare_git(tmp_path, "init", "-q", str(other))
    add_remote(box.store, "origin", str(remote))
    box.append("memory.md", b"- first\n")
    sync_store(box.store)
    made = boxes(clone_store(str(other), context, place, str(remote), asks=False, options=Options()).root)
    box.append("memory.md", b"- here\n")
    sync_store(box.store)
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


def test_what_a_killed_sync_left_goes_after_a_day(box):
    git, tip = box.store.repository.git, box.tip()
    old, new = new_pending_ref(box.store).replace("/1", "/0"), new_pending_ref(box.store)
    for ref in (old, new):
        git.run("update-ref", ref, tip)
    maintain(box.store)
    assert list(read_refs(git, "refs/gitmem/pending/")) == [new]
    remove_abandoned(box.store)
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


def test_gitmems_packs_are_joined_and_no_other_is_touched(project, context, boxes, bare_git):
    theirs = _packs(project)
    box = boxes(init_store(str(project), context, Place.BRANCH).store.root)
    for number in range(25):
        box.append("memory.md", b"- %d\n" % number)
    assert set(listed_packs(box.store)) == _packs(project) - theirs
    assert box.store.spare_packs() > 0
    loose = bare_git(project, "count-objects")
    join_listed(box.store)
    assert bare_git(project, "count-objects") == loose
    assert theirs < _packs(project)
    assert set(listed_packs(box.store)) == _packs(project) - theirs
    assert len(listed_packs(box.store)) == 1
    assert box.store.spare_packs() <= 0
    box.append("memory.md", b"- after\n")
    assert len(listed_packs(box.store)) == 2
    box.sound()


def test_packs_that_git_has_packed_again_are_no_longer_listed(project, context, boxes, bare_git):
    box = boxes(init_store(str(project), context, Place.BRANCH).store.root)
    box.append("memory.md", b"- one\n")
    bare_git(project, "gc", "--quiet", "--prune=now")
    assert listed_packs(box.store) == []
    join_listed(box.store)
    box.append("memory.md", b"- two\n")
    assert len(listed_packs(box.store)) == 1
    box.sound()


def test_an_index_over_several_packs_stays_right(project, context, boxes, bare_git):
    box = boxes(init_store(str(project), context, Place.BRANCH).store.root)
    for number in range(3):
        box.append("memory.md", b"- %d\n" % number)
    bare_git(project, "multi-pack-index", "write")
    packs = _packs(project)
    join_listed(box.store)
    assert _packs(project) == packs
    bare_git(project, "multi-pack-index", "verify")


@pytest.fixture
def branch(project: Path, context: Context, boxes: Callable[..., Box]) -> Box:
    """Give a store on a branch of a project, with one save."""
    box = boxes(init_store(str(project), context, Place.BRANCH).store.root)
    box.append("memory.md", b"- one\n")
    return box


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


def _unlisted(box: Box) -> str:
    """Return the name of a pack of a save that was killed before git listed it."""
    pack = listed_packs(box.store)[-1]
    Path(box.store.packs_file).write_text("")
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
def crashed(box, crashing):
    """Give a function that cuts a transaction off at a point after the branch has moved."""
    box.put(BEFORE)

    def crash(point: str) -> None:
        with crashing(point):
            box.put(AFTER)
        assert box.tree()["memory.md"] == AFTER["memory.md"]
        box.reopen()

    return crash


def saved(box) -> None:
    """What the transaction that was cut off brought is there, in the tip and in the files."""
    for tree in (box.tree(), box.files()):
        assert tree["memory.md"].count(b"\nsaved\n") == 1
        assert tree["daily/day.md"].count(b"\nsaved\n") == 1
        assert tree["new/file.md"] == b"new\n"
        assert "gone.md" not in tree


# Without an edit in between


@pytest.mark.few(1)
@pytest.mark.parametrize("point", POINTS)
def test_a_secret_that_was_taken_out_of_an_edit_does_not_come_back(box, crashing, point):
    secret = b"ghp_" + b"0123456789abcdefghijABCDEFGHIJ012345"
    box.put(BEFORE)
    box.write("memory.md", BEFORE["memory.md"] + b"token " + secret + b"\n")
    box.write("notes.md", b"token " + secret + b"\n")
    with crashing(point):
        box.append("memory.md", b"saved\n", scan=True)
    box.reopen()
    box.settle()
    assert secret not in b"".join(box.files().values())
    assert b"saved\n" in box.files()["memory.md"]
    box.sound()
    assert box.git("log", "--all", "-S", secret.decode(), "--format=%h") == ""
    box.git("repack", "-adq")
    kinds = box.git("cat-file", "--batch-check", "--batch-all-objects").splitlines()
    blobs = [line.split()[0] for line in kinds if " blob " in line]
    assert not any(secret.decode() in box.git("cat-file", "blob", blob) for blob in blobs)


# With an edit in between


@pytest.mark.parametrize("scan", [False, True])
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.few(3)
def test_an_edit_in_another_place_is_merged(box, crashed, point, scan):
    crashed(point)
    edited = box.files()["memory.md"].replace(b"# Memory\n", b"# Our memory\n")
    box.write("memory.md", edited)
    outcome = box.append("memory.md", b"next\n", scan=scan)
    assert box.files()["memory.md"] == b"# Our memory\n\none\n\ntwo\n\nthree\nsaved\nnext\n"
    assert bool(outcome.notices) is (b"saved" not in edited)
    saved(box)
    box.sound()


@pytest.mark.parametrize("point", POINTS)
def test_a_line_added_in_the_same_place_is_kept_as_well(box, crashed, point):
    crashed(point)
    box.write("memory.md", box.files()["memory.md"] + b"by hand\n")
    box.write("daily/day.md", box.files()["daily/day.md"] + b"by hand\n")
    box.settle()
    assert sorted(box.files()["memory.md"].splitlines()[-2:]) == [b"by hand", b"saved"]
    assert sorted(box.files()["daily/day.md"].splitlines()) == [b"by hand", b"day", b"saved"]
    saved(box)
    box.sound()


@pytest.mark.parametrize("content", [b"three, but different\n", b"\0\1\2"])
def test_an_edit_of_the_same_line_stays_beside(box, crashing, content):
    box.put({"memory.md": b"one\ntwo\n"})
    with crashing(UNWRITTEN):
        box.put({"memory.md": b"one\nTWO\n"})
    box.write("memory.md", b"one\n" + content)
    outcome = transact(box.reopen(), lambda _: None, purpose="test", scan=True)
    (notice,) = outcome.notices
    beside = [name for name in box.files() if ".edited-" in name]
    assert beside == [notice.rstrip(".").rpartition(" ")[2]]
    assert box.files()[beside[0]] == b"one\n" + content
    assert beside[0].startswith("memory.edited-2026")
    assert beside[0].endswith(".md")
    assert box.files()["memory.md"] == b"one\nTWO\n"
    box.sound()


def test_two_edits_beside_in_one_minute_are_two_files(box, crashing):
    moment = box.context.clock()
    box.context = box.context._replace(clock=lambda: moment)
    box.reopen()
    for number in range(3):
        box.put({"memory.md": b"one\ntwo %d\n" % number})
        with crashing(UNWRITTEN):
            box.put({"memory.md": b"one\nTWO %d\n" % number})
        box.write("memory.md", b"one\nmine %d\n" % number)
        box.settle()
    kept = {data for name, data in box.files().items() if ".edited-" in name}
    assert kept == {b"one\nmine %d\n" % number for number in range(3)}
    box.sound()


@pytest.mark.parametrize("point", POINTS)
def test_an_edit_of_a_file_that_was_to_go_is_kept(box, crashed, point):
    crashed(point)
    box.write("gone.md", b"going, but edited\n")
    box.settle()
    assert box.tree()["gone.md"] == b"going, but edited\n"
    box.sound()


def test_a_new_file_that_a_user_made_first_is_merged_or_stays_beside(box, crashed):
    crashed(UNWRITTEN)
    box.write("new/file.md", b"new\nand by hand\n")
    box.settle()
    assert {b"new\n", b"and by hand\n"} <= {line for data in box.files().values() for line in data.splitlines(True)}
    box.sound()


@pytest.mark.parametrize("point", POINTS[2:])
def test_a_file_that_was_removed_in_between_stays_removed(box, crashed, point):
    crashed(point)
    (box.root / "daily" / "day.md").unlink()
    box.settle()
    assert "daily/day.md" not in box.tree()
    box.sound()


def test_a_link_in_the_way_is_not_followed(box, crashed, tmp_path):
    (tmp_path / "outside").write_bytes(b"not ours")
    crashed(UNWRITTEN)
    (box.root / "memory.md").unlink()
    (box.root / "memory.md").symlink_to(tmp_path / "outside")
    outcome = box.put({"other.md": b"o\n"})
    assert any("memory.md is a symbolic link" in notice for notice in outcome.notices)
    assert (tmp_path / "outside").read_bytes() == b"not ours"
    (box.root / "memory.md").unlink()
    box.git("checkout", "--", "memory.md")
    box.settle()
    saved(box)
    box.sound()


def editing(box, monkeypatch, path, times):
    """Have a user add a line to a file each time, but so often at most, when gitmem is about to write it."""
    stage, lines = WorkTree.stage, []

    def slow(tree, name, content, **more):
        staged = stage(tree, name, content, **more)
        if name == path and len(lines) < times:
            lines.append(b"by hand %d\n" % len(lines))
            box.write(path, lines[-1] + (box.root / path).read_bytes())
        return staged

    monkeypatch.setattr(WorkTree, "stage", slow)


@pytest.mark.parametrize("times", [1, 3])
def test_nobody_goes_on_before_a_file_that_is_being_edited_is_brought_up(box, crashed, monkeypatch, times):
    """What the tip had and the file had not would be taken for what a user removed."""
    crashed(UNWRITTEN)
    editing(box, monkeypatch, "daily/day.md", times)
    box.append("daily/day.md", b"next\n")
    monkeypatch.undo()
    by_hand = b"".join(b"by hand %d\n" % number for number in reversed(range(times)))
    assert box.files()["daily/day.md"] == by_hand + AFTER["daily/day.md"] + b"next\n"
    assert box.subjects()[:3] == ["append", "Edit by hand: daily/day.md", "put"]
    saved(box)
    box.sound()


@pytest.mark.parametrize("times", [1, 4])
def test_a_file_that_is_edited_while_it_is_published_keeps_both(box, monkeypatch, times):
    box.put(BEFORE)
    editing(box, monkeypatch, "daily/day.md", times)
    outcome = box.put(AFTER)
    monkeypatch.undo()
    assert outcome.notices == ("daily/day.md was edited by hand during a save; both versions were merged.",)
    assert box.append("memory.md", b"next\n").notices == ()
    box.settle()
    assert box.files()["daily/day.md"].count(b"by hand") == times
    saved(box)
    box.sound()


def test_a_file_that_is_edited_all_the_time_is_left_alone(box, crashed, monkeypatch):
    crashed(UNWRITTEN)
    tip = box.tip()
    editing(box, monkeypatch, "memory.md", 1000)
    with pytest.raises(BusyError, match=r"memory\.md"):
        box.append("memory.md", b"next\n")
    monkeypatch.undo()
    assert box.tip() == tip
    box.settle()
    assert box.files()["memory.md"].endswith(AFTER["memory.md"])
    saved(box)
    box.sound()


def test_what_was_repaired_is_said_though_the_branch_moves_meanwhile(box, crashed):
    crashed(UNWRITTEN)
    box.write("memory.md", b"# Edited\n" + BEFORE["memory.md"])
    tries = []

    def plan(transaction):
        tries.append(transaction.read("memory.md"))
        if len(tries) == 1:
            box.git("commit", "-q", "--allow-empty", "--only", "-m", "race")
        return transaction.commit(Message("ours", ()), {"other.md": b"o\n"})

    outcome = transact(box.store, plan, purpose="test", scan=True)
    assert len(tries) == 2
    assert outcome.notices == ("memory.md was edited by hand during a save; both versions were merged.",)
    saved(box)
    box.sound()


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
def test_a_command_of_the_user_s_after_a_crash(box, crashed, point, command):
    crashed(point)
    box.git(*command)
    box.settle()
    saved(box)
    box.sound()


@pytest.mark.parametrize("point", POINTS)
def test_a_reset_behind_what_was_cut_off(box, crashed, point):
    """Then it is as if it had never been: the event waits in the spool and is saved again."""
    crashed(point)
    box.git("reset", "-q", "--hard", "HEAD~1")
    box.settle()
    assert box.files()["memory.md"] == BEFORE["memory.md"]
    assert box.files()["gone.md"] == BEFORE["gone.md"]
    box.sound()


# What else a killed process leaves


@pytest.mark.parametrize("point", POINTS)
def test_a_failure_after_the_branch_moved_is_said_and_made_up_for(box, monkeypatch, point):
    box.put(BEFORE)

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device", "file")

    with monkeypatch.context() as patch:
        patch.setattr(CRASHES[point], fail)
        outcome = box.put(AFTER)
    assert len(outcome.commits) == 1
    (notice,) = outcome.notices
    assert outcome.commits[0][:10] in notice
    assert "No space left on device" in notice
    box.settle()
    saved(box)
    box.sound()


def test_modes_are_brought_up_too(box, crashing):
    box.write("run.sh", b"one\n")
    (box.root / "run.sh").chmod(0o755)
    box.settle()
    with crashing(UNWRITTEN):
        box.put({"run.sh": b"two\n"})
    (box.root / "run.sh").unlink()
    box.git("checkout-index", "run.sh")  # as it was at the last commit
    box.reopen()
    box.settle()
    assert (box.root / "run.sh").read_bytes() == b"two\n"
    assert os.access(box.root / "run.sh", os.X_OK)
    box.sound()


def test_a_submodule_that_came_with_a_commit_is_nothing_to_repair(box, bare_git, tmp_path):
    box.put(BEFORE)
    mark = box.tip()
    oid = box.git("rev-parse", "HEAD")
    box.git("update-index", "--add", "--cacheinfo", f"160000,{oid},module")
    box.git("commit", "-qm", "module\n\nGitmem-Op: save")
    (box.root / "module").mkdir()
    box.store.mark(mark)
    box.append("memory.md", b"saved\n")
    assert box.files()["memory.md"].endswith(b"saved\n")
    assert box.status() == ""
