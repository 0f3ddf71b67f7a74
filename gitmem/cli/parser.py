"""Parse a command line with argparse parsers built from commands.txt; print help, and suggest corrections."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gitmem.cli.arguments import Args
from gitmem.cli.table import (
    COMMANDS,
    FIRST,
    GROUPS,
    PARTS,
    PLUMBING,
    HelpAskedError,
    arguments_of,
    command_place,
    command_word,
    nearest,
    sections,
)
from gitmem.errors import UsageError
from gitmem.platform.machine import install_command, version_words
from gitmem.values import Any, NoReturn

vars(argparse)["_"] = str  # skip the search for translations, which takes a millisecond or two

_ABOUT = "A memory for coding agents that lives in git."
_EPILOG = "'gitmem help COMMAND' explains a command, with examples; 'gitmem help --all' lists all of them."
_PROSE = 100  # most columns of a paragraph of help


class _Formatter(argparse.HelpFormatter):
    """Fills paragraphs, leaves indented lines, and lists the choices of an option after its help."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:  # noqa: ARG002
        import textwrap  # which no command needs, but help

        def filled(match: re.Match[str]) -> str:
            return textwrap.fill(match[0], min(width, _PROSE), break_long_words=False, break_on_hyphens=False)

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
    """Raises usage errors and requested help, which the error boundary prints."""

    asked = ""  # the command to whose help an error refers, if not this parser's

    def __init__(self, *, json: bool = True, **options: Any) -> None:
        # A fixed width: argparse formats each argument once to check it, and would import shutil for the terminal's.
        super().__init__(formatter_class=lambda prog: _Formatter(prog, width=80), allow_abbrev=False, **options)
        self._positionals.title = "arguments"
        if json:  # no default, which would override a `--json` before the action
            help_line = "print the result as JSON"
            self.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help=help_line)

    def format_help(self) -> str:
        """Return the help, as wide as the terminal."""
        self.formatter_class = _Formatter
        return super().format_help()

    def print_help(self, file: object = None) -> NoReturn:  # noqa: ARG002
        """Raise the help."""
        raise HelpAskedError(self.format_help().rstrip("\n"))

    def error(self, message: str) -> NoReturn:
        """Raise a usage error; leave out an argument's name that is just the list of choices, which the message has."""
        message = re.sub(r"^argument [^\s|]+\|\S+: (?=invalid choice)", "", message)
        near = _near_choice(message) or self._near_option(message)
        hint = f"Did you mean '{near}'? " if near else self._filter_hint(message) or self._word_hint(message)
        raise UsageError(f"{message[:1].upper()}{message[1:]}.", f"{hint}'{self.asked or self.prog} --help' shows how.")

    def _filter_hint(self, message: str) -> str:
        """Return how to filter a search if the user tried an option for it, else ""."""
        from gitmem.search.query import FILTERS  # late: few command lines are wrong

        match = re.match(rf"unrecognized arguments: --({'|'.join(FILTERS)})(?: (\S+))?", message)
        filtered = f"{match[1]}:{match[2] or '…'}" if match and self.asked == "gitmem search" else ""
        return f"A filter is a word of the query: gitmem search 'WORDS {filtered}'. " if filtered else ""

    def _word_hint(self, message: str) -> str:
        """Return what to do about a superfluous or missing word, "" if unknown."""
        option = re.match(r"argument (?:-\w/)?(--[\w-]+): expected one argument", message)
        if option and (known := self._option_string_actions.get(option[1])) and not (known.choices or known.type):
            return f"A text that begins with '-' stands behind '=': {option[1]}='-…'. "
        match = re.match(r"unrecognized arguments: (-\S+)?|the following arguments are required: (FILE)$", message)
        if match and match[1] and self.asked == "gitmem facts forbid":
            return f"Words that begin with '-' stand behind '--': gitmem facts forbid FACT -- '{match[1]}'. "
        return _TOO_MANY.get(" ".join(filter(None, (self.asked or self.prog, *match.groups()))), "") if match else ""

    def _near_option(self, message: str) -> str:
        """Return the most similar option of this command or its subcommands to an unknown one, or ""."""
        match = re.match(r"unrecognized arguments: (--[\w-]+|-v\b)", message)
        known = {*self._option_string_actions}
        for _, _, own in own_commands(self):
            for parser in (own, *(part for _, _, part in own_commands(own))):
                known.update(parser._option_string_actions)  # noqa: SLF001  # argparse has no other way to list them
        same = _SAME_OPTIONS.get(match[1], "") if match else ""
        return same if same in known else nearest(match[1], known - {match[1]}) if match else ""


