"""Keep the days that consolidation took out of the tree as plain files for searches (`gitmem.store.history.kept`).

Tested through `tests/memory/tiers/test_days.py`.
"""

from __future__ import annotations

import contextlib
import os
import re

from gitmem.machine.beneath import read_regular, read_text
from gitmem.store.history.kept import FOLDER, NAME, KeptDay, is_told, week_name

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from gitmem.git.history.commits import Commit
    from gitmem.store.store import Store

MOST_BYTES = 32 << 20
_DONE = "done"  # file: the commit up to which history was read, and the number of files
_DAY = re.compile(r"daily/[0-9]{4}/[0-9]{2}/([0-9]{4}-[0-9]{2}-[0-9]{2})\.md")


def keep_days(store: Store) -> None:
    """Bring the copies up to date with history; quick if no day was consolidated, undone or cleared since."""
    tip, folder = store.tip, os.path.join(store.private, FOLDER)
    if tip is None:
        return
    names = {name for name in _listed(folder) if re.fullmatch(NAME, name)}
    done, _, count = _read_done(folder).partition(" ")
    if done and count == str(len(names)) and (done == tip or not _changed_since(store, done, tip)):
        if done != tip:
            _write(folder, _DONE, f"{tip} {count}".encode())
        return
    wanted = _wanted(store, tip)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    for name in names - {one.name for one in wanted}:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(folder, name))
    undone = _undone_entries(store, tip) if wanted else frozenset()
    for one, data in zip(wanted, store.repository.blobs([*wanted.values()]), strict=True):
        kept = _without(data, undone)
        if one.name not in names or read_regular(os.path.join(folder, one.name), len(kept) + 1) != kept:
            _write(folder, one.name, kept)
    _write(folder, _DONE, f"{tip} {len(wanted)}".encode())


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _read_done(folder: str) -> str:
    return read_text(os.path.join(folder, _DONE)).strip()


def _write(folder: str, name: str, data: bytes) -> None:
    path = os.path.join(folder, name)
    temporary = f"{path}.{os.getpid()}"
    with open(temporary, "wb") as file:
        file.write(data)
    os.replace(temporary, path)


def _changed_since(store: Store, done: str, tip: str) -> bool:
    """Return whether a commit after `done` consolidated, undid or cleared something; True if `done` is gone."""
    from gitmem.model.message import Op, Trailer

    greps = [f"--grep={Trailer.OP.value}: {op.value}" for op in (Op.CONSOLIDATE, Op.UNDO, Op.CLEAR)]
    git = store.repository.git
    if git.run("merge-base", done, tip, ok=(0, 1, 128)).decode().strip() != done:
        return True
    return bool(git.run("rev-list", "--max-count=1", "--grep=^This reverts commit", *greps, tip, f"^{done}"))


def _wanted(store: Store, tip: str) -> dict[KeptDay, str]:
    """Return the days that weeks and months sum up, each with its blob, the newest weeks first.

    A version of a day that two machines consolidated counts once.
    """
    from gitmem.model.message import Op, Trailer
    from gitmem.store.history.undo import standing_with

    repository = store.repository
    there = {file.path for file in repository.files(tip, "weekly", "monthly")}
    steps = standing_with(repository, {Trailer.OP.value: Op.CONSOLIDATE.value}) if there else []
    cleared = _cleared(store) if steps else {}
    blobs: dict[tuple[str, str], KeptDay] = {}
    with repository.reading():
        for step in steps:
            for change in repository.changes(step.parents[0], step.oid):
                found = _DAY.fullmatch(change.path) if change.new is None and change.old else None
                if found and change.old and is_told(found[1], there - cleared.get(step.oid, frozenset())):
                    blobs.setdefault((found[1], change.old), KeptDay(found[1], step.parents[0]))
    return _newest(store, {day: blob for (_, blob), day in blobs.items()})


def _cleared(store: Store) -> Mapping[str, frozenset[str]]:
    """Return the weeks and months that a clearing removed, by each consolidation before it."""
    from gitmem.git.history.commits import log
    from gitmem.model.message import Op, Trailer
    from gitmem.store.history.undo import standing_with

    gone: dict[str, frozenset[str]] = {}
    repository = store.repository
    for commit in standing_with(repository, {Trailer.OP.value: Op.CLEAR.value}):
        paths = {change.path for change in repository.changes(commit.parents[0], commit.oid) if change.new is None}
        for before in log(repository.git, commit.oid, trailers={Trailer.OP.value: Op.CONSOLIDATE.value}):
            gone[before.oid] = gone.get(before.oid, frozenset()) | paths
    return gone


def _newest(store: Store, days: Mapping[KeptDay, str]) -> dict[KeptDay, str]:
    """Return the days of the newest weeks that fit into `MOST_BYTES`; a week is kept as a whole."""
    sizes = dict(zip(days, store.repository.sizes([*days.values()]), strict=True)) if days else {}
    weeks: dict[str, list[KeptDay]] = {}
    for day in sorted(days, key=lambda one: one.name, reverse=True):
        weeks.setdefault(week_name(day.day), []).append(day)
    kept: dict[KeptDay, str] = {}
    room = MOST_BYTES
    for week in weeks.values():
        room -= sum(sizes[day] for day in week)
        if room < 0:
            break
        kept |= {day: days[day] for day in week}
    return kept


def _undone_entries(store: Store, tip: str) -> frozenset[str]:
    """Return the tails of the ids of all entries whose save was undone."""
    from gitmem.git.history.commits import commits
    from gitmem.model.ids import tail_of
    from gitmem.model.message import Trailer
    from gitmem.model.undo import undone_commits
    from gitmem.store.history.undo import reversals

    git = store.repository.git
    undone: Iterable[Commit] = commits(git, undone_commits(reversals(git, tip))).values()
    return frozenset(tail_of(identifier) for commit in undone for identifier in commit.values(Trailer.ENTRY))


def _without(data: bytes, undone: Collection[str]) -> bytes:
    """Return a log with empty lines in place of undone entries, so that the others keep their line numbers."""
    from gitmem.model.entry.entry import find_entries
    from gitmem.model.ids import tail_of

    text = data.decode("utf-8", "surrogateescape")
    for found in reversed([*find_entries(text)]) if undone else ():
        if tail_of(found.entry.id) in undone:
            lines = "\n" * text.count("\n", found.start, found.end)
            text = text[: found.start] + lines + text[found.end :]
    return text.encode("utf-8", "surrogateescape")
