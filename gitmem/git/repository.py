"""A repository on disk: where it is, what its branches point to, and what stood in it at any revision."""

from __future__ import annotations

import os
from dataclasses import dataclass

from gitmem.errors import GitFailedError, NotFoundError, UnfinishedError
from gitmem.git.process import Git

TYPE_CHECKING = False  # see gitmem.git.process
if TYPE_CHECKING:
    from collections.abc import Mapping

_OBJECT_ID_LENGTHS = (40, 64)
_HEX = frozenset("0123456789abcdef")
# What git leaves in its folder while an operation of the user's waits for them, and what it is called.
_UNFINISHED = {
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
}


def is_object_id(text: str) -> bool:
    """Say whether `text` is a full object id in hexadecimal (SHA-1 or SHA-256)."""
    return len(text) in _OBJECT_ID_LENGTHS and _HEX.issuperset(text)


@dataclass(frozen=True, slots=True)
class Layout:
    """Where a repository with a work tree is, as absolute paths.

    `git_dir` holds `HEAD` and the index of this work tree, `common_dir` objects and branches; they differ in a linked
    work tree only.
    """

    work_tree: str
    git_dir: str
    common_dir: str


def find_layout(work_tree: str) -> Layout | None:
    """Return the layout of the repository whose work tree's top is `work_tree`, None where there is none.

    Reads `.git`, and for a linked work tree `commondir`, as gitrepository-layout describes them; starts no git.
    """
    dot_git = os.path.join(work_tree, ".git")
    if os.path.isdir(dot_git):
        return Layout(work_tree, dot_git, common_dir_of(dot_git)) if _looks_like_git(dot_git) else None
    text = read_text(dot_git)
    if not text.startswith("gitdir:"):
        return None
    git_dir = os.path.normpath(os.path.join(work_tree, text[7:].strip()))
    return Layout(work_tree, git_dir, common_dir_of(git_dir)) if os.path.isfile(f"{git_dir}/HEAD") else None


def common_dir_of(git_dir: str) -> str:
    """Return the common folder of a git dir: what its `commondir` names, else itself."""
    named = read_text(os.path.join(git_dir, "commondir")).strip()
    return os.path.normpath(os.path.join(git_dir, named)) if named else git_dir


def _looks_like_git(folder: str) -> bool:
    return os.path.isfile(f"{folder}/HEAD")


def read_text(path: str) -> str:
    """Return the content of a small file of git's, "" where it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read(65536)
    except OSError:
        return ""


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """A file in a tree; `size` is in bytes."""

    path: str
    mode: str
    oid: str
    size: int


@dataclass(frozen=True, slots=True)
class PathChange:
    """A path that differs between two commits; an id is None where the file is missing."""

    path: str
    old: str | None
    new: str | None


class Repository:
    """Reads of a repository, each at an explicit revision."""

    def __init__(self, layout: Layout, environ: Mapping[str, str]) -> None:
        self.layout = layout
        self.git = Git(layout.git_dir, layout.work_tree, environ)

    def branch(self) -> str:
        """Return the full name of the branch that `HEAD` is on, `refs/heads/…`.

        Raises:
            UnfinishedError: `HEAD` is on no branch, or an operation of the user's is unfinished.

        """
        for name, operation in _UNFINISHED.items():
            if os.path.lexists(os.path.join(self.layout.git_dir, name)):
                article = "A"
                raise UnfinishedError(
                    f"{article} {operation} is in progress in the store at {self.layout.work_tree}.",
                    f"Finish it with 'git {operation} --continue' or give it up with 'git {operation} --abort' there.",
                )
        head = read_text(os.path.join(self.layout.git_dir, "HEAD")).strip()
        if head.startswith("ref: refs/heads/") and not head.endswith("/.invalid"):
            return head[5:]
        if head.startswith("ref: "):  # reftable keeps HEAD elsewhere
            try:
                return self.git.run("symbolic-ref", "--quiet", "HEAD").decode().strip()
            except GitFailedError:
                pass
        raise UnfinishedError(
            f"The store at {self.layout.work_tree} has no branch checked out (HEAD is detached).",
            "Go back with 'git switch gitmem' there (or 'git bisect reset').",
        )

    def tip(self, ref: str) -> str | None:
        """Return the commit a branch points to, None where it does not exist yet.

        A loose ref is read as the file it is; everything else is asked of git.
        """
        loose = read_text(os.path.join(self.layout.common_dir, ref)).strip()
        if is_object_id(loose):
            return loose
        found = self.git.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}", ok=(0, 1))
        return found.decode().strip() or None

    def resolve(self, revision: str) -> str:
        """Return the commit a revision names (`HEAD~3`, a tag, an abbreviated id, …).

        Raises:
            NotFoundError: it names none.

        """
        if not revision.startswith("-") and "\0" not in revision:
            peeled = f"{revision}^{{commit}}"
            found = self.git.run("rev-parse", "--verify", "--quiet", "--end-of-options", peeled, ok=(0, 1, 128))
            if found.strip():
                return found.decode().strip()
        raise NotFoundError(f"There is no revision {revision!r} in the store.", "'gitmem log' lists what there is.")

    def read(self, commit: str, path: str) -> bytes | None:
        """Return the content of a file in a commit, None where it has none."""
        entry = next(iter(self.files(commit, path)), None)
        return None if entry is None else self.blob(entry.oid)

    def blob(self, oid: str) -> bytes:
        """Return the content of a blob."""
        return self.git.run("cat-file", "blob", oid)

    def files(self, commit: str, *under: str) -> list[TreeEntry]:
        """Return the files of a commit, or those of the paths and folders in `under`, in git's order."""
        listing = self.git.run("--literal-pathspecs", "ls-tree", "-r", "-z", "-l", "--full-tree", commit, "--", *under)
        entries = []
        for line in listing.split(b"\0")[:-1]:
            meta, _, path = line.partition(b"\t")
            mode, kind, oid, size = meta.split()
            if kind == b"blob":
                entries.append(TreeEntry(os.fsdecode(path), mode.decode(), oid.decode(), int(size)))
        return entries

    def changes(self, old: str, new: str, *paths: str) -> list[PathChange]:
        """Return what differs between two commits (or trees), in git's order, without guessing renames."""
        raw = self.git.run(
            "--literal-pathspecs",
            "diff-tree",
            "-r",
            "-z",
            "--raw",
            "--no-renames",
            "--no-abbrev",
            old,
            new,
            "--",
            *paths,
        )
        fields = raw.split(b"\0")[:-1]
        changes = []
        for meta, path in zip(fields[::2], fields[1::2], strict=True):
            _, _, before, after, _ = meta.decode().split()
            ids = [None if set(oid) == {"0"} else oid for oid in (before, after)]
            changes.append(PathChange(os.fsdecode(path), *ids))
        return changes

    def is_ancestor(self, old: str, new: str) -> bool:
        """Say whether commit `new` contains commit `old`; False where either is missing."""
        try:
            self.git.run("merge-base", "--is-ancestor", old, new)
        except GitFailedError:
            return False
        return True