_SAME_OPTIONS = {"--kind": "--type", "--type": "--kind", "--limit": "-n", "--reset": "--unset", "-v": "--version"}
_TOO_MANY = {
    **dict.fromkeys(("gitmem install", "gitmem uninstall"), "One agent a call, or --all for those on this machine. "),
    "gitmem backup FILE": "To sync with a remote that is called 'backup': gitmem sync -- backup. ",
    "gitmem export": "It prints all memories: gitmem export > FILE. One document: gitmem show PATH. ",
    "gitmem doctor --fix": "Each finding names the command that fixes it. ",
    "gitmem facts list": "One kind: gitmem facts list --kind rule. ",
    "gitmem facts retire": "One fact a call. ",
    "gitmem pause": "A time is one word: 30m, 1h, 2d. ",
    "gitmem why": "A line is written PATH:LINE. ",
    "gitmem forget": "A text goes by 'gitmem forget purge TEXT', a fact by 'gitmem facts retire TEXT'. ",
}
# Names of memory types in issue trackers and commit conventions, and of acts in shells.
_SAME = {"bug": "error_fix", "fix": "error_fix", "todo": "issue", "task": "issue", "lesson": "learning"}
_SAME["fact"] = "decision"
_SAME |= dict.fromkeys(("rm", "remove", "delete", "end", "close"), "retire remove")
_SAME |= {"ls": "list", "new": "add", "update": "edit"}
_SAME |= {"결정": "decision", "규칙": "rule", "버그": "error_fix", "오류": "error_fix", "할일": "issue"}
_SAME |= {"이슈": "issue", "배움": "learning", "메모": "note", "선호": "preference", "패턴": "pattern"}


def _near_choice(message: str) -> str:
    """Return the choice most similar to an invalid one, ignoring case, or ""."""
    match = re.search(r"invalid choice: '([^']*)' \(choose from ([^)]{0,4000})\)", message)
    if match is None:
        return ""
    choices = {choice.strip(" '") for choice in match[2].split(",")}
    same = next((name for name in _SAME.get(match[1].lower(), "").split() if name in choices), "")
    return same or nearest(match[1].lower(), choices)


def build_parser(names: Sequence[str], asked: str = "") -> argparse.ArgumentParser:
    """Return the parser with sub-parsers of these commands; without names, with a help line for each command.

    Errors refer to the help of the command `asked`, by default the first one.
    """
    usage = None if names else "gitmem [-h] [-V] [-C DIR] [--no-pager] [--for-agent] [--user | --private] COMMAND ..."
    about = _ABOUT if names else f"{_ABOUT}\n\n{listed_commands(GROUPS)}"
    parser = Parser(json=False, prog="gitmem", usage=usage, description=about, epilog=_EPILOG)
    parser.asked = " ".join(("gitmem", *(asked.split() or names[:1])))
    parser.set_defaults(json=False)
    parser.add_argument("-V", "--version", action="version", version=version_words())
    parser.add_argument("-C", dest="directory", metavar="DIR", help="work as if started in this folder")
    parser.add_argument("--no-pager", action="store_true", help="print without a pager, however long")
    parser.add_argument("--for-agent", action="store_true", help="fence what is remembered, as data for an agent")
    parser.add_argument("--user", action="store_true", help="use your own store (~/.gitmem), not the project's")
    parser.add_argument("--private", action="store_true", help="use what is private to the project: it is sent nowhere")
    # Without `prog` argparse formats a usage line to find it, for which it asks the terminal's width.
    commands = parser.add_subparsers(
        dest="command",
        metavar="COMMAND",
        required=bool(names),
        prog="gitmem",
        help=None if names else argparse.SUPPRESS,
    )
    for name in names or (command for command in COMMANDS if command not in PLUMBING):  # for completion
        if names:
            _add_command(commands, name)
        else:
            commands.add_parser(name, help=sections()[name].line)
    return parser


def _add_command(commands: argparse._SubParsersAction[Parser], name: str) -> None:
    section = sections()[name]
    about, arguments, examples, as_json = section.parts
    if name in PARTS:
        about += "\n\n" + listed_commands({"related commands:": PARTS[name]})
    shown = examples.strip("\n").split("\n")
    epilog = "\n\n".join(filter(None, (_titled(shown), as_json)))
    command = commands.add_parser(name, help=section.line, description=about, epilog=epilog, json=bool(as_json))
    _add_arguments(command, arguments)
    own = {words: section for words, section in sections().items() if words.startswith(f"{name} ")}
    if not own:
        return
    actions = command.add_subparsers(dest="action", metavar="ACTION", prog=f"gitmem {name}")
    for words, part_help in own.items():
        part = actions.add_parser(
            words[len(name) + 1 :],
            help=part_help.line,
            description=f"{part_help.line[:1].upper()}{part_help.line[1:]}.",
            epilog=_titled([line for line in shown if f"gitmem {words}" in line] or [f"  gitmem {words}"]),
        )
        _add_arguments(part, part_help.text)
        if words == f"{name} {section.usual}":
            defaults = {action.dest: action.default for action in part._actions}  # noqa: SLF001
            usual = {dest: value for dest, value in defaults.items() if value is not argparse.SUPPRESS}
            command.set_defaults(action=section.usual, **usual)


