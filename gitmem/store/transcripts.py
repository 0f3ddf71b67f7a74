"""Raw transcripts of sessions (L1) on a ref of their own, and their sync if `sync.transcripts` is set (spec G6, R14).

They are never checked out. The ref is no branch, so that `git push --all` does not send it, and removing it removes
them all. Storing a session again replaces its file.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime

from gitmem.document.ids import check_path, slug
from gitmem.document.message import VALUE_LENGTH, Message, Op, Trailer, one_line
from gitmem.errors import BusyError, NotSavedError, RefusedError
from gitmem.git.fast_import import REGULAR, NewCommit, Signature, TipLockedError, TipMovedError, Writer
from gitmem.git.lock import Lock, beating
from gitmem.git.log import Fork, fork
from gitmem.git.objects import blob_id
from gitmem.git.packing import remove_unreachable, sizes
from gitmem.git.remote import Connection, PushRacedError, Remote
from gitmem.git.repository import Repository, clear_left_behind, move_ref, move_refs, read_refs
from gitmem.git.setup import make_root
from gitmem.git.trust import GITMEM
from gitmem.platform.safe_open import MAX_FILE_BYTES
from gitmem.purge.rewrite import clean_incoming, sweep
from gitmem.redact.redact import redact
from gitmem.store.maintenance import FOLDER, REF, SUFFIX, other_files
from gitmem.store.merge_commits import MergeCommit, merge_commits
from gitmem.store.store import Store
from gitmem.sync.guard import check_extent, check_losses
from gitmem.sync.remotes import FETCHED
from gitmem.sync.rounds import Options, in_rounds
from gitmem.text.sentences import count
from gitmem.values import Value

ATTEMPTS = 50  # under the lock, only a user's git command or a fetch can move the ref
_STAMP = "%Y%m%d_%H%M%S"
_PATH = re.compile(rf"{FOLDER}/[0-9]{{4}}/[0-9]{{2}}/([0-9]{{8}}_[0-9]{{6}})-([^/]+){re.escape(SUFFIX)}")
_READABLE = 12  # characters kept of an id that is not fit for a file name; a digest follows
_DIGEST = 10


class Transcript(Value):
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
    """Return the commit with the transcripts, None if there are none."""
    return store.repository.tip(REF)


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
    tip = store.repository.tip(REF)
    if tip is None:
        tip = make_root(store.repository.git)
        store.repository.git.run("update-ref", "-m", "gitmem", REF, tip, "")
    return tip


def _commit(
    store: Store, lock: Lock, tip: str, message: str, changes: dict[str, bytes | None], *, when: datetime | None = None
) -> str:
    identity, now = store.identity().result(), store.context.clock()
    signature = Signature(identity.name, identity.email, now)
    with Writer(store.repository.git, REF, tip, listed_in=store.packs_file) as writer:
        author = signature._replace(when=when or now)
        writer.commit(NewCommit(message, changes, author, signature, {}))
        lock.check()
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


class Forgotten(Value):
    """The result of forgetting, or of a dry run: transcripts forgotten, their bytes, transcripts kept, bytes freed.

    `notices` are for the user.
    """

    sessions: int
    size: int
    kept: int
    freed: int = 0
    notices: tuple[str, ...] = ()


def forget_transcripts(store: Store, before: datetime | None = None, *, dry_run: bool = False) -> Forgotten:
    """Delete the transcripts of sessions that began before a moment, all if it is None; this cannot be undone.

    Raises:
        RefusedError: transcripts are synced, so the next sync would restore them.
        BusyError: another process kept the store's lock, or stored a transcript meanwhile.

    """
    planned, _ = _divide(store, before)
    if dry_run or not planned.sessions:
        return planned
    if store.config.sync.transcripts and store.has_remotes():
        raise RefusedError(
            "Transcripts are synced here: the next sync would bring them back.",
            "'gitmem config sync.transcripts false', on each machine, then delete the branch gitmem-l1 of the remote.",
        )
    with store.lock("forget").acquire(store.config.lock.wait_seconds) as lock, beating(lock):
        old = tip_of(store)
        return _forget(store, old, *_divide(store, before))  # again: one may have been stored before the lock was held


def _divide(store: Store, before: datetime | None) -> tuple[Forgotten, list[Transcript]]:
    """Return the counts of transcripts to forget, and the transcripts to keep."""
    stored = sessions(store)
    forgotten = [item for item in stored if before is None or item.started < before]
    kept = [item for item in stored if item not in forgotten]
    return Forgotten(len(forgotten), sum(item.size for item in forgotten), len(kept)), kept


def _forget(store: Store, old: str | None, planned: Forgotten, kept: list[Transcript]) -> Forgotten:
    git = store.repository.git
    size_before = sizes(git).bytes
    if not move_ref(git, REF, _kept_commit(store, kept) if kept else None, old, "gitmem forget"):
        raise BusyError("Another process stored a transcript meanwhile.", "Try again.")
    fetched = {ref: oid for ref, oid in read_refs(git, FETCHED).items() if ref.endswith("/l1")}
    move_refs(git, {ref: (oid, None) for ref, oid in fetched.items()})
    if not store.own_repository:
        notice = "Their objects stay in the project's repository until git drops them: 'git gc --prune=now' there does."
        return Forgotten(planned.sessions, planned.size, planned.kept, 0, (notice,))
    remove_unreachable(git, store.repository.layout.common_dir)
    return Forgotten(planned.sessions, planned.size, planned.kept, max(size_before - sizes(git).bytes, 0))


def _kept_commit(store: Store, kept: list[Transcript]) -> str:
    """Write a commit with the kept transcripts, on the root commit of every store."""
    git = store.repository.git
    who = Signature(GITMEM.name, GITMEM.email, store.context.clock().astimezone(UTC))
    trailers = ((Trailer.OP.value, Op.TRANSCRIPT.value), (Trailer.MACHINE.value, store.context.machine))
    message = Message(f"Keep {count(len(kept), 'transcript')} and forget the older ones", trailers).render()
    entries = tuple((item.path, REGULAR, item.oid) for item in kept)
    with Writer(git, REF, make_root(git), listed_in=store.packs_file) as writer:
        writer.commit(NewCommit(message, {}, who, who, {}, entries))
        return writer.write()[-1]


REMOTE_REF = "refs/heads/gitmem-l1"  # a branch, since some remotes reject other refs


def sync_transcripts(
    store: Store, remote: Remote, connection: Connection, options: Options, *, ref: str = REMOTE_REF
) -> None:
    """Sync the transcripts with a remote's `ref`. Raises as `gitmem.sync.rounds.sync` does."""
    in_rounds(lambda _: _round(store, remote, connection, options, ref) or None, options, remote.called)


