"""Signed memory (docs/sync.md, "Signed memory"): refuse what no trusted key signed, and sign what leaves this machine.

A signature covers all the history of its commit. Tested through `tests/store/test_signed.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from gitmem.document.message import Message, Op, Trailer, one_line
from gitmem.errors import RefusedError
from gitmem.git.remote import Remote
from gitmem.git.repository import MEMORY_BRANCH, move_refs
from gitmem.git.trust import IdentityLookup, Signatures
from gitmem.store.recovery import new_pending_ref
from gitmem.store.store import Store
from gitmem.sync.remotes import REFS

SIGNED = "signed"  # of `remote.trust`
NOTHING = "Nothing was merged or pushed."
_NAMED = 3  # commits that a message names


def check_signed(
    store: Store, remote: Remote, commit: str | None, known: Collection[str | None], here: str | None = None
) -> None:
    """Refuse a fetched commit beyond `known` that is not signed, where `remote.trust` is `signed`.

    A signature in the history of `here`, the branch of this machine, counts as well.

    Raises RefusedError if no good signature of a trusted key covers it.
    """
    if store.config.remote.trust == SIGNED and commit is not None:
        refuse_unsigned(_signatures(store), (f"{remote.called} has", NOTHING), commit, known, here)


def check_pulled(store: Store, remote: Remote, here: str) -> None:
    """Refuse what a plain `git pull` brought from a remote, as `check_signed` does what a sync fetched."""
    if store.config.remote.trust == SIGNED and store.own_repository:
        repository = store.repository
        pulled = repository.tip(f"refs/remotes/{remote.name}/{MEMORY_BRANCH}")
        seen = repository.tip(f"{REFS}/{remote.name}/{MEMORY_BRANCH}")
        if pulled and repository.is_ancestor(pulled, here):
            words = f"git pulled from {remote.called}", "They are told here, and a sync sends nothing."
            refuse_unsigned(_signatures(store), words, pulled, {seen}, here)


def refuse_unsigned(
    signatures: Signatures, words: tuple[str, str], commit: str, known: Collection[str | None], here: str | None = None
) -> None:
    """Refuse a commit that is neither known nor covered by a signature; the message begins and ends with `words`."""
    if commit in known:
        return
    refused = signatures.unsigned(commit, filter(None, known), here)
    if not refused:
        return
    named = "; ".join(
        f"{one.oid[:10]} of {one_line(one.author, 60)}: {one_line(one.subject, 60)}" for one in refused[:_NAMED]
    )
    many = f", and {len(refused) - _NAMED} more" if len(refused) > _NAMED else ""
    raise RefusedError(
        f"{words[0]} commits that no trusted key signed: {named}{many}. {words[1]}",
        "Their authors can set remote.trust to signed and sync; 'git config --global gpg.ssh.allowedSignersFile' names "
        "the file of the keys you trust. Of those that are in the memory here already, your signature says that you "
        "looked: 'git commit --allow-empty --gpg-sign' there.",
    )


def signed(store: Store, target: str) -> tuple[str, Mapping[str, tuple[str | None, str | None]]]:
    """Return the commit to send: where the person wants signed ones, a signed commit on top of one that is not.

    Also the updates that remove the ref which holds it.

    Raises GitmemError if git could not sign.
    """
    signatures = _signatures(store)
    if store.config.remote.trust != SIGNED or signatures.signers([target]):
        return target, {}
    layout = store.repository.layout
    author = IdentityLookup(layout.git_dir, layout.work_tree, store.context.environ).result()
    date = f"@{int(store.context.clock().timestamp())} +0000"
    message = Message("Sign the memory", ((Trailer.OP.value, Op.SIGN.value),)).render()
    commit = signatures.sign(target, message, author, date)
    held = new_pending_ref(store)
    move_refs(store.repository.git, {held: (None, commit)})
    return commit, {held: (commit, None)}


def _signatures(store: Store) -> Signatures:
    return Signatures(store.repository.layout, store.context.environ)
