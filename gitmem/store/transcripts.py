"""Raw transcripts of sessions (L1), on a ref for each user; `gitmem.sync.transcripts` syncs them.

They are never checked out. The refs are no branches, so that `git push --all` does not send them, and removing one
removes all of a user's. Storing a session again replaces its file.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterable, Iterator

from gitmem.document.ids import check_path, digest
from gitmem.document.message import VALUE_LENGTH, Message, Op, Trailer, one_line, op_message
from gitmem.errors import BusyError, RefusedError, disk_errors
from gitmem.git.fast_import import REGULAR, NewCommit, Signature, TipLockedError, TipMovedError, Writer
from gitmem.git.left_behind import clear_left_behind
from gitmem.git.locking import beating
from gitmem.git.log import Addition, additions, commits, fork
from gitmem.git.objects import read_tree
from gitmem.git.packing import remove_unreachable, sizes
from gitmem.git.repository import RefMoves, Repository, blob_id, move_refs, read_refs
from gitmem.git.root import make_root
from gitmem.model.exchange import file_name
from gitmem.platform.machine import UTC, datetime
from gitmem.platform.safe_open import MAX_FILE_BYTES
from gitmem.redact.redact import redact
from gitmem.store.merge_commits import MergeCommit, merge_commits
from gitmem.store.remotes import FETCHED
from gitmem.store.store import Store
from gitmem.store.transact import remove_litter
from gitmem.values import Value

FOLDER = "sessions"
SUFFIX = ".l1.jsonl"
REF = "refs/gitmem/l1"  # a user's transcripts are on a ref below it
ATTEMPTS = 50  # under the lock, only a user's git command or a fetch can move the ref
_STAMP = "%Y%m%d_%H%M%S"
_PATH = re.compile(rf"{FOLDER}/[0-9]{{4}}/[0-9]{{2}}/([0-9]{{8}}_[0-9]{{6}})-([^/]+){re.escape(SUFFIX)}")
_REF_NAME = 12  # hex digits
_FAILED = "The transcript was not stored"


class Transcript(Value):
    """A stored transcript: the session's file name, path, start (UTC), size in bytes, object id, and its ref."""

    session: str
    path: str
    started: datetime
    size: int
    oid: str
    ref: str


def put(
    store: Store, session: str, started: datetime, lines: Iterable[str], *, when: datetime | None = None
) -> str | None:
    """Store the transcript of a session, redacted, and return the commit; None if it is stored already, unchanged.

    `lines` are JSON objects, one a line; `started` becomes part of a new file's name; `when` is the author date
    (default: now). The commit is synced to disk on return.

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
    first = f"{FOLDER}/{started.astimezone(UTC):%Y/%m}/{started.astimezone(UTC).strftime(_STAMP)}-{name}{SUFFIX}"
    identity, now = store.identity().result(), store.context.clock()
    who = Signature(identity.name, identity.email, now)
    new = NewCommit(_message(store, session, data.count(b"\n")), {}, who._replace(when=when or now), who, {})
    ref = f"{REF}/{ref_name_of(identity.email)}"
    obstacle = f"the ref {ref} was moved by another git command {ATTEMPTS} times"
    # Under the lock two writers do not race for the ref and repeat their work.
    with disk_errors(_FAILED), store.lock("transcript").acquire(store.config.lock.wait_seconds) as lock:
        for _ in range(ATTEMPTS):
            tip = _tip_or_root(store, ref)
            stored = _find(_listed(store.repository, ref, tip), name)
            path = stored.path if stored else check_path(first)
            if stored and stored.oid == blob_id(data, like=stored.oid):
                return None
            try:
                with Writer(store.repository.git, ref, tip, listed_in=store.packs_file) as writer:
                    writer.commit(new._replace(changes={path: data}))
                    lock.check()
                    return writer.finish()[-1]
            except TipLockedError as error:
                clear_left_behind(error.lock)
                obstacle = f"another git command holds {error.lock}"
            except TipMovedError:
                remove_litter(store, ref)  # a killed process may have left the `.keep` of the same pack
    raise BusyError(f"{_FAILED}: {obstacle}.", "Try again.")


def read(store: Store, session: str) -> list[str] | None:
    """Return the lines of a session's transcript, None if there is none; `session` is its id or its file name."""
    transcript = _find(sessions(store), file_name(session))
    if transcript is None:
        return None
    return store.repository.blob(transcript.oid).decode("utf-8", "replace").split("\n")[:-1]


def has_transcript(store: Store, session: str) -> bool:
    """Return whether the transcript of a session is stored; `session` is its id or its file name."""
    return _find(sessions(store), file_name(session)) is not None


def sessions(store: Store) -> list[Transcript]:
    """Return the stored transcripts of all users, oldest first."""
    listed = (transcript for ref, tip in tips(store).items() for transcript in _listed(store.repository, ref, tip))
    return sorted(listed, key=lambda transcript: transcript.path)


def tips(store: Store) -> dict[str, str]:
    """Return the refs with transcripts, and their commits."""
    return read_refs(store.repository.git, REF)


def ref_name_of(email: str) -> str:
    """Return the ref name of a user: a hash of the email, so that the email is not published."""
    return digest("person", email.casefold()).hex()[:_REF_NAME]


