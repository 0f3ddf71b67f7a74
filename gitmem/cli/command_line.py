"""Read a command line: what argparse makes of it, and what a user meant by a word that is no command."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from gitmem.cli.arguments import Args
from gitmem.cli.parser import build_parser
from gitmem.cli.table import COMMANDS, command_place, command_word, nearest, sections
from gitmem.errors import UsageError
from gitmem.platform.machine import install_command

# What other programs call it, and where a command stands for several the first one that a user wants.
_MEANT = {
    **dict.fromkeys(("add", "remember", "note", "new", "create"), "save"),
    **dict.fromkeys(("find", "grep", "query", "lookup"), "search"),
    **dict.fromkeys(("ls", "list"), "show"),
    **dict.fromkeys(("rm", "remove", "delete", "del"), "forget"),
    **dict.fromkeys(("set", "settings", "configure"), "config"),
    **dict.fromkeys(("setup", "begin"), "init"),
    **dict.fromkeys(("verify", "diagnose"), "doctor"),
    **dict.fromkeys(("ui", "serve", "view"), "web"),
    **dict.fromkeys(("push", "pull"), "sync"),
    "version": "--version",
    "revert": "undo",
    "history": "log",
}


def parse(argv: Sequence[str]) -> Args:
    """Return what a command line says, as `argparse` returns it.

    Raises UsageError if it cannot be understood, HelpAskedError if it asks for help.
    """
    word = command_word(argv)
    if word is not None and word not in COMMANDS:
        if word in {"update", "upgrade"}:
            raise UsageError(f"There is no command {word!r}.", f"To get a newer gitmem: {install_command()}")
        near = _MEANT.get(word) or nearest(word, COMMANDS)
        hint = f"Did you mean 'gitmem {near}'? " if near else ""
        raise UsageError(f"There is no command {word!r}.", f"{hint}'gitmem help --all' lists all commands.")
    place = command_place(argv)
    if place is not None and [*argv[place : place + 2]] == ["config", "set"]:
        said = " ".join(map(shlex.quote, argv[place + 2 :])) or "KEY VALUE"
        raise UsageError("'gitmem config' takes no 'set'.", f"Try: gitmem config {said}")
    part = " ".join(argv[place : place + 2]) if place is not None else ""
    parser = build_parser([] if word is None else [word], part if part in sections() else "")
    args = parser.parse_args(_with_usual(argv), Args())
    if word is None:  # an unknown option is said before
        parser.error("the following arguments are required: COMMAND")
    return args


def _with_usual(argv: Sequence[str]) -> Sequence[str]:
    """Return a command line with the default subcommand added: `facts --all` as `facts list --all`."""
    place = command_place(argv)
    rest = argv[place + 1 :] if place is not None else ()
    if place is None or not rest or not rest[0].startswith("-"):
        return argv
    usual, name = sections()[argv[place]].usual, argv[place]
    named = {"-h", "--help", *(words.removeprefix(f"{name} ") for words in sections())}
    return argv if not usual or named & {*rest} else [*argv[: place + 1], usual, *rest]
