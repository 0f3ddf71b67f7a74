"""The table of commands: names, groups, modules, and the sections of commands.txt with their arguments.

A hook imports this, and none of `argparse`.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache

from gitmem.values import Any, Value

# The first screen of `gitmem --help`: the commands that a user needs first, which `gitmem` alone prints, and others.
# gitmem/cli/commands.txt has the lines, texts and arguments of all commands. `run_NAME(args, app)` runs command NAME
# and may return an exit code; it is in the module of gitmem.cli.commands with the same name, unless `MODULES` names
# another.
FIRST = "the commands that you need first"
GROUPS = {
    FIRST: ("init", "install", "status", "search", "facts", "save", "review", "why", "undo", "web"),
    "then": ("show", "log", "import", "clone", "sync", "doctor", "config", "forget", "upkeep", "uninstall"),
}
# The other commands, each under a command of the first screen: `gitmem import replay` is also `gitmem replay`. Those
# under "more" belong to none.
PARTS = {
    "clone": ("join",),
    "save": ("private", "pause", "resume", "promote", "demote"),
    "import": ("replay", "migrate", "adopt"),
    "search": ("recall", "keywords"),
    "show": ("get", "at", "start"),
    "facts": ("resolve",),
    "log": ("sessions", "diff", "blame", "index"),
    "sync": ("propose", "remote", "trust", "backup", "restore", "export"),
    "status": ("stats", "path"),
    "forget": ("clear", "cleanup", "purge"),
    "upkeep": ("check", "consolidate", "reindex", "maintain"),
    "learned": ("episodes", "patterns", "concepts", "knowledge"),
    "more": (
        *("learned", "guide", "task", "summary", "summarize", "judge"),
        *("mcp", "statusline", "completion", "help"),
    ),
}
FREE = ("save", "search", "more")  # `gitmem search recall` searches for a word
PLUMBING = ("hook", "merge-driver")  # called by programs only
_OF_MODULES = {  # modules of commands that have none of their own name
    "agents": "uninstall",
    "completion": "help",
    "facts": "resolve",
    "find": "search recall keywords get",
    "history": "log sessions blame index diff undo",
    "imports": "import replay migrate adopt",
    "learned": "concepts episodes patterns knowledge guide task",
    "plumbing": "path start statusline merge-driver",
    "serve": "mcp web",
    "show": "at why",
    "stores": "init clone join trust remote private pause resume promote demote sync propose export backup restore",
    "summaries": "summary summarize",
    "upkeep": "check consolidate reindex maintain forget clear cleanup purge",
}
MODULES = {name: module for module, names in _OF_MODULES.items() for name in names.split()}
COMMANDS = tuple(name for group in (*GROUPS.values(), *PARTS.values(), PLUMBING) for name in group)


class HelpAskedError(Exception):
    """The user asked for help; the message is the help."""


def command_word(argv: Sequence[str]) -> str | None:
    """Return the first word that is neither an option nor the folder of `-C`, or None."""
    place = command_place(argv)
    return None if place is None else argv[place]


def command_place(argv: Sequence[str]) -> int | None:
    """Return the index of the word that names the command, None if there is none."""
    words = iter(enumerate(argv))
    for place, word in words:
        if word == "-C":
            next(words, None)
        elif not word.startswith("-"):
            return place
    return None


def unfolded(argv: Sequence[str]) -> Sequence[str]:
    """Return a command line without the enclosing command: `upkeep check` becomes `check`."""
    place = command_place(argv)
    if place is None or argv[place] in FREE or not {*argv[place + 1 : place + 2]} & {*PARTS.get(argv[place], ())}:
        return argv
    return [*argv[:place], *argv[place + 1 :]]


def runner(name: str) -> Any:
    """Return the function that runs a command; its module is imported late."""
    module = f"gitmem.cli.commands.{MODULES.get(name, name.replace('-', '_'))}"
    __import__(module)  # `importlib` takes half a millisecond
    return getattr(sys.modules[module], f"run_{name.replace('-', '_')}")


AS_JSON = "With --json"  # begins a paragraph, which stands at the end of the help


class HelpSection(Value):
    """A section of commands.txt: the default subcommand, the line in lists, the text."""

    usual: str
    line: str
    text: str

    @property
    def parts(self) -> tuple[str, str, str, str]:
        """What the command does, its arguments, its examples, and what it prints with `--json`, "" if it takes none."""
        text, _, examples = f"\n{self.text}".partition("\nExamples:\n")
        about, _, arguments = text.partition("\nArguments:\n")
        paragraphs = about.strip().split("\n\n")
        as_json = [text for text in paragraphs if text.startswith(AS_JSON)]
        return (
            "\n\n".join(text for text in paragraphs if text not in as_json),
            arguments,
            examples,
            "\n\n".join(as_json),
        )


@cache
def sections() -> Mapping[str, HelpSection]:
    """Return the sections of commands.txt by command."""
    with open(os.path.join(os.path.dirname(__file__), "commands.txt"), encoding="utf-8") as file:
        parts = file.read().split("\n== ")[1:]
    by_words = {}
    for part in parts:
        head, _, text = part.partition("\n")
        words, _, line = head.partition(": ")
        name, _, usual = words.partition(" [")
        by_words[name] = HelpSection._make((usual.rstrip("]"), line, text))
    return by_words


# Lists that commands.txt refers to: the module, imported on use, and the name in it.
_LISTS = {
    "$agents": ("gitmem.hosts.registry", "NAMES"),
    "$ops": ("gitmem.document.message", "Op"),
    "$types": ("gitmem.document.entry", "MemoryType"),
}


def arguments_of(text: str) -> Iterator[tuple[str, list[str], dict[str, Any], str]]:
    """Yield a section's arguments (syntax: the head of commands.txt): mark, names, options, and help."""
    for line in filter(None, text.split("\n")):
        usage, _, help_line = line[2:].partition("  ")
        if usage.startswith("@"):
            yield from arguments_of(sections()[usage].text)
            continue
        mark = usage[:2] if usage[:2] in {"| ", "! "} else ""
        yield mark, *_argument(_listed_in(usage.removeprefix(mark))), _listed_in(help_line).strip()


