"""Rewrite history to remove a text, with the same result on every machine.

A commit whose files, message, author and parents do not change keeps its id; every other one is rewritten on its
rewritten parents, with its dates. git-filter-repo cannot search by digest, and rewrites refs, reflogs and work tree in
place, so a crash leaves half of them. Tested through `tests/purge/test_rewrite.py`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Protocol

from gitmem.git.fast_import import quote_path
from gitmem.git.objects import read_objects
from gitmem.git.process import Dialogue, Git
from gitmem.values import Value

_SECONDS = 3600.0
_REF = b"refs/gitmem/rewriting"  # fast-import needs a ref; this one is never created
_FILES = {b"100644", b"100755", b"120000"}
_NAMED = re.compile(rb"\b(?:[0-9a-f]{64}|[0-9a-f]{40})\b")


class Cleaner(Protocol):
    """Removes a text from contents and names."""

    def clean(self, data: bytes) -> bytes:
        """Return a content, message or user's name without the text."""

    def clean_path(self, path: bytes) -> bytes:
        """Return a path without the text."""


class CommitChange(Value):
    """A commit's change of a path against its first parent; an id is "" if there is no file."""

    path: bytes
    old_mode: bytes
    mode: bytes
    old: str
    new: str


class Written(Value):
    """A commit as it is stored, with its parents and its changes."""

    oid: str
    parents: tuple[str, ...]
    raw: bytes
    changes: tuple[CommitChange, ...]


def history(git: Git, tips: Collection[str], without: Collection[str] = ()) -> list[Written]:
    """Return the commits of `tips` that are in none of `without`, parents before their children."""
    wanted = "".join(f"{tip}\n" for tip in tips) + "".join(f"^{tip}\n" for tip in without)
    options = ("--topo-order", "--reverse", "--parents", "--ignore-missing", "--stdin")
    output = git.run("rev-list", *options, stdin=wanted.encode(), timeout=_SECONDS).decode().splitlines()
    lines = [line.split(" ") for line in output]
    raws = read_objects(git, [line[0] for line in lines])
    changes = commit_changes(git, lines)
    return [
        Written(oid, tuple(parents), raw, changes.get(oid, ()))
        for (oid, *parents), raw in zip(lines, raws, strict=True)
    ]


def commit_changes(git: Git, lines: Iterable[Sequence[str]]) -> dict[str, tuple[CommitChange, ...]]:
    """Return by id each commit's changes against its first parent; `lines` are lists of a commit and its parents."""
    wanted = "".join(" ".join(line[:2]) + "\n" for line in lines)
    options = ("--stdin", "--root", "-r", "-z", "--raw", "--no-renames", "--no-abbrev")
    output = git.run("diff-tree", *options, stdin=wanted.encode(), timeout=_SECONDS)
    by_commit: dict[str, list[CommitChange]] = {}
    commit, start, same = "", 0, dict[bytes, bytes]().setdefault
    oids = {b"0" * length: "" for length in (40, 64)}
    while start < len(output):  # intern paths, modes and ids, which repeat through a long history
        end = output.index(b"\0", start)
        token, start = output[start:end], end + 1
        if not token.startswith(b":"):
            commit = token.decode()
            continue
        end = output.index(b"\0", start)
        path, start = output[start:end], end + 1
        old_mode, mode, old, new, _ = token[1:].split(b" ")
        before, after = (oids.get(oid) or oids.setdefault(oid, oid.decode()) for oid in (old, new))
        change = CommitChange(same(path, path), same(old_mode, old_mode), same(mode, mode), before, after)
        by_commit.setdefault(commit, []).append(change)
    return {oid: tuple(changes) for oid, changes in by_commit.items()}


def contents(git: Git, commits: Iterable[Written]) -> Iterator[tuple[CommitChange, bytes, bytes]]:
    """Yield the changes by which commits first brought each content, with that content and the version before."""
    first: dict[tuple[str, bytes], CommitChange] = {}  # links apart: a search of files must meet each content
    for commit in commits:
        for change in commit.changes:
            if change.new and change.mode in _FILES:
                first.setdefault((change.new, change.mode[:3]), change)
    read = read_objects(git, [oid for change in first.values() for oid in (change.old, change.new) if oid])
    for change in first.values():
        before = next(read) if change.old else b""
        yield change, next(read), before


class Occurrences(Value):
    """Where the text occurs: contents by blob id, paths, commits with it in their text; `gone` are paths to drop."""

    blobs: dict[str, bytes]
    paths: dict[bytes, bytes]
    commits: frozenset[str]
    gone: frozenset[bytes] = frozenset()

    def __bool__(self) -> bool:
        """Return whether it occurs at all."""
        return bool(self.blobs or self.paths or self.commits or self.gone)

    def is_in(self, commit: Written) -> bool:
        """Return whether it occurs in the text of a commit, or in a file that the commit added."""
        return commit.oid in self.commits or any(
            change.new in self.blobs or change.path in self.paths or change.path in self.gone
            for change in commit.changes
        )


