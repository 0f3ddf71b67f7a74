"""Each agent's own program, asked as a model: one request, no session recorded of it, the answer returned."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gitmem.config import SummaryConfig
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
ANSWER = {"text": json.dumps(SAID)}
BY_TOOL = {"claude": "StructuredOutput", "qwen": "structured_output"}  # the tool of the hosts that take a schema so
MODELS = {"droid": "custom:mock-model-0", "copilot": "mock-model"}
WORDS = "a sentence of the session that is judged"


@pytest.fixture
def asked(request, tmp_path, client, environ):
    """Give an agent's program as a model, its home, and a function that returns the requests to the scripted model."""
    name = request.param
    about, home, programs = CLIENTS[name], tmp_path / "home", tmp_path / "bin"
    home.mkdir(exist_ok=True)
    programs.mkdir()
    words = client(name)
    steps = [{"tool": BY_TOOL[name], "input": SAID}, {"text": "done"}] if name in BY_TOOL else [ANSWER]
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
        yield (
            AgentModel(config, {**plain, "HOME": str(home), "PATH": path, **own}),
            home,
            lambda: [line for line in log.read_text().splitlines() if WORDS in line],
        )
        server.terminate()


@pytest.mark.parametrize("asked", in_ci(PROVIDER_OF), indirect=True)
def test_one_request_no_session_recorded_and_the_answer_returned(asked):
    model, home, requests = asked
    question = Question("session", "Judge.", WORDS, SCHEMA)
    answer = model.ask(fenced(question, bytes(16)), time.monotonic() + 120)
    assert answer.text
    assert answer.input_tokens > 0
    assert len(requests()) == 1
    recorded = [path for path in home.rglob("*") if path.is_file() and WORDS.encode() in path.read_bytes()]
    assert recorded == []
