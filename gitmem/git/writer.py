"""Commits through `git fast-import`, moved onto a branch by compare-and-swap (design §3).

One `Writer` is one process. It reads files at the tip it was given and writes commits on top of it; nothing of them
is visible before `finish`, which syncs the objects and then moves the branch, unless the branch has moved meanwhile.
fast-import itself refuses to move a branch to a commit that does not contain the present tip: that is the
compare-and-swap. It is never told to force.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass

from gitmem.errors import GitFailedError, NotSavedError, RefusedError
from gitmem.git.process import failure

TYPE_CHECKING = False  # see gitmem.git.process
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from gitmem.git.process import Git

REGULAR = "100644"
EXECUTABLE = "100755"
_MODES = (REGULAR, EXECUTABLE)
_SYNC = ("-c", "core.fsync=committed,reference", "-c", "core.fsyncMethod=fsync")
_COMMAND = ("fast-import", "--quiet", "--done", "--date-format=raw")
# What a commit brings stays the small pack fast-import writes. Unpacking it into loose objects, git's default below 100
# objects, takes another process and a sync for each object: 5 of the 8 ms of a commit. Maintenance joins the packs.
_KEEP_PACK = ("-c", "fastimport.unpackLimit=1")
# What git says when the disk, not gitmem, is the trouble; the words are the C library's in the C locale.
_DISK_TROUBLES = (
    "No space left on device",
    "Disk quota exceeded",
    "Read-only file system",
    "Permission denied",
    "Input/output error",
    "File too large",
    "insufficient permission",
)


class TipMovedError(Exception):
    """The branch has moved since its tip was read: build again on the new one."""


@dataclass(frozen=True, slots=True)
class Signature:
    """Who did something, and when; `when` is aware of its time zone."""

    name: str
    email: str
    when: datetime

    def render(self) -> bytes:
        """Return it as git writes it; characters git takes for its own are left out of the names."""
        offset = self.when.utcoffset()
        minutes = 0 if offset is None else int(offset.total_seconds() // 60)
        sign, minutes = ("-", -minutes) if minutes < 0 else ("+", minutes)
        zone = f"{sign}{minutes // 60:02d}{minutes % 60:02d}"
        seconds = max(int(self.when.timestamp()), 0)
        return b"%s <%s> %d %s" % (_plain(self.name), _plain(self.email), seconds, zone.encode())


@dataclass(frozen=True, slots=True)
class Blob:
    """A file in a tree: its mode (`100644`, …), object id and content."""

    mode: str
    oid: str
    data: bytes


@dataclass(frozen=True, slots=True)
class NewCommit:
    """A commit to be made: `changes` maps a path to its new content, or to None where it goes."""

    message: str
    changes: Mapping[str, bytes | None]
    author: Signature
    committer: Signature
    modes: Mapping[str, str]


class Writer:
    """One fast-import process on one branch, whose tip (None: not born yet) was read before.

    Used as a context manager; leaving it without `finish` changes nothing. Without `keep_pack` small commits become
    loose objects: in a repository that is the user's, whose `git gc` counts packs.
    """

    def __init__(self, git: Git, ref: str, tip: str | None, *, keep_pack: bool = True) -> None:
        self._git = git
        self._ref = ref
        self._base = tip
        self._marks = 0
        self._process = git.spawn(*_SYNC, *(_KEEP_PACK if keep_pack else ()), *_COMMAND)

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._process.returncode is None:
            self._abandon()

    def read(self, path: str) -> Blob | None:
        """Return the file at `path` in the tip, None where there is none.

        Raises:
            RefusedError: there is a folder, a symbolic link or a submodule under this name.

        """
        if self._base is None:
            return None
        self._send(b"ls %s %s\n" % (self._base.encode(), quote_path(path)))
        meta = self._line().partition(b"\t")[0].split(b" ")
        if meta[0] == b"missing":
            return None
        mode, oid = meta[0].decode(), meta[2].decode()
        if mode not in _MODES:
            raise RefusedError(f"{path} is not a file in the store, but a folder, a link or a submodule (mode {mode}).")
        self._send(b"cat-blob %s\n" % oid.encode())
        size = int(self._line().split(b" ")[2])
        data = self._exactly(size + 1)[:-1]
        return Blob(mode, oid, data)

    def commit(self, commit: NewCommit) -> str:
        """Add a commit on top of the tip or the one before, and return its id; the branch does not move yet."""
        self._marks += 1
        message = commit.message.encode("utf-8", "replace")
        parts = [
            b"commit %s\nmark :%d\n" % (self._ref.encode(), self._marks),
            b"author %s\ncommitter %s\n" % (commit.author.render(), commit.committer.render()),
            b"data %d\n%s\n" % (len(message), message),
        ]
        if self._marks == 1 and self._base is not None:
            parts.append(b"from %s\n" % self._base.encode())
        parts += _file_commands(commit.changes.items(), commit.modes)
        parts.append(b"\nget-mark :%d\n" % self._marks)
        self._send(b"".join(parts))
        return self._line().strip().decode()

    def finish(self) -> None:
        """Sync all objects, then move the branch.

        Raises:
            TipMovedError: the branch is not where it was.
            NotSavedError: the disk is full, read-only or not ours to write.
            GitFailedError: git failed in another way.

        """
        self._send(b"done\n")
        stdout, stderr = self._process.communicate()
        self._remove_crash_report()
        if self._process.returncode == 0:
            return
        if b"Not updating" in stderr or b"cannot lock ref" in stderr and b"but expected" in stderr:
            raise TipMovedError
        raise self._failure(stderr)

    def _send(self, data: bytes) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        try:
            stdin.write(data)
            stdin.flush()
        except BrokenPipeError:
            raise self._died() from None

    def _line(self) -> bytes:
        stdout = self._process.stdout
        assert stdout is not None
        line = stdout.readline()
        if not line.endswith(b"\n"):
            raise self._died()
        return line

    def _exactly(self, size: int) -> bytes:
        stdout = self._process.stdout
        assert stdout is not None
        data = stdout.read(size)
        if len(data) < size:
            raise self._died()
        return data

    def _died(self) -> Exception:
        process = self._process
        with contextlib.suppress(OSError, ValueError):
            if process.stdin is not None:
                process.stdin.close()
        stderr = process.stderr.read() if process.stderr else b""
        process.wait()
        self._close()
        self._remove_crash_report()
        return self._failure(stderr)

    def _failure(self, stderr: bytes) -> Exception:
        error: GitFailedError = failure(("fast-import",), self._process.returncode, stderr)
        reason = next((words for words in _DISK_TROUBLES if words in error.stderr), None)
        if reason is None:
            return error
        return NotSavedError(f"The commit could not be written to {self._git.git_dir}: {reason.lower()}.")

    def _abandon(self) -> None:
        """End the process without a trace: no commit was finished, so there is nothing to undo."""
        if self._marks == 0:
            with contextlib.suppress(BrokenPipeError, OSError):
                self._process.communicate(b"done\n")
        else:
            self._process.kill()
            self._process.wait()
        self._close()
        self._remove_crash_report()

    def _close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def _remove_crash_report(self) -> None:
        if self._process.returncode and self._git.git_dir is not None:
            with contextlib.suppress(OSError):
                os.unlink(f"{self._git.git_dir}/fast_import_crash_{self._process.pid}")


def _file_commands(changes: Iterable[tuple[str, bytes | None]], modes: Mapping[str, str]) -> list[bytes]:
    parts = []
    for path, content in changes:
        name = quote_path(path)
        if content is None:
            parts.append(b"D %s\n" % name)
        else:
            mode = modes.get(path, REGULAR).encode()
            parts.append(b"M %s inline %s\ndata %d\n%s\n" % (mode, name, len(content), content))
    return parts


def quote_path(path: str) -> bytes:
    """Return a path as fast-import reads it: in C quotes where it could be misread."""
    raw = os.fsencode(path)
    if raw[:1] != b'"' and not any(byte < 0x20 or byte == 0x7F for byte in raw) and b" " not in raw:
        return raw
    return b'"%s"' % b"".join(_quoted(byte) for byte in raw)


def _quoted(byte: int) -> bytes:
    if byte in b'"\\':
        return b"\\%c" % byte
    return b"\\%03o" % byte if byte < 0x20 or byte == 0x7F else b"%c" % byte


def _plain(name: str) -> bytes:
    kept = "".join(character for character in name if character.isprintable() and character not in "<>")
    return kept.encode("utf-8", "replace").strip() or b"unknown"
