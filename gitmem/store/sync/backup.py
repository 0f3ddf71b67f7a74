"""Back a memory up into one file, and restore it: a git bundle (docs/sync.md, "Backups").

A bundle is read as a remote is, with the same checks, and nothing is sent back to it.

Tested through `tests/cli/commands/test_backup.py` and `tests/cli/commands/test_restore.py`.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmem.errors import GitFailedError, NotFoundError, NotSavedError, UnreadableError, UsageError
from gitmem.git.objects.treediff import read_tree
from gitmem.git.refs import read_refs
from gitmem.git.remote.address import Remote
from gitmem.git.remote.connection import Connection
from gitmem.git.upkeep.bundle import is_bundle, is_whole, write_bundle
from gitmem.machine.processes import is_running
from gitmem.model.paths import CONFIG
from gitmem.store.config.personal import personal_folder
from gitmem.store.setup.remotes import ONCE, forget
from gitmem.store.sync.clone import clone_store
from gitmem.store.sync.memory import sync
from gitmem.store.sync.transcripts import sync_transcripts
from gitmem.store.transaction.transact import transact
from gitmem.store.upkeep.refs import REF

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitmem.machine.context import Context
    from gitmem.store.setup.init import Place
    from gitmem.store.store import Store
    from gitmem.store.sync.memory import Synced
    from gitmem.store.sync.retry import Options

_FULL = "No space left"  # git of a full disk, before what it says of its own failure
RECORDS = {
    "sessions": "sessions/",
    "facts": "facts/",
    "episodes": "episodes/",
    "patterns": "patterns/bugs/",
    "knowledge": "patterns/project/",
}
SETTINGS_SUFFIX = ".settings.yaml"  # of the file beside a backup with the person's settings


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup: its file and size in bytes, the commits of memory and transcripts, the copy of the settings; or "".

    `records` are the numbers of its documents, by the names of `RECORDS`.
    """

    file: str
    bytes: int
    commit: str
    transcripts: str
    settings: str
    records: Mapping[str, int]


def is_backup(address: str) -> bool:
    """Return whether an address is the path of a backup."""
    return is_bundle(address)


def back_up(store: Store, file: str, *, transcripts: bool) -> Backup:
    """Write the whole memory to a new file, read it back, and put the person's settings beside it.

    Edits by hand are committed first. The file appears when it is whole and checked.

    Raises:
        UsageError: the file exists.
        NotSavedError: it cannot be written.
        GitmemError: it does not hold what it should.

    """
    settings = _settings_beside(store, file)
    taken = next((path for path in (file, settings) if path and os.path.lexists(path)), "")
    if taken:
        raise UsageError(f"{taken} exists already.", "Name a new file.")
    transact(store, lambda _: None, purpose="backup", scan=True)
    git, branch = store.repository.git, store.repository.branch()
    refs = [branch, *(read_refs(git, REF) if transcripts else [])]
    unfinished = f"{file}.tmp-{os.getpid()}"
    places = {unfinished: file}
    try:
        os.makedirs(os.path.dirname(file), exist_ok=True)
        _remove_litter(file)
        held = write_bundle(git, unfinished, refs, store.context.environ)
        if settings:
            places[unfinished + SETTINGS_SUFFIX] = settings
            shutil.copyfile(_own_settings(store), unfinished + SETTINGS_SUFFIX)
        for path in places:
            _write_through(path)
        for path, place in places.items():
            os.replace(path, place)
    except (OSError, GitFailedError) as error:
        raise NotSavedError(
            f"{file} could not be written: {_reason(error)}.", "Name a file in a folder with room that can be written."
        ) from error
    finally:
        for path in places:
            with contextlib.suppress(OSError):
                os.unlink(path)
    paths = read_tree(git, held[branch])
    records = {name: sum(path.startswith(folder) for path in paths) for name, folder in RECORDS.items()}
    return Backup(file, os.path.getsize(file), held[branch], held.get(REF, ""), settings, records)


def _remove_litter(file: str) -> None:
    """Remove what killed backups to this file have left beside it."""
    folder, name = os.path.split(file)
    unfinished = re.compile(rf"{re.escape(name)}\.tmp-([0-9]+)([.-].*)?")
    for other in os.listdir(folder):
        found, path = unfinished.fullmatch(other), os.path.join(folder, other)
        if found and not is_running(int(found[1])):
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            else:
                os.unlink(path)


def _write_through(path: str) -> None:
    """Wait until a file is on its disk, which may be taken out now."""
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


def _reason(error: OSError | GitFailedError) -> str:
    if isinstance(error, OSError):
        return str(error.strerror)
    lines = [line for line in error.stderr.splitlines() if line.strip()]
    lines += [line for line in lines if _FULL in line]
    return lines[-1].removeprefix("fatal: ").removeprefix("error: ") if lines else error.message


def restore_into(start: str, context: Context, place: Place, file: str, options: Options) -> Store:
    """Make the store of the project around the folder `start` out of a backup. Raises as `clone_store`."""
    _check(file)
    store = clone_store(start, context, place, file, asks=False, options=options, once=True)
    _restore_transcripts(store, file, options)
    return store


def merge_in(store: Store, file: str, options: Options) -> Synced:
    """Merge a backup into a store. Raises as `gitmem.store.sync.memory.sync`."""
    _check(file)
    try:
        done = sync(store, Remote(ONCE, file, file, backup=True), _reader(store), options)
    finally:
        forget(store, ONCE)
    _restore_transcripts(store, file, options)
    return done


def _restore_transcripts(store: Store, file: str, options: Options) -> None:
    try:
        sync_transcripts(store, Remote(ONCE, file, file, backup=True), _reader(store), options, ref=REF)
    finally:
        forget(store, ONCE)


def _reader(store: Store) -> Connection:
    return _Reader(store.repository.layout, store.context.environ, own=store.own_repository)


class _Reader(Connection):
    """A connection to a file that is read and not written."""

    def push(self, remote: Remote, oid: str, ref: str, expected: str | None) -> None:
        """Send nothing: a bundle is not written again."""


def _check(file: str) -> None:
    if not os.path.isfile(file):
        raise NotFoundError(f"There is no file {file}.", "'gitmem backup FILE' makes one.")
    if not is_bundle(file):
        raise UsageError(
            f"{file} is no backup.", "'gitmem backup FILE' makes one; 'gitmem migrate' reads other memories."
        )
    if not is_whole(file):
        raise UnreadableError(
            f"{file} is cut off or damaged: it does not end with its checksum.",
            "Nothing was restored. Take another copy of it.",
        )


def _own_settings(store: Store) -> str:
    return os.path.join(personal_folder(store.context.environ, store.context.home), CONFIG)


def _settings_beside(store: Store, file: str) -> str:
    """Return the path of the copy of the person's settings beside a backup, "" where there are none."""
    return file + SETTINGS_SUFFIX if os.path.isfile(_own_settings(store)) else ""
