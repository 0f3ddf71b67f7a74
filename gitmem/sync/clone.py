"""Make a store from a remote's memory or a backup, and back a memory up into a git bundle (docs/sync.md, "Backups").

Whatever a bundle brings is checked like a remote's memory. Tested through `tests/cli/commands/test_sync.py`,
`tests/store/test_remotes.py` and `tests/cli/commands/test_backups.py`.
"""

from __future__ import annotations

import math
import os
import re
import shutil
from collections.abc import Mapping

from gitmem.config.read import personal_folder
from gitmem.document.ids import CONFIG, FACTS
from gitmem.errors import (
    GitFailedError,
    GitmemError,
    NotFoundError,
    NotSavedError,
    RefusedError,
    UnreachableError,
    UnreadableError,
    UsageError,
)
from gitmem.git.address import Remote, check_url
from gitmem.git.bundle import is_bundle, is_whole, write_bundle
from gitmem.git.layout import MEMORY_BRANCH
from gitmem.git.objects import read_tree
from gitmem.git.process import Git
from gitmem.git.remote import Connection
from gitmem.git.repository import RefMoves, move_ref, move_refs
from gitmem.git.root import make_root
from gitmem.git.setup import check_out
from gitmem.history.sessions import count_sessions
from gitmem.model.validity import fact_statuses
from gitmem.platform.machine import Context, is_running
from gitmem.platform.safe_open import MAX_FILE_BYTES, drop_file
from gitmem.purge.rewrite import check_history, clean_incoming, sweep
from gitmem.search.files import list_files
from gitmem.store import arrivals
from gitmem.store.forbids import note_forbidden
from gitmem.store.foreign_commits import fast_forward
from gitmem.store.init import Place, complete_store, make_store
from gitmem.store.known_facts import known_facts
from gitmem.store.maintenance import MAX_FILES
from gitmem.store.merge_commits import merge_bases
from gitmem.store.remotes import (
    DEFAULT,
    FETCHED,
    ONCE,
    add_remote,
    forget,
    no_memory,
    note_synced,
    remotes,
    remove_remote,
)
from gitmem.store.store import Store
from gitmem.store.transact import transact
from gitmem.store.transcripts import REF, tips
from gitmem.sync.fetch import Options, Synced, fetch_memory
from gitmem.sync.guard import Accept, check_extent, check_incoming, check_signed, left_out, signed
from gitmem.sync.records import recorded
from gitmem.sync.removed import Removed, find_removed
from gitmem.sync.rounds import sync
from gitmem.sync.transcripts import sync_transcripts
from gitmem.text.terminal import mask_urls
from gitmem.values import Value


def clone_store(
    start: str,
    context: Context,
    place: Place,
    url: str,
    *,
    asks: bool,
    options: Options,
    once: bool = False,
    shallow: bool = False,
) -> Store:
    """Clone a remote's memory as the store of the project around the folder `start`, and return it.

    With `once` the address, as of a backup, is not kept as a remote. `shallow` leaves the history out, if the server
    can. Finish a killed clone. The caller records the end (`end_clone`) and shows the store's notices. Raises
    NotFoundError if the remote has no memory, GitmemError if the project already has a store; or as `sync`.
    """
    check_url(url)
    made = make_store(start, context, place, url)
    store = made.store
    root, is_cut_off = make_root(store.repository.git), store.acceptance.is_cut_off(url)
    connection = _reader(store)._replace(asks=asks)
    if store.tip not in {None, root}:  # also the memory of a branch without its work tree
        if not is_cut_off:
            raise _taken(store, url)
        return _finished(store, url, connection, options, once=once)
    store.acceptance.begin_clone(url)  # also after an earlier try failed and left the store
    remote = Remote(ONCE, url, url, backup=True)
    try:
        if not once:
            remote = add_remote(store, DEFAULT, url, again=is_cut_off)._replace(new=True)
        fetched = _checked(store, remote, connection._replace(shallow=shallow), options)
    except BaseException:
        if remote.name == DEFAULT:  # so that the user can try another address
            remove_remote(store, remote.name)
        store.acceptance.end_clone()
        if made.new and os.listdir(store.root) == [".git"]:
            _remove_empty(store, root)
        raise
    branch = store.repository.branch()  # the branch to check out into the empty work tree
    store.record_checkout(root)  # after a kill, missing files must not count as removed by hand
    if not move_ref(store.repository.git, branch, fetched.clean, store.tip, "gitmem clone"):
        raise GitmemError("Another process moved the memory branch.", "Try again.")
    check_out(store.repository.git, fetched.clean)
    store.record_checkout(fetched.clean)
    note_forbidden(store, [file.path for file in store.repository.files(fetched.clean, FACTS)])
    move_refs(store.repository.git, fetched.refs)
    if once:
        forget(store, remote.name)
    else:
        with recorded(store, remote.name):
            note_synced(store, remote, fetched.without_purged)
    complete_store(store)
    if fetched.remote_tip != fetched.clean:
        sweep(store)
    store.notices += fetched.notices
    return store


