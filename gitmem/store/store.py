"""The store: open one, read it, and change it in transactions that lose nothing (docs/format.md, "Order of writes")."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from gitmem.config import Config, load_config
from gitmem.errors import BusyError, GitFailedError, NotSavedError, RefusedError, StoreFormatError, StoreNotFoundError
from gitmem.git.identity import IdentityLookup
from gitmem.git.locks import Lock, LockKind, open_lock
from gitmem.git.repository import Repository, find_layout
from gitmem.git.worktree import Staged, WorkTree
from gitmem.git.writer import TipMovedError, Writer
from gitmem.model.paths import CONFIG, FORMAT, TEMPORARY
from gitmem.store.context import Context
from gitmem.store.recovery import recover
from gitmem.store.spool import Spool
from gitmem.store.transaction import Transaction

FORMAT_VERSION = 1
ATTEMPTS = 50  # of a transaction whose branch others move: with the lock held, only a person's git command can
_PRIVATE = "gitmem"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """What a transaction came to.

    `value` is what the plan returned, `commits` the ids of all commits made, oldest first (edits by hand among them),
    `notices` what the user should be told, a sentence each.
    """

    value: T
    commits: tuple[str, ...]
    notices: tuple[str, ...]


class Store:
    """One project's memory. Opening it reads a few small files and starts no process."""

    def __init__(self, work_tree: str, context: Context) -> None:
        layout = find_layout(work_tree)
        if layout is None:
            raise StoreNotFoundError(f"There is no store at {work_tree}.", "'gitmem init' makes one.")
        self.root = work_tree
        self.context = context
        self.repository = Repository(layout, context.environ)
        self.files = WorkTree(work_tree, self.repository.git, TEMPORARY)
        self.private = os.path.join(layout.common_dir, _PRIVATE)
        self.spool = Spool(os.path.join(self.private, "spool"))
        self.config = self._load_config()
        self._check_format()

    @property
    def own_repository(self) -> bool:
        """Whether the repository is the store's own, not the user's project's (`init --branch`)."""
        layout = self.repository.layout
        return layout.git_dir == layout.common_dir

    @property
    def tip(self) -> str | None:
        """The commit the memory branch points to now."""
        return self.repository.tip(self.repository.branch())

    def lock(self, purpose: str) -> Lock:
        """Return the store's lock, not acquired yet."""
        os.makedirs(self.private, mode=0o700, exist_ok=True)
        kind = LockKind(self.config.lock.kind)
        return open_lock(self.repository.git, self.private, kind=kind, purpose=purpose, machine=self.context.machine)

    def transact(self, plan: Callable[[Transaction], T], *, purpose: str, scan: bool = False) -> Outcome[T]:
        """Run `plan` on the present tip and commit what it asks for; returns when that is synced.

        The plan may run again, from a new tip, so it has no effects but on its transaction. With `scan` every edit by
        hand in the store is committed too, not just those in files the plan reads.

        Raises:
            BusyError: another process kept the lock for longer than `lock.wait_seconds`.
            NotSavedError: nothing was committed: disk full, read-only, not ours to write.
            UnfinishedError: the store is in the middle of a git operation of the user's.

        """
        with self._saving(), contextlib.ExitStack() as stack:
            branch = self.repository.branch()
            lock = self.lock(purpose)
            lock.acquire(self.config.lock.wait_seconds)
            stack.callback(lock.release)
            identity = self._identity()
            for _ in range(ATTEMPTS):
                notices = recover(self, branch)
                try:
                    outcome = self._attempt(branch, plan, lock, identity, scan=scan)
                except TipMovedError:
                    continue
                return Outcome(outcome.value, outcome.commits, (*notices, *outcome.notices))
        raise BusyError(
            f"The branch {branch} was moved by others {ATTEMPTS} times while this was being saved.",
            "Nothing was lost; try again.",
        )

    def read(self, path: str) -> bytes | None:
        """Return a file of the work tree, None where there is none; raises RefusedError for links."""
        return self.files.read(path)

    def mark(self, commit: str) -> None:
        """Note that the work tree holds `commit` (docs/format.md, `checkout`)."""
        path = os.path.join(self.private, "checkout")
        temporary = f"{path}.{os.getpid()}"
        with open(temporary, "w", encoding="ascii") as file:
            file.write(commit + "\n")
        os.replace(temporary, path)

    def marked(self) -> str | None:
        """Return the commit the work tree was last known to hold."""
        try:
            with open(os.path.join(self.private, "checkout"), encoding="ascii") as file:
                return file.read().strip() or None
        except (OSError, UnicodeDecodeError):
            return None

    def _attempt(
        self, branch: str, plan: Callable[[Transaction], T], lock: Lock, identity: IdentityLookup, *, scan: bool
    ) -> Outcome[T]:
        tip = self.repository.tip(branch)
        staged: list[Staged] = []
        with Writer(self.repository.git, branch, tip, keep_pack=self.own_repository) as writer:
            transaction = self._transaction(writer)
            if scan:
                _read_edited(transaction, self.files)
            value = plan(transaction)
            paths = transaction.touched()
            if not paths:
                return Outcome(value, (), tuple(transaction.notices))
            index = self.files.open_index()
            try:
                commits = tuple(writer.commit(commit) for commit in transaction.commits(identity.result()))
                for path, content in transaction.files().items():
                    staged.append(self.files.stage(path, content))
                if not lock.held():
                    raise BusyError("Another process took the lock over while this one stood still.", "Try again.")
                writer.finish()
            except BaseException:
                self.files.discard(staged)
                index.finish(())
                raise
        notices = list(transaction.notices)
        try:
            self.files.publish(staged)
            index.finish(paths)
            self.mark(commits[-1])
        except (OSError, GitFailedError) as error:
            notices.append(
                f"It is committed ({commits[-1][:10]}), but the files of the work tree are not in step with it: {error}. "
                "The next gitmem command repairs that."
            )
        return Outcome(value, commits, tuple(notices))

    def _transaction(self, writer: Writer) -> Transaction:
        return Transaction(
            writer,
            self.files,
            now=self.context.clock(),
            machine=self.context.machine,
            allow=self.config.redaction.allow,
        )

    def _identity(self) -> IdentityLookup:
        layout = self.repository.layout
        return IdentityLookup(layout.git_dir, layout.work_tree, self.context.environ)

    @contextlib.contextmanager
    def _saving(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            what = f"{error.strerror or error}" + (f" ({error.filename})" if error.filename else "")
            raise NotSavedError(
                f"Nothing was saved to {self.root}: {what}.", "Make room or give access, then try again."
            ) from error

    def _load_config(self) -> Config:
        user = os.path.join(self.context.home, ".gitmem", CONFIG)
        own = os.path.join(self.root, CONFIG)
        return load_config([(path, _read_small(path)) for path in dict.fromkeys((user, own))])

    def _check_format(self) -> None:
        version = format_version(_read_small(os.path.join(self.root, FORMAT)) or b"")
        if version is not None and version != FORMAT_VERSION:
            raise StoreFormatError(
                f"The store at {self.root} has format version {version}; this gitmem knows version {FORMAT_VERSION}.",
                "Upgrade gitmem: 'pip install --upgrade gitmem-store'. Nothing was touched.",
            )


def format_version(data: bytes) -> int | None:
    """Return the version a `FORMAT.md` names in its header, None where it names none."""
    for line in data[:4096].split(b"\n"):
        if line.startswith(b"version:"):
            value = line[8:].split(b"#")[0].strip(b" \t\r\"'")
            return int(value) if value.isdigit() else None
    return None


def _read_small(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read(1 << 20)
    except OSError:
        return None


def _read_edited(transaction: Transaction, files: WorkTree) -> None:
    """Have a transaction read every file a person changed, and say which cannot be kept."""
    for path in files.edited():
        if path.endswith("/"):
            transaction.notices.append(f"{path} is a git repository of its own and is not kept in the store.")
            continue
        try:
            transaction.read(path)
        except RefusedError as error:  # a link or a huge file; the others are kept
            transaction.notices.append(f"Not kept: {error.message} {error.remedy}".strip())
