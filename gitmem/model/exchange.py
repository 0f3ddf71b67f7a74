"""The forms of an exchange, a request and its result: in a session's file and `memory.md`, and in the daily log. Pure.

It has the id of its turn: at the session's end it replaces the entry that the turn wrote into `memory.md`.
Its first line is the one-sentence summary; the lines below have labels in the language of the conversation
(docs/format.md, "Sessions"). In the daily log (docs/format.md, "Turns") the text begins with the request. Then come the
parts, in this order, each from a line that begins with its mark, after a blank line: one for each other text of the
user, answer, one for each text between tool calls, one for each error, files, outcome.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from gitmem.document.entry import Entry, clean_text, find_entries
from gitmem.document.ids import slug
from gitmem.document.message import one_line
from gitmem.document.plain_header import flow
from gitmem.errors import RefusedError
from gitmem.model.outcome import LEADS_ON, Outcome
from gitmem.platform.machine import UTC, datetime
from gitmem.text.sentences import is_korean
from gitmem.values import Value

EXCHANGE = "Exchange"
SECTION = "Exchanges"
MAX_SUMMARY = 360  # characters
MAX_DETAILS = 1_200
MAX_ASKED = 200
MAX_KEYWORDS, MAX_KEYWORD = 5, 40
MAX_FILES = 12
_READABLE, _DIGEST = 12, 10  # characters of the slug of an id unfit for a file name, and of the digest after it
_MORE_FILES = re.compile(r"(?:[0-9]+ more|외 [0-9]+개)")


class Exchange(Value):
    """A request and its result. `failed` are the lines about errors as written by the turn.

    In a `raw` one, written by the turn itself, the summary is the request and there is no outcome.
    """

    id: str
    time: str
    tags: tuple[str, ...]
    summary: str
    asked: str = ""
    details: str = ""
    files: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    outcome: Outcome = Outcome.UNKNOWN
    at: datetime | None = None  # when, if known with a time zone
    raw: bool = False


# Words of an exchange, in English and Korean.
_ASKED, _DONE, LABEL_FILES, LABEL_FAILED = ("Asked", "요청"), ("Done", "한 일"), ("Files", "파일"), ("Failed", "실패")
_KEYWORDS, _OUTCOME, _LEFT = ("Keywords", "키워드"), ("Outcome", "결과"), ("Still open", "남은 일")
_MORE = ("{} more", "외 {}개")
_HOW = " → "  # in an outcome in the daily log, before the refutation
_OUTCOMES = {
    Outcome.SUCCESS: ("success", "성공"),
    Outcome.PARTIAL: ("partial", "일부"),
    Outcome.FAILED: ("failed", "실패"),
    Outcome.REFUTED: ("refuted", "사실 아님"),
    Outcome.INTERRUPTED: ("interrupted", "중단"),
    Outcome.UNKNOWN: ("unknown", "확인 안 됨"),
}
# Templates of a summary by language: changed files, tests passed or failed, interruption, programs.
WORDS = {
    False: ("changed {}", "tests pass", "tests fail", "broken off", "ran {}"),
    True: ("{} 수정", "테스트 통과", "테스트 실패", "중단됨", "{} 실행"),
}

_LOOSE = " :;.\uff1a"  # punctuation left over after removing a sentence


def render(exchange: Exchange, *, korean: bool | None = None) -> Entry:
    """Return the entry of an exchange, within its bounds; `korean` None: labels in the language of its texts."""
    texts = f"{exchange.asked} {exchange.summary} {exchange.details}"
    at = is_korean(texts) if korean is None else korean
    lines = [one_line(exchange.summary, MAX_SUMMARY)] if exchange.summary else []
    lines += [f"{_ASKED[at]}: {one_line(exchange.asked, MAX_ASKED)}"] if exchange.asked.strip() else []
    lines += [f"{_DONE[at]}: {one_line(exchange.details, MAX_DETAILS)}"] if exchange.details.strip() else []
    lines += [f"{LABEL_FILES[at]}: {listed_files(exchange.files, korean=at)}"] if exchange.files else []
    lines += exchange.failed
    words = [one_line(word, MAX_KEYWORD).replace(",", " ") for word in exchange.keywords[:MAX_KEYWORDS]]
    lines += [f"{_KEYWORDS[at]}: {', '.join(filter(None, words))}"] if any(words) else []
    lines += [] if exchange.raw else [f"{_OUTCOME[at]}: {_OUTCOMES[exchange.outcome][at]}"]
    return Entry(exchange.id, exchange.time, EXCHANGE, clean_text("\n".join(lines)), exchange.tags)


def listed_files(files: Sequence[str], *, korean: bool = False) -> str:
    """Return files on one line, with the number of those left out."""
    shown = ", ".join(files[:MAX_FILES])
    more = len(files) - len(files[:MAX_FILES])
    return f"{shown}, {_MORE[korean].format(more)}" if more > 0 else shown


def parse(entry: Entry) -> Exchange | None:
    """Return the exchange in an entry, None without one."""
    if entry.label != EXCHANGE:
        return None
    first, *lines = entry.text.split("\n")
    labels = (_ASKED, _DONE, LABEL_FILES, LABEL_FAILED, _KEYWORDS, _OUTCOME)
    if first.startswith(tuple(prefix for words in labels for prefix in _prefixes(words))):
        first, lines = "", [first, *lines]
    outcome = _value(lines, _OUTCOME)
    return Exchange(
        id=entry.id,
        time=entry.time,
        tags=entry.tags,
        summary=first,
        asked=_value(lines, _ASKED),
        details=_value(lines, _DONE),
        files=tuple(name for name in _listed(lines, LABEL_FILES) if not _MORE_FILES.fullmatch(name)),
        failed=tuple(line for line in lines if line.startswith(_prefixes(LABEL_FAILED))),
        keywords=tuple(_listed(lines, _KEYWORDS)),
        outcome=next((kind for kind, words in _OUTCOMES.items() if outcome in words), Outcome.UNKNOWN),
        raw=not outcome,
    )


def exchanges_in(data: bytes) -> list[Exchange]:
    """Return the exchanges in a session's file, in order."""
    parsed = [parse(entry.entry) for entry in find_entries(data.decode("utf-8", "replace"))]
    return [exchange for exchange in parsed if exchange is not None and not exchange.raw]


