"""What a turn's commands and errors say, how it ended, and which sentences of its answer are worth keeping. Pure.

One judge of outcomes serves all views and episodes: tests and releases, errors, the answer, the person's next prompt
(`bench/outcomes.py`). Sentences that are kept are decisions, open issues, learnings, fixes. Precision before recall:
questions, offers, plans, quotations, suppositions and denials are no memories, and a problem that the answer then works
on is no open issue. The words stand in `gitmem/data/LANGUAGE/answers.tsv`.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import cache

from gitmem.document.entry import MemoryType
from gitmem.model.command import TELLING, form
from gitmem.text.sentences import Block, Kind, blocks, mask_code, sentences_of, split
from gitmem.text.words import matcher
from gitmem.values import TYPE_CHECKING, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gitmem.model.turns import Run, Turn


ERROR_LENGTH = 200  # characters
_NOT_FAILED = ("<tool_use_error>", "The user doesn't want to", "User rejected", "[Request interrupted")
_SAYS_NOTHING = ("warn", "task failed", "errors found", "exit status", "npm err! code")


def told_error(text: str) -> str:
    """Return the most telling line of an error; "" for no failure.

    An exit code for "no", as of grep, is no failure, nor is a call that the person or the host refused.
    """
    lines = [line for line in (line.strip() for line in text.split("\n")) if line]
    if lines and lines[0].casefold().startswith("exit code"):
        lines = lines[1:]
    if lines and lines[0].startswith(_NOT_FAILED):
        return ""
    meaningful = [line for line in lines if not any(words in line.casefold() for words in _SAYS_NOTHING)]
    telling = (
        line
        for some in (meaningful, lines)
        for words in TELLING
        for line in some
        if any(w in line.casefold() for w in words)
    )
    line = next(telling, lines[0] if lines else "")
    return line[:ERROR_LENGTH].rstrip() + "…" if len(line) > ERROR_LENGTH else line


class Outcome(StrEnum):
    """How an exchange, or an episode, ended."""

    SUCCESS = "success"
    PARTIAL = "partial"
    FAILED = "failed"
    REFUTED = "refuted"  # the agent said it was done, and the user or a later part of the session showed it was not
    INTERRUPTED = "interrupted"  # the person, or the end of the session, broke it off: nobody judged a result


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
    mended = all(failure.fixed_by or failure.explained for failure in turn.failures if told_error(failure.error))
    changed = bool(turn.files) or any(not run.failed for run in turn.runs)
    ended = outcome_of(verdict_of(turn.runs), turn.answer, changed=changed, mended=mended, interrupted=turn.interrupted)
    if reaction is Outcome.PARTIAL and ended is Outcome.SUCCESS:
        return reaction
    return Outcome.SUCCESS if reaction is Outcome.SUCCESS and ended is Outcome.PARTIAL else ended


def reaction_of(turn: Turn, next_prompt: str) -> Outcome | None:
    """Return the person's verdict on a turn in the next request: a rejection, a doubt, thanks; or None."""
    text, answered = " ".join(next_prompt[:_READ].split()), turn.answer.strip() and not turn.interrupted
    again = bool(turn.prompt.split() and answered) and turn.prompt.split() == next_prompt.split()
    given = " ".join(text.split()[:_QUOTED]) in " ".join(turn.answer.split())  # a command that the answer gave
    fails = given and not turn.tools and matcher(_WORDS, "error").search(text) is not None
    if rejects(turn, next_prompt) or (text and (again or fails)):
        return Outcome.FAILED
    if matcher(_WORDS, "doubted").search(text):
        return Outcome.PARTIAL
    return Outcome.SUCCESS if matcher(_WORDS, "thanked").search(text[:_FIRST].partition(". ")[0]) else None


def rejects(turn: Turn, next_prompt: str) -> bool:
    """Return whether the next request says a clear no about the result; one to a question or an offer is none."""
    text = " ".join(next_prompt[:_READ].split())
    last = split(turn.answer[-_READ:])[-1:]
    declines = not all(map(reports, last)) and matcher(_WORDS, "declined").search(text)
    return not declines and matcher(_WORDS, "rejected").search(text) is not None


def offers(answer: str) -> bool:
    """Return whether an answer lists options and asks which to take."""
    return matcher(_WORDS, "asks").search(answer[-_READ:]) is not None


def verdict_of(runs: Iterable[Run]) -> Outcome | None:
    """Return the outcome of the last tests that were run, FAILED after a release that failed; None without either.

    If tests passed in a command line that failed, something else did: that is None.
    """
    backwards = list(reversed(list(runs)))
    last = next((run for run in backwards if form("releases").search(run.command)), None)
    if last is None or not last.failed:
        last = next((run for run in backwards if form("tests").search(run.command)), None)
    if last is None:
        return None
    passed = _says_passed(last.said)
    if last.failed:
        return None if passed else Outcome.FAILED
    return Outcome.FAILED if not passed and form("failed").search(last.said) else Outcome.SUCCESS


def _says_passed(said: str) -> bool:
    """Return whether an output says in some line that tests passed, and in none that one failed."""
    lines = [line for line in said.split("\n") if form("passed").search(line)]
    return bool(lines) and not any(map(form("failed").search, lines)) and not form("failing").search(said)


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


