"""Whose a memory is: the author, machine, agent and manner of the first commit that brought it (spec U8).

An index in the private folder maps the ids of memories, and the paths of documents without one, to such origins. It is
made from history and can be deleted at any time. An origin never changes: a later commit with the same id does not
replace it, whatever its date.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from enum import StrEnum
from functools import cached_property

from gitmem.document.entry import find_entries
from gitmem.document.ids import BUGS, ID_FORM, MEMORY, digest
from gitmem.document.message import Op, Trailer, one_line
from gitmem.errors import BusyError, GitmemError, UnfinishedError
from gitmem.platform.safe_open import read_regular, read_text, replace_file
from gitmem.text.terminal import plain
from gitmem.values import TYPE_CHECKING, Value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from gitmem.git.objects import Objects
    from gitmem.store.store import Store


_FILE = os.path.join("known", "origins")
_ASKED = os.path.join("known", "origins.asked")  # a background process was started; it deletes the file at its end
_VERSION = "origins 11"
_EMPTY = f"{_VERSION}\n\n\n@\n".encode()
_CHANGED = "\x02"  # before an id: who else changed its file or entry; no listed path begins so
_AGAIN = "\x03"  # before the id of an entry that a commit adds: a change of it if an earlier commit brought it
_MADE = "\x04"  # before a path: the authors of the words it was composed of, each a line
_CLAIM = "\x05"  # before the digest of a claim: a statement of a bug pattern about an exchange
_COUNTS = "\x06"  # before the path of a file of counts: each author a line
_DIGITS = 20  # of the digest of a claim
_COMPOSES = (Op.CONSOLIDATE, Op.ROTATE, Op.SUMMARIZE)
# Operations of gitmem that change neither bug patterns nor counts.
_TEACHES_NOTHING = {
    *(Op.SAVE, Op.TURN, Op.EXTRACT, Op.EXCHANGES, Op.FACT, Op.CONCEPT, Op.ROTATE, Op.SUMMARIZE, Op.CONSOLIDATE)
}
_OTHER_FOLDERS = {"daily", "weekly", "monthly", "archive", "counts", "purged"}  # their files are of many authors
_ARE_MADE = ("weekly/", "monthly/", "archive/", "summaries/")
_HEAD = "\n- ["  # begins an entry, and stands in none
_OF_ENTRIES = ("memory.md", "daily/", "weekly/", "monthly/", "archive/", "sessions/")
_BRINGS = (Trailer.ENTRY, Trailer.FACT, Trailer.CONCEPT, Trailer.PATTERN, Trailer.EPISODE)
_FIELDS = ("%H", "%an", "%ae", "%(trailers:only,unfold)")
_ID = re.compile(ID_FORM)
_NAMED = re.compile(rf"(?:^|/)({ID_FORM})[-.]")
_LENGTH = 80  # characters of a name
_MANY = 50  # ids that are looked for one by one
_SECONDS = 300.0  # for all of history, in the background
_A_SECOND = 10_000_000  # bytes of entries that are surely read in one
_PATIENCE = 0.8  # seconds, twice at most, that a hook or a command waits for the files of all commits by others
_LATE = "The authors of entries in others' commits could not be looked up in time."
UNKNOWN = "an author not looked up yet"
BEFORE = "an earlier author"  # in a shallow clone, which does not know them


class How(StrEnum):
    """How a memory came."""

    SESSION = "from a session"
    AGENT = "saved by the agent"
    COMMAND = "saved by hand"
    MODEL = "by a model"
    IMPORT = "imported"
    EDIT = "edited by hand"


class Origin(Value):
    """The first commit with a memory: its author, and as its trailers say machine and agent ("": unknown)."""

    author: str
    email: str
    machine: str
    host: str
    how: How

    def __str__(self) -> str:
        """Return whose it is, for a line of text."""
        where = f"on {self.machine}" if self.machine else ""
        agent = f"with {self.host}" if self.host not in {"", "cli"} else ""
        return ", ".join(filter(None, (f"by {self.author}", where, agent, self.how)))


class People:
    """Answers whose memories are: those of the person at this machine, or those of others.

    The index is brought up to the store's tip first, unless that takes longer than `seconds`.
    """

    def __init__(self, store: Store, seconds: float = _PATIENCE) -> None:
        self._store, self._seconds = store, seconds

    @cached_property
    def _index(self) -> _Index:
        return _index(self._store, self._seconds)

    def origin(self, identifier: str) -> Origin | None:
        """Return a memory's origin, None if no commit brought it yet."""
        return next(iter(self.makers(identifier)), None)

    def makers(self, identifier: str) -> list[Origin]:
        """Return the origins of a claim (`claim_id`), or of all changes of a file of counts (`counts_id`)."""
        return [self._index.origins[number] for number in self._index.numbers(identifier)]

    def other(self, identifier: str) -> str:
        """Return the name of the author if that is not the person, else ""."""
        origin = self.origin(identifier)
        if origin is None:
            return "" if self._index.is_complete else UNKNOWN
        if self.is_own(origin):
            return ""
        name = plain(origin.author).strip()  # one that shows as nothing, or as the person's, is told with the address
        is_clear = name.casefold() not in {"", "you", "me", self._index.person[1]}
        return origin.author if is_clear else f"{name} <{origin.email}>"

    def whose(self, entry: str, path: str = "") -> str:
        """Return the author of an entry, else of a file, as `other` does; for the person's own, who else changed it."""
        if self.are_alone:
            return ""
        identifier = entry or _identifier(path) or path
        if name := self.other(identifier):
            return name
        name = self.other(_CHANGED + identifier)
        if name not in {"", UNKNOWN}:
            return f"you, changed by {name}"
        made = [] if entry else self.makers(_MADE + path)
        names = dict.fromkeys(
            plain(origin.author).strip() or origin.email for origin in made if not self.is_own(origin)
        )
        return f"you, from {', '.join(names)}" if names else ""

    @cached_property
    def are_alone(self) -> bool:
        """Whether all that history brought is the person's own."""
        return self._index.is_complete and all(map(self.is_own, self._index.origins))

    def is_own(self, origin: Origin, *, gitmem: bool = True) -> bool:
        """Return whether an author is the person, as git named it when the index was written, or gitmem itself."""
        return self._store.is_person(origin.author, origin.email, gitmem=gitmem, address=self._index.person[0])


