"""The table of commands: their names, groups, lines of help and modules; and which one a command line names."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


# By name, with a line of help: the first screen of `gitmem --help`, in groups. A command NAME is `run_NAME(args, app)`,
# which may return an exit code, and for arguments of its own `configure_NAME(parser)`, in the module of
# gitmem.cli.commands that `MODULES` names, else in the one of its own name.
GROUPS = {
    "begin": {
        "init": "make a store for this project",
        "install": "have an agent's sessions remembered",
        "uninstall": "take gitmem out of an agent's settings again",
        "clone": "make this project's store out of a memory elsewhere",
        "import": "bring in recorded sessions, and memories of other tools",
    },
    "save and find": {
        "save": "remember a text",
        "search": "find memories",
        "show": "print a document, a day, an entry, a fact or a commit",
        "facts": "list, show, add, edit, retire and confirm facts",
        "review": "decide between conflicting versions and facts",
    },
    "look into history": {
        "log": "list saves, rotations and edits, with time and session",
        "sessions": "list sessions, or print one",
        "undo": "take back a save, a session, a rotation or any commit",
        "web": "look at the memory in a browser, and correct it",
        "sync": "exchange memories with other machines",
    },
    "keep house": {
        "status": "show the state of the store, and open tasks for you",
        "doctor": "check the store and name remedies",
        "config": "list or change settings",
        "forget": "remove memories: old, useless or secret ones, transcripts",
        "upkeep": "do what is due: rotate, consolidate, pack, make vectors",
    },
}
# The others, each below the command of the first screen that it is a part of: `gitmem import replay` is also `gitmem
# replay`. Those below "more" stand for themselves.
PARTS = {
    "clone": {"join": "clone the memory that the project names"},
    "save": {
        "private": "keep a session, or all of them, on this machine alone",
        "pause": "record nothing for a while",
        "resume": "record again",
        "promote": "move a private fact into the team's memory",
        "demote": "move a fact out of the team's memory, to what is private",
    },
    "import": {
        "replay": "import recorded sessions of an agent",
        "migrate": "import the memory of another tool",
        "adopt": "mirror the agent's own memory files in the store",
    },
    "search": {
        "recall": "print memories of a subject, for an agent",
        "keywords": "list keywords, and the entries that bear them",
    },
    "show": {
        "get": "print some lines of a document, or one entry",
        "at": "print a document as it was at a revision or date",
        "start": "print the text that the agent's next session starts with",
    },
    "facts": {"resolve": "mark an issue as resolved"},
    "log": {
        "diff": "show what changed between two revisions or dates",
        "blame": "show who learned a line: session, host and date",
        "index": "list the rotations, derived from history",
    },
    "sync": {
        "propose": "push facts alone to a branch, for a pull request",
        "remote": "list, add and remove the repositories memory is synced with",
        "trust": "say yes to a memory that came with a project",
        "backup": "write the whole memory to one file",
        "restore": "read a backup",
        "export": "print all memories as records, a JSON object a line",
    },
    "status": {"stats": "show the size, growth and use of the memory in figures", "path": "print where the store is"},
    "forget": {
        "clear": "remove old memories, or all; history keeps them",
        "cleanup": "remove episodes and bug patterns that never helped",
        "purge": "remove a text from the memory and its history",
    },
    "upkeep": {
        "check": "rotate memory.md if it is full, or check commits in CI",
        "consolidate": "join old days into weeks and old weeks into months",
        "reindex": "make vectors, so that search also compares meanings",
        "maintain": "pack the repository so that it stays fast",
    },
    "learned": {
        "episodes": "list and print finished tasks, rate one",
        "patterns": "list recurring errors, with their fixes",
        "concepts": "list, show, merge and split groups of exchanges",
        "knowledge": "print knowledge of the project",
    },
    "more": {
        "learned": "count what was learned from sessions",
        "guide": "print advice from memory for a task or an error",
        "task": "show the working memory of a session, and add to it",
        "summary": "show the summaries of archives, and which are pending",
        "summarize": "have a model sum up archives",
        "judge": "have a model judge sessions",
        "mcp": "serve the memory to an agent by MCP",
        "statusline": "print a line for an agent's status line",
        "completion": "print the completion script for a shell",
        "help": "show the help of a command, or list all commands",
    },
}
FREE = ("search", "more")  # `gitmem search recall` searches for a word
PLUMBING = {  # not for people
    "hook": "receive an event from an agent's host",
    "merge-driver": "merge a document for git",
}
_OF_MODULES = {  # more than the one of its name
    "changes": "diff undo",
    "completion": "help",
    "facts": "resolve",
    "find": "search recall keywords get",
    "forget": "clear cleanup purge",
    "history": "log sessions blame index",
    "hook": "statusline",
    "imports": "import replay migrate adopt",
    "layers": "private pause resume promote demote",
    "learned": "concepts episodes patterns knowledge",
    "serve": "mcp web",
    "show": "at start",
    "status": "stats path",
    "stores": "init clone join trust remote",
    "summaries": "summary summarize judge",
    "sync": "propose export backup restore",
    "task": "guide",
    "upkeep": "check consolidate reindex maintain",
}
MODULES = {name: module for module, names in _OF_MODULES.items() for name in names.split()}
COMMANDS = {name: line for group in (*GROUPS.values(), *PARTS.values(), PLUMBING) for name, line in group.items()}


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


def function(act: str, name: str) -> Any:
    """Return the function `ACT_NAME` of a command, None if it has none; its module is imported late."""
    module = f"gitmem.cli.commands.{MODULES.get(name, name.replace('-', '_'))}"
    __import__(module)  # `importlib` takes half a millisecond
    return getattr(sys.modules[module], f"{act}_{name.replace('-', '_')}", None)
