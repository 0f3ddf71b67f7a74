"""The refs that gitmem may move in a store's repository, and the refs of transcripts.

Tested through `tests/store/transcripts/test_transcripts.py` and `tests/store/rewrite/test_apply.py`.
"""

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
_OWN_REFS = "refs/gitmem/"
_REGULAR = "100644"


def own_refs(store: Store) -> dict[str, tuple[str, str]]:
    """Return the refs that gitmem may move: for each the object id and the peeled commit, or "".

    In a repository of the store's own these are all refs.
    """
    patterns = [] if store.own_repository else [store.repository.branch(), _OWN_REFS, *legacy_branch(store)]
    form = "--format=%(objectname) %(objecttype) %(*objectname) %(*objecttype) %(symref)%00%(refname)"
    output = store.repository.git.run("for-each-ref", form, *patterns).decode("utf-8", "surrogateescape")
    refs = {}
    for line in output.splitlines():
        fields, _, name = line.partition("\0")
        oid, kind, peeled, peeled_kind, symbolic = (fields.split(" ") + [""] * 5)[:5]
        commit = oid if kind == "commit" else peeled if peeled_kind == "commit" else ""
        if not symbolic:
            refs[name] = (oid, commit)
    return refs


def legacy_branch(store: Store) -> dict[str, str]:
    """Return the branch where an older gitmem keeps transcripts, with its tip; {} if there is none.

    Such a branch starts with the root commit of every store and holds nothing but transcripts.
    """
    git = store.repository.git
    branches = read_refs(git, "refs/heads/l1" if store.own_repository else "refs/heads/gitmem-l1")
    return {
        branch: tip
        for branch, tip in branches.items()
        if store.repository.is_ancestor(make_root(git), tip) and not other_files(store, tip)
    }


def other_files(store: Store, commit: str) -> list[str]:
    """Return the paths of a commit that are not transcripts."""
    return [
        path
        for path, (mode, _) in read_tree(store.repository.git, commit).items()
        if mode != _REGULAR or not path.startswith(f"{FOLDER}/") or not path.endswith(SUFFIX)
    ]
