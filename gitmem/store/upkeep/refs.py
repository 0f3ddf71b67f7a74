"""The refs that are gitmem's in a store's repository, and those that hold transcripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.git.objects.treediff import read_tree
from gitmem.git.refs import read_refs
from gitmem.git.setup import make_root

if TYPE_CHECKING:
    from gitmem.store.store import Store

FOLDER = "sessions"  # of transcripts
SUFFIX = ".l1.jsonl"
REF = "refs/gitmem/l1"
_OURS = "refs/gitmem/"
_REGULAR = "100644"


def refs_of(store: Store) -> dict[str, tuple[str, str]]:
    """Return the refs that are gitmem's to move: what each points to, and the commit that is ("": none).

    In a repository of the store's own all are.
    """
    mine = [] if store.own_repository else [store.repository.branch(), _OURS, *on_a_branch(store)]
    form = "--format=%(objectname) %(objecttype) %(*objectname) %(*objecttype) %(symref)%00%(refname)"
    said = store.repository.git.run("for-each-ref", form, *mine).decode("utf-8", "surrogateescape")
    found = {}
    for line in said.splitlines():
        facts, _, name = line.partition("\0")
        oid, kind, peeled, peeled_kind, symbolic = (facts.split(" ") + [""] * 5)[:5]
        commit = oid if kind == "commit" else peeled if peeled_kind == "commit" else ""
        if not symbolic:
            found[name] = (oid, commit)
    return found


def on_a_branch(store: Store) -> dict[str, str]:
    """Return the branch on which an older gitmem keeps transcripts, and its tip; nothing where there is none.

    It begins as every store does and holds transcripts alone.
    """
    git = store.repository.git
    found = read_refs(git, "refs/heads/l1" if store.own_repository else "refs/heads/gitmem-l1")
    return {
        branch: tip
        for branch, tip in found.items()
        if store.repository.is_ancestor(make_root(git), tip) and not other_files(store, tip)
    }


def other_files(store: Store, commit: str) -> list[str]:
    """Return the paths of a commit that are no transcripts."""
    return [
        path
        for path, (mode, _) in read_tree(store.repository.git, commit).items()
        if mode != _REGULAR or not path.startswith(f"{FOLDER}/") or not path.endswith(SUFFIX)
    ]
