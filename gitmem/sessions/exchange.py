"""An exchange, a request and its result, as an entry in a session's file and in `memory.md` (spec V1, V2).

It has the id of its turn: at the session's end it replaces the entry that the turn wrote into `memory.md`. Its first
line is the one-sentence summary; the lines below have labels in the language of the conversation (docs/format.md,
"Sessions"). Longer texts are kept up to a limit, code and tables whole: the middle is left out, with a mark.
"""

from __future__ import annotations

import re
from datetime import UTC

from gitmem.document.entry import Entry, clean_text, find_entries
from gitmem.document.plain import flow
from gitmem.sessions.outcome import Outcome
from gitmem.text.sentences import is_korean, shorten
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime


LABEL = "Exchange"
SECTION = "Exchanges"
MAX_SUMMARY = 300  # characters
MAX_DETAILS = 1_200
MAX_ASKED = 200
MAX_KEYWORDS, MAX_KEYWORD = 5, 40
MAX_FILES = 12


class Exchange(Value):
    """A request and its result. `failed` are the lines about errors, as the turn wrote them.

    A `raw` one is as its turn wrote it: the summary is the request, and there is no outcome.
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
    outcome: Outcome = Outcome.SUCCESS
    at: datetime | None = None  # when, if it is known in more than the clock of some machine
    raw: bool = False


# Words of an exchange, in English and Korean.
_ASKED, _DONE, FILES, FAILED = ("Asked", "요청"), ("Done", "한 일"), ("Files", "파일"), ("Failed", "실패")
_KEYWORDS, _OUTCOME = ("Keywords", "키워드"), ("Outcome", "결과")
_MORE = ("{} more", "외 {}개")
_OUTCOMES = {
    Outcome.SUCCESS: ("success", "성공"),
    Outcome.PARTIAL: ("partial", "일부"),
    Outcome.FAILED: ("failed", "실패"),
    Outcome.INTERRUPTED: ("interrupted", "중단"),
}
_IS_MORE = re.compile(r"(?:[0-9]+ more|외 [0-9]+개)")
# Of a summary, whether the person writes Korean: changed files, tests that pass or fail, what was broken off, programs.
WORDS = {
    False: ("changed {}", "tests pass", "tests fail", "broken off", "ran {}"),
    True: ("{} 수정", "테스트 통과", "테스트 실패", "중단됨", "{} 실행"),
}

# Lead-ins of an answer: "Here is a summary of the changes:".
_LEADS_ON = re.compile(
    r"^(?:here(?:'s| is| are) (?:a |the )?[^:.;]{0,60}|summary|[^:.;]{0,30}다음과 같습니다|主な[^:.;]{0,20})"
    r"\s*[:\uff1a][\s;]*",
    re.IGNORECASE,
)
_LOOSE = " :;.\uff1a"  # left over where a sentence was removed


def render(exchange: Exchange, *, korean: bool | None = None) -> Entry:
    """Return the entry of an exchange, within its bounds, with labels in the language of its texts if none is given."""
    told = f"{exchange.asked} {exchange.summary} {exchange.details}"
    at = is_korean(told) if korean is None else korean
    lines = [_one_line(exchange.summary, MAX_SUMMARY)] if exchange.summary else []
    lines += [f"{_ASKED[at]}: {_one_line(exchange.asked, MAX_ASKED)}"] if exchange.asked.strip() else []
    lines += [f"{_DONE[at]}: {_one_line(exchange.details, MAX_DETAILS)}"] if exchange.details.strip() else []
    lines += [f"{FILES[at]}: {listed_files(exchange.files, korean=at)}"] if exchange.files else []
    lines += exchange.failed
    words = [_one_line(word, MAX_KEYWORD).replace(",", " ") for word in exchange.keywords[:MAX_KEYWORDS]]
    lines += [f"{_KEYWORDS[at]}: {', '.join(filter(None, words))}"] if any(words) else []
    lines += [] if exchange.raw else [f"{_OUTCOME[at]}: {_OUTCOMES[exchange.outcome][at]}"]
    return Entry(exchange.id, exchange.time, LABEL, clean_text("\n".join(lines)), exchange.tags)


def listed_files(files: Sequence[str], *, korean: bool = False, of: int = 0) -> str:
    """Return files on one line, with the number of those left out; `of` is how many there are if not all are given."""
    shown = ", ".join(files[:MAX_FILES])
    more = (of or len(files)) - len(files[:MAX_FILES])
    return f"{shown}, {_MORE[korean].format(more)}" if more > 0 else shown


def parse(entry: Entry) -> Exchange | None:
    """Return the exchange in an entry; None if it has none."""
    if entry.label != LABEL:
        return None
    first, *lines = entry.text.split("\n")
    labels = (_ASKED, _DONE, FILES, FAILED, _KEYWORDS, _OUTCOME)
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
        files=tuple(name for name in _listed(lines, FILES) if not _IS_MORE.fullmatch(name)),
        failed=tuple(line for line in lines if line.startswith(_prefixes(FAILED))),
        keywords=tuple(_listed(lines, _KEYWORDS)),
        outcome=next((kind for kind, words in _OUTCOMES.items() if outcome in words), Outcome.PARTIAL),
        raw=not outcome,
    )


def exchanges_in(data: bytes) -> list[Exchange]:
    """Return the exchanges in a session's file, in order."""
    parsed = [parse(found.entry) for found in find_entries(data.decode("utf-8", "replace"))]
    return [exchange for exchange in parsed if exchange is not None and not exchange.raw]