def _round(store: Store, remote: Remote, connection: Connection, options: Options, ref: str) -> bool:
    """Run one round; False if another machine was faster."""
    git = store.repository.git
    held = theirs = connection.fetch(remote, ref, f"{FETCHED}/{remote.name}/l1")
    local = read_refs(git, REF).get(REF)
    target = local
    holds: Mapping[str, tuple[str | None, str | None]] = {}
    check_extent(store, remote, theirs, {local})
    if theirs is not None:
        theirs = clean_incoming(store, theirs)
        both = None if local is None else fork(git, local, theirs)
        _check(store, remote, both, theirs)
        if both is None or local in both.bases:
            merge = MergeCommit(theirs, (), {})
        else:
            merge = MergeCommit(both.tips[0], (), {}) if theirs in both.bases else merge_commits(store, both)
        target, holds = merge.oid, merge.held
        if local is not None:
            try:
                check_losses(store, remote, local, merge.oid, options.accept)
            except RefusedError:
                move_refs(git, merge.held)
                raise
    if target is None:
        return True
    if target != held:
        try:
            connection.push(remote, target, ref, held)
        except PushRacedError:
            move_refs(git, holds)
            return False
    moved = target == local or move_refs(git, {**holds, REF: (local, target)}, "gitmem sync")
    if moved and held != theirs:
        sweep(store)
    return moved


def _check(store: Store, remote: Remote, both: Fork | None, theirs: str) -> None:
    """Refuse a branch that is not one of transcripts of this memory."""
    if other_files(store, theirs) or (both is not None and not both.bases):
        raise RefusedError(
            f"The transcripts of {remote.called} are none, or those of another memory.",
            "Use another remote, or 'gitmem config sync.transcripts false'.",
        )
