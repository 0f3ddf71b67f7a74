"""The entry point: find the command and run it; the one place that turns errors into messages and exit codes."""

from __future__ import annotations

import gc
import os
import sys

from gitmem import __version__
from gitmem.errors import ExitCode, GitFailedError, GitmemError, UsageError

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, NoReturn

    from gitmem.cli.app import App


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
_LIGHT = ("hook", "statusline")  # run often, without a parser
_FREE = ("search", "more")  # `gitmem search recall` searches for a word
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
_BARE = (*PLUMBING, "completion", "help", "statusline")  # print no result that could be JSON
COMMANDS = {name: line for group in (*GROUPS.values(), *PARTS.values(), PLUMBING) for name, line in group.items()}

_EPILOG = """\
examples:
  gitmem init                                       make a store for this project
  gitmem save "Use uv, not pnpm" --type decision    remember something
  gitmem show                                       print memory.md
  gitmem help save                                  what one command does, with examples
  gitmem help --all                                 all commands, and the exit codes
"""
_INTERRUPTED = 130  # as a shell has it: 128 and the number of the signal
_DAMAGE = "'gitmem doctor' says what is wrong with the store."
_SHOWN = 300  # characters of an unexpected error
# Exit codes that are logged for `gitmem doctor`; usage errors are not.
_LOGGED = (ExitCode.BUSY, ExitCode.NOT_SAVED, ExitCode.UNFINISHED)


def main(argv: Sequence[str], make_app: Callable[[], App]) -> int:
    """Run one command line and return its exit code."""
    if list(argv) in (["--version"], ["-V"]):
        print(f"gitmem {__version__}")
        return ExitCode.OK
    return _run(argv, make_app().harmless())


def _run(argv: Sequence[str], app: App) -> int:
    word = command_word(argv)
    if word in _LIGHT and not {"-h", "--help"} & set(argv):
        from gitmem.cli.commands.hook import hook
        from gitmem.cli.recall_hooks import statusline

        return hook(argv, app) if word == "hook" else statusline(app)
    args = None
    try:
        if "_ARGCOMPLETE" in app.environ:
            _complete(app)
        args = parse(unfolded(argv) or ["--help"])
        return int(_function("run", args.command)(args, app._replace(pages=not args.no_pager)) or ExitCode.OK)
    except BrokenPipeError:  # `gitmem log | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.OK
    except KeyboardInterrupt:
        print("gitmem: interrupted.", file=app.err)
        return _INTERRUPTED
    except Exception as error:  # noqa: BLE001  # the one place where any error becomes words and an exit code
        as_json = getattr(args, "json", "--json" in argv)
        if isinstance(error, GitmemError):
            return _report(error, app, args, as_json=as_json)
        return _report_unexpected(error, app, args, as_json=as_json)


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Parse a command line; only the parser of the command it names is built.

    Raises:
        UsageError: it cannot be understood.

    """
    word = command_word(argv)
    if word is not None and word not in COMMANDS:
        from difflib import get_close_matches

        near = get_close_matches(word, COMMANDS, 1)
        hint = f"Did you mean 'gitmem {near[0]}'? " if near else ""
        raise UsageError(f"There is no command {word!r}.", f"{hint}'gitmem help --all' lists all commands.")
    return build_parser([] if word is None else [word]).parse_args(argv)


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
    if place is None or argv[place] in _FREE or not {*argv[place + 1 : place + 2]} & {*PARTS.get(argv[place], ())}:
        return argv
    return [*argv[:place], *argv[place + 1 :]]


def build_parser(names: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser with the sub-parsers of these commands; without names, with a line of help for each command."""
    import argparse

    vars(argparse)["_"] = str  # looking for translations of its few words takes a save a millisecond
    help_of = " ".join(("gitmem", *names[:1], "--help"))

    class NarrowFormatter(argparse.RawDescriptionHelpFormatter):
        """Formats arguments that argparse checks, in a fixed width."""

        def __init__(self, prog: str) -> None:
            super().__init__(prog, width=80)

    class Parser(argparse.ArgumentParser):
        """Raises usage errors for the error boundary to print."""

        def __init__(self, *, json: bool = True, **options: Any) -> None:
            # argparse formats each argument once to check it; asking the terminal its width for that imports shutil.
            super().__init__(formatter_class=NarrowFormatter, allow_abbrev=False, **options)
            if json:  # no default: else that of an action would override what stands before it
                help_line = "print the result as JSON"
                self.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help=help_line)

        def format_help(self) -> str:
            self.formatter_class = argparse.RawDescriptionHelpFormatter
            return super().format_help()

        def error(self, message: str) -> NoReturn:
            raise UsageError(f"{message[:1].upper()}{message[1:]}.", f"'{help_of}' shows how it is used.")

    about = "A memory for coding agents that lives in git."
    if names:
        parser = Parser(json=False, prog="gitmem", description=about, epilog=_EPILOG)
    else:
        usage = "gitmem [-h] [-V] [-C DIR] [--no-pager] [--user] COMMAND ..."
        about = f"{about}\n\n{listed(GROUPS)}"
        parser = Parser(json=False, prog="gitmem", usage=usage, description=about, epilog=_EPILOG)
    parser.set_defaults(json=False)
    parser.add_argument("-V", "--version", action="version", version=f"gitmem {__version__}")
    parser.add_argument("-C", dest="directory", metavar="DIR", help="work as if started in this folder")
    parser.add_argument("--no-pager", action="store_true", help="print without a pager, however long")
    parser.add_argument("--user", action="store_true", help="use your own store (~/.gitmem), not the project's")
    parser.add_argument("--private", action="store_true", help="use what is private to the project: it is sent nowhere")
    # Without `prog` argparse formats a usage line to find out, and asks the terminal its width for it.
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", required=True, prog="gitmem", help=None if names else argparse.SUPPRESS
    )
    for name, line in COMMANDS.items():
        if name in names:
            description, epilog = _help_texts(name)
            command = commands.add_parser(
                name, help=line, description=description, epilog=epilog, json=name not in _BARE
            )
            (_function("configure", name) or bool)(command)
        elif not names:  # completion offers them
            commands.add_parser(name, help=line)
    return parser


