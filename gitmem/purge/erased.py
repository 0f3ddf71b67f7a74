"""Find what the authors and sessions named in a purge record contributed (docs/teams.md, "Leaving").

The record has fingerprints of their keys instead of names. Each machine searches its own history for the entries, files
and lines that their commits added first. Entries and files are dropped, lines are purged wherever others repeat them. A
session's lines stay if another session has them as well. Tested through `tests/purge/test_erase.py`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import chain

from gitmem.document.document import Document
from gitmem.document.entry import find_entries
from gitmem.document.message import Op, Trailer
from gitmem.git.process import Git
from gitmem.git.rewrite import Written, contents
from gitmem.purge.record import PurgeRecord, Replacer, digest_of, sums_of
from gitmem.values import Value

_SHORTEST = 16  # bytes of a line; shorter lines are not removed where others repeat them
_OF_ONE = (b"facts/", b"sessions/", b"episodes/")  # folders whose files have one author
_SHARED = (b"patterns/bugs/", b"concepts/")  # folders whose files have one author unless another changed them
AUTHOR = re.compile(rb"(?m)^author ([^<\n]*) <([^>\n]*)> ([0-9]+) ")
_SESSION = re.compile(rb"(?m)^%s: (.+)$" % Trailer.SESSION.value.encode())
_SAVED = re.compile(rb"(?m)^%s: %s$" % (Trailer.OP.value.encode(), Op.SAVE.value.encode()))
_OWN = re.compile(rb"(?m)^%s: (?:%s|%s)$" % tuple(word.value.encode() for word in (Trailer.OP, Op.PURGE, Op.INIT)))
# The parts of a line that are not its words: list marks, an entry's time, label, tags and id.
_PLAIN = re.compile(r"^(?:[>*+ \t-]|[0-9]+[.)] )*(?:\[[0-9: -]+\] )?(?:\*\*[^*]+\*\*(?: #[^\s:]+)*: ?)?| \^[0-9a-z]+$")


def author_key(email: str) -> bytes:
    """Return the key of an author; a record has its fingerprint."""
    return f"author {email.lower()}".encode("utf-8", "surrogateescape")


def session_key(session: str) -> bytes:
    """Return the key of a session; a record has its fingerprint."""
    return f"session {session}".encode("utf-8", "surrogateescape")


class Erased(Value):
    """What to remove: entries by id, files by path, texts wherever they occur; and how many commits added it."""

    ids: frozenset[str] = frozenset()
    paths: frozenset[bytes] = frozenset()
    texts: frozenset[bytes] = frozenset()
    commits: int = 0


def is_named(record: PurgeRecord, key: bytes) -> bool:
    """Return whether a record names the author or session with this key."""
    sums = sums_of(key)
    alike = [fingerprint for fingerprint in record.whose if (fingerprint.length, fingerprint.sums) == (len(key), sums)]
    return bool(alike) and digest_of(key, record.salt) in {fingerprint.digest for fingerprint in alike}


def find_erased(git: Git, walked: Sequence[Written], records: Iterable[PurgeRecord]) -> Erased:
    """Return what commits of the named authors and sessions added, up to the time of the record.

    For a part of history the result is too large, since only all of history shows who added a line first.
    """
    named = [record for record in records if record.whose]
    if not named:
        return Erased()
    known: dict[bytes, list[float]] = {}

    def until(key: bytes) -> list[float]:
        if key not in known:
            naming = [record for record in named if is_named(record, key)]
            known[key] = [datetime.fromisoformat(record.created).timestamp() for record in naming]
        return known[key]

    theirs, others, texts = dict[str, bool](), set[str](), set[bytes]()
    for commit in walked:
        head, _, message = commit.raw.partition(b"\n\n")
        if not (who := AUTHOR.search(head)):
            continue
        sessions = [session_key(match.decode("utf-8", "surrogateescape")) for match in _SESSION.findall(message)]
        own = until(author_key(who[2].decode("utf-8", "surrogateescape")))
        if not any(int(who[3]) <= limit for limit in (*own, *chain.from_iterable(map(until, sessions)))):
            others |= {commit.oid} if sessions or _SAVED.search(message) else set()
            continue
        if own:
            texts |= {who[2], b"%s <%s" % (who[1], who[2])}
        if not _OWN.search(message):
            theirs[commit.oid] = bool(own)
    return _brought(git, walked, theirs, others, texts)


def _brought(
    git: Git, walked: Sequence[Written], theirs: Mapping[str, bool], saying: Collection[str], texts: set[bytes]
) -> Erased:
    """Return what the commits in `theirs` added first; their value is True if the author is named, not only a session.

    A session's lines stay if the commits in `saying` have them as well.
    """
    first: dict[str, str] = {}
    for commit in walked:
        for change in commit.changes:
            first.setdefault(change.new, commit.oid)
    ids, seen, others, kept, of_session = set[str](), set[str](), set[bytes](), set[bytes](), set[bytes]()
    for commit in walked:
        message = _lines(commit.raw.partition(b"\n\n")[2].split(b"\nGitmem-")[0])
        if commit.oid in theirs:
            (texts if theirs[commit.oid] else of_session).update(message)
        elif commit.oid in saying:
            kept |= message
    for change, data, before in contents(git, walked):
        commit_id, is_md = first[change.new], change.path.endswith(b".md")
        lines = set() if change.path.endswith(b".jsonl") else _lines(data) - _lines(before) - others
        text = data.decode("utf-8", "replace") if is_md else ""
        entries = {entry.entry.id: text[entry.start : entry.end] for entry in find_entries(text)}
        if commit_id in theirs:
            ids |= entries.keys() - seen
            (texts if theirs[commit_id] else of_session).update(lines)
        elif is_md:
            others |= lines - texts - of_session
        if commit_id in saying:
            kept.update(*(_lines(entry.encode()) for key, entry in entries.items() if key not in ids))
            kept |= lines if change.path.startswith(_OF_ONE + _SHARED) else set()
        seen |= entries.keys()
    return Erased(frozenset(ids), _own_paths(walked, theirs), frozenset(texts | _unsaid(of_session, kept)), len(theirs))


def _own_paths(walked: Sequence[Written], theirs: Collection[str]) -> frozenset[bytes]:
    """Return the files that commits in `theirs` added below `_OF_ONE`, or below `_SHARED` if no other changed them."""
    oids: dict[bytes, str] = {}
    for commit in walked:
        for change in commit.changes:
            if not change.old:
                oids.setdefault(change.path, commit.oid)
    plain = (commit for commit in walked if commit.oid not in theirs and len(commit.parents) <= 1)
    others_paths = {change.path for commit in plain for change in commit.changes}
    own = ((path, path.startswith(_SHARED) and path not in others_paths) for path, oid in oids.items() if oid in theirs)
    return frozenset(path for path, alone in own if alone or path.startswith(_OF_ONE))


def _unsaid(texts: Collection[bytes], lines: Collection[bytes]) -> set[bytes]:
    """Return the texts that occur in none of the lines."""
    every = Replacer(texts)
    unsaid = b"\n".join(line for line in lines if every.matches(line))
    return {text for text in texts if not Replacer([text]).matches(unsaid)}


def _lines(data: bytes) -> set[bytes]:
    """Return the words of lines long enough to be distinctive, without a document's header and headings."""
    body = Document.parse(data).body if data.startswith(b"---") else data.decode("utf-8", "surrogateescape")
    lines = {_PLAIN.sub("", line.strip()) for line in body.split("\n") if not line.startswith("#")}
    return {text for line in lines if len(text := line.encode("utf-8", "surrogateescape")) >= _SHORTEST}
