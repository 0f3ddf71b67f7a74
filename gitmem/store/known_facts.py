"""Read the facts of the work tree, uncommitted edits by hand included, through a cache of headers.

The cache in the private folder has the headers of facts, concepts and bug patterns, each valid for the file's
modification time and size. Deleting it costs only time.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from zlib import crc32

from gitmem import __version__
from gitmem.document.ids import MEMORY, SHORT_LENGTH, id_in, is_id
from gitmem.errors import GitmemError
from gitmem.model.fact import BINDING, FOLDER, Fact, FactKind, FactStatus, is_fact_path, parse_fact
from gitmem.model.lines import normalized
from gitmem.platform.machine import datetime
from gitmem.platform.safe_open import enter, file_version, read_regular, replace_file
from gitmem.store.locate import KNOWN_FOLDER
from gitmem.store.store import Store
from gitmem.values import Any, Value

Late = Callable[[], bool]  # says whether the deadline has passed
Parse = Callable[[bytes, str], tuple[tuple[str, ...], Sequence[object]] | None]
_SUFFIX = ".md"
_NO_HEADER = "-"  # instead of the values of a document without a usable header
_NO_HEADER_END = f"\t{_NO_HEADER}"
_COPY_END = "\t="  # ends the line of a second file with the same id
_MAX_DOCUMENT = 1 << 17  # bytes; larger documents are not parsed while somebody waits
_ALL = 1 << 40
_MOST_KEPT = 50_000  # parsed facts that a process keeps; a cycle through more would drop each before it is used again
_FEW = 20  # new documents that are looked up one by one among the others


class Header(Value):
    """A document's path and its line of the cache, which is parsed only when asked for."""

    path: str
    line: str  # modification time, size, the parts of the key, and the values as JSON, separated by tabs

    @property
    def key(self) -> tuple[str, ...]:
        """The strings that documents are selected and sorted by; without tabs and line breaks."""
        return _key(self.line)

    def load(self) -> list[Any]:
        """Return the values that the `Parse` function returned, lists as tuples."""
        values: list[Any] = json.loads(self.line.rpartition("\t")[2])
        return [tuple(value) if isinstance(value, list) else value for value in values]

    def is_current(self, root: str) -> bool:
        """Return whether the file has the time and size it had when it was parsed."""
        try:
            return self.line.startswith(_stamp(os.lstat(f"{root}/{self.path}")))
        except OSError:
            return False


@lru_cache(maxsize=_MOST_KEPT)
def _key(line: str) -> tuple[str, ...]:
    return tuple(line.split("\t")[2:-1])


def never() -> bool:
    """Return False: there is no deadline."""
    return False


def read_headers(
    store: Store, folder: str, columns: Iterable[str], parse: Parse, *, most: int = _ALL, late: Late = never
) -> list[Header]:
    """Return the headers of the documents below a folder, by path.

    `parse` gets content and path and returns a key and values that JSON can hold, None for another kind of document.
    `columns` are the names of the values: a cache with other columns, or a damaged one, is made anew. With `most`, at
    most so many new or changed documents are parsed, and no large one. Once `late` returns True, none is parsed and
    known ones are not checked. What was left out is read by a later call. Links are not followed.
    """
    cache = _cache_of(store.private, folder)
    form = _form(columns)
    known, headers = _known(cache, form)
    kept: dict[str, str] = {}
    new = copies = 0
    for path, entry in _documents(store.documents, folder, known):
        line = known.get(path, "")
        if line.endswith(_COPY_END):  # the original may be gone
            line, copies = "", copies + 1
        if not line and new >= most:  # do not stat all of 10,000 new files
            continue
        if not line or not late():
            try:
                status = entry.stat(follow_symlinks=False)
                stamp = _stamp(status)
                if not line.startswith(stamp):
                    is_large = status.st_size > _MAX_DOCUMENT and most < _ALL
                    if new >= most or is_large or not stat.S_ISREG(status.st_mode) or late():
                        continue
                    line = stamp + _parsed(store, path, parse)
                    new += path not in known or not known[path].startswith(stamp)
            except OSError:  # removed, or unreadable for now: not cached
                continue
        kept[path] = line
    if kept == known:
        return [*headers]
    added = [path for path in kept if path not in known]
    kept = {path: kept[path] for path in sorted([*filter(kept.__contains__, known), *added])}
    names = "\n".join(kept)
    if copies or len(added) > _FEW or any(names.count(f"/{id_in(path)[:SHORT_LENGTH]}") > 1 for path in added):
        _mark_copies(store, kept)
    headers = _headers(kept, headers)
    with contextlib.suppress(OSError, ValueError):  # a missing cache only costs time
        lines = "".join(f"{path}\t{line}\n" for path, line in kept.items()).encode()
        replace_file(cache, f"{form} {crc32(lines):08x}\n".encode() + lines)
        _last[cache] = (form, file_version(cache)), kept, headers
    return [*headers]


