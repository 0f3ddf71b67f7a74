"""Plan what an undo changes in files: lines, facts, links."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from gitmem.document.document import Document
from gitmem.document.entry import LINKS, entry_ids, find_entries, find_section, remove_entries
from gitmem.document.ids import ARCHIVE, BUGS, MEMORY, SUMMARIES, is_fact_id, summary_path
from gitmem.merge.documents import MergeStatus, merge
from gitmem.model.fact import PATH, is_fact_path, parse_fact
from gitmem.model.pattern import parse_pattern, render_pattern, unseen
from gitmem.values import Value

_DERIVED = ("concepts/", "episodes/", "lines/", "patterns/", "sessions/")
_BLANK = " \t\r\n"
_BLANK_LINE = re.compile(r"[ \t]*\r?\n")


class UndoConflictError(Exception):
    """The lines that a commit changed in the file at `path` have changed again since."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class FileChange(Value):
    """What a commit did to one file; None where there is no such file."""

    path: str
    before: bytes | None
    after: bytes | None


def ids_in(texts: Iterable[bytes | None]) -> set[str]:
    """Return the ids of all entries in these files."""
    return {identifier for text in texts if text for identifier in entry_ids(Document.parse(text).body)}


def introduced(changes: Collection[FileChange]) -> set[str]:
    """Return the ids of the entries that a commit added, except new lines of facts that existed before it."""
    made = {match["id"] for change in changes if change.before is None and (match := PATH.fullmatch(change.path))}
    new = ids_in(change.after for change in changes) - ids_in(change.before for change in changes)
    return {identifier for identifier in new if not is_fact_id(identifier) or identifier in made}


def rotated(changes: Collection[FileChange]) -> str | None:
    """Return the path of the archive if these changes are a rotation: all of `memory.md` became an archive."""
    memory = next((change for change in changes if change.path == MEMORY), None)
    if memory is None or not memory.before:
        return None
    archives = (c for c in changes if c.path.startswith(f"{ARCHIVE}/") and c.before is None)
    return next((archive.path for archive in archives if archive.after == memory.before), None)


def is_derived(path: str) -> bool:
    """Return whether gitmem derives a file from sessions and rewrites it, so that no user wrote it."""
    return path.startswith(_DERIVED)


def plan_undo(
    changes: Sequence[FileChange], current: Mapping[str, bytes | None], staying: list[str] | None = None
) -> dict[str, bytes | None]:
    """Return the files in `current` after undoing a commit.

    `current` holds `memory.md`, every file of `changes`, and every other file to which the commit's entries have moved,
    as by a rotation. To undo a rotation, it holds the archive's last version, and its summary. A file whose lines have
    changed since the commit is added to `staying`, and keeps them; without a list UndoConflictError is raised.
    """
    new = introduced(changes)
    lost = ids_in(change.after for change in changes) - ids_in(current.values())
    result = dict(current)
    archive = rotated(changes)
    for change in changes:
        if archive and change.path in (archive, MEMORY):
            continue
        path = _place(change, current)
        try:
            content = _undone(change, result[path])
        except UndoConflictError:
            if staying is None:
                raise
            staying.append(path)
            continue
        if content is not None and change.after is None:  # restore a removed file, without entries removed since
            content = without_entries(content, lost)
        result[path] = content
    new -= {match["id"] for path in staying or () if (match := PATH.fullmatch(path))}
    if archive:
        result[archive] = result[summary_path(archive)] = None
        result[MEMORY] = _unrotated(changes, current, archive)
    return {path: None if content is None else without_entries(content, new) for path, content in result.items()}


def carry_over(path: str, base: bytes | None, changed: bytes | None, onto: bytes | None) -> bytes | None:
    """Return `onto`, the file at `path`, with the changes from `base` to `changed`, or raise UndoConflictError."""
    if onto == base:
        return changed
    if changed in (base, onto):
        return onto
    derived = path.startswith(f"{SUMMARIES}/") or _field_differs(base, changed, onto)
    end = b"\r\n" if onto and b"\r\n" in onto else b"\n"  # a blank line at each end: an empty section may be the last
    versions = (None if data is None else data + end for data in (base, onto, changed))
    merged = merge(path, *versions, with_facts=False)  # two wordings of a fact's line are a conflict, too
    took_a_side = merged.status is MergeStatus.TAKEN or (base is None and _has_prose(changed) and _has_prose(onto))
    if derived or took_a_side or merged.status is MergeStatus.REVIEW:
        raise UndoConflictError(path)
    if merged.data and onto and merged.data.split() == onto.split():  # only blank lines differ
        return onto
    return merged.data and merged.data.removesuffix(end)


