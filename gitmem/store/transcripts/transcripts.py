"""Raw transcripts of sessions (L1), in commits of their own on one ref (spec G6, R14).

They are never checked out, so the memory branch, `HEAD`, the index and the work tree do not change, and removing the
ref removes them all. The ref is not a branch, so that `git push --all` does not send it. Storing a session again
replaces its file.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gitmem.errors import BusyError, GitmemError, NotSavedError, RefusedError
from gitmem.git.commit.fast_import import NewCommit, Signature, TipLockedError, TipMovedError, Writer
from gitmem.git.history.commits import fork
from gitmem.git.identity import IdentityLookup
from gitmem.git.objects.oid import blob_id
from gitmem.git.refs import move_refs
from gitmem.git.repository import clear_left_behind
from gitmem.git.setup import make_root
from gitmem.machine.beneath import MAX_FILE_BYTES
from gitmem.model.message import VALUE_LENGTH, Message, Op, Trailer, one_line
from gitmem.model.paths import check_path, slug
from gitmem.redact.redact import redact
from gitmem.store.store import PURGING
from gitmem.store.transaction.merge import MergeCommit, merge_commits
from gitmem.store.upkeep.refs import FOLDER, REF, SUFFIX, legacy_branch

if TYPE_CHECKING:
    from gitmem.git.history.commits import Fork
    from gitmem.git.locks.choose import Lock
    from gitmem.git.repository import Repository
    from gitmem.store.store import Store

ATTEMPTS = 50  # under the lock, only a user's git command or a fetch can move the ref
_STAMP = "%Y%m%d_%H%M%S"
_PATH = re.compile(rf"{FOLDER}/[0-9]{{4}}/[0-9]{{2}}/([0-9]{{8}}_[0-9]{{6}})-([^/]+){re.escape(SUFFIX)}")
_READABLE = 12  # characters kept of an id that is not fit for a file name; a digest follows
_DIGEST = 10


@dataclass(frozen=True, slots=True)
class Transcript:
    """A stored transcript: the session's file name, path, start (UTC), size in bytes and object id."""

    session: str
    path: str
    started: datetime
    size: int
    oid: str


def put(
    store: Store, session: str, started: datetime, lines: Iterable[str], *, when: datetime | None = None
) -> str | None:
    """Store the transcript of a session, redacted, and return the commit; None if it is stored already, unchanged.

    `lines` are JSON objects, one a line; `started` is part of a new file's name; `when` is the author date, now by
    default. The commit is synced to disk on return.

    Raises:
        RefusedError: the session has no id, or the transcript is larger than a file may be.
        UnfinishedError: the user has a git operation in progress in the store.
        BusyError: another process kept the lock.
        NotSavedError: the store cannot be written; nothing was stored.

    """
    name = file_name(session)
    buffer = io.BytesIO()  # transcripts reach 50 MB: avoid a copy
    buffer.writelines(_redacted(lines, store.config.redaction.allow))
    data = buffer.getvalue()
    new = f"{FOLDER}/{started.astimezone(UTC):%Y/%m}/{started.astimezone(UTC).strftime(_STAMP)}-{name}{SUFFIX}"
    message = _message(store, session, data.count(b"\n"))
    obstacle = f"the ref {REF} was moved by another git command {ATTEMPTS} times"
    with _locked(store) as lock:
        for _ in range(ATTEMPTS):
            tip = _tip_or_root(store)
            stored = _find(store.repository, tip, name)
            path = stored.path if stored else check_path(new)
            if stored and stored.oid == blob_id(data, like=stored.oid):
                return None
            try:
                return _commit(store, lock, tip, message, {path: data}, when=when)
            except TipLockedError as error:
                clear_left_behind(error.lock)
                obstacle = f"another git command holds {error.lock}; if none is running, remove that file"
            except TipMovedError:
                continue
    raise BusyError(f"The transcript was not stored: {obstacle}.", "Try again.")


def read(store: Store, session: str) -> list[str] | None:
    """Return the lines of a session's transcript, None if there is none; `session` is its id or its file name."""
    tip = tip_of(store)
    transcript = None if tip is None else _find(store.repository, tip, file_name(session))
    if transcript is None:
        return None
    return store.repository.blob(transcript.oid).decode("utf-8", "replace").split("\n")[:-1]


def sessions(store: Store) -> list[Transcript]:
    """Return the stored transcripts, oldest first."""
    tip = tip_of(store)
    return [] if tip is None else _listed(store.repository, tip)


def tip_of(store: Store) -> str | None:
    """Return the commit with the transcripts, None if there are none.

    Move the transcripts of an older gitmem to the ref first; if that fails, return its branch's tip.
    """
    try:
        migrate_branch(store)
    except (GitmemError, OSError):
        return store.repository.tip(REF) or next(iter(legacy_branch(store).values()), None)
    return store.repository.tip(REF)