def _taken(store: Store, url: str) -> GitmemError:
    if os.path.isabs(url) and not os.path.exists(url):
        return NotFoundError(f"There is no repository at {url}.", "Name the URL or the path of a memory.")
    joins = f"'gitmem remote add {mask_urls(url)}' and 'gitmem sync --accept other-project'"
    remedy = f"{joins} make one memory of the two, for good."
    if any(remote.url == url for remote in remotes(store)):
        remedy = "It is a clone of that memory: 'gitmem sync' fetches what is new."
    return GitmemError(f"This project has a store already, at {store.root}.", remedy)


def _finished(store: Store, url: str, connection: Connection, options: Options, *, once: bool) -> Store:
    """Finish a clone that was cut off after it had commits, its own or later saves; return the store."""
    remote = Remote(ONCE, url, url, backup=True) if once else add_remote(store, DEFAULT, url, again=True)
    store.notices += sync(store, remote, connection, options).notices
    store.acceptance.begin_clone(url)  # the sync recorded the end, but the user has no answer yet
    if once:
        forget(store, remote.name)
    return store


class _Fetched(Value):
    """A fetched commit: as on the remote, then without purged texts, then also without unusable files.

    `refs` are the moves that delete the refs protecting `clean`; `notices` list what is left out.
    """

    remote_tip: str
    without_purged: str
    clean: str
    refs: RefMoves
    notices: list[str]


def _checked(store: Store, remote: Remote, connection: Connection, options: Options) -> _Fetched:
    """Fetch a memory and check it as a sync does. Raises as `sync`."""
    root = make_root(store.repository.git)
    remote_tip = _fetched(remote, connection, options)
    is_cut = os.path.exists(os.path.join(store.repository.layout.common_dir, "shallow"))
    check_extent(store, remote, remote_tip, {root})
    check_signed(store, remote, remote_tip, {root})
    os.makedirs(store.private, mode=0o700, exist_ok=True)  # holds the state of purges
    theirs = clean_incoming(store, remote_tip, remote_tip)
    accept = {*options.accept, Accept.OTHER_PROJECT} if is_cut else options.accept  # no memory here yet
    shared = bool(merge_bases(store.repository.git, root, theirs))
    clean, notices = left_out(store, remote, root, theirs)
    oid = theirs if clean is None else clean.oid
    check_incoming(store, remote, root, oid, accept, shared=shared)
    return _Fetched(remote_tip, theirs, oid, clean.keep_refs if clean else {}, notices)


def _remove_empty(store: Store, root: str) -> None:
    """Remove a new store without files, and its branch in the project's repository."""
    if store.has_separate_repository:
        shutil.rmtree(store.root, ignore_errors=True)
        return
    branch, git = store.repository.branch(), Git(store.repository.layout.common_dir, None, store.context.environ)
    git.run("worktree", "remove", "--force", "--", store.root)
    git.run("update-ref", "-d", branch, root)


def _fetched(remote: Remote, connection: Connection, options: Options) -> str:
    try:
        theirs = fetch_memory(remote, connection, options)
    except (UnreachableError, RefusedError):
        raise
    except GitmemError:
        if not connection.shallow:
            raise
        return _fetched(remote, connection._replace(shallow=False), options)
    if theirs is None:
        raise no_memory(remote)
    return theirs


_FULL = "No space left"  # git's message about a full disk, followed by others
RECORDS = {
    "facts": "facts/",
    "episodes": "episodes/",
    "patterns": "patterns/bugs/",
    "knowledge": "patterns/project/",
}
SETTINGS_SUFFIX = ".settings.yaml"  # of the copy of the user's settings beside a backup


class Backup(Value):
    """A backup: its file and size in bytes, the commits of memory and transcripts, and the copy of the settings, or "".

    `records` counts `sessions`, and by the names of `RECORDS` its documents: `facts` in force, and `ended` ones.
    """

    file: str
    bytes: int
    commit: str
    transcripts: tuple[str, ...]
    settings: str
    records: Mapping[str, int]