def claim_id(pattern: str, *claim: str) -> str:
    """Return the key of the index for a claim (`gitmem.lessons.pattern.claims`) of the bug pattern with this id."""
    return _CLAIM + digest(pattern, *claim).hex()[:_DIGITS]


def counts_id(path: str) -> str:
    """Return the key of the index for a file of counts."""
    return _COUNTS + path


def _index(store: Store, seconds: float) -> _Index:
    """Return the index, brought up to the store's tip.

    If that would take long, return it as it was, and have a background process bring it there.
    """
    path = os.path.join(store.private, _FILE)
    old = _Index(_load(path), store.context.home)
    try:
        tip = store.tip or ""
    except UnfinishedError:  # the person is in the middle of a merge
        return old
    old.is_complete = old.tip == tip
    if old.is_complete or (seconds < _SECONDS and _is_looked_up(store)):
        return old
    try:
        try:
            new = _extended(store, old, f"{old.tip}..{tip}" if old.tip else tip, tip, seconds)
        except GitmemError:
            if not old.tip:
                raise
            new = _extended(store, _Index(_EMPTY, ""), tip, tip, seconds)  # the old tip is gone, as after a purge
    except GitmemError:
        if seconds < _SECONDS:
            with contextlib.suppress(OSError):
                replace_file(os.path.join(store.private, _ASKED), b"")
            store.start("reindex", "--background")
        return old
    with contextlib.suppress(OSError):
        replace_file(path, new)
    return _Index(new, store.context.home, is_complete=True)


def _is_looked_up(store: Store) -> bool:
    """Return whether a background process was started lately that brings the index up to the tip."""
    try:
        return abs(time.time() - os.stat(os.path.join(store.private, _ASKED)).st_mtime) < _SECONDS
    except OSError:
        return False


def look_up_all(store: Store) -> None:
    """Bring the index up to the store's tip, however long that takes, unless another process is at it."""
    folder = os.path.join(store.private, os.path.dirname(_FILE))
    with contextlib.suppress(BusyError, OSError):
        os.makedirs(folder, 0o700, exist_ok=True)
        with store.folder_lock(folder, "origins").acquire(0):
            _index(store, _SECONDS)
        os.unlink(os.path.join(store.private, _ASKED))


def _load(path: str) -> bytes:
    try:
        data = read_regular(path, 1 << 30) or b""
    except OSError:
        return _EMPTY
    return data if data.startswith(f"{_VERSION}\n".encode()) and data.endswith(b"\n") and b"\n@\n" in data else _EMPTY


