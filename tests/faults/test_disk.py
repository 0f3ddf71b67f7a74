"""Full and read-only disks, files of others, a git that fails or is missing.

Whatever fails: the exit code is not 0, the message says whether what was handed over waits or is gone, nothing is half
written, and once the cause is gone the next command finishes what was accepted, once.
"""

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gitmem.errors import ExitCode
from tests.as_root import PAGE, give, root_needed, small_disk
from tests.faults.conftest import Done, PlantedGit, Project

WAITS = "is kept on the disk"
ROTATES_SOON = "rotation:\n  threshold_tokens: 300\n  carryover_tokens: 60\n"

is_root = hasattr(os, "geteuid") and os.geteuid() == 0


class Disk:
    """A file system of a megabyte or so, mounted for one test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._filler = folder / "filler"

    def fill(self, leave: int) -> None:
        """Leave so many bytes of room."""
        status = os.statvfs(self.folder)
        with self._filler.open("wb") as file:
            file.write(bytes(max(status.f_bavail * status.f_frsize - leave, 0)))

    def make_room(self) -> None:
        self._filler.unlink(missing_ok=True)

    def remount(self, how: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{how}", str(self.folder)], check=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    if sys.platform != "linux" or not is_root:
        pytest.skip("only root on Linux can mount a small disk")
    with small_disk(tmp_path / "disk", "4m") as folder:
        yield Disk(folder)


def attempt(project: Project, text: str, run: Callable[[list[str]], Done]) -> Done:
    """Save a text under bad conditions, and record the command's answer."""
    done = run(["save", "--json", "--", text])
    assert "Traceback" not in done.err
    if done.code == 0:
        project.saved(done.said["id"], text)
    else:
        said = json.loads(done.err.splitlines()[-1])
        assert done.out == ""
        assert said["exit_code"] == done.code
        assert done.code in {ExitCode.NOT_SAVED, ExitCode.FAILURE, ExitCode.BUSY, ExitCode.REFUSED}
        assert said["error"]
        assert said["remedy"]
        if WAITS in said["remedy"]:
            project.promised.add(text)
        else:
            assert text not in "".join(project.files().values())
            project.forgotten.add(text)
    project.check_repository()
    project.check_entries(edits=False, promises=False)
    return done


def fix(project: Project) -> None:
    """Run a command once the cause is gone; check that it finishes all accepted saves."""
    done = project.here("check")
    assert done.code == 0, done
    project.check()


@pytest.mark.slow
def test_a_save_on_a_disk_that_fills_up(disk: Disk, projects: Callable[..., Project]):
    project = projects(disk.folder / "project")
    project.save(project.text())
    outcomes = []
    for room in range(0, 30 * PAGE, 2 * PAGE):
        disk.fill(room)
        done = attempt(project, project.text(), lambda args: project.gitmem(*args))
        disk.make_room()
        fix(project)
        outcomes.append((done.code, WAITS in done.err, "not in step" in done.err))
        if outcomes[-2:] == [(0, False, False)] * 2:
            break
    assert {(ExitCode.NOT_SAVED, False), (ExitCode.NOT_SAVED, True)} <= {outcome[:2] for outcome in outcomes}
    assert outcomes[-1] == (0, False, False)


@pytest.mark.slow
def test_a_rotation_on_a_disk_that_fills_up(disk: Disk, projects: Callable[..., Project]):
    project = projects(disk.folder / "project")
    project.configure(ROTATES_SOON)
    codes = []
    for room in range(0, 30 * PAGE, 2 * PAGE):
        project.edit(size=1500)
        archives = project.archives()
        disk.fill(room)
        done = project.gitmem("check")
        codes.append(done.code)
        assert "Traceback" not in done.err
        assert done.code in {0, ExitCode.NOT_SAVED}, done
        disk.make_room()
        assert len(project.archives()) == len(archives) + (done.code == 0)
        fix(project)
        assert len(project.archives()) == len(archives) + 1
        if codes[-2:] == [0, 0]:
            break
    assert ExitCode.NOT_SAVED in codes
    assert codes[-1] == 0


