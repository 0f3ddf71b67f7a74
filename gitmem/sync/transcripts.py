"""Exchange raw transcripts with a remote, where `sync.transcripts` is set; each user has a branch there."""

from __future__ import annotations

import contextlib
import re

from gitmem.errors import RefusedError
from gitmem.git.address import Remote
from gitmem.git.objects import read_tree
from gitmem.git.process import Git
from gitmem.git.remote import Connection, PushRacedError
from gitmem.git.repository import RefMoves, move_refs, read_refs
from gitmem.git.root import make_root
from gitmem.purge.rewrite import clean_incoming, sweep
from gitmem.store.remotes import FETCHED
from gitmem.store.store import Store
from gitmem.store.transcripts import REF, joined, other_files, tips
from gitmem.sync.fetch import Options, in_rounds
from gitmem.sync.guard import check_extent, check_signed, signed
from gitmem.sync.losses import check_losses

REMOTE_REF = "refs/heads/gitmem-l1"  # prefix of `-` and a user's ref name; branches, since some remotes take no others
PART = 4 << 20  # bytes of objects in one push, unless one commit has more: a minute and a half at 50 kB/s
Fetched = tuple[str, str | None, str | None]  # the remote's ref, its commit, and that commit without purged texts
_ENDS = re.compile("[-/][0-9a-f]{12}")  # of a user's ref on a remote and in a backup


def sync_transcripts(
    store: Store, remote: Remote, connection: Connection, options: Options, *, ref: str = REMOTE_REF
) -> None:
    """Sync the transcripts with the refs of a remote that begin with `ref`. Raises as `gitmem.sync.rounds.sync`."""
    in_rounds(lambda _: _round(store, remote, connection, options, ref) or None, options, remote.called)


def clean_transcripts(store: Store, remote: Remote, connection: Connection) -> None:
    """Remove purged texts from the remote's transcripts, which are not stored here. Raises as `sync_transcripts`."""
    known = tips(store)
    fetched = connection.fetch_all(remote, REMOTE_REF, _ENDS, f"{FETCHED}/{remote.name}/l1", known.values())
    for end, oid in fetched.items():
        clean = _checked(store, remote, oid, known)
        with contextlib.suppress(PushRacedError):  # its owner, who applies the purge as well, was faster
            if clean is None:
                connection.empty(remote, {f"{REMOTE_REF}{end}": oid})
            elif clean != oid:
                target, moves = signed(store, clean)
                try:
                    connection.push(remote, target, f"{REMOTE_REF}{end}", oid)
                finally:
                    move_refs(store.repository.git, moves)
    if fetched:
        sweep(store)


def _round(store: Store, remote: Remote, connection: Connection, options: Options, ref: str) -> bool:
    """Run one round; False if another machine was faster."""
    known = tips(store)
    fetched = connection.fetch_all(remote, ref, _ENDS, f"{FETCHED}/{remote.name}/l1", known.values())
    for oid in fetched.values():
        check_signed(store, remote, oid, known.values())
    clean = {end: _checked(store, remote, oid, known) for end, oid in fetched.items()}
    there = {end[1:]: (fetched[end], commit) for end, commit in clean.items()}
    people = sorted({*there, *(tip.rpartition("/")[2] for tip in tips(store))})
    done = [
        _exchange(store, remote, connection, options, user, (f"{ref}-{user}", *there.get(user, (None, None))))
        for user in people
    ]
    if any(fetched[end] != commit for end, commit in clean.items()):
        sweep(store)
    return all(done)


def _exchange(  # noqa: PLR0917
    store: Store, remote: Remote, connection: Connection, options: Options, user: str, fetched: Fetched
) -> bool:
    """Merge a user's transcripts, push them and adopt them; False if another machine was faster.

    Parts are pushed one by one, the oldest commits first: if the connection breaks, the next sync continues after the
    last part.
    """
    there, remote_tip, theirs = fetched
    git, here = store.repository.git, f"{REF}/{user}"
    tip = read_refs(git, here).get(here)
    if tip is None and theirs is None:  # all of it was purged
        connection.empty(remote, {there: remote_tip} if remote_tip else {})
        return True
    keep_refs: RefMoves = {}
    try:
        while True:
            part = tip if tip is None or remote.backup else _part(git, tip, theirs)
            merge = joined(store, part, theirs or part or "")
            keep_refs |= merge.keep_refs
            if part is not None:
                check_losses(store, remote, part, merge.oid, options.accept)
            target, more = signed(store, merge.oid)
            keep_refs |= more
            if target != remote_tip:
                connection.push(remote, target, there, remote_tip)
            remote_tip = theirs = target
            if part == tip:
                break
        moved = remote_tip == tip or move_refs(git, {**keep_refs, here: (tip, remote_tip)}, "gitmem sync")
        if moved:
            keep_refs.clear()
    except PushRacedError:
        return False
    finally:
        move_refs(git, keep_refs)
    return moved


def _part(git: Git, tip: str, theirs: str | None) -> str:
    """Return the latest commit of `tip` whose push is within `PART`, or else the first that the remote lacks."""
    lacks = [f"^{theirs}"] if theirs else []
    while int(git.run("rev-list", "--objects", "--disk-usage", tip, *lacks)) > PART:
        commits = git.run("rev-list", "--topo-order", tip, *lacks).decode().split()
        if len(commits) == 1:
            break
        tip = commits[len(commits) // 2]
    return tip


def _checked(store: Store, remote: Remote, commit: str, known: dict[str, str]) -> str | None:
    """Return a fetched commit without purged texts, None if nothing is left; refuse too many files and foreign ones."""
    check_extent(store, remote, commit, {*known.values()})
    clean = clean_incoming(store, commit)
    if other_files(store, clean) or not store.repository.is_ancestor(make_root(store.repository.git), clean):
        raise RefusedError(
            f"{remote.called} has other files in place of transcripts, or those of another memory.",
            "Use another remote, or 'gitmem config sync.transcripts false'.",
        )
    return None if clean != commit and not read_tree(store.repository.git, clean) else clean
