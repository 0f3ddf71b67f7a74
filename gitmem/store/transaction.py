"""A transaction: what is to be read and committed, collected in memory before anything is written.

Reading a file compares the work tree with the tip: what a person changed becomes a commit of its own, ahead of
all others, and is what the transaction sees. Committing checks names and redacts what is new. The files are then
written by `Store.transact`.
"""

from __future__ import annotations

from gitmem.errors import DoesNotFitError, RefusedError
from gitmem.git.identity import GITMEM
from gitmem.git.worktree import MAX_FILE_BYTES
from gitmem.git.writer import EXECUTABLE, REGULAR, NewCommit, Signature
from gitmem.model.difference import changed_range
from gitmem.model.message import Message, Op, Trailer
from gitmem.model.paths import check_path, fold, is_git_folder
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.git.process
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from gitmem.git.identity import Identity
    from gitmem.git.worktree import WorkTree
    from gitmem.git.writer import Writer
    from gitmem.redact.redact import Redacted


class Draft(Value):
    """A commit that is not made yet; `when` is when it happened."""

    message: Message
    changes: Mapping[str, bytes | None]
    when: datetime


class Transaction:
    """What one attempt reads from one tip and wants committed on it."""

    def __init__(
        self, writer: Writer, work_tree: WorkTree, *, now: datetime, machine: str, allow: tuple[str, ...]
    ) -> None:
        self.now = now
        self.notices: list[str] = []
        self.drafts: list[Draft] = []
        self._writer = writer
        self._work_tree = work_tree
        self._machine = machine
        self._allow = allow
        self._state: dict[str, bytes | None] = {}
        self._on_disk: dict[str, bytes | None] = {}
        self._edits: dict[str, bytes | None] = {}
        self._modes: dict[str, str] = {}

    def read(self, path: str) -> bytes | None:
        """Return a file as it will be after what was committed so far; None where there is none.

        Raises:
            RefusedError: it, or a folder above it, is a link, or it is no regular file, or too large, or its name leads
                out of the store or into git's own folder.
            OSError: it cannot be read.

        """
        if path not in self._state:
            self._state[path] = self._first_read(path)
        return self._state[path]

    def names(self, folder: str) -> set[str]:
        """Return the names in a folder, after what was committed so far."""
        names = set(self._work_tree.names(folder))
        prefix = f"{folder}/" if folder else ""
        for path, content in self._state.items():
            head, _, rest = path[len(prefix) :].partition("/")
            if path.startswith(prefix) and content is not None:
                names.add(head)
            elif path.startswith(prefix) and not rest:
                names.discard(head)
        return names

    def is_folder(self, path: str) -> bool:
        """Say whether there is a folder, after what was committed so far."""
        made = any(name.startswith(f"{path}/") and content is not None for name, content in self._state.items())
        return made or self._work_tree.is_folder(path)

    def commit(self, message: Message, changes: Mapping[str, bytes | None], *, when: datetime | None = None) -> bool:
        """Add a commit that changes these files; False, and no commit, where they are so already.

        Raises:
            RefusedError: a new file's name is unsafe, or another file's for some file system, or the file is too large;
                or as `read`. Nothing is added then.

        """
        before = {path: self.read(path) for path in changes}
        real = {}
        try:
            for path, content in changes.items():
                clean = self._checked(path, before[path], content)
                if clean != before[path]:
                    real[path] = self._state[path] = clean
        except RefusedError:
            self._state.update(before)  # a plan may go on without this commit
            raise
        if real:
            trailers = (*message.trailers, (Trailer.MACHINE.value, self._machine))
            subject = self._redact(message.subject).text
            message = message._replace(subject=subject, trailers=trailers)
            self.drafts.append(Draft(message, real, when or self.now))
        return bool(real)

    def commits(self, identity: Identity = GITMEM) -> Iterator[NewCommit]:
        """Yield the commits to make, the edits by hand first."""
        committer = Signature(identity.name, identity.email, self.now)
        drafts = [Draft(_edit_message(self._edits, self._machine), self._edits, self.now)] if self._edits else []
        for draft in drafts + self.drafts:
            author = Signature(identity.name, identity.email, draft.when)
            yield NewCommit(draft.message.render(), draft.changes, author, committer, self._modes)

    def files(self) -> dict[str, bytes | None]:
        """Return what the commits change in the work tree: path and content, where the disk does not hold it yet."""
        return {path: now for path, now in self._state.items() if now != self._on_disk[path]}

    def is_executable(self, path: str) -> bool:
        """Say whether a file that was read has the mode of an executable."""
        return self._modes.get(path) == EXECUTABLE

    def touched(self) -> list[str]:
        """Return the paths whose index entries change."""
        paths = set(self._edits)
        for draft in self.drafts:
            paths.update(draft.changes)
        return sorted(paths)

    def _first_read(self, path: str) -> bytes | None:
        if any(map(is_git_folder, path.split("/"))):
            raise RefusedError(f"{path} is refused: some file system takes a part of it for .git.")
        file = self._work_tree.load(path)
        disk = self._on_disk[path] = None if file is None else file.data
        try:
            blob = self._writer.read(path, disk)
        except RefusedError:
            # The tip has a folder, a link or a submodule there, and a person has put a file in its place, or nothing.
            blob, replaced = None, True
        else:
            replaced = False
        tip = None if blob is None else blob.data
        mode = REGULAR if blob is None else blob.mode
        if file is not None and file.executable != (mode == EXECUTABLE) and self._work_tree.trusts_modes():
            mode, replaced = (EXECUTABLE if file.executable else REGULAR), True
        self._modes[path] = mode
        if disk == tip and not replaced:
            return tip
        edited = disk if disk is None or disk == tip else self._redacted(path, tip or b"", disk, edited=True)
        if edited != tip or replaced:
            self._edits[path] = edited
        return edited

    def _checked(self, path: str, before: bytes | None, content: bytes | None) -> bytes | None:
        if content is None:
            return None
        if before is None:
            self._check_new(path)
        if len(content) > MAX_FILE_BYTES:
            raise DoesNotFitError(f"{path} would have {len(content):,} bytes, more than gitmem handles.")
        return self._redacted(path, before or b"", content)

    def _redact(self, text: str) -> Redacted:
        from gitmem.redact.redact import redact  # while git starts

        return redact(text, allow=self._allow)

    def _redacted(self, path: str, before: bytes, content: bytes, *, edited: bool = False) -> bytes:
        """Return content without the secrets in those of its lines that `before` does not have at the same ends."""
        start, end = _changed_lines(before, content)
        text = content[start:end].decode("utf-8", "surrogateescape")
        found = self._redact(text)
        if not found.findings:
            return content
        if edited:
            first = content.count(b"\n", 0, start) + 1
            numbers = sorted({first + text.count("\n", 0, finding.start) for finding in found.findings})
            lines = ", ".join(map(str, numbers))
            kinds = ", ".join(sorted({finding.kind for finding in found.findings}))
            self.notices.append(
                f"{path}, line {lines}: what looks like a secret ({kinds}) was replaced in the file. "
                "If it is none, add it to redaction.allow."
            )
        return content[:start] + found.text.encode("utf-8", "surrogateescape") + content[end:]

    def _check_new(self, path: str) -> None:
        check_path(path)
        if self._work_tree.is_folder(path):
            raise RefusedError(f"{path} is refused: there is a folder of this name.")
        folder, _, name = path.rpartition("/")
        parts = f"{folder}/{name}".strip("/").split("/")
        for depth, part in enumerate(parts):
            siblings = self.names("/".join(parts[:depth]))
            twin = next((other for other in siblings if other != part and fold(other) == fold(part)), None)
            if twin is not None:
                raise RefusedError(
                    f"{path} is refused: some file systems take it for {twin!r}, which is there already."
                )
            if part not in siblings:
                return


def _changed_lines(before: bytes, after: bytes) -> tuple[int, int]:
    """Return the range of `after` that holds all lines which differ from `before`, found from both ends."""
    start, end = changed_range(before, after)
    start = after.rfind(b"\n", 0, start) + 1
    newline = after.find(b"\n", end)
    return start, len(after) if newline < 0 else newline


def _edit_message(edits: Mapping[str, bytes | None], machine: str) -> Message:
    names = sorted(edits)
    what = ", ".join(names) if len(names) < 4 else f"{len(names)} files"  # noqa: PLR2004
    return Message(f"Edit by hand: {what}", ((Trailer.OP.value, Op.EDIT.value), (Trailer.MACHINE.value, machine)))