_STATED = (MemoryType.DECISION, MemoryType.ISSUE, MemoryType.LEARNING, MemoryType.ERROR_FIX)
_HEADED = _STATED[:3]  # a heading "Fix" is also that of a step of a plan
_IS_CODE = re.compile(r"[\])}>\"'\w];\s*(?:$|//)|=>|^\$\{|[{}]\s*$|\w\(\w*\)[,;]")  # outside a fence
_IN_QUOTES = re.compile(r"\"[^\"\n]{1,200}\"|[\u201c\u300c][^\u201d\u300d\n]{1,200}[\u201d\u300d]")
# Characters of a sentence: a shorter one is not understood later, a longer one is data.
_SHORTEST = 9
_LONGEST = 600
_LEAD_INS = (":", "\uff1a")  # ends of a sentence that introduces the next
_LOOK_AT = 400_000  # characters of an answer; real ones have a few thousand


class Cue(Value):
    """A sentence worth keeping and its type; a label ("Decision:") is left out of the text."""

    type: MemoryType
    text: str


def find_cues(text: str) -> list[Cue]:
    """Return the decisions, issues, learnings and fixes in an agent's answer (markdown), each sentence once."""
    cues: dict[str, Cue] = {}
    heading: MemoryType | None = None
    parts = blocks(text[:_LOOK_AT])
    for index, block in enumerate(parts):
        if block.kind is Kind.HEADING:
            heading = next((kind for kind in _HEADED if _heading(kind).match(block.text)), None)
            continue
        following = parts[index + 1] if index + 1 < len(parts) else None
        for cue in _cues_of(block, heading, following):
            cues.setdefault(cue.text.casefold(), cue)
    return list(cues.values())


def without_label(text: str) -> str:
    """Return a text without its label ("Decision: ...")."""
    cue = _labelled(text)
    return cue.text if cue else text


def is_resolved(text: str) -> bool:
    """Return whether the text of an issue says that it is resolved."""
    masked = mask_code(" ".join(text[:_LOOK_AT].split()))
    return _says("resolved", masked) and not _says("unresolved", masked)


def is_prose(sentence: str) -> bool:
    """Return whether a sentence is no lead-in and no line of code."""
    return not sentence.endswith(_LEAD_INS) and _IS_CODE.search(sentence) is None


def reports(sentence: str) -> bool:
    """Return whether a sentence says something: no question, offer, plan, lead-in or line of code."""
    return is_prose(sentence) and not any(_says(kind, sentence) for kind in ("begins_no_report", "ends_no_report"))


def _says(kind: str, text: str) -> bool:
    return matcher("answers.tsv", kind).search(text) is not None


def _cues_of(block: Block, heading: MemoryType | None, following: Block | None) -> Iterator[Cue]:
    """Yield the cues of one block; `heading` is the type of items under the heading above it."""
    if block.kind is Kind.QUOTE:
        return
    sentences = sentences_of(block)
    for index, sentence in enumerate(sentences):
        last = index + 1 == len(sentences)
        after = sentences[index + 1] if not last else following.text if following else ""
        cue = _labelled(sentence)
        if cue is None and heading and index == 0 and block.kind is Kind.ITEM:
            cue = Cue(heading, sentence)
        if cue is None and (kind := _stated(sentence, after)):
            before = sentences[index - 1] if index and _says("leans_back", sentence) else ""
            cue = Cue(kind, f"{before} {sentence}".strip())
        if cue and _says_something(cue):
            yield cue


def _labelled(sentence: str) -> Cue | None:
    """Return the cue of a sentence with a label ("Decision: ...")."""
    for kind in _STATED:
        if label := _label(kind).match(sentence):
            return Cue(kind, sentence[label.end() :])
    return None


def _stated(sentence: str, after: str) -> MemoryType | None:
    """Return the cue of a sentence without a label, None unless it is certain."""
    if len(sentence) > _LONGEST or sentence.endswith(_LEAD_INS):
        return None
    masked = _IN_QUOTES.sub(lambda quote: "x" * len(quote[0]), mask_code(sentence))
    kind = next((kind for kind in _STATED if _says(_name(kind), masked)), None)
    is_open = kind is MemoryType.ISSUE and not _says("works_on_it", after)
    if _says("begins_no_report", masked) or _says("unsure", masked):
        return None
    return kind if is_open or kind is not MemoryType.ISSUE else None


def _says_something(cue: Cue) -> bool:
    """Return whether a cue's text is a statement that is understood without its context."""
    masked = mask_code(cue.text)
    wide = sum("\u1100" <= character <= "\uffdc" for character in masked[:_SHORTEST])  # Hangul needs fewer characters
    if not _SHORTEST - wide <= len(masked) <= _LONGEST or " " not in masked or masked.endswith(_LEAD_INS):
        return False
    if _IS_CODE.search(masked) or any(
        _says(kind, masked) for kind in ("ends_no_report", "topic", f"denied_{_name(cue.type)}")
    ):
        return False
    return cue.type is not MemoryType.ISSUE or not is_resolved(cue.text)


@cache
def _heading(kind: MemoryType) -> re.Pattern[str]:
    return re.compile(rf"\W*(?:{matcher('answers.tsv', f'heading_{_name(kind)}').pattern})\W*$", re.IGNORECASE)


@cache
def _label(kind: MemoryType) -> re.Pattern[str]:
    """Return the form of a label ("Decision: …"): a heading's words count, too, and an emoji may stand before them."""
    names = [f"label_{_name(kind)}", *([f"heading_{_name(kind)}"] if kind in _HEADED else [])]
    words = "|".join(matcher("answers.tsv", name).pattern for name in names)
    return re.compile(rf"\W{{0,4}}(?:{words})\s?(?:[:\uff1a]|\s[\u2013\u2014])\s*(?=\S)", re.IGNORECASE)


def _name(kind: MemoryType) -> str:
    return kind.name.lower()
