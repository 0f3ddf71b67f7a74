"""Find errors in exchanges that have no pattern yet, as in running and imported sessions (spec M4)."""

from __future__ import annotations

import re

from gitmem.model.learned.error import MATCH, ErrorSignature, likeness, read_error
from gitmem.model.session.changes import PLACE, is_place
from gitmem.model.session.command import environment, has_effect, only_reads, works_now
from gitmem.model.session.fields import MENDED
from gitmem.search.engine import answer
from gitmem.search.units.bare import fields_in
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitmem.search.order.hits import Hit
    from gitmem.store.store import Store

_HITS = 20
_MAX_WORDS = 6  # of an error that are searched for
_LOGS = "daily/"  # exchanges stand there with their errors, also those of days that history holds
_WORD = re.compile(r"\w[\w./-]*\w|\w")
_COMMAND = re.compile(r"^`(?P<code>[^`\n]{1,400})`: ")  # before the error in an exchange's line
_LED = re.compile(rf"^[^:`]{{1,30}}: (?=`[^`\n]{{1,400}}`$|{PLACE})")  # before what mended an error
_WORKED = re.compile(r": `(?P<code>[^`\n]{1,400})`$")  # ends an error that a command mended
_TOOL = re.compile(r"[A-Z][a-z]\w* ")  # begins the call of an agent's tool, such as `Read a.py`
NAMES_A_FILE = re.compile(r": `[^\s`]*[/.][^\s`]*`$")  # a mend that names the changed file alone


class LoggedError(Value):
    """An error in exchanges, the newest first, but one that mended it before all others; `mend` is that mend, or "".

    They are of one author, "" for the person, whose exchanges go before those of others.
    """

    error: ErrorSignature
    seen: tuple[str, ...]
    mend: str
    date: str
    author: str = ""


def logged_errors(store: Store, errors: Sequence[ErrorSignature], session: str = "") -> list[LoggedError]:
    """Return those of the errors that exchanges of other sessions name, by one search."""
    query = " ".join(dict.fromkeys(word for error in errors for word in _telling(error)))
    hits = answer(store, f"{query} path:{_LOGS}", limit=_HITS, vectors=False).hits if query else []
    others = [hit for hit in hits if hit.entry and not hit.fact and not (session and hit.session[:8] == session[:8])]
    told = [one for hit in others for one in _told(hit)]
    found = []
    for error in errors:
        same = sorted((one[:4] for one in told if likeness(one[4], error) > MATCH), reverse=True)
        same.sort(key=lambda one: one[3])
        if same:
            own = [one for one in same if one[3] == same[0][3]]
            first = next((one for one in own if one[2]), own[0])
            seen = tuple(dict.fromkeys(entry for _, entry, _, _ in (first, *own)))
            found.append(LoggedError(error, seen, first[2], first[0], first[3]))
    return found


def is_lesson(line: str) -> bool:
    """Return whether the line of an error is worth telling: not if its command only reads, or just worked later."""
    command = _COMMAND.match(line)
    if command is None:
        return True
    code, worked = command["code"], _WORKED.search(line)
    looks = _TOOL.match(code) or only_reads(code)
    return not looks and not (worked and works_now(code, worked["code"]))


def _telling(error: ErrorSignature) -> list[str]:
    """Return the words that tell an error from others: its type, its names, its longest words."""
    words = sorted(
        {*_WORD.findall(error.message), *error.names}, key=lambda word: (word not in error.names, -len(word))
    )
    return [error.type, *words[:_MAX_WORDS]] if error.type else words[:_MAX_WORDS]


def _told(hit: Hit) -> Iterator[tuple[str, str, str, str, ErrorSignature]]:
    """Yield date, id, mend, author and signature of each error that an exchange names."""
    for text in fields_in(hit.text).errors:
        what, arrow, mend = text.rpartition(MENDED)
        line = what if arrow else text
        error = read_error(_COMMAND.sub("", line))
        if error is not None:
            yield hit.date, hit.entry, _mend(line, mend) if arrow else "", hit.author, error


def _mend(line: str, mend: str) -> str:
    """Return the mend of an error; "" if it is the command that ran next, or only a file is named."""
    command, told = _COMMAND.match(line), _LED.sub("", " ".join(mend.split()))
    if command and (worked := _WORKED.search(mend)) and not told.startswith(PLACE):
        around = environment(worked["code"])
        moved = works_now(command["code"], worked["code"]) and around and around != environment(command["code"])
        return told if moved or has_effect(worked["code"]) else ""
    return "" if NAMES_A_FILE.search(mend) or is_place(told) else told
