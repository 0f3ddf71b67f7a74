"""A store's remotes: their names, URLs and refs.

A store's own repository has its remotes in git's configuration, so that plain `git pull` works. In a project's
repository they are in a file of the private folder; an entry without a URL means the project's remote of the same name.
"""

from __future__ import annotations

import os
import re

from gitmem.errors import GitFailedError, NotFoundError, NotSavedError, RefusedError, UsageError
from gitmem.git.address import Remote, check_url, is_ssh
from gitmem.git.layout import MEMORY_BRANCH
from gitmem.git.repository import RefMoves, move_ref, move_refs, read_refs
from gitmem.store.store import REMOTES_FILE, Store

REFS = "refs/gitmem/remotes"  # the tips of each remote's branches at the last sync
FETCHED = "refs/gitmem/fetched"  # the tips fetched last, merged or not
DEFAULT = "origin"
ONCE = "_once"  # names a remote that is read once and not kept; no user can add one of this name
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,40}")
_PROJECTS = "project's"  # in place of a URL: use the project's remote
_URLS = r"^remote\..*\.(url|pushurl)$"


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
        both = "'gitmem sync' alone receives and sends." * (name in {"push", "pull"})
        there = "'gitmem remote list' shows those it has; " * bool(known)
        raise NotFoundError(f"This store has {missing}.", both or f"{there}'gitmem remote add URL' adds one.")
    return remote


def _refuse_private(store: Store) -> None:
    if store.is_private:
        raise RefusedError(
            "What is private to a project is sent nowhere.", "'gitmem promote ID' moves a fact into the team's memory."
        )


def is_of_project(store: Store, remote: Remote) -> bool:
    """Return whether the project's repository has the remote as well."""
    return any(_resolve(store, url) in {remote.url, remote.push_url} for _, url in _listed_urls(store))


def add_remote(store: Store, name: str, url: str | None, *, again: bool = False) -> Remote:
    """Add a remote; without `url` use the project's remote of that name; finish what was cut off if `again`.

    Raises:
        RefusedError: the name or the URL is not allowed.
        UsageError: a remote of this name exists, or the URL is missing.
        NotFoundError: the project has no such remote.
        NotAcceptedError: the store came from elsewhere, and the user did not say yes.
    """
    store.check_writes()
    _refuse_private(store)
    if not _NAME.fullmatch(name):
        raise RefusedError(f"{name!a} is not a valid name for a remote.", "Use letters, digits, '-' and '_'.")
    if url is not None:
        check_url(url)
    elif store.has_separate_repository:
        raise UsageError("A remote needs a URL.", "'gitmem remote add URL', or a path to a bare repository.")
    known = next((known for remote, known, _ in _configured(store) if remote == name), None)
    if known is not None and not (again and known == url):
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
    store.acceptance.accept((added.url, added.push_url))
    return added


def remove_remote(store: Store, name: str) -> None:
    """Remove a remote and its tracking refs; memory that came from it stays.

    Raises NotFoundError if there is no remote of this name.
    """
    if not any(known == name for known, _, _ in _configured(store)):
        find_remote(store, name)
    file = _file(store)
    _set_config(store, file, "--remove-section", f"remote.{name}")
    branch = _branch(store)
    if file is None and _config(store, f"branch.{branch}.remote") == [name]:
        _set_config(store, None, "--remove-section", f"branch.{branch}")
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
    move_refs(store.repository.git, synced_ref_moves(store, remote, commit), "gitmem sync")


def synced_ref_moves(store: Store, remote: Remote, commit: str) -> RefMoves:
    """Return the moves of refs by which `note_synced` records a commit."""
    refs = [f"{REFS}/{remote.name}/{MEMORY_BRANCH}"]
    if store.has_separate_repository:  # for the user's own git
        refs.append(f"refs/remotes/{remote.name}/{MEMORY_BRANCH}")
    return {ref: (known, commit) for ref in refs if (known := store.repository.tip(ref)) != commit}


def _configured(store: Store) -> list[tuple[str, str, str]]:
    """Return name, URL and push URL (or "") of each remote, as configured."""
    file = _file(store)
    if file is not None and not os.path.isfile(file):
        return []
    where = ("--file", file) if file else ()
    urls: dict[str, dict[str, str]] = {}
    for key, value in _listed_urls(store, *where):
        name, _, kind = key.removeprefix("remote.").rpartition(".")
        urls.setdefault(name, {}).setdefault(kind, value)
    return [(name, kinds["url"], kinds.get("pushurl", "")) for name, kinds in urls.items() if kinds.get("url")]


def _listed_urls(store: Store, *where: str) -> list[tuple[str, str]]:
    """Return key and value of each remote's URLs in the repository's configuration, or in another file."""
    output = store.repository.git.run("config", *where, "--null", "--get-regexp", _URLS, ok=(0, 1))
    records = (record.partition("\n") for record in output.decode("utf-8", "surrogateescape").split("\0")[:-1])
    return [(key, value) for key, _, value in records]


def _resolve(store: Store, url: str) -> str:
    """Return a URL of the project's configuration; resolve a relative path from the project's folder."""
    if "://" in url or is_ssh(url) or os.path.isabs(url):
        return url
    return os.path.normpath(os.path.join(os.path.dirname(store.repository.layout.common_dir), url))


def _config(store: Store, key: str) -> list[str]:
    """Return the values of a key in the repository's configuration."""
    output = store.repository.git.run("config", "--null", "--get-all", key, ok=(0, 1))
    return output.decode("utf-8", "surrogateescape").split("\0")[:-1]


def _set_config(store: Store, file: str | None, *change: str) -> None:
    try:
        store.repository.git.run("config", *(("--file", file) if file else ()), *change)
    except GitFailedError as error:
        if os.access(os.path.dirname(file) if file else store.repository.layout.common_dir, os.W_OK):
            raise
        raise NotSavedError(f"Nothing was changed: {error.reason}.", "Give yourself write access to it.") from None


def _file(store: Store) -> str | None:
    """Return the path of the file with the remotes, None if they are in the repository's configuration."""
    return None if store.has_separate_repository else os.path.join(store.private, REMOTES_FILE)


def _branch(store: Store) -> str:
    return store.repository.branch().removeprefix("refs/heads/")
