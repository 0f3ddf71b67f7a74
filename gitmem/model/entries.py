"""The entries of a turn in the daily log and in `memory.md`. Pure.

They are made without a model, in the language of the conversation, from the turn alone: the same turn gives the same
entries on every machine and at any time.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from gitmem.document.entry import Entry, clean_text
from gitmem.document.ids import scope_tags, session_tag
from gitmem.model.events import PLACE
from gitmem.model.exchange import (
    EXCHANGE,
    FIX_MARK,
    LABEL_FAILED,
    LABEL_FILES,
    Exchange,
    Fields,
    listed_files,
    render,
    render_fields,
)
from gitmem.model.outcome import Outcome, error_line, judge_outcome
from gitmem.model.request import counts_alone, has_last_word
from gitmem.model.turns import Failure, Turn, is_restated, is_trivial, program
from gitmem.model.words import human_text, noise, render_words
from gitmem.text.sentences import is_korean, split
from gitmem.text.sentences import shorten as shorten_all
from gitmem.text.words import keywords, stop_words
from gitmem.values import Value

ANSWER_LENGTH = 20_000  # characters; the transcript has the rest
ASKED_LENGTH = 200
DONE_LENGTH = 400
COMMAND_LENGTH = 120
_FAILURES_SHOWN = 3
_SHORT_ANSWER = 120  # characters
_IDLE_ANSWER = 200  # characters; a shorter answer to "ok" goes into the log only
_WORDS = re.compile(r"[^\W\d_]+")
_HOST_ERROR = re.compile(r"API Error: [0-9]{3}\b")  # an agent's text when its model did not answer

_COURTESIES = 3  # courtesies at the start of an answer
_READ = 20_000  # characters of a text from which sentences are taken
_LOOK_AT = 1_000  # characters searched for courtesies
_BEGINS_WORK = ("let me ", "now let me", "i'll ", "working on it")


# Phrases in an exchange about a fixed failure, in English and Korean.
FIXED, AFTER = ("then worked", "이후 성공"), ("worked after", "다음 작업 후 성공")
_FILES = tuple(f"{word}: " for word in LABEL_FILES)
# The agent's own files, which are not the project's: its plans, its notes, its settings for the user.
_AGENTS_OWN = re.compile(r"(?:^|/)\.claude/(?:plans|projects|todos|memory)/|^(?:/|~|[A-Za-z]:).*/\.claude/")


class TurnEntries(Value):
    """The entries of a turn for the daily log and for `memory.md`, and what the subject of its commit says of it."""

    logged: Entry
    recent: Entry | None
    head: str


def remember(
    turn: Turn,
    roots: Sequence[str],
    boot_lines: Collection[str] = (),
    *,
    exchange: bool = True,
    answer_chars: int = ANSWER_LENGTH,
) -> TurnEntries | None:
    """Return the entries of a turn, None for an idle one: an empty prompt or a notification.

    File names are made relative to the first of the folders `roots` that contains the file; `boot_lines` are lines of
    the agent's own boot files (`turns.content_lines`). Without `exchange`, the host's model writes `memory.md`.
    """
    read = _read(turn, roots, boot_lines)
    if read is None:
        return None
    turn, asked, done, files = read
    text = clean_text(render_fields(fields_of(turn, asked, done, files, answer_chars)))
    logged = Entry(turn.exchange_id, turn.started.strftime("%H:%M:%S"), EXCHANGE, text, _tags(turn))
    said = asked or turn.prompt * is_trivial(turn.prompt)  # the subject shows "ok" although it asks nothing
    head = shorten(said, ASKED_LENGTH) or shorten(done, ASKED_LENGTH) or listed_files(files)
    head = head or shorten(turn.prompt, ASKED_LENGTH)
    head = head or next((shorten(render_words(words), ASKED_LENGTH) for words in turn.words), "")
    is_exchange = exchange and _is_exchange(turn, asked, done)
    entry = _exchange(turn, asked, done, files) if is_exchange else None
    return TurnEntries(logged, entry, head)


def exchange_of(
    turn: Turn, roots: Sequence[str], boot_lines: Collection[str] = (), *, is_last: bool | None = None
) -> Entry | None:
    """Return the exchange entry of a turn as `remember` or its finished session makes it, None if it has none.

    `is_last`: whether the session ends with the turn; None while the session runs.
    """
    read = _read(turn, roots, boot_lines)
    return _exchange(*read) if read is not None and _is_exchange(*read[:3], is_last=is_last) else None


def _is_exchange(turn: Turn, asked: str, done: str, *, is_last: bool | None = None) -> bool:
    """Return whether a turn is shown later; courtesy ("thanks") and probes ("What is 2+2?") are only recorded.

    Unanswered requests are only recorded, too, as users mostly repeat them, except the last one of a session. In a
    finished session so are short answers to requests that say little.
    """
    if counts_alone(asked) if done else is_last and has_last_word(asked):
        return True
    is_courtesy = is_trivial(done) and not any(map(str.isdecimal, done))
    is_courtesy = is_courtesy or (is_last is not None and len(done) < _SHORT_ANSWER)
    if not turn.tools and (is_courtesy or stop_words().issuperset(_WORDS.findall(f"{asked} {done}".casefold()))):
        return False
    tells = asked or turn.files or turn.failures or _tells(turn.prompt, done, turn.tools)
    return bool(tells and (turn.tools or ((asked or len(done) >= _IDLE_ANSWER) and _result(done))))


def _read(
    turn: Turn, roots: Sequence[str], boot_lines: Collection[str]
) -> tuple[Turn, str, str, tuple[str, ...]] | None:
    """Return a turn with its request, result and relative files, None if nothing was said or done in it."""
    failures = [failure for failure in turn.failures if error_line(failure.error)]
    for root in filter(None, roots):
        places = (f"{PLACE}{root.rstrip('/')}/", PLACE)
        failures = [failure._replace(meanwhile=failure.meanwhile.replace(*places)) for failure in failures]
    said, done = human_text(turn.prompt), human_text(turn.answer)
    done = "" if _HOST_ERROR.match(done) else done
    said = "" if is_restated(said, boot_lines) or not any(map(str.isprintable, "".join(said.split()))) else said
    asked = "" if is_trivial(said) else said
    words = tuple(words._replace(text=without_middle(words.text, PROMPT_LENGTH)) for words in turn.words)
    if is_restated(done, boot_lines):
        done = ""
    turn = turn._replace(failures=tuple(failures), words=words, prompt=said)
    if not (said or words or turn.files or turn.failures or _tells(said, done, turn.tools)):
        return None
    return turn, asked, done, relative_files(turn.files, roots)


def _tells(prompt: str, done: str, tools: int) -> bool:
    """Return whether an answer to "ok", or to no words of a user, says more than a courtesy."""
    if not prompt.strip():
        return bool(tools) and len(done) >= _IDLE_ANSWER
    return bool(tools and not _is_bare(done)) or len(done) >= _IDLE_ANSWER


def _is_bare(answer: str) -> bool:
    """Return whether an answer has no word that says more than a courtesy, and no figure: "ok one"."""
    words = (word for word in _WORDS.findall(answer) if word.casefold() not in stop_words())
    return is_trivial(" ".join(words)) and not any(map(str.isdecimal, answer))


def relative_files(files: Sequence[str], roots: Sequence[str]) -> tuple[str, ...]:
    """Return file names relative to the first of `roots` that contains them, with `/`, each once.

    The agent's own files, such as its plans, are left out.
    """
    prefixes = [root.replace("\\", "/").rstrip("/") + "/" for root in roots if root]
    names: dict[str, None] = {}
    for name in (file.replace("\\", "/") for file in files):
        below = next((name[len(prefix) :] for prefix in prefixes if name.startswith(prefix)), name)
        names.setdefault(below)
    return tuple(name for name in names if not _AGENTS_OWN.search(name))


def fields_of(turn: Turn, asked: str, done: str, files: Sequence[str], answer_chars: int) -> Fields:
    """Return the fields of a turn's entry in the daily log (docs/format.md, "Turns")."""
    korean = is_korean(asked or done)
    errors = (_described(failure, korean=korean) for failure in turn.failures)
    outcome = judge_outcome(turn._replace(answer=done)) if turn.closed else Outcome.UNKNOWN
    return Fields(
        request=without_middle(turn.prompt, PROMPT_LENGTH),
        answer=without_middle(done, answer_chars) if turn.closed else "",
        said=texts_between(map(human_text, turn.said), done, answer_chars),
        errors=tuple(dict.fromkeys(errors)),
        files=tuple(files) if turn.closed else (),
        outcome="" if outcome in {Outcome.SUCCESS, Outcome.UNKNOWN} else outcome.value,
        words=tuple(map(render_words, turn.words)),
    )


