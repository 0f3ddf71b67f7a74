"""The fields of an exchange in the daily log, what its commands and errors say, and how it ended. Pure.

The text of an entry (docs/format.md, "Turns") begins with the request. Then come the parts, in this order, each from a
line that begins with its mark, after a blank line: answer, one for each text between tool calls, one for each error,
files, outcome. One judge of outcomes serves all views and episodes: tests and releases, errors, the answer, the
person's next prompt (`bench/outcomes.py`).
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import cache
from itertools import takewhile

from gitmem.text.data import matcher, table
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitmem.sessions.turns import Run, Turn


ANSWER, SAID, ERROR, FILES, OUTCOME = "**Answer:**", "**Said:**", "**Error:**", "**Files:**", "**Outcome:**"
MENDED = " → "  # in an error, before its mend
# What gitmem writes before the words of a person or an agent, line by line (docs/format.md, "Turns", "Sessions").
_LABELS = (
    r"(?m)^[ \t]*(?:(?:\*\*Outcome:\*\*|Outcome:|결과:) \w+$|\*\*(?:Answer|Said|Error|Files):\*\*"
    r"|(?:Asked|Done|Files|Files modified|Failed|Keywords|요청|한 일|파일|실패|키워드):)"
)
_MARK = r"(?m)^\*\*(Answer|Said|Error|Files|Outcome):\*\*(?= |$)"  # compiled at first use


class Fields(Value):
    """What an entry of the daily log says of an exchange; `outcome` is "" where it succeeded or is not known yet."""

    request: str = ""
    answer: str = ""
    said: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    outcome: str = ""


def render_fields(fields: Fields) -> str:
    """Return the text of an entry with these fields, which `split_fields` takes apart again."""
    parts = [_unmarked(fields.request)] if fields.request else []
    parts += _part(ANSWER, _unmarked(fields.answer))
    for text in fields.said:
        parts += _part(SAID, _unmarked(text))
    for error in fields.errors:
        parts += _part(ERROR, _unmarked(error))
    parts += _part(FILES, ", ".join(_one_line(name) for name in fields.files))
    parts += _part(OUTCOME, _one_line(fields.outcome))
    return "\n\n".join(parts)


def split_fields(text: str) -> Fields:
    """Return the fields in the text of an entry.

    A part ends where the next mark begins. A merge of lines may have put parts into another order, or a part there
    twice: of errors, texts of mid-turn and files all are read; another answer or outcome is text of the part before it.
    """
    ends = [(0, 0, "")]  # of the request; of each part: start, start of its text, mark
    once: set[str] = set()
    for match in re.finditer(_MARK, text):
        if match[0] not in once:
            ends.append((match.start(), match.end(), match[0]))
            once.update({match[0]} & {ANSWER, OUTCOME})
    stops = [start for start, _, _ in ends[1:]] + [len(text)]
    parts = [(mark, text[begin:stop].strip("\n ")) for (_, begin, mark), stop in zip(ends, stops, strict=True)]
    values = dict(parts)
    lists = [tuple(name for name in text.split(", ") if name) for mark, text in parts if mark == FILES]
    return Fields(
        request=values[""],
        answer=values.get(ANSWER, ""),
        said=tuple(text for mark, text in parts if mark == SAID and text),
        errors=tuple(text for mark, text in parts if mark == ERROR and text),
        files=lists[0] if len(lists) == 1 else _each(name for names in lists for name in names),
        outcome=values.get(OUTCOME, ""),
    )


def without_labels(text: str) -> str:
    """Return the text of an exchange without gitmem's own words: labels of its parts, and its outcome."""
    return re.sub(_LABELS, "", text)


def join_fields(before: Fields, after: Fields) -> Fields:
    """Return the fields of a turn joined from two captured parts.

    Of two requests or answers the later stays where it holds the earlier; else both stay, the earlier first.
    """
    return Fields(
        request=_both(before.request, after.request),
        answer=_both(before.answer, after.answer),
        said=_each((*before.said, *after.said)),
        errors=_last_told((*before.errors, *after.errors)),
        files=_each((*before.files, *after.files)),
        outcome=before.outcome if after.answer in before.answer else after.outcome,
    )


