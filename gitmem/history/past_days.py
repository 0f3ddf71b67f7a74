"""Copies of days that consolidation took out of the tree (docs/memory.md, "Tiers"), and searches of history.

The copies are in the private folder and can be deleted at any time: the background of a hook makes them again. Tested
through `tests/archive/test_days.py` and `tests/search/test_sources.py`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from gitmem.document.entry import find_entries
from gitmem.document.ids import tail_of
from gitmem.document.message import Op, Trailer
from gitmem.git.repository import is_object_id
from gitmem.platform.machine import date
from gitmem.platform.safe_open import drop_file, read_regular, read_text, replace_file
from gitmem.values import TYPE_CHECKING, Value

if TYPE_CHECKING:
    from gitmem.git.log import Commit
    from gitmem.store.store import Store


FOLDER = "days"
NAME = r"([0-9]{4}-[0-9]{2}-[0-9]{2})\.([0-9a-f]{40,64})\.md"


class KeptDay(Value):
    """The last version of a day's log: the day, and a commit that contains it."""

    day: str
    commit: str

    @property
    def name(self) -> str:
        """Return the name of the copy, in `FOLDER`."""
        return f"{self.day}.{self.commit}.md"

    @property
    def path(self) -> str:
        """Return the path of the log in the commit."""
        return f"daily/{self.day[:4]}/{self.day[5:7]}/{self.day}.md"


def kept_days(private: str, documents: Collection[str] | None) -> list[KeptDay]:
    """Return the kept days whose week or month is in `documents` (None: all), so none that a user cleared."""
    try:
        names = sorted(os.listdir(os.path.join(private, FOLDER)))
    except OSError:
        return []
    days = [KeptDay(match[1], match[2]) for name in names if (match := re.fullmatch(NAME, name))]
    return [day for day in days if documents is None or has_archive(day.day, documents)]


def has_archive(day: str, documents: Collection[str]) -> bool:
    """Return whether `documents` has the file of a day's week or month."""
    from gitmem.model.rotation import holders_of

    try:
        return any(path in documents for path in holders_of(date.fromisoformat(day)))
    except ValueError:
        return False


def drop_days(private: str) -> None:
    """Delete the copies, which may contain text that was just undone; the background makes them again."""
    import shutil

    shutil.rmtree(os.path.join(private, FOLDER), ignore_errors=True)


def week_name(day: str) -> str:
    """Return the ISO week of a day, `YYYY-Www`."""
    from gitmem.model.rotation import week_of

    return week_of(date.fromisoformat(day))


MOST_BYTES = 32 << 20
_DONE = "done"  # file with the commit up to which history was read, and the number of files
_DAY = re.compile(r"daily/[0-9]{4}/[0-9]{2}/([0-9]{4}-[0-9]{2}-[0-9]{2})\.md")


def keep_days(store: Store) -> None:
    """Bring the copies up to date with history; fast if no day was consolidated, undone or cleared since."""
    tip, folder = store.tip, os.path.join(store.private, FOLDER)
    if tip is None:
        return
    names = {day.name for day in kept_days(store.private, None)}
    done, _, count = read_text(os.path.join(folder, _DONE)).strip().partition(" ")
    if is_object_id(done) and count == str(len(names)) and (done == tip or not _changed_since(store, done, tip)):
        if done != tip:
            replace_file(os.path.join(folder, _DONE), f"{tip} {count}".encode())
        return
    wanted = _wanted(store, tip)
    for name in names - {day.name for day in wanted}:
        drop_file(os.path.join(folder, name))
    undone = _undone_entries(store, tip) if wanted else frozenset()
    for day, data in zip(wanted, store.repository.blobs([*wanted.values()]), strict=True):
        rest = _without(data, undone)
        if day.name not in names or read_regular(os.path.join(folder, day.name), len(rest) + 1) != rest:
            replace_file(os.path.join(folder, day.name), rest)
    replace_file(os.path.join(folder, _DONE), f"{tip} {len(wanted)}".encode())


def _changed_since(store: Store, done: str, tip: str) -> bool:
    """Return whether a commit after `done` consolidated, undid or cleared something; True if `done` is gone."""
    greps = [f"--grep={Trailer.OP.value}: {op.value}" for op in (Op.CONSOLIDATE, Op.UNDO, Op.CLEAR)]
    git = store.repository.git
    if git.run("merge-base", done, tip, ok=(0, 1, 128)).decode().strip() != done:
        return True
    return bool(git.run("rev-list", "--max-count=1", "--grep=^This reverts commit", *greps, tip, f"^{done}"))


def _wanted(store: Store, tip: str) -> dict[KeptDay, str]:
    """Return the days summed up in weeks and months, each once with its blob, the newest weeks first."""
    from gitmem.git.rewrite import commit_changes
    from gitmem.history.origin import commits_with

    repository = store.repository
    documents = {file.path for file in repository.files(tip, "weekly", "monthly")}
    steps = commits_with(repository, {Trailer.OP.value: Op.CONSOLIDATE.value}, undone=False) if documents else []
    cleared = _cleared(store) if steps else {}
    blobs: dict[tuple[str, str], KeptDay] = {}
    changes = commit_changes(repository.git, [(step.oid, step.parents[0]) for step in steps])
    for step in steps:
        for change in changes.get(step.oid, ()):
            match = None if change.new else _DAY.fullmatch(os.fsdecode(change.path))
            if match and has_archive(match[1], documents - cleared.get(step.oid, frozenset())):
                blobs.setdefault((match[1], change.old), KeptDay(match[1], step.parents[0]))
    return _newest(store, {day: blob for (_, blob), day in blobs.items()})


