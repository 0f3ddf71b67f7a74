"""Record texts given to agents and their use, a file a day in the private folder (docs/memory.md, "What was given").

The record keeps a session from being told a memory twice, and lets gitmem judge later whether it helped (spec M4, M7).
A line is one write, so that hooks of several sessions need no lock.
"""

from __future__ import annotations

import contextlib
import json
import os
import re

from gitmem.platform.clock import timedelta
from gitmem.sessions.turns import human_text
from gitmem.text.stems import estimate_tokens
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from gitmem.search.hits import Hit
    from gitmem.sessions.turns import Turn
    from gitmem.store.store import Store


_MOST = 12  # names of a text
_READ = 20_000  # characters of a text
# As strings: a hook that tells nothing compiles none of them.
_CODE = r"`([^`\n]{3,160})`"
_FILE = r"(?<![\w./:@-])(?:[\w.@+-]{1,60}/){0,12}[\w@+-][\w.@+-]{0,60}\.(?:[A-Za-z]{2,5}|[chrR])(?![\w/])"
_NO_FILE = (".com", ".org", ".net", ".io", ".dev")
_OWN = r"gitmem\b|memory\.md$"  # what a start says of itself
_HEAD = r"(?m)^(?:\[[^\n]*\]|</?gitmem[^\n]*)$"  # says where a memory is from


def names_of(text: str) -> tuple[str, ...]:
    """Return the files and commands that a text names; lines about the origin of a memory are skipped."""
    if not text:
        return ()
    body = re.sub(_HEAD, "", text[:_READ])
    found = [" ".join(one.split()) for one in re.findall(_CODE, body)]
    found += [name for name in re.findall(_FILE, re.sub(_CODE, " ", body)) if not name.lower().endswith(_NO_FILE)]
    return tuple(name for name in dict.fromkeys(found) if not re.match(_OWN, name))[:_MOST]


FOLDER = "given"
START, PROMPT, ERROR, GUIDE = "start", "prompt", "error", "guide"
SEARCH, RECALL, GET = "search", "recall", "get"
HOWS = (START, PROMPT, ERROR, GUIDE, SEARCH, RECALL, GET)
ASKED = (PROMPT, ERROR, GUIDE, SEARCH, RECALL)  # what may have no answer
CAME, MENDED = "came", "mended"
TOLD = frozenset({PROMPT, ERROR, GUIDE, RECALL})  # occasions after which a session is not told a memory again
_SUFFIX = ".jsonl"
_KEPT = timedelta(days=90)
_MAX_BYTES = 1_000_000  # of a day's file; a line has 200
_MAX_IDS, _MAX_AT_START = 12, 60


class GivenText(Value):
    """A text that a session was given, or, without tokens, a question without an answer.

    `how` is one of `HOWS`, `ids` are its memories, `names` the files and commands that it names, `ms` the
    milliseconds that it took.
    """

    at: datetime
    session: str
    how: str
    ids: tuple[str, ...]
    tokens: int = 0
    names: tuple[str, ...] = ()
    ms: int = 0

    def took(self, now: datetime) -> GivenText:
        """Return this with the time that it took until now."""
        return self._replace(ms=round((now - self.at).total_seconds() * 1000))


class SessionUse(Value):
    """The use of the texts that a session was given: by `how`, the number of texts with names, and of used ones.

    A text is used if a file or command that it names occurs in what was done and said after it, and not before.
    `mends` counts the known errors whose mend the session was told when they came, `mended` those that it mended.
    """

    at: datetime
    session: str
    named: Mapping[str, int]
    used: Mapping[str, int]
    mends: int = 0
    mended: int = 0


class Mended(Value):
    """A mended error of a known pattern, with its exchange and the number of commands it took."""

    at: datetime
    session: str
    pattern: str
    exchange: str
    commands: int


class Notes(Value):
    """The whole record, each kind the oldest first, with the last `Came` of a session, and one `Mended` a place."""

    given: tuple[GivenText, ...]
    came: tuple[SessionUse, ...]
    mended: tuple[Mended, ...]


def record(private: str, given: GivenText) -> None:
    """Record a text given to a session; if the file cannot be written, the session may get it again."""
    most = _MAX_AT_START if given.how == START else _MAX_IDS
    line: dict[str, object] = {"session": given.session, "how": given.how, "ids": list(given.ids[:most])}
    line["tokens"] = given.tokens
    line |= {name: value for name, value in (("names", list(given.names)), ("ms", given.ms)) if value}
    _note(private, given.at, given.at, line)


def record_use(private: str, came: SessionUse) -> None:
    """Record the use of the texts that a session was given."""
    line: dict[str, object] = {"session": came.session, "how": CAME, "named": dict(came.named), "used": dict(came.used)}
    line |= {name: value for name, value in (("mends", came.mends), ("mended", came.mended)) if value}
    _note(private, came.at, came.at, line)


def record_mended(private: str, now: datetime, mended: Mended) -> None:
    """Record that an error was mended, perhaps long ago."""
    line = {"session": mended.session, "how": MENDED, "ids": [mended.pattern, mended.exchange]}
    _note(private, now, mended.at, {**line, "commands": mended.commands})


def known_to(private: str, session: str, now: datetime, hows: frozenset[str] = TOLD) -> set[str]:
    """Return the ids of the memories that a session was told on these occasions, today or the day before."""
    days = (now.date() - timedelta(days=1), now.date())
    names = [f"{day.isoformat()}{_SUFFIX}" for day in days]
    lines = _read(private, names, session.encode("utf-8", "replace"))
    return {id_ for line in lines if line.get("session") == session and line.get("how") in hows for id_ in _ids(line)}