def _exchange(turn: Turn, asked: str, done: str, files: Sequence[str]) -> Entry | None:
    """Return a turn's entry in `memory.md`: request, result, files, failures and fixes; None if all are empty."""
    korean = is_korean(asked or done)
    # A test run until it passes is one failure.
    last = {(failure.tool, program(failure.command)): failure for failure in turn.failures}
    shown = [_described(failure, korean=korean) for failure in [*last.values()][-_FAILURES_SHOWN:]]
    exchange = Exchange(
        turn.exchange_id,
        f"{turn.ended:%Y-%m-%d %H:%M:%S}",
        _tags(turn),
        summary=shorten(asked, ASKED_LENGTH),
        details=_result(done),
        files=tuple(files),
        failed=tuple(f"{LABEL_FAILED[korean]}: {words}" for words in shown),
        raw=True,
    )
    entry = render(exchange, korean=korean)
    return entry if entry.text else None  # "go on", a command or "ok" is only in the daily log


def _described(failure: Failure, *, korean: bool) -> str:
    """Return a failed call, its error and its fix: the only change before its command worked, or that it then did."""
    fix, change = failure.explained, failure.meanwhile
    if not fix and failure.fixed_by and change and "\n" not in change:
        fix = f"{AFTER[korean]}: {change if change.startswith(PLACE) else _code(change)}"
    elif not fix and failure.fixed_by:
        fix = f"{FIXED[korean]}: {_code(failure.fixed_by)}"
    return f"{_code(failure.command or failure.tool)}: {error_line(failure.error)}{FIX_MARK * bool(fix)}{fix}"


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
    """Return the key under which lines of an exchange are merged: lists of files, or lines about one failure."""
    return next((label for label in _FILES if line.startswith(label)), line.rpartition(" → ")[0] or line)