def _help_texts(name: str) -> tuple[str, str | None]:
    """Return the description and the examples of a command, from the docstring of its `run`, and list its parts."""
    text = "\n".join(line.removeprefix("    ") for line in (_function("run", name).__doc__ or "").split("\n")).strip()
    description, _, examples = text.partition("\n\nExamples:\n")
    if name in PARTS:
        description += "\n\n" + listed({"Its parts, each a command:": PARTS[name]})
    return description, f"examples:\n{examples}" if examples else None


def listed(groups: Mapping[str, Mapping[str, str]]) -> str:
    """Return commands with their line of help, group by group."""
    width = max(len(name) for group in groups.values() for name in group) + 2
    return "\n\n".join(
        "\n".join([title, *(f"  {name:<{width}}{line}" for name, line in group.items())])
        for title, group in groups.items()
    )


def _function(act: str, name: str) -> Any:
    """Return the function `ACT_NAME` of a command, None if it has none; its module is imported late."""
    module = f"gitmem.cli.commands.{MODULES.get(name, name.replace('-', '_'))}"
    __import__(module)  # `importlib` takes half a millisecond
    return getattr(sys.modules[module], f"{act}_{name.replace('-', '_')}", None)


def _complete(app: App) -> None:
    """Answer the shell that wants to complete a command line, and end (https://kislyuk.github.io/argcomplete)."""
    import argcomplete

    from gitmem.cli.commands.completion import offer_words

    words = app.environ.get("COMP_LINE", "").split()
    parser = build_parser([name for name in COMMANDS if name in words])
    offer_words(parser, app)
    argcomplete.autocomplete(parser)


def _report(error: GitmemError, app: App, args: argparse.Namespace | None, *, as_json: bool) -> int:
    is_git = isinstance(error, GitFailedError)
    journal = _log(app, args, error.message) if is_git or error.exit_code in _LOGGED else ""
    remedy = error.remedy or (_DAMAGE if is_git and journal else "")
    _say(app, {"error": error.message, "remedy": remedy, "exit_code": int(error.exit_code)}, as_json=as_json)
    return error.exit_code


def _report_unexpected(error: Exception, app: App, args: argparse.Namespace | None, *, as_json: bool) -> int:
    """Print one line and write the traceback to the log; print it if there is no store."""
    import traceback

    trace = "".join(traceback.format_exception(error))
    words = " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")[:_SHOWN]
    report = {"error": f"An unexpected error: {words}", "remedy": "", "exit_code": int(ExitCode.FAILURE)}
    if journal := _log(app, args, words, trace):
        report["remedy"] = f"The details are in {journal}, and 'gitmem doctor' shows them. Please report it."
    else:
        report["traceback"] = trace
        report["remedy"] = "This is a bug in gitmem. Please report it with this whole text."
    _say(app, report, as_json=as_json)
    return ExitCode.FAILURE


def _log(app: App, args: argparse.Namespace | None, message: str, trace: str = "") -> str:
    """Write a failure to the log of the command's store; return the log's path, "" where that is not possible."""
    if args is None:
        return ""
    try:
        from gitmem.cli.app import now
        from gitmem.store.findings import Failure, FailureLog

        journal = FailureLog(app.open(args).private)
        return journal.path * journal.record(Failure(now(), args.command, message, trace))
    except Exception:  # noqa: BLE001  # no store, or one that is the very trouble
        return ""


def _say(app: App, report: dict[str, object], *, as_json: bool) -> None:
    from gitmem.text.terminal import mask_urls

    # A message may quote an address with its password.
    report = {key: mask_urls(value) if isinstance(value, str) else value for key, value in report.items()}
    if as_json:
        from gitmem.text.terminal import json_text

        print(json_text(report), file=app.err)
    else:
        from gitmem.text.terminal import plain, styled

        trace, remedy = report.get("traceback", ""), report["remedy"]
        text = plain(f"{trace}gitmem: {report['error']}" + (f"\n  {remedy}" if remedy else ""))
        print(text.replace("gitmem:", styled("error", "gitmem:"), 1) if app.colour(app.err) else text, file=app.err)


def run() -> None:
    """Run the command line of this process (the `gitmem` script)."""
    # A command makes few cycles and soon ends: collecting them at the usual pace costs 4 % of its time.
    gc.set_threshold(50_000, 20, 20)
    from gitmem.cli.app import real_app

    code = main(sys.argv[1:], real_app)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            pass
        except OSError:  # a full disk
            if command_word(sys.argv[1:]) != "hook":
                code = code or ExitCode.FAILURE
    # Tearing the interpreter down would cost a tenth of a save.
    os._exit(code)
