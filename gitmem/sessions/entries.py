"""The entries of a turn in the daily log and in `memory.md` (spec J3, J7, P2). Pure.

Made without a model, in the language of the conversation, and derived from the turn alone: the same turn gives the same
entries whenever and by whomever it is captured.
"""

from __future__ import annotations

import re

from gitmem.document.entry import STATE, TIMELINE, Entry, MemoryType, clean_text
from gitmem.document.ids import scope_tags, session_tag
from gitmem.sessions.events import PLACE
from gitmem.sessions.exchange import (
    EXCHANGE,
    LABEL_FAILED,
    LABEL_FILES,
    MENDED,
    Exchange,
    Fields,
    listed_files,
    render,
    render_fields,
)
from gitmem.sessions.outcome import ERROR_LENGTH, Outcome, find_cues, judge_outcome, told_error
from gitmem.sessions.turns import Turn, derived_id, human_text, is_restated, is_trivial, program
from gitmem.text.sentences import is_korean, split
from gitmem.text.sentences import shorten as shorten_all
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from datetime import datetime

    from gitmem.sessions.turns import Failure


ANSWER_LENGTH = 20_000  # characters; the transcript has the rest
ASKED_LENGTH = 200
DONE_LENGTH = 400
COMMAND_LENGTH = 120
_FAILURES_SHOWN = 3
_IDLE_ANSWER = 200  # characters; a shorter answer to "ok" carries no content

_COURTESIES = 3  # courtesies at the start of an answer
_READ = 20_000  # characters from which sentences are taken
_LOOK_AT = 1_000  # characters searched for them
_COURTESY = (
    *("perfect!", "excellent!", "great!", "great,", "awesome", "good catch", "good point", "good question"),
    *("you're right", "you're absolutely right", "you are right", "you're welcome", "let me ", "now let me", "i'll "),
    *("sure", "okay,", "ok,", "alright", "got it", "i see", "right, ", "ah, ", "good idea", "great question"),
    *("done!", "done.", "all done!", "all done.", "working on it"),
    *("네, ", "네.", "알겠습니다", "좋습니다", "좋은 질문", "맞습니다", "확인했습니다", "물론", "완벽합니다"),
)


class Placed(Value):
    """An entry, its section, and its time, which gives the day of its daily log."""

    section: str
    entry: Entry
    at: datetime


# Words of an exchange that its turn writes, in English and Korean.
FIXED, AFTER = ("then worked", "이후 성공"), ("worked after", "다음 작업 후 성공")
_OPEN, _UNFIXED = ("Open", "남은 문제"), ("not fixed in this turn", "이 턴에서는 해결되지 않음")
_FILES = tuple(f"{word}: " for word in LABEL_FILES)
# The agent's own files, which are not the project's: its plans, its notes, its settings for the person.
_AGENTS_OWN = re.compile(r"(?:^|/)\.claude/(?:plans|projects|todos|memory)/|^(?:/|~|[A-Za-z]:).*/\.claude/")


class Remembered(Value):
    """The entries of a turn for the daily log and for `memory.md`, and the subject of its commit."""

    logged: Placed
    told: Entry | None
    state: Entry | None
    subject: str


def remember(
    turn: Turn,
    roots: Sequence[str],
    boot_lines: Collection[str] = (),
    *,
    exchange: bool = True,
    answer_chars: int = ANSWER_LENGTH,
) -> Remembered | None:
    """Return the entries of a turn; None where it was idle: "ok", an empty prompt, a notification.

    `roots` are the folders that names of files are told from, the first that holds one; `boot_lines` are what the
    agent's own boot files say (`turns.content_lines`). Without `exchange`, the host's model writes what goes into
    `memory.md`.
    """
    read = _read(turn, roots, boot_lines)
    if read is None:
        return None
    turn, asked, done, files = read
    text = clean_text(render_fields(fields_of(turn, asked, done, files, answer_chars)))
    logged = Entry(turn.exchange_id, turn.started.strftime("%H:%M:%S"), EXCHANGE, text, _tags(turn))
    head = headline(asked, ASKED_LENGTH) or shorten(done, ASKED_LENGTH) or listed_files(files)
    is_told = exchange and _is_told(turn, done)
    told = _exchange(turn, asked, done, files) if is_told else None
    state = _state(turn, head, files) if is_told else None
    return Remembered(Placed(TIMELINE, logged, turn.started), told, state, f"{EXCHANGE}: {head}")


def exchange_of(turn: Turn, roots: Sequence[str], boot_lines: Collection[str] = ()) -> Entry | None:
    """Return the exchange entry of a turn, as in `remember`; None if there is none."""
    read = _read(turn, roots, boot_lines)
    return _exchange(*read) if read is not None and _is_told(read[0], read[2]) else None


def _is_told(turn: Turn, done: str) -> bool:
    return bool(turn.tools or _whole(done, DONE_LENGTH))


