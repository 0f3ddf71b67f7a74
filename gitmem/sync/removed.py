"""Find and restore what a backup has and was removed here, by comparing trees: by history it is already merged."""

from __future__ import annotations

from gitmem.document.document import Document
from gitmem.document.entry import entry_ids, find_entries, restore_entries, section_of
from gitmem.document.ids import FACTS, MEMORY, is_memory
from gitmem.document.message import Op, op_message
from gitmem.git.objects import read_tree
from gitmem.store.entrance import file_id
from gitmem.store.store import Store
from gitmem.store.transact import transact
from gitmem.store.transaction import Transaction
from gitmem.values import Value

# Operations that remove a file whose text is kept in another one, or by the user's settings.
_KEPT_ELSEWHERE = {Op.CONSOLIDATE.value, Op.ROTATE.value, Op.RETAIN.value, Op.MERGE.value}


class Removed(Value):
    """The files and the entries of `memory.md` that a backup has, and that were removed here since."""

    commit: str
    files: tuple[str, ...]
    entries: tuple[str, ...]

    def __len__(self) -> int:
        """Return the number of files and entries."""
        return len(self.files) + len(self.entries)


def find_removed(store: Store, backup: str) -> Removed:
    """Return what a backup's commit has and the tip lacks, except what the tip has elsewhere."""
    git, tip = store.repository.git, store.tip or ""
    here, there = read_tree(git, tip), read_tree(git, backup)
    listed = zip(here, store.repository.blobs([oid for _, oid in here.values()]), strict=True)
    files_here = {file_id(path) for path in here}
    tokens = files_here.union(
        *(entry_ids(data.decode("utf-8", "replace")) for path, data in listed if path.endswith(".md"))
    )
    moved = _kept_elsewhere(store, tip)
    gone = [path for path in there if path not in here and is_memory(path) and path not in moved]
    # The line of a fact in a log is not the fact.
    files = [
        path
        for path in gone
        if file_id(path) not in (files_here if path.startswith(f"{FACTS}/") else tokens) or not file_id(path)
    ]
    tokens.update(map(file_id, files))  # their lines in `memory.md` come with them
    memory = (store.repository.read(backup, MEMORY) or b"").decode("utf-8", "replace")
    return Removed(backup, tuple(files), tuple(sorted(entry_ids(memory) - tokens)))


def _kept_elsewhere(store: Store, tip: str) -> set[str]:
    """Return the files that were removed by commits that keep their text elsewhere."""
    form = "--format=%x01%(trailers:key=Gitmem-Op,valueonly,separator=%x20)%x02"
    listing = store.repository.git.run("log", "--diff-filter=D", "--name-only", "--no-renames", "-z", form, tip)
    ids: set[str] = set()
    for commit in listing.decode("utf-8", "surrogateescape").split("\x01")[1:]:
        op, _, names = commit.partition("\x02")
        if op.strip() in _KEPT_ELSEWHERE:
            ids.update(name.strip("\n") for name in names.split("\0"))
    return ids


def bring_back(store: Store, removed: Removed) -> str | None:
    """Restore these from a backup in one commit, which `gitmem undo` can revert; return it."""
    contents = {path: store.repository.read(removed.commit, path) for path in removed.files}
    memory = (store.repository.read(removed.commit, MEMORY) or b"").decode("utf-8", "surrogateescape")
    entries = [
        (section_of(memory, entry), entry.entry) for entry in find_entries(memory) if entry.entry.id in removed.entries
    ]

    def plan(transaction: Transaction) -> bool:
        changes = dict(contents)
        document = Document.parse(transaction.read(MEMORY) or b"")
        if entries:
            changes[MEMORY] = document.with_body(restore_entries(document.body, entries)).render()
        return transaction.commit(op_message(Op.EDIT, f"Bring back {len(removed)} memories of a backup"), changes)

    return transact(store, plan, purpose="restore").commit