def refuted_outcome(sentence: str) -> str:
    """Return the outcome of a refuted exchange in the daily log: `sentence` says what was claimed and what was true."""
    return f"{Outcome.REFUTED.value}{_HOW}{one_line(sentence, MAX_SUMMARY)}"


def refutation_in(text: str) -> str:
    """Return the refutation in the text of an exchange, or ""."""
    words = "|".join(_OUTCOMES[Outcome.REFUTED])
    match = re.search(rf"(?m)^[ \t]*(?:\*\*Outcome:\*\*|Outcome:|결과:) (?:{words})(?:{_HOW}(.*))?$", text)
    return ": ".join(filter(None, (Outcome.REFUTED.value, match[1]))) if match else ""


def sentence_of(exchange: Exchange) -> str:
    """Return the result of an exchange as a sentence, with its outcome if known and no success."""
    state = "" if exchange.outcome in {Outcome.SUCCESS, Outcome.UNKNOWN} else f" ({exchange.outcome.value})"
    return f"{exchange.summary.rstrip('.')}{state}."


def with_left(sentence: str, left: str) -> str:
    """Return the result of a request with what is left to do (may be ""), within the bounds of a summary."""
    end = f" {_LEFT[is_korean(f'{sentence} {left}')]}: {left.rstrip('.')}." if left else ""
    return f"{one_line(sentence, MAX_SUMMARY - len(end)).rstrip('.')}.{end}" if left else sentence


def details_without(done: str, sentence: str) -> str:
    """Return the result without the sentence that is the summary, and without lead-ins."""
    before, _, after = done.partition(sentence) if sentence else ("", "", done)
    rest = f"{before.rstrip()} {after.lstrip(_LOOSE)}".strip(" ;")
    return " ".join(LEADS_ON.sub("", rest).split())


def is_as_captured(now: Exchange, captured: Exchange) -> bool:
    """Return whether the request and answer in an entry are still those that its turn wrote."""
    return now.raw and (now.summary, now.details) == (captured.summary, captured.details)


def new_session(session: str, host: str, name: str, started: datetime) -> bytes:
    """Return the beginning of a session's file; every machine makes the same bytes of it.

    `name` is the session's file name, `started` the time of its start.
    """
    stamp = started.astimezone(UTC)
    text = f"""\
---
id: session-{stamp:%Y%m%d-%H%M%S}-{name}
kind: session
created: {stamp:%Y-%m-%dT%H:%M:%SZ}
session: {flow(session)}
host: {flow(host)}
method: offline
---
# Session {name}

## {SECTION}
"""
    return text.encode("utf-8", "replace")


