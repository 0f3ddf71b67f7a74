import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gitmem import __version__
from gitmem.cli.commands import plumbing as command
from gitmem.cli.progress import Progress
from gitmem.cli.table import COMMANDS, FIRST, GROUPS, PLUMBING
from gitmem.errors import ExitCode, GitmemError, NotFoundError
from gitmem.platform import machine
from gitmem.store.findings import FailureLog
from gitmem.text.terminal import cells
from tests.command_line import Runner, Terminal, on_terminal

ROOT = Path(__file__).resolve().parents[3]
SECRET = "ghp_" + "R4nd0mT0kenF0rTestsOnlyAbCdEfGhIjKlM"
# What `gitmem --version` must do without, as hooks do.
HEAVY = {"argparse", "asyncio", "dataclasses", "git", "inspect", "logging", "subprocess", "typing", "yaml"}


@pytest.fixture
def gitmem(run):
    """Give a function that runs a command in a folder without a store."""
    return run


@pytest.fixture
def journal(tmp_path):
    return FailureLog(str(tmp_path / ".gitmem" / ".git" / "gitmem"))


@pytest.fixture
def fails(monkeypatch):
    """Give a function that has `gitmem path` fail with an error."""

    def fail_with(error):
        def run(args, app):
            raise error

        monkeypatch.setattr(command, "run_path", run)

    return fail_with


def in_a_process(*args, cwd, **more):
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "gitmem", *args]
    return subprocess.run(command, cwd=cwd, env=environ, capture_output=True, text=True, check=False, **more)


@pytest.mark.parametrize("words", [["--version"], ["-V"]])
def test_the_version_is_printed_and_nothing_heavy_is_loaded(words, tmp_path):
    code = (
        "import sys; from gitmem.cli import main\n"
        f"code = main.main({words}, None)\n"
        f"print(sorted({HEAVY} & set(sys.modules)))\n"
        "sys.exit(code)"
    )
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, f"gitmem {__version__}, run from {ROOT}\n[]\n", "")


def test_the_version_of_an_installed_program_says_when_it_was_installed(monkeypatch, tmp_path):
    (tmp_path / "_data").mkdir()
    os.utime(tmp_path / "_data", (0, 1_764_500_000))
    monkeypatch.setattr(machine, "_PACKAGE", str(tmp_path))
    monkeypatch.setattr(machine, "local", lambda moment: moment)
    assert machine.version_words() == f"gitmem {__version__}, installed 2025-11-30 10:53"


def test_the_version_is_printed_beside_other_words_too(tmp_path):
    run = in_a_process("-C", ".", "--version", cwd=tmp_path)
    assert (run.returncode, run.stdout) == (0, f"gitmem {__version__}, run from {ROOT}\n")


def test_the_first_screen_has_twenty_commands_and_the_whole_list_has_all_and_the_exit_codes(tmp_path):
    assert sum(map(len, GROUPS.values())) == 20
    said = in_a_process("help", "--all", cwd=tmp_path).stdout
    assert [name for name in {*COMMANDS} - {*PLUMBING} if f"\n  {name} " not in said] == []
    assert [code for code in ExitCode if f"\n  {code:<13}{code.meaning}\n" not in said] == []


def test_gitmem_alone_says_on_one_screen_where_the_memory_stands_and_what_is_next(gitmem):
    gitmem("init")
    _, out, _ = gitmem()
    assert "Next: run 'gitmem install'" in out
    assert [
        name for name in ("pause", "remote", "undo") if not re.search(rf"\n  {name} |Also: .*\b{name}\b", out)
    ] == []
    gitmem("facts", "add", "Use Redis for sessions")
    gitmem("facts", "add", "Use no Redis for sessions")
    gitmem("pause")
    _, out, _ = gitmem()
    assert "Recording is paused; 'gitmem resume' records again.\n1 decision of yours: 'gitmem review'" in out
    assert out.count("\n") <= 25