class _Index:
    """The file of origins; `is_complete` if it has all that the store's tip has.

    Its lines: its version, the tip, the person's address, home and name, each origin, `@`, each id with the number of
    its origin. The person is in it so that hooks need not ask git; under another `home` it may be another person. A
    search for one id takes a millisecond in a large index, so for many a table is made.
    """

    def __init__(self, data: bytes, home: str, *, is_complete: bool = False) -> None:
        self._start = data.find(b"\n@\n") + 2  # an author may be called like a path
        self._data, self._asked, self.is_complete = data, 0, is_complete
        self._table: dict[str, list[int]] = {}
        _, self.tip, person, *self.lines = data[: self._start - 2].decode("utf-8", "replace").split("\n")
        address, of, name = person.split("\t") if person else ("", "", "")
        self.person = (address, name) if of == home else ("", "")
        parts = (line.split("\t") for line in self.lines)
        self.origins = [Origin(who, email, where, host, How(how)) for who, email, where, host, how in parts]

    @property
    def ids(self) -> bytes:
        """Return the lines of ids."""
        return self._data[self._start + 1 :]

    def numbers(self, identifier: str) -> Iterable[int]:
        """Return the numbers of the origins of an id or path, in the order of the lines."""
        listed = identifier.encode("utf-8", "surrogateescape").decode("utf-8", "replace")  # a path may be no UTF-8
        self._asked += 1
        if self._asked > _MANY and not self._table:
            for line in self.ids.decode().split("\n")[:-1]:
                name, _, number = line.rpartition("\t")
                self._table.setdefault(name, []).append(int(number))
        return self._table.get(listed, ()) if self._table else self._search(f"\n{listed}\t".encode())

    def _search(self, line: bytes) -> Iterator[int]:
        place = self._start - 1
        while (place := self._data.find(line, place + 1)) >= 0:
            start = place + len(line)
            yield int(self._data[start : self._data.index(b"\n", start)])


def _extended(store: Store, old: _Index, revisions: str, tip: str, seconds: float) -> bytes:
    """Return the file of an index, extended by what further commits brought."""
    origins = {line: number for number, line in enumerate(old.lines)}
    added: dict[str, list[int]] = {}
    has_others = any(not store.is_person(*line.split("\t")[:2]) for line in origins)

    def known(identifier: str) -> list[int]:
        return [*old.numbers(identifier), *added.get(identifier, [])]

    for brought, origin, sources in _brought(store, revisions, seconds, has_others=has_others) if tip else ():
        identifier = brought.replace(_AGAIN, _CHANGED)
        number = origins.setdefault("\t".join(origin._asdict().values()), len(origins))
        if sources:
            words = {number for source in sources for number in known(source)}
            added.setdefault(identifier, []).extend(sorted(words.difference(known(identifier))))
        elif brought.startswith(_COUNTS):
            added.setdefault(identifier, []).extend({number}.difference(known(identifier)))
        elif not known(identifier) and (identifier == brought or known(identifier[1:])):
            added[identifier] = [number]
    lines = "".join(f"{identifier}\t{number}\n" for identifier, numbers in added.items() for number in numbers)
    identity = store.identity().result()
    name = one_line(identity.name, _LENGTH).casefold()
    person = f"{one_line(identity.email, _LENGTH)}\t{store.context.home}\t{name}"
    return "\n".join([_VERSION, tip, person, *origins, "@\n"]).encode() + old.ids + lines.encode()


class _Commit(Value):
    """A commit: the ids that its trailers name, its origin, its operation, and the archive that it is about.

    `is_by_git` if gitmem wrote no operation into it; `is_persons` without gitmem's own commits, which are not foreign.
    """

    oid: str
    ids: Sequence[str]
    origin: Origin
    op: str
    archive: str
    is_by_git: bool
    is_foreign: bool
    is_persons: bool


def _commits(store: Store, revisions: str, seconds: float) -> list[_Commit]:
    """Return commits, the oldest first."""
    options = ("-z", "--reverse", "--topo-order", "--format=" + "%x00".join(_FIELDS))
    output = store.repository.git.run("log", *options, "--end-of-options", revisions, "--", timeout=seconds)
    fields = output.decode("utf-8", "replace").split("\0")
    cut = read_text(os.path.join(store.repository.layout.common_dir, "shallow")).split()
    found = []
    for place in range(0, len(fields) - 1, len(_FIELDS)):
        oid, name, email, text = fields[place : place + len(_FIELDS)]
        trailers = [line.partition(": ")[::2] for line in text.split("\n") if ": " in line]
        ids = [value for key, value in trailers if key in _BRINGS and _ID.fullmatch(value)]
        if oid in cut:  # the cut of a shallow clone: it has all files, but did not bring them
            name, email, trailers = BEFORE, "", []
        last = dict(trailers)
        commit = _Commit(
            oid=oid,
            ids=ids,
            origin=_origin(name, email, dict(reversed(trailers))),
            op=last.get(Trailer.OP, ""),
            archive=last.get(Trailer.ARCHIVE, ""),
            is_by_git=not any(key == Trailer.OP and value != Op.EDIT for key, value in trailers),
            is_foreign=not store.is_person(name, email),
            is_persons=store.is_person(name, email, gitmem=False),
        )
        found.append(commit)
    return found


