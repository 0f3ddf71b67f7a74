"""`gitmem remote`: the repositories memory is synced with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.errors import ExitCode, UsageError
from gitmem.text.terminal import plain

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem remote`."""
    parser.add_argument("action", choices=["add", "list", "remove"], nargs="?", default="list")
    parser.add_argument("words", nargs="*", metavar="[NAME] [URL]", help="a name (default: origin), a URL or path")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """List, add and remove the repositories that memory is synced with.

    A store on a branch of the project's repository (init --branch) can use a remote of the project by its name alone.
    Whoever can read the remote can read the memory: use a private one.

    With --json: 'list' prints [{name, url, waiting, synced, failure}], 'add' {name, url}, 'remove' {removed}.

    Examples:
      gitmem remote add git@example.org:me/memory.git
      gitmem remote add backup /media/stick/memory.git
      gitmem remote add origin                           the project's own remote, with init --branch
      gitmem remote list
      gitmem remote remove backup

    """
    from gitmem.store.setup.remotes import add_remote, remove_remote
    from gitmem.store.sync.attempts import write_record

    store = door.open(args)
    if args.action == "add":
        name, url = _name_and_url(args.words, door.cwd)
        remote = add_remote(store, name, url)
        value = {"name": remote.name, "url": remote.shown}
        text = plain(f"Memory is synced with {remote.name} ({remote.shown}) from now on.")
        door.answer(args, value, f"{text}\nTry: gitmem {'--user ' * args.user}sync")
        return ExitCode.OK
    if args.action == "remove":
        if len(args.words) != 1:
            raise UsageError("Name the remote to remove.", "'gitmem remote list' lists them.")
        remove_remote(store, args.words[0])
        write_record(store.private, args.words[0], None)
        door.answer(args, {"removed": args.words[0]}, plain(f"Memory is not synced with {args.words[0]} any more."))
        return ExitCode.OK
    if args.words:
        raise UsageError("'gitmem remote list' takes no further words.", "To add one: gitmem remote add [NAME] URL")
    return _list_remotes(args, door)


def _list_remotes(args: argparse.Namespace, door: Door) -> int:
    from gitmem.store.sync.all import states

    found = states(door.open(args))
    value = [state.as_value() for state in found]
    door.answer(args, value, "\n".join(plain(f"{state.name}  {state.url}") for state in found))
    return ExitCode.OK


def _name_and_url(words: list[str], cwd: str) -> tuple[str, str | None]:
    """Return the name and the URL of a remote to add; None for the project's own remote of that name."""
    from gitmem.store.setup.remotes import DEFAULT, absolute_address, is_address

    if len(words) > 2:  # noqa: PLR2004
        raise UsageError("A remote has a name and a URL.", "Write: gitmem remote add [NAME] URL")
    if not words:
        return DEFAULT, None
    if len(words) == 1 and not is_address(words[0]):
        return words[0], None
    return (words[0] if len(words) > 1 else DEFAULT), absolute_address(words[-1], cwd)
