"""Undo of a commit in files that have changed since, and which commits were undone (spec G3).

A change is applied in parts: entries by their ids, wherever they are now; sections that only held such entries; all
other lines by a three-way merge. Nothing is guessed: where a merge fails, `UndoConflictError` names the file.
"""

from __future__ import annotations

import contextlib
import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence

from gitmem.document.document import Document
from gitmem.document.entry import (
    LINKS,
    Entry,
    Section,
    entry_ids,
    find_entries,
    find_section,
    restore_entries,
    sections,
)
from gitmem.document.ids import ARCHIVE, BUGS, MEMORY, is_fact_id, summary_path
from gitmem.document.message import Trailer
from gitmem.facts.fact import PATH, is_fact_path
from gitmem.facts.file import parse_fact
from gitmem.git.log import Commit, log
from gitmem.git.objects import Objects
from gitmem.git.process import Git
from gitmem.git.repository import Repository, is_object_id
from gitmem.lessons.pattern import FOLDER as PATTERNS
from gitmem.lessons.pattern import parse_pattern, render_pattern, unseen
from gitmem.merge.documents import merge_headers
from gitmem.text.difference import merge_lines
from gitmem.values import Value

_BLANK = " \t\r\n"
_SHORT = re.compile(r"[0-9a-f]{4,64}")
# The message of `git revert`.
_REVERTED = re.compile(r"^This reverts commit ([0-9a-f]{7,64})\b", re.MULTILINE)
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


class Reversal(Value):
    """A commit and the commits it undoes."""

    commit: str
    undoes: tuple[str, ...]


def undone_commits(history: Iterable[Reversal]) -> dict[str, str]:
    """Return the undone commits, each with the commit that undid it; `history` is newest first, topologically.

    An undo that was undone itself does not count.
    """
    found: dict[str, str] = {}
    for item in history:
        if item.commit not in found:
            for oid in item.undoes:
                found.setdefault(oid, item.commit)
    return found


def ids_in(texts: Iterable[bytes | None]) -> set[str]:
    """Return the ids of all entries in these files."""
    return {found for text in texts if text for found in entry_ids(Document.parse(text).body)}


def introduced(changes: Collection[FileChange]) -> set[str]:
    """Return the ids of the entries a commit brought into the store: of a fact's line, if it brought the fact.

    What is said again has a line on another day; that one alone goes where it was said.
    """
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


def plan_undo(changes: Sequence[FileChange], current: Mapping[str, bytes | None]) -> dict[str, bytes | None]:
    """Return the files in `current` as they are after a commit is taken back.

    `current` holds `memory.md`, every file of `changes`, and every other file in which entries that the commit brought
    stand by now: a rotation may have moved them. Of a rotation it holds the archive, as it last was, and its summary.

    Raises:
        UndoConflictError: lines the commit changed have changed since.

    """
    new = introduced(changes)
    lost = ids_in(change.after for change in changes) - ids_in(current.values())
    result = dict(current)
    archive = rotated(changes)
    for change in changes:
        if archive and change.path in (archive, MEMORY):
            continue
        path = _place(change, current)
        content = _undone(change, result[path])
        if content is not None and change.after is None:  # a removed file comes back, without entries removed since
            content = _without(content, lost)
        result[path] = content
    if archive:
        result[archive] = result[summary_path(archive)] = None
        result[MEMORY] = _unrotated(changes, current, archive)
    return {path: None if content is None else _without(content, new) for path, content in result.items()}


def carry_over(path: str, base: bytes, changed: bytes, onto: bytes) -> bytes:
    """Return `onto`, the file at `path`, with the changes from `base` to `changed`.

    Raises:
        UndoConflictError: lines that differ there are changed in `onto`, too.

    """
    if onto == base:
        return changed
    if changed in (base, onto):
        return onto
    gone, come = ids_in([base]) - ids_in([changed]), ids_in([changed]) - ids_in([base])
    # A section that only held these entries was added or removed with them.
    made, unmade = _sections_of(base, gone) - _titles(changed), _sections_of(changed, come) - _titles(base)
    ours, ancestor = (_without_sections(_without(text, gone), made) for text in (onto, base))
    theirs = _without_sections(_without(changed, come), unmade)
    if _lines(ancestor) != _lines(theirs):
        merged = merge_lines(ours, ancestor, theirs, both_add=False)
        if merged is None:
            ours, ancestor, theirs = _with_one_header(path, ours, ancestor, theirs)
            merged = merge_lines(ours, ancestor, theirs, both_add=False)
        if merged is None and not path.startswith(f"{PATTERNS}/"):  # their bodies follow from their headers
            raise UndoConflictError(path)
        ours = merged or ours
    return _with(ours, changed, come)


