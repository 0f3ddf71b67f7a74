"""Find a git repository, read its layout and refs, compute object ids, and move refs by compare-and-swap."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

from gitmem.errors import GitFailedError, GitmemError, NotFoundError, UnfinishedError
from gitmem.git.layout import MEMORY_BRANCH, Layout
from gitmem.platform.safe_open import read_text
from gitmem.values import TYPE_CHECKING, Any, TypeVar, Value

if TYPE_CHECKING:
    from hashlib import _Hash

    from gitmem.git.history import StoreRepo
    from gitmem.git.log import Commit
    from gitmem.git.objects import Objects, PathChange
    from gitmem.git.process import Git


T = TypeVar("T")
_OBJECT_ID_LENGTHS = (40, 64)
_SHA1_DIGITS = 40
_LARGE = 1 << 19  # bytes; above, OpenSSL's SHA-1 is worth the 3 ms of its import: it is eight times as fast
_HEX = frozenset("0123456789abcdef")
_TO_PARENTS = ("", "~", "^")
_MOST_REVISION = 1_000  # characters; git's stack ends at some 20,000 `^`
# By a file that marks an operation of the user as unfinished: its name, and how to end it.
_CONTINUE = "Finish it with 'git {0} --continue' or give it up with 'git {0} --abort' there."
_UNFINISHED = {
    "MERGE_HEAD": ("A merge", _CONTINUE.format("merge")),
    "rebase-apply/applying": ("A series of patches ('git am')", _CONTINUE.format("am")),
    "rebase-apply": ("A rebase", _CONTINUE.format("rebase")),
    "rebase-merge": ("A rebase", _CONTINUE.format("rebase")),
    "CHERRY_PICK_HEAD": ("A cherry-pick", _CONTINUE.format("cherry-pick")),
    "REVERT_HEAD": ("A revert", _CONTINUE.format("revert")),
    "sequencer": ("A cherry-pick or revert", "Finish it there with '--continue', as 'git status' says."),
    "BISECT_LOG": ("A bisect", "End it with 'git bisect reset' there."),
}


def is_object_id(text: str) -> bool:
    """Return whether `text` is a full object id in hexadecimal (SHA-1 or SHA-256)."""
    return len(text) in _OBJECT_ID_LENGTHS and _HEX.issuperset(text)


def blob_id(content: bytes, like: str) -> str:
    """Return git's id for a file's content, in the hash of the id `like` (SHA-1 or SHA-256)."""
    digest = _new_hash(like, len(content))
    digest.update(b"blob %d\0" % len(content))
    digest.update(content)
    return digest.hexdigest()


def _new_hash(like: str, size: int) -> _Hash:
    if len(like) != _SHA1_DIGITS:
        from hashlib import sha256

        return sha256(usedforsecurity=False)
    if size <= _LARGE and "hashlib" not in sys.modules:
        try:
            from _sha1 import sha1  # type: ignore[import-not-found,unused-ignore]
        except ImportError:  # another Python
            pass
        else:
            small: _Hash = sha1(usedforsecurity=False)
            return small
    from hashlib import sha1 as openssl_sha1

    return openssl_sha1(usedforsecurity=False)


def empty_tree(git: Git) -> str:
    """Return the id of the empty tree."""
    return git.run("hash-object", "-t", "tree", "--stdin", stdin=b"").decode().strip()


class TreeEntry(Value):
    """A file in a tree; `size` is in bytes."""

    path: str
    mode: str
    oid: str
    size: int


class Repository:
    """Reads a repository, each time at an explicit revision."""

    def __init__(self, layout: Layout, environ: Mapping[str, str]) -> None:
        self.layout = layout
        self._environ = environ
        self._objects: Objects | None = None
        self._answers: dict[tuple[str, ...], Any] = {}  # the last few

    @cached_property
    def git(self) -> Git:
        """The git of this repository, made on first use: a search, for example, needs none."""
        from gitmem.git.process import Git

        return Git(self.layout.git_dir, self.layout.work_tree, self._environ)

    @cached_property
    def history(self) -> StoreRepo:
        """The repository for history that a user looks at, read by GitPython."""
        from gitmem.git.history import StoreRepo  # 75 ms

        return StoreRepo(self.git)

    @contextlib.contextmanager
    def reading(self) -> Iterator[Objects]:
        """Share one `git cat-file --batch-command` for all objects read in the block."""
        if self._objects is not None:  # in an outer block
            yield self._objects
            return
        from gitmem.git.objects import Objects

        with Objects(self.git) as objects:
            self._objects = objects
            try:
                yield objects
            finally:
                self._objects = None

    def branch(self) -> str:
        """Return the full name of the branch that `HEAD` is on, `refs/heads/…`.

        Raises UnfinishedError if `HEAD` is on no branch or not on the memory branch, or an operation of the user's is
        unfinished.
        """
        work_tree, git_dir = self.layout.work_tree, self.layout.git_dir
        for name, (operation, remedy) in _UNFINISHED.items():
            if os.path.lexists(os.path.join(git_dir, name)):
                raise UnfinishedError(f"{operation} is in progress in the store at {work_tree}.", remedy)
        branch, memory = self.head(), f"refs/heads/{MEMORY_BRANCH}"
        go_back = f"Go back with 'git switch {MEMORY_BRANCH}' there."
        if branch is None:
            file = os.path.join(git_dir, "HEAD")
            if not is_object_id(head := read_text(file).strip()) and not head.startswith("ref: "):  # as by a power cut
                raise UnfinishedError(f"{file} is damaged: it names no branch.", f"Write 'ref: {memory}' into it.")
            raise UnfinishedError(f"The store at {work_tree} has no branch checked out (HEAD is detached).", go_back)
        if branch != memory and self.tip(memory) is not None:
            raise UnfinishedError(f"The store at {work_tree} is on {branch}, not on its memory.", go_back)
        return branch

    @property
    def memory(self) -> str:
        """The ref to read the memory from, also while the user has something else checked out."""
        head, memory = self.head(), f"refs/heads/{MEMORY_BRANCH}"
        return memory if head == memory or self.tip(memory) else head or "HEAD"

    def head(self) -> str | None:
        """Return the full name of the branch that `HEAD` is on, None if it is on none."""
        head = read_text(os.path.join(self.layout.git_dir, "HEAD")).rstrip("\n")
        if head == "ref: refs/heads/.invalid":  # reftable keeps HEAD elsewhere
            try:
                head = "ref: " + self.git.run("symbolic-ref", "--quiet", "HEAD").decode().strip()
            except GitFailedError:
                return None
        return head[5:] if head.startswith("ref: refs/heads/") else None

    def tip(self, ref: str) -> str | None:
        """Return the commit a branch points to, None if it does not exist yet.

        Read a loose ref from its file; ask git for everything else.

        Raises GitmemError if the branch is damaged, as after a power failure.
        """
        path = os.path.join(self.layout.common_dir, ref)
        loose = read_text(path).strip() if ref != "HEAD" else ""  # each work tree has its own HEAD
        if is_object_id(loose) and loose.strip("0"):
            return loose
        answer = self.git.run(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}", ok=(0, 1, 128)
        )
        if not answer and os.path.isfile(path):
            log = os.path.join(self.layout.common_dir, "logs", ref)
            remedy = f"The second word of the last line of {log} is where it was, and belongs into {path}."
            if not os.path.isfile(log):
                remedy = f"'git fsck --lost-found' there names commits; the id of the right one belongs into {path}."
            raise GitmemError(f"The branch {ref} of the store at {self.layout.work_tree} is damaged.", remedy)
        return answer.decode().strip() or None

    def resolve(self, revision: str) -> str:
        """Return the commit a revision names (`HEAD~3`, a tag …), `HEAD` the memory's tip; raises NotFoundError."""
        if not revision.startswith("-") and "\0" not in revision and len(revision) <= _MOST_REVISION:
            if revision[:4] == "HEAD" and revision[4:5] in _TO_PARENTS and self.memory != self.head():
                revision = self.memory + revision[4:]
            peeled = f"{revision}^{{commit}}"
            answer = self.git.run("rev-parse", "--verify", "--quiet", "--end-of-options", peeled, ok=(0, 1, 128))
            oid = answer.decode().strip()
            if is_object_id(oid):  # not `^ID`, which excludes it
                return oid
        raise NotFoundError(
            f"There is no revision {revision[:_MOST_REVISION]!r} in the store.", "'gitmem log' lists what there is."
        )

    def read(self, commit: str, path: str) -> bytes | None:
        """Return the content of a file in a commit, None if there is none, or a folder or link."""
        entry = next((entry for entry in self.files(commit, path) if entry.path == path), None)
        return None if entry is None or not entry.mode.startswith("100") else self.blob(entry.oid)

    def ever_had(self, path: str) -> bool:
        """Return whether a file of this path is, or ever was, in the tree of a commit of `HEAD`."""
        return bool(self.git.run("rev-list", "--max-count=1", "HEAD", "--", path))

    def rest(self) -> None:
        """End the git process that reads objects, until the next read: it keeps packs open that will be removed."""
        if self._objects is not None:
            self._objects.close()

    def blob(self, oid: str) -> bytes:
        """Return the content of a blob."""
        [data] = self.blobs([oid])
        return data

    def blobs(self, oids: Sequence[str]) -> Iterator[bytes]:
        """Yield the contents of blobs in order, a few at a time in memory; raises GitFailedError if one is missing."""
        with self.reading() as objects:
            yield from objects.existing(oids)

    def sizes(self, oids: Sequence[str]) -> list[int]:
        """Return the sizes of blobs in bytes, in the given order. Raises as `blobs`."""
        with self.reading() as objects:
            return objects.sizes(oids)

    def files(self, commit: str, *under: str, deep: bool = True) -> list[TreeEntry]:
        """Return the files of a commit, or those of the paths and folders in `under`, in git's order.

        Includes symbolic links (mode `120000`), not submodules. Unless `deep`, only files directly in the top folder or
        in a folder in `under` that is named with its `/`.
        """
        options = ("-r",) * deep + ("-z", "-l", "--full-tree")
        listing = self.git.run("--literal-pathspecs", "ls-tree", *options, commit, "--", *under)
        entries = []
        for line in listing.split(b"\0")[:-1]:
            meta, _, path = line.partition(b"\t")
            mode, kind, oid, size = meta.split()
            if kind == b"blob":
                entries.append(TreeEntry(os.fsdecode(path), mode.decode(), oid.decode(), int(size)))
        return entries

    def names(self, commit: str, folder: str) -> bytes:
        """Return the paths of a commit's files below a folder, each ended by a zero byte: git opens none of them."""
        return self.git.run(
            "--literal-pathspecs", "ls-tree", "-r", "-z", "--name-only", "--full-tree", commit, "--", folder
        )

    def changes(self, old: str, new: str, *paths: str) -> list[PathChange]:
        """Return the paths that differ between two commits or trees; see `gitmem.git.objects.tree_changes`."""
        from gitmem.git.objects import tree_changes

        if paths or not (is_object_id(old) and is_object_id(new)):
            return tree_changes(self.git, old, new, *paths)
        return self._once(("changes", old, new), lambda: tree_changes(self.git, old, new))

    def since(self, old: str, new: str, timeout: float = 300.0) -> list[Commit]:
        """Return the commits that `new` has and `old` ("": nothing) lacks, given by full ids, children first."""
        from graphlib import TopologicalSorter

        from gitmem.git.log import log

        def read() -> list[Commit]:
            commits = log(self.git, f"{old}..{new}" if old else new, timeout=timeout)
            if all(len(commit.parents) <= 1 for commit in commits):  # a line, which git shows in its order
                return commits
            by_oid = {commit.oid: commit for commit in reversed(commits)}
            parents_first = TopologicalSorter({oid: commit.parents for oid, commit in by_oid.items()}).static_order()
            return [by_oid[oid] for oid in parents_first if oid in by_oid][::-1]

        return self._once(("since", old, new), read)

    def _once(self, question: tuple[str, ...], ask: Callable[[], T]) -> T:
        """Cache git's answer to a question that a sync, or a page, asks several times."""
        if question in self._answers:
            known: T = self._answers[question]
            return known
        answer = ask()  # before the cache is changed, as another thread may change it meanwhile
        self._answers = {**dict([*self._answers.items()][-3:]), question: answer}
        return answer

    def is_ancestor(self, old: str, new: str) -> bool:
        """Return whether `old` is an ancestor of `new`; False if either is missing."""
        try:
            self.git.run("merge-base", "--is-ancestor", old, new)
        except GitFailedError:
            return False
        return True