@pytest.mark.slow
def test_an_init_on_a_disk_that_fills_up(disk: Disk, projects: Callable[..., Project]):
    codes = []
    for room in range(0, 120 * PAGE, 8 * PAGE):
        project = projects(disk.folder / f"project-{room}", None)
        disk.fill(room)
        done = project.gitmem("init")
        codes.append(done.code)
        assert "Traceback" not in done.err
        assert done.code in {0, ExitCode.NOT_SAVED, ExitCode.FAILURE}, done
        assert done.code == 0 or done.err.startswith("gitmem: "), done
        disk.make_room()
        assert project.here("init").code == 0
        project.save(project.text())
        project.check()
        shutil.rmtree(project.root)
        if codes[-2:] == [0, 0]:
            break
    assert codes[0] != 0
    assert codes[-1] == 0


@pytest.mark.slow
def test_a_text_that_does_not_fit(disk: Disk, projects: Callable[..., Project]):
    project = projects(disk.folder / "project")
    for room in (100_000, 700_000):
        disk.fill(room)
        text = project.text("x" * 250_000)
        done = attempt(project, text, lambda args: project.gitmem(*args[:2], stdin=args[3].encode()))
        assert done.code == ExitCode.NOT_SAVED
        assert "No space left" in done.err
        disk.make_room()
        fix(project)


def test_a_disk_that_is_read_only(disk: Disk, projects: Callable[..., Project]):
    project = projects(disk.folder / "project")
    project.save(project.text())
    disk.remount("ro")
    done = attempt(project, project.text(), lambda args: project.gitmem(*args))
    assert done.code == ExitCode.NOT_SAVED
    assert "Read-only file system" in done.err
    assert project.gitmem("check").code == ExitCode.NOT_SAVED
    assert project.gitmem("path").code == 0
    disk.remount("rw")
    fix(project)


def test_the_doctor_says_of_a_read_only_disk_that_nothing_can_be_written(disk: Disk, projects: Callable[..., Project]):
    project = projects(disk.folder / "project")
    disk.remount("ro")
    done = project.gitmem("doctor", "--json")
    assert [one["check"] for one in done.said["checks"] if one["level"] == "problem"] == ["access"]
    disk.remount("rw")


@pytest.mark.parametrize("words", [("facts", "add", "x"), ("pause",), ("task", "start", "x")])
@pytest.mark.few(1)
def test_a_command_on_a_read_only_disk_is_no_bug(disk: Disk, projects: Callable[..., Project], words: tuple[str, ...]):
    project = projects(disk.folder / "project")
    disk.remount("ro")
    done = project.gitmem(*words)
    assert done.code == ExitCode.NOT_SAVED
    assert "Read-only file system" in done.err
    assert "Make room or give access" in done.err
    disk.remount("rw")


def test_a_hook_on_a_read_only_disk_tells_what_start_tells_and_records_nothing(
    disk: Disk, projects: Callable[..., Project]
):
    project = projects(disk.folder / "project")
    project.gitmem("save", "--type", "decision", "We cache tokens in memory, since the disk is slow.")
    prompt = "Why do we cache tokens in memory, is the disk slow?"
    session = {"session_id": "s-1", "cwd": str(project.root)}
    disk.remount("ro")
    told = []
    for payload in ({"hook_event_name": "SessionStart"}, {"hook_event_name": "UserPromptSubmit", "prompt": prompt}):
        done = project.gitmem("hook", "claude", stdin=json.dumps(session | payload).encode())
        told.append(done.said["hookSpecificOutput"]["additionalContext"])
    assert "We cache tokens in memory" in told[0]
    assert told[0].strip() == project.gitmem("start").out.strip()
    assert "We cache tokens in memory" in told[1]
    disk.remount("rw")
    project.check_repository()