def details_without(done: str, sentence: str) -> str:
    """Return the result without the sentence that is the summary, and without lead-ins."""
    before, _, after = done.partition(sentence) if sentence else ("", "", done)
    rest = f"{before.rstrip()} {after.lstrip(_LOOSE)}".strip(" ;")
    return " ".join(re.sub(_LEADS_ON, "", rest).split())


def took_the_place(now: Exchange, captured: Exchange) -> bool:
    """Return whether request and answer in an entry are still as its turn wrote them."""
    return now.raw and (now.summary, now.details) == (captured.summary, captured.details)


def new_session(session: str, host: str, name: str, started: datetime) -> bytes:
    """Return the beginning of a session's file; every machine makes the same bytes of it.

    `name` is what stands for the session in a path, `started` when it began.
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


def _prefixes(labels: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{label}: " for label in labels)


def _value(lines: Sequence[str], labels: Sequence[str]) -> str:
    """Return the text after a label, "" if the label is missing."""
    prefixes = _prefixes(labels)
    return next((line.partition(": ")[2] for line in lines if line.startswith(prefixes)), "")


def _listed(lines: Sequence[str], labels: Sequence[str]) -> list[str]:
    return [part for part in _value(lines, labels).split(", ") if part]


def _one_line(text: str, limit: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


LEFT_OUT = "[…]"
PROMPT_LENGTH = 4_000  # characters; the transcript has the rest
_READ = 400_000  # characters of a text; real ones have a few thousand
_LONGEST = 1_000  # characters of a piece of a line without an end
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=\S)|(?<=[。！？])")  # noqa: RUF001
_BEGINNING = 0.6  # share of the kept text that comes from the beginning
_CODE = re.compile(r"^[ \t]{0,12}(?P<mark>`{3,}|~{3,})(?s:.*?)(?:^[ \t]{0,12}(?P=mark)[`~]*[ \t]*$|\Z)", re.MULTILINE)
_PARAGRAPH = re.compile(r"(?:^[^\n]*\S[^\n]*\n?)+", re.MULTILINE)
_ROW = re.compile(r"^[ \t]*\|", re.MULTILINE)  # of a table
_HEADING = re.compile(r"#{1,6}[ \t]+(?P<title>\S.*)")


class _Piece(Value):
    """A part of a text, kept or left out as a whole, and the gap before it."""

    text: str
    gap: str = "\n\n"
    whole: bool = False  # a code block or a table


def without_middle(text: str, limit: int) -> str:
    """Return a text truncated in the middle to about `limit` characters."""
    pieces = list(_pieces(clean_text(text[:_READ])))
    if len(whole := _joined(pieces)) <= limit:
        return whole
    pieces = [part for piece in pieces for part in _parts(piece, limit)]
    first, last = _ends(pieces, limit)
    head = pieces[:first] or [pieces[0]._replace(text=_cut(pieces[0].text, limit // 2))]
    tail = pieces[len(pieces) - last :]
    return "\n\n".join(filter(None, (_joined(head), LEFT_OUT, _joined(tail))))


def _joined(pieces: Sequence[_Piece]) -> str:
    return "".join(piece.gap + piece.text for piece in pieces).lstrip("\n")


def names_only_files(summary: str) -> bool:
    """Return whether a summary says of the result no more than which files were changed."""
    result = summary.rpartition(" → ")[2]
    forms = (re.escape(words[0]).replace(r"\{\}", r"\S+(?:, \S+)*") for words in WORDS.values())
    return any(re.fullmatch(form, result) for form in forms)


def headline(asked: str, limit: int) -> str:
    """Return the first sentences of a request, with the next heading after a lead-in.

    "Implement the following plan:" says nothing without the title of the plan.
    """
    lines = [line for line in asked[:_READ].split("\n") if line.strip()]
    if len(lines) > 1 and lines[0].rstrip().endswith(":") and (title := _HEADING.match(lines[1].strip())):
        return shorten(f"{lines[0].strip()} {title['title'].strip()}", limit)
    return shorten(asked[:_READ], limit)


def texts_between(texts: Iterable[str], answer: str, limit: int) -> tuple[str, ...]:
    """Return what an agent said between its tool calls, each text once, without those that the answer holds."""
    known = " ".join(answer.split())
    found = dict.fromkeys(without_middle(text, limit) for text in texts if " ".join(text.split()) not in known)
    return tuple(filter(None, found))


def _pieces(text: str) -> Iterator[_Piece]:
    """Yield the paragraphs, code blocks and tables of a text; an unclosed block is code up to the end."""
    position = 0
    for code in (*_CODE.finditer(text), None):
        for paragraph in _PARAGRAPH.findall(text[position : code.start() if code else len(text)]):
            yield _Piece(paragraph.rstrip("\n"), whole=_ROW.search(paragraph) is not None)
        if code:
            yield _Piece(code[0], whole=True)
            position = code.end()


def _parts(piece: _Piece, limit: int) -> Iterator[_Piece]:
    """Yield the lines of a paragraph, the sentences of a long line, and pieces of one without any."""
    if piece.whole:
        yield piece
        return
    gap = piece.gap
    for line in piece.text.split("\n"):
        for sentence in _SENTENCE_END.split(line) if len(line) > limit // 10 else [line]:
            for start in range(0, max(1, len(sentence)), _LONGEST):
                yield _Piece(sentence[start : start + _LONGEST], gap)
                gap = ""
            gap = " "
        gap = "\n"


def _ends(pieces: Sequence[_Piece], limit: int) -> tuple[int, int]:
    """Return how many pieces of the beginning and of the end are kept."""
    sizes = [len(piece.gap) + len(piece.text) for piece in pieces]
    first = last = 0
    room = limit * _BEGINNING
    while first < len(sizes) and sizes[first] <= room:
        room -= sizes[first]
        first += 1
    room += limit * (1 - _BEGINNING)
    while first + last < len(sizes) and sizes[-1 - last] <= room:
        room -= sizes[-1 - last]
        last += 1
    return first, last


def _cut(text: str, limit: int) -> str:
    """Return the beginning of a text, cut at the end of a line, else of a sentence or word."""
    cut = text[:limit]
    found = ((cut.rfind(end), end) for end in ("\n", ". ", " "))
    return next((cut[: at + len(end)].rstrip() for at, end in found if at > limit // 2), cut)
