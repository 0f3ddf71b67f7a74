"""A transaction: reads and commits, collected in memory before anything is written.

Reading compares the work tree with the tip: an edit by hand is committed first, and is the version that the plan reads.
Committing checks names and redacts new text. Conflict markers of a plain `git merge` are resolved, keeping both sides.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from gitmem.document.code_lines import without_digests
from gitmem.document.ids import FACTS, MEMORY, check_path, fold, is_git_folder
from gitmem.document.message import Message, Op, Trailer, op_message
from gitmem.errors import DoesNotFitError, RefusedError
from gitmem.git.fast_import import EXECUTABLE, REGULAR, NewCommit, Signature, Writer
from gitmem.git.objects import PathChange
from gitmem.git.trust import GITMEM, Identity
from gitmem.platform.machine import datetime
from gitmem.platform.safe_open import MAX_FILE_BYTES
from gitmem.redact.redact import Redacted, redact, without
from gitmem.store.store import Store
from gitmem.values import Value

# Byte order marks, longer ones first: the mark of UTF-32-LE begins with that of UTF-16-LE.
_MARKS = (
    (b"\xff\xfe\0\0", "utf-32-le"),
    (b"\0\0\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_SAMPLE = 65_536  # bytes that are searched for NULs if there is no mark
_MIN_NULS = 8  # in UTF-16 text with a secret: each ASCII character has one


class CleanBytes(Value):
    """Redacted bytes, with the kinds of the secrets removed and their line numbers."""

    data: bytes
    kinds: tuple[str, ...]
    lines: tuple[int, ...]


def redact_bytes(before: bytes, data: bytes, path: str = "", *, allow: Sequence[str] = ()) -> CleanBytes:
    """Redact the lines of a file, now `data`, between the first and the last that differ from `before`."""
    clean = _redact_new(before, data, path, allow)
    encoding = wide_encoding(clean.data)
    text = None if encoding is None else _decoded(clean.data, encoding)
    if encoding is None or text is None:
        return clean
    wide = _redact_new((_decoded(before, encoding) or "").encode(*_UTF8), text.encode(*_UTF8), path, allow)
    if not wide.kinds:
        return clean
    tail = clean.data[len(clean.data) - len(clean.data) % _width(encoding) :]
    data = wide.data.decode(*_UTF8).encode(encoding, "surrogatepass") + tail
    return CleanBytes(data, clean.kinds + wide.kinds, tuple(sorted({*clean.lines, *wide.lines})))


def readings(data: bytes) -> Iterator[str]:
    """Yield the possible texts of a file: as UTF-8, unless it has NULs, and as UTF-16 or UTF-32 if it looks like it."""
    if b"\0" not in data:
        yield data.decode("utf-8", "surrogateescape")
    encoding = wide_encoding(data)
    text = None if encoding is None else _decoded(data, encoding)
    if text is not None:
        yield text


def wide_encoding(data: bytes) -> str | None:
    """Guess UTF-16 or UTF-32 from the byte order mark or the positions of NULs; None if neither fits."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return encoding
    if b"\0" not in data[:_SAMPLE]:
        return None
    even, odd = (data[start:_SAMPLE:2].count(0) for start in (0, 1))
    if max(even, odd) < _MIN_NULS or min(even, odd) * _MIN_NULS > max(even, odd):
        return None
    return "utf-16-le" if odd > even else "utf-16-be"


_UTF8 = ("utf-8", "surrogatepass")


def _width(encoding: str) -> int:
    return 4 if "32" in encoding else 2


def _decoded(data: bytes, encoding: str) -> str | None:
    """Return the text, without incomplete characters at the end; None if it cannot be decoded."""
    try:
        return data[: len(data) - len(data) % _width(encoding)].decode(encoding, "surrogatepass")
    except UnicodeDecodeError:
        return None


def _redact_new(before: bytes, data: bytes, path: str, allow: Sequence[str]) -> CleanBytes:
    start, end = changed_lines(before, data)
    text = data[start:end].decode("utf-8", "surrogateescape")
    findings = redact(without_digests(path, text), allow=allow).findings
    if not findings:
        return CleanBytes(data, (), ())
    first = data.count(b"\n", 0, start) + 1
    lines = sorted({first + text.count("\n", 0, finding.start) for finding in findings})
    clean = data[:start] + without(text, findings).encode("utf-8", "surrogateescape") + data[end:]
    return CleanBytes(clean, tuple(finding.kind for finding in findings), tuple(lines))