def are_edited(store: Store) -> bool:
    """Return whether a user added, removed or replaced a fact's file since gitmem last wrote or compared facts."""
    if store.documents != store.root or not os.path.isdir(os.path.join(store.root, FOLDER)):
        return False
    return not any(_is_whole(store, file) for file in (os.path.join(store.private, "checkout"), compared_file(store)))


def notice_edits(store: Store) -> None:
    """Have all facts' headers checked again if a file was edited in place since they were read."""
    with contextlib.suppress(OSError, ValueError):  # no cache, no facts
        files = _documents(store.documents, FOLDER, {})
        newest = max(file.stat(follow_symlinks=False).st_mtime_ns for _, file in files)
        if newest > os.lstat(_cache_of(store.private, FOLDER)).st_mtime_ns:
            expire_headers(store.private)


def compared_file(store: Store) -> str:
    """Return the path of the list of facts already compared with all others, each with a digest of its words."""
    return os.path.join(store.private, KNOWN_FOLDER, "noticed")


def _is_whole(store: Store, cache: str) -> bool:
    """Return whether no fact's file came, went or was replaced since the cache was written (edits in place aside)."""
    root = os.path.join(store.documents, FOLDER)
    try:
        folders = [root, *(entry.path for entry in os.scandir(root) if entry.is_dir(follow_symlinks=False))]
        return max(os.lstat(folder).st_mtime_ns for folder in folders) < os.lstat(cache).st_mtime_ns
    except OSError:
        return False


def _cache_of(private: str, folder: str) -> str:
    return os.path.join(private, KNOWN_FOLDER, f"{folder}.tsv")


def _by_path(lines: Iterable[str]) -> dict[str, str]:
    return {path: rest for path, _, rest in (line.partition("\t") for line in lines)}


def _headers(lines: Mapping[str, str], before: Iterable[Header] = ()) -> list[Header]:
    """Return the headers in lines of the cache, in order; reuse the objects in `before` that are unchanged."""
    known = {header.path: header for header in before}
    return [
        header if (header := known.get(path)) and header.line == line else Header._make((path, line))
        for path, line in lines.items()
        if not line.endswith((_NO_HEADER_END, _COPY_END))
    ]


def _stamp(status: os.stat_result) -> str:
    """Return modification time and size as a line of the cache begins."""
    return f"{status.st_mtime_ns}\t{status.st_size}\t"


def _parsed(store: Store, path: str, parse: Parse) -> str:
    """Return the rest of a document's line of the cache: key and values."""
    try:
        data = store.read(path)
    except GitmemError:
        return _NO_HEADER
    header = None if data is None else parse(data, path)
    if header is None and data is not None and is_fact_path(path):
        from gitmem.store.fact_lines import last_versions

        last = next(last_versions(store, path), None)
        header = None if last is None else parse(last.source, path)
    if header is None:
        return _NO_HEADER
    values = json.dumps(header[1], ensure_ascii=False, separators=(",", ":"))  # JSON escapes tabs and line breaks
    return "\t".join([*(" ".join(part.split()) for part in header[0]), values])


def _mark_copies(store: Store, lines: dict[str, str]) -> None:
    """Take out all but one of the files with the same id: the one that is committed, or looks like the original."""
    by_id: dict[str, list[str]] = {}
    for path, line in lines.items():
        if not line.endswith(_NO_HEADER_END):
            by_id.setdefault(id_in(path)[:SHORT_LENGTH], []).append(path)
    doubled = [paths for identifier, paths in by_id.items() if len(paths) > 1 and is_id(identifier)]
    if not doubled:
        return
    from gitmem.git.packing import tracked_files
    from gitmem.store.entrance import rank

    tracked = {*tracked_files(store.repository.git)}
    for paths in doubled:
        original = min(paths, key=lambda path: (path not in tracked, *rank(path)))
        for path in paths:
            if path != original:
                lines[path] = "\t".join([*lines[path].split("\t")[:2], _COPY_END[1:]])


