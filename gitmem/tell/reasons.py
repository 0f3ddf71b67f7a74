"""Describe lines of code and the exchanges that wrote them, as values and as text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from gitmem.document.code_lines import digest_of
from gitmem.document.ids import daily_path, short_session
from gitmem.document.message import one_line
from gitmem.history.authors import Authors
from gitmem.history.marks import marked
from gitmem.model.fact import Fact
from gitmem.model.similarity import words_of
from gitmem.model.validity import fact_statuses
from gitmem.store.known_facts import known_facts
from gitmem.store.store import Store
from gitmem.tell.found_exchange import FoundExchange
from gitmem.tell.why import Ground, LineOrigin
from gitmem.text.sentences import age, count, shorten
from gitmem.text.terminal import on_line, plain
from gitmem.values import Value

_TEXT = 400  # characters of a request, an answer or a fact
_SHORT = 10  # digits of a commit
_SAME_TURN = "same turn"  # marks a fact stated in the same request about something else
_PARTS_OF_NAME = re.compile(r"_|(?<=[a-z])(?=[A-Z])")  # separates the words of `total_price` and `totalPrice`
_LINE = 160  # characters of a line of code


class Reason(Value):
    """Lines with one origin: the exchange that wrote them, its author, and the facts that cite it."""

    whys: tuple[LineOrigin, ...]
    author: str = ""  # "" for the user
    facts: tuple[Fact, ...] = ()
    ended: tuple[str, ...] = ()  # ids of facts that are not in force

    @property
    def why(self) -> LineOrigin:
        """The first line, which stands for all of them."""
        return self.whys[0]


def reasons(store: Store, whys: Sequence[LineOrigin]) -> list[Reason]:
    """Return lines grouped by their origin, in order."""
    authors, facts, found = Authors(store), known_facts(store), list[Reason]()
    state = fact_statuses(facts)
    for lines in _grouped(whys):
        exchange = lines[0].exchange
        citing = [
            fact for fact in facts if exchange is not None and exchange.id in (*fact.sources, *fact.origin.values())
        ]
        ended = (fact.id for fact in citing if not state[fact.id].is_in_force)
        author = authors.others(exchange.id) if exchange is not None else ""
        found.append(Reason(lines, author, tuple(citing), tuple(ended)))
    return found


def _grouped(whys: Iterable[LineOrigin]) -> list[tuple[LineOrigin, ...]]:
    """Group neighbouring lines of one origin; a blank line has the origin of the line before it."""
    groups: list[tuple[LineOrigin, ...]] = []
    for why in whys:
        last = groups[-1][-1] if groups else None
        goes_on = last is not None and (last.file, last.line.now + 1) == (why.file, why.line.now)
        is_blank = goes_on and last is not None and not why.line.text.strip() and last.line.commit == why.line.commit
        if goes_on and last is not None and (is_blank or _origin(last) == _origin(why)):
            groups[-1] = (*groups[-1], last._replace(line=why.line) if is_blank else why)
        else:
            groups.append((why,))
    # A short line proves no origin; it shares that of a certain neighbour with the same exchange and commit.
    return [
        tuple(why._replace(certain=True) for why in group) if any(why.certain for why in group) else group
        for group in groups
    ]


def _origin(why: LineOrigin) -> tuple[str, str, str]:
    return why.ground.value, why.exchange.id if why.exchange else "", why.line.commit


def as_text(store: Store, found: Iterable[Reason]) -> str:
    """Return reasons as text, a paragraph each."""
    return plain("\n\n".join("\n".join(_lines(store, reason)) for reason in found))


def _lines(store: Store, reason: Reason) -> list[str]:
    why = reason.why
    lines = [f"{_place(reason)}  {one_line(why.line.text, _LINE)}"]
    lines += _exchange_lines(store, reason, why.exchange) if why.exchange else _nobody(why)
    lines += _commit_lines(why)
    return [*lines, *_read_on(store, why)]


def _place(reason: Reason) -> str:
    """Return `PATH:LINE` or `PATH:FROM-TO` of lines, by their place in the work tree."""
    numbers = sorted(why.line.now for why in reason.whys)
    last = f"-{numbers[-1]}" if len(numbers) > 1 else ""
    return f"{on_line(reason.why.file)}:{numbers[0]}{last}"


def _exchange_lines(store: Store, reason: Reason, exchange: FoundExchange) -> list[str]:
    why, fields = reason.why, exchange.fields
    perhaps = "" if why.certain else "perhaps "
    session = f", session {exchange.session}" if exchange.session else ""
    lines = [f"  asked     {perhaps}{exchange.day} {exchange.time} by {reason.author or 'you'}{session}"]
    lines += [f"            {one_line(text, _TEXT)}" for text in (marked(store, fields.request),) if text]
    if fields.answer:
        lines.append(f"  answered  {one_line(shorten(marked(store, fields.answer), _TEXT), _TEXT)}")
    if fields.outcome:
        lines.append(f"  outcome   {one_line(fields.outcome, _TEXT)}")
    for fact in reason.facts:
        what = fact.kind.word if speaks_of(fact, reason.whys) else _SAME_TURN
        lines.append(f"  {what:<9} {_fact(fact, ended=fact.id in reason.ended)}")
    lines += _doubts(store, why)
    if why.others:
        earlier = count(why.others, "earlier exchange")
        lines.append(f"  also      {earlier} wrote the same line; this is the last before the commit")
    return lines


_DOUBTS = {
    Ground.TEXT: "the session wrote this text, but it is short or stood in another file: somebody else may have, too",
    Ground.PART: "an edit of the session wrote a part of this line; the rest may be somebody else's",
    Ground.FILE: "the session edited this file last before the line's commit; its edit of this line is not recorded",
}


def _doubts(store: Store, why: LineOrigin) -> list[str]:
    """Return what an uncertain answer rests on; which lines a command such as `sed -i` writes is not recorded."""
    doubt = "" if why.certain else _DOUBTS.get(why.ground, "")
    if doubt and why.ground is Ground.TEXT and not digest_of(why.line.text):
        doubt = "the session wrote a line beside this one, which is too short to be recorded itself"
    at = why.line.at if why.line.commit and why.line.at else store.context.clock()
    ends = "before the commit" if why.line.commit else "ago"
    times = (age((at - ran.began).total_seconds()) for ran in why.commands)
    said = zip(why.commands, times, strict=True)
    first, *others = [f"ran `{one_line(ran.command, _LINE)}` ({time} {ends})" for ran, time in said] or [""]
    if why.ground is Ground.COMMIT:
        doubt = "the session made this commit; which session or person wrote the line is not recorded"
    elif first:
        doubt = f"the session {first}; which lines a command changes is not recorded"
    sessions = (short_session(ran.session) for ran in why.commands[1:])
    also = [f"  or        session {session} {ran}" for session, ran in zip(sessions, others, strict=True)]
    return [*([f"  perhaps   {doubt}"] if doubt else []), *also]


def speaks_of(fact: Fact, whys: Sequence[LineOrigin]) -> bool:
    """Return whether a fact shares a word with the lines or their file's path, or names the file."""
    texts = (part for why in whys for part in (why.file, why.line.text))
    words = {word for text in texts for word in words_of(_PARTS_OF_NAME.sub(" ", text))}
    return any(why.file in fact.files for why in whys) or not words.isdisjoint(words_of(fact.text or fact.description))