def _add_arguments(parser: argparse.ArgumentParser, text: str) -> None:
    group = None
    for mark, names, options, help_line in arguments_of(text):
        group = (group or parser.add_mutually_exclusive_group(required=mark == "! ")) if mark else None
        if names == ["--user"]:  # no default: `gitmem --user init` means the same as `gitmem init --user`
            options["default"] = argparse.SUPPRESS
        (group or parser).add_argument(*names, **options, help=help_line or None)


def own_commands(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str, argparse.ArgumentParser]]:
    """Yield the subcommands of a command: word, line of help and parser."""
    for action in parser._actions:  # noqa: SLF001  # argparse has no other way to list them
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            lines = {choice.dest: choice.help or "" for choice in action._choices_actions}  # noqa: SLF001
            yield from ((word, lines[word], own) for word, own in action.choices.items())


def _titled(examples: Sequence[str]) -> str:
    return "\n".join(["examples:", *examples])


def lines_of(names: Iterable[str]) -> dict[str, str]:
    """Return the lines of help of commands, by name."""
    return {name: sections()[name].line for name in names}


def listed(groups: Mapping[str, Mapping[str, str]]) -> str:
    """Return words with their lines, group by group."""
    width = max(len(name) for group in groups.values() for name in group) + 2
    return "\n\n".join(
        "\n".join([title, *(f"  {name:<{width}}{line}" for name, line in group.items())])
        for title, group in groups.items()
    )


def common_commands(stand: str) -> str:
    """Return what `gitmem` alone prints: where the memory stands, and the commands that a user needs."""
    more = f"Also: pause, sync, remote, import, doctor, uninstall. {_EPILOG}"
    return f"{_ABOUT}\n\n{stand}{listed_commands({FIRST: GROUPS[FIRST]})}\n\n{more}"


def listed_commands(groups: Mapping[str, Iterable[str]]) -> str:
    """Return commands with their lines of help, group by group."""
    return listed({title: lines_of(names) for title, names in groups.items()})


# Other programs' names of commands; for one that means several here, the first one needed.
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
    **dict.fromkeys(("off", "disable", "stop"), "pause"),
    **dict.fromkeys(("on", "enable", "unpause", "continue"), "resume"),
    **dict.fromkeys(("cost", "costs", "tokens", "usage"), "stats"),
    **dict.fromkeys(("fact", "rule", "rules", "decision", "decisions"), "facts"),
    **dict.fromkeys(("man", "manual", "tutorial", "examples"), "help"),
    "hooks": "install",
    "reset": "undo",
    "explain": "why",
    "version": "--version",
    "revert": "undo",
    "history": "log",
}


def parse(argv: Sequence[str]) -> Args:
    """Return the arguments of a command line; raises UsageError, or HelpAskedError with the help."""
    word = command_word(argv)
    place = command_place(argv)
    if place and argv[0] in {"-h", "--help", "--json"}:  # an option of that command
        argv = [*argv[1 : place + 1], argv[0], *argv[place + 1 :]]
    if word is not None and word not in COMMANDS:
        if word in {"update", "upgrade"}:
            raise UsageError(f"There is no command {word!r}.", f"To get a newer gitmem: {install_command()}")
        part = next((words for words in sections() if words.endswith(f" {word}")), "")  # "edit" of "facts edit"
        near = _MEANT.get(word) or part or nearest(word, COMMANDS)
        hint = f"Did you mean 'gitmem {near}'? " if near else ""
        raise UsageError(f"There is no command {word!r}.", f"{hint}'gitmem help --all' lists all commands.")
    place = command_place(argv)
    if place is not None and [*argv[place : place + 2]] in (["config", "set"], ["config", "get"]):
        rest = " ".join(map(shlex.quote, argv[place + 2 :])) or "KEY VALUE"
        raise UsageError(f"'gitmem config' takes no '{argv[place + 1]}'.", f"Try: gitmem config {rest}")
    part = " ".join(argv[place : place + 2]) if place is not None else ""
    parser = build_parser([] if word is None else [word], part if part in sections() else "")
    args = parser.parse_args(_with_usual(argv), Args())
    if word is None:  # an unknown option was reported before
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