SYNC = ("-c", "core.fsync=committed,reference", "-c", "core.fsyncMethod=fsync")
MOVED = ("but expected", "already exists", "unable to resolve reference")  # update-ref's errors for a moved ref


def read_refs(git: Git, *patterns: str) -> dict[str, str]:
    """Return the refs with these names or prefixes, and the object each points to."""
    output = git.run("for-each-ref", "--format=%(objectname) %(refname)", *patterns).decode("utf-8", "surrogateescape")
    pairs = (line.split(" ", 1) for line in output.splitlines())
    return {name: oid for oid, name in pairs}


RefMoves = dict[str, tuple[str | None, str | None]]  # by ref: old and new commit, None for a missing ref


def move_ref(git: Git, ref: str, new: str | None, old: str | None, why: str = "gitmem") -> bool:
    """Move a ref from `old` to `new` (None: missing); return False if it is not at `old`. Raises as `Git.run`."""
    return move_refs(git, {ref: (old, new)}, why)


def move_refs(git: Git, moves: RefMoves, why: str = "gitmem") -> bool:
    """Move several refs in one transaction, as `move_ref` moves one."""
    lines = [
        f"delete {ref} {old}\n" if new is None else f"update {ref} {new} {old or '0' * len(new)}\n"
        for ref, (old, new) in moves.items()
        if old != new
    ]
    try:
        if lines:
            git.run(*SYNC, "update-ref", "-m", why, "--stdin", stdin="".join(lines).encode())
    except GitFailedError as error:
        if any(words in error.stderr for words in MOVED):
            return False
        raise
    return True