def _tags(turn: Turn) -> tuple[str, ...]:
    return (*session_tag(turn.session), *scope_tags(turn.scope))


def _code(text: str) -> str:
    """Return a command on one line as inline code."""
    line = " ".join(text.split()).replace("`", "'")
    return f"`{line[:COMMAND_LENGTH]}…`" if len(line) > COMMAND_LENGTH else f"`{line}`"


def shorten(text: str, limit: int) -> str:
    """Return the first sentences of a text that fit; only the beginning of a long text is read."""
    return shorten_all(text[:_READ], limit)


def _is_courtesy(sentence: str) -> bool:
    """Return whether a lower-case sentence is mere courtesy; "Yes, it overwrites the file" is not, by its rest."""
    courtesy = next((words for words in noise("courtesy") if sentence.startswith(words)), "")
    return sentence.startswith(_BEGINS_WORK) or (bool(courtesy) and not any(keywords(sentence[len(courtesy) :])))


def without_courtesies(text: str) -> str:
    """Return an answer without the courtesies it begins with ("Good question.")."""
    for sentence in split(text[:_LOOK_AT])[:_COURTESIES]:
        if not _is_courtesy(sentence.casefold()) or not text.lstrip().startswith(sentence):
            break
        text = text.lstrip()[len(sentence) :]
    return text


def _result(done: str) -> str:
    return shorten(without_courtesies(done), DONE_LENGTH)


LEFT_OUT = "[…]"
PROMPT_LENGTH = 4_000  # characters; the transcript has the rest
_MOST = 400_000  # characters of a text; real ones have a few thousand
_BEGINNING = 0.6  # share of the kept text taken from the beginning
# A code block, a table, a short line, or a sentence of a long one, with the following blanks.
_PIECE = re.compile(
    r"(?:^[ \t]{0,12}(?P<mark>`{3,}|~{3,})(?s:.*?)(?:^[ \t]{0,12}(?P=mark)[`~]*[ \t]*$|\Z)|(?:^[ \t]*\|.*\n?)+"
    r"|.{1,200}$|.{1,1000}?(?:(?<=[.!?])[ \t]+|(?<=[。！？])|$)|.{1,1000})\n*|\n+",  # noqa: RUF001
    re.MULTILINE,
)


def without_middle(text: str, limit: int) -> str:
    """Return a text truncated in the middle to about `limit` characters; code blocks and tables stay or go whole."""
    text = re.sub(r"\n{3,}", "\n\n", clean_text(text[:_MOST]))
    if len(text) <= limit:
        return text
    pieces = [match[0] for match in _PIECE.finditer(text)]
    first, last, room = 0, len(pieces), limit * _BEGINNING
    while first < last and len(pieces[first]) <= room:
        room -= len(pieces[first])
        first += 1
    room += limit * (1 - _BEGINNING)
    while last > first and len(pieces[last - 1]) <= room:
        room -= len(pieces[last - 1])
        last -= 1
    cut = pieces[0][: limit // 2]
    head = "".join(pieces[:first]) or cut.rpartition("\n" if "\n" in cut else " ")[0] or cut
    return "\n\n".join(filter(None, (head.rstrip(), LEFT_OUT, "".join(pieces[last:]).strip("\n"))))


def texts_between(texts: Iterable[str], answer: str, limit: int) -> tuple[str, ...]:
    """Return an agent's texts between its tool calls, each once, without those that the answer contains."""
    known = " ".join(answer.split())
    unsaid = dict.fromkeys(without_middle(text, limit) for text in texts if " ".join(text.split()) not in known)
    return tuple(filter(None, unsaid))
