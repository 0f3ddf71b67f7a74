"""Commands, values and options that people type by habit lead to the right one."""

import pytest

from gitmem.cli.parser import _MEANT, parse
from gitmem.cli.table import COMMANDS, HelpAskedError
from gitmem.document.entry import MemoryType
from gitmem.errors import UsageError

TYPED = {
    "rm a": "gitmem forget",
    "add x": "gitmem save",
    "remember x": "gitmem save",
    "ls": "gitmem show",
    "find x": "gitmem search",
    "delete a": "gitmem forget",
    "version": "gitmem --version",
    "update": "get a newer gitmem: ",
    "serach x": "gitmem search",
    "stauts": "gitmem status",
    "initialise": "gitmem init",
    "config set review.approve off": "gitmem config review.approve off",
    "install Claude": "'claude'",
    "save x -t bug": "'error_fix'",
    "save x -t Decision": "'decision'",
    "save x --tags a": "'--tag'",
    "--verison": "'--version'",
    "-x": "gitmem --help",
    "save x --kind rule": "'--type'",
    "facts add x --type rule": "'--kind'",
    "install codex claude": "One agent a call",
    "forget uv": "gitmem forget purge TEXT",
    "search x --type decision": "'WORDS type:decision'",
    "facts edit x --text y": "'gitmem facts edit --help'",
    "retire x": "'gitmem facts retire'",
    "facts rm x": "'retire'",
    "facts ls": "'list'",
    "log --limit 3": "'-n'",
    "rules": "gitmem facts",
    "man save": "gitmem help",
    "hooks": "gitmem install",
    "off": "gitmem pause",
    "disable": "gitmem pause",
    "unpause": "gitmem resume",
    "on": "gitmem resume",
    "export memory.md": "gitmem show PATH",
    "save x --type fact": "'decision'",
    "facts add x --kind fact": "'decision'",
    "tokens": "gitmem stats",
    "cost": "gitmem stats",
    "explain x": "gitmem why",
    "-v": "'--version'",
    "config x --reset": "'--unset'",
    "remote rm x": "'remove'",
    "backup": "gitmem sync -- backup",
    "doctor --fix": "Each finding names the command",
    "facts list rules": "--kind rule",
    "facts confirm a --all": "'gitmem facts confirm --help'",
    "facts retire a b": "One fact a call",
    "facts add x --forbids --no-verify": "--forbids='-…'",
    "facts forbid x --no-verify": "FACT -- '--no-verify'",
    "pause 1 hour": "30m, 1h, 2d",
    "why src/app.py 6": "PATH:LINE",
    "config get review.approve": "gitmem config review.approve",
}


@pytest.mark.parametrize("line", TYPED)
def test_what_people_type_leads_to_the_command(line):
    with pytest.raises(UsageError) as raised:
        parse(line.split())
    assert TYPED[line] in raised.value.remedy


def test_help_or_json_before_a_command_is_that_of_the_command():
    with pytest.raises(HelpAskedError, match=r"^usage: gitmem save "):
        parse(["--help", "save"])
    after, before = (["-C", "status", "status", "--json"], ["--json", "-C", "status", "status"])
    assert vars(parse(after)) == vars(parse(before))


@pytest.mark.parametrize("line", ["show x --since monday", "facts retire x --reason y"])
def test_an_option_that_is_like_none_leads_to_none(line):
    with pytest.raises(UsageError) as raised:
        parse(line.split())
    assert "Did you mean" not in raised.value.remedy


def test_each_command_that_is_meant_exists():
    assert {*_MEANT.values()} <= {*COMMANDS, "--version"}
    assert not {*_MEANT} & {*COMMANDS}


@pytest.mark.parametrize("line", ["save x -t", "facts add x --kind", "facts list --kind", "log --type"])
def test_the_types_of_memories_are_the_same_words_everywhere(line):
    with pytest.raises(HelpAskedError) as asked:
        parse([*line.split()[:-1], "--help"])
    listed = ", ".join(kind.value for kind in MemoryType)
    assert f": {listed}" in " ".join(str(asked.value).split())
    for word in (*MemoryType, "solution", "core-logic"):
        parse([*line.split(), word])
