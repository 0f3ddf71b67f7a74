"""A store's remotes and their state (spec G5), and which of their files are accepted (docs/security.md, "Trust").

A store's own repository has its remotes in git's configuration, so that plain `git pull` works. In a project's
repository they are in a file of the private folder; an entry without a URL means the project's remote of the same name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase

from gitmem.config import MAX_BYTES
from gitmem.document.ids import CONFIG, FORMAT, MEMORY, TEMPORARY, fold, is_git_folder
from gitmem.errors import NotFoundError, RefusedError, StoreFormatError, UsageError
from gitmem.git import MEMORY_BRANCH, RefMoves, Repository, find_layout, move_ref, move_refs, read_refs
from gitmem.git.address import Remote, check_url, is_ssh
from gitmem.git.log import count_commits
from gitmem.git.objects import PathChange, most_files
from gitmem.git.process import Git
from gitmem.platform.machine import install_command
from gitmem.platform.safe_open import MAX_FILE_BYTES, read_text
from gitmem.store.locate import HOME_HOSTS, HOME_PROJECTS, user_store
from gitmem.store.maintenance import MAX_FILES
from gitmem.store.store import FORMAT_VERSION, REMOTES_FILE, Store, format_version
from gitmem.sync import SyncRecord, left_file, read_records
from gitmem.values import Value

# Files that are read as more than text, and hold at most `MAX_BYTES`; `*` matches `/` as well.
SMALL = (FORMAT, CONFIG, "*.gitattributes", "*.gitignore")
MOST_BYTES = 1 << 30  # of all files that come at once
_FILE_MODES = {"100644", "100755"}


def check_extent(repository: Repository, source: str, commit: str, known: Collection[str]) -> None:
    """Refuse commits with too many files, before their trees are listed; commits in `known` are local.

    Raises RefusedError if a commit has more than MAX_FILES files or one that is too large, if messages are, or if
    `commit` is no commit.
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

    `reserved` are top folders that belong to this machine.

    Raises:
        StoreFormatError: the format version is not the one this gitmem knows.
        RefusedError: a path is unsafe or collides with another, or a file is a link, a submodule or too large.
    """
    changes = [change for change in repository.changes(old, new) if change.new is not None]
    document = next((change.new for change in changes if change.path == FORMAT), None)
    version = format_version(repository.blob(document)) if document else None
    if version not in {None, FORMAT_VERSION}:
        raise StoreFormatError(
            f"The memory at {source} has format version {version}; this gitmem knows version {FORMAT_VERSION}.",
            f"Nothing was touched. Upgrade gitmem: {install_command()}",
        )

    def refuse(what: str, remedy: str) -> None:
        where = "on the machine that made it, then sync there."
        raise RefusedError(f"{source} has {what}. Nothing was merged.", f"{remedy} {where}")

    names: dict[str, str] = {}
    for change in changes:
        complaint = _complaint(change, reserved)
        twin = names.setdefault(fold(change.path), change.path)
        if twin != change.path:
            complaint = f"which on some file systems is the same as {twin!a}"
        if complaint is not None:
            refuse(f"{change.path!a}, {complaint}", "Remove or rename it")
    sizes = repository.sizes([change.new or "" for change in changes])
    if sum(sizes) > MOST_BYTES:
        refuse(f"{sum(sizes):,} bytes in {len(sizes):,} files, more than one sync takes", "Remove what is large")
    for change, size in zip(changes, sizes, strict=True):
        if size > (MAX_BYTES if any(fnmatchcase(change.path, one) for one in SMALL) else MAX_FILE_BYTES):
            refuse(f"{change.path!a} with {size:,} bytes, more than gitmem allows for it", "Split it")


def reserved_folders(root: str, home: str) -> tuple[str, ...]:
    """Return the top folders that no remote may write to; only the person's own store has any."""
    return (HOME_HOSTS, HOME_PROJECTS) if os.path.realpath(root) == os.path.realpath(user_store(home)) else ()