def _fact(fact: Fact, *, ended: bool) -> str:
    return f"{one_line(fact.description or fact.text, _TEXT)} ^{fact.id}{' (not in force any more)' if ended else ''}"


def _nobody(why: LineOrigin) -> list[str]:
    if why.since is None and why.line.commit:
        return ["  unknown   no edit of a session is recorded yet; 'gitmem status' says whether sessions are recorded"]
    if why.since and why.line.commit and why.line.at and why.line.at < why.since:
        began = f"{why.since.astimezone():%Y-%m-%d %H:%M}"
        return [f"  unknown   this line is older than the recorded edits, which begin at {began}"]
    committed = ", and no recorded session made its commit" if why.line.commit else ""
    nothing = f"no recorded edit has this line, no recorded command names its file{committed}"
    return [f"  unknown   {nothing}: somebody typed it, or a program wrote it"]


def _commit_lines(why: LineOrigin) -> list[str]:
    line = why.line
    if not line.commit:
        return ["  commit    none yet"]
    who, subject = on_line(line.author), one_line(line.subject, _LINE)
    lines = [f"  commit    {line.commit[:_SHORT]} {line.at:%Y-%m-%d} by {who}: {subject}"]
    if why.reformatted:
        earlier = "".join(f", as did {oid[:_SHORT]}" for oid in why.reformatted[1:])
        lines.append(f"            it only reformatted the line{earlier}")
    return lines


def _read_on(store: Store, why: LineOrigin) -> list[str]:
    places = [f"gitmem show ^{why.exchange.id}"] if why.exchange else []
    places += [f"git show {why.line.commit[:_SHORT]}"] if why.line.commit else []
    day = f"{(why.line.at or store.context.clock()).astimezone():%Y-%m-%d}"
    if not why.exchange and store.read(daily_path(day)):
        places.append(f"gitmem show {day} (what sessions did that day)")
    return [f"  read on   {', '.join(places)}"] if places else []


def as_value(store: Store, reason: Reason) -> dict[str, object]:
    """Return a reason for JSON."""
    why, exchange = reason.why, reason.why.exchange
    line = why.line
    return {
        "path": why.file,
        "lines": [{"line": each.line.now, "text": each.line.text} for each in reason.whys],
        "ground": why.ground.value,
        "certain": why.certain,
        "others": why.others,
        "commit": line.commit or None,
        "date": line.at.isoformat() if line.at and line.commit else None,
        "by": line.author or None,
        "subject": line.subject or None,
        "reformatted": list(why.reformatted),
        "exchange": exchange
        and {
            "id": exchange.id,
            "date": f"{exchange.day} {exchange.time}",
            "session": exchange.session,
            "author": reason.author or "you",
            "request": marked(store, exchange.fields.request),
            "answer": marked(store, exchange.fields.answer),
            "outcome": exchange.fields.outcome or None,
            "files": list(exchange.fields.files),
        },
        "commands": [
            {"session": ran.session, "at": ran.began.isoformat(), "command": ran.command} for ran in why.commands
        ],
        "facts": [
            {
                "id": fact.id,
                "kind": fact.kind.value,
                "text": fact.description or fact.text,
                "in_force": fact.id not in reason.ended,
                "same_turn": not speaks_of(fact, reason.whys),
            }
            for fact in reason.facts
        ],
    }
