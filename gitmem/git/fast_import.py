"""Write commits with `git fast-import`, move the branch by compare-and-swap (docs/architecture.md, "Order of writes").

`finish` has fast-import sync its objects, then moves the branch from exactly the writer's tip with `git update-ref`:
fast-import's own update would undo a concurrent `git reset`. Until then fast-import keeps running, since the `.keep`
of its finished pack (`checkpoint`) protects the new objects from `git gc --prune=now`.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Mapping

from gitmem.errors import NotSavedError, RefusedError
from gitmem.git.left_behind import lock_in_the_way
from gitmem.git.process import Dialogue, Git, failure
from gitmem.git.repository import MOVED, SYNC, blob_id
from gitmem.platform.machine import datetime
from gitmem.platform.safe_open import drop_file
from gitmem.platform.spawn import Child
from gitmem.values import Value

_UNQUOTED = frozenset(range(256)) - frozenset(range(0x21)) - frozenset(b'"\x7f')
_VERBATIM = _UNQUOTED - frozenset(b"\\")


def quote_path(path: str) -> bytes:
    """Return a path for fast-import, in C quotes if necessary. Raises RefusedError if it is no valid file name."""
    raw = os.fsencode(path)
    if not raw or 0 in raw:
        raise RefusedError(f"No file can be called {path!a}.")
    if _UNQUOTED.issuperset(raw):
        return raw
    return b'"%s"' % b"".join(b"%c" % byte if byte in _VERBATIM else b"\\%03o" % byte for byte in raw)


# Git's messages about disk errors; most words are the C library's in the C locale.
_TROUBLES = {
    "No space left on device": "no space left on device",
    "Out of diskspace": "no space left on device",
    "Disk quota exceeded": "disk quota exceeded",
    "Read-only file system": "read-only file system",
    "Permission denied": "permission denied",
    "insufficient permission": "permission denied",
    "Input/output error": "input/output error",
    "File too large": "file too large",
    "couldn't write '": "the branch's file could not be written",  # update-ref does not say why
}


def disk_trouble(stderr: str) -> str | None:
    """Return the disk error in a message of git's, or None."""
    return next((reason for words, reason in _TROUBLES.items() if words in stderr), None)


REGULAR = "100644"
EXECUTABLE = "100755"
_MODES = (REGULAR, EXECUTABLE)
_EPOCH = datetime(1970, 1, 1)  # without a zone, so that no year is out of range
_FURTHEST_ZONE = 14 * 60  # minutes
_MAX_AWAITED = 1000  # unread ids of commits: they must fit into a pipe, or both sides would block
# Maintenance compresses again; compressing well now takes half of the time of a drain.
_QUICK = ("-c", "pack.compression=1")
# No deltas: fast-import makes them against the previous blob, which is another file's. Maintenance would keep such a
# delta instead of searching a good one, for ten times the size.
_FAST_IMPORT = ("fast-import", "--quiet", "--done", "--date-format=raw", "--depth=0")
# Keep the small pack of a commit. Unpacking it into loose objects, git's default below 100 objects, takes another
# process and a sync for each object: 5 of the 8 ms of a commit; and nothing protects a loose object from `git gc`.
# Maintenance joins the packs.
_KEEP_PACK = ("-c", "fastimport.unpackLimit=0")
_FINISHED = b"progress gitmem"  # fast-import repeats this once the pack is written
# fast-import's messages after `git gc --prune=now` removed the unfinished pack, and if another fast-import wrote the
# same pack and still runs, or was killed.
_MISSING = "No such file or directory"
_AGAIN = (
    (_MISSING, "cannot store pack file"),
    (_MISSING, "cannot store index file"),
    ("core git rejected index",),
    ("cannot create keep file", "File exists"),
)
_UPDATE_REF = ("update-ref", "-m", "gitmem", "--stdin")
CRASH_REPORT = "fast_import_crash_"  # a file in the git dir, followed by the process id
_GRACE = 60.0  # seconds for an idle process to end


class TipMovedError(Exception):
    """The branch has moved since its tip was read: build the commits again."""


class TipLockedError(TipMovedError):
    """Another git holds the lock file `lock` of the branch, or a killed one left it."""

    def __init__(self, lock: str) -> None:
        super().__init__(lock)
        self.lock = lock


class PrunedError(TipMovedError):
    """Another git command removed the unfinished pack, or is writing the same one."""


class Signature(Value):
    """A name, an address and a time; one without a zone is UTC."""

    name: str
    email: str
    when: datetime

    def render(self) -> bytes:
        """Return it as git writes it, without the characters that git reserves."""
        offset = self.when.utcoffset()
        seconds = (self.when.replace(tzinfo=None) - _EPOCH).total_seconds()
        minutes = 0
        if offset is not None:
            seconds -= offset.total_seconds()
            minutes = int(offset.total_seconds() / 60)
        if abs(minutes) > _FURTHEST_ZONE:  # Python has such zones, git refuses them
            minutes = 0
        zone = f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}{abs(minutes) % 60:02d}"
        return b"%s <%s> %d %s" % (_plain(self.name), _plain(self.email), max(int(seconds), 0), zone.encode())