def _both(before: str, after: str) -> str:
    if before in after:
        return after
    return before if after in before else f"{before}\n\n{after}"


def _last_told(errors: Iterable[str]) -> tuple[str, ...]:
    """Return errors, each once, with its mend if any of them names one."""
    by_error: dict[str, str] = {}
    for error in errors:
        failure = error.rpartition(MENDED)[0] or error
        if by_error.get(failure, failure) == failure:
            by_error[failure] = error
    return tuple(by_error.values())


def _each(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))


def _part(mark: str, text: str) -> list[str]:
    """Return a part of an entry; a list, table or code block begins on a line of its own."""
    if not text:
        return []
    apart = text.startswith(("- ", "* ", "```", "~~~", "|", "#", ">", "1. "))
    return [f"{mark}\n{text}" if apart else f"{mark} {text}"]


def _unmarked(text: str) -> str:
    """Return a text in which no line begins like a part: the colon goes out of the bold words."""
    return re.sub(_MARK, r"**\1**:", text.strip("\n"))


def _one_line(text: str) -> str:
    return " ".join(text.split())


ERROR_LENGTH = 200  # characters
_NOT_FAILED = ("<tool_use_error>", "The user doesn't want to", "User rejected", "[Request interrupted")
_SAYS_NOTHING = ("warn", "task failed", "errors found", "exit status", "npm err! code")
# Words of an error's telling line, surely and perhaps; and words of lines that say nothing.
_TELLING = (
    ("error:", "fatal:", "panic:", "exception", "--- fail", "undefined", "no such", "not found", "denied"),
    ("failed", "failure", "cannot", "can't", "unexpected", "invalid", "unknown", "missing", "refused", "timed out"),
)


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
        for words in _TELLING
        for line in some
        if any(w in line.casefold() for w in words)
    )
    line = next(telling, lines[0] if lines else "")
    return line[:ERROR_LENGTH].rstrip() + "…" if len(line) > ERROR_LENGTH else line


@cache
def _form(kind: str) -> re.Pattern[str]:
    """Return the form of a kind of commands, or of their outputs; compiled at first use, as hooks load this."""
    return re.compile("|".join(row[1] for row in table("commands.tsv") if row[0] == kind), re.MULTILINE)


_PARTS = r"\s*(?:&&|\|\||;|\n)\s*"
_OUTPUT = r"\s*(?:[0-9&]?>{1,2}\s?(?:&[0-9]|\S{1,200})|\|\s*(?:head|tail|grep|cat|less|wc|tee)\b[^|&;\n]*)"
_SCRIPT = r"\"(?:[^\"\\\n]|\\.)*\n(?:[^\"\\]|\\[\s\S])*\"|'[^'\n]*\n[^']*'"  # a quoted text of several lines
_WRITES = r"(?<![0-9&<>-])>{1,2}\s?([\w./~-]{1,200})"
_SET = r"[A-Za-z_]\w*=\S*$"  # an assignment before a command
_OF_WRAPPER = r"-|[0-9.]+[smhd]?$"  # a flag or a time that goes with a wrapper
_OF_VERB = r"[\s:=-]+"


def bare(command: str) -> str:
    """Return a command line without redirections, what is fed to it, pipes to pagers, and a leading `cd`."""
    line = re.sub(_OUTPUT, "", command.partition("<<")[0])
    parts = [part for part in re.split(_PARTS, line) if not part.startswith("cd ")]
    return " && ".join(filter(None, parts)).strip()


def only_reads(command: str) -> bool:
    """Return whether a command line consists of programs that only read."""
    return all(_form("looks").match(part) for part in re.split(_PARTS, bare(command)) if part)


def has_effect(command: str) -> bool:
    """Return whether a part of a command line installs, fetches, regenerates, or changes the environment."""
    return any(_acts(part) for part in re.split(_PARTS, bare(re.sub(_SCRIPT, "''", command))))


def is_commit(command: str) -> bool:
    """Return whether a command line commits, pushes or releases."""
    return _form("commits").search(bare(command)) is not None


