"""Claude Code as a model: `claude -p`, with the user's own login and plan.

It runs without tools, settings, skills, plugins and servers (`--safe-mode`), without a saved session, in an empty
folder, and with `GITMEM_HOOKS=off`, which stops gitmem's hooks from remembering the run (hooks/hook.sh). Texts are
passed by standard input, which keeps them out of the list of processes. Tested with Claude Code 2.1.330
(https://code.claude.com/docs/en/headless).

Tested through `tests/llm/test_protocol.py`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess  # noqa: TID251  # starts the user's own agent
import sys
import time
from collections.abc import Mapping
from tempfile import TemporaryDirectory

from gitmem.config import SummaryConfig
from gitmem.llm.protocol import (
    AGENT,
    MOST_BYTES,
    Answer,
    AnswerError,
    DeadlineError,
    ProviderError,
    Request,
    Size,
    StatusError,
    UnreachableError,
    counted,
    field,
)
from gitmem.platform.programs import SCRIPTS_TOO, find_program
from gitmem.text.terminal import plain

PROGRAM = "claude"
MODELS = {Size.SMALL: "haiku", Size.LARGE: "sonnet"}
GUARD = {"GITMEM_HOOKS": "off"}
# Variables of a surrounding session, which the agent would take for its own.
_NOT_PASSED = ("CLAUDECODE", "CLAUDE_CODE_", "CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_")
_KEPT = ("CLAUDE_CODE_USE_", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_SKIP_", "CLAUDE_CODE_DISABLE_")
_SHOWN = 300  # characters of the program's message
_PRICE = (
    2.0,
    10.0,
)  # at most, in US dollars a million tokens, for the small model: an estimate before a run, which reports its cost
_LARGE_PRICE = (4.0, 20.0)


class AgentModel:
    """See `gitmem.llm.protocol.Model`."""

    provider = AGENT
    remote = True

    def __init__(self, config: SummaryConfig, environ: Mapping[str, str]) -> None:
        self._names = {
            Size.SMALL: config.model or MODELS[Size.SMALL],
            Size.LARGE: config.large_model or MODELS[Size.LARGE],
        }
        found = find_program(PROGRAM, environ, SCRIPTS_TOO)
        if found is None:
            raise ProviderError(
                f"There is no {PROGRAM} on your PATH.", "Install Claude Code, or name another provider."
            )
        self._program = found
        own = {name: value for name, value in environ.items() if not name.startswith(_NOT_PASSED) or _is_kept(name)}
        self._environ = {**own, **GUARD}

    def name(self, size: Size) -> str:
        """See `Model.name`."""
        return self._names[size]

    def price(self, size: Size, tokens: int) -> tuple[float, float] | None:  # noqa: ARG002  # the same at any length
        """See `Model.price`."""
        return _PRICE if size is Size.SMALL else _LARGE_PRICE

    def ask(self, request: Request, deadline: float) -> Answer:
        """See `Model.ask`."""
        command = [self._program, "-p", "--output-format", "json", "--json-schema", json.dumps(request.schema)]
        command += ["--model", self.name(request.size), "--system-prompt", request.system, "--tools", ""]
        command += ["--safe-mode", "--strict-mcp-config", "--no-session-persistence"]
        with TemporaryDirectory(prefix="gitmem-", ignore_cleanup_errors=True) as folder:
            reply = self._run(command, request.text, folder, deadline)
        return self._answer(request, reply)

    def _run(self, command: list[str], text: str, folder: str, deadline: float) -> dict[str, object]:
        left = deadline - time.monotonic()
        if left <= 0:
            raise DeadlineError(f"There was no time left to ask {PROGRAM}.")
        flags = 0
        if sys.platform == "win32":
            flags = subprocess.CREATE_NO_WINDOW
        try:
            with subprocess.Popen(
                command,
                cwd=folder,
                env=self._environ,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                creationflags=flags,
                start_new_session=os.name == "posix",  # so that its children can be killed with it
            ) as child:
                try:
                    out, err = child.communicate(text.encode("utf-8", "replace"), timeout=left)
                except subprocess.TimeoutExpired:
                    _end(child)
                    raise DeadlineError(f"{PROGRAM} did not answer in time.") from None
        except OSError as error:
            raise UnreachableError(f"{PROGRAM} could not be started: {error.strerror or error}.") from None
        try:
            reply = json.loads(out) if len(out) <= MOST_BYTES else None
        except (ValueError, RecursionError):
            reply = None
        if not isinstance(reply, dict):
            shown = " ".join(plain((err or out)[:_SHOWN].decode("utf-8", "replace")).split())
            raise AnswerError(
                f"{PROGRAM} ended with {child.returncode} and no answer: {shown or 'nothing'}.",
                raw=out.decode("utf-8", "replace"),
            )
        return reply

    def _answer(self, request: Request, reply: dict[str, object]) -> Answer:
        status = reply.get("api_error_status")
        refused = reply.get("stop_reason") == "refusal"
        if reply.get("is_error") is True and not refused:
            why = " ".join(plain(str(reply.get("result") or reply.get("subtype") or "an error")[:_SHOWN]).split())
            if isinstance(status, int):
                raise StatusError(f"{PROGRAM} failed: {status} {why}", "See 'claude /status'.", status=status)
            raise ProviderError(f"{PROGRAM} failed: {why}", "See 'claude /status'.")
        value, result = reply.get("structured_output"), reply.get("result")
        text = json.dumps(value, ensure_ascii=False) if value is not None else str(result or "")
        usage, cost = reply.get("usage"), reply.get("total_cost_usd")
        models = reply.get("modelUsage")
        cached = (field(usage, "cache_creation_input_tokens"), field(usage, "cache_read_input_tokens"))
        return Answer(
            text=text,
            model=next(iter(models)) if isinstance(models, dict) and models else self.name(request.size),
            input_tokens=counted(field(usage, "input_tokens"), request.system + request.text)
            + sum(number for number in cached if isinstance(number, int)),
            output_tokens=counted(field(usage, "output_tokens"), text),
            cost=float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else None,
            refused=refused,
        )


def _is_kept(name: str) -> bool:
    return name.startswith(_KEPT)


def _end(child: subprocess.Popen[bytes]) -> None:
    """Kill a program that takes too long, and its children."""
    try:
        if sys.platform == "win32":
            child.kill()
        else:
            os.killpg(child.pid, signal.SIGKILL)
    except OSError:
        child.kill()