def read_notes(private: str, since: datetime | None = None) -> Notes:
    """Return the whole record, with `since` what stands in the files of its day and later ones."""
    from datetime import datetime

    given: list[GivenText] = []
    came: dict[str, SessionUse] = {}
    mended: dict[tuple[str, ...], Mended] = {}
    first = since.date().isoformat() if since else ""
    for line in _read(private, sorted(name for name in _names(os.path.join(private, FOLDER)) if name >= first)):
        how, session = str(line.get("how")), str(line.get("session"))
        with contextlib.suppress(ValueError, TypeError):
            at = datetime.fromisoformat(str(line.get("at")))
            if how in HOWS:
                names = tuple(_texts(line.get("names")))
                given.append(
                    GivenText(at, session, how, _ids(line), _number(line.get("tokens")), names, _number(line.get("ms")))
                )
            elif how == CAME:
                told, did = _number(line.get("mends")), _number(line.get("mended"))
                came[session] = SessionUse(
                    at, session, _numbers(line.get("named")), _numbers(line.get("used")), told, did
                )
            elif how == MENDED:
                pattern, exchange = _ids(line)
                mended[pattern, exchange] = Mended(at, session, pattern, exchange, _number(line.get("commands")))
    return Notes(tuple(given), tuple(came.values()), tuple(sorted(mended.values(), key=lambda one: one.at)))


def _note(private: str, now: datetime, at: datetime, line: Mapping[str, object]) -> None:
    """Append a line in one write to the file of the day `now`; a file that is full gets no more."""
    folder = os.path.join(private, FOLDER)
    data = json.dumps({"at": at.isoformat(timespec="seconds"), **line}, ensure_ascii=False).encode("utf-8", "replace")
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
    with contextlib.suppress(OSError):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        descriptor = os.open(os.path.join(folder, f"{now.date().isoformat()}{_SUFFIX}"), flags, 0o600)
        try:
            size = os.fstat(descriptor).st_size
            if size < _MAX_BYTES:
                os.write(descriptor, data + b"\n")
        finally:
            os.close(descriptor)
        if not size:
            _forget(folder, now)


def _ids(line: Mapping[str, object]) -> tuple[str, ...]:
    return tuple(_texts(line.get("ids")))


def _texts(given: object) -> list[str]:
    return [str(one) for one in given] if isinstance(given, list) else []


def _number(given: object) -> int:
    return given if isinstance(given, int) and given > 0 else 0


def _numbers(given: object) -> dict[str, int]:
    return {str(name): _number(value) for name, value in given.items()} if isinstance(given, dict) else {}


def _read(private: str, names: Iterable[str], of: bytes = b"") -> Iterator[dict[str, object]]:
    """Yield the lines of these files that hold the bytes `of`."""
    for name in names:
        with contextlib.suppress(OSError):
            with open(os.path.join(private, FOLDER, name), "rb") as file:
                lines = file.read(_MAX_BYTES + _MAX_BYTES // 100).splitlines()
            for text in lines:
                if of in text:
                    with contextlib.suppress(ValueError, RecursionError):
                        line = json.loads(text)
                        if isinstance(line, dict):
                            yield line


def _names(folder: str) -> list[str]:
    with contextlib.suppress(OSError):
        return [name for name in os.listdir(folder) if name.endswith(_SUFFIX)]
    return []


def _forget(folder: str, now: datetime) -> None:
    oldest = f"{(now - _KEPT).date().isoformat()}{_SUFFIX}"
    for name in _names(folder):
        if name < oldest:
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(folder, name))


def note_asked(store: Store, asked: GivenText, text: str) -> None:
    """Record a question and the text given for it just now; "" if nothing was found.

    Nothing is recorded in a store that came with a project and that the person did not accept.
    """
    if not store.may_write():
        return
    given = asked._replace(tokens=estimate_tokens(text), names=names_of(text))
    record(store.private, given.took(store.context.clock()))


def handles(hits: Iterable[Hit]) -> tuple[str, ...]:
    """Return the ids of hits; the path and line of a hit without one."""
    return tuple(hit.entry or f"{hit.path}:{hit.start}" for hit in hits)


def was_used(given: GivenText, turns: Sequence[Turn]) -> bool:
    """Return whether a name in the text occurs in the session after the text, and not before."""
    index = max((index for index, turn in enumerate(turns) if turn.started <= given.at), default=None)
    if index is None:
        return False
    before = "\n".join([*(text for turn in turns[:index] for text in _of(turn)), human_text(turns[index].prompt)])
    after = "\n".join(text for turn in turns[index:] for text in _done(turn))
    return any(_occurs(name, after) and not _occurs(name, before) for name in given.names)


def _occurs(name: str, text: str) -> bool:
    return name in text and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _of(turn: Turn) -> Iterator[str]:
    yield human_text(turn.prompt)
    yield from _done(turn)


def _done(turn: Turn) -> Iterator[str]:
    """Yield the files, successful commands, mends and answers of a turn."""
    yield from turn.files
    yield from _spaced(run.command for run in turn.runs if not run.failed)
    for failure in turn.failures:
        yield from _spaced((failure.fixed_by, failure.meanwhile))
        yield failure.explained
    yield from turn.said
    yield turn.answer


def _spaced(commands: Iterable[str]) -> Iterator[str]:
    return (" ".join(command.split()) for command in commands)
