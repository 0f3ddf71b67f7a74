"""Each agent's own program, asked as a model: one request, no session recorded of it; and behind the hooks."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from gitmem.config.values import SummaryConfig
from gitmem.llm.agents import AgentModel
from gitmem.llm.protocol import PROVIDER_OF, Question, fenced
from tests.e2e.clients import CLIENTS, CODEX_MODEL, in_ci

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
SCHEMA = {
    "type": "object",
    "properties": {"says": {"type": "string"}},
    "required": ["says"],
    "additionalProperties": False,
}
SAID = {"says": "uv"}
BY_TOOL = {"claude": "StructuredOutput", "qwen": "structured_output"}  # the tool of the hosts that take a schema so
MODELS = {"droid": "custom:mock-model-0", "copilot": "mock-model"}
ROOT = Path(__file__).parents[1]
SESSIONS = ROOT / "data" / "sessions"
NAME = "backup-1-script"
REPLY = json.loads((ROOT / "replies" / f"{NAME}.json").read_text(encoding="utf-8"))["answer"]
FIRST = json.loads((SESSIONS / f"{NAME}.jsonl").read_text(encoding="utf-8").partition("\n")[0])
SESSION, PROMPT = FIRST["sessionId"], FIRST["message"]["content"]
WORDS = "a sentence of the session that is judged"


class Asked(NamedTuple):
    """An agent's program as a model: its settings, the environment it runs in, and its log of requests."""

    config: SummaryConfig
    environ: dict[str, str]
    log: Path

    def requests(self, words: str) -> list[str]:
        """Return the requests to the scripted model that hold some words."""
        return [line for line in self.log.read_text().splitlines() if words in line] if self.log.exists() else []