def check_hosts_untracked(root: str, environ: Mapping[str, str]) -> None:
    """Refuse installation records that the person's store tracks: a remote may have written them.

    Raises RefusedError if the store tracks their folder, in any spelling of upper and lower case.
    """
    layout = find_layout(root)
    if layout is None:
        return
    if Git(layout.git_dir, root, environ).run("ls-files", "-z", "--", f":(icase){HOME_HOSTS}"):
        raise RefusedError(
            f"The store at {root} tracks files in {HOME_HOSTS}/, which is for this machine alone; a remote may have "
            "written them.",
            f"Look at them, remove what you did not make, then: git -C {root} rm -r --cached {HOME_HOSTS}",
        )


_OWN_FOLDERS = (
    *("archive", "concepts", "counts", "daily", "episodes", "facts", "knowledge", "monthly", "patterns", "purged"),
    *("sessions", "summaries", "weekly"),
)
_OWN = {fold(name): name for name in (MEMORY, CONFIG, FORMAT, *_OWN_FOLDERS)}


def _complaint(change: PathChange, reserved: Collection[str]) -> str | None:
    """Return why a file from another machine is refused, None if it is allowed."""
    if change.mode not in _FILE_MODES:
        return "which is a link or a submodule"
    parts = change.path.split("/")
    if any(part in {"", ".", ".."} or is_git_folder(part) for part in parts):
        return "whose name leads out of the store or into git's own folder"
    if any(ord(character) < 32 or ord(character) == 127 for character in change.path):  # noqa: PLR2004
        return "with control characters in its name"
    # NTFS ignores the part after a colon or backslash, and trailing dots and blanks, in a folder's name.
    top = fold(parts[0]).replace("\\", ":").partition(":")[0].rstrip(". ")
    if top == TEMPORARY:
        return "where gitmem keeps its own temporary files"
    if top in _OWN and (parts[0] != _OWN[top] or (len(parts) == 1 and top in _OWN_FOLDERS)):
        return "where gitmem could not write its own any more"
    return "where gitmem keeps what belongs to this machine" if top in reserved else None


REFS = "refs/gitmem/remotes"  # the tips of each remote's branches at the last sync
FETCHED = "refs/gitmem/fetched"  # the tips fetched last, merged or not
DEFAULT = "origin"
ONCE = "_once"  # names a remote that is read once and not kept; no person can add one of this name
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,40}")
_PROJECTS = "project's"  # in place of a URL: use the project's remote


def is_address(text: str) -> bool:
    """Return whether a text is a URL or a path, not the name of a remote."""
    return is_ssh(text) or any(mark in text for mark in "/\\:.")


def absolute_address(text: str, cwd: str) -> str:
    """Return a URL as it is, and a path as an absolute one."""
    if "://" in text or "::" in text or is_ssh(text) or text.startswith("-"):
        return text
    return os.path.abspath(os.path.join(cwd, os.path.expanduser(text)))


def remotes(store: Store) -> list[Remote]:
    """Return the remotes that memory is synced with, `origin` first."""
    result = []
    for name, url, push_url in _configured(store):
        if url != _PROJECTS:
            result.append(Remote(name, url, push_url or url))
        elif urls := _config(store, f"remote.{name}.url"):
            push_urls = _config(store, f"remote.{name}.pushurl") or urls
            result.append(Remote(name, _resolve(store, urls[0]), _resolve(store, push_urls[0])))
    return sorted(result, key=lambda remote: (remote.name != DEFAULT, remote.name))


def added_remotes(store: Store) -> list[Remote]:
    """Return the remotes that were added on this machine: background syncs go there only."""
    urls = store.acceptance
    return [remote for remote in remotes(store) if urls.has_added(remote.url) and urls.has_added(remote.push_url)]