@lru_cache(maxsize=10_000)  # a list of sessions needs each name repeatedly
def file_name(session: str) -> str:
    """Return a session's file name: its id if fit for a name, else a slug and a digest of it."""
    import hashlib

    from gitmem.redact.redact import redact

    if not session.strip():
        raise RefusedError(
            "The transcript has no session id.", "Give the id that the agent's host has for the session."
        )
    shown = redact(session).text  # a file name is pushed, and stays in history
    name = slug(shown)
    if name == session:
        return name
    digest = hashlib.sha256(session.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
    return f"{slug(shown, length=_READABLE).rstrip('-') or 'session'}-{digest}"


def _prefixes(labels: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{label}: " for label in labels)


def _value(lines: Sequence[str], labels: Sequence[str]) -> str:
    """Return the text after a label, or "" without the label."""
    prefixes = _prefixes(labels)
    return next((line.partition(": ")[2] for line in lines if line.startswith(prefixes)), "")


def _listed(lines: Sequence[str], labels: Sequence[str]) -> list[str]:
    return [part for part in _value(lines, labels).split(", ") if part]


USER, ANSWER, SAID = "**User:**", "**Answer:**", "**Said:**"
ERROR, FILES, OUTCOME = "**Error:**", "**Files:**", "**Outcome:**"
FIX_MARK = " → "  # in an error, before its fix
# Labels that gitmem writes before the words of a user or an agent (docs/format.md, "Turns", "Sessions").
_LABELS = (
    r"(?m)^[ \t]*(?:(?:\*\*Outcome:\*\*|Outcome:|결과:) \w+$|\*\*(?:User|Answer|Said|Error|Files):\*\*"
    r"|(?:Asked|Done|Files|Files modified|Failed|Keywords|요청|한 일|파일|실패|키워드):)"
)
_MARK = r"(?m)^\*\*(User|Answer|Said|Error|Files|Outcome):\*\*(?= |$)"  # compiled at first use


class Fields(Value):
    """The parts of an exchange's entry in the daily log; `outcome` is "" for success or if not known yet.

    `words` are what the user said besides the request, in the form of `words.render_words`.
    """

    request: str = ""
    answer: str = ""
    said: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    outcome: str = ""
    words: tuple[str, ...] = ()


def render_fields(fields: Fields) -> str:
    """Return the text of an entry with these fields, which `split_fields` takes apart again."""
    parts = [_unmarked(fields.request)] if fields.request else []
    listed = ((USER, fields.words), (ANSWER, (fields.answer,)), (SAID, fields.said), (ERROR, fields.errors))
    for mark, texts in listed:
        for text in texts:
            parts += _part(mark, _unmarked(text))
    parts += _part(FILES, ", ".join(" ".join(name.split()) for name in fields.files))
    parts += _part(OUTCOME, " ".join(fields.outcome.split()))
    return "\n\n".join(parts)


def split_fields(text: str) -> Fields:
    """Return the fields in the text of an entry.

    A part ends where the next mark begins. A line merge may have reordered or doubled parts: all errors, mid-turn texts
    and files are read; a second answer or outcome counts as text of the part before it.
    """
    ends = [(0, 0, "")]  # of the request and each part: start, start of its text, mark
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
        files=lists[0] if len(lists) == 1 else tuple(dict.fromkeys(name for names in lists for name in names)),
        outcome=values.get(OUTCOME, ""),
        words=tuple(text for mark, text in parts if mark == USER and text),
    )


def without_labels(text: str) -> str:
    """Return the text of an exchange without gitmem's labels and the outcome."""
    return re.sub(_LABELS, "", text)


def join_fields(before: Fields, after: Fields) -> Fields:
    """Return the fields of a turn joined from two captured parts.

    The later request or answer replaces the earlier if it contains it; else both stay, the earlier first.
    """
    errors: dict[str, str] = {}
    for error in (*before.errors, *after.errors):  # each once, with a fix if any copy names one
        failure = error.rpartition(FIX_MARK)[0] or error
        if errors.get(failure, failure) == failure:
            errors[failure] = error
    return Fields(
        request=_both(before.request, after.request),
        answer=_both(before.answer, after.answer),
        said=tuple(dict.fromkeys((*before.said, *after.said))),
        errors=tuple(errors.values()),
        files=tuple(dict.fromkeys((*before.files, *after.files))),
        outcome=before.outcome if after.answer in before.answer else after.outcome,
        words=tuple(dict.fromkeys((*before.words, *after.words))),
    )


def _both(before: str, after: str) -> str:
    if before in after:
        return after
    return before if after in before else f"{before}\n\n{after}"


def _part(mark: str, text: str) -> list[str]:
    """Return a part of an entry; a list, table or code block begins on a line of its own."""
    if not text.strip():
        return []
    apart = text.startswith(("- ", "* ", "```", "~~~", "|", "#", ">", "1. "))
    return [f"{mark}\n{text}" if apart else f"{mark} {text}"]


def _unmarked(text: str) -> str:
    """Return a text without lines that look like the start of a part: the colon is removed from the bold label."""
    return re.sub(_MARK, r"**\1**:", text.strip("\n"))
