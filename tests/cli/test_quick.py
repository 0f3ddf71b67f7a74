"""The quick way to read a command line is the same as argparse's, wherever it does not leave it to argparse."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gitmem.cli import quick
from gitmem.cli.main import build_parser
from gitmem.errors import UsageError
from gitmem.model.kinds import MemoryType

ROOT = Path(__file__).resolve().parents[2]
PARSER = build_parser(["save", "search"])
OPTIONS = ["-C", "--user", "-f", "--file", "-t", "--type", "--tag", "--session", "--json", "-V", "--help", "-h"]
WORDS = [
    *OPTIONS,
    *(f"{name}=" for name in OPTIONS),
    "save",
    "search",
    "show",
    "-",
    "--",
    "-1",
    "-tnote",
    "-C.",
    "- a",
    "",
]
WORDS += ["note", "decision", "a", "a b", "--tag=a b", "--session=-", "--type=note", "--type=x", "--jso", "-f=x", "é"]


def by_argparse(argv: list[str]) -> dict[str, object] | None:
    try:
        return vars(PARSER.parse_args(argv))
    except (UsageError, SystemExit):
        return None


def compare(argv: list[str]) -> None:
    args = quick.parse(argv)
    if args is not None:
        assert vars(args) == by_argparse(argv)


@given(st.lists(st.sampled_from(WORDS), max_size=4), st.lists(st.sampled_from(WORDS) | st.text(), max_size=7))
@example([], ["a", "--json", "b"])
@example([], ["--tag", "-1"])
@example(["-C", "x"], ["a", "--user"])
def test_what_is_understood_is_understood_as_argparse_does(before, after):
    compare([*before, "save", *after])
    compare([*before, "search", *after])
    compare([*before, *after])


KINDS = [kind.value for kind in MemoryType]
VALUE = st.text().filter(lambda text: not text.startswith("-")) | st.just("-")
OPTION = st.one_of(
    st.tuples(st.sampled_from(["-f", "--file", "--tag", "--session"]), VALUE),
    st.tuples(st.sampled_from(["-t", "--type"]), st.sampled_from(KINDS)),
    st.builds(lambda name, value: (f"{name}={value}",), st.sampled_from(["--file", "--tag", "--session"]), st.text()),
    st.builds(lambda value: (f"--type={value}",), st.sampled_from(KINDS)),
    st.just(("--json",)),
)


@given(
    st.lists(st.tuples(st.just("-C"), VALUE) | st.just(("--user",)), max_size=3),
    st.lists(OPTION, max_size=3),
    st.lists(VALUE, max_size=3),
    st.lists(OPTION, max_size=3),
)
def test_plain_command_lines_are_understood(first, before, text, after):
    if any(value in quick.COMMANDS for option in first for value in option):
        return
    flat = [word for option in (*first, ("save",), *before, text, *after) for word in option]
    args = quick.parse(flat)
    assert args is not None
    assert vars(args) == by_argparse(flat)


@pytest.mark.parametrize("line", ["search a b", "--user search --json a", "-C x search a b --json --json", "search -"])
def test_plain_searches_are_understood(line):
    args = quick.parse(line.split())
    assert args is not None
    assert vars(args) == by_argparse(line.split())


@pytest.mark.parametrize("line", ["search", "search --json", "search -n 3 a", "search a --json b", "search -- -x"])
def test_what_is_no_plain_search_is_left_to_argparse(line):
    assert quick.parse(line.split()) is None


@pytest.mark.parametrize(
    "line",
    ["save --help", "save -h", "save -x a", "save -t", "save -t x a", "save a --tag b c", "save --tag", "--help save"],
)
def test_what_is_no_plain_save_is_left_to_argparse(line):
    assert quick.parse(line.split()) is None


def test_a_save_imports_nothing_heavy(tmp_path, bare_git):
    bare_git(tmp_path, "init", "-q")
    code = (
        "import sys; sys.path.insert(0, sys.argv.pop(1)); import os; end = os._exit; "
        "os._exit = lambda code: (print(code, *sys.modules), sys.stdout.flush(), end(0)); "
        "from gitmem.cli.main import run; run()"
    )
    gitmem = [sys.executable, "-I", "-S", "-c", code, str(ROOT)]
    subprocess.run([*gitmem, "init"], cwd=tmp_path, check=True, capture_output=True)
    subprocess.run([*gitmem, "save", "first"], cwd=tmp_path, check=True, capture_output=True)
    done = subprocess.run(
        [*gitmem, "save", "one", "--type", "decision"], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    code, *modules = done.stdout.splitlines()[-1].split()
    assert code == "0"
    heavy = {
        "argparse",
        "dataclasses",
        "datetime",
        "json",
        "pathlib",
        "subprocess",
        "threading",
        "typing",
        "yaml",
        "hashlib",
    }
    assert not heavy & set(modules)
