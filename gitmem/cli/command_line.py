"""Read a command line, a plain one without argparse."""

from __future__ import annotations

from gitmem.cli.app import Args
from gitmem.cli.table import COMMANDS, arguments_of, command_place, command_word, sections, whole_number
from gitmem.errors import UsageError
from gitmem.values import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any


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
        from difflib import get_close_matches

        from gitmem.platform.machine import install_command

        if word in {"update", "upgrade"}:
            raise UsageError(f"There is no command {word!r}.", f"A newer gitmem comes by: {install_command()}")
        near = [_MEANT[word]] if word in _MEANT else get_close_matches(word, COMMANDS, 1)
        hint = f"Did you mean 'gitmem {near[0]}'? " if near else ""
        raise UsageError(f"There is no command {word!r}.", f"{hint}'gitmem help --all' lists all commands.")
    place = command_place(argv)
    if place is not None and [*argv[place : place + 2]] == ["config", "set"]:
        raise UsageError("'gitmem config' takes no 'set'.", "Try: gitmem config KEY VALUE")
    plain = read_plain(argv)
    if plain is not None:
        return Args(**plain)
    from gitmem.cli.parser import build_parser

    return build_parser([] if word is None else [word]).parse_args(_with_usual(argv), Args())


def _with_usual(argv: Sequence[str]) -> Sequence[str]:
    """Return a command line with the default subcommand added: `facts --all` as `facts list --all`."""
    place = command_place(argv)
    rest = argv[place + 1 :] if place is not None else ()
    if place is None or not rest or not rest[0].startswith("-"):
        return argv
    usual, name = sections()[argv[place]].usual, argv[place]
    named = {"-h", "--help", *(words.removeprefix(f"{name} ") for words in sections())}
    return argv if not usual or named & {*rest} else [*argv[: place + 1], usual, *rest]


_SWITCH = {"action": "store_true"}


_EVERYWHERE: Mapping[str, dict[str, Any]] = {  # the options that stand before a command
    "-C": {"dest": "directory"},
    "--no-pager": {"dest": "no_pager", **_SWITCH},
    "--user": {"dest": "user", **_SWITCH},
    "--private": {"dest": "private", **_SWITCH},
}


def read_plain(argv: Sequence[str]) -> dict[str, Any] | None:
    """Return what a command line says, by the names that `argparse` uses; None if `argparse` has to read it.

    It has to if there is a mistake, an abbreviated option or `--option=value`, if options exclude each other, and if
    the command has subcommands.
    """
    place = command_place(argv)
    name = "" if place is None else argv[place]
    if place is None or name not in sections() or any(words.startswith(f"{name} ") for words in sections()):
        return None
    section = sections()[name]
    said: dict[str, Any] = {how["dest"]: None if dest == "-C" else False for dest, how in _EVERYWHERE.items()}
    said |= {"command": name, "json": False}
    options: dict[str, dict[str, Any]] = {"--json": {"dest": "json", **_SWITCH}} if section.as_json else {}
    places: list[tuple[str, dict[str, Any]]] = []
    for mark, names, how, _ in arguments_of(section.parts[1]):
        if mark == "! " or "required" in how:
            return None
        if "dest" in how:
            said.setdefault(how["dest"], how.get("default"))
            options |= {} if mark else dict.fromkeys(names, how)
        else:
            places.append((names[0], how))
    before, after = _take_options(argv[:place], _EVERYWHERE, said), _take_options(argv[place + 1 :], options, said)
    return said if before == [] and after is not None and _take_places(after, places, said) else None


def _take_options(
    words: Sequence[str], options: Mapping[str, dict[str, Any]], said: dict[str, Any]
) -> list[str] | None:
    """Put the values of options into `said`, and return the other words; None if the line is not plain."""
    others: list[str] = []
    last = 0
    numbered = iter(enumerate(words))
    for number, word in numbered:
        if not _is_option(word):
            if others and number > last + 1:
                return None
            others.append(word)
            last = number
            continue
        how = options.get(word)
        if how is None:
            return None
        if how.get("action") == "store_true":
            said[how["dest"]] = True
            continue
        _, value = next(numbered, (0, "--"))
        if _is_option(value) or not _fits(value, how):
            return None
        value = how.get("type", str)(value)
        said[how["dest"]] = [*said[how["dest"]], value] if how.get("action") == "append" else value
    return others


def _take_places(words: list[str], places: Sequence[tuple[str, dict[str, Any]]], said: dict[str, Any]) -> bool:
    """Put words into `said` by their places; return False if the line is not plain."""
    for name, how in places:
        nargs = how.get("nargs", "1")
        most = 1 if nargs in {"1", "?"} else len(words)
        taken, words = words[:most], words[most:]
        if not all(_fits(word, how) for word in taken) or (nargs in {"1", "+"} and not taken):
            return False
        said[name] = taken if nargs in {"*", "+"} else taken[0] if taken else how.get("default")
    return not words


def _is_option(word: str) -> bool:
    return word.startswith("-") and word != "-"


def _fits(word: str, how: Mapping[str, Any]) -> bool:
    kind = how.get("type", str)
    return (kind is str or (kind is whole_number and word.isdecimal())) and word in how.get("choices", (word,))