def _cleared(store: Store) -> Mapping[str, frozenset[str]]:
    """Return the weeks and months that were cleared later, by consolidation commit."""
    from gitmem.git.log import log
    from gitmem.history.origin import commits_with

    cleared: dict[str, frozenset[str]] = {}
    repository = store.repository
    for commit in commits_with(repository, {Trailer.OP.value: Op.CLEAR.value}, undone=False):
        paths = {change.path for change in repository.changes(commit.parents[0], commit.oid) if change.new is None}
        for before in log(repository.git, commit.oid, trailers={Trailer.OP.value: Op.CONSOLIDATE.value}):
            cleared[before.oid] = cleared.get(before.oid, frozenset()) | paths
    return cleared


def _newest(store: Store, days: Mapping[KeptDay, str]) -> dict[KeptDay, str]:
    """Return the days of the newest weeks that fit into `MOST_BYTES`; a week is kept as a whole."""
    sizes = dict(zip(days, store.repository.sizes([*days.values()]), strict=True)) if days else {}
    weeks: dict[str, list[KeptDay]] = {}
    for day in sorted(days, key=lambda day: day.name, reverse=True):
        weeks.setdefault(week_name(day.day), []).append(day)
    chosen: dict[KeptDay, str] = {}
    room = MOST_BYTES
    for week in weeks.values():
        room -= sum(sizes[day] for day in week)
        if room < 0:
            break
        chosen |= {day: days[day] for day in week}
    return chosen


def _undone_entries(store: Store, tip: str) -> frozenset[str]:
    """Return the tails of the ids of all entries whose save was undone."""
    from gitmem.git.log import commits
    from gitmem.history.origin import undone_commits

    git = store.repository.git
    undone: Iterable[Commit] = commits(git, undone_commits(git, tip)).values()
    return frozenset(tail_of(identifier) for commit in undone for identifier in commit.values(Trailer.ENTRY))


def _without(data: bytes, undone: Collection[str]) -> bytes:
    """Return a log with empty lines in place of undone entries, so that the others keep their line numbers."""
    text = data.decode("utf-8", "surrogateescape")
    for entry in reversed([*find_entries(text)]) if undone else ():
        if tail_of(entry.entry.id) in undone:
            lines = "\n" * text.count("\n", entry.start, entry.end)
            text = text[: entry.start] + lines + text[entry.end :]
    return text.encode("utf-8", "surrogateescape")


_SECONDS = 60.0
_HUNK = rb"@@ -([0-9]+)"
_SPECIAL = r"[][\\.*^$+?(){}|]"
_LOG = ("log", "--no-merges", "--patch", "--unified=0", "--no-renames", "--diff-filter=MD")
_PLAIN = ("--no-color", "--no-ext-diff", "--no-textconv", "--format=%x00%H %P%x00%ci")


class FoundLine(Value):
    """A line of a file, its number counted from 1."""

    path: str
    number: int
    text: str


class RemovedLine(Value):
    """A line that a commit removed: the parent that still has it, and the line's place."""

    commit: str
    path: str
    number: int
    text: str


def matching_paths(store: Store, commit: str, texts: Sequence[str]) -> set[str]:
    """Return the paths of a commit's files that contain one of the texts, ignoring case."""
    output = _grep(store, [commit], texts, "--files-with-matches", below=".")
    prefix = f"{commit}:".encode()
    return {part.removeprefix(prefix).decode("utf-8", "surrogateescape") for part in output.split(b"\0")[:-1]}


def matching_lines(
    store: Store, commits: Sequence[str], texts: Sequence[str], *, below: str, most: int
) -> list[FoundLine]:
    """Return the lines below a folder of these commits that contain one of the texts, at most `most` per file."""
    output = _grep(store, commits, texts, "--line-number", "--max-count", str(most), below=below)
    parts = (line.decode("utf-8", "replace").split("\0", 2) for line in output.split(b"\n")[:-1])
    return [FoundLine(path.partition(":")[2], int(number), text) for path, number, text in parts]


def _grep(store: Store, commits: Sequence[str], texts: Sequence[str], *options: str, below: str) -> bytes:
    patterns = [word for text in texts for word in ("-e", text)]
    return store.repository.git.unfiltered.run(
        *("grep", "--null", "-I", "--ignore-case", "--fixed-strings", "--full-name", *options, *patterns),
        *(*commits, "--", below),
        ok=(0, 1),
        timeout=_SECONDS,
    )


def removed_lines(store: Store, texts: Sequence[str]) -> Iterator[RemovedLine]:
    """Yield lines that commits removed from files where they add or remove a text, ignoring case, newest first."""
    tip = store.repository.resolve("HEAD")
    pattern = "|".join(re.sub(_SPECIAL, r"\\\g<0>", text) for text in texts)
    output = store.repository.git.unfiltered.run(
        *_LOG, "--regexp-ignore-case", "-G", pattern, "--extended-regexp", *_PLAIN, tip, "--", timeout=_SECONDS
    )
    fields = output.split(b"\0")[1:]
    for ids, rest in zip(fields[::2], fields[1::2], strict=False):
        parents = ids.decode().split()[1:]
        if parents:
            yield from _removed_by(parents[0], rest.partition(b"\n")[2])


def _removed_by(parent: str, patch: bytes) -> Iterator[RemovedLine]:
    path, number = "", 0
    for line in patch.split(b"\n"):
        if line.startswith(b"--- ") and not number:
            path = line[4:].rstrip(b"\t").decode("utf-8", "surrogateescape").removeprefix("a/")
        elif line.startswith(b"diff --git "):
            path, number = "", 0
        elif line.startswith(b"@@") and (hunk := re.match(_HUNK, line)):
            number = int(hunk[1])
        elif line.startswith(b"-") and number:
            yield RemovedLine(parent, path, number, line[1:].decode("utf-8", "replace").rstrip("\r"))
            number += 1
