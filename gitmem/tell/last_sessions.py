"""Summarize earlier sessions for a session's start: where the last one stopped, and a line of each other.

An exchange is shown with its request and the agent's words on the result. Left out are exchanges without a subject ("b
obviously → 0.3"), results that a newer line repeats, questions of the agent that a later request answered, and its
explanations before later work. If nobody judged whether an exchange succeeded, it is shown with the next request of its
session if that may tell ("no, they still come"). Of a session that a model judged, changes of files are shown that no
line above tells.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import chain

from gitmem.document.entry import Entry, entry_id, find_entries, is_purged, without_ids
from gitmem.document.ids import MEMORY, do_meet, scopes_in, tail_of
from gitmem.history.authors import Authors
from gitmem.model.command import form
from gitmem.model.exchange import EXCHANGE, FIX_MARK, Exchange, exchanges_in, parse, sentence_of
from gitmem.model.lines import SHORTEST, Marks, normalized, with_marks
from gitmem.model.outcome import Outcome
from gitmem.model.request import TaskType, classify, counts_alone, may_refute, orders
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
    r"\n[ \t]+(?:(?:Keywords|키워드): [^\n]*|(?:Outcome: (?:success|unknown)|결과: (?:성공|확인 안 됨))(?=\n|$))"
)
_ANNOUNCES = re.compile(
    r"(?:^|(?<=[.:;!?…])\s)(?:let me|now,? (?:let me|i'll|i will))\s(?:(?![.;!?] ).){1,300}$", re.IGNORECASE
)
_STATE = "] **State**"
_LABEL = re.compile(r"[^\W\d]{1,20}\s?[:\uff1a]\s*")  # "Decision: "
_MINUTE = len("2026-11-26 12:00")
_TAG = 8  # characters of a session's id in its tag
_LEAST_WORDS = 3  # topic words of a shown exchange, except the last one
_REPLY = 12  # characters of a request that only answers the agent
_ECHO = 2  # words of a result that may repeat the request
_ASKS = ("?", "\N{FULLWIDTH QUESTION MARK}")
_EXPLANATION = 120  # characters of an answer that explains; a shorter one agrees or reports
_CHECKS = ("tests", "builds", "checks")  # commands whose failure is told, if it is open
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


class Later(Value):
    """What follows an exchange in its session: the next request, its line, and whether files were changed."""

    request: str
    line: str
    has_work: bool = False


class StartContext(Value):
    """What a start marks or leaves out: ended facts, statements shown elsewhere, exchanges in the spool.

    `learned` are digests of the memories from which the facts were learned that the start shows.
    """

    marks: Marks
    shown: frozenset[str]
    learned: frozenset[str]
    exchanges: Collection[str]
    authors: Authors


class SessionLines(Value):
    """The lines of the last session, the newest first, of each before it, and of later entries."""

    last: Lines
    before: Lines
    since: Lines
    is_own: bool = False


def recent_session_lines(
    body: str, judged: Mapping[str, Sequence[EntryLine]], known: StartContext, own: str = ""
) -> SessionLines:
    """Return the lines of the last session, and a line of each session before it, the newest first.

    `body` is that of `memory.md` without decisions and issues; `judged` are the lines of sessions that a model judged.
    `own` is the tag of a session that continues after a compaction: its entries replace those of the last session.
    """
    entries = [entry for entry in _entries(body, known) if entry.session not in judged]
    entries += chain.from_iterable(judged.values())
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
    following: dict[str, Later] = {}  # by session
    results: set[str] = set()  # of the lines
    at = "~"
    for piece in reversed(pieces):
        at = piece[len("- [") : len("- [") + _MINUTE] if piece.startswith("- [") else at
        identifier, exchange = entry_id(piece), _exchange(piece)
        content = request_and_result(exchange)[0] if exchange else HEAD.sub("", without_ids(piece), count=1)
        if identifier in known.exchanges or is_purged(content):
            continue
        session = _session(exchange) if exchange else ""
        if exchange:
            request, result = request_and_result(exchange)
            later = following.get(session)
            is_last = following.keys() <= {session} and not any(line.session and line.text for line in lines_shown)
            text = "" if result in results else _line(exchange, later, known, is_last=is_last)
            results |= {result} if text and result else set()
            following[session] = Later(request, text, has_work=bool(exchange.files or (later and later.has_work)))
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


def _line(exchange: Exchange, later: Later | None, known: StartContext, *, is_last: bool) -> str:
    """Return the line of an exchange, "" if it is left out."""
    request, result = request_and_result(exchange)
    asked, got = _topics(request), _topics(result)
    is_echo = got <= asked and len(result.split()) <= _ECHO and not any(map(str.isdecimal, result))
    is_answered = later is not None and _is_settled(exchange, later)
    if is_answered and (orders(request) or not result.endswith(_ASKS)):
        return ""
    if is_answered or (is_echo and (not is_last or (request and is_trivial(result)))):
        result = ""  # the agent asked, repeats the request, or says nothing
    alone = "" if exchange.files or (request and result) else normalized(request or result)
    is_told = any(len(words) >= SHORTEST and words in alone for words in known.shown)
    if _is_only_stated(request, got - asked, exchange, known):
        return ""
    is_asked_again = later is not None and request == later.request
    is_empty = is_told or not (result or exchange.files or (counts_alone(request) and not is_asked_again))
    # The last exchange of all is shown, but not "fine by me → Then it stays so".
    is_end = is_last and (exchange.files or exchange.failed or len(request) > _REPLY)
    if not is_end and (len(asked | got) < _LEAST_WORDS or is_empty):
        return ""
    parts = [_cut(with_marks(request, known.marks, exchange.id), _REQUEST)] if request and (asked or not got) else []
    parts += [_cut(_marked(result, exchange, known.marks), _LAST_RESULT if is_last else _RESULT)] if result else []
    is_talk = not exchange.files and classify(request) is TaskType.REVIEW
    line = f"- [{exchange.time[:_MINUTE]}] {(_ANSWERED if is_talk else _ARROW).join(parts)}"
    line += f" [{', '.join(exchange.files[:_MOST_FILES])}]" if is_last and exchange.files else ""
    failed = _open_failure(exchange) if is_last else ""
    failed = f"\n  {_cut(with_marks(failed, known.marks), _RESULT)}" if failed else ""
    if not (later and later.request):
        return line + ("" if exchange.outcome in _WENT_WELL else f" ({exchange.outcome.value})") + failed
    reply = _cut(with_marks(later.request, known.marks), _NEXT)
    is_open = exchange.outcome is not Outcome.SUCCESS and not is_answered and reply not in later.line
    was_refuted = is_open and may_refute(later.request, f"{request} {result}")
    return line + (f' (the next request: "{reply}")' if was_refuted else "") + failed


def _is_settled(exchange: Exchange, later: Later) -> bool:
    """Return whether the agent asked what a later request answered, or explained what later work acted on."""
    request, result = _request_and_result(exchange)
    explains = later.has_work and not exchange.files and len(result) > _EXPLANATION
    if not (explains or result.endswith(_ASKS)):
        return False
    # "b obviously" says nothing without what it answers.
    is_choice = may_refute(later.request, f"{request} {result}") and not orders(later.request)
    return not is_choice or len(_topics(later.request)) > 1


def _open_failure(exchange: Exchange) -> str:
    """Return the line of a test, build or check that failed and is not known to have passed since, or ""."""
    failed = exchange.failed if exchange.outcome is not Outcome.SUCCESS else ()
    commands = ((line, line.partition("`")[2].partition("`")[0]) for line in failed if FIX_MARK not in line)
    return next((line for line, command in commands if any(form(kind).search(command) for kind in _CHECKS)), "")


def _is_only_stated(request: str, new: Collection[str], exchange: Exchange, known: StartContext) -> bool:
    """Return whether an exchange only states facts shown elsewhere, and its answer has few `new` words."""
    rest = normalized(_LABEL.sub("", request))
    repetitions = [words for words in known.shown if len(words) >= SHORTEST and words in rest]
    for words in repetitions:
        rest = rest.replace(words, " ")
    return bool(repetitions) and not (exchange.files or exchange.failed or _topics(rest) or len(new) >= _LEAST_WORDS)


def request_and_result(exchange: Exchange) -> tuple[str, str]:
    """Return the request of an exchange and the agent's words on the result, without what it was about to do."""
    request, result = _request_and_result(exchange)
    return request, _ANNOUNCES.sub("", result)