def _read(
    turn: Turn, roots: Sequence[str], boot_lines: Collection[str]
) -> tuple[Turn, str, str, tuple[str, ...]] | None:
    """Return a turn with its request, result and relative files; None if it was idle."""
    turn = turn._replace(
        failures=tuple(_told_from(failure, roots) for failure in turn.failures if told_error(failure.error))
    )
    asked, done = human_text(turn.prompt), human_text(turn.answer)
    if is_trivial(asked) or is_restated(asked, boot_lines):
        asked = ""
    if is_restated(done, boot_lines):
        done = ""
    turn = turn._replace(failures=explained(turn.failures, done))
    idle = not turn.files and not turn.failures
    if not asked and idle and (len(done) < _IDLE_ANSWER or not turn.tools):
        return None
    return turn, asked, done, relative_files(turn.files, roots)


def relative_files(files: Sequence[str], roots: Sequence[str]) -> tuple[str, ...]:
    """Return names of files as a person in one of the folders `roots` says them, with `/`, each once.

    Files of the agent's own, such as its plans, are left out.
    """
    names = dict.fromkeys(_below(name, roots) for name in files)
    return tuple(name for name in names if not _AGENTS_OWN.search(name))


def _below(name: str, roots: Sequence[str]) -> str:
    name = name.replace("\\", "/")
    prefixes = (root.replace("\\", "/").rstrip("/") + "/" for root in roots if root)
    return next((name[len(prefix) :] for prefix in prefixes if name.startswith(prefix)), name)


def explained(failures: Sequence[Failure], done: str) -> tuple[Failure, ...]:
    """Return failures with the answer's explanation of a fix, where it names the program."""
    if all(failure.fixed_by or failure.explained for failure in failures):
        return tuple(failures)
    fixes = [shorten(cue.text, ERROR_LENGTH) for cue in find_cues(done) if cue.type is MemoryType.ERROR_FIX]

    def of(failure: Failure) -> str:
        name = f"`{program(failure.command)}"
        if failure.explained:  # read back from a log
            return failure.explained
        return "" if failure.fixed_by else next((fix for fix in fixes if name in fix and len(name) > 1), "")

    return tuple(failure._replace(explained=of(failure)) for failure in failures)


def _told_from(failure: Failure, roots: Sequence[str]) -> Failure:
    """Return a failure with relative file names."""
    meanwhile = failure.meanwhile
    for root in filter(None, roots):
        meanwhile = meanwhile.replace(f"{PLACE}{root.rstrip('/')}/", PLACE)
    return failure._replace(meanwhile=meanwhile)


def fields_of(turn: Turn, asked: str, done: str, files: Sequence[str], answer_chars: int) -> Fields:
    """Return the fields of a turn's entry in the daily log (docs/format.md, "Turns")."""
    korean = is_korean(asked or done)
    errors = []
    for failure in turn.failures:
        end = f"{MENDED}{_mended(failure, korean=korean)}" if _is_mended(failure) else ""
        errors.append(f"{_code(failure.command or failure.tool)}: {told_error(failure.error)}{end}")
    outcome = judge_outcome(turn._replace(answer=done)) if turn.closed else Outcome.SUCCESS  # else not known yet
    return Fields(
        request=without_middle(asked, PROMPT_LENGTH),
        answer=without_middle(done, answer_chars) if turn.closed else "",
        said=texts_between(map(human_text, turn.said), done, answer_chars),
        errors=tuple(dict.fromkeys(errors)),
        files=tuple(files) if turn.closed else (),
        outcome="" if outcome is Outcome.SUCCESS else outcome.value,
    )


def _exchange(turn: Turn, asked: str, done: str, files: Sequence[str]) -> Entry:
    """Return the entry of `memory.md`: request, result, files, failures and their fixes."""
    korean = is_korean(asked or done)
    failed = []
    # A test run until it passes is one failure.
    last = {(failure.tool, program(failure.command)): failure for failure in turn.failures}
    for failure in list(last.values())[-_FAILURES_SHOWN:]:
        end = _mended(failure, korean=korean) if _is_mended(failure) else _UNFIXED[korean]
        failed.append(
            f"{LABEL_FAILED[korean]}: {_code(failure.command or failure.tool)}: {told_error(failure.error)} → {end}"
        )
    exchange = Exchange(
        turn.exchange_id,
        _stamp(turn.ended),
        _tags(turn),
        summary=headline(asked, ASKED_LENGTH) if asked else "",
        details=_whole(done, DONE_LENGTH),
        files=tuple(files),
        failed=tuple(failed),
        raw=True,
    )
    return render(exchange, korean=korean)


def _is_mended(failure: Failure) -> bool:
    return bool(failure.fixed_by or failure.explained)


