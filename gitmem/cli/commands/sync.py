"""`gitmem sync`, `remote`, `clone` and `merge-driver`: one memory on several machines."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING

from gitmem.errors import ExitCode, UsageError
from gitmem.store.sync.guard import Accept
from gitmem.text.quantities import count
from gitmem.text.terminal import plain

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door
    from gitmem.store.sync.memory import Synced

_REVIEWED = 5  # documents that are named


def configure_sync(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem sync`."""
    parser.add_argument("remote", nargs="?", help="the remote; all of them without it")
    parser.add_argument(
        "--accept",
        action="append",
        default=[],
        choices=[accept.value for accept in Accept],
        help="go on where it would stop and ask: most of the memory would be removed, the remote was rewritten or "
        "emptied, its memory did not begin as this one, or what was purged elsewhere is in most of the files here",
    )
    parser.add_argument("--background", action="store_true", help="as hooks do it: ask nobody, say nothing")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run_sync(args: argparse.Namespace, door: Door) -> int:
    """Bring here what other machines saved, and there what was saved here. Never leaves a conflict, never forces.

    Being offline is fine: everything waits for the next sync (exit code 10). What both sides changed is kept twice and
    marked; 'gitmem status' lists it.

    Examples:
      gitmem sync
      gitmem sync origin --json
      gitmem sync --accept deletions
      gitmem config sync.auto interval      by itself, every sync.minutes while sessions run

    """
    from gitmem.cli.terminal import Progress
    from gitmem.git.remote import SECONDS
    from gitmem.store.setup.remotes import find_remote, remotes
    from gitmem.store.sync.all import sync_remote
    from gitmem.store.sync.retry import Options

    if args.background:
        return _background(args, door)
    store = door.settled(args)
    chosen = [find_remote(store, args.remote)] if args.remote else remotes(store) or [find_remote(store, None)]
    with Progress(door.err) as progress:
        options = Options(tuple(map(Accept, args.accept)), progress.step)
        done = [sync_remote(store, remote, options, asks=_can_ask(door), seconds=SECONDS) for remote in chosen]
    for one in done:
        door.notices(one.notices)
    value = [asdict(one) for one in done]
    door.answer(args, value[0] if len(value) == 1 else value, "\n".join(map(_words, done)))
    door.maintain_later(store)
    return ExitCode.OK


def _background(args: argparse.Namespace, door: Door) -> int:
    """Sync behind a hook: failures go to the log, but for being offline."""
    from gitmem.cli.door import now
    from gitmem.errors import UnreachableError
    from gitmem.store.sync.all import sync_in_background
    from gitmem.store.sync.retry import Options
    from gitmem.store.upkeep.failures import Failure, FailureLog

    store = door.settled(args)
    for error in sync_in_background(store, Options()):
        if not isinstance(error, UnreachableError):
            FailureLog(store.private).record(Failure(now(), "sync", f"{error.message} {error.remedy}".strip()))
    return ExitCode.OK


def _words(done: Synced) -> str:
    came, went = (count(number, "commit") if number else "nothing" for number in (done.came, done.went))
    text = f"Synced with {done.remote}: {came} came, {went} went"
    if done.review:
        names = ", ".join(done.review[:_REVIEWED]) + (", ..." if len(done.review) > _REVIEWED else "")
        return plain(f"{text}; {count(len(done.review), 'document')} to review: {names}.")
    return plain(f"{text}.")


def _can_ask(door: Door) -> bool:
    return door.stdin.isatty() and door.err.isatty()