def _brought(
    store: Store, revisions: str, seconds: float, *, has_others: bool
) -> Iterator[tuple[str, Origin, Sequence[str]]]:
    """Yield the ids of memories that commits brought, oldest commit first, each with its origin.

    Also yield the files that the person's own commits composed, each with the ids and paths it was made of, if there
    are commits of others: `has_others` says whether earlier ones are.
    """
    end = time.monotonic() + seconds
    commits = _commits(store, revisions, seconds)
    foreign = {one.oid for one in commits if one.is_foreign}
    # Trailers do not tell what a commit of git adds, and those of another author may conceal it.
    read = foreign | {one.oid for one in commits if one.is_by_git and not one.ids}
    teaching = {one.oid for one in commits if one.op not in _TEACHES_NOTHING or not one.is_persons}
    composing = {one.oid: one.archive for one in commits if one.op in _COMPOSES and not one.is_foreign}
    changed = _changed(store, read, foreign, end) if read else {}
    claimed = _claimed(store, teaching, end) if teaching else {}
    composed = _composed(store, composing, end) if composing and (has_others or foreign) else {}
    for commit in commits:
        files = changed.get(commit.oid, ())
        named = [one for one in commit.ids if _CHANGED + one not in files]  # a commit did not bring what it changed
        for identifier in dict.fromkeys((*files, *named, *claimed.get(commit.oid, ()))):
            yield identifier, commit.origin, ()
        made, sources = composed.get(commit.oid, ((), ()))
        for path in made:
            yield _MADE + path, commit.origin, sources


def _origin(name: str, email: str, trailers: Mapping[str, str]) -> Origin:
    op = trailers.get(Trailer.OP, "")
    if trailers.get(Trailer.MODEL):
        how = How.MODEL
    elif trailers.get(Trailer.MIGRATED) or op in {Op.MIGRATE, Op.ADOPT}:
        how = How.IMPORT
    elif op in {"", Op.EDIT}:
        how = How.EDIT
    elif op == Op.SAVE:
        how = How.AGENT if trailers.get(Trailer.SESSION) else How.COMMAND
    else:
        how = How.SESSION
    values = (name, email, trailers.get(Trailer.MACHINE, ""), trailers.get(Trailer.HOST, ""))
    author, address, machine, host = (one_line(value, _LENGTH) for value in values)
    return Origin(author, address, machine, host, how)


def _changed(store: Store, commits: Collection[str], foreign: Collection[str], end: float) -> dict[str, list[str]]:
    """Return by commit the files it added, and for commits of others also the files and entries they changed.

    An entry that only moved to another file is not changed. A merge changes what differs from all its parents.
    """
    found: dict[str, list[str]] = {}
    with store.repository.reading() as objects:

        def parts(oids: Iterable[str]) -> set[str]:
            texts = (data.decode("utf-8", "replace") for data in _read(objects, oids, end))
            return {part for text in texts for part in f"\n{text}".split(_HEAD)}

        def entries(of: Iterable[str]) -> set[tuple[str, str, str]]:
            found = (entry.entry for part in of for entry in find_entries(_HEAD + part))
            return {(entry.id, entry.label, entry.text) for entry in found}

        for oid, files in _files(store, commits, "combined", end).items():
            found[oid] = [named for one in files if one.letter == "A" and (named := _identifier(one.path))]
            if oid not in foreign:
                continue
            logs = [file for file in files if file.is_file and file.path.startswith(_OF_ENTRIES)]
            was, is_now = parts(blob for one in logs for blob in one.before), parts(one.after for one in logs)
            old = entries(was - is_now)
            known = {one[0] for one in old}
            new = {one[0]: one[0] in known for one in entries(is_now - was) - old}
            changed = [_CHANGED + named for one in files if one.letter == "M" and (named := _identifier(one.path))]
            changed += [(_CHANGED if is_known else _AGAIN) + one for one, is_known in new.items()]
            found[oid] = changed + [one for one, is_known in new.items() if not is_known] + found[oid]
            gone = _other_lines(was - is_now)
            for file in logs:
                path, is_new = file.path, file.letter == "A" and file.path != MEMORY
                if path.isprintable() and not _identifier(path) and _other_lines(parts([file.after]) - was) - gone:
                    found[oid].append(path if is_new else _CHANGED + path)
    return found