def test_an_agent_that_is_told_with_its_first_prompt_is_told_on_a_read_only_disk(
    disk: Disk, projects: Callable[..., Project], tmp_path: Path
):
    project = projects(disk.folder / "project")
    project.gitmem("save", "--type", "decision", "We cache tokens in memory, since the disk is slow.")
    transcript = tmp_path / "transcript.json"
    transcript.touch()
    session = {"session_id": "s-1", "cwd": str(project.root), "transcript_path": str(transcript)}
    disk.remount("ro")
    told = []
    for payload in ({"hook_event_name": "SessionStart"}, *[{"hook_event_name": "BeforeAgent", "prompt": "Hello"}] * 2):
        done = project.gitmem("hook", "gemini", stdin=json.dumps(session | payload).encode())
        transcript.write_text(done.out)
        told.append("<gitmem-memory" in done.out)
    assert told == [False, True, False]
    disk.remount("rw")
    project.check_repository()


needs_modes = pytest.mark.skipif(
    not hasattr(os, "geteuid") or (is_root and sys.platform != "linux"),
    reason="permissions are kept in another way here, or nothing keeps root from what they forbid",
)


@contextmanager
def unwritable(folder: Path) -> Iterator[None]:
    mode = stat.S_IMODE(folder.stat().st_mode)
    folder.chmod(mode & ~0o222)
    yield
    folder.chmod(mode)


@needs_modes
@pytest.mark.parametrize(
    "folder, outcome",
    [
        (".git/gitmem/spool", "nothing"),
        (".git/gitmem", "committed"),
        (".git/objects/pack", "waits"),
        (".git/refs/heads", "waits"),
        (".git", "waits"),
        (".tmp", "waits"),
        ("", "committed"),
        ("daily/*/*", "committed"),
    ],
)
@pytest.mark.few(1)
def test_a_folder_that_is_not_ours_to_write(project: Project, folder: str, outcome: str):
    project.save(project.text())
    with unwritable(next(project.store.glob(folder)) if folder else project.store):
        done = attempt(project, project.text(), lambda args: project.gitmem(*args, bound=True))
    assert outcome == ("committed" if done.code == 0 else "waits" if WAITS in done.err else "nothing"), done
    assert done.code in {0, ExitCode.NOT_SAVED}, done
    assert "ermission denied" in done.err, done
    fix(project)


@root_needed
def test_a_store_of_another_user(project: Project):
    give(project.store)
    done = attempt(project, project.text(), lambda args: project.gitmem(*args))
    assert done.code == ExitCode.REFUSED
    assert "belongs to another user" in done.err
    give(project.store, 0)
    fix(project)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["fails", "works and fails", "vanishes"])
def test_a_git_that_fails(project: Project, planted_git: PlantedGit, how: str):
    project.configure(ROTATES_SOON)
    for call in range(1, 50):
        project.edit(size=1500 if call % 2 else 0)
        environ = planted_git.environ(call, how)
        done = attempt(project, project.text(), lambda args: project.gitmem(*args, env=environ))  # noqa: B023
        calls = planted_git.calls
        fix(project)
        if calls < call:
            assert done.code == 0
            return
    raise AssertionError("the command does not come to an end")


def test_a_git_that_is_missing(project: Project, tmp_path: Path):
    done = project.gitmem("save", "a text", env={"PATH": str(tmp_path)})
    assert done.code == ExitCode.FAILURE
    assert "no git on the PATH" in done.err
    assert "Install git" in done.err
    assert "What you saved is kept on the disk" in done.err
    project.promised.add("a text")
    fix(project)


@pytest.mark.few(1)
@pytest.mark.parametrize("limit", [6, 10, 14, 20])
def test_a_limit_on_the_number_of_open_files(project: Project, limit: int):
    resource = pytest.importorskip("resource", reason="this system has no such limits")
    attempt(project, project.text(), lambda args: project.gitmem(*args, limits={resource.RLIMIT_NOFILE: limit}))
    fix(project)
