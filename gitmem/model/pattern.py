"""A bug pattern: a known error with its occurrences (docs/format.md, "Learned patterns"). Pure.

A case is stored raw: the failed command, the changes, the command that then worked, the exchange and the time; git
records the author. Cases of two machines merge as a set. Shown texts and success rates are computed from them.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator

from gitmem.document.document import Document, as_line, as_moment, as_texts
from gitmem.document.ids import BUGS, agreed_id, file_name_of, kind_id
from gitmem.document.plain_header import flow, plain_value
from gitmem.model.command import is_once, runs_otherwise
from gitmem.model.error import ErrorSignature, fields_of, signature
from gitmem.model.events import PLACE, is_place
from gitmem.model.fact import UNDATED
from gitmem.platform.machine import datetime
from gitmem.values import Value

FOLDER = "patterns"
KIND = "bug-pattern"
LETTER = "b"
MAX_FILES = 12
MAX_CASES = 100
_MAX_COMMANDS, _MAX_SOLUTIONS = 6, 12
_TITLE = 160


class Case(Value):
    """An occurrence of an error: `changed` are edits and commands, `worked` is the command, "" if it still failed.

    `fix` and `cause` are a model's or a log's words on the fix; `seconds` passed until then.
    """

    exchange: str
    at: datetime = UNDATED
    command: str = ""
    changed: tuple[str, ...] = ()
    worked: str = ""
    fix: str = ""
    cause: str = ""
    seconds: int = 0

    @property
    def remedy(self) -> str:
        """The single known thing that made the command work, or ""."""
        return self.fix or (self.change if self.worked else "")

    @property
    def change(self) -> str:
        """The only change, or the difference in the command that worked; "" for none or several."""
        if not self.changed:
            return f"`{self.worked}`" if self.worked and runs_otherwise(self.command, self.worked) else ""
        files = {_file(change) for change in self.changed}
        if len(files) > 1 or any(map(is_place, self.changed)) or (not all(files) and len(self.changed) > 1):
            return ""
        if all(files):
            return "; ".join(self.changed)
        return "" if is_once(self.changed[0]) else f"`{self.changed[0]}`"


def _file(change: str) -> str:
    """Return the file that an edit changes, "" for a command."""
    return change[: change.find("`", len(PLACE))] if change.startswith(PLACE) else ""


class ErrorOccurrence(Value):
    """An error in a turn: its cases (the last may have worked), the turn's files and part of the project."""

    error: ErrorSignature
    cases: tuple[Case, ...]
    files: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()

    @property
    def last(self) -> Case:
        """The last case in the turn."""
        return self.cases[-1]


class Solution(Value):
    """A change, the exchanges in which the command then worked, and those in which it failed by the same error."""

    text: str
    worked: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()

    @property
    def success_rate(self) -> float:
        """The share of exchanges in which it worked, 0 where it was never tried."""
        tried = len(self.worked) + len(self.failed)
        return len(self.worked) / tried if tried else 0.0

    @property
    def confidence(self) -> float:
        """The success rate, lower after few trials: 2/3 after one that worked."""
        return (len(self.worked) + 1) / (len(self.worked) + len(self.failed) + 2)


class BugPattern(Value):
    """A known error with its cases, the oldest first; `updated` is the time of the last.

    `scope` are the parts of the project it occurred in (empty: all); `stale`: its files changed a lot since then.
    `file` is the path it was read from, `source` its content; both are empty for a new one.
    """

    id: str
    error: ErrorSignature
    created: datetime
    updated: datetime
    cases: tuple[Case, ...] = ()
    files: tuple[str, ...] = ()
    stale: bool = False
    scope: tuple[str, ...] = ()
    file: str = ""
    source: bytes = b""

    @property
    def path(self) -> str:
        """The pattern's file."""
        return self.file or f"{BUGS}/{file_name_of(self.id, self.title)}"

    @property
    def seen(self) -> tuple[str, ...]:
        """The exchanges in which the error occurred."""
        return tuple(dict.fromkeys(case.exchange for case in self.cases))

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands that failed."""
        return tuple(dict.fromkeys(case.command for case in self.cases if case.command))[:_MAX_COMMANDS]

    @property
    def causes(self) -> tuple[str, ...]:
        """The causes that a model found, the newest first."""
        return tuple(dict.fromkeys(case.cause for case in reversed(self.cases) if case.cause))

    @property
    def solutions(self) -> tuple[Solution, ...]:
        """The changes, each once, the one that worked most often first."""
        by_change: dict[str, Solution] = {}
        last = {case.exchange: case for case in self.cases}  # of these nobody saw the command run again
        for case in self.cases:
            if text := case.remedy or (case.change if case is not last[case.exchange] else ""):
                solution = by_change.get(text, Solution(text))
                name = "worked" if case.worked or case.fix else "failed"
                ids = (*getattr(solution, name), case.exchange)
                commands = tuple(dict.fromkeys(filter(None, (*solution.commands, case.command))))
                by_change[text] = solution._replace(**{name: ids}, commands=commands)
        return tuple(sorted(by_change.values(), key=lambda fix: (-fix.confidence, -len(fix.worked))))[:_MAX_SOLUTIONS]

    def best(self, command: str = "") -> Solution | None:
        """Return the solution that worked in most of its trials, preferably for this command; None if none did."""
        worked = (solution for solution in self.solutions if solution.worked)
        return max(worked, key=lambda fix: (command in fix.commands, fix.confidence, len(fix.worked)), default=None)

    @property
    def title(self) -> str:
        """The error on one line."""
        line = ": ".join(filter(None, (self.error.type, self.error.message))) or "An error without a message"
        return line if len(line) <= _TITLE else f"{line[: _TITLE - 1].rstrip()}…"


def begun(occurrence: ErrorOccurrence) -> BugPattern:
    """Return the new pattern of an error's first occurrence."""
    at, error = occurrence.cases[0].at, occurrence.error
    identifier = kind_id(LETTER, KIND, error.type, error.message)
    return with_occurrence(BugPattern(identifier, error, at, at, scope=occurrence.scope), occurrence)


