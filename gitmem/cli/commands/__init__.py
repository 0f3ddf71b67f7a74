"""The table of commands: their names, groups and modules; and which one a command line names."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


# The first screen of `gitmem --help`, in groups. The lines, texts and arguments of all commands stand in
# gitmem/cli/commands.txt. A command NAME is `run_NAME(args, app)`, which may return an exit code, in the module of
# gitmem.cli.commands that `MODULES` names, else in the one of its own name.
GROUPS = {
    "begin": ("init", "install", "uninstall", "clone", "import"),
    "save and find": ("save", "search", "show", "facts", "review"),
    "look into history": ("log", "sessions", "undo", "web", "sync"),
    "keep house": ("status", "doctor", "config", "forget", "upkeep"),
}
# The others, each below the command of the first screen that it is a part of: `gitmem import replay` is also `gitmem
# replay`. Those below "more" stand for themselves.
PARTS = {
    "clone": ("join",),
    "save": ("private", "pause", "resume", "promote", "demote"),
    "import": ("replay", "migrate", "adopt"),
    "search": ("recall", "keywords"),
    "show": ("get", "at", "start"),
    "facts": ("resolve",),
    "log": ("diff", "blame", "index"),
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
FREE = ("search", "more")  # `gitmem search recall` searches for a word
PLUMBING = ("hook", "merge-driver")  # not for people
_OF_MODULES = {  # more than the one of its name
    "agents": "uninstall doctor",
    "completion": "help",
    "facts": "resolve",
    "find": "search recall keywords get",
    "history": "log sessions blame index diff undo",
    "hook": "start statusline merge-driver",
    "imports": "import replay migrate adopt",
    "learned": "concepts episodes patterns knowledge guide task",
    "serve": "mcp web",
    "show": "at",
    "status": "stats path",
    "stores": "init clone join trust remote private pause resume promote demote sync propose export backup restore",
    "summaries": "summary summarize judge",
    "upkeep": "check consolidate reindex maintain forget clear cleanup purge",
}
MODULES = {name: module for module, names in _OF_MODULES.items() for name in names.split()}
COMMANDS = tuple(name for group in (*GROUPS.values(), *PARTS.values(), PLUMBING) for name in group)


class HelpAskedError(Exception):
    """The command line asks for help, which is the message."""


def command_word(argv: Sequence[str]) -> str | None:
    """Return the first word that is neither an option nor the folder of `-C`, or None."""
    place = _command_place(argv)
    return None if place is None else argv[place]


def _command_place(argv: Sequence[str]) -> int | None:
    words = iter(enumerate(argv))
    for place, word in words:
        if word == "-C":
            next(words, None)
        elif not word.startswith("-"):
            return place
    return None


def unfolded(argv: Sequence[str]) -> Sequence[str]:
    """Return a command line that names a part by itself: `upkeep check` as `check`."""
    place = _command_place(argv)
    if place is None or argv[place] in FREE or not {*argv[place + 1 : place + 2]} & {*PARTS.get(argv[place], ())}:
        return argv
    return [*argv[:place], *argv[place + 1 :]]


def runner(name: str) -> Any:
    """Return the function that runs a command; its module is imported late."""
    module = f"gitmem.cli.commands.{MODULES.get(name, name.replace('-', '_'))}"
    __import__(module)  # `importlib` takes half a millisecond
    return getattr(sys.modules[module], f"run_{name.replace('-', '_')}")