def written(command: str) -> str:
    """Return the file that a command line writes its output to, "" without one."""
    match = re.search(_WRITES, command.partition("\n")[0])
    return match[1] if match and not match[1].startswith("/dev/") else ""


def works_now(failed: str, worked: str) -> bool:
    """Return whether a command that worked shows that a failed one works now, behind whatever wrapper.

    Of a pipe only the end is known, and of commands in a row only the last, unless `&&` is between them.
    """
    if failed.strip() == worked.strip():
        return bool(failed.strip())
    last = re.split(r"\s*(?:\|\||;|\n)\s*", worked.strip())[-1]
    known = {_core(part) for part in last.split("&&") if "|" not in part}
    wanted = {_core(part) for part in re.split(_PARTS, bare(failed)) if part}
    return bool(wanted) and wanted <= known


def environment(command: str) -> tuple[str, ...]:
    """Return the wrappers of a command line that choose an environment, and its assignments."""
    return tuple(word for part in re.split(_PARTS, bare(command)) if part for word in _unwrapped(part)[1])


def _core(part: str) -> tuple[str, ...]:
    """Return the words of a command without its wrappers, in any order if there are flags among them."""
    words = _unwrapped(part)[0]
    return tuple(sorted(words)) if any(word.startswith("-") for word in words) else words


@cache
def _unwrapped(part: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words of a command without its wrappers, and what chose its environment."""
    words = [word.strip("'\"") for word in bare(part).split()]
    around: list[str] = []
    while words and (size := _wrapper(words)):
        around += words[:size] if size > 0 else []
        words = words[abs(size) :]
        while words and re.match(_OF_WRAPPER, words[0]):
            words = words[1:]
    words[:1] = [name.rpartition("bin/")[2] for name in words[:1]]
    silent = {row[1] for row in table("wrappers.tsv") if row[0] == "flag"}
    return tuple(word for word in words if word not in silent), tuple(around)


def _wrapper(words: list[str]) -> int:
    """Return the number of words of the wrapper at the head of a command, negative if it chooses no environment."""
    if re.match(_SET, words[0]):
        return 1
    head = [words[0].rpartition("bin/")[2], *words[1:2]]
    for kind, named, *_ in table("wrappers.tsv"):
        size = named.count(" ") + 1
        if kind != "flag" and head[:size] == named.split() and len(words) > size:
            return size if kind == "environment" else -size
    return 0


def _acts(part: str) -> bool:
    words = _unwrapped(part)[0]
    if not words or words[:2] == ("git", "add"):
        return False
    named = {kind: {row[1] for row in table("effects.tsv") if row[0] == kind} for kind in ("verb", "program", "flag")}
    told = takewhile(lambda word: not word.startswith("-"), words[1:3])
    said = {verb for word in told for verb in (word, re.split(_OF_VERB, word)[-1]) if verb == word or verb != "ci"}
    program = named["program"] & {words[0], " ".join(words[:2])}
    return bool(program or said & named["verb"] or set(words) & named["flag"])


class Outcome(StrEnum):
    """How an exchange, or an episode, ended."""

    SUCCESS = "success"
    PARTIAL = "partial"
    FAILED = "failed"
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
    """Return whether the next request says a clear no about the result; one to a question of the agent is none."""
    text = " ".join(next_prompt[:_READ].split())
    said = matcher(_WORDS, "rejected").search(text)
    return said is not None and (said.start() > 0 or not turn.answer.rstrip().endswith("?"))


def offers(answer: str) -> bool:
    """Return whether an answer lists options and asks which to take."""
    return matcher(_WORDS, "asks").search(answer[-_READ:]) is not None


def verdict_of(runs: Iterable[Run]) -> Outcome | None:
    """Return the outcome of the last tests that were run, FAILED after a release that failed; None without either."""
    backwards = list(reversed(list(runs)))
    last = next((run for run in backwards if _form("releases").search(run.command)), None)
    if last is None or not last.failed:
        last = next((run for run in backwards if _form("tests").search(run.command)), None)
    if last is None:
        return None
    return Outcome.FAILED if last.failed or _form("failed").search(last.said) else Outcome.SUCCESS


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
