"""The store: its repository, work tree, private folder, lock and format (docs/architecture.md, "Order of writes")."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from functools import cached_property

from gitmem.config.read import read_config
from gitmem.document.ids import FORMAT, LONGEST_SCOPE, TEMPORARY, is_within, scope_name
from gitmem.errors import GitmemError, NotSavedError, RefusedError, StoreFormatError, disk_errors
from gitmem.git.layout import STORE_FOLDER
from gitmem.git.repository import Repository, is_object_id
from gitmem.git.trust import GITMEM, IdentityLookup
from gitmem.platform.machine import install_command, start_detached
from gitmem.platform.safe_open import make_last, read_small, read_text
from gitmem.store.acceptance import Acceptance, checked_layout
from gitmem.store.locate import PRIVATE_FOLDER, PRIVATE_SUFFIX, find_project, home_store, is_store, user_store
from gitmem.store.spool import Spool
from gitmem.values import TYPE_CHECKING

if TYPE_CHECKING:
    from gitmem.git.lock import Lock
    from gitmem.git.locking import LockKind
    from gitmem.git.worktree import WorkTree
    from gitmem.platform.machine import Context
    from gitmem.project.code import ProjectCode


# Imports that only writers need are late: most commands read, and a session's start waits for them.

FORMAT_VERSION = 2
READ_ONLY = "GITMEM_READONLY"  # "1" in CI and containers; hooks/hook.sh reads it, too
REMOTE = "GITMEM_REMOTE"  # the remote with the memory of a project without a store, likewise
LAYERS = "layers"  # in the private folder: which sessions are private, and pauses (gitmem.store.layers)
PURGING = "purging"  # in the private folder while a purge rewrites history (gitmem.purge.rewrite)
HOOK_GIT_TIMEOUT = 0.03  # `git_timeout` (seconds) while a hook waits; the background asks git again
_OWN_REFS = "refs/gitmem/"
# As in gitmem.search.vectors, gitmem.search.scan and gitmem.learn.left_out, which a save and a status need not import.
VECTORS, TEXTS, LEFT_OUT = "vectors", "texts", "left_out"
PACKS = "packs"  # in the private folder of a store on a branch of its project
REMOTES_FILE = "remotes"  # likewise
MAX_PACKS = 50  # git's gc.autoPackLimit; each save adds a pack, and takes twice as long among a thousand
MAX_LISTED = 20  # packs of gitmem in a project's repository; all packs there count to git's own limit


def open_user_store(store: Store) -> Store | None:
    """Return the user's own store (`gitmem init --user`); None without one, or if `store` is it.

    If it cannot be opened, it counts as missing: a project's memory works without it.
    """
    root = user_store(store.context.home)
    if not is_store(root) or os.path.realpath(root) == os.path.realpath(store.root):
        return None
    try:
        return Store(root, store.context)
    except (GitmemError, OSError):
        return None


class Store:
    """One project's memory. Opening it reads a few small files and starts no process.

    Raises:
        StoreNotFoundError: there is no store.
        RefusedError: it belongs to another user, or is linked to a repository that is not its own.
        StoreFormatError: it has a format version that this gitmem does not know.
    """

    def __init__(self, work_tree: str, context: Context) -> None:
        layout = checked_layout(work_tree, context.environ)
        self.root = work_tree
        self.folder = os.path.dirname(work_tree)  # in which the command works, perhaps of a linked work tree
        self.git_timeout = 1.0  # seconds that git may take to look up what became of branches
        self.context = context
        self.repository = Repository(layout, context.environ)
        self.private = os.path.join(layout.common_dir, PRIVATE_FOLDER)
        self.spool = Spool(os.path.join(self.private, "spool"))
        self.config = read_config(context.environ, context.home, work_tree)
        self.notices: list[str] = []  # of repairs when the store was opened; its next transaction returns them
        self._identity: IdentityLookup | None = None
        self._lock_kind: LockKind | None = None  # cached, since a file lock is tried to find it out
        self.format_document = read_small(os.path.join(work_tree, FORMAT), follow=False) or b""
        self.check_format(self.format_document)

    def check_format(self, document: bytes) -> None:
        """Raise StoreFormatError if this `FORMAT.md` names a version that this gitmem does not know."""
        check_format(document, f"The store at {self.root}")

    @cached_property
    def files(self) -> WorkTree:
        """The files of the work tree."""
        from gitmem.git.worktree import WorkTree

        return WorkTree(self.root, self.repository.git, TEMPORARY)

    @cached_property
    def documents(self) -> str:
        """The folder whose files are the memory: the work tree, or a copy of the tip while something else is in it."""
        from gitmem.store.tip_files import readable_root

        return readable_root(self.repository, self.root, self.private)

    @property
    def _readable(self) -> WorkTree:
        if self.documents == self.root:
            return self.files
        from gitmem.git.worktree import WorkTree

        return WorkTree(self.documents, self.repository.git, TEMPORARY)

    @property
    def is_private(self) -> bool:
        """Whether it is the private store of a project, which takes no remote."""
        return self.root.endswith(PRIVATE_SUFFIX)

    @property
    def has_layers(self) -> bool:
        """Whether any session may be private or paused."""
        return bool(self.config.private.folders) or os.path.isdir(os.path.join(self.private, LAYERS))

    @property
    def is_user_store(self) -> bool:
        """Whether it is the user's own store, of no project."""
        return os.path.realpath(user_store(self.context.home)) == os.path.realpath(self.root)

    def code(self) -> ProjectCode | None:
        """Return the repository of the project as it is checked out where the command works, None without one.

        The work behind hooks may run in the store, whose own repository is not the project's.
        """
        from gitmem.project.code import project_code

        project = project_code(self.folder, self.context.environ) if self.folder else None
        if project is not None and os.path.realpath(project.root) != os.path.realpath(self.root):
            return project
        return project_code(os.path.dirname(self.root), self.context.environ)

    @cached_property
    def scopes(self) -> tuple[str, ...]:
        """The parts of the project that have memories of their own (`gitmem init --scope`), as FORMAT.md names them."""
        if b"\nscopes:" not in self.format_document:
            return ()
        from gitmem.document.document import Document, as_texts

        names = as_texts(Document.parse(self.format_document).get("scopes"))
        return tuple(map(scope_name, (name for name in names if len(name) <= LONGEST_SCOPE)))

    @property
    def here(self) -> str:
        """The part of the project that the command works in; "" for all of it, or in a project without scopes."""
        return self.part_of(self.folder) if self.scopes else ""

    def scope_of(self, folder: str) -> str:
        """Return the innermost scope that a folder is in, "" if none."""
        if not self.scopes or not folder:
            return ""
        here = self.part_of(folder)
        return max((scope for scope in self.scopes if is_within(here, scope)), key=len, default="")

    def part_of(self, folder: str) -> str:
        """Return the name of the part of the project that a folder is; "" for its top, and for any outside of it."""
        from gitmem.project.code import project_code

        try:
            folder = os.path.realpath(folder)
            project, code = find_project(folder, self.context.home), project_code(folder, self.context.environ)
            own = os.path.join(project.root, STORE_FOLDER), home_store(project, os.path.realpath(self.context.home))
            if os.path.realpath(self.root).removesuffix(PRIVATE_SUFFIX) not in own:
                return ""
            top = code.root if code and code.common_dir == project.common_dir else project.root  # of a linked work tree
            inside = os.path.relpath(folder, os.path.realpath(top)).replace(os.sep, "/")
        except (GitmemError, OSError, ValueError):  # a host may name any folder
            return ""
        return "" if inside.startswith("..") else scope_name(inside)

    @cached_property
    def acceptance(self) -> Acceptance:
        """Whether the user said yes to this store, and to which remotes."""
        return Acceptance(self.repository.layout, self.private, self.context.home)

    @property
    def read_only(self) -> bool:
        """Return whether the environment says that nothing is to be recorded or sent (`GITMEM_READONLY`)."""
        return self.context.environ.get(READ_ONLY, "0") not in {"", "0"}

    def may_write(self) -> bool:
        """Return whether anything may be recorded or sent."""
        return not self.read_only and self.acceptance.is_accepted()

    def check_writes(self) -> None:
        """Raise unless something may be recorded or sent.

        Raises RefusedError if the environment says no, NotAcceptedError if the user did not say yes.
        """
        if self.read_only:
            raise RefusedError(f"{READ_ONLY} is set: nothing is saved or sent.", "Memory is shown; unset it to save.")
        self.acceptance.check()

    @property
    def has_separate_repository(self) -> bool:
        """Whether the store has a repository of its own; False on a branch of its project (`init --branch`)."""
        layout = self.repository.layout
        return layout.git_dir == layout.common_dir

    @property
    def packs_file(self) -> str:
        """The file that lists the packs gitmem made in the project's repository; "" in a repository of its own."""
        return "" if self.has_separate_repository else os.path.join(self.private, PACKS)

    @property
    def tip(self) -> str | None:
        """The commit that the memory branch points to, None if it has none yet."""
        return self.repository.tip(self.repository.memory)

    def start(self, *command: str) -> None:
        """Start `gitmem COMMAND` for this store, detached, if it may be written to; ignore a failure to start it.

        The command itself limits its time, and runs once at a time for a store.
        """
        if self.may_write():
            with contextlib.suppress(OSError):
                child = start_detached(self.context.environ, "-C", self.root, *command)
                child.returncode = 0  # keeps Popen from warning that nobody waited for it

    def maintain_later(self, *, much: bool = False) -> None:
        """Pack in the background at every tenth spare pack, or after `much` at any; renew caches of searches."""
        spare = self.spare_packs()
        if self.config.maintenance.automatic and spare > 0 and (much or spare % 10 == 1):
            self.start("maintain", "--if-needed")
        if any(os.path.isdir(os.path.join(self.private, cache)) for cache in (VECTORS, TEXTS)):
            self.start("reindex", "--background")

    def lock(self, purpose: str) -> Lock:
        """Return the store's lock, not acquired yet."""
        from gitmem.git.locking import LockKind, choose_kind, open_lock

        make_last(self.private)
        self._lock_kind = self._lock_kind or choose_kind(LockKind(self.config.lock.kind), self.private)
        return open_lock(
            self.repository.git, self.private, kind=self._lock_kind, purpose=purpose, machine=self.context.machine
        )

    def folder_lock(self, folder: str, purpose: str) -> Lock:
        """Return the lock of a folder of caches, not acquired yet; no writer of the store waits for it."""
        from gitmem.git.locking import LockKind, open_lock

        return open_lock(self.repository.git, folder, kind=LockKind.FILE, purpose=purpose, machine=self.context.machine)

    def checked_out_tip(self) -> str | None:
        """Return the tip if the work tree has it, edits by hand aside; None if a transaction has to repair first.

        Raises UnfinishedError if the user has a git operation in progress in the store, StoreFormatError if a newer
        gitmem migrated the store.
        """
        tip = self.repository.tip(self.repository.branch())
        if tip is None or self.recorded_checkout() != tip or os.path.exists(os.path.join(self.private, PURGING)):
            return None
        with self.repository.reading() as objects:
            self.check_format(next(objects.contents([f"{tip}:{FORMAT}"])) or b"")
        return tip

    def own_refs(self) -> dict[str, tuple[str, str]]:
        """Return the refs that gitmem may move, each with its object id and its peeled commit, or "".

        In a repository of the store's own these are all refs.
        """
        patterns = [] if self.has_separate_repository else [self.repository.branch(), _OWN_REFS]
        form = "--format=%(objectname) %(objecttype) %(*objectname) %(*objecttype) %(symref)%00%(refname)"
        output = self.repository.git.run("for-each-ref", form, *patterns).decode("utf-8", "surrogateescape")
        refs = {}
        for line in output.splitlines():
            fields, _, name = line.partition("\0")
            oid, kind, peeled, peeled_kind, symbolic = (fields.split(" ") + [""] * 5)[:5]
            commit = oid if kind == "commit" else peeled if peeled_kind == "commit" else ""
            if not symbolic:
                refs[name] = (oid, commit)
        return refs

    def has_remotes(self) -> bool:
        """Return whether the store has a remote, without starting git."""
        own = os.path.join(self.repository.layout.common_dir, "config")
        path = own if self.has_separate_repository else os.path.join(self.private, REMOTES_FILE)
        return '[remote "' in read_text(path)

    def spare_packs(self) -> int:
        """Return by how many packs the limit is exceeded (negative: below it); in a project's repository, gitmem's."""
        if self.packs_file:
            return read_text(self.packs_file).count("\n") - MAX_LISTED
        try:
            names = os.listdir(os.path.join(self.repository.layout.common_dir, "objects", "pack"))
        except OSError:
            return 0
        return sum(name.endswith(".pack") for name in names) - MAX_PACKS

    def read(self, path: str) -> bytes | None:
        """Return a file of the memory, None if it is missing; raises RefusedError for a link."""
        return self._readable.read(path)

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder of the memory; none if there is no such folder."""
        return self._readable.names(folder)

    def glance(self, path: str, most: int) -> bytes | None:
        """Return a file of the memory; if it has more than `most` bytes, only lines from its beginning and end."""
        return self._readable.glance(path, most)

    def record_checkout(self, commit: str) -> None:
        """Record that the work tree holds `commit` (`checkout` in docs/architecture.md, "Order of writes")."""
        write_checkout(self.private, commit)

    def recorded_checkout(self) -> str | None:
        """Return the commit that the work tree is recorded to hold, None if none is."""
        commit = read_text(os.path.join(self.private, "checkout")).strip()
        return commit if is_object_id(commit) else None

    def is_behind(self) -> bool:
        """Return whether saves wait, or a killed command left files and index behind the tip.

        Raises UnfinishedError if the user has a git operation in progress in the store.
        """
        return bool(self.spool.names()) or self.repository.tip(self.repository.branch()) != self.recorded_checkout()

    def identity(self) -> IdentityLookup:
        """Return the lookup of the author, shared by all transactions of a command."""
        if self._identity is None or self._identity.expired:
            layout = self.repository.layout
            self._identity = IdentityLookup(layout.git_dir, layout.work_tree, self.context.environ)
        return self._identity

    def is_user(
        self, name: str, email: str, machine: str | None = "", *, gitmem: bool = True, address: str = ""
    ) -> bool:
        """Return whether git's name and address are the user's, or `gitmem`'s own if that counts.

        Users whom git does not know have that address, too: the `machine` that a commit names tells them apart.
        Without `address`, git is asked for the user's.
        """
        also = {address.casefold() for address in self.config.author.also}
        own = address or self.identity().result().email
        if email.casefold() in {own.casefold(), *also} or name.casefold() in also:
            return True
        is_here = not machine or f"{self.context.machine}-".startswith(f"{machine}-")  # some name the host alone
        return gitmem and is_here and email.casefold() == GITMEM.email

    @contextlib.contextmanager
    def saving(self) -> Iterator[None]:
        """Raise NotSavedError in place of an OSError, for example of a full or read-only disk."""
        failed = f"Nothing was saved to {self.root}"
        try:
            with disk_errors(failed):
                yield
        except GitmemError as error:
            if isinstance(error.__cause__, OSError) and not isinstance(error, NotSavedError):
                remedy = "Make room or give access, then try again."
                raise NotSavedError(f"{failed}: {error.message}", remedy) from error
            raise


def write_checkout(private: str, commit: str) -> None:
    """Record in a private folder that the work tree holds `commit`."""
    path = os.path.join(private, "checkout")
    temporary = f"{path}.new"  # always the same name: the next process overwrites the file of a killed one
    with open(temporary, "w", encoding="utf-8") as file:  # UTF-8 is loaded already, ASCII is not
        file.write(commit + "\n")
    os.replace(temporary, path)


def check_format(document: bytes, place: str) -> None:
    """Raise StoreFormatError if the `FORMAT.md` of a place names a version that this gitmem does not know."""
    version = format_version(document)
    if version not in {None, FORMAT_VERSION}:
        raise StoreFormatError(
            f"{place} has format version {version}; this gitmem knows version {FORMAT_VERSION}.",
            f"Nothing was touched. Upgrade gitmem: {install_command()}",
        )


def format_version(document: bytes) -> int | None:
    """Return the version that the header of a `FORMAT.md` names, None if it names none."""
    for line in document[:4096].split(b"\n---")[0].split(b"\n"):
        if line.startswith(b"version:"):
            value = line[8:].split(b"#")[0].strip(b" \t\r\"'")
            return int(value) if value.isdigit() else None
    return None
