"""Every real agent with a scripted model: one session is remembered, the next one is told, and nothing stays."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitmem.hosts.registry import find_host
from tests.e2e.clients import CLIENTS, FAILS, Client, in_ci

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
ROOT = Path(__file__).resolve().parents[2]
FIRST, SECOND = "FIRST: set up the project", "SECOND: and now?"
DECIDED = "Decision: we use uv instead of pip, because it is faster."
OFFLINE = ("unshare", "-n")  # a network of its own with loopback alone
# The model and the agent, in the same network: {model} is the model's address.
SESSION = """
    ip link set lo up 2>/dev/null
    "$1" "$2" script.json requests.jsonl "$3" >port &
    model=$!; trap 'kill $model' EXIT
    until [ -s port ]; do sleep 0.05; done
    rm port; cd project; shift 3
    "$@"
"""


class Machine:
    """A home, a project with a store, and a scripted model, without a network."""

    def __init__(self, folder: Path, environ: dict[str, str]) -> None:
        self.folder = folder
        self.project, self.home = folder / "project", folder / "home"
        for path in (self.project, self.home, folder / "bin", folder / "temporary"):
            path.mkdir()
        gitmem = folder / "bin" / "gitmem"
        gitmem.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gitmem "$@"\n')
        gitmem.chmod(0o755)
        self.environ = {"HOME": str(self.home), "PYTHONPATH": str(ROOT), "TERM": "dumb", "LANG": "C.UTF-8"}
        self.environ["PATH"] = f"{folder / 'bin'}{os.pathsep}{environ['PATH']}"
        self.environ["TMPDIR"] = str(folder / "temporary")
        self.requests = folder / "requests.jsonl"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.offline = OFFLINE if can_go_offline() else ()

    def run(self, *words: str, **more: str) -> str:
        done = subprocess.run(
            words,
            cwd=self.folder if "model" in more else self.project,
            env=self.environ | more,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, (words, done.stdout[-2000:], done.stderr[-2000:])
        return done.stdout.decode()

    def filled(self, text: str, prompt: str = "") -> str:
        text = text.replace("{model}", f"http://127.0.0.1:{self.port}").replace("{project}", str(self.project))
        return text.replace("{prompt}", prompt)

    def prompt(self, name: str, program: list[str], text: str) -> str:
        """Give an agent a prompt; return its first request that it can tell something with."""
        client = CLIENTS[name]
        tool = {"tool": client.shell[0], "input": client.shell[1]}
        script = {FIRST: [tool, {"text": DECIDED}], SECOND: [tool] * client.told_by_a_tool + [{"text": "As before."}]}
        return self.ask(name, program, script, self.words(name, text))[client.told_by_a_tool]

    def words(self, name: str, text: str) -> list[str]:
        """Return the words that give an agent a prompt."""
        return [self.filled(word, text) for word in CLIENTS[name].words]

    def ask(self, name: str, program: list[str], script: dict[str, object], words: list[str]) -> list[str]:
        """Run an agent with a scripted model; return its requests, without those for a title or a summary."""
        return self.ask_as(CLIENTS[name], program, script, words)

    def ask_as(self, client: Client, program: list[str], script: dict[str, object], words: list[str]) -> list[str]:
        """Do the same with an agent that is started in another way."""
        (self.folder / "script.json").write_text(json.dumps(script))
        before = len(self.asked())
        environ = {key: self.filled(value) for key, value in client.environ.items()}
        environ["PATH"] = os.pathsep.join((os.path.dirname(program[0]), self.environ["PATH"]))
        model = (sys.executable, str(Path(__file__).with_name("model.py")), str(self.port))
        self.run(*self.offline, "sh", "-c", SESSION, "sh", *model, *program, *words, model="", **environ)
        return [body for body in self.asked()[before:] if '"tools": [{' in body]

    def asked(self) -> list[str]:
        """Return the model's requests so far."""
        lines = self.requests.read_text().splitlines() if self.requests.exists() else []
        return [json.dumps(json.loads(line)["body"]) for line in lines]

    def end(self) -> None:
        """End what an agent left running: Cline CLI does."""
        for environ in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                if f"HOME={self.home}".encode() in environ.read_bytes().split(b"\0"):
                    os.kill(int(environ.parent.name), signal.SIGKILL)

    def write_settings(self, name: str) -> dict[Path, bytes]:
        """Write a user's own settings of an agent; return them."""
        written = {}
        for below, text in CLIENTS[name].settings.items():
            path = self.home / below
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.filled(text))
            written[path] = path.read_bytes()
        return written

    def paths(self) -> list[str]:
        """Return the paths of files and empty folders, but those of stores, of repositories and of caches.

        What names this machine, and which jobs ran on it, goes with `uninstall --everything`.
        """
        found = (path for top in (self.home, self.project) for path in top.rglob("*"))
        kept = (path.relative_to(self.folder) for path in found if path.is_file() or not any(path.iterdir()))
        # `.gitignore`: OpenCode's, by its settings
        others = {".gitmem", ".git", ".gitignore", ".cache", "machine", "jobs"}
        return sorted(str(path) for path in kept if not others & set(path.parts))

    def remember(self, name: str) -> str:
        """Commit what an agent's hooks delivered; return the log of the day."""
        self.run("gitmem", "hook", name, "--drain")
        return "".join(path.read_text() for path in (self.project / ".gitmem").glob("daily/*/*/*.md"))