def _documents(root: str, folder: str, known: Mapping[str, str]) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield the markdown files of a folder and of the folders in it, in any order."""
    with contextlib.suppress(OSError, GitmemError), enter(root, folder.split("/")) as opened, opened.scan() as entries:
        for entry in entries:
            path = f"{folder}/{(name := entry.name)}"
            if path in known or (name.endswith(_SUFFIX) and "\t" not in name and "\n" not in name):
                yield path, entry
            elif folder.count("/") == 0 and entry.is_dir(follow_symlinks=False):
                yield from _documents(root, path, known)


def _form(columns: Iterable[str]) -> str:
    return " ".join([__version__, *columns])  # another release may derive them otherwise


# The version of a cache when it was last read or written, its lines by path, and their headers: for a process that
# lives on, as a server that asks for 5,000 of them at each request.
_last: dict[str, tuple[tuple[str, tuple[int, ...]], dict[str, str], list[Header]]] = {}


def _known(cache: str, form: str) -> tuple[dict[str, str], list[Header]]:
    """Return the lines of a cache by path, and their headers; none if it is unreadable, damaged or of another form."""
    version = form, file_version(cache)
    if cache not in _last or _last[cache][0] != version:
        known = _by_path(_lines(cache, form))
        _last[cache] = version, known, _headers(known)
    return _last[cache][1:]


def _lines(cache: str, form: str) -> list[str]:
    try:
        first, _, lines = (read_regular(cache, _ALL) or b"").partition(b"\n")
        return lines.decode().split("\n")[:-1] if first == f"{form} {crc32(lines):08x}".encode() else []
    except (OSError, ValueError):
        return []


def expire_headers(private: str) -> None:
    """Have all facts' headers checked again, since a fact was edited in place."""
    with contextlib.suppress(OSError):
        os.utime(_cache_of(private, FOLDER), (1, 1))


def known_facts(store: Store) -> list[Fact]:
    """Return the facts of the work tree, edits by hand counted, by path; only edited ones have their texts."""
    return facts_of(store, fact_headers(store))


def facts_of(store: Store, headers: Sequence[Header]) -> list[Fact]:
    """Return the facts of these headers, in order, as `known_facts` does."""
    facts = [fact_of(header) for header in headers]
    try:
        since = _written_at(store)
        memory = _stamp(os.lstat(os.path.join(store.documents, MEMORY)))
        paths = [header.path for header in headers if header.line > since] + [MEMORY] * (memory > since)
        checkout = store.recorded_checkout() if paths else None
        if checkout is None:
            return facts
        from gitmem.store.fact_lines import edited_facts

        changed = edited_facts(store, checkout, paths, facts)
    except (GitmemError, OSError):
        return facts
    return [changed.get(fact.id, fact) for fact in facts]


def _written_at(store: Store) -> str:
    """Return what a line of the cache is greater than if its file was edited since the work tree was written."""
    with contextlib.suppress(OSError):
        return f"{os.stat(os.path.join(store.private, 'checkout')).st_mtime_ns}\t~"
    return "~"


def facts_for(store: Store, shown: Collection[str], *, hurried: bool = False, most: int = _ALL) -> list[Fact]:
    """Return the facts `shown`, and those that any text may have to be marked with.

    A fact in force needs no mark if nothing contradicts it, its words never changed and it applies to the whole
    project. So of 10,000 facts only the others and their successors are parsed. `hurried` also leaves out facts of a
    time, a branch, a commit or a part of the project. Without a usable cache, at most `most` files are parsed.
    """
    cache = _cache_of(store.private, FOLDER)
    lines = _lines(cache, _form(_COLUMNS)) if _is_whole(store, cache) else []
    chosen = _not_plain(lines, shown, _PLAIN + _PLACED * hurried)
    if lines and not hurried:
        since = _written_at(store)
        chosen += [line for line in lines if line.partition("\t")[2] > since]  # edited by hand, not committed
    headers = _headers(_by_path(chosen))
    if not lines or any(_id_in(header.path) in shown and not header.is_current(store.documents) for header in headers):
        return facts_of(store, fact_headers(store, most))
    facts = [fact_of(header) for header in headers]
    linked = {linked_id for fact in facts for linked_id in (fact.superseded_by, *fact.review) if linked_id}
    ended = {_digest(fact.description) for fact in facts if fact.status not in BINDING}
    if linked or ended:  # a successor, or the same words in another fact
        plain = (line for line in lines if line[_STATE] != _OTHER)
        more = [line for line in plain if line[_WORDS] in ended or (linked and _id_in(line) in linked)]
        headers += [header for header in _headers(_by_path(more)) if header not in headers]
    return facts_of(store, headers)