def with_occurrence(pattern: BugPattern, occurrence: ErrorOccurrence) -> BugPattern:
    """Return a pattern with one more occurrence of its error; the same one twice changes nothing."""
    new = [case for case in occurrence.cases if case not in pattern.cases]
    cases = sorted((*pattern.cases, *new), key=lambda case: case.at)
    times = [case.at for case in occurrence.cases]
    return pattern._replace(
        created=min(pattern.created, *times),
        updated=max(pattern.updated, *times),
        cases=tuple(cases)[-MAX_CASES:],
        files=tuple(dict.fromkeys((*pattern.files, *occurrence.files)))[:MAX_FILES],
        stale=pattern.stale and max(times) <= pattern.updated,
        scope=tuple(dict.fromkeys((*pattern.scope, *occurrence.scope))) if pattern.scope and occurrence.scope else (),
    )


def claims(pattern: BugPattern) -> Iterator[tuple[str, str]]:
    """Yield a pattern's claims about exchanges, as (the case as text, the exchange's id)."""
    yield from ((_claim(case), case.exchange) for case in pattern.cases)


def _claim(case: Case) -> str:
    return "\n".join((case.command, *case.changed, case.worked, case.fix, case.cause))


def only(pattern: BugPattern, wanted: Container[tuple[str, str]]) -> BugPattern:
    """Return a pattern with only the wanted claims."""
    return pattern._replace(cases=tuple(case for case in pattern.cases if (_claim(case), case.exchange) in wanted))


def unseen(pattern: BugPattern, exchanges: Collection[str]) -> BugPattern | None:
    """Return a pattern without the cases of these exchanges, None if no others are left."""
    left = pattern._replace(cases=tuple(case for case in pattern.cases if case.exchange not in exchanges))
    return left if left.cases else None


def parse_pattern(data: bytes, path: str = "") -> BugPattern | None:
    """Return the bug pattern of a document, None if it is none."""
    header = Document.parse(data).metadata
    error = header.get("error")
    if header.get("kind") != KIND or not agreed_id(header.get("id"), path) or not isinstance(error, dict):
        return None
    created = as_moment(header.get("created")) or UNDATED
    updated = max(created, as_moment(header.get("updated")) or created)
    return BugPattern(
        id=as_line(header["id"]),
        error=signature(error.get("type"), error.get("message")),
        created=created,
        updated=updated,
        cases=tuple(sorted(dict.fromkeys(_cases(header.get("cases"))), key=lambda case: case.at)),
        stale=header.get("stale") is True,
        file=path,
        source=data,
        **{name: tuple(dict.fromkeys(as_texts(header.get(name)))) for name in ("files", "scope")},
    )


def _cases(listed: object) -> Iterator[Case]:
    for case in listed if isinstance(listed, list) else ():
        if isinstance(case, dict) and (exchange := as_line(case.get("exchange"))):
            lines = {name: as_line(case.get(name)) for name in ("command", "worked", "fix", "cause")}
            seconds, at = case.get("seconds"), as_moment(case.get("at")) or UNDATED
            took = max(seconds, 0) if type(seconds) is int else 0
            yield Case(exchange, at, changed=tuple(as_texts(case.get("changed"))), seconds=took, **lines)


def render_pattern(pattern: BugPattern) -> bytes:
    """Render a pattern's file: a new one, or the one it was read from with changed fields and cases.

    Raises ValueError if a field of that file cannot be changed in place.
    """
    fields = _fields(pattern)
    if not pattern.source:
        head = [f"{key}: {flow(value)}" for key, value in fields.items()]
        return "\n".join(["---", *head, "---", *_body(pattern), ""]).encode("utf-8", "replace")
    document, before = Document.parse(pattern.source), parse_pattern(pattern.source)
    known = document.metadata
    for key, value in fields.items():
        if value != known.get(key):
            document = document.set(key, value)
    for key in known.keys() & {"stale", "scope"} - fields.keys():
        document = document.remove(key)
    old = {*(_body(before) if before else ())} - {*_body(pattern)}
    lines = [line for line in document.body.rstrip().split("\n") if line not in old]
    more = [line for line in _body(pattern) if line.startswith("- ") and line not in lines]
    return document.with_body(document.newline.join([*lines, *more, ""])).render()


def _fields(pattern: BugPattern) -> dict[str, object]:
    fields: dict[str, object] = {
        "id": pattern.id,
        "kind": KIND,
        "created": pattern.created,
        "updated": pattern.updated,
        "error": fields_of(pattern.error),
        "files": pattern.files,
        "cases": [{key: value for key, value in case._asdict().items() if value} for case in pattern.cases],
        "scope": pattern.scope,
        "stale": pattern.stale,
    }
    return {key: plain_value(value) for key, value in fields.items() if value or key == "error"}


def _body(pattern: BugPattern) -> list[str]:
    """Return the lines for users and searches; the numbers are in the header."""
    lines = [f"# {pattern.title}", ""]
    lines += [f"- Came with `{command}`" for command in pattern.commands]
    lines += [f"- Cause: {cause}" for cause in pattern.causes]
    lines += [f"- {'Fixed by' if known.worked else 'Did not help'}: {known.text}" for known in pattern.solutions]
    return lines