def can_go_offline() -> bool:
    done = subprocess.run([*OFFLINE, "true"], capture_output=True, check=False) if shutil.which("unshare") else None
    return done is not None and done.returncode == 0


@pytest.fixture
def machine(tmp_path_factory, environ, bare_git) -> Iterator[Machine]:
    machine = Machine(tmp_path_factory.mktemp("agent"), environ)
    bare_git(machine.project, "init", "-q")
    machine.run("gitmem", "init")
    yield machine
    machine.end()


@pytest.mark.parametrize("scope", ["user", pytest.param("project", marks=pytest.mark.hosts)])
@pytest.mark.parametrize("name", in_ci(CLIENTS))
def test_a_session_is_remembered_told_to_the_next_and_nothing_stays(machine, client, name, scope):
    if scope == "project" and name == "kilo":
        pytest.skip("gitmem installs into Kilo by --user only")
    program = client(name)
    settings = machine.write_settings(name)
    words = ("install", name, f"--{scope}", "--yes", "--json", *CLIENTS[name].trust)
    written = [Path(file["file"]) for file in json.loads(machine.run("gitmem", *words))["files"]]
    before = {path: text for path, text in settings.items() if path in written}
    assert before or scope == "project", "there is something to take back"

    machine.prompt(name, program, FIRST)
    daily = machine.remember(name)
    assert "uv instead of pip" in daily
    assert daily.count(FIRST) == 1
    # Its words are not asked for: on a busy machine Qwen Code loses them, and tells its exit code alone.
    assert "`ls /no/such/dir`: " in daily, "the command that failed"
    store = str(machine.project / ".gitmem")
    label = "claude-code" if name == "claude" else name
    assert label in machine.run("git", "-C", store, "log", "--format=%(trailers:key=Gitmem-Host,valueonly)").split()

    told = machine.prompt(name, program, SECOND)
    assert "uv instead of pip" in told, "the first request of the next session holds what was decided"
    assert told.count("/gitmem-memory") == 1
    assert "project-memory" in told, "the skill is offered"
    offered = any("memory_search" in body for body in machine.asked())
    assert offered or scope not in CLIENTS[name].servers, "so is the MCP server"

    machine.remember(name)
    machine.run("gitmem", "uninstall", name, f"--{scope}")
    assert {path: path.read_bytes() for path in before} == before
    stays = [path for path in written if path not in before and path.exists() and b'"gitmem"' in path.read_bytes()]
    assert stays == []
    for _ in range(100):  # a question to the agent's model may still run behind the last hook
        left = [path for path in machine.paths() if "gitmem" in path or path.startswith("project/")]
        if not left:
            break
        time.sleep(0.2)
    assert left == []
    replayed = json.loads(machine.run("gitmem", "replay", "--from", name, "--json"))
    assert replayed["turns"] >= 2


@pytest.mark.parametrize("name", in_ci(CLIENTS))
def test_a_turn_is_one_commit_also_where_the_agent_talks_between_its_calls(machine, client, name):
    program = client(name)
    machine.write_settings(name)
    machine.run("gitmem", "install", name, "--user", "--yes", *CLIENTS[name].trust)
    fails, works = (with_command(name, command) for command in (FAILS, "echo made > made.txt"))
    script = {FIRST: [{"text": "I look first."} | fails, {"text": "Now I write it."} | works, {"text": DECIDED}]}
    machine.ask(name, program, script, machine.words(name, FIRST))
    daily = machine.remember(name)
    machine.run("gitmem", "status")
    log = machine.run("git", "-C", str(machine.project / ".gitmem"), "log", "-p", "--format=%n@ %s%n%b", "--", "daily")
    subjects = [line for line in log.splitlines() if line.startswith("@ ")]
    assert subjects == [f"@ Exchange: {FIRST}"]
    assert "I look first." in daily
    assert "Now I write it." in daily


PORT = "The nightly export to the warehouse runs on port 5439 of bastion7."
ASKS = "Which port of bastion7 does the nightly export to the warehouse use?"


def with_command(name: str, command: str) -> dict[str, object]:
    """Return the step that runs a command in an agent."""
    tool, given = CLIENTS[name].shell
    return {"tool": tool, "input": json.loads(json.dumps(given).replace(FAILS, command))}


