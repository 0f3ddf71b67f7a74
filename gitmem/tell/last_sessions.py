"""Summarize earlier sessions for a session's start: where the last one stopped, and a line of each other.

An exchange is shown with its request and the agent's words on the result. Exchanges without a subject ("b obviously →
0.3") and answers that repeat the request are left out, except the last ones. If nobody judged whether an exchange
succeeded, it is shown with the next request of its session if that may tell ("no, they still come").
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from gitmem.document.entry import Entry, entry_id, find_entries, is_purged, without_ids
from gitmem.document.ids import MEMORY, do_meet, scopes_in
from gitmem.history.authors import Authors
from gitmem.model.exchange import EXCHANGE, Exchange, exchanges_in, parse, sentence_of
from gitmem.model.lines import SHORTEST, Marks, normalized, with_marks
from gitmem.model.outcome import Outcome
from gitmem.model.request import TaskType, classify, counts_alone, may_refute
from gitmem.model.turns import is_trivial
from gitmem.text.words import keywords
from gitmem.values import Value

Lines = list[tuple[str, str]]  # lines of a start, each with the id of its memory or ""

# An entry, or a line outside of entries. It begins with a non-blank line: a match tried at each blank line would take
# quadratic time.
PIECE = re.compile(r"(?<![^\n])(?=[ \t]*+\S)[^\n]+(?:\n(?:[ \t]*\r?\n)*(?:  |\t)[ \t]*[^\s][^\n]*)*")
HEAD = re.compile(
    r"^- \[[^\]\n]{1,40}\] (?:\*\*[^*\n]{1,40}\*\*[^:\n]{0,200}: )?"
)  # the beginning of an entry: time, type, tags
_SESSION_FILE = re.compile(
    r"sessions/[0-9]{4}/[0-9]{2}/([0-9]{4})([0-9]{2})([0-9]{2})_([0-9]{2})([0-9]{2})[0-9]{2}-([^/]{1,8})[^/]*\.md"
)
# The beginning of an entry: day and minute, a label more specific than its section, tags.
_LONG_HEAD = re.compile(
    r"^- \[([0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{5})(?::[0-9]{2})?\] "
    r"(?:\*\*(?:Exchange|Decision|Issue)\*\*(?: #[\w/-]+)*: |(\*\*[^*\n]{1,40}\*\*)(?: #[\w/-]+)*)"
)
_NOTHING = re.compile(
    r"\n[ \t]+(?:(?:Keywords|키워드): [^\n]*|(?:Outcome: (?:success|unknown)|결과: (?:성공|모름))(?=\n|$))"
)
_STATE = "] **State**"
_LABEL = re.compile(r"[^\W\d]{1,20}\s?[:\uff1a]\s*")  # "Decision: "
_MINUTE = len("2026-11-26 12:00")
_TAG = 8  # characters of a session's id in its tag
_LEAST_WORDS = 3  # topic words of a shown exchange, except the last one
_ECHO = 2  # words of a result that may repeat the request
_MOST_FILES = 5
_ARROW, _ANSWERED = " → ", " → the agent answered: "
_WENT_WELL = (Outcome.SUCCESS, Outcome.UNKNOWN)
_REQUEST, _RESULT, _LAST_RESULT, _NEXT = 160, 400, 600, 120  # characters of a line's parts
_PER_SESSION, _MOST_PER_SESSION = 280, 2_000  # characters of the line of an earlier session: least, most
_BEFORE = 7_000  # characters of all these lines, about
_LAST_JUDGED = 1_200  # characters of the sentences of the last session, if a model judged it


class EntryLine(Value):
    """An exchange or other entry as a line: minute, session's tag, text, id; `is_talk` if it changed no file."""

    minute: str
    session: str
    text: str
    id: str
    request: str = ""
    is_talk: bool = False


class StartContext(Value):
    """What a start marks or leaves out: ended facts, statements shown elsewhere, exchanges in the spool."""

    marks: Marks
    shown: frozenset[str]
    exchanges: Collection[str]
    authors: Authors


class SessionLines(Value):
    """The lines of the last session, the newest first, of each before it, and of later entries."""

    last: Lines
    before: Lines
    since: Lines
    is_own: bool = False