def configure_remote(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem remote`."""
    parser.add_argument("action", choices=["add", "list", "remove"], nargs="?", default="list")
    parser.add_argument("words", nargs="*", metavar="[NAME] [URL]", help="a name (default: origin), a URL or path")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run_remote(args: argparse.Namespace, door: Door) -> int:
    """Say which repositories the memory is synced with: add one, list them, or take one out.

    A store on a branch of the project's repository (init --branch) takes a remote of the project's by its name alone.
    Whoever can read the remote can read the memory: use a private one.

    Examples:
      gitmem remote add git@example.org:me/memory.git
      gitmem remote add backup /media/stick/memory.git
      gitmem remote add origin                           the project's own remote, with init --branch
      gitmem remote list
      gitmem remote remove backup

    """
    from gitmem.store.setup.remotes import add_remote, remove_remote
    from gitmem.store.sync.records import write_record

    store = door.open(args)
    if args.action == "add":
        name, url = _name_and_url(args.words, door)
        remote = add_remote(store, name, url)
        value = {"name": remote.name, "url": remote.shown}
        text = plain(f"Memory is synced with {remote.name} ({remote.shown}) from now on.")
        door.answer(args, value, f"{text}\nTry: gitmem sync")
        return ExitCode.OK
    if args.action == "remove":
        if len(args.words) != 1:
            raise UsageError("Which remote is to be removed?", "'gitmem remote list' names them.")
        remove_remote(store, args.words[0])
        write_record(store.private, args.words[0], None)
        door.answer(args, {"removed": args.words[0]}, plain(f"Memory is not synced with {args.words[0]} any more."))
        return ExitCode.OK
    if args.words:
        raise UsageError("'gitmem remote list' takes no more words.")
    return _list_remotes(args, door)


def _list_remotes(args: argparse.Namespace, door: Door) -> int:
    from gitmem.store.sync.all import states

    found = states(door.open(args))
    value = [state.as_value() for state in found]
    door.answer(args, value, "\n".join(plain(f"{state.name}  {state.url}") for state in found))
    return ExitCode.OK


def _name_and_url(words: list[str], door: Door) -> tuple[str, str | None]:
    from gitmem.git.remote import is_ssh
    from gitmem.store.setup.remotes import DEFAULT

    if len(words) > 2:  # noqa: PLR2004
        raise UsageError("A remote has a name and a URL.", "'gitmem remote add [NAME] URL'")
    url = words[-1] if words else None
    if url is not None and len(words) == 1 and not (is_ssh(url) or any(mark in url for mark in "/\\:.")):
        return url, None
    if url is not None and "://" not in url and "::" not in url and not is_ssh(url) and not url.startswith("-"):
        url = os.path.abspath(os.path.join(door.cwd, os.path.expanduser(url)))
    return (words[0] if len(words) > 1 else DEFAULT), url


def configure_clone(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem clone`."""
    import argparse

    parser.add_argument("url", help="where the memory is")
    parser.add_argument("project", nargs="?", metavar="DIR", help="the project's folder (default: this one)")
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--branch", action="store_true", help="keep it on a branch of the project's repository")
    place.add_argument("--home", action="store_true", help="keep it under ~/.gitmem/projects, not in the project")
    place.add_argument("--user", action="store_true", default=argparse.SUPPRESS, help="your own store, ~/.gitmem")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run_clone(args: argparse.Namespace, door: Door) -> int:
    """Make this project's store out of a memory that is elsewhere, and sync with it from now on.

    Examples:
      gitmem clone git@example.org:me/memory.git
      gitmem clone https://example.org/me/memory.git ~/src/project
      gitmem clone git@example.org:me/mine.git --user

    """
    from gitmem.cli.terminal import Progress
    from gitmem.store.setup.init import Place
    from gitmem.store.sync.clone import clone_store
    from gitmem.store.sync.retry import Options

    places = (Place.BRANCH, Place.HOME, Place.USER)
    place = next((place for place in places if getattr(args, place.value)), Place.PROJECT)
    start = os.path.join(door.folder(args), os.path.expanduser(args.project)) if args.project else door.folder(args)
    _, url = _name_and_url(["origin", args.url], door)
    assert url is not None
    os.makedirs(start, exist_ok=True)
    with Progress(door.err) as progress:
        store = clone_store(
            start, door.context(), place, url, asks=_can_ask(door), options=Options(progress=progress.step)
        )
    value = {"store": store.root, "commit": store.tip}
    door.answer(args, value, plain(f"Cloned the memory to {store.root}."))
    return ExitCode.OK


def configure_merge_driver(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem merge-driver`."""
    for name in ("base", "ours", "theirs"):
        parser.add_argument(name, help="the file git has put this version into")
    parser.add_argument("path", help="what it is called in the store")


def run_merge_driver(args: argparse.Namespace, door: Door) -> int:
    """Merge one document for git, which calls this by itself: see merge.gitmem.driver in a store's configuration.

    Examples:
      gitmem merge-driver %O %A %B %P

    """
    from gitmem.store.setup.merge_driver import drive

    texts = []
    for name in (args.base, args.ours, args.theirs):
        with open(os.path.join(door.folder(args), name), "rb") as file:
            texts.append(file.read())
    merged = drive(args.path, *texts)
    if merged is None:
        return ExitCode.FAILURE
    with open(os.path.join(door.folder(args), args.ours), "wb") as file:
        file.write(merged)
    return ExitCode.OK