def facts_at(store: Store, fits: Callable[[str], bool]) -> list[Fact]:
    """Return the facts whose paths fit, as `known_facts` does."""
    return facts_of(store, choose_headers(store, lambda headers: [header for header in headers if fits(header.path)]))


def choose_headers(
    store: Store, choose: Callable[[Sequence[Header]], list[Header]], most: int = _ALL, late: Late = never
) -> list[Header]:
    """Return the headers of facts that `choose` selects; if no file came or went, check only theirs for edits."""
    cache = _cache_of(store.private, FOLDER)
    if _is_whole(store, cache) and (known := _known(cache, _form(_COLUMNS))[1]):
        chosen = choose(known)
        if all(header.is_current(store.documents) for header in chosen):
            return chosen
    return choose(fact_headers(store, most, late))


# The line of a fact in the cache ends with its state and the digest of its words: `u0123abcd"]`.
_STATE, _WORDS = -11, slice(-10, -2)
# The states: `u`, unchanged, linked to no other fact, and of the whole project; `p`, the same but of a time, a branch,
# a commit or a part of the project; `o`, any other.
_PLAIN, _PLACED, _OTHER = "upo"


def _state(fact: Fact) -> str:
    links = (fact.review, fact.updated, fact.supersedes, fact.superseded_by)
    if any(links) or fact.status is not FactStatus.ACTIVE:
        return _OTHER
    return _PLACED if fact.branch or fact.commit or fact.lines or fact.scope or fact.until else _PLAIN


def _digest(description: str) -> str:
    """Return eight digits for the words of a fact; other words seldom get the same ones, which only costs time."""
    return f"{crc32(normalized(description).encode('utf-8', 'replace')):08x}"


def _not_plain(lines: Iterable[str], shown: Collection[str], plain: str) -> list[str]:
    """Return the lines of facts that are `shown`, or whose state is not among the `plain`.

    One expression for all, without a call for each: of 10,000 lines nearly none is returned.
    """
    from_kind, size = len(FOLDER) + 1, SHORT_LENGTH
    return [
        line
        for line in lines
        if line[_STATE] not in plain or line[(start := line.find("/", from_kind) + 1) : start + size] in shown
    ]


def _id_in(path: str) -> str:
    """Return the id in the path of a fact, or in a line of the cache, which begins with the path."""
    start = path.find("/", len(FOLDER) + 1) + 1
    return path[start : start + SHORT_LENGTH]


def fact_headers(store: Store, most: int = _ALL, late: Late = never) -> list[Header]:
    """Return the headers of facts, with status, kind, time as key; `most` and `late` as in `read_headers`."""
    return read_headers(store, FOLDER, _COLUMNS, _header, most=most, late=late)


@lru_cache(maxsize=_MOST_KEPT)
def fact_of(header: Header) -> Fact:
    """Return the fact of a header, without its text."""
    values = dict(zip(_CACHED, header.load(), strict=False))  # behind them its state and the digest of its words
    values |= {"kind": _KINDS[values["kind"]], "status": _STATUSES[values["status"]]}
    values |= {name: datetime.fromisoformat(values[name]) for name in _TIMES if values[name]}
    return Fact(**values, text="", file=header.path, source=b"")


_KINDS, _STATUSES = {kind.value: kind for kind in FactKind}, {status.value: status for status in FactStatus}
_CACHED = [name for name in Fact._fields if name not in {"text", "file", "source"}]
_COLUMNS = (*_CACHED, "state")
_TIMES = ("created", "updated")


def _header(data: bytes, path: str) -> tuple[tuple[str, ...], Sequence[object]] | None:
    fact = parse_fact(data, path)
    if fact is None:
        return None
    fields = fact._asdict()
    fields["description"] = fact.description or fact.text.split("\n\n")[0][:200].replace("\n", " ")
    end = _state(fact) + _digest(fields["description"])
    fields |= {name: fields[name] and fields[name].isoformat() for name in _TIMES}
    key = (fact.status, fact.kind, fact.when.isoformat(), "pinned" * fact.pinned)
    return key, [*(fields[name] for name in _CACHED), end]