def _with_one_header(path: str, *versions: bytes) -> list[bytes]:
    """Return the versions of a document (now, base, changed) with their headers merged by field.

    Raises:
        UndoConflictError: a field has other values in all three, or a header cannot be read.

    """
    documents = [Document.parse(data) for data in versions]
    fields = [document.metadata for document in documents]
    for key in fields[0]:
        now, base, changed = (field.get(key) for field in fields)
        if key != "updated" and not isinstance(now, list | dict) and now != changed and base not in (now, changed):
            raise UndoConflictError(path)
    try:
        header = merge_headers(documents[1].header, documents[2].header, documents[0].header, documents[0].newline)
    except ValueError:
        raise UndoConflictError(path) from None
    return [Document(header, document.body, document.opening, document.closing).render() for document in documents]


def _place(change: FileChange, current: Mapping[str, bytes | None]) -> str:
    """Return the path to change: `memory.md` if the archive with the change was moved back there."""
    archived = change.path.startswith(f"{ARCHIVE}/") and change.before is not None and change.after is not None
    return MEMORY if archived and current[change.path] is None else change.path


def _unrotated(changes: Sequence[FileChange], current: Mapping[str, bytes | None], archive: str) -> bytes | None:
    """Return the archive with the changes of `memory.md` since the rotation, so that no later save is lost."""
    kept = next(change.after for change in changes if change.path == MEMORY)
    whole, now = current[archive], current[MEMORY]
    if whole is None or kept is None or now is None:
        return now if whole is None else whole
    return carry_over(MEMORY, kept, now, whole)


def _undone(change: FileChange, current: bytes | None) -> bytes | None:
    """Return the new content of one file of a commit."""
    before, after = change.before, change.after
    if current in (before, after):
        return before
    if _is_fact_gone(change, current):
        return None
    if after and current and change.path.startswith(f"{BUGS}/") and (learned := _unlearned(before, after, current)):
        return learned[0]
    return _reverted(change, current)


def _reverted(change: FileChange, current: bytes | None) -> bytes | None:
    """Return a file that has changed since a commit without what the commit did."""
    before, after = change.before, change.after
    if before is None and _is_frame(after or b""):  # created by the commit, and changed since
        return _without_made(after or b"", current or b"")
    if before is not None and after is not None and current is not None:
        return carry_over(change.path, after, before, current)
    # The file was added or removed: only entries can be merged.
    come = ids_in([before]) - ids_in([after])
    if before is not None and _is_frame(before):
        left = _without(before, ids_in([after])) if current is None and come else current
        return None if left is None else _with(left, before, come)
    if (
        before is not None
        and after is not None
        and not come
        and _lines(_without(after, ids_in([after]))) == _lines(_without(before, ids_in([before])))
    ):
        return None  # the commit only added entries
    raise UndoConflictError(change.path)


def _unlearned(before: bytes | None, after: bytes, current: bytes) -> tuple[bytes | None] | None:
    """Return what is left of a bug pattern without what a commit taught; None if that is not what the commit did."""
    was, made, now = (parse_pattern(data) if data else None for data in (before, after, current))
    if made is None or now is None or (was and {*was.seen} - {*made.seen}):
        return None
    seen, episodes = (
        {*new} - {*old}
        for new, old in ((made.seen, was.seen if was else ()), (made.episodes, was.episodes if was else ()))
    )
    left = unseen(now, seen, episodes)
    with contextlib.suppress(ValueError):  # a header that cannot be edited in place
        return (render_pattern(left) if left else None,)
    return None


def _is_fact_gone(change: FileChange, current: bytes | None) -> bool:
    """Return whether a fact goes as a whole, or has gone since.

    A fact that the commit made goes if it has the text and status it was made with; sources may have been added since.
    """
    if not is_fact_path(change.path) or change.after is None:
        return False
    if current is None or change.before is not None:
        return current is None and change.before is not None
    then, now = parse_fact(change.after, change.path), parse_fact(current, change.path)
    return then is not None and now is not None and (then.text, then.status) == (now.text, now.status)


def _without_made(made: bytes, current: bytes) -> bytes | None:
    """Return a log without the entries it was created with; None if nothing but links was added."""
    ids = ids_in([made])
    titles = _sections_of(made, ids)
    frame, left = (_without_sections(_without(text, ids), titles) for text in (made, current))
    log = Document.parse(left)
    links = find_section(log.body, LINKS)
    rest = _cut(left, log, [(links.start, links.end)]) if links else left
    return None if _lines(frame) == _lines(rest) else left


def _with(data: bytes, source: bytes, ids: Collection[str]) -> bytes:
    """Return a log with entries of another one, each in its section there."""
    if not ids:
        return data
    log = Document.parse(data)
    entries = _placed(Document.parse(source).body, ids)
    return log.with_body(restore_entries(log.body, entries, log.newline)).render()