def find_remote(store: Store, name: str | None) -> Remote:
    """Return the remote of this name, or the first one if `name` is None.

    Raises NotFoundError if there is no such remote, RefusedError if the store takes none.
    """
    known = remotes(store)
    remote = next((remote for remote in known if name in (None, remote.name)), None)
    if remote is None:
        _refuse_private(store)
        missing = f"no remote {name!r}" if name else "no remote"
        raise NotFoundError(f"This store has {missing}.", "'gitmem remote add URL' adds one.")
    return remote


def _refuse_private(store: Store) -> None:
    if store.is_private:
        raise RefusedError(
            "What is private to a project is sent nowhere.", "'gitmem promote ID' moves a fact into the team's memory."
        )


def add_remote(store: Store, name: str, url: str | None) -> Remote:
    """Add a remote; without `url` use the project's remote of that name.

    Raises:
        RefusedError: the name or the URL is not allowed.
        UsageError: a remote of this name exists, or the URL is missing.
        NotFoundError: the project has no such remote.
        NotAcceptedError: the store came from elsewhere, and the person did not say yes.
    """
    store.check_writes()
    _refuse_private(store)
    if not _NAME.fullmatch(name):
        raise RefusedError(f"{name!a} is not a valid name for a remote.", "Use letters, digits, '-' and '_'.")
    if url is not None:
        check_url(url)
    elif store.own_repository:
        raise UsageError("A remote needs a URL.", "'gitmem remote add URL', or a path to a bare repository.")
    if any(known == name for known, _, _ in _configured(store)):
        raise UsageError(f"There is a remote {name!r} already.", f"'gitmem remote remove {name}' removes it.")
    if url is None and not _config(store, f"remote.{name}.url"):
        raise NotFoundError(f"The project's repository has no remote {name!r}.", "Give a URL as well.")
    file = _file(store)
    if file is not None:
        os.makedirs(os.path.dirname(file), mode=0o700, exist_ok=True)
    _set_config(store, file, f"remote.{name}.url", url or _PROJECTS)
    if file is None:  # so that the user's own git commands work in the store
        branch = _branch(store)
        _set_config(store, None, f"remote.{name}.fetch", f"+refs/heads/{branch}:refs/remotes/{name}/{branch}")
        if not _config(store, f"branch.{branch}.remote"):
            _set_config(store, None, f"branch.{branch}.remote", name)
            _set_config(store, None, f"branch.{branch}.merge", f"refs/heads/{branch}")
    added = find_remote(store, name)
    store.acceptance.give((added.url, added.push_url))
    return added


def remove_remote(store: Store, name: str) -> None:
    """Remove a remote and its tracking refs; memory that came from it stays.

    Raises NotFoundError if there is no remote of this name.
    """
    if not any(known == name for known, _, _ in _configured(store)):
        find_remote(store, name)
    file = _file(store)
    git = store.repository.git
    git.run("config", *(("--file", file) if file else ()), "--remove-section", f"remote.{name}")
    branch = _branch(store)
    if file is None and _config(store, f"branch.{branch}.remote") == [name]:
        git.run("config", "--remove-section", f"branch.{branch}")
    forget(store, name)


def forget(store: Store, name: str) -> None:
    """Delete the remote-tracking refs of a remote of this name."""
    git = store.repository.git
    tracking = [f"refs/remotes/{name}/"] if _file(store) is None else []
    for ref, oid in read_refs(git, f"{REFS}/{name}/", f"{FETCHED}/{name}/", *tracking).items():
        move_ref(git, ref, None, oid)


def no_memory(remote: Remote) -> NotFoundError:
    """Return the error for a remote, or a file, without a memory."""
    remedy = "'gitmem init', 'gitmem remote add URL' and 'gitmem sync' make one."
    remedy = "'gitmem backup FILE' makes one that does." if remote.backup else remedy
    return NotFoundError(f"{remote.shown} holds no memory.", remedy)


def note_synced(store: Store, remote: Remote, commit: str) -> None:
    """Record a remote's commit in refs, so that the next sync notices if its history was rewritten."""
    move_refs(store.repository.git, notes_of(store, remote, commit), "gitmem sync")