def _composed(store: Store, commits: Mapping[str, str], end: float) -> dict[str, tuple[Sequence[str], Sequence[str]]]:
    """Return by commit the files it composed, and the ids and paths of their sources."""
    found: dict[str, tuple[Sequence[str], Sequence[str]]] = {}
    with store.repository.reading() as objects:
        for oid, files in _files(store, commits, "first-parent", end).items():
            archive = commits[oid]
            gone = {file.path: file.before[0] for file in files if file.letter == "D"}
            left = (file.path for file in files if file.letter != "D")
            made = [path for path in left if path.startswith(_ARE_MADE) and path.isprintable()]
            read = [f"{oid}:{archive}"] if any(path != archive for path in made) and archive else [*gone.values()]
            texts = [data.decode("utf-8", "replace") for data in _read(objects, read, end)]
            ids = [entry.entry.id for text in texts for entry in find_entries(text)]
            paths = [MEMORY] if archive in made else [archive] if archive else [*gone]
            found[oid] = made, [*ids, *(mark + path for path in paths for mark in ("", _CHANGED, _MADE))]
    return found


def _claimed(store: Store, commits: Collection[str], end: float) -> dict[str, list[str]]:
    """Return by commit the claims that it brought into bug patterns, and the files of counts that it changed."""
    from gitmem.lessons.pattern import claims, parse_pattern

    found: dict[str, list[str]] = {}
    with store.repository.reading() as objects:

        def claims_in(oids: Iterable[str]) -> set[str]:
            patterns = filter(None, map(parse_pattern, _read(objects, oids, end)))
            return {claim_id(pattern.id, *claim) for pattern in patterns for claim in claims(pattern)}

        for oid, files in _files(store, commits, "combined", end, BUGS, "counts").items():
            bugs = [file for file in files if file.path.startswith(BUGS)]
            new = claims_in(one.after for one in bugs) - claims_in(blob for one in bugs for blob in one.before)
            counts = (file.path for file in files if file not in bugs and file.path.isprintable())
            found[oid] = [*sorted(new), *map(counts_id, counts)]
    return found


def _read(objects: Objects, oids: Iterable[str], end: float) -> Iterator[bytes]:
    """Yield the objects that exist. Raises GitmemError if reading them would take too long."""
    named = [oid for oid in oids if oid.strip("0")]
    if sum(objects.sizes(named)) > (end - time.monotonic()) * _A_SECOND:
        raise GitmemError(_LATE)
    yield from objects.existing(named)


def _other_lines(parts: Iterable[str]) -> set[str]:
    """Return the lines of parts of a log, without entries that have an id, headings and the file's header."""
    texts = (_HEAD + part if part[:1] != "\n" else part for part in parts)
    texts = (text.split("\n---\n", 2)[-1] if text.startswith("\n---\n") else text for text in texts)
    rests = (text[entries[-1].end :] if (entries := find_entries(text)) else text for text in texts)
    return {line for rest in rests for line in rest.split("\n") if line.strip() and not line.startswith("#")}


class _File(Value):
    """A path that a commit changed: its blobs in the parents and the commit, and the change's letter if all agree."""

    path: str
    before: Sequence[str]
    after: str
    letter: str
    is_file: bool


def _files(store: Store, commits: Collection[str], merges: str, end: float, *paths: str) -> dict[str, list[_File]]:
    """Return the files that commits changed."""
    output = store.repository.git.run(
        *("log", "-z", f"--diff-merges={merges}", "--no-walk=unsorted", "--stdin", "--format=%x00%H", "--raw"),
        *("--no-abbrev", "--no-renames", "--diff-filter=ADM", "--", *paths),
        stdin="".join(f"{oid}\n" for oid in commits).encode(),
        timeout=max(end - time.monotonic(), 0),
    )
    found: dict[str, list[_File]] = {}
    fields = (field.strip("\n") for field in output.decode("utf-8", "replace").split("\0"))
    files: list[_File] = []
    for field in fields:
        if field.startswith(":"):
            *objects, letters = field.lstrip(":").split()  # the modes of parents and commit, their blobs
            letter, is_file = letters[: len({*letters}) == 1], not {"120000", "160000"}.intersection(objects)
            files.append(_File(next(fields), objects[len(objects) // 2 : -1], objects[-1], letter, is_file))
        elif field:
            files = found[field] = []
    return found


def _identifier(path: str) -> str:
    """Return the id in a file's name, else the path of a document, "" for a file that has many authors."""
    if match := _NAMED.search(path):
        return match[1]
    folder = path.partition("/")[0]
    return path if folder != path and folder not in _OTHER_FOLDERS and path.isprintable() else ""