def recent_session_lines(body: str, judged: Mapping[str, Lines], known: StartContext, own: str = "") -> SessionLines:
    """Return the lines of the last session, and a line of each session before it, the newest first.

    `body` is that of `memory.md` without decisions and issues; `judged` are the lines of sessions that a model judged.
    `own` is the tag of a session that continues after a compaction: its entries replace those of the last session.
    """
    entries = [entry for entry in _entries(body, known) if entry.session not in judged]
    entries += [
        EntryLine(line[len("- [") : len("- [") + _MINUTE], session, line, "")
        for session, lines in judged.items()
        for line, _ in lines
    ]
    entries.sort(key=lambda line: line.minute)
    is_own = bool(own) and any(line.session == own[:_TAG] for line in entries)
    sessions = [number for number, line in enumerate(entries) if line.session]
    last = own[:_TAG] if is_own else entries[sessions[-1]].session if sessions else ""
    end = len(entries) if is_own else sessions[-1] + 1 if sessions else 0
    begin = next((line.minute for line in entries if line.session == last), "~")
    entries, saved_since = [line for line in entries[:end] if line.text], entries[end:]
    now = [line for line in entries if line.session == last or (not line.session and line.minute >= begin)]
    before: dict[str, list[EntryLine]] = {}
    for earlier in entries:
        if earlier not in now:
            before.setdefault(earlier.session or earlier.text, []).append(earlier)
    newest = sorted(before.values(), key=lambda several: several[-1].minute)[::-1]
    room = min(max(_BEFORE // max(len(newest), 1), _PER_SESSION), _MOST_PER_SESSION)
    return SessionLines(
        [(line.text, line.id) for line in reversed(now)],
        [_in_a_line(several, room) for several in newest],
        [(line.text, line.id) for line in reversed(saved_since)],
        is_own,
    )


def _in_a_line(several: Sequence[EntryLine], room: int) -> tuple[str, str]:
    """Return the line of a session: its first request and its last results, work before talk.

    A later request without a result is left out.
    """
    first, *rest = several
    rest = [line for line in rest if _ARROW in line.text or not line.request]
    if not rest:
        return first.text, first.id
    text = f"- [{first.minute}] {first.request}" if first.request else first.text
    last, room = len(rest) - 1, room - len(text)
    chosen: dict[int, str] = {}
    for place in sorted(range(len(rest)), key=lambda place: (place != last, rest[place].is_talk, -place)):
        part = HEAD.sub("", rest[place].text)
        room -= len(part)
        if not chosen or room >= 0:
            chosen[place] = _ended(part)
        else:
            room += len(part)
    return f"{_ended(text)} … {' '.join(chosen[place] for place in sorted(chosen))}", ""


def _ended(text: str) -> str:
    text = text.rstrip(" :;,")
    return text if text.endswith((".", "!", "?", "…", "]", ")", '"')) else f"{text}."


def _entries(body: str, known: StartContext) -> list[EntryLine]:
    """Return the entries of `memory.md` to show, in order."""
    pieces = [piece[0] for piece in PIECE.finditer(body) if not piece[0].startswith("#")]
    pieces = [piece for piece in pieces if _STATE not in piece] or pieces  # a State repeats the end of its turn
    lines_shown: list[EntryLine] = []
    following: dict[str, tuple[str, str]] = {}  # by session: the request after an exchange, and its line
    at, is_last = "~", True
    for piece in reversed(pieces):
        at = piece[len("- [") : len("- [") + _MINUTE] if piece.startswith("- [") else at
        identifier, exchange = entry_id(piece), _exchange(piece)
        content = request_and_result(exchange)[0] if exchange else HEAD.sub("", without_ids(piece), count=1)
        if identifier in known.exchanges or is_purged(content):
            continue
        session = _session(exchange) if exchange else ""
        if exchange:
            text = _line(exchange, *following.get(session, ("", "")), known, is_last=is_last)
            following[session], is_last = (request_and_result(exchange)[0], text), False
        else:
            text = brief(without_ids(with_marks(piece, known.marks)))
        is_stated = bool(exchange) and not text  # its session counts although it has no line
        if is_stated or (text and statement(text) not in known.shown):
            line = by_author(text, known.authors.others(identifier, MEMORY))
            # The line of an exchange has no id, so that a prompt may be shown the rest of it.
            lines_shown.append(_entry_line(at, line, "" if exchange else identifier, exchange, known.marks))
    return lines_shown[::-1]


def _marked(text: str, exchange: Exchange, marks: Marks) -> str:
    """Return a text of an exchange with marks, also on ended facts learned from it and worded differently."""
    return with_marks(text, marks, sources=(Entry(exchange.id, "", "", text),))


def _entry_line(at: str, line: str, identifier: str, exchange: Exchange | None, marks: Marks) -> EntryLine:
    if not exchange:
        return EntryLine(at, "", line, identifier)
    request = _cut(with_marks(request_and_result(exchange)[0], marks), _REQUEST)
    is_talk = not exchange.files or exchange.outcome not in _WENT_WELL
    return EntryLine(at, _session(exchange), line, identifier, request, is_talk)


def _exchange(piece: str) -> Exchange | None:
    entry = next(iter(find_entries(piece)), None) if f"**{EXCHANGE}**" in piece.partition("\n")[0] else None
    return parse(entry.entry) if entry else None


def _session(exchange: Exchange) -> str:
    return next((tag[:_TAG] for tag in exchange.tags[:1] if "/" not in tag), "")


def _line(exchange: Exchange, replied: str, after: str, known: StartContext, *, is_last: bool) -> str:
    """Return the line of an exchange, "" without a subject; `replied` is the next request, `after` its line."""
    request, result = request_and_result(exchange)
    asked, got = _topics(request), _topics(result)
    is_echo = got <= asked and len(result.split()) <= _ECHO and not any(map(str.isdecimal, result))
    if is_echo and (not is_last or (request and is_trivial(result))):
        result = ""  # the answer repeats the request, or says nothing
    alone = "" if exchange.files or (request and result) else normalized(request or result)
    is_told = any(len(words) >= SHORTEST and words in alone for words in known.shown)
    if _is_only_stated(request, got - asked, exchange, known):
        return ""
    is_empty = is_told or not (result or exchange.files or (counts_alone(request) and request != replied))
    if not is_last and (len(asked | got) < _LEAST_WORDS or is_empty):
        return ""
    parts = [_cut(with_marks(request, known.marks, exchange.id), _REQUEST)] if request and (asked or not got) else []
    parts += [_cut(_marked(result, exchange, known.marks), _LAST_RESULT if is_last else _RESULT)] if result else []
    is_talk = not exchange.files and classify(request) is TaskType.REVIEW
    line = f"- [{exchange.time[:_MINUTE]}] {(_ANSWERED if is_talk else _ARROW).join(parts)}"
    line += f" [{', '.join(exchange.files[:_MOST_FILES])}]" if is_last and exchange.files else ""
    failed = f"\n  {_cut(with_marks(exchange.failed[0], known.marks), _RESULT)}" if is_last and exchange.failed else ""
    if not replied:
        return line + ("" if exchange.outcome in _WENT_WELL else f" ({exchange.outcome.value})") + failed
    reply = _cut(with_marks(replied, known.marks), _NEXT)
    is_open = exchange.outcome is not Outcome.SUCCESS and reply not in after
    was_refuted = is_open and may_refute(replied, f"{request} {result}")
    return line + (f' (the next request: "{reply}")' if was_refuted else "") + failed


def _is_only_stated(request: str, new: Collection[str], exchange: Exchange, known: StartContext) -> bool:
    """Return whether an exchange only states facts shown elsewhere, and its answer has few `new` words."""
    rest = normalized(_LABEL.sub("", request))
    repetitions = [words for words in known.shown if len(words) >= SHORTEST and words in rest]
    for words in repetitions:
        rest = rest.replace(words, " ")
    return bool(repetitions) and not (exchange.files or exchange.failed or _topics(rest) or len(new) >= _LEAST_WORDS)


def request_and_result(exchange: Exchange) -> tuple[str, str]:
    """Return the request of an exchange and the agent's words on the result."""
    request, _, result = exchange.summary.partition(_ARROW)
    if exchange.asked or not (result or exchange.raw):  # the summary is the agent's
        request, result = exchange.asked, exchange.summary
    if exchange.details.startswith(result.rstrip(".…; ")):
        return request, exchange.details
    details = "" if exchange.details in result else exchange.details
    joint = " " if result.endswith((".", "!", "?", ":", ";", "…")) or not details else "; "
    return request, f"{result}{joint}{details}".strip(" ;")


def _topics(text: str) -> frozenset[str]:
    return frozenset(key for key, _ in keywords(text))


def session_tag_of(path: str) -> str:
    """Return the beginning of a session's id, by the path of its file."""
    name = _SESSION_FILE.fullmatch(path)
    return name[6] if name else ""


def judged_lines(path: str, data: bytes, here: str, marks: Marks, *, is_last: bool) -> Lines:
    """Return the lines of a session that a model judged: a line for each exchange of the last session, else one."""
    name = _SESSION_FILE.fullmatch(path)
    if not name:
        return []
    exchanges = [exchange for exchange in exchanges_in(data) if not here or do_meet(scopes_in(exchange.tags), (here,))]
    begun = f"{'-'.join(name.group(1, 2, 3))} {name[4]}:{name[5]}"
    sentences, room = list[tuple[str, str]](), _LAST_JUDGED if is_last else _PER_SESSION
    for exchange in reversed(exchanges):
        sentence = _marked(sentence_of(exchange), exchange, marks)
        room -= len(sentence)
        if sentences and room < 0:
            break
        sentences.insert(0, (exchange.time[:_MINUTE], sentence))
    if is_last:
        return [(f"- [{at}] {sentence}", "") for at, sentence in sentences]
    return [(f"- [{begun}] {' '.join(sentence for _, sentence in sentences)}", "")] if sentences else []


def by_author(piece: str, author: str) -> str:
    """Return an entry with its author's name; `author` is "" for the user."""
    first, newline, rest = piece.partition("\n")
    return f"{first} (by {author}){newline}{rest}" if author and piece else piece


def brief(piece: str) -> str:
    """Return an entry without details useless to a new session: seconds, tags, keywords, a good outcome."""
    return _NOTHING.sub("", _LONG_HEAD.sub(r"- [\1] \2", piece, count=1))


def statement(entry: str) -> str:
    """Return an entry's text, without time, type and tags, for comparison."""
    return normalized(HEAD.sub("", entry, count=1))


def _cut(line: str, most: int) -> str:
    """Return a line cut at a word; a mark on a fact that ended, in brackets, stays whole."""
    if len(line) <= most:
        return line
    begin, end = line.rfind(" [", 0, most), line.find("]", most - 1)
    if line.rfind("]", 0, most) < begin and end >= 0:
        most = end + 2  # and the blank after it
    return line if len(line) <= most else f"{line[:most].rpartition(' ')[0]} …"
