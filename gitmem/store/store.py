"""The store: open one, read it, and change it in transactions that lose nothing (docs/format.md, "Order of writes")."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from functools import cached_property

from gitmem.errors import GitmemError, NotSavedError, StoreFormatError, StoreNotFoundError
from gitmem.git.repository import Repository, find_layout, is_object_id
from gitmem.git.trust import check_layout
from gitmem.machine.beneath import read_text
from gitmem.model.paths import FORMAT, TEMPORARY
from gitmem.store.config.personal import read_config, read_small
from gitmem.store.spool.spool import Spool

TYPE_CHECKING = False  # see gitmem.git.process.run
if TYPE_CHECKING:
    from gitmem.git.identity import IdentityLookup
    from gitmem.git.locks.choose import Lock, LockKind
    from gitmem.git.worktree.files import WorkTree
    from gitmem.machine.context import Context

# What only writing needs is imported where it is: most commands read, and a session's start waits for them.

FORMAT_VERSION = 1
PRIVATE_FOLDER = "gitmem"
PURGING = "purging"  # in it, while something is taken out of history (gitmem.store.rewrite.apply)
PACKS = "packs"  # in it, where the repository is the user's project's
REMOTES_FILE = "remotes"  # in it, where the repository is the user's project's
MAX_PACKS = 50  # as git's own gc.autoPackLimit; a save leaves one, and takes twice as long among a thousand
MAX_LISTED = 20  # packs of gitmem's in a project's repository, where git counts all of them to that limit


class Store:
    """One project's memory. Opening it reads a few small files and starts no process.

    Raises:
        StoreNotFoundError: there is none.
        RefusedError: it is another user's, or it is linked to a repository that is not its own.

    """

    def __init__(self, work_tree: str, context: Context) -> None:
        layout = find_layout(work_tree)
        if layout is None:
            raise StoreNotFoundError(f"There is no store at {work_tree}.", "'gitmem init' makes one.")
        check_layout(layout, context.environ)
        self.root = work_tree
        self.context = context
        self.repository = Repository(layout, context.environ)
        self.private = os.path.join(layout.common_dir, PRIVATE_FOLDER)
        self.spool = Spool(os.path.join(self.private, "spool"))
        self.config = read_config(context.environ, context.home, work_tree)
        self._asked: IdentityLookup | None = None
        self._lock_kind: LockKind | None = None  # found out once
        self.format_document = read_small(os.path.join(work_tree, FORMAT), follow=False) or b""
        self.check_format(self.format_document)

    @cached_property
    def files(self) -> WorkTree:
        """The files of the work tree, as those see them who change them."""
        from gitmem.git.worktree.files import WorkTree

        return WorkTree(self.root, self.repository.git, TEMPORARY)

    @property
    def own_repository(self) -> bool:
        """Whether the repository is the store's own, not the user's project's (`init --branch`)."""
        layout = self.repository.layout
        return layout.git_dir == layout.common_dir

    @property
    def packs_file(self) -> str:
        """The file that lists the packs gitmem made, where the repository is the user's project's; else ""."""
        return "" if self.own_repository else os.path.join(self.private, PACKS)

    @property
    def tip(self) -> str | None:
        """The commit the memory branch points to now."""
        return self.repository.tip(self.repository.branch())

    def lock(self, purpose: str) -> Lock:
        """Return the store's lock, not acquired yet."""
        from gitmem.git.locks.choose import LockKind, choose_kind, open_lock

        os.makedirs(self.private, mode=0o700, exist_ok=True)
        self._lock_kind = self._lock_kind or choose_kind(LockKind(self.config.lock.kind), self.private)
        return open_lock(
            self.repository.git, self.private, kind=self._lock_kind, purpose=purpose, machine=self.context.machine
        )

    def folder_lock(self, folder: str, purpose: str) -> Lock:
        """Return the lock of a folder of caches, not acquired yet: a file, which no writer of the store waits for."""
        from gitmem.git.locks.choose import LockKind, open_lock

        return open_lock(self.repository.git, folder, kind=LockKind.FILE, purpose=purpose, machine=self.context.machine)

    def at_rest(self, *, checked: bool = False) -> str | None:
        """Return the tip if the work tree is known to hold it, but for edits by hand; None where a transaction repairs.

        With `checked` the format of what the tip holds is looked at, too.

        Raises:
            UnfinishedError: the store is in the middle of a git operation of the user's.
            StoreFormatError: a newer gitmem has migrated the store.

        """
        tip = self.tip
        if tip is None or self.marked() != tip or os.path.exists(os.path.join(self.private, PURGING)):
            return None
        if checked:
            with self.repository.reading() as objects:
                self.check_format(next(objects.contents([f"{tip}:{FORMAT}"])) or b"")
        return tip

    def has_remotes(self) -> bool:
        """Say whether memory is synced with any remote; starts no process."""
        layout = self.repository.layout
        path = os.path.join(*((layout.common_dir, "config") if self.own_repository else (self.private, REMOTES_FILE)))
        return '[remote "' in read_text(path)

    def spare_packs(self) -> int:
        """Count the packs beyond those that need not be joined, by one look; in a project's repository gitmem's own."""
        if self.packs_file:
            return read_text(self.packs_file).count("\n") - MAX_LISTED
        try:
            names = os.listdir(os.path.join(self.repository.layout.common_dir, "objects", "pack"))
        except OSError:
            return 0
        return sum(name.endswith(".pack") for name in names) - MAX_PACKS

    def read(self, path: str) -> bytes | None:
        """Return a file of the work tree, None where there is none; raises RefusedError for links."""
        return self.files.read(path)

    def glance(self, path: str, most: int) -> bytes | None:
        """Return a file of the work tree; of one with more than so many bytes, lines of its beginning and its end."""
        return self.files.glance(path, most)

    def mark(self, commit: str) -> None:
        """Note that the work tree holds `commit` (docs/format.md, `checkout`)."""
        write_mark(self.private, commit)

    def marked(self) -> str | None:
        """Return the commit the work tree was last known to hold."""
        commit = read_text(os.path.join(self.private, "checkout")).strip()
        return commit if is_object_id(commit) else None

    def identity(self) -> IdentityLookup:
        """Return who commits, asked once: one command has one author, however many transactions it takes."""
        from gitmem.git.identity import IdentityLookup

        if self._asked is None or self._asked.expired:
            layout = self.repository.layout
            self._asked = IdentityLookup(layout.git_dir, layout.work_tree, self.context.environ)
        return self._asked

    @contextlib.contextmanager
    def saving(self) -> Iterator[None]:
        """Raise NotSavedError in place of an OSError: the disk is full, read-only, or not ours to write."""
        again = "Make room or give access, then try again."
        try:
            yield
        except OSError as error:
            what = f"{error.strerror or error}" + (f" ({error.filename})" if error.filename else "")
            raise NotSavedError(f"Nothing was saved to {self.root}: {what}.", again) from error
        except GitmemError as error:
            if isinstance(error.__cause__, OSError) and not isinstance(error, NotSavedError):
                raise NotSavedError(f"Nothing was saved to {self.root}: {error.message}", again) from error
            raise

    def check_format(self, document: bytes) -> None:
        """Raise StoreFormatError if this `FORMAT.md` is of a version that this gitmem does not know."""
        version = format_version(document)
        if version is not None and version != FORMAT_VERSION:
            raise StoreFormatError(
                f"The store at {self.root} has format version {version}; this gitmem knows version {FORMAT_VERSION}.",
                "Upgrade gitmem: 'pip install --upgrade gitmem-store'. Nothing was touched.",
            )


def write_mark(private: str, commit: str) -> None:
    """Note in a private folder that the work tree holds `commit`."""
    path = os.path.join(private, "checkout")
    temporary = f"{path}.new"  # one name: what a killed process leaves, the next one uses up
    with open(temporary, "w", encoding="utf-8") as file:  # a codec that is there already
        file.write(commit + "\n")
    os.replace(temporary, path)


def format_version(document: bytes) -> int | None:
    """Return the version a `FORMAT.md` names in its header, None where it names none."""
    for line in document[:4096].split(b"\n---")[0].split(b"\n"):
        if line.startswith(b"version:"):
            value = line[8:].split(b"#")[0].strip(b" \t\r\"'")
            return int(value) if value.isdigit() else None
    return None
