"""A real Claude Code with a scripted model, in a project of its own, with nothing of the developer's."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.e2e.clients import CLIENTS, NODE, fetch, install

INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"
CONFORMANCE = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
# npm's own settings are the developer's; the tests' environment has none of them.
_OUTSIDE = dict(os.environ)
_PATIENCE = 60.0


@pytest.fixture(scope="session")
def client(request):
    """Give a function that returns the command of a real agent, fetched once into pytest's cache.

    GITMEM_HOSTS names another folder for that, which checkouts can share: it has one of `node_modules` an agent.
    """

    def command(name: str) -> list[str]:
        client = CLIENTS[name]
        modules = _fetched(request, name, client.packages, lambda npm, at: fetch(npm, client, at, _OUTSIDE))
        program = str(modules / client.program)
        return [_node(request, new=client.new_node), program] if program.endswith(".js") else [program]

    return command


@pytest.fixture(scope="session")
def claude(client) -> str:
    """Give the program of Claude Code."""
    return client("claude")[0]


@pytest.fixture(scope="session")
def mcp_clients(request) -> Path:
    """Give the folder of the programs `mcp-inspector` and `conformance`, and of the `node` they need, fetched once."""
    given = _OUTSIDE.get("GITMEM_E2E_MCP")
    name = f"mcp-{INSPECTOR}-{CONFORMANCE}".replace("/", "-").replace("@", "-")
    return Path(given) if given else _programs(request, name, NODE, INSPECTOR, CONFORMANCE)


@pytest.fixture(scope="session")
def fetched(request):
    """Give a function that returns the folder of the programs of npm packages, fetched once: (name, *packages)."""
    return lambda name, *packages: _programs(request, name, *packages)


def _programs(request, name: str, *packages: str) -> Path:
    return _fetched(request, name, packages, lambda npm, at: install(npm, packages, at, _OUTSIDE)) / ".bin"


def _node(request, *, new: bool) -> str:
    """Return a node that the agents run on: what brings npm, or one that is new enough for all."""
    return str(_programs(request, "node", NODE) / "node") if new else str(shutil.which("node", path=_OUTSIDE["PATH"]))


def _fetched(request, name: str, packages: Sequence[str], fetch_into: Callable[[str, Path], str]) -> Path:
    """Return the `node_modules` with these packages, which are fetched if they are not there."""
    npm = shutil.which("npm", path=_OUTSIDE.get("PATH"))
    if npm is None or sys.platform == "win32":
        pytest.skip(f"{packages[-1]} comes through npm, which is not here")
    shared = _OUTSIDE.get("GITMEM_HOSTS")
    folder = Path(shared) / name if shared else Path(request.config.cache.mkdir(packages[0].replace("/", "-")))
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder / "lock"):
        if not (folder / "fetched").exists():
            if said := fetch_into(npm, folder):
                pytest.skip(f"npm could not fetch {packages[-1]}: {said}")
            (folder / "fetched").touch()
    return folder / "node_modules"


@contextlib.contextmanager
def _alone(lock: Path):
    import fcntl

    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


class Agent:
    """Claude Code in one project, with a store and gitmem's hooks."""

    def __init__(
        self, program: str, folder: Path, environ: dict[str, str], script: dict[str, list[dict[str, object]]]
    ) -> None:
        self.program = program
        self.project = folder / "프로젝트"  # without a blank: the agent's shell tool asks leave for more than we want
        self.project.mkdir()
        self.store = self.project / ".gitmem"
        self.spool = self.store / ".git" / "gitmem" / "spool" / "hooks"
        self.requests = folder / "requests.jsonl"
        (folder / "bin").mkdir()
        gitmem = folder / "bin" / "gitmem"
        gitmem.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gitmem "$@"\n')
        gitmem.chmod(0o755)
        home = folder / "home"
        home.mkdir()
        # A folder of this machine's temporary files must not decide what the agent may write to.
        kept = {name: environ[name] for name in ("TZ", "GIT_CONFIG_NOSYSTEM", "TMPDIR") if name in environ}
        self.environ = kept | {
            "HOME": str(home),
            "PATH": f"{folder / 'bin'}{os.pathsep}{environ['PATH']}",
            "PYTHONPATH": str(Path(__file__).resolve().parents[2]),
            "TERM": "dumb",
            "LANG": "C.UTF-8",
            "IS_SANDBOX": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "ANTHROPIC_API_KEY": "sk-dummy-not-a-key",
        }
        text = json.dumps(script, ensure_ascii=False).replace("${CWD}", str(self.project))
        (folder / "script.json").write_text(text, encoding="utf-8")
        model = [
            sys.executable,
            str(Path(__file__).with_name("model.py")),
            str(folder / "script.json"),
            str(self.requests),
        ]
        self.model = subprocess.Popen(model, stdout=subprocess.PIPE, text=True)
        self.environ["ANTHROPIC_BASE_URL"] = f"http://127.0.0.1:{int(self.model.stdout.readline())}"

    def run(self, *words: str) -> str:
        """Run a command as a user in the project would, and return what it printed."""
        done = subprocess.run(
            words,
            cwd=self.project,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=100,
            check=False,
        )
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout.decode()

    def prompt(self, text: str, *words: str) -> str:
        """Give the agent a prompt and return its answer."""
        return self.run(*self._command(text, *words))

    def start(self, text: str) -> subprocess.Popen[bytes]:
        """Give the agent a prompt and let it work."""
        nothing = subprocess.DEVNULL
        return subprocess.Popen(
            self._command(text), cwd=self.project, env=self.environ, stdin=nothing, stdout=nothing, stderr=nothing
        )

    def _command(self, text: str, *words: str) -> list[str]:
        return [self.program, "-p", text, "--permission-mode", "acceptEdits", "--allowedTools", "Bash", *words]

    def waiting(self) -> list[str]:
        """Return the names of delivered events that are not committed yet."""
        return sorted(path.name for path in self.spool.glob("*.json"))

    def wait(self, reached, what: str) -> None:
        """Wait until a condition holds."""
        end = time.monotonic() + _PATIENCE
        while not reached():
            assert time.monotonic() < end, f"{what}; there wait {self.waiting()}"
            time.sleep(0.05)

    def drained(self) -> None:
        """Wait until the background has committed every delivered event."""
        self.wait(lambda: not self.waiting(), "what was delivered was not committed")
        self.wait(lambda: self.git("status", "--porcelain") == "", "the store did not become clean")

    def git(self, *words: str) -> str:
        return self.run("git", "-C", str(self.store), *words).strip()

    def commits(self) -> list[str]:
        """Return the subjects of the memory's commits, the newest first."""
        return self.git("log", "--format=%s", "gitmem").splitlines()

    def daily(self) -> str:
        return "".join(path.read_text(encoding="utf-8") for path in sorted(self.store.glob("daily/*/*/*.md")))

    def memory(self) -> str:
        return (self.store / "memory.md").read_text(encoding="utf-8")

    def first_request(self, before: int) -> str:
        """Return the first request for an answer after as many as there were before."""
        lines = self.requests.read_text(encoding="utf-8").splitlines()[before:]
        bodies = [json.loads(line)["body"] for line in lines]
        return json.dumps(next(body for body in bodies if body.get("tools")), ensure_ascii=False)

    def asked(self) -> int:
        return len(self.requests.read_text(encoding="utf-8").splitlines()) if self.requests.exists() else 0


@pytest.fixture
def agent(claude, tmp_path_factory, environ, bare_git, request):
    """Give an agent that follows the test's script (`pytest.mark.parametrize("agent", [script], indirect=True)`)."""
    agent = Agent(claude, tmp_path_factory.mktemp("e2e"), environ, request.param)
    try:
        bare_git(agent.project, "init", "-q")
        agent.run("gitmem", "init")
        agent.run("gitmem", "install", "claude")
        yield agent
    finally:
        agent.model.kill()
        agent.model.wait()
        agent.model.stdout.close()