def changed_lines(before: bytes, after: bytes) -> tuple[int, int]:
    """Return the range of `after` from the first to the last line that differs from `before`."""
    start, end = changed_range(before, after)
    start = after.rfind(b"\n", 0, start) + 1
    newline = after.find(b"\n", end)
    return start, len(after) if newline < 0 else newline


def changed_range(before: bytes, after: bytes) -> tuple[int, int]:
    """Return the range of `after` that differs from `before`: all but their common prefix and suffix."""
    if after.startswith(before):  # the common case: appended
        return len(before), len(after)
    limit = min(len(before), len(after))
    start = _common(before, after, limit)
    return start, len(after) - _common(before[::-1], after[::-1], limit - start)


def _common(first: bytes, second: bytes, limit: int) -> int:
    """Return the length of the common prefix, at most `limit`, by binary search."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if first[:middle] == second[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


class Draft(Value):
    """A planned commit; `when` is its author date."""

    message: Message
    changes: Mapping[str, bytes | None]
    when: datetime


class LineRule(Value):
    """What keeps facts and their lines in `memory.md` the same (`gitmem.store.fact_lines`).

    `complete` adds what follows from the changes of a commit, `read_edits` applies edits by hand of lines.
    """

    complete: Callable[[Transaction, Mapping[str, bytes | None]], Mapping[str, bytes | None]]
    read_edits: Callable[[Transaction], None]


class Transaction:
    """The reads and planned commits of one attempt, on one tip."""

    def __init__(self, store: Store, writer: Writer, rule: LineRule) -> None:
        self.now = store.context.clock()
        self.notices: list[str] = []
        self.drafts: list[Draft] = []
        self.planned = 0  # bytes of the files in all drafts, which memory holds until they are written
        self._store = store
        self._writer = writer
        self._rule = rule
        self._state: dict[str, bytes | None] = {}
        self._on_disk: dict[str, bytes | None] = {}
        self._edits: dict[str, bytes | None] = {}
        self._tips: dict[str, bytes | None] = {}  # content of edited files at the tip
        self._modes: dict[str, str] = {}
        self._replaced: set[str] = set()  # files whose mode or kind was changed by hand
        self.broken: dict[str, bytes] = {}  # facts whose header an edit by hand broke: the committed one counts

    def read(self, path: str) -> bytes | None:
        """Return a file as of the last planned commit, None if there is none.

        Raises:
            RefusedError: the file or a parent folder is a link, or it is no regular file, or too large, or its path
                leads out of the store or into a git directory, or it is new and its name holds a secret.
            OSError: the file cannot be read.
        """
        if path not in self._state:
            self._state[path] = self._first_read(path)
            if path == MEMORY and path in self._edits:  # a line of a fact may have changed
                self._rule.read_edits(self)
        return self._state[path]

    def know(self, changes: Iterable[PathChange]) -> None:
        """Learn from these changes what the tip has at their paths, so that git is not asked for each."""
        self._writer.know({change.path: (change.mode, change.new) if change.new else None for change in changes})

    def edits(self) -> list[str]:
        """Return the edited paths among those that were read."""
        return sorted(self._edits)

    def edit_of(self, path: str) -> tuple[bytes | None, bytes | None]:
        """Return the content of a file at the tip, and as edited by hand."""
        return self._tips[path], self._edits.get(path, self._tips[path])

    def amend(self, path: str, change: Callable[[bytes], bytes]) -> None:
        """Apply a change to a file in the commit of edits by hand, and in every planned commit that changes it."""
        self.read(path)
        tip, edited = self.edit_of(path)
        if edited is not None:
            self._edits[path] = self._state[path] = self._redacted(path, edited, change(edited))
            if self._edits[path] == tip and path not in self._replaced:
                del self._edits[path]
        for index, draft in enumerate(self.drafts):
            planned = draft.changes.get(path)
            if planned is not None:
                self._state[path] = self._redacted(path, planned, change(planned))
                self.drafts[index] = draft._replace(changes={**draft.changes, path: self._state[path]})

    def names(self, folder: str) -> set[str]:
        """Return the names in a folder, as of the last planned commit."""
        names = set(self._store.files.names(folder))
        prefix = f"{folder}/" if folder else ""
        for path, content in self._state.items():
            head, _, rest = path[len(prefix) :].partition("/")
            if path.startswith(prefix) and content is not None:
                names.add(head)
            elif path.startswith(prefix) and not rest:
                names.discard(head)
        return names

    def need_folder(self, name: str) -> None:
        """Raise RefusedError if `name` is no folder as of the last planned commit."""
        created = any(path.startswith(f"{name}/") and content is not None for path, content in self._state.items())
        if name in self.names("") and not created and not self._store.files.is_folder(name):
            raise RefusedError(f"There is a file where the folder {name} should be.", "Remove or rename it.")

    def commit(self, message: Message, changes: Mapping[str, bytes | None], *, when: datetime | None = None) -> bool:
        """Plan a commit that changes these files; return False, without a commit, if none would change.

        Raises RefusedError if a new file's name is unsafe, or collides with another on some file system, or the file is
        too large; or as `read`. No commit is planned then.
        """
        if any(path.startswith(f"{FACTS}/") for path in changes):
            changes = self._rule.complete(self, changes)
        before = {path: self.read(path) for path in changes}
        changed = {}
        try:
            for path, content in changes.items():
                clean = self._checked(path, before[path], content)
                if clean != before[path]:
                    changed[path] = self._state[path] = clean
                    self._keep_broken(path)
        except RefusedError:
            self._state.update(before)  # the plan may catch the error and go on
            raise
        if changed:
            machine = Trailer.MACHINE.value, self._store.context.machine
            message = message._replace(trailers=(*message.trailers, machine))
            self.drafts.append(Draft(self._clean(message), changed, when or self.now))
            self.planned += sum(len(content or b"") for content in changed.values())
        return bool(changed)

    def commits(self, identity: Identity = GITMEM) -> Iterator[NewCommit]:
        """Yield the planned commits, edits by hand first."""
        committer = Signature(identity.name, identity.email, self.now)
        drafts = list(self.drafts)
        if names := sorted(self._edits):
            edited = ", ".join(names) if len(names) < 4 else f"{len(names)} files"  # noqa: PLR2004
            message = op_message(Op.EDIT, f"Edit by hand: {edited}", (Trailer.MACHINE, self._store.context.machine))
            drafts.insert(0, Draft(self._clean(message), self._edits, self.now))
        for draft in drafts:
            name = GITMEM.name if draft.message.model else identity.name  # a model decided it, not the user
            author = Signature(name, identity.email, draft.when)
            yield NewCommit(draft.message.render(), draft.changes, author, committer, self._modes)

    def files(self) -> list[tuple[str, bytes | None, bool]]:
        """Return the files that differ from the disk: path, content, None for one to remove, whether executable."""
        changed = ((path, content) for path, content in self._state.items() if content != self._on_disk[path])
        return [(path, content, self._modes.get(path) == EXECUTABLE) for path, content in changed]

    def touched(self) -> set[str]:
        """Return the paths whose index entries change."""
        return {*self._edits, *(path for draft in self.drafts for path in draft.changes)}

    def _first_read(self, path: str) -> bytes | None:
        if any(map(is_git_folder, path.split("/"))):
            raise RefusedError(f"{path} is refused: on some file systems a part of it is the same as .git.")
        files = self._store.files
        file = files.load(path)
        disk = self._on_disk[path] = None if file is None else file.data
        blob, replaced = None, False
        try:
            blob = self._writer.read(path, disk)
        except RefusedError:
            # The tip has a folder, a link or a submodule there, which a user replaced by a file or removed.
            replaced = True
        tip = self._tips[path] = None if blob is None else blob.data
        mode = REGULAR if blob is None else blob.mode
        if file is not None and file.executable != (mode == EXECUTABLE) and files.trusts_modes():
            mode, replaced = (EXECUTABLE if file.executable else REGULAR), True
        self._modes[path] = mode
        if replaced:
            self._replaced.add(path)
        elif disk == tip:
            return tip
        if path == MEMORY and disk is not None and b"\0" in disk:
            copy = self._store.spool.keep_aside(path, disk)
            self.notices.append(f"{path} was no longer text: that file is kept as {copy}, and {path} was restored.")
            return tip
        if blob is None:
            self._check_name(path)
        return self._edited(path, tip, disk, replaced=replaced)

    def _edited(self, path: str, tip: bytes | None, disk: bytes | None, *, replaced: bool) -> bytes | None:
        """Take a file that differs from the tip as an edit by hand, and return it as it is to be committed."""
        from gitmem.store.entrance import breaks_fact, check_edit  # late: a save without such a file is quicker

        if disk is not None:
            check_edit(path, tip, disk, self._tracked)
        if tip and disk is not None and breaks_fact(path, tip, disk):
            self.broken[path], self._on_disk[path] = disk, tip
            return tip
        edited = disk if disk is None or disk == tip else self._redacted(path, tip or b"", disk, edited=True)
        if edited != tip or replaced:
            self._edits[path] = edited
        return edited

    def _tracked(self, folder: str) -> list[str]:
        """Return the paths below a folder, or in the top folder, that exist on disk and are committed or planned."""
        from gitmem.git.packing import tracked_files  # late, as above

        listed = tracked_files(self._store.repository.git, f":(top,literal){folder}" if folder else ":(top,glob)*")
        listed += [path for path in self._edits if path.startswith(f"{folder}/" * bool(folder))]
        return [path for path in listed if os.path.lexists(os.path.join(self._store.root, path))]

    def _keep_broken(self, path: str) -> None:
        """Keep a copy of the user's unreadable edit of a fact before the file is overwritten."""
        if (data := self.broken.pop(path, None)) is not None:
            copy = self._store.spool.keep_aside(path.replace("/", "-"), data)
            self.notices.append(f"{path} could not be read as a fact: your version is kept as {copy}.")

    def _checked(self, path: str, before: bytes | None, content: bytes | None) -> bytes | None:
        if content is None:
            return None
        if before is None:
            self._check_new(path)
        if len(content) > MAX_FILE_BYTES:
            raise DoesNotFitError(f"{path} would have {len(content):,} bytes, more than gitmem handles.")
        return self._redacted(path, before or b"", content)

    def _redact(self, text: str) -> Redacted:
        return redact(text, allow=self._store.config.redaction.allow)

    def _redacted(self, path: str, before: bytes, content: bytes, *, edited: bool = False) -> bytes:
        """Redact the lines of `content` between the first and last that differ from `before`; report edits by hand."""
        clean = redact_bytes(before, content, path, allow=self._store.config.redaction.allow)
        if clean.kinds and edited:
            lines = ", ".join(map(str, clean.lines))
            kinds = ", ".join(sorted({*clean.kinds}))
            self.notices.append(
                f"{path}, line {lines}: what looks like a secret ({kinds}) was replaced in the file. "
                "If it is not a secret, add it to redaction.allow."
            )
        return clean.data

    def _clean(self, message: Message) -> Message:
        """Return a message with its subject and the values of its trailers redacted."""
        trailers = message.trailers
        if self._redact("\n".join(value for _, value in trailers)).findings:
            trailers = tuple((key, self._redact(value).text) for key, value in trailers)
        return message._replace(subject=self._redact(message.subject).text, trailers=trailers)

    def _check_name(self, path: str) -> None:
        redacted = self._redact(path)
        if redacted.findings:
            kinds = ", ".join(sorted({finding.kind for finding in redacted.findings}))
            raise RefusedError(
                f"{redacted.text} is refused: its name holds what looks like a secret ({kinds}), and git keeps names.",
                "Rename it; if it is not a secret, add it to redaction.allow.",
            )

    def _check_new(self, path: str) -> None:
        check_path(path)
        self._check_name(path)
        if self._store.files.is_folder(path):
            raise RefusedError(f"{path} is refused: there is a folder of this name.")
        parts = path.split("/")
        for depth, part in enumerate(parts):
            siblings = self.names("/".join(parts[:depth]))
            twin = next((sibling for sibling in siblings if sibling != part and fold(sibling) == fold(part)), None)
            if twin is not None:
                raise RefusedError(f"{path} is refused: on some file systems it is the same as {twin!r}, which exists.")
            if part not in siblings:
                return
