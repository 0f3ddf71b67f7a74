"""What may enter a store from another machine (docs/security.md, "Trust"): its size, its names, its signatures."""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Mapping

from gitmem.document.ids import FORMAT, fold, is_git_folder
from gitmem.document.message import one_line
from gitmem.errors import RefusedError
from gitmem.git.layout import find_layout
from gitmem.git.objects import PathChange, most_files
from gitmem.git.process import Git
from gitmem.git.repository import Repository
from gitmem.git.trust import Signatures
from gitmem.platform.safe_open import MAX_FILE_BYTES
from gitmem.store.entrance import collision_reason, most_bytes, unusable_name
from gitmem.store.locate import HOME_HOSTS, HOME_PROJECTS, user_store
from gitmem.store.maintenance import MAX_FILES
from gitmem.store.store import check_format

_NAMED = 3  # files, or commits, that a message names
SIGNED = "signed"  # of `remote.trust`
NOTHING = "Nothing was merged or pushed."


def refuse_unsigned(
    signatures: Signatures, words: tuple[str, str], commit: str, known: Collection[str | None], here: str | None = None
) -> None:
    """Refuse a commit that is neither known nor covered by a signature; `words` begin and end the message."""
    if commit in known:
        return
    refused = signatures.unsigned(commit, filter(None, known), here)
    if not refused:
        return
    shown = ((item.oid[:10], one_line(item.author, 60), one_line(item.subject, 60)) for item in refused[:_NAMED])
    named = "; ".join(f"{oid} of {author}: {subject}" for oid, author, subject in shown)
    many = f", and {len(refused) - _NAMED} more" if len(refused) > _NAMED else ""
    raise RefusedError(
        f"{words[0]} commits that no trusted key signed: {named}{many}. {words[1]}",
        "Their authors can set remote.trust to signed and sync; 'git config --global gpg.ssh.allowedSignersFile' names "
        "the file of the keys you trust. To accept commits that are already in the memory here, sign one on top of "
        "them: 'git commit --allow-empty --gpg-sign' there.",
    )


MOST_BYTES = 1 << 30  # of all files that come at once
_FILE_MODES = {"100644", "100755"}


def check_extent(repository: Repository, source: str, commit: str, known: Collection[str]) -> None:
    """Refuse commits with too many files, before their trees are listed; commits in `known` are local.

    Raises RefusedError if a commit has more than MAX_FILES files, a file or message is too large, or `commit` is none.
    """
    with repository.reading() as objects:
        [info] = objects.infos([commit])
        is_commit = info is not None and info.kind == "commit"
        limits = {"limit": MAX_FILES, "most": MAX_FILE_BYTES}
        files = most_files(repository.git, objects, commit, without=known, **limits) if is_commit else None
    if files is not None and files <= MAX_FILES:
        return
    unread = f"folders or messages that cannot be read to their end, or a file of more than {MAX_FILE_BYTES:,} bytes"
    content = unread if files is None else f"a commit with {files:,} files"
    raise RefusedError(
        f"{source} has {content if is_commit else 'something else than commits'}, which is no memory. "
        "Nothing of it was used.",
        "See who made that: 'git log' there. Then take it out of that branch, or use another memory.",
    )


def check_arrivals(repository: Repository, source: str, old: str, new: str, *, reserved: Collection[str] = ()) -> None:
    """Refuse a commit `new` whose changes since `old` must not enter a store.

    `source` names where it comes from; "" for a local commit about to be pushed, which others would refuse. `reserved`
    are top folders that belong to this machine.

    Raises:
        StoreFormatError: the format version is not the one this gitmem knows.
        RefusedError: a path is unsafe or collides with another, or a file is a link, a submodule or too large.
    """
    changes = [change for change in repository.changes(old, new) if change.new is not None]
    document = next((change.new for change in changes if change.path == FORMAT), None)
    if document:
        check_format(repository.blob(document), f"The memory at {source}")

    def refuse(what: str, remedy: str) -> None:
        if source:
            remedy += " on the machine that made it, then sync there."
            raise RefusedError(f"{source} has {what}. Nothing was merged.", remedy)
        raise RefusedError(f"This memory has {what}. Nothing was pushed.", f"{remedy}, commit that, and sync again.")

    names: dict[str, str] = {}
    for change in changes:
        complaint = _complaint(change) or unusable_name(change.path, reserved)
        twin = names.setdefault(fold(change.path), change.path)
        if twin != change.path:
            complaint = collision_reason(twin)
        if complaint is not None:
            refuse(f"{change.path!a}, {complaint}", "Remove or rename it")
    sizes = repository.sizes([change.new or "" for change in changes])
    if sum(sizes) > MOST_BYTES:
        refuse(f"{sum(sizes):,} bytes in {len(sizes):,} files, more than one sync takes", "Remove what is large")
    for change, size in zip(changes, sizes, strict=True):
        if size > most_bytes(change.path):
            refuse(f"{change.path!a} with {size:,} bytes, more than gitmem allows for it", "Split it")


def reserved_folders(root: str, home: str) -> tuple[str, ...]:
    """Return the top folders that no remote may write to; only the user's own store has any."""
    return (HOME_HOSTS, HOME_PROJECTS) if os.path.realpath(root) == os.path.realpath(user_store(home)) else ()


def check_hosts_untracked(root: str, environ: Mapping[str, str]) -> None:
    """Raise RefusedError if the user's store tracks installation records: a remote may have written them."""
    layout = find_layout(root)
    if layout is None:
        return
    if Git(layout.git_dir, root, environ).run("ls-files", "-z", "--", f":(icase){HOME_HOSTS}"):
        raise RefusedError(
            f"The store at {root} tracks files in {HOME_HOSTS}/, which is for this machine alone; a remote may have "
            "written them.",
            f"Look at them, remove what you did not make, then: git -C {shlex.quote(root)} rm -r --cached {HOME_HOSTS}",
        )


def _complaint(change: PathChange) -> str | None:
    """Return why a commit with such a change is refused as a whole, None if it is not."""
    if change.mode not in _FILE_MODES:
        return "which is a link or a submodule"
    if any(part in {"", ".", ".."} or is_git_folder(part) for part in change.path.split("/")):
        return "whose name leads out of the store or into git's own folder"
    return None
