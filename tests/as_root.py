"""Set up what only root can give a test: another user's folder or process, and a small disk."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

NOBODY = 65534
PAGE = 4096

root_needed = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become somebody else, or mount"
)


def give(folder: Path, user: int = NOBODY) -> None:
    """Make a user the owner of a folder and of everything in it."""
    for path in (folder, *folder.rglob("*")):
        os.lchown(path, user, user)


def as_nobody(work: Callable[[], str]) -> str:
    """Call `work` in a process of another user, whom modes bind; return its result or its error as text."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            result = work()
        except BaseException as error:  # noqa: BLE001  # the parent looks at it
            result = f"{type(error).__name__}: {error}"
        os.write(writing, result.encode())
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as file:
        result = file.read().decode()
    os.waitpid(pid, 0)
    return result


@contextmanager
def small_disk(folder: Path, size: str = "1m") -> Iterator[Path]:
    """Mount a file system of a megabyte on a new folder, or skip the test where mounting is not allowed."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=755", "gitmem-tests", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small file system is not allowed here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(disk: Path, pages: int) -> Path:
    """Fill a disk up to so many pages of 4 KiB; return the file that fills it."""
    filler = disk / "filler"
    with filler.open("ab", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * PAGE)
        except OSError:
            file.truncate(max(file.tell() - pages * PAGE, 0))
    return filler
