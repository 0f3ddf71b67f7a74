"""Check the tools, repository, locks, attributes and private folder (spec R12, P9); a failing check stops no other."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping

from gitmem.document.ids import FORMAT
from gitmem.errors import BusyError
from gitmem.git.lock import file_locks_serve
from gitmem.git.packing import damages, known_files, lock_files, missing_of, staged_paths
from gitmem.git.process import OLDEST_GIT, git_version
from gitmem.git.repository import MEMORY_BRANCH
from gitmem.git.trust import GITMEM, IdentityLookup
from gitmem.store import checks, document_checks
from gitmem.store.document_checks import ATTRIBUTES, MODULES, attributes_finding, look
from gitmem.store.findings import Finding, Level, bytes_below
from gitmem.store.store import FORMAT_VERSION, Store, format_version
from gitmem.text.sentences import age, count

Check = Callable[[Store], Iterator[Finding]]


def check_attributes(store: Store) -> Iterator[Finding]:
    """Report attributes that are neither gitmem's nor harmless, and a list of submodules."""
    yield attributes_finding(store, known_files(store.repository.git, f":(glob)**/{ATTRIBUTES}", f":(top){MODULES}"))


_SHOWN = 5
_OLD_LOCK = 60.0  # seconds; git commands hold one for milliseconds, or while an editor is open
_LARGE = 32 << 20  # bytes of packs: git looks at all objects of more for over two seconds
_NEWEST = 100  # commits whose objects are looked at then; the whole of the present memory is among them
_BRANCH = f"refs/heads/{MEMORY_BRANCH}"


def check_tools(store: Store) -> Iterator[Finding]:
    """Report the versions of git and Python."""
    version = git_version(store.context.environ)
    oldest = ".".join(map(str, OLDEST_GIT))
    yield Finding("git", Level.OK, f"git {'.'.join(map(str, version))} ({oldest} or later is needed).")
    yield Finding("python", Level.OK, f"Python {'.'.join(map(str, sys.version_info[:3]))}.")


def check_format(store: Store) -> Iterator[Finding]:
    """Report the version of the store's format; stores of newer versions are refused when opened."""
    version = format_version(store.read(FORMAT) or b"")
    if version is None:
        message = f"{FORMAT} is missing or names no version; {FORMAT_VERSION} is assumed."
        yield Finding("format", Level.WARNING, message, "'gitmem init' writes it where it is missing.")
    else:
        yield Finding("format", Level.OK, f"Format version {version}.")


def check_work_tree(store: Store) -> Iterator[Finding]:
    """Check that files, index and branch agree."""
    if store.tip != store.marked():
        message = "The files are older than the branch."
        yield Finding("checkout", Level.WARNING, message, "The next gitmem command updates them.")
    edited, staged = store.files.edited(), staged_paths(store.repository.git)
    if staged:
        message = f"The index differs from the branch in {count(len(staged), 'file')}."
        remedy = f"If you did not 'git add' that, reset the index: git -C {store.root} reset"
        yield Finding("index", Level.WARNING, message, remedy, tuple(staged[:_SHOWN]))
    if edited:
        message = f"{count(len(edited), 'file')} edited by hand and not committed."
        remedy = "Nothing to do: the next save commits them as your edit."
        yield Finding("edits", Level.NOTE, message, remedy, tuple(edited[:_SHOWN]))
    if not (staged or edited):
        yield Finding("files", Level.OK, "Files, index and branch agree.")


def check_objects_deeply(store: Store) -> Iterator[Finding]:
    """Check the content of every object against its id."""
    yield from check_objects(store, deep=True)


def check_objects(store: Store, *, deep: bool = False) -> Iterator[Finding]:
    """Check that all reachable objects exist, or with `deep` are intact."""
    git, which = store.repository.git, "All objects"
    # Check other branches of a project's repository only on request.
    if deep or (store.own_repository and not _is_large(store)):
        damage = damages(git, deep=deep)
    else:
        newest = _NEWEST if _is_large(store) else None
        which = f"All objects of the newest {_NEWEST} commits" if newest else which
        damage = missing_of(git, "HEAD", newest)
    if damage:
        remedy = "Stop saving, and copy the folder. Then 'git fetch' the missing objects from a clone or a backup."
        details = tuple(damage[:_SHOWN])
        yield Finding("objects", Level.PROBLEM, "Git reports damage in the repository.", remedy, details)
    else:
        hint = "'gitmem doctor --deep' looks at all." if which != "All objects" else ""
        yield Finding("objects", Level.OK, f"{which} {'exist and are intact' if deep else 'exist'}.", hint)