def _mended(failure: Failure, *, korean: bool) -> str:
    """Return the mend of a failure: what alone changed before its command worked, or that it then worked."""
    if failure.explained:
        return failure.explained
    if failure.meanwhile and "\n" not in failure.meanwhile:
        edit = failure.meanwhile.startswith(PLACE)
        return f"{AFTER[korean]}: {failure.meanwhile if edit else _code(failure.meanwhile)}"
    return f"{FIXED[korean]}: {_code(failure.fixed_by)}"


def joined_exchange(before: str, after: str) -> str:
    """Return the text of an exchange that continued after it was saved: old and new lines merged."""
    lines = {_about(line): line for line in before.split("\n")}
    for line in after.split("\n"):
        about = _about(line)
        if about in _FILES and about in lines:
            names = lines[about].removeprefix(about).split(", ") + line.removeprefix(about).split(", ")
            line = about + ", ".join(dict.fromkeys(names))  # noqa: PLW2901
        lines[about] = line
    return "\n".join(lines.values())


def _about(line: str) -> str:
    """Return the key that makes two lines of an exchange one: both list files, or both are about one failure."""
    return next((label for label in _FILES if line.startswith(label)), line.rpartition(" → ")[0] or line)


def _state(turn: Turn, head: str, files: Sequence[str]) -> Entry:
    """Return the entry of Current State: where the work is after this turn."""
    korean = is_korean(head)
    parts = [head]
    if files:
        parts.append(f"{LABEL_FILES[korean]}: {listed_files(files[:5], korean=korean, of=len(files))}")
    left = [failure for failure in turn.failures if not _is_mended(failure)]
    parts += [f"{_OPEN[korean]}: {_code(failure.command or failure.tool)}" for failure in left[-1:]]
    return Entry(turn.entry_id("state"), _stamp(turn.ended), STATE, clean_text(" · ".join(parts)), _tags(turn))


def _tags(turn: Turn) -> tuple[str, ...]:
    return (*session_tag(turn.session), *scope_tags(turn.scope))


def cue_entries(text: str, at: datetime, boot_lines: Collection[str], types: Sequence[MemoryType]) -> list[Placed]:
    """Return the cues of these types in a text as entries of the daily log; equal texts get equal ids."""
    found = []
    for cue in find_cues(text):
        if cue.type in types and not is_restated(cue.text, boot_lines):
            words = " ".join(cue.text.casefold().split())
            clock = at.strftime("%H:%M:%S")
            entry = Entry(derived_id(at, cue.type.value, words), clock, cue.type.label, clean_text(cue.text))
            found.append(Placed(cue.type.label, entry, at))
    return found


def _stamp(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M:%S")


def _code(text: str) -> str:
    """Return a command on one line as inline code."""
    line = " ".join(text.split()).replace("`", "'")
    return f"`{line[:COMMAND_LENGTH]}…`" if len(line) > COMMAND_LENGTH else f"`{line}`"


def shorten(text: str, limit: int) -> str:
    """Return the first sentences of a text that fit; only the beginning of a long text is read."""
    return shorten_all(text[:_READ], limit)


def _whole(text: str, limit: int) -> str:
    """Return a text shortened, without courtesies before it and without a trailing lead-in."""
    for sentence in split(text[:_LOOK_AT])[:_COURTESIES]:
        if not sentence.casefold().startswith(_COURTESY) or not text.lstrip().startswith(sentence):
            break
        text = text.lstrip()[len(sentence) :]
    short = shorten(text, limit)
    sentences = split(short)
    if len(sentences) > 1 and sentences[-1].endswith(":"):
        return short[: short.rfind(sentences[-1])].rstrip()
    return short


LEFT_OUT = "[…]"
PROMPT_LENGTH = 4_000  # characters; the transcript has the rest
_MOST = 400_000  # characters of a text; real ones have a few thousand
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
    pieces = list(_pieces(clean_text(text[:_MOST])))
    if len(whole := _joined(pieces)) <= limit:
        return whole
    pieces = [part for piece in pieces for part in _parts(piece, limit)]
    first, last = _ends(pieces, limit)
    head = pieces[:first] or [pieces[0]._replace(text=_cut(pieces[0].text, limit // 2))]
    tail = pieces[len(pieces) - last :]
    return "\n\n".join(filter(None, (_joined(head), LEFT_OUT, _joined(tail))))


def _joined(pieces: Sequence[_Piece]) -> str:
    return "".join(piece.gap + piece.text for piece in pieces).lstrip("\n")


def headline(asked: str, limit: int) -> str:
    """Return the first sentences of a request, with the next heading after a lead-in.

    "Implement the following plan:" says nothing without the title of the plan.
    """
    lines = [line for line in asked.split("\n") if line.strip()]
    if len(lines) > 1 and lines[0].rstrip().endswith(":") and (title := _HEADING.match(lines[1].strip())):
        return shorten(f"{lines[0].strip()} {title['title'].strip()}", limit)
    return shorten(asked, limit)


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