def other_files(store: Store, commit: str) -> list[str]:
    """Return the paths of a commit that are not transcripts."""
    return [
        path
        for path, (mode, _) in read_tree(store.repository.git, commit).items()
        if mode != REGULAR or not path.startswith(f"{FOLDER}/") or not path.endswith(SUFFIX)
    ]


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
    subject, machine = f"Transcript of session {name} ({lines:,} lines)", store.context.machine
    return op_message(Op.TRANSCRIPT, subject, (Trailer.SESSION, name), (Trailer.MACHINE, machine)).render()


def _tip_or_root(store: Store, ref: str) -> str:
    """Return the tip of a user's ref; create the ref at the root commit of every store if it is missing."""
    store.repository.branch()  # raises UnfinishedError
    tip = store.repository.tip(ref)
    if tip is None:
        tip = make_root(store.repository.git)
        store.repository.git.run("update-ref", "-m", "gitmem", ref, tip, "")
    return tip


def joined(store: Store, local: str | None, theirs: str) -> MergeCommit:
    """Merge a user's transcripts here, if any, with a remote's; return a side as it is if it contains the other."""
    both = None if local is None else fork(store.repository.git, local, theirs)
    if both is None or local in both.bases:
        return MergeCommit(theirs, (), {})
    return MergeCommit(both.tips[0], (), {}) if theirs in both.bases else merge_commits(store, both)


def _stored(repository: Repository, tip: str) -> list[Addition]:
    """Return the files of a commit, each with the commit that stored it last."""
    last: dict[str, Addition] = {}
    for addition in additions(repository.git, [tip], FOLDER, changed=True):
        last.setdefault(addition.path, addition)
    merge = Addition(commits(repository.git, [tip])[tip], "", "")
    files = repository.files(tip, FOLDER)
    return [last.get(file.path, merge)._replace(path=file.path, oid=file.oid) for file in files]


def _write(store: Store, stored: Iterable[Addition]) -> str:
    """Rewrite the commits of these transcripts on top of the root commit of every store; return the last one."""
    git = store.repository.git
    with Writer(git, REF, make_root(git), listed_in=store.packs_file) as writer:
        for addition in sorted(stored, key=lambda addition: (addition.commit.authored, addition.path)):
            who = Signature(addition.commit.author, addition.commit.email, addition.commit.authored)
            message = Message(addition.commit.subject, addition.commit.trailers).render()
            writer.commit(NewCommit(message, {}, who, who, {}, ((addition.path, REGULAR, addition.oid),)))
        return writer.write()[-1]


def _find(listed: Iterable[Transcript], name: str) -> Transcript | None:
    """Return the transcript of a session; the longest, if several users have one."""
    found = (transcript for transcript in listed if transcript.session == name)
    return max(found, key=lambda transcript: transcript.size, default=None)


def _listed(repository: Repository, ref: str, tip: str) -> list[Transcript]:
    transcripts = []
    for file in repository.files(tip, FOLDER):
        if match := _PATH.fullmatch(file.path):
            with contextlib.suppress(ValueError):  # digits that are not a date
                started = datetime.strptime(match[1], _STAMP).replace(tzinfo=UTC)
                transcripts.append(Transcript(match[2], file.path, started, file.size, file.oid, ref))
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
            "'gitmem config sync.transcripts false', on each machine, then delete the remote's branches gitmem-l1-….",
        )
    with store.lock("forget").acquire(store.config.lock.wait_seconds) as lock, beating(lock):
        return _forget(store, *_divide(store, before))  # again: one may have been stored before the lock was held


def _divide(store: Store, before: datetime | None) -> tuple[Forgotten, list[Transcript]]:
    """Return the counts of transcripts to forget, and the transcripts to keep."""
    stored = sessions(store)
    forgotten = [item for item in stored if before is None or item.started < before]
    transcripts = [item for item in stored if item not in forgotten]
    return Forgotten(len(forgotten), sum(item.size for item in forgotten), len(transcripts)), transcripts


def _forget(store: Store, planned: Forgotten, kept: list[Transcript]) -> Forgotten:
    git = store.repository.git
    size_before = sizes(git).bytes
    moves: RefMoves = {}
    for ref, tip in tips(store).items():
        paths, stored = {item.path for item in kept if item.ref == ref}, _stored(store.repository, tip)
        left = [addition for addition in stored if addition.path in paths]
        if len(left) < len(stored):
            moves[ref] = (tip, _write(store, left) if left else None)
    if not move_refs(git, moves, "gitmem forget"):
        raise BusyError("Another process stored a transcript meanwhile.", "Try again.")
    fetched = {ref: oid for ref, oid in read_refs(git, FETCHED).items() if ref.rpartition("/")[2].startswith("l1")}
    move_refs(git, {ref: (oid, None) for ref, oid in fetched.items()})
    if not store.has_separate_repository:
        notice = "Their objects stay in the project's repository until git drops them: 'git gc --prune=now' there does."
        return planned._replace(notices=(notice,))
    remove_unreachable(git, store.repository.layout.common_dir)
    return planned._replace(freed=max(size_before - sizes(git).bytes, 0))