def _argument(usage: str) -> tuple[list[str], dict[str, Any]]:
    """Return the names of an argument, and options for `add_argument`."""
    dest, _, usage = usage.rpartition(": ")
    usage, has_default, default = usage.partition("=")
    names = [word.rstrip(",") for word in usage.split() if word.startswith("-")]
    usage = usage.rpartition(names[-1])[2].strip() if names else usage
    long = next((name for name in names if name.startswith("--")), names[0] if names else "")
    options: dict[str, Any] = {"dest": dest or long.lstrip("-").replace("-", "_")} if names else {}
    if names and not usage:
        return names, {**options, "action": "store_true", "default": False}
    optional = usage.startswith("[") and usage.endswith("]")
    usage = usage[1:-1] if optional else usage
    value = _value(usage, options, is_named=bool(names))
    if has_default:
        options["default"] = whole_number(default) if value == "N" else default
    repeats = usage.endswith(" ...")
    if names and repeats:
        options |= {"action": "append", "default": []}
    elif repeats:
        options["nargs"] = "*" if optional else "+"
    elif optional and not names:
        options["nargs"] = "?"
    return names or [dest or value.lower()], options


def _value(usage: str, options: dict[str, Any], *, is_named: bool) -> str:
    """Add the usage's description of the value to `options`, and return the value's name."""
    if usage.endswith("!"):
        options["required"] = True
    value, _, choices = usage.removesuffix(" ...").removesuffix("!").partition("{")
    value = value.strip()
    if choices:
        options["choices"] = choices.rstrip("}").split(", ")
        value = value or "|".join(options["choices"]) * (not is_named)
    if value:
        options["metavar"] = value
    if value in _TYPES:
        options["type"] = _TYPES[value]
    return value


def _listed_in(text: str) -> str:
    """Return a text with each `$` name replaced by its list."""
    for mark, (module, name) in _LISTS.items() if "$" in text else ():
        if mark in text:
            listed = getattr(__import__(module, fromlist=["*"]), name)
            text = text.replace(mark, ", ".join(str(getattr(item, "value", item)) for item in listed))
    return text


def whole_number(text: str) -> int:
    """Return the number in an argument."""
    if not text.isdecimal():
        from argparse import ArgumentTypeError

        raise ArgumentTypeError(f"{text!r} is not a whole number, 0 or more")
    return int(text)


def share(text: str) -> float:
    """Return the number from 0 to 1 in an argument."""
    with contextlib.suppress(ValueError):
        if 0 <= (number := float(text)) <= 1:
            return number
    from argparse import ArgumentTypeError

    raise ArgumentTypeError(f"{text!r} is no number from 0 to 1")


def memory_type(text: str) -> str:
    """Return the memory type that a word names; for facts two types have other names."""
    return {"solution": "error_fix", "core-logic": "learning"}.get(text, text)


_TYPES: Mapping[str, Callable[[str], float | str]] = {"N": whole_number, "0-1": share, "TYPE": memory_type}
_LIKE = 0.7  # similarity from which one word may be a misspelling of another


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the name that a word misspells: same letters in another order, a similar one, or its prefix; or ""."""
    from difflib import get_close_matches

    bare = {name.lstrip("-"): name for name in known}
    word = word.lstrip("-")
    names = [name for name in bare if sorted(name) == sorted(word)]
    names += get_close_matches(word, bare, 1, _LIKE)
    names += [name for name in bare if len(name) > 2 and word.startswith(name)]  # noqa: PLR2004
    return bare[names[0]] if names else ""