def _request_and_result(exchange: Exchange) -> tuple[str, str]:
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


def judged_lines(path: str, data: bytes, here: str, known: StartContext, *, is_last: bool) -> list[EntryLine]:
    """Return the lines of a session that a model judged: one for each change of files that no line above tells.

    Where no file was changed, what was said counts. If no line above tells of the session, there is one of its end. An
    earlier session has a single line, which may be empty, so that its entries in `memory.md` are left out.
    """
    name = _SESSION_FILE.fullmatch(path)
    exchanges = [exchange for exchange in exchanges_in(data) if not here or do_meet(scopes_in(exchange.tags), (here,))]
    if not (name and exchanges):
        return []
    told = [exchange for exchange in exchanges if tail_of(exchange.id) in known.learned]
    is_talk = not any(exchange.files for exchange in exchanges)
    new = [exchange for exchange in exchanges if (exchange.files or is_talk) and exchange not in told]
    sentences, room = list[tuple[str, str]](), _LAST_JUDGED if is_last else _PER_SESSION
    for exchange in reversed(new or ([] if told else exchanges[-1:])):
        sentence = _marked(sentence_of(exchange), exchange, known.marks)
        room -= len(sentence)
        if sentences and room < 0:
            break
        sentences.insert(0, (exchange.time[:_MINUTE], sentence))
    if not (is_last and sentences):
        begun = f"{'-'.join(name.group(1, 2, 3))} {name[4]}:{name[5]}"
        at = exchanges[-1].time[:_MINUTE] if is_last else begun
        sentences = [(at, " ".join(sentence for _, sentence in sentences))]
    author = known.authors.others("", path)
    return [EntryLine(at, name[6], by_author(f"- [{at}] {text}", author) if text else "", "") for at, text in sentences]


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
