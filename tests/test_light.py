"""What the hooks' way must not import: an agent waits for each start, prompt and error that gitmem answers."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CLASSES = {"dataclasses", "inspect", "pathlib", "tempfile"}
PARTIES = {"argcomplete", "frontmatter", "git", "mcp", "numpy", "yaml"}

# Each row: the modules imported, and what they must not bring.
MODULES = {
    "gitmem.git.process": CLASSES | {"json", "typing"},
    "gitmem.redact.redact": {"json", "dataclasses", "fnmatch"},
    "gitmem.store.store": CLASSES | {"typing", "gitmem.git.worktree"},
    "gitmem.store.spool": CLASSES | {"typing"},
    "gitmem.hosts.host": {"datetime", "importlib", "gitmem.model.transcript"},
    "gitmem.record.read": CLASSES | {"datetime", "typing", "gitmem.redact.redact", "gitmem.model.transcript"},
    "gitmem.tell.start": CLASSES | {"datetime", "typing"},
    "gitmem.tell.known_errors": CLASSES | {"gitmem.redact.redact", "gitmem.store.transact"},
    "gitmem.tell.prompt": CLASSES
    | {"datetime", "difflib", "gitmem.history.origin", "gitmem.redact.redact", "gitmem.store.transact"},
    "gitmem.cli.main": CLASSES | {"argparse", "typing"},
    "gitmem.cli.commands.hook": CLASSES | {"argparse", "typing"},
    "gitmem.llm.providers": CLASSES | {"typing"},
    "gitmem.search.engine": CLASSES | {"datetime", "http.client", "typing", "gitmem.search.near"},
}

# Each row: a program, and what it must not have imported at its end.
PROGRAMS = {
    "a command is looked up": (
        "import gitmem.cli.parser as p, gitmem.cli.table as c; p.build_parser(['mcp']); c.runner('search')",
        {"mcp", "yaml", "git"},
    ),
    "settings that say nothing are read": (
        (
            "from gitmem.config.read import load_config; from gitmem.platform.machine import read_resource; "
            "load_config(('a', None), ('b', read_resource('templates', 'store', 'config.yaml')))"
        ),
        {"yaml"},
    ),
    "a document is read and written, its header is not": (
        (
            "from gitmem.document.document import Document; data = b'---\\nid: f\\n---\\n\\nx\\n'; "
            "d = Document.parse(data).with_body('y'); d.render(); d.newline"
        ),
        {"yaml", "frontmatter"},
    ),
    "history is read without blame": ("import gitmem.git.log, gitmem.cli.commands.show", {"git"}),
}


def imported_by(code: str, *options: str) -> set[str]:
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); {code}; print(*sys.modules)"
    done = subprocess.run([sys.executable, *options, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("module, heavy", MODULES.items(), ids=MODULES)
def test_importing_a_module_stays_light(module, heavy):
    loaded = imported_by(f"import {module}", "-I", "-S")
    assert module in loaded
    assert not (heavy | PARTIES) & loaded


@pytest.mark.skipif(sys.platform == "win32", reason="git is started through subprocess there")
def test_git_is_started_without_subprocess():
    assert not {"subprocess", "selectors", "signal", "threading"} & imported_by("import gitmem.git.process", "-I", "-S")


@pytest.mark.parametrize("program, heavy", PROGRAMS.values(), ids=PROGRAMS)
def test_running_it_stays_light(program, heavy):
    assert not heavy & imported_by(program)


_RUN = f"""
import os, sys
sys.path.insert(0, {str(ROOT)!r})
end = os._exit
def told(code):
    print(*sys.modules, file=sys.stderr)
    end(code)
os._exit = told
sys.argv[:1] = ["gitmem"]
from gitmem.__main__ import run
run()
"""


@pytest.fixture
def gitmem(tmp_path, environ):
    """Return a function that runs Python in a project with a store of one decision."""

    def run(*command: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        words = [sys.executable, *command]
        return subprocess.run(words, cwd=tmp_path, env=environ, input=stdin, capture_output=True, text=True, check=True)

    run("-m", "gitmem", "init")
    run("-m", "gitmem", "save", "Use hatch for the build", "--type", "decision")
    return run


@pytest.mark.parametrize(
    "event",
    [
        {"hook_event_name": "SessionStart", "source": "startup"},
        {"hook_event_name": "UserPromptSubmit", "prompt": "which tool do we use for the build?"},
    ],
)
def test_a_hook_that_answers_loads_little(event, tmp_path, gitmem):
    answer = gitmem("-c", _RUN, "hook", "claude", stdin=json.dumps({"session_id": "s", "cwd": str(tmp_path), **event}))
    assert answer.stdout or event["hook_event_name"] != "SessionStart"
    assert not (CLASSES | PARTIES | {"argparse"}) & set(answer.stderr.split())


def test_a_save_and_a_status_load_no_large_library(gitmem):
    for words in (["save", "The build takes a minute"], ["status"], ["search", "hatch"]):
        answer = gitmem("-c", _RUN, *words)
        assert not PARTIES & {*answer.stderr.split()}


def test_a_status_line_loads_next_to_nothing(tmp_path, gitmem):
    (tmp_path / ".gitmem" / ".git" / "gitmem" / "sign").write_text("gitmem: 1 decision told; recording")
    asked = json.dumps({"workspace": {"project_dir": str(tmp_path)}}, separators=(",", ":"))
    for words, stdin in ((["statusline"], asked), (["-C", str(tmp_path), "statusline"], "")):
        answer = gitmem("-c", _RUN, *words, stdin=stdin)
        assert answer.stdout == "gitmem: 1 decision told; recording\n"
        loaded = {*answer.stderr.split()}
        assert not (CLASSES | PARTIES | {"argparse", "json", "typing", "unicodedata", "zlib"}) & loaded
        assert len([name for name in loaded if name.startswith("gitmem")]) < 16