def find(git: Git, commits: Sequence[Written], cleaner: Cleaner) -> Occurrences:
    """Return the occurrences in some commits that a cleaner would remove."""
    changes = [change for commit in commits for change in commit.changes]
    # Versions of a file follow each other, so that fast-import stores small deltas.
    files = sorted(
        (change for change in changes if change.new and change.mode in _FILES), key=lambda change: change.path
    )
    oids = list(dict.fromkeys(change.new for change in files))
    dirty = {}
    for oid, data in zip(oids, read_objects(git, oids), strict=True):
        clean = cleaner.clean(data)
        if clean != data:
            dirty[oid] = clean
    names = {path: cleaner.clean_path(path) for path in {change.path for change in changes}}
    renamed = {path: name for path, name in names.items() if path != name}
    return Occurrences(
        dirty, renamed, frozenset(commit.oid for commit in commits if cleaner.clean(commit.raw) != commit.raw)
    )


def rewrite(
    git: Git, commits: Sequence[Written], occurrences: Occurrences, cleaner: Cleaner, *, keep_pack: bool
) -> dict[str, str]:
    """Rewrite commits; return the new id of each that changed. No ref points to them yet."""
    changed = affected(commits, occurrences)
    new: dict[str, str] = {}
    if changed:
        with _Importer(git, keep_pack=keep_pack) as importer:
            importer.write(occurrences.blobs)
            for commit in commits:
                if commit.oid in changed:
                    new[commit.oid] = importer.commit(commit, occurrences, new, cleaner)
            importer.end()
    return new


def affected(commits: Iterable[Written], occurrences: Occurrences) -> dict[str, bool]:
    """Return by id the commits that change, each with whether only it itself is the reason: no ancestor changes."""
    changed: dict[str, bool] = {}
    for commit in commits:
        inherits = not changed.keys().isdisjoint(commit.parents)
        if inherits or occurrences.is_in(commit):
            changed[commit.oid] = not inherits
    return changed


class _Importer(Dialogue):
    """A fast-import that writes commits one by one and returns their ids."""

    def __init__(self, git: Git, *, keep_pack: bool) -> None:
        sync = ("-c", "core.fsync=committed", "-c", "core.fsyncMethod=fsync")
        options = ("-c", "fastimport.unpackLimit=1") if keep_pack else ()
        super().__init__(git, *sync, *options, "fast-import", "--quiet", "--done", "--date-format=raw-permissive")
        self._marks: dict[str, bytes] = {}  # objects of an unfinished pack are known by marks only

    def end(self) -> None:
        """Finish writing, without a ref; raises GitFailedError."""
        self.send(b"reset %s\ndone\n" % _REF)
        self.output()

    def _mark(self, oid: str) -> bytes:
        """Return the mark of an object's replacement."""
        return self._marks.setdefault(oid, b":%d" % (len(self._marks) + 1))

    def write(self, contents: dict[str, bytes]) -> None:
        """Write contents, keyed by the ids of the blobs they replace."""
        for oid, data in contents.items():
            self.send(b"blob\nmark %s\ndata %d\n" % (self._mark(oid), len(data)), data, b"\n")

    def commit(self, commit: Written, occurrences: Occurrences, new: dict[str, str], cleaner: Cleaner) -> str:
        """Rewrite a commit on its rewritten parents; return its id."""
        head, _, message = commit.raw.partition(b"\n\n")
        lines = (line.partition(b" ") for line in head.split(b"\n") if not line.startswith(b" "))
        fields = {key: value for key, _, value in lines}
        message = cleaner.clean(message)
        message = _NAMED.sub(lambda name: new.get(name[0].decode(), name[0].decode()).encode(), message)
        mark = self._mark(commit.oid)
        parts = [b"commit %s\nmark %s\n" % (_REF, mark)]
        for who in (b"author", b"committer"):
            name, _, when = fields[who].rpartition(b"> ")
            name = cleaner.clean(name)
            parts.append(b"%s %s> %s\n" % (who, name if b"<" in name else b"%s <%s" % (name, name), when))
        if b"encoding" in fields:
            parts.append(b"encoding %s\n" % fields[b"encoding"])
        parts.append(b"data %d\n%s\n" % (len(message), message))
        if not commit.parents:
            parts.insert(0, b"reset %s\n" % _REF)
        for verb, parent in zip((b"from", *(b"merge",) * len(commit.parents)), commit.parents, strict=False):
            parts.append(b"%s %s\n" % (verb, self._marks.get(parent, parent.encode())))
        removed, written = list[bytes](), list[bytes]()
        for change in commit.changes:
            name = quote_path(os.fsdecode(occurrences.paths.get(change.path, change.path)))
            if not change.new or change.path in occurrences.gone:
                removed.append(b"D %s\n" % name)
            else:
                written.append(b"M %s %s %s\n" % (change.mode, self._marks.get(change.new, change.new.encode()), name))
        parts += removed + written
        self.send(*parts, b"\nget-mark %s\n" % mark)
        return self.line().strip().decode()