def _is_large(store: Store) -> bool:
    return bytes_below(os.path.join(store.repository.layout.common_dir, "objects")) > _LARGE


def check_locks(store: Store) -> Iterator[Finding]:
    """Report stale lock files of git, and the holder of the store's lock."""
    now = store.context.clock().timestamp()
    old = [(path, now - made) for path, made in lock_files(store.repository.layout, _BRANCH) if now - made > _OLD_LOCK]
    if old:
        details = tuple(f"{path}, for {age(seconds)}" for path, seconds in old)
        remedy = "If no git command is running in the store, remove them."
        message = f"{count(len(old), 'stale lock file')} of git."
        yield Finding("locks", Level.WARNING, message, remedy, details)
    try:
        store.lock("doctor").acquire(0).release()
    except BusyError as error:
        yield Finding("lock", Level.NOTE, error.message, "Nothing to do, unless it persists.")
    else:
        yield Finding("lock", Level.OK, "The store's lock is free.")


def check_private_folder(store: Store) -> Iterator[Finding]:
    """Check that the private folder is writable and private, and whether several machines may share it."""
    closed = [path for path in (store.root, store.private) if os.path.exists(path) and not os.access(path, os.W_OK)]
    if closed:
        remedy = "Give yourself write permission, or nothing can be saved."
        yield Finding("access", Level.PROBLEM, f"{' and '.join(closed)} not writable.", remedy)
        return
    spool = store.spool.folder
    if sys.platform != "win32" and os.path.isdir(spool) and stat.S_IMODE(os.stat(spool).st_mode) & 0o077:
        message = "Other users can read the spool, which is not redacted yet."
        yield Finding("access", Level.WARNING, message, f"chmod 700 '{spool}'")
    else:
        yield Finding("access", Level.OK, "The store is writable, and its spool is private.")
    if os.path.isdir(store.private) and not file_locks_serve(store.private):
        message = (
            "The file system may be shared by several machines: the store is locked by a git ref, which is slower."
        )
        remedy = "Set lock.kind to something else than 'file'." if store.config.lock.kind == "file" else ""
        yield Finding("filesystem", Level.WARNING if remedy else Level.NOTE, message, remedy)


def check_identity(store: Store) -> Iterator[Finding]:
    """Report the author of new commits."""
    layout = store.repository.layout
    who = IdentityLookup(layout.git_dir, layout.work_tree, store.context.environ).result()
    if who == GITMEM:
        remedy = "git config --global user.name 'Your Name'; git config --global user.email you@example.org"
        yield Finding(
            "identity", Level.NOTE, f"Git does not know your name; the author of commits is {who.name}.", remedy
        )
    else:
        yield Finding("identity", Level.OK, f"The author of commits is {who.name} <{who.email}>.")


_AT_ONCE = 2_000  # documents that doctor never checked: a person waits
_RECORD = "diagnosed.json"


def check_documents(store: Store) -> Iterator[Finding]:
    """Report what is wrong with documents: those that changed since the last time, and some that were never checked."""
    yield from _look(store, _AT_ONCE)


def check_all_documents(store: Store) -> Iterator[Finding]:
    """Report what is wrong with documents."""
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(store.private, _RECORD))
    yield from _look(store, None)


def _look(store: Store, most: int | None) -> Iterator[Finding]:
    """Report what is wrong with documents that changed, and with at most `most` that were never checked."""
    edited = store.files.edited()
    looked = look(
        store, edited, most=most, record=_RECORD, more=(document_checks.check_secrets, document_checks.check_names)
    )
    yield from looked.findings
    if looked.left:
        message = f"{count(looked.left, 'file')} of this large store not looked at yet; the next times look at more."
        yield Finding("files", Level.NOTE, message, "'gitmem doctor --deep' looks at all.")


FULL: tuple[Check, ...] = (
    check_tools,
    check_format,
    checks.check_branch,
    check_objects,
    check_work_tree,
    check_locks,
    check_private_folder,
    check_identity,
    checks.check_maintenance,
    checks.check_config,
    checks.check_size,
    check_documents,
    check_attributes,
    checks.check_spool,
    checks.check_log,
    checks.check_purges,
    checks.check_changes,
    checks.check_signatures,
)
_DEEP: Mapping[Check, Check] = {check_objects: check_objects_deeply, check_documents: check_all_documents}
DEEP: tuple[Check, ...] = tuple(_DEEP.get(check, check) for check in FULL)
