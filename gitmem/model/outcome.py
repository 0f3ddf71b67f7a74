"""Judge how a turn ended, by its last test or build or an interruption, and read its errors. Pure.

Words of the user or agent decide nothing: "there is still a bug" may be about something else, "done" may be wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum

from gitmem.model.command import TELLING, form
from gitmem.model.turns import Run, Turn
from gitmem.model.words import refusal_in
from gitmem.text.sentences import shorten, split

ERROR_LENGTH = 200  # characters
_READ = 8_000  # characters of an answer
_NOT_FAILED = ("<tool_use_error>", "[Request interrupted")
_SAYS_NOTHING = ("warn", "task failed", "errors found", "exit status", "npm err! code")


def error_line(text: str) -> str:
    """Return the most informative line of an error, "" for no failure.

    An exit code that means "no", as grep's, is no failure, nor is a call refused by the user or the host.
    """
    lines = [line for line in (line.strip() for line in text.split("\n")) if line]
    if lines and lines[0].casefold().startswith("exit code"):
        lines = lines[1:]
    if lines and (lines[0].startswith(_NOT_FAILED) or refusal_in(lines[0], "") is not None):
        return ""
    meaningful = [line for line in lines if not any(words in line.casefold() for words in _SAYS_NOTHING)]
    places = ((line, words) for some in (meaningful, lines) for words in TELLING for line in some)
    telling = (line for line, words in places if any(word in line.casefold() for word in words))
    line = next(telling, lines[0] if lines else "")
    return line[:ERROR_LENGTH].rstrip() + "…" if len(line) > ERROR_LENGTH else line


class Outcome(StrEnum):
    """How an exchange, or an episode, ended."""

    SUCCESS = "success"
    PARTIAL = "partial"
    FAILED = "failed"
    REFUTED = "refuted"  # the agent claimed success, and the user or the later session showed the contrary
    INTERRUPTED = "interrupted"  # broken off by the user or the session's end, without a result to judge
    UNKNOWN = "unknown"  # no test or build shows it


def judge_outcome(turn: Turn) -> Outcome:
    """Return a turn's outcome: that of its last test or build; interrupted if nothing came of it; else unknown."""
    has_result = bool(turn.answer.strip() or turn.files) or any(not run.failed for run in turn.runs)
    if turn.interrupted or not has_result:
        return Outcome.INTERRUPTED
    return verdict_of(turn.runs) or Outcome.UNKNOWN


def verdict_of(runs: Iterable[Run]) -> Outcome | None:
    """Return the outcome of the last tests or build, None without any.

    If tests passed in a command line that failed, something else failed in it: the outcome is None.
    """
    checks = (form("tests"), form("builds"))
    last = next((run for run in reversed(list(runs)) if any(check.search(run.command) for check in checks)), None)
    if last is None:
        return None
    passed = _says_passed(last.said)
    if last.failed:
        return None if passed else Outcome.FAILED
    return Outcome.FAILED if not passed and form("failed").search(last.said) else Outcome.SUCCESS


def _says_passed(output: str) -> bool:
    """Return whether a line of an output reports passed tests, and no line a failed one."""
    lines = [line for line in output.split("\n") if form("passed").search(line)]
    return bool(lines) and not any(map(form("failed").search, lines)) and not form("failing").search(output)


# Lead-ins of an answer: "Here is a summary of the changes:".
LEADS_ON = re.compile(
    r"^(?:here(?:'s| is| are) (?:a |the )?[^:.;]{0,60}|summary|[^:.;]{0,30}다음과 같습니다|主な[^:.;]{0,20})"
    r"\s*[:\uff1a][\s;]*",
    re.IGNORECASE,
)


def beginning(answer: str, limit: int) -> str:
    """Return the first sentences of an answer that fit, without a lead-in; "" for code alone."""
    text = LEADS_ON.sub("", answer[:_READ].lstrip())
    return shorten(text, limit) if split(text) else ""
