"""The entry point: finds the command, and is the one place where an error becomes words and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from gitmem import __version__
from gitmem.errors import ExitCode, GitmemError
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door


class Command(Value):
    """A command: the module of its group, imported only when it is used, and one line of help.

    The module has `configure_NAME(parser)` and `run_NAME(args, door) -> exit code`.
    """

    module: str
    help: str


COMMANDS = {
    "init": Command("setup", "make a store for this project"),
    "save": Command("saving", "remember a text"),
    "check": Command("saving", "rotate memory.md if it has grown too large"),
    "show": Command("reading", "print a memory document, or one entry"),
    "status": Command("inspecting", "what the store holds, what waits, what needs you"),
    "log": Command("reading", "what was saved, when, in which session"),
    "at": Command("reading", "print a document as it was at a revision or date"),
    "diff": Command("reading", "what changed between two revisions or dates"),
    "blame": Command("reading", "who learned a line: session, host and date"),
    "undo": Command("undoing", "take back a save, a session or a rotation"),
    "index": Command("reading", "the rotations, derived from history"),
    "config": Command("setup", "list or change settings"),
    "doctor": Command("inspecting", "check the store and say how to mend it"),
    "maintain": Command("inspecting", "pack the repository so that it stays fast"),
    "path": Command("setup", "print where the store is"),
    "completion": Command("setup", "print the completion script for a shell"),
}

_EPILOG = """\
A store is found from any folder of the project. Exit codes: 0 done, 1 failed, 2 usage, 3 no store, 4 other format
version, 5 busy, 6 not saved, 7 merge in progress, 8 refused, 9 not found.
"""


def main(argv: Sequence[str], make_door: Callable[[], Door]) -> int:
    """Run one command line and return its exit code."""
    if list(argv) in (["--version"], ["-V"]):
        print(f"gitmem {__version__}")
        return ExitCode.OK
    door = make_door()
    args = None
    try:
        args = parse(argv)
        run_command: Callable[[argparse.Namespace, Door], int] = getattr(_module(args.command), f"run_{args.command}")
        return run_command(args, door)
    except GitmemError as error:
        return _report(error, door, as_json=getattr(args, "json", False))
    except BrokenPipeError:  # `gitmem log | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.OK
    except KeyboardInterrupt:
        print("gitmem: interrupted.", file=door.err)
        return 130


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Parse a command line; only the parser of the command it names is built, unless it names none."""
    name = next((word for word in argv if word in COMMANDS), None)
    parser = build_parser([name] if name and "_ARGCOMPLETE" not in os.environ else list(COMMANDS))
    return parser.parse_args(argv)


def build_parser(names: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser, with the sub-parsers of these commands complete and the others as one line of help."""
    import argparse

    parser = argparse.ArgumentParser(
        prog="gitmem",
        description="A memory for coding agents that lives in git.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-V", "--version", action="version", version=f"gitmem {__version__}")
    parser.add_argument("-C", dest="directory", metavar="DIR", help="work as if started in this folder")
    parser.add_argument("--user", action="store_true", help="use your own store (~/.gitmem), not the project's")
    # Without `prog` argparse formats a usage line to find out, and asks the terminal its width for it.
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, prog="gitmem")
    for name, command in COMMANDS.items():
        if name not in names:
            commands.add_parser(name, help=command.help)
            continue
        module = _module(name)
        about = "\n".join(
            line.removeprefix("    ") for line in getattr(module, f"run_{name}").__doc__.split("\n")
        ).strip()
        description, _, examples = about.partition("\n\nExamples:\n")
        sub = commands.add_parser(
            name,
            help=command.help,
            description=description,
            epilog=f"examples:\n{examples}" if examples else None,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        getattr(module, f"configure_{name}")(sub)
    return parser


def _module(name: str) -> object:
    return import_module(f"gitmem.cli.{COMMANDS[name].module}")


def _report(error: GitmemError, door: Door, *, as_json: bool) -> int:
    if as_json:
        import json

        said = {"error": error.message, "remedy": error.remedy, "exit_code": int(error.exit_code)}
        print(json.dumps(said, ensure_ascii=False), file=door.err)
    else:
        print(f"gitmem: {error.message}" + (f"\n  {error.remedy}" if error.remedy else ""), file=door.err)
    return error.exit_code


def run() -> None:
    """Run the command line of this process (the `gitmem` script)."""
    from gitmem.cli.door import real_door

    code = main(sys.argv[1:], real_door)
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        pass
    # Nothing is left to be done, and taking the interpreter apart would cost a tenth of a save.
    os._exit(code)
