"""Judge the outcome of a turn by its tests and releases, its errors, its answer, and the person's next prompt. Pure.

One judge for all views of an exchange and for episodes; `bench/outcomes.py` compares it with turns labelled by hand.
"""

from __future__ import annotations

import re
from enum import StrEnum

from gitmem.model.session.failure import told_error
from gitmem.text.data import matcher

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitmem.model.session.turns import Run, Turn


class Outcome(StrEnum):
    """How an exchange, or an episode, ended."""

    SUCCESS = "success"
    PARTIAL = "partial"
    FAILED = "failed"
    INTERRUPTED = "interrupted"  # the person, or the end of the session, broke it off: nobody judged a result


_TESTS = re.compile(
    r"\b(?:pytest|unittest|tox|nox|jest|vitest|mocha|playwright test|rspec|phpunit|ctest|bats"
    r"|(?:cargo|go|dotnet|deno|bun|swift|mix|npm|pnpm|yarn|make|gradle|gradlew|mvn|rake|uv run|mise|just|task|nx|turbo"
    r"|composer|bazel|hatch|pdm) (?:run )?"
    r"[\w:-]{0,20}(?:test|check|verify)\w{0,10})\b"
)
_RELEASES = re.compile(
    r"\b(?:(?:npm|pnpm|yarn|cargo|poetry|uv|flit|hatch|gem) (?:run )?(?:publish|release|deploy|push)|twine upload"
    r"|gh (?:release create|workflow run)|docker push|git push|(?:fly|vercel|netlify|wrangler|firebase|eb) deploy"
    r"|(?:kubectl|terraform|tofu) apply|helm (?:install|upgrade)|goreleaser|make (?:release|deploy|publish))\b"
)
_SAID_FAILED = re.compile(
    r"\b[1-9][0-9]{0,6} (?:tests? |specs? )?(?:failed|failing|failures?|errors?)\b|^(?:--- )?FAIL(?:ED)?\b"
    r"|\btest result: FAILED|^Traceback \(most recent",
    re.MULTILINE,
)
_WORDS = "outcomes.tsv"
_READ = 400  # characters of the next request: the rest is pasted or sets another task
_FIRST = 60  # characters of its first sentence, in which thanks count
_QUOTED = 4  # words: so many of an answer's command at the head of the next request are that command


def judge_outcome(turn: Turn, next_prompt: str = "") -> Outcome:
    """Return the outcome of a turn; `next_prompt` is the person's next prompt, without injected text.

    The person's reaction counts first: a rejection or the same request again, then a doubt, then thanks. Then tests and
    releases, an answer that gives up, and unmended errors.
    """
    reaction = reaction_of(turn, next_prompt)
    if reaction is Outcome.FAILED:
        return reaction
    mended = all(one.fixed_by or one.explained for one in turn.failures if told_error(one.error))
    changed = bool(turn.files) or any(not run.failed for run in turn.runs)
    ended = outcome_of(verdict_of(turn.runs), turn.answer, changed=changed, mended=mended, interrupted=turn.interrupted)
    if reaction is Outcome.PARTIAL and ended is Outcome.SUCCESS:
        return reaction
    return Outcome.SUCCESS if reaction is Outcome.SUCCESS and ended is Outcome.PARTIAL else ended


def reaction_of(turn: Turn, next_prompt: str) -> Outcome | None:
    """Return the person's verdict on a turn in the next request: a rejection, a doubt, thanks; or None."""
    text = " ".join(next_prompt[:_READ].split())
    if rejects(turn, next_prompt) or (text and (_is_repeated(turn, next_prompt) or _is_error_of(turn, text))):
        return Outcome.FAILED
    if matcher(_WORDS, "doubted").search(text):
        return Outcome.PARTIAL
    return Outcome.SUCCESS if matcher(_WORDS, "thanked").search(text[:_FIRST].partition(". ")[0]) else None


def rejects(turn: Turn, next_prompt: str) -> bool:
    """Return whether the next request says a clear no about the result; one to a question of the agent is none."""
    text = " ".join(next_prompt[:_READ].split())
    said = matcher(_WORDS, "rejected").search(text)
    return bool(said) and not (turn.answer.rstrip().endswith("?") and said is not None and said.start() == 0)


def offers(answer: str) -> bool:
    """Return whether an answer lists options and asks which to take."""
    return matcher(_WORDS, "asks").search(answer[-_READ:]) is not None


def _is_repeated(turn: Turn, next_prompt: str) -> bool:
    """Return whether the person set the same task again after an answer."""
    asked, answered = turn.prompt.split(), turn.answer.strip() and not turn.interrupted
    return bool(asked and answered) and asked == next_prompt.split()


def _is_error_of(turn: Turn, text: str) -> bool:
    """Return whether the person reports an error of a command that the answer gave."""
    command = " ".join(text.split()[:_QUOTED])
    return bool(matcher(_WORDS, "error").search(text)) and not turn.tools and command in " ".join(turn.answer.split())


def verdict_of(runs: Iterable[Run]) -> Outcome | None:
    """Return the outcome of the last tests that were run, FAILED after a release that failed; None without either."""
    backwards = list(reversed(list(runs)))
    last = next((run for run in backwards if _RELEASES.search(run.command)), None)
    if last is None or not last.failed:
        last = next((run for run in backwards if _TESTS.search(run.command)), None)
    if last is None:
        return None
    return Outcome.FAILED if last.failed or _SAID_FAILED.search(last.said) else Outcome.SUCCESS


def outcome_of(
    tests: Outcome | None, answer: str, *, changed: bool, mended: bool, interrupted: bool = False
) -> Outcome:
    """Return the outcome of an exchange by its tests and releases, its answer and its errors.

    `answer` is "" without one; `changed` says that files were changed or commands worked, `mended` that every error was
    followed by a success. A turn that was broken off, or that has neither an answer nor a result, is interrupted.
    """
    if interrupted:
        return Outcome.INTERRUPTED
    some = Outcome.PARTIAL if changed else Outcome.FAILED
    if tests is Outcome.FAILED:
        return some
    if not answer.strip():
        return (Outcome.SUCCESS if mended else some) if changed else Outcome.INTERRUPTED
    if matcher(_WORDS, "gave_up").search(answer):
        return some
    return Outcome.SUCCESS if mended or tests is Outcome.SUCCESS else Outcome.PARTIAL