def test_exit_codes_are_one_table():
    codes = {int(code): code.meaning for code in ExitCode}
    listed = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8").partition("\n## Exit codes\n")[2]
    assert {int(code): meaning for code, meaning in re.findall(r"\| (\d+) \| (.*?) \|\n", listed)} == codes
    pages = [path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md")]
    named = {int(code) for page in pages for code in re.findall(r"exit code(?: is|,)? (\d+)", page)}
    assert named <= {*codes}
    assert len(named) > 4
    kinds = [GitmemError]
    for kind in kinds:
        kinds += kind.__subclasses__()
        assert isinstance(kind.exit_code, ExitCode), kind


@pytest.mark.long
@pytest.mark.few(1)
@pytest.mark.parametrize("words", ["facts", "concepts", "summary", "episodes", "patterns", "learned", "import"])
def test_without_a_word_of_its_own_a_command_lists(gitmem, words):
    gitmem("init")
    code, out, _ = gitmem(words)
    assert code == 0
    assert json.loads(gitmem(words, "--json")[1]) is not None
    assert out


@pytest.mark.parametrize("words", ["facts --all", "facts --kind rule", "-C . episodes -n 2"])
def test_without_a_word_of_its_own_a_command_takes_the_options_of_its_list(gitmem, words):
    gitmem("init")
    assert gitmem(*words.split())[0] == 0


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal as POSIX has it")
@pytest.mark.parametrize(
    "words, environ, paged",
    [
        (("help", "--all"), {"GIT_PAGER": "cat -n"}, True),
        (("help", "--all"), {"PAGER": "cat -n"}, True),
        (("help", "--all"), {"GIT_PAGER": "cat", "PAGER": "cat -n"}, False),
        (("--no-pager", "help", "--all"), {"GIT_PAGER": "cat -n"}, False),
        (("help", "save"), {"GIT_PAGER": "cat -n"}, True),
        (("path",), {"GIT_PAGER": "cat -n"}, False),
    ],
)
@pytest.mark.few(2)
def test_what_is_longer_than_the_screen_goes_to_gits_pager(tmp_path, gitmem, environ, words, paged):
    gitmem("init")
    code, said = on_terminal(words, tmp_path, **environ)
    assert code == 0
    assert bool(re.match(r" +1\t", said)) is paged
    assert "--all" not in words or all(len(line.rstrip()) <= 80 + 8 * paged for line in said.splitlines())


@pytest.mark.skipif(sys.platform == "win32", reason="pipes as POSIX has them")
@pytest.mark.parametrize("options", [["-u"], []], ids=["while it prints", "at its end"])
def test_a_reader_that_ends_before_the_output_does_is_no_error(tmp_path, options):
    ours, theirs = os.pipe()
    os.close(ours)
    run = subprocess.run(
        [sys.executable, *options, "-m", "gitmem", "help", "facts"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=theirs,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(theirs)
    assert (run.returncode, run.stderr) == (0, b"")


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal as POSIX has it")
@pytest.mark.parametrize("columns", [80, 200])
@pytest.mark.slow
def test_no_line_is_wider_than_the_terminal(tmp_path, gitmem, columns):
    gitmem("init")
    gitmem("save", "A rule that is too long for a line of any terminal. " * 5, "--type", "rule")
    gitmem("save", "빌드는 잠금 파일로만 하고, 새 스크립트도 마찬가지로 그렇게 한다. " * 7, "--type", "decision")
    for words in ("facts", "log", "config", "search rule", "search 빌드는", "help web", "forget", "-C /nope log"):
        _, said = on_terminal(words.split(), tmp_path, columns=columns, NO_COLOR="1", GIT_PAGER="cat")
        assert "\x1b" not in said
        assert max(map(cells, said.split("\n"))) <= columns, words
        assert columns == 80 or words not in {"facts", "search rule"} or max(map(cells, said.split("\n"))) > 170


def test_a_bar_takes_one_line_whatever_is_written_in_it(tmp_path):
    err = Terminal()
    Progress(err).show(1, 2, "환불 목록도 커서를 쓸 수 있어? 앞으로는 코드보다 테스트를 먼저 작성해줘. " * 3)
    assert isinstance(err.buffer, io.BytesIO)
    drawn = err.buffer.getvalue().decode().split("\r")
    assert "환불" in drawn[1]
    assert max(map(cells, drawn)) <= 78


@pytest.mark.parametrize(
    "words",
    [("status",), ("doctor",), ("facts",), ("review",), ("search", "fridays"), ("log",), ("facts", "show", "x")],
)
@pytest.mark.few(3)
def test_what_a_user_reads_is_coloured_on_a_terminal_only_and_unless_refused(world, words):
    for text in ("We deploy on Fridays.", "We do not deploy on Fridays."):
        world.run("save", text, "--type", "decision")
    coloured = world.ran(*words, terminal=True, TERM="xterm")
    assert "\x1b[" in coloured.out + coloured.err
    for plain in (world.ran(*words), world.ran(*words, terminal=True, NO_COLOR="1")):
        assert "\x1b" not in plain.out + plain.err


def test_the_first_help_fits_a_screen_and_begins_with_the_ten_commands_needed_first(gitmem, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = gitmem("help")[1].splitlines()
    assert len(lines) <= 40
    assert [line.split()[0] for line in lines[5:15]] == [*GROUPS[FIRST]]
    assert [*GROUPS[FIRST]] == [line.split()[0] for line in gitmem()[1].partition(FIRST)[2].splitlines()[1:11]]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_every_command_says_what_it_does_and_gives_examples(name, gitmem):
    code, said, _ = gitmem(name, "--help")
    assert code == 0
    about, _, behind = said.partition("examples:\n")
    examples, _, as_json = behind.partition("\n\n")
    assert as_json.startswith("With --json") or not as_json, "what a program reads stands behind what a user reads"
    assert f"usage: gitmem {name}" in about
    assert len(about.split("\n\n")[1]) > 20
    lines = examples.rstrip("\n").split("\n")
    assert any(re.search(rf"\bgitmem (-C \S+ |--user )?{name}\b", line) for line in lines), said
    assert all(re.match(r"  \S", line) for line in lines), "examples are indented alike"
    assert "[--json]" not in about or as_json, "it says what the JSON has"
    written = [line for line in said.partition("\n\n")[2].split("\n") if not line.startswith("  -")]
    assert all(len(line) <= 120 for line in written)


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.few(20)
def test_help_names_only_options_that_exist(name, gitmem):
    """Each `gitmem COMMAND … --option` of prose and examples is one of that command's options."""

    def help_of(*words: str) -> str:
        return str(gitmem(*words, "--help")[1])

    for called, rest in re.findall(r"gitmem ([a-z]+)((?: [^\s'();,]+)*)", help_of(name).partition("\n\n")[2]):
        words = rest.split()
        if called not in COMMANDS:
            continue
        listed = help_of(called) + help_of(called, *(word for word in words[:1] if word.isalpha()))
        known = re.findall(r"(?m)^  (?:-\w(?: \S+)?, )?(--[a-z-]+)", listed)
        assert {word.split("=")[0] for word in words if word.startswith("--")} <= {*known, "--help"}, (called, rest)


def test_an_unexpected_error_is_one_line_and_its_traceback_is_in_the_log(gitmem, fails, journal):
    gitmem("init")
    fails(ZeroDivisionError("a mistake\nof two lines"))
    code, out, err = gitmem("path")
    assert (code, out) == (1, "")
    assert err.splitlines() == [
        "gitmem: An unexpected error: ZeroDivisionError: a mistake of two lines",
        f"  The details are in {journal.path}, and 'gitmem doctor' shows them. Please report it.",
    ]
    (failure,) = journal.failures()
    assert (failure.command, failure.message) == ("path", "ZeroDivisionError: a mistake of two lines")
    assert "raise error" in failure.traceback
    assert failure.traceback.startswith("Traceback (most recent call last)")


def test_without_a_store_the_traceback_is_shown(gitmem, fails, tmp_path):
    fails(ZeroDivisionError("a mistake"))
    code, _, err = gitmem("path")
    assert code == 1
    assert err.startswith("Traceback (most recent call last)")
    assert "gitmem: An unexpected error: ZeroDivisionError: a mistake\n" in err
    assert "Please report it" in err
    assert list(tmp_path.iterdir()) == []
    said = json.loads(gitmem("path", "--json")[2])
    assert said["traceback"].startswith("Traceback")


def test_a_log_that_cannot_be_written_is_no_second_error(gitmem, fails, journal):
    gitmem("init")
    Path(journal.path).parent.write_text("no folder")
    fails(ZeroDivisionError("a mistake"))
    code, _, err = gitmem("path")
    assert code == 1
    assert err.startswith("Traceback (most recent call last)")


def test_no_secret_reaches_the_log(gitmem, fails, journal):
    gitmem("init")
    fails(ValueError(f"cannot parse {SECRET}"))
    gitmem("path")
    assert SECRET not in Path(journal.path).read_text()
    assert "[REDACTED:" in journal.failures()[0].message


def test_a_mistake_of_the_user_s_is_not(gitmem, fails, journal):
    gitmem("init")
    fails(NotFoundError("There is no revision 'x'."))
    assert gitmem("path")[0] == 9
    assert gitmem("sav")[0] == 2
    assert journal.failures() == []


def test_a_drain_that_failed_before_a_reading_command_is_in_the_log(gitmem, tmp_path, journal, bare_git, monkeypatch):
    """But for what the state says as long as it lasts: that something else is checked out."""
    gitmem("init")
    gitmem("save", "one")
    bare_git(tmp_path / ".gitmem", "switch", "--quiet", "--detach")
    assert gitmem("save", "two")[0] == ExitCode.UNFINISHED
    code, _, err = gitmem("maintain", "--if-needed")
    assert code == 0
    assert "has no branch checked out" in err
    assert [failure.command for failure in journal.failures()] == ["save"]
    bare_git(tmp_path / ".gitmem", "switch", "--quiet", "gitmem")

    def drain(store):
        raise GitmemError("The disk is full.", "Make room.")

    monkeypatch.setattr("gitmem.record.save.drain", drain)
    assert "The disk is full." in gitmem("maintain", "--if-needed")[2]
    assert [failure.command for failure in journal.failures()] == ["save", "maintain, saving first what waited"]


def test_an_interrupt_ends_without_a_traceback(gitmem, fails):
    fails(KeyboardInterrupt())
    code, out, err = gitmem("path")
    assert (code, out, err) == (130, "", "gitmem: interrupted.\n")


def test_commits_name_the_machine_by_its_own_name(gitmem, tmp_path, bare_git):
    gitmem("init")
    gitmem("save", "One.")
    (tmp_path / "other home").mkdir()
    other = {"HOME": str(tmp_path / "other home"), "XDG_CONFIG_HOME": str(tmp_path / "other home")}
    assert gitmem("trust", answer="y\n", **other)[0] == 0
    assert gitmem("save", "Two.", **other)[0] == 0
    two, one = bare_git(gitmem.root, "log", "-2", "--format=%(trailers:key=Gitmem-Machine,valueonly)").split()
    assert one != two


def test_a_bare_command_says_the_one_next_step(tmp_path, home, bare_git):
    run = Runner(tmp_path, {**os.environ, "HOME": str(home)})
    assert "Next:" not in run()[1], "there is no project here"
    bare_git(tmp_path, "init", "-q")
    assert "'gitmem init' makes a memory for this project" in run()[1]
    run("init")
    assert "'gitmem install'" in run()[1]
    run("install", "claude", "--yes")
    assert "'gitmem install'" not in run()[1]
    assert f"{FIRST}\n  init" in run("--help")[1]
