"""The parsers of the command line, and the help that they print; only a command that is run or asked about gets one."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from gitmem import __version__
from gitmem.cli.commands import COMMANDS, GROUPS, PARTS, PLUMBING, HelpAskedError, command_word, function
from gitmem.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any, NoReturn


vars(argparse)["_"] = str  # looking for translations of its few words takes a save a millisecond

_BARE = (*PLUMBING, "completion", "help", "statusline")  # print no result that could be JSON
_ABOUT = "A memory for coding agents that lives in git."
_EPILOG = """\
examples:
  gitmem init                                  make a store for this project
  gitmem save "Use uv, not pnpm" --type rule   remember something
  gitmem show                                  print memory.md
  gitmem help save                             what a command does, with examples
  gitmem help --all                            all commands, and the exit codes
"""
_PROSE = 100  # columns of a paragraph of help, at most


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Parse a command line; only the parser of the command it names is built.

    Raises:
        UsageError: it cannot be understood.
        HelpAskedError: it asks for help.

    """
    word = command_word(argv)
    if word is not None and word not in COMMANDS:
        from difflib import get_close_matches

        near = get_close_matches(word, COMMANDS, 1)
        hint = f"Did you mean 'gitmem {near[0]}'? " if near else ""
        raise UsageError(f"There is no command {word!r}.", f"{hint}'gitmem help --all' lists all commands.")
    return build_parser([] if word is None else [word]).parse_args(argv)


class _Formatter(argparse.HelpFormatter):
    """Fills paragraphs but for their indented lines, and lists the choices of an option behind its help."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:  # noqa: ARG002
        import textwrap

        def filled(found: re.Match[str]) -> str:
            return textwrap.fill(found[0], min(width, _PROSE), break_long_words=False, break_on_hyphens=False)

        return re.sub(r"(?m)^\S.*(?:\n\S.*)*", filled, text)

    def _metavar_formatter(self, action: argparse.Action, default_metavar: str) -> Any:
        chosen = action.option_strings and action.choices and action.metavar is None
        return (
            (lambda size: (default_metavar,) * size) if chosen else super()._metavar_formatter(action, default_metavar)
        )

    def _get_help_string(self, action: argparse.Action) -> str | None:
        listed = ", ".join(map(str, action.choices or ())) if action.option_strings else ""
        return f"{action.help}: {listed}" if listed and action.help else action.help


class Parser(argparse.ArgumentParser):
    """Raises usage errors, and the help that is asked for, for the error boundary to print."""

    asked = ""  # the command whose help explains an error, where it is not this parser's own

    def __init__(self, *, json: bool = True, **options: Any) -> None:
        # argparse formats each argument once to check it; asking the terminal its width for that imports shutil.
        super().__init__(formatter_class=lambda prog: _Formatter(prog, width=80), allow_abbrev=False, **options)
        if json:  # no default: else that of an action would override what stands before it
            help_line = "print the result as JSON"
            self.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help=help_line)

    def add_argument(self, *names: Any, **options: Any) -> argparse.Action:
        """Add an argument; its value is named in capitals, in errors too."""
        if names and names[0][0] not in self.prefix_chars and "choices" not in options:
            options.setdefault("metavar", names[0].upper())
        return super().add_argument(*names, **options)

    def format_help(self) -> str:
        """Return the help, as wide as the terminal."""
        self.formatter_class = _Formatter
        return super().format_help()

    def print_help(self, file: object = None) -> NoReturn:  # noqa: ARG002
        """Raise the help."""
        raise HelpAskedError(self.format_help().rstrip("\n"))

    def error(self, message: str) -> NoReturn:
        """Raise a usage error."""
        raise UsageError(f"{message[:1].upper()}{message[1:]}.", f"'{self.asked or self.prog} --help' shows how.")


def build_parser(names: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser with the sub-parsers of these commands; without names, with a line of help for each command."""
    usage = None if names else "gitmem [-h] [-V] [-C DIR] [--no-pager] [--user | --private] COMMAND ..."
    about = _ABOUT if names else f"{_ABOUT}\n\n{listed(GROUPS)}"
    parser = Parser(json=False, prog="gitmem", usage=usage, description=about, epilog=_EPILOG)
    parser.asked = " ".join(("gitmem", *names[:1]))
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
    for name in names or (one for one in COMMANDS if one not in PLUMBING):  # completion offers them
        if not names:
            commands.add_parser(name, help=COMMANDS[name])
            continue
        about, examples = _help_texts(name)
        command = commands.add_parser(
            name, help=COMMANDS[name], description=about, epilog=_titled(examples), json=name not in _BARE
        )
        (function("configure", name) or bool)(command)
        for word, line, own in own_commands(command):
            own.description = f"{line[:1].upper()}{line[1:]}."
            own.epilog = _titled([one for one in examples if f"gitmem {name} {word}" in one] or [f"  {own.prog}"])
    return parser


def own_commands(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str, argparse.ArgumentParser]]:
    """Yield the commands below a command: its word, line of help and parser."""
    for action in parser._actions:  # noqa: SLF001  # argparse has no other way to list them
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            lines = {choice.dest: choice.help or "" for choice in action._choices_actions}  # noqa: SLF001
            yield from ((word, lines[word], own) for word, own in action.choices.items())


def _help_texts(name: str) -> tuple[str, list[str]]:
    """Return the description and the examples of a command, from the docstring of its `run`, and list its parts."""
    text = "\n".join(line.removeprefix("    ") for line in (function("run", name).__doc__ or "").split("\n")).strip()
    description, _, examples = text.partition("\n\nExamples:\n")
    if name in PARTS:
        description += "\n\n" + listed({"Its parts, each a command:": PARTS[name]})
    return description, examples.split("\n")


def _titled(examples: Sequence[str]) -> str:
    return "\n".join(["examples:", *examples])


def listed(groups: Mapping[str, Mapping[str, str]]) -> str:
    """Return commands with their line of help, group by group."""
    width = max(len(name) for group in groups.values() for name in group) + 2
    return "\n\n".join(
        "\n".join([title, *(f"  {name:<{width}}{line}" for name, line in group.items())])
        for title, group in groups.items()
    )