@pytest.mark.parametrize("name", in_ci(CLIENTS))
def test_memory_helps_with_a_prompt_and_an_error_and_answers_a_search(machine, client, name):
    program, about = client(name), CLIENTS[name]
    scope = "--user" if name in {"cline", "kilo"} else "--project"
    machine.write_settings(name)
    machine.run("gitmem", "install", name, scope, "--yes", *about.trust, *["--allow"] * (name == "claude"))
    machine.run("gitmem", "save", PORT)
    for number in range(12):  # a start tells the last ones only
        machine.run("gitmem", "save", f"Module m{number} is n{number} now. " + "The loader reads its table once. " * 12)
    machine.run("gitmem", "config", "session.budget_tokens", "500")
    (machine.project / "check.py").write_text("import frobnicate\n")
    check = with_command(name, "python3 check.py")
    fixed = [check, with_command(name, "touch frobnicate.py"), check, {"text": "Added frobnicate.py, so it passes."}]
    search = [*about.found, {"tool": about.search, "input": {"query": "warehouse bastion7"}}]
    again = [
        with_command(name, "mv frobnicate.py gone.txt"),
        check,
        with_command(name, "true"),
        *search,
        {"text": "5439."},
    ]
    script = {FIRST: fixed, ASKS: again}
    machine.ask(name, program, script, machine.words(name, FIRST))
    machine.remember(name)
    asked = machine.ask(name, program, script, machine.words(name, ASKS))
    first = asked[about.told_by_a_tool]
    assert "source='prompt'" in first
    assert "port 5439" in first, "the prompt is told what is remembered of it"
    helped = ["this was fixed by:" in body for body in asked]
    assert helped == sorted(helped)
    assert (any(helped), helped[1]) == (about.helps_at_errors, False)
    assert re.search(r'hits\\+":.*port 5439', asked[-1]), "the answer of memory_search is read"


def test_what_was_decided_with_codex_is_told_to_claude_code(machine, client):
    for name in ("codex", "claude"):
        machine.write_settings(name)
        machine.run("gitmem", "install", name, "--user", "--yes", *CLIENTS[name].trust)
    machine.prompt("codex", client("codex"), FIRST)
    machine.remember("codex")
    told = machine.prompt("claude", client("claude"), SECOND)
    assert "uv instead of pip" in told


@pytest.mark.parametrize("name", in_ci(("claude", "droid", "gemini", "kilo", "opencode", "qwen")))
def test_a_slash_command_is_run(machine, client, name):
    program, slash = client(name), find_host(name).slash
    machine.write_settings(name)
    machine.run("gitmem", "install", name, "--user", "--yes")
    by_option = slash == "/gitmem/"  # without a screen these read no command in a prompt
    words = machine.words(name, "We use uv." if by_option else f"{slash}save We use uv.")
    words[-1:-1] = ["--command", f"{slash}save"[1:]] * by_option
    tool, given = CLIENTS[name].shell
    save = {"tool": tool, "input": given | {"command": "gitmem save --type note 'Saved by a command'"}}
    machine.ask(name, program, {"Save this to the project's memory": [save, {"text": "Saved."}]}, words)
    log = machine.run("git", "-C", str(machine.project / ".gitmem"), "log", "--format=%s")
    assert "Save note: Saved by a command" in log.splitlines()


# How a session comes to be compacted and goes on: the runs of the agent, with an option and prompts.
COMPACTED = {
    "copilot": (((), FIRST), (("--continue",), "/compact"), (("--continue",), SECOND)),
    "pi": (((), FIRST, SECOND),),
}


@pytest.mark.hosts
@pytest.mark.parametrize("name", COMPACTED)
def test_after_a_compaction_the_memory_is_told_again(machine, client, name):
    program = client(name)
    machine.write_settings(name)
    machine.run("gitmem", "install", name, "--user", "--yes")
    machine.run("gitmem", "save", "--type", "decision", DECIDED)
    script = {FIRST: [{"text": "Done.", "tokens": 900_000 if name == "pi" else 1000}]}
    told = []
    for option, prompt, *more in COMPACTED[name]:
        told += machine.ask(name, program, script, [*option, *machine.words(name, prompt), *more])
    assert [text in told[0] for text in (FIRST, SECOND)] == [True, False]
    assert SECOND in told[-1]
    assert [told[at].count("uv instead of pip") for at in (0, -1)] == [1, 1]


FORBIDDEN = "touch forbidden.txt"


@pytest.mark.parametrize("name", in_ci(CLIENTS))
@pytest.mark.parametrize("enforce", ["tell", "deny"])
def test_a_rule_answers_when_the_agent_is_about_to_break_it(machine, client, name, enforce):
    program, about = client(name), CLIENTS[name]
    machine.write_settings(name)
    machine.run("gitmem", "install", name, "--user", "--yes", "--only", "hooks", *about.trust)
    rule = (
        "facts",
        "add",
        "Leave no marker files behind",
        "--kind",
        "rule",
        "--forbids",
        "touch forbidden.txt",
        "--json",
    )
    fact = json.loads(machine.run("gitmem", *rule))["id"]
    if enforce == "deny":
        machine.run("gitmem", "facts", "forbid", fact, "touch forbidden.txt", "--enforce", "deny")
    script = {FIRST: [with_command(name, FORBIDDEN), {"text": "I left it."}]}
    asked = machine.ask(name, program, script, machine.words(name, FIRST))
    if (name, enforce) == ("cline", "deny"):  # its only way of refusing ends the run: the user reads the rule
        assert len(asked) == 1
    else:
        assert "forbids (`touch forbidden.txt`" in asked[-1], "the model reads the rule with the result of its call"
    assert (machine.project / "forbidden.txt").exists() is (enforce == "tell")