def back_up(store: Store, file: str, *, transcripts: bool) -> Backup:
    """Write the whole memory to a new file, read it back, and put the user's settings beside it.

    Edits by hand are committed first. The file appears when it is whole and checked.

    Raises:
        UsageError: the file exists.
        NotFoundError: its folder does not exist.
        RefusedError: this clone lacks a part of its history.
        NotSavedError: it cannot be written.
        GitmemError: it does not hold what it should.
    """
    own = os.path.join(personal_folder(store.context.environ, store.context.home), CONFIG)
    settings = file + SETTINGS_SUFFIX if os.path.isfile(own) else ""
    existing = next((path for path in (file, settings) if path and os.path.lexists(path)), "")
    if existing:
        raise UsageError(f"{existing} exists already.", "Name a new file.")
    if not os.path.isdir(os.path.dirname(file) or os.curdir):
        raise NotFoundError(f"There is no folder {os.path.dirname(file)}.", "Name a file in a folder that exists.")
    check_history(store)
    transact(store, lambda _: None, purpose="backup", scan=True)
    git, branch, tip = store.repository.git, store.repository.branch(), store.tip or ""
    target, notes = signed(store, tip)
    if target != tip:
        fast_forward(store, tip, target, purpose="backup", other_refs=notes)
    refs = [branch, *(tips(store) if transcripts else [])]
    unfinished = f"{file}.tmp-{os.getpid()}"
    places = {unfinished: file}
    try:
        _remove_litter(file)
        bundled = write_bundle(git, unfinished, refs, store.context.environ)
        if settings:
            places[unfinished + SETTINGS_SUFFIX] = settings
            shutil.copyfile(own, unfinished + SETTINGS_SUFFIX)
        for path in places:  # sync, as the user may now remove the disk
            with open(path, "rb+") as written:
                os.fsync(written.fileno())
        for path, place in places.items():
            os.replace(path, place)
    except (OSError, GitFailedError) as error:
        raise NotSavedError(
            f"{file} could not be written: {_reason(error)}.", "Name a file in a folder with room that can be written."
        ) from error
    finally:
        for path in places:
            drop_file(path)
    paths = read_tree(git, bundled[branch])
    records = {"sessions": count_sessions(store)}
    records |= {name: sum(path.startswith(folder) for path in paths) for name, folder in RECORDS.items()}
    records["ended"] = sum(not status.is_in_force for status in fact_statuses(known_facts(store)).values())
    records["facts"] -= records["ended"]
    return Backup(
        file, os.path.getsize(file), bundled[branch], tuple(bundled[ref] for ref in refs[1:]), settings, records
    )


def _remove_litter(file: str) -> None:
    """Remove what killed backups to this file have left beside it."""
    folder, name = os.path.split(file)
    unfinished = re.compile(rf"{re.escape(name)}\.tmp-([0-9]+)([.-].*)?")
    for entry in os.listdir(folder):
        match, path = unfinished.fullmatch(entry), os.path.join(folder, entry)
        if match and not is_running(int(match[1])):
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            else:
                os.unlink(path)


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


def merge_backup(store: Store, file: str, options: Options) -> tuple[Synced, Removed]:
    """Merge a backup into a store; also return what it has that was removed here. Raises as `sync`."""
    _check(file)
    try:
        done = sync(store, Remote(ONCE, file, file, backup=True), _reader(store), options)
        remote_tip = store.repository.tip(f"{FETCHED}/{ONCE}/{MEMORY_BRANCH}") or done.commit
        removed = find_removed(store, clean_incoming(store, remote_tip, remote_tip))
    finally:
        forget(store, ONCE)
    _restore_transcripts(store, file, options)
    return done, removed


def _restore_transcripts(store: Store, file: str, options: Options) -> None:
    try:
        sync_transcripts(store, Remote(ONCE, file, file, backup=True), _reader(store), options, ref=REF)
    finally:
        forget(store, ONCE)


def _reader(store: Store) -> Connection:
    return Connection(store.repository.layout, store.context.environ, own=store.has_separate_repository)


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


def check_untrusted(store: Store, *, read: bool = True) -> None:
    """Refuse a store that is not accepted here if it has what no remote may bring, such as endless trees.

    Unless its trees are `read`, check it only for pipes, at which git would wait for a writer, and its private folder
    for files that are too large.

    Raises RefusedError for endless trees, far too many files, or files that are too large.
    """
    if store.acceptance.is_accepted():
        return
    for top, most in ((store.root, math.inf), (store.private, MAX_FILE_BYTES)):
        for folder, _, names in os.walk(top):
            for path in (os.path.join(folder, name) for name in names):
                if not os.path.islink(path) and not (os.path.isfile(path) and os.path.getsize(path) <= most):
                    raise RefusedError(
                        f"{path} is a pipe or the like, or too large. Nothing of {store.root} was used.",
                        "Remove it, or use another memory.",
                    )
    if not read:
        return
    tip, files = store.tip, list_files(store.root)
    large = len(files) > MAX_FILES or any(file.size > MAX_FILE_BYTES for file in files)
    if tip is not None:
        arrivals.check_extent(store.repository, store.root, tip, ())
    if large:
        raise RefusedError(
            f"{store.root} has more or larger files than gitmem handles. Nothing of it was used.",
            "Remove them, or use another memory.",
        )