@pytest.fixture
def asked(request, tmp_path, client, environ):
    """Give an agent's program as a model, which answers as the second parameter says."""
    name, answer = request.param
    about, home, programs = CLIENTS[name], tmp_path / "home", tmp_path / "bin"
    home.mkdir(exist_ok=True)
    programs.mkdir()
    (tmp_path / "tmp").mkdir()  # has the lock of the one question at a time
    words = client(name)
    steps = answer if isinstance(answer, list) else by_program(name, answer)
    steps = [{"bare": True, **step} for step in steps]
    (tmp_path / "script.json").write_text(json.dumps({"The material is over": steps}))
    log = tmp_path / "log.jsonl"
    command = [sys.executable, str(Path(__file__).with_name("model.py")), str(tmp_path / "script.json"), str(log)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        model = f"http://127.0.0.1:{server.stdout.readline().strip()}"
        settings = dict(about.settings)
        if name == "codex":
            lines = [f"{key} = {json.dumps(value)}" for key, value in CODEX_MODEL.items()]
            settings[".codex/config.toml"] = "\n".join(lines)
        for path, text in settings.items():
            (home / path).parent.mkdir(parents=True, exist_ok=True)
            (home / path).write_text(text.replace("{model}", model).replace("{project}", str(tmp_path)))
        start = programs / name
        start.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        start.chmod(0o755)
        own = {key: value.replace("{model}", model) for key, value in about.environ.items()}
        path = f"{programs}:{os.environ['PATH']}"
        plain = {key: value for key, value in environ.items() if not key.startswith("XDG_")}
        config = SummaryConfig(provider=PROVIDER_OF[name], model=MODELS.get(name, ""))
        yield Asked(config, {**plain, "HOME": str(home), "PATH": path, "TMPDIR": str(tmp_path / "tmp"), **own}, log)
        server.terminate()


def by_program(name: str, value: object) -> list[dict[str, object]]:
    """Return the steps by which a program hands over a value."""
    if name in BY_TOOL:
        return [{"tool": BY_TOOL[name], "input": value}, {"text": "done"}]
    return [{"text": json.dumps(value)}]


def agents(answer: object) -> list[object]:
    """Return each agent with an answer of its model, as parameters."""
    return [pytest.param((*one.values, answer), marks=one.marks, id=one.values[0]) for one in in_ci(PROVIDER_OF)]


@pytest.mark.parametrize("asked", agents(SAID), indirect=True)
def test_one_request_no_session_recorded_and_the_answer_returned(asked):
    question = Question("session", "Judge.", WORDS, SCHEMA)
    model = AgentModel(asked.config, asked.environ)
    answer = model.ask(fenced(question, bytes(16)), time.monotonic() + 120)
    assert json.loads(answer.text) == SAID
    assert answer.input_tokens > 0
    assert len(asked.requests(WORDS)) == 1
    assert recorded(asked, WORDS) == []


def recorded(asked: Asked, words: str) -> list[Path]:
    """Return the files in the agent's home that hold some words."""
    home = Path(asked.environ["HOME"])
    return [path for path in home.rglob("*") if path.is_file() and words.encode() in path.read_bytes()]


class Project(NamedTuple):
    """A project whose agent has gitmem's hooks, and a session of it that was recorded."""

    folder: Path
    environ: dict[str, str]
    transcript: Path

    def run(self, *words: str, given: str = "") -> str:
        """Run a command of gitmem or git in the project; return what it printed."""
        program = [str(Path(sys.executable).with_name("gitmem")), *words] if words[0] != "git" else [*words]
        run = subprocess.run(
            program,
            cwd=self.folder,
            env=self.environ,
            input=given,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert run.returncode in {0, 1}, run.stderr
        return run.stdout

    def end_session(self) -> None:
        """Call the hooks of a session of one turn, whose end has the background ask."""
        told = {"session_id": SESSION, "cwd": str(self.folder), "transcript_path": str(self.transcript)}
        for kind, more in (
            ("SessionStart", {"source": "startup"}),
            ("UserPromptSubmit", {"prompt": PROMPT}),
            ("Stop", {}),
            ("SessionEnd", {"reason": "other"}),
        ):
            self.run("hook", "claude", given=json.dumps({"hook_event_name": kind, **told, **more}))

    def judged(self) -> str:
        """Return the model that judged the session, "" if none did."""
        form = "--format=%an, %(trailers:key=Gitmem-Model,valueonly,separator=)"
        return self.run("git", "-C", ".gitmem", "log", form, "--grep=Gitmem-Model").strip()

    def questions(self) -> tuple[int, int]:
        """Return how many questions were asked today, and how many failed."""
        models = json.loads(self.run("status", "--json"))["models"]
        return models["questions"], models["failures"]


@pytest.fixture
def project(asked, tmp_path) -> Project:
    folder = tmp_path / "a project"
    folder.mkdir()
    transcript = Path(asked.environ["HOME"]) / ".claude" / "projects" / "p" / f"{SESSION}.jsonl"
    transcript.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(SESSIONS / f"{NAME}.jsonl", transcript)
    found = Project(folder, asked.environ, transcript)
    found.run("git", "init", "-q")
    found.run("init")
    found.run("config", "--user", "summary.provider", asked.config.provider)
    if asked.config.model:
        found.run("config", "--user", "summary.model", asked.config.model)
    return found


def wait_for(what: Callable[[], object], seconds: float = 150) -> object:
    """Return the first true value, or the last."""
    end = time.monotonic() + seconds
    while not (found := what()) and time.monotonic() < end:
        time.sleep(0.5)
    return found


@pytest.mark.parametrize("asked", agents(REPLY), indirect=True)
def test_a_finished_session_is_judged_behind_the_hooks_by_one_request(asked, project):
    project.end_session()
    assert str(wait_for(project.judged)).startswith("gitmem, "), project.run("doctor")
    assert len(asked.requests("The material is over")) == 1
    assert project.questions() == (1, 0)
    facts = json.loads(project.run("facts", "--json"))
    said = {fact["description"].casefold() for fact in facts}
    assert said >= {fact["statement"].casefold() for fact in REPLY["facts"][:1]}
    assert recorded(asked, "The material is over") == []


FAILURES = {
    "not signed in": [{"status": 401, "text": "Invalid API key"}],
    "quota": [{"status": 429, "text": "You exceeded your current quota"}],
    "garbage": [{"text": "I had rather talk about the weather."}],
    "endless": [{"text": "and so on, ", "times": 400_000}],
    "silent": [{"wait": 600}],
}


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param((name, steps), marks=() if name == "claude" else pytest.mark.hosts, id=f"{name}-{why}")
        for name in PROVIDER_OF
        for why, steps in FAILURES.items()
    ],
    indirect=True,
)
def test_a_failure_leaves_the_offline_result_a_line_in_doctor_and_no_storm(asked, project):
    project.run("config", "--user", "summary.timeout_seconds", "15")
    project.end_session()
    assert wait_for(lambda: f"{SESSION}: " in project.run("doctor")), project.run("doctor")
    tries = project.questions()
    assert tries in {(number, number) for number in range(1, 5)}
    assert project.judged() == ""
    assert PROMPT[:20] in project.run("log")
    project.end_session()
    time.sleep(5)
    assert project.questions() == tries