class Blob(Value):
    """A file in a tree: its mode (`100644`, …) and content."""

    mode: str
    data: bytes


class NewCommit(Value):
    """A commit to write: `changes` maps a path to its new content, or to None to remove it.

    `entries` are files with stored content: path, mode and object id. `parents` are those of a merge, whose changes are
    relative to the first; the default is the tip, or the commit before.
    """

    message: str
    changes: Mapping[str, bytes | None]
    author: Signature
    committer: Signature
    modes: Mapping[str, str]
    entries: tuple[tuple[str, str, str], ...] = ()
    parents: tuple[str, ...] = ()


class Writer(Dialogue):
    """One fast-import process on a branch with a given tip (None: not born yet).

    Used as a context manager; without `finish` nothing changes. Its objects are safe from a `git gc` until it is
    left. In a repository of the user's, `listed_in` is the file that gets the names of the packs.
    """

    def __init__(self, git: Git, ref: str, tip: str | None, *, listed_in: str = "", protect: bool = False) -> None:
        """Start git; with `protect`, `write` creates `ref` to protect the objects until that is deleted."""
        listing = (f"--export-pack-edges={listed_in}",) if listed_in else ()
        super().__init__(git, *SYNC, *_QUICK, *_KEEP_PACK, *_FAST_IMPORT, *listing)
        self._ref = ref
        self._base = tip
        self._own = not listed_in
        self._protect = protect
        self._started = time.time() - 1  # by the file system's clock, which may be a little behind
        self._ids: list[str] = []
        self._awaited = 0
        self._begun = self._sealed = self._written = self._dismissed = False
        self._mover: Child | None = None
        self._known: dict[str, tuple[str, str] | None] = {}

    def __exit__(self, *exc: object) -> None:
        self._end()

    def read(self, path: str, work_tree: bytes | None = None) -> Blob | None:
        """Return the file at `path` in the tip, or None.

        `work_tree` is its content in the work tree: if its id is the tip's, as it usually is, git is not asked for the
        content.

        Raises RefusedError if there is a folder, a symbolic link or a submodule under this name.
        """
        if self._base is None:
            return None
        entry = self._known[path] if path in self._known else self._listed(path)
        if entry is None:
            return None
        mode, oid = entry
        if mode not in _MODES:
            raise RefusedError(f"{path} is not a file in the store, but a folder, a link or a submodule (mode {mode}).")
        if work_tree is not None and blob_id(work_tree, oid) == oid:
            return Blob(mode, work_tree)
        self.send(b"cat-blob %s\n" % oid.encode())
        return Blob(mode, self.data(int(self.line().split(b" ")[2])))

    def know(self, files: Mapping[str, tuple[str, str] | None]) -> None:
        """Set mode and id of files at the tip (None: missing), since git reads a whole folder to look up each."""
        self._known.update(files)

    def _listed(self, path: str) -> tuple[str, str] | None:
        """Return mode and id of the entry at `path` in the tip."""
        assert self._base is not None
        self.send(b"ls %s %s\n" % (self._base.encode(), quote_path(path)))
        meta = self.line().partition(b"\t")[0].split(b" ")
        return None if meta[0] == b"missing" else (meta[0].decode(), meta[2].decode())

    def commit(self, commit: NewCommit) -> None:
        """Add a commit on top of the tip or the one before, without moving the branch.

        Returns before fast-import is done; `finish` reports a failure at the latest.
        """
        message = commit.message.replace("\0", "").encode("utf-8", "replace")
        parts = [
            b"commit %s\nmark :1\n" % self._ref.encode(),
            b"author %s\ncommitter %s\n" % (commit.author.render(), commit.committer.render()),
            b"data %d\n%s\n" % (len(message), message),
        ]
        parents = commit.parents or ((self._base,) if self._base is not None and not self._begun else ())
        parts += [b"from %s\n" % parent.encode() for parent in parents[:1]]
        parts += [b"merge %s\n" % parent.encode() for parent in parents[1:]]
        self._begun = True
        parts += _file_commands(commit.changes, commit.modes)
        parts += [b"M %s %s %s\n" % (mode.encode(), oid.encode(), quote_path(p)) for p, mode, oid in commit.entries]
        parts.append(b"\nget-mark :1\n")
        self.send(*parts)
        self._awaited += 1
        if self._awaited >= _MAX_AWAITED:
            self._read_ids()

    def seal(self, *, moves: bool = True) -> None:
        """End the commits and start syncing their objects."""
        if self._begun and not self._sealed:
            self._sealed = True
            # fast-import must not move a branch.
            reset = b"" if self._protect else b"reset %s\n" % self._ref.encode()
            self.send(b"%scheckpoint\n%s\n" % (reset, _FINISHED))
            if moves:  # it starts while the objects are synced
                self._mover = self._git.spawn(*SYNC, *_UPDATE_REF)

    def finish(self, meanwhile: Callable[[], object] = lambda: None) -> tuple[str, ...]:
        """Sync all objects, then move the branch; return the commits' ids, oldest first.

        While git moves the branch, it calls `meanwhile`, which raises nothing: the commits may be there by then.

        Raises:
            TipMovedError: the branch has moved, is locked, or the objects were removed.
            NotSavedError: the disk is full, read-only or not ours to write.
            GitFailedError: git failed in another way.
        """
        self.seal()
        ids = self.write()
        if ids:
            self._move(ids[-1], meanwhile)
            self._dismiss()
        return ids

    def _dismiss(self) -> None:
        """Let fast-import end in the background: the branch now points to its commits."""
        stdin = self._process.stdin
        assert stdin is not None
        with contextlib.suppress(OSError):  # fast-import died and left its `.keep`, which recovery removes
            stdin.write(b"done\n")
            stdin.flush()
        self._dismissed = True

    def write(self) -> tuple[str, ...]:
        """Sync all objects and return the commits' ids as `finish`, without moving the branch."""
        self.seal(moves=False)
        if not self._begun:
            return ()
        self._read_ids()
        if not self._written and self.line() != _FINISHED + b"\n":
            raise self._died()
        self._written = True
        return tuple(self._ids)

    def _move(self, last: str, meanwhile: Callable[[], object]) -> None:
        """Move the branch."""
        mover = self._mover = self._mover or self._git.spawn(*SYNC, *_UPDATE_REF)
        base = self._base or "0" * len(last)
        assert mover.stdin is not None
        with contextlib.suppress(OSError):  # update-ref has ended; its status has the reason
            mover.stdin.write(f"update {self._ref} {last} {base}\n".encode())
            mover.stdin.close()
        meanwhile()
        _, stderr = mover.communicate()
        if mover.returncode == 0:
            return
        message = os.fsdecode(stderr)
        if lock := lock_in_the_way(message):
            raise TipLockedError(lock)
        if any(words in message for words in MOVED):
            raise TipMovedError
        raise self._failure(_UPDATE_REF, mover.wait(), stderr)

    def _read_ids(self) -> None:
        while self._awaited:
            self._ids.append(self.line().strip().decode())
            self._awaited -= 1

    def _failure(self, command: tuple[str, ...], status: int, stderr: bytes) -> Exception:
        error = failure(command, status, stderr)
        if any(all(word in error.stderr for word in words) for words in _AGAIN):
            return PrunedError()
        reason = disk_trouble(error.stderr)
        if reason is None:
            return error
        return NotSavedError(
            f"The commit could not be written to {self._git.git_dir}: {reason}.",
            "Make room or give access, then try again.",
        )

    def _remove_unfinished(self) -> None:
        """Remove the temporary files of a failed fast-import, or a full disk would stay full.

        Without a failure there are none: fast-import finishes its pack, and other writers may be writing theirs.
        """
        for folder, _, names in os.walk(f"{self._git.git_dir}/objects"):
            for name in names:
                path = f"{folder}/{name}"
                with contextlib.suppress(OSError):
                    if name.startswith("tmp_") and os.lstat(path).st_mtime >= self._started:
                        os.unlink(path)

    def _end(self) -> None:
        """End the processes, and remove their files.

        A killed fast-import would leave its unfinished pack; one whose input ends leaves a crash report and unreachable
        objects. An update-ref without input does nothing.
        """
        try:
            over = self._dismissed or (self._begun and not self._written)
            stderr = _let_end(self._process, b"" if over else b"done\n")
        finally:
            if self._mover is not None:
                _let_end(self._mover)
        if self._process.returncode:
            drop_file(f"{self._git.git_dir}/{CRASH_REPORT}{self._process.pid}")
            if self._own and (self._broke or disk_trouble(stderr.decode("utf-8", "replace"))):
                self._remove_unfinished()


def _let_end(process: Child, last_words: bytes = b"") -> bytes:
    """Close the input of a process and wait for its end; return its stderr."""
    if process.returncode is not None:
        return b""
    try:
        return process.communicate(last_words, timeout=_GRACE)[1]
    except BaseException:  # an interrupt, too
        process.kill()
        process.wait()
        raise
    finally:
        process.close()


def _file_commands(changes: Mapping[str, bytes | None], modes: Mapping[str, str]) -> list[bytes]:
    # Removals first: a file may replace a folder, and a folder a file.
    parts = [b"D %s\n" % quote_path(path) for path, content in changes.items() if content is None]
    for path, content in changes.items():
        if content is not None:
            mode = modes.get(path, REGULAR).encode()
            head = b"M %s inline %s\ndata %d\n" % (mode, quote_path(path), len(content))
            parts += (head, content, b"\n")  # separate parts, since joining would copy a large file
    return parts


def _plain(name: str) -> bytes:
    printable = "".join(character for character in name if character.isprintable() and character not in "<>")
    return printable.encode("utf-8", "replace").strip() or b"unknown"