def _field_differs(*versions: bytes | None) -> bool:
    """Return whether a field of the header, other than a list, a table or `updated`, differs in all three versions."""
    base, changed, onto = (Document.parse(data).metadata if data else {} for data in versions)
    fields = ((base.get(key), changed.get(key), now) for key, now in onto.items() if key != "updated")
    differ = (not isinstance(now, list | dict) and now != new and old not in (now, new) for old, new, now in fields)
    return all(versions) and any(differ)


def _has_prose(data: bytes | None) -> bool:
    """Return whether a document holds more than headings and entries."""
    body = Document.parse(data or b"").body
    rest = remove_entries(body, entry_ids(body)).split("\n")
    return any(not line.startswith("#") for line in rest if line.strip(_BLANK))


def _place(change: FileChange, current: Mapping[str, bytes | None]) -> str:
    """Return the path to change: `memory.md` if the archive with the change was moved back there."""
    archived = change.path.startswith(f"{ARCHIVE}/") and change.before is not None and change.after is not None
    return MEMORY if archived and current[change.path] is None else change.path


def _unrotated(changes: Sequence[FileChange], current: Mapping[str, bytes | None], archive: str) -> bytes | None:
    """Return the archive with the changes of `memory.md` since the rotation, so that no later save is lost."""
    memory = next(change.after for change in changes if change.path == MEMORY)
    whole, now = current[archive], current[MEMORY]
    if whole is None or memory is None or now is None:
        return now if whole is None else whole
    return carry_over(MEMORY, memory, now, whole)


def _undone(change: FileChange, current: bytes | None) -> bytes | None:
    """Return the new content of one file of a commit."""
    before, after = change.before, change.after
    if current in (before, after):
        return before
    if _is_fact_gone(change, current):
        return None
    if before is None and after and current and _unlinked(after) == _unlinked(current):
        return None  # since then gitmem only added links to the commit's new file
    if after and current and change.path.startswith(f"{BUGS}/") and (learned := _unlearned(before, after, current)):
        return learned[0]
    return carry_over(change.path, after, before, current)


def _unlinked(data: bytes) -> bytes:
    """Return a document without its section of links, and the blank lines at its end."""
    document = Document.parse(data)
    body, links = document.body, find_section(document.body, LINKS)
    rest = body[: links.start] + body[links.end :] if links else body
    return document.with_body(rest.rstrip(_BLANK)).render()


def _unlearned(before: bytes | None, after: bytes, current: bytes) -> tuple[bytes | None] | None:
    """Return a bug pattern without what a commit taught it; None if the commit changed anything else in it."""
    was, made, now = (parse_pattern(data) if data else None for data in (before, after, current))
    if made is None or now is None or (was and {*was.seen} - {*made.seen}):
        return None
    seen = {*made.seen}.difference(was.seen if was else ())
    left = unseen(now, seen)
    with contextlib.suppress(ValueError):  # a header that cannot be edited in place
        return (render_pattern(left) if left else None,)
    return None


def _is_fact_gone(change: FileChange, current: bytes | None) -> bool:
    """Return whether to remove a fact, or it was already removed.

    A fact that the commit made is removed if it still has its first text and status; sources may have been added.
    """
    if not is_fact_path(change.path) or change.after is None:
        return False
    if current is None or change.before is not None:
        return current is None
    then, now = parse_fact(change.after, change.path), parse_fact(current, change.path)
    return then is not None and now is not None and (then.text, then.status) == (now.text, now.status)


def without_entries(data: bytes, ids: Collection[str]) -> bytes:
    """Return a log without entries, and without one of the blank lines around each."""
    log = Document.parse(data)
    body = log.body
    gone = [entry for entry in find_entries(body) if entry.entry.id in ids] if ids else []
    for entry in reversed(gone):
        head, tail = body[: entry.start], body[entry.end :]
        last = head.rfind("\n", 0, -1) + 1
        line = _BLANK_LINE.match(tail)
        if head[last:].strip(_BLANK):
            body = head + tail
        elif not tail:
            body = head[:last]
        else:
            body = head + (tail[line.end() :] if line else tail)
    return log.with_body(body).render() if gone else data
