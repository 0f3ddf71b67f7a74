"""A headless coding agent as a model: `claude -p`, with the login and the plan that a person has there anyway.

It is a model and nothing else here: no tools, no settings, no skills, plugins or servers (`--safe-mode`), nothing kept
of the session, in an empty folder, and with `GITMEM_HOOKS=off`, with which hooks of gitmem's do nothing, so that no
session of its own is remembered (hooks/deliver.sh). Texts go in by standard input, never by a shell or the list of
processes. Seen with Claude Code 2.1.330 (https://code.claude.com/docs/en/headless).
"""

from __future__ import annotations

import json
import os
import subprocess  # noqa: TID251  # a program of the person's own that is asked as a server would be
import sys
import time

from gitmem.llm.errors import AnswerError, DeadlineError, ProviderError, StatusError, UnreachableError
from gitmem.llm.protocol import AGENT, MOST_BYTES, Answer, Request, Size
from gitmem.llm.replies import counted, field
from gitmem.machine.programs import SCRIPTS_TOO, find_program
from gitmem.text.terminal import plain

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitmem.config import SummaryConfig

PROGRAM = "claude"
MODELS = {Size.SMALL: "haiku", Size.LARGE: "sonnet"}
GUARD = {"GITMEM_HOOKS": "off"}
# Of a session around this one, which the agent would take for its own.
_NOT_PASSED = ("CLAUDECODE", "CLAUDE_CODE_", "CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_")
_KEPT = ("CLAUDE_CODE_USE_", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_SKIP_", "CLAUDE_CODE_DISABLE_")
_SAID = 300  # characters of what the program said that are told
_PRICE = (2.0, 10.0)  # US dollars a million tokens, at most, of the small one; for reckoning ahead: it tells its cost
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
        words = [self._program, "-p", "--output-format", "json", "--json-schema", json.dumps(request.schema)]
        words += ["--model", self.name(request.size), "--system-prompt", request.system, "--tools", ""]
        words += ["--safe-mode", "--strict-mcp-config", "--no-session-persistence"]
        from tempfile import TemporaryDirectory

        with TemporaryDirectory(prefix="gitmem-", ignore_cleanup_errors=True) as folder:
            said = self._run(words, request.text, folder, deadline)
        return self._answer(request, said)

    def _run(self, words: list[str], text: str, folder: str, deadline: float) -> dict[str, object]:
        left = deadline - time.monotonic()
        if left <= 0:
            raise DeadlineError(f"There was no time left to ask {PROGRAM}.")
        flags = 0
        if sys.platform == "win32":
            flags = subprocess.CREATE_NO_WINDOW
        try:
            with subprocess.Popen(
                words,
                cwd=folder,
                env=self._environ,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                creationflags=flags,
                start_new_session=os.name == "posix",  # so that what it starts can be ended with it
            ) as child:
                try:
                    out, err = child.communicate(text.encode("utf-8", "replace"), timeout=left)
                except subprocess.TimeoutExpired:
                    _end(child)
                    raise DeadlineError(f"{PROGRAM} did not answer in time.") from None
        except OSError as error:
            raise UnreachableError(f"{PROGRAM} could not be started: {error.strerror or error}.") from None
        try:
            said = json.loads(out) if len(out) <= MOST_BYTES else None
        except (ValueError, RecursionError):
            said = None
        if not isinstance(said, dict):
            words_said = " ".join(plain((err or out)[:_SAID].decode("utf-8", "replace")).split())
            raise AnswerError(
                f"{PROGRAM} ended with {child.returncode} and no answer: {words_said or 'nothing'}.",
                raw=out.decode("utf-8", "replace"),
            )
        return said

    def _answer(self, request: Request, said: dict[str, object]) -> Answer:
        status = said.get("api_error_status")
        refused = said.get("stop_reason") == "refusal"
        if said.get("is_error") is True and not refused:
            why = " ".join(plain(str(said.get("result") or said.get("subtype") or "an error")[:_SAID]).split())
            if isinstance(status, int):
                raise StatusError(f"{PROGRAM} failed: {status} {why}", "Look at 'claude /status'.", status=status)
            raise ProviderError(f"{PROGRAM} failed: {why}", "Look at 'claude /status'.")
        value, result = said.get("structured_output"), said.get("result")
        text = json.dumps(value, ensure_ascii=False) if value is not None else str(result or "")
        usage, cost = said.get("usage"), said.get("total_cost_usd")
        used = said.get("modelUsage")
        cached = (field(usage, "cache_creation_input_tokens"), field(usage, "cache_read_input_tokens"))
        return Answer(
            text=text,
            model=next(iter(used)) if isinstance(used, dict) and used else self.name(request.size),
            input_tokens=counted(field(usage, "input_tokens"), request.system + request.text)
            + sum(number for number in cached if isinstance(number, int)),
            output_tokens=counted(field(usage, "output_tokens"), text),
            cost=float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else None,
            refused=refused,
        )


def _is_kept(name: str) -> bool:
    return name.startswith(_KEPT)


def _end(child: subprocess.Popen[bytes]) -> None:
    """End a program that takes too long, and what it started."""
    import signal

    try:
        if sys.platform == "win32":
            child.kill()
        else:
            os.killpg(child.pid, signal.SIGKILL)
    except OSError:
        child.kill()