def migrate_branch(store: Store) -> None:
    """Move the transcripts that an older gitmem keeps on a branch to `REF`, in one update of refs.

    If that gitmem created the branch again after an earlier move, merge the two. A branch of this name with other
    content is the user's and stays.

    Raises:
        GitFailedError: the refs cannot be moved.
        NotSavedError: the merge cannot be written.

    """
    git = store.repository.git
    for _ in range(ATTEMPTS):
        branches = legacy_branch(store)
        if not branches or os.path.lexists(os.path.join(store.private, PURGING)):
            return
        ((branch, theirs),) = branches.items()
        tip = store.repository.tip(REF)
        merge = MergeCommit(theirs, (), {}) if tip is None else merged(store, fork(git, tip, theirs))
        moves = {**merge.held, REF: (tip, merge.oid), branch: (theirs, None)}
        if move_refs(git, moves, "gitmem: move transcripts off the branch"):
            return


def merged(store: Store, both: Fork) -> MergeCommit:
    """Return a commit with the transcripts of both sides of a fork."""
    ours, theirs = both.tips
    if theirs in both.bases:
        return MergeCommit(ours, (), {})
    return MergeCommit(theirs, (), {}) if ours in both.bases else merge_commits(store, both)


def file_name(session: str) -> str:
    """Return the file name of a session: its id if that is fit for a name, else a slug of the id and a digest.

    Raises:
        RefusedError: the id is empty.

    """
    if not session.strip():
        raise RefusedError(
            "The transcript has no session id.", "Give the id that the agent's host has for the session."
        )
    shown = redact(session).text  # a file name is pushed, and stays in history
    name = slug(shown)
    if name == session:
        return name
    digest = hashlib.sha256(session.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
    return f"{slug(shown, length=_READABLE).rstrip('-') or 'session'}-{digest}"


def _redacted(lines: Iterable[str], allow: tuple[str, ...]) -> Iterator[bytes]:
    """Yield the lines in stored form: redacted, UTF-8, without blank lines."""
    size = 0
    for line in lines:
        clean = redact(line, allow=allow).text.strip("\r\n")
        if clean.strip():
            data = clean.encode("utf-8", "replace") + b"\n"
            size += len(data)
            if size > MAX_FILE_BYTES:
                raise RefusedError(f"The transcript has more than {MAX_FILE_BYTES:,} bytes.", "Store a part of it.")
            yield data


def _message(store: Store, session: str, lines: int) -> str:
    name = redact(one_line(session, VALUE_LENGTH), allow=store.config.redaction.allow).text
    trailers = (
        (Trailer.OP.value, Op.TRANSCRIPT.value),
        (Trailer.SESSION.value, name),
        (Trailer.MACHINE.value, store.context.machine),
    )
    return Message(f"Transcript of session {name} ({lines:,} lines)", trailers).render()


@contextlib.contextmanager
def _locked(store: Store) -> Iterator[Lock]:
    """Hold the store's lock, so that two writers do not race for the ref and repeat their work."""
    try:
        with store.lock("transcript").acquire(store.config.lock.wait_seconds) as lock:
            yield lock
    except OSError as error:
        raise NotSavedError(
            f"The transcript was not stored: {error.strerror or error}.", "Make room or give access, then try again."
        ) from error


def _tip_or_root(store: Store) -> str:
    """Return the tip of the transcripts' ref; create the ref at the root commit of every store if it is missing."""
    store.repository.branch()  # raises UnfinishedError
    migrate_branch(store)
    tip = store.repository.tip(REF)
    if tip is None:
        tip = make_root(store.repository.git)
        store.repository.git.run("update-ref", "-m", "gitmem", REF, tip, "")
    return tip


def _commit(
    store: Store, lock: Lock, tip: str, message: str, changes: dict[str, bytes | None], *, when: datetime | None = None
) -> str:
    layout, now = store.repository.layout, store.context.clock()
    identity = IdentityLookup(layout.git_dir, layout.work_tree, store.context.environ).result()
    signature = Signature(identity.name, identity.email, now)
    with Writer(store.repository.git, REF, tip, listed_in=store.packs_file) as writer:
        author = signature._replace(when=when or now)
        writer.commit(NewCommit(message, changes, author, signature, {}))
        if not lock.held():
            raise BusyError("Another process took over the lock while this one was suspended.", "Try again.")
        (commit,) = writer.finish()
    return commit


def _find(repository: Repository, tip: str, name: str) -> Transcript | None:
    return next((item for item in reversed(_listed(repository, tip)) if item.session == name), None)


def _listed(repository: Repository, tip: str) -> list[Transcript]:
    transcripts = []
    for file in repository.files(tip, FOLDER):
        if match := _PATH.fullmatch(file.path):
            with contextlib.suppress(ValueError):  # digits that are no date
                started = datetime.strptime(match[1], _STAMP).replace(tzinfo=UTC)
                transcripts.append(Transcript(match[2], file.path, started, file.size, file.oid))
    return transcripts