def _placed(body: str, ids: Collection[str]) -> list[tuple[str, Entry]]:
    """Return the entries with these ids, each with its section's title."""
    parts = sections(body)
    starts = [part.start for part in parts]
    places = ((bisect_right(starts, entry.start), entry.entry) for entry in find_entries(body))
    return [(parts[place - 1].title if place else "", entry) for place, entry in places if entry.id in ids]


def _without(data: bytes, ids: Collection[str]) -> bytes:
    """Return a log without entries and the blank lines around them."""
    log = Document.parse(data)
    found = find_entries(log.body) if ids else ()
    return _cut(data, log, [(entry.start, entry.end) for entry in found if entry.entry.id in ids])


def _without_sections(data: bytes, names: Collection[str]) -> bytes:
    """Return a log without those of the sections that are empty."""
    log = Document.parse(data)
    parts = _empty_sections(log.body) if names else ()
    return _cut(data, log, [(part.start, part.end) for part in parts if part.title.casefold() in names])


def _cut(data: bytes, log: Document, spans: Sequence[tuple[int, int]]) -> bytes:
    body = log.body
    for start, end in reversed(spans):
        body = _joined(body[:start], body[end:])
    return log.with_body(body).render() if spans else data


def _empty_sections(body: str) -> list[Section]:
    return [part for part in sections(body) if not body[part.body : part.end].strip(_BLANK)]


def _joined(head: str, tail: str) -> str:
    """Return two parts of a text joined, with one of the blank lines around the gap removed."""
    last = head.rfind("\n", 0, -1) + 1
    if head[last:].strip(_BLANK):
        return head + tail
    if not tail:
        return head[:last]
    line = _BLANK_LINE.match(tail)
    return head + (tail[line.end() :] if line else tail)


def _titles(data: bytes) -> set[str]:
    return {part.title.casefold() for part in sections(Document.parse(data).body)}


def _sections_of(data: bytes, ids: Collection[str]) -> set[str]:
    """Return the sections that hold nothing but entries with these ids, and at least one."""
    body = Document.parse(data).body
    held = {title.casefold() for title, _ in _placed(body, ids)}
    rest = Document.parse(_without(data, ids)).body
    return held & {part.title.casefold() for part in _empty_sections(rest)}


def _is_frame(data: bytes) -> bool:
    """Return whether a log holds only headings and entries."""
    rest = _without(data, ids_in([data]))
    return all(line.startswith("#") for line in Document.parse(rest).body.split("\n") if line.strip(_BLANK))


def _lines(data: bytes) -> list[bytes]:
    return [line for line in data.split(b"\n") if line.strip()]


def reversals(git: Git, revision: str) -> list[Reversal]:
    """Return the commits of a revision or range that undo others, children before their parents."""
    fields = ("%H", f"%(trailers:key={Trailer.OP},valueonly)", f"%(trailers:key={Trailer.UNDOES},valueonly)", "%b")
    output = git.run(
        "log",
        "-z",
        "--topo-order",
        "--fixed-strings",
        f"--grep={Trailer.UNDOES}: ",
        "--grep=This reverts commit ",
        f"--format={'%x00'.join(fields)}",
        "--end-of-options",
        revision,
        "--",
    )
    texts = [field.decode("utf-8", "replace") for field in output.split(b"\0")[:-1]]
    named = {}
    for oid, op, undoes, body in zip(*(texts[start :: len(fields)] for start in range(len(fields))), strict=True):
        named[oid] = undoes.split() if op.strip() else _REVERTED.findall(body)
    full = _full(git, {name for names in named.values() for name in names})
    return [Reversal(oid, tuple(full.get(name, name) for name in names)) for oid, names in named.items()]


def commits_with(repository: Repository, trailers: Mapping[str, str], *, undone: bool) -> list[Commit]:
    """Return the commits of the branch that have all these trailers and were not undone, or were, newest first."""
    tip = repository.resolve(repository.branch())
    commits = log(repository.git, tip, trailers=trailers)
    oids = undone_commits(reversals(repository.git, tip)) if commits else {}
    return [commit for commit in commits if (commit.oid in oids) is undone]


def _full(git: Git, names: Collection[str]) -> dict[str, str]:
    """Return full ids by abbreviated ones (as of `revert.reference`), by one process."""
    short = sorted(name for name in names if _SHORT.fullmatch(name) and not is_object_id(name))
    if not short:
        return {}
    with Objects(git) as objects:
        found = objects.infos([f"{name}^{{commit}}" for name in short])
    return {name: info.oid for name, info in zip(short, found, strict=True) if info is not None}
