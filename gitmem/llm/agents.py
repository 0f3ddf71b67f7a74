"""Run the agents' own programs as models, headless, with the user's sign-in: `claude -p`, `codex exec`, ….

Each runs in an empty folder, without tools, within its own time limit, and with `GITMEM_HOOKS=off`, so that gitmem's
hooks (hooks/hook.sh) do not record the run. The program's own record of the session is prevented or removed. Texts are
passed by standard input or files, to keep them out of the process list. Tried with Claude
Code 2.1.330, Codex 0.169.0, Gemini CLI 0.61.0, Qwen Code 0.24.4, OpenCode 1.18.33, Copilot CLI 1.0.102, droid 0.225.2.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess  # noqa: TID251  # starts the user's own agent
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO

from gitmem.config.values import SummaryConfig
from gitmem.llm.protocol import (
    AGENT,
    MOST_BYTES,
    AnswerError,
    ConnectionFailedError,
    DeadlineError,
    ModelAnswer,
    ProviderError,
    Request,
    Size,
    StatusError,
    counted,
    field,
)
from gitmem.platform.machine import SCRIPTS_TOO, find_program
from gitmem.text.terminal import on_line
from gitmem.values import Value

GUARD = {"GITMEM_HOOKS": "off"}
# Variables of a surrounding session, which the agent would mistake for its own.
_NOT_PASSED = (
    *("CLAUDECODE", "CLAUDE_CODE_", "CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_", "CODEX_THREAD", "CODEX_SANDBOX"),
    *("COPILOT_CLI", "GEMINI_CLI=", "QWEN_CODE=", "OPENCODE="),
)
_KEPT = ("CLAUDE_CODE_USE_", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_SKIP_", "CLAUDE_CODE_DISABLE_")
_PAUSE = 0.5  # seconds between two checks of the outputs' size
MOST_OUTPUT = 16_000_000  # bytes of each output
_MOST_DOLLARS = 10_000.0  # greatest plausible cost that a program reports
_SHOWN = 300  # characters of the program's message
_TOKENS = ("output_tokens", "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
# Upper bounds by size, in US dollars per million tokens, for the cost before a run, and of one that reports none.
_PRICES = {Size.SMALL: (2.0, 10.0), Size.LARGE: (4.0, 20.0)}


class ProgramRun(Value):
    """A run of a program: its command line, its input, and additional variables."""

    words: Sequence[str]
    stdin: str
    environ: Mapping[str, str] = {}  # never changed


class RunPlace(Value):
    """The place of a run: a folder for files beside the empty one, a new session's id, and the environment."""

    files: str
    session: str
    environ: Mapping[str, str]

    def put(self, name: str, text: str) -> str:
        """Write a file and return its path."""
        path = os.path.join(self.files, name)
        with open(path, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        return path


class Program(Value):
    """A program: its name on the `PATH`, the remedy if it fails, and its models.

    `models` are its small and its large one ("": the user's choice); `recorded` yields the paths of its record of a
    session.
    """

    name: str
    remedy: str
    run: Callable[[Request, str, RunPlace], ProgramRun]
    read: Callable[[bytes], ModelAnswer]
    models: tuple[str, str] = ("", "")
    recorded: Callable[[RunPlace], Iterator[str]] = lambda _: iter(())


class _FailedError(Exception):
    """A program reports a failure, perhaps with a server's `status`."""

    def __init__(self, why: object, status: object = None) -> None:
        super().__init__(_brief(str(why)))
        self.status = status if isinstance(status, int) else None


# Allowed ones, unless removed.
_DROID_TOOLS = "Glob,Grep,LS,Read,Execute,Skill,ToolSearch,TodoWrite,StageSettingsChanges"
_GEMINI_POLICY = '[[rule]]\ntoolName = "*"\ndecision = "deny"\npriority = 999\n'


def _named(model: str) -> tuple[str, ...]:
    return ("--model", model) if model else ()


def _claude(request: Request, model: str, _: RunPlace) -> ProgramRun:
    words = ["-p", "--output-format", "json", "--json-schema", json.dumps(request.schema), *_named(model)]
    words += ["--system-prompt", request.system, "--tools", "", "--safe-mode", "--strict-mcp-config"]
    return ProgramRun([*words, "--no-session-persistence"], request.text)


def _codex(request: Request, model: str, place: RunPlace) -> ProgramRun:
    words = ["exec", "--ephemeral", "--ignore-rules", "--skip-git-repo-check", "--sandbox", "read-only", "--json"]
    words += [word for name in ("shell_tool", "goals", "view_image") for word in ("--disable", name)]
    words += ["-c", "mcp_servers={}", "-c", 'web_search="disabled"']
    words += ["--output-schema", place.put("schema.json", json.dumps(request.schema)), *_named(model), "-"]
    return ProgramRun(words, request.whole)


def _gemini(request: Request, model: str, place: RunPlace) -> ProgramRun:
    settings = {"hooksConfig": {"enabled": False}, "mcp": {"allowed": []}}
    words = ["--output-format", "json", "--approval-mode", "default", "--skip-trust", "--extensions", "none"]
    words += ["--admin-policy", place.put("policy.toml", _GEMINI_POLICY), "--session-id", place.session]
    words += [*_named(model), "-p", "Answer with the JSON object alone."]
    environ = {"GEMINI_CLI_SYSTEM_SETTINGS_PATH": place.put("settings.json", json.dumps(settings))}
    return ProgramRun(words, request.whole, environ)


def _qwen(request: Request, model: str, place: RunPlace) -> ProgramRun:
    schema = place.put("schema.json", json.dumps(request.schema))
    words = ["--safe-mode", "--chat-recording=false", "--output-format", "json", "--approval-mode", "default"]
    words += ["--max-tool-calls", "0", "--json-schema", f"@{schema}"]  # no calls except the answer itself
    return ProgramRun([*words, *_named(model)], request.whole)


def _opencode(request: Request, model: str, place: RunPlace) -> ProgramRun:
    agent = {"mode": "primary", "prompt": request.system, "tools": {"*": False}, "permission": {"*": "deny"}}
    config = {"agent": {"gitmem": agent}, "share": "disabled", "autoupdate": False}
    text = f"Schema: {json.dumps(request.schema)}\n\n{request.text}"
    environ = {"OPENCODE_CONFIG_CONTENT": json.dumps(config), "OPENCODE_DB": os.path.join(place.files, "opencode.db")}
    words = ["run", "--pure", "--format", "json", "--agent", "gitmem", "--title", "gitmem", *_named(model)]
    return ProgramRun(words, text, environ)


def _copilot(request: Request, model: str, place: RunPlace) -> ProgramRun:
    words = ["--silent", "--no-color", "--no-auto-update", "--no-ask-user", "--no-custom-instructions", "--no-remote"]
    words += ["--disable-builtin-mcps", "--available-tools=none", "--session-id", place.session, *_named(model)]
    # It records sessions in a database in its home, so that is a new folder with the user's settings and sign-in.
    home = os.path.join(place.files, "home")
    os.mkdir(home)
    own = _home(place.environ, "COPILOT_HOME", ".copilot")
    for name in ("config.json", "settings.json"):
        with contextlib.suppress(OSError):
            os.symlink(os.path.join(own, name), os.path.join(home, name))
    environ = {"COPILOT_AUTO_UPDATE": "false", "COPILOT_HOME": home}
    return ProgramRun([*words, "--log-dir", place.files], request.whole, environ)


def _droid(request: Request, model: str, place: RunPlace) -> ProgramRun:
    words = ["exec", "--output-format", "json", "--remove-tools", _DROID_TOOLS, "--disable-builtin-skills"]
    return ProgramRun([*words, *_named(model), "--file", place.put("question.txt", request.whole)], "")


def _lines(out: bytes) -> list[dict[str, object]]:
    """Return the JSON objects of an output, one per line, skipping broken lines."""
    objects: list[dict[str, object]] = []
    for line in out.decode("utf-8", "replace").splitlines():
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(line)
            objects += [value] if isinstance(value, dict) else []
    return objects


def _answer(text: object, usage: object = None, model: object = "", names: Sequence[str] = _TOKENS) -> ModelAnswer:
    """Return an answer; `names` are the keys of token counts in `usage`, the answer's first."""
    reply, model = (value if isinstance(value, str) else "" for value in (text, model))
    tokens_out, *tokens_in = (field(usage, name) for name in names)
    return ModelAnswer(reply, model, sum(counted(value, "") for value in tokens_in), counted(tokens_out, reply))


def _last_object(out: bytes) -> dict[str, object]:
    """Return an output's JSON object, or the last one of its list; {} for any other output."""
    try:
        value = json.loads(out) if len(out) <= MOST_BYTES else None
    except (ValueError, RecursionError):
        value = None
    last = value[-1] if isinstance(value, list) and value else value
    return last if isinstance(last, dict) else {}


def _read_result(out: bytes) -> ModelAnswer:
    """Read the object that claude, qwen and droid print: a value by the schema, or a text."""
    reply = _last_object(out)
    refused = reply.get("stop_reason") == "refusal"
    if reply.get("is_error") is True and not refused:
        status = reply.get("api_error_status")
        why = field(reply.get("error"), "message") or reply.get("result") or reply.get("subtype") or "an error"
        raise _FailedError(f"{status} {why}" if isinstance(status, int) else why, status)
    values = (reply.get(name) for name in ("structured_output", "structured_result"))
    value = next((value for value in values if value is not None), None)
    text = reply.get("result") if value is None else json.dumps(value, ensure_ascii=False)
    models, cost = reply.get("modelUsage"), reply.get("total_cost_usd")
    answer = _answer(text, reply.get("usage"), next(iter(models), "") if isinstance(models, dict) else "")
    cost = float(cost) if isinstance(cost, int | float) and 0 <= cost <= _MOST_DOLLARS else None
    return answer._replace(cost=cost, refused=refused)


def _read_codex(out: bytes) -> ModelAnswer:
    events = _lines(out)
    items = [event["item"] for event in events if event.get("type") == "item.completed"]
    texts = [field(item, "text") for item in items if field(item, "type") == "agent_message"]
    usage = next((event.get("usage") for event in events if event.get("type") == "turn.completed"), None)
    failed = next((event for event in events if event.get("type") in ("turn.failed", "error")), None)
    if not texts and failed is not None:
        raise _FailedError(field(failed.get("error"), "message") or failed.get("message") or "")
    return _answer(texts[-1] if texts else "", usage)


def _read_gemini(out: bytes) -> ModelAnswer:
    reply = _last_object(out[out.find(b"{") :])
    if "error" in reply and not reply.get("response"):
        raise _FailedError(field(reply["error"], "message"))
    models = field(reply.get("stats"), "models")
    name = next(iter(models), "") if isinstance(models, dict) else ""
    return _answer(reply.get("response"), field(field(models, name), "tokens"), name, ("candidates", "prompt"))


def _read_opencode(out: bytes) -> ModelAnswer:
    events = _lines(out)
    parts = [event.get("part") for event in events]
    texts = [str(field(part, "text")) for part in parts if field(part, "type") == "text"]
    failed = next((event for event in events if event.get("type") == "error"), None)
    if not texts and failed is not None:
        error = failed.get("error")
        raise _FailedError(field(field(error, "data"), "message") or field(error, "name") or "")
    tokens = next((field(part, "tokens") for part in parts if field(part, "type") == "step-finish"), None)
    return _answer("".join(texts), tokens, names=("output", "input"))


def _read_copilot(out: bytes) -> ModelAnswer:
    return _answer(out.decode("utf-8", "replace").strip())


def _home(environ: Mapping[str, str], variable: str, name: str) -> str:
    return environ.get(variable) or os.path.join(environ.get("HOME") or os.path.expanduser("~"), name)


def _of_gemini(place: RunPlace) -> Iterator[str]:
    """Yield Gemini CLI's files of a session, named by the first part of its id, and its folder, named by the id."""
    top = os.path.join(_home(place.environ, "GEMINI_CLI_HOME", ""), ".gemini", "tmp")
    for folder, _, names in os.walk(top):
        yield from (os.path.join(folder, name) for name in names if place.session[:8] in name)
        if os.path.basename(folder) == place.session:
            yield folder


def _of_droid(place: RunPlace) -> Iterator[str]:
    """Yield droid's folder of sessions for the run's folder, whose name it contains."""
    top = os.path.join(_home(place.environ, "FACTORY_HOME", ".factory"), "sessions")
    mark = os.path.basename(os.path.dirname(place.files))
    with contextlib.suppress(OSError):
        yield from (os.path.join(top, name) for name in os.listdir(top) if mark in name)


PROGRAMS = {
    program.name: program
    for program in (
        Program("claude", "See 'claude /status'.", _claude, _read_result, ("haiku", "sonnet")),
        Program("codex", "See 'codex login status'.", _codex, _read_codex),
        Program("gemini", "Run 'gemini' once.", _gemini, _read_gemini, ("flash", "pro"), _of_gemini),
        Program("qwen", "Run 'qwen' once to sign in.", _qwen, _read_result),
        Program("opencode", "See 'opencode auth list'.", _opencode, _read_opencode),
        Program("copilot", "Run 'copilot' once to sign in.", _copilot, _read_copilot),
        Program("droid", "Run 'droid' once to sign in.", _droid, _read_result, recorded=_of_droid),
    )
}


class AgentModel:
    """See `gitmem.llm.protocol.Model`."""

    def __init__(self, config: SummaryConfig, environ: Mapping[str, str]) -> None:
        self.provider = config.provider
        self._agent = PROGRAMS["claude" if config.provider == AGENT else config.provider]
        models = (config.model, config.large_model or config.model)
        names = (own or shipped for own, shipped in zip(models, self._agent.models, strict=True))
        self._names = dict(zip((Size.SMALL, Size.LARGE), names, strict=True))
        program = find_program(self._agent.name, environ, SCRIPTS_TOO)
        if program is None:
            why = f"There is no {self._agent.name} on your PATH."
            raise ProviderError(why, "Install it, or name another provider.")
        self._program = program
        own = (name for name in environ if name.startswith(_KEPT) or not f"{name}=".startswith(_NOT_PASSED))
        self._environ = {name: environ[name] for name in own} | GUARD

    def name(self, size: Size) -> str:
        return self._names[size] or self._agent.name

    def price(self, size: Size, tokens: int) -> tuple[float, float] | None:  # noqa: ARG002  # the price does not depend on the length
        return _PRICES[size]

    def ask(self, request: Request, deadline: float) -> ModelAnswer:
        with tempfile.TemporaryDirectory(prefix="gitmem-", ignore_cleanup_errors=True) as top:
            place = RunPlace(os.path.join(top, "files"), str(uuid.uuid4()), self._environ)
            folder = os.path.join(top, "empty")
            os.mkdir(place.files)
            os.mkdir(folder)
            run = self._agent.run(request, self._names[request.size], place)
            try:
                out, err, code = self._output(run, folder, deadline)
                answer = self._agent.read(out)
            except _FailedError as error:
                why = f"{self._agent.name} failed: {error}"
                if error.status is not None:
                    raise StatusError(why, self._agent.remedy, status=error.status) from None
                raise ProviderError(why, self._agent.remedy) from None
            finally:
                for path in [*self._agent.recorded(place)]:
                    with contextlib.suppress(OSError):
                        shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
        if not answer.text and not answer.refused:
            said = _brief((err or out)[:_SHOWN].decode("utf-8", "replace"))
            raise AnswerError(
                f"{self._agent.name} ended with {code} and no answer: {said or 'nothing'}.",
                raw=out[:MOST_BYTES].decode("utf-8", "replace"),
            )
        tokens = answer.input_tokens or counted(None, request.system + request.text)
        return answer._replace(model=answer.model or self.name(request.size), input_tokens=tokens)

    def _output(self, run: ProgramRun, folder: str, deadline: float) -> tuple[bytes, bytes, int]:
        """Run the program; return the bytes of both outputs and its exit code."""
        left = deadline - time.monotonic()
        if left <= 0:
            raise DeadlineError(f"There was no time left to ask {self._agent.name}.")
        try:
            with tempfile.TemporaryFile() as question, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
                question.write(run.stdin.encode("utf-8", "replace"))
                question.seek(0)
                with subprocess.Popen(
                    [self._program, *run.words],
                    cwd=folder,
                    env={**self._environ, **run.environ},
                    stdin=question,
                    stdout=out,
                    stderr=err,
                    creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),  # on Windows
                    start_new_session=os.name == "posix",  # so that its children can be killed with it
                ) as child:
                    self._await(child, (out, err), deadline)
                outputs_read = [(file.seek(0), file.read(MOST_OUTPUT))[1] for file in (out, err)]
        except OSError as error:
            why = f"{self._agent.name} could not be started: {error.strerror or error}."
            raise ConnectionFailedError(why) from None
        return outputs_read[0], outputs_read[1], child.returncode

    def _await(self, child: subprocess.Popen[bytes], outputs: Sequence[IO[bytes]], deadline: float) -> None:
        """Wait for a program; kill it once it takes too long or prints too much."""
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(max(min(_PAUSE, deadline - time.monotonic()), 0))
                return
            if any(os.fstat(file.fileno()).st_size > MOST_OUTPUT for file in outputs):
                _end(child)
                raise AnswerError(f"{self._agent.name} said more than {MOST_OUTPUT:,} bytes.")
            if time.monotonic() >= deadline:
                _end(child)
                raise DeadlineError(f"{self._agent.name} did not answer in time.")


def _brief(text: str) -> str:
    return on_line(text[:_SHOWN])


def _end(child: subprocess.Popen[bytes]) -> None:
    """Kill a program and, except on Windows, its children."""
    try:
        if sys.platform == "win32":
            child.kill()
        else:
            os.killpg(child.pid, signal.SIGKILL)
    except OSError:
        child.kill()