def notes_of(store: Store, remote: Remote, commit: str) -> RefMoves:
    """Return the updates of refs by which `note_synced` records a commit."""
    refs = [f"{REFS}/{remote.name}/{MEMORY_BRANCH}"]
    if store.own_repository:  # for the user's own git
        refs.append(f"refs/remotes/{remote.name}/{MEMORY_BRANCH}")
    return {ref: (known, commit) for ref in refs if (known := store.repository.tip(ref)) != commit}


def _configured(store: Store) -> list[tuple[str, str, str]]:
    """Return name, URL and push URL (or "") of each remote, as configured."""
    file = _file(store)
    if file is not None and not os.path.isfile(file):
        return []
    where = ("--file", file) if file else ()
    output = store.repository.git.run(
        "config", *where, "--null", "--get-regexp", r"^remote\..*\.(url|pushurl)$", ok=(0, 1)
    )
    urls: dict[str, dict[str, str]] = {}
    for record in output.decode("utf-8", "surrogateescape").split("\0")[:-1]:
        key, _, value = record.partition("\n")
        name, _, kind = key.removeprefix("remote.").rpartition(".")
        urls.setdefault(name, {}).setdefault(kind, value)
    return [(name, kinds["url"], kinds.get("pushurl", "")) for name, kinds in urls.items() if kinds.get("url")]


def _resolve(store: Store, url: str) -> str:
    """Return a URL of the project's configuration; resolve a relative path from the project's folder."""
    if "://" in url or is_ssh(url) or os.path.isabs(url):
        return url
    return os.path.normpath(os.path.join(os.path.dirname(store.repository.layout.common_dir), url))


def _config(store: Store, key: str) -> list[str]:
    """Return the values of a key in the repository's configuration."""
    output = store.repository.git.run("config", "--null", "--get-all", key, ok=(0, 1))
    return output.decode("utf-8", "surrogateescape").split("\0")[:-1]


def _set_config(store: Store, file: str | None, key: str, value: str) -> None:
    store.repository.git.run("config", *(("--file", file) if file else ()), key, value)


def _file(store: Store) -> str | None:
    """Return the path of the file with the remotes, None if they are in the repository's configuration."""
    return None if store.own_repository else os.path.join(store.private, REMOTES_FILE)


def _branch(store: Store) -> str:
    return store.repository.branch().removeprefix("refs/heads/")


class RemoteState(Value):
    """A remote, the numbers of commits to push to it and to merge from it, and the record of its last sync.

    The numbers are None if it was never synced, `behind` also if it was not asked for. `automatic`: it was added on
    this machine, so background syncs go there.
    """

    name: str
    url: str
    waiting: int | None
    record: SyncRecord | None
    behind: int | None = None
    automatic: bool = True

    def as_value(self) -> dict[str, object]:
        """Return the fields for `--json`."""
        record = self.record
        synced = record.synced.isoformat() if record and record.synced else None
        last = {"synced": synced, "failure": record.failure if record else ""}
        behind = {} if self.behind is None else {"behind": self.behind}
        return {
            "name": self.name,
            "url": self.url,
            "waiting": self.waiting,
            **last,
            **behind,
            "automatic": self.automatic,
        }


def states(store: Store, *, behind: bool = False) -> list[RemoteState]:
    """Return the state of each remote as of the last fetch, without network access; `behind` counts what to merge."""
    git, records = store.repository.git, read_records(store.private)
    added, result = added_remotes(store), []
    for remote in remotes(store):
        ref = f"{REFS}/{remote.name}/{MEMORY_BRANCH}"
        seen = read_refs(git, ref).get(ref)
        left = read_text(left_file(store.private, remote.name)).partition(" ")[0].strip()
        waiting = None if seen is None else count_commits(git, store.repository.branch(), without=left or seen)
        missing = count_commits(git, seen, without=store.repository.branch()) if behind and seen else None
        record = records.get(remote.name)
        result.append(RemoteState(remote.name, remote.shown, waiting, record, missing, remote in added))
    return result
