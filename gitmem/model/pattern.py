"""A bug pattern: a known error with its occurrences and solutions (docs/format.md, "Learned patterns"). Pure.

All numbers are computed from lists of ids, so what two machines learned joins as sets of ids do. The same solution may
stand twice in a merged file; reading joins its lists.
"""

from __future__ import annotations

from itertools import chain

from gitmem.document.document import Document, as_line, as_moment, as_texts
from gitmem.document.ids import BUGS, agreed_id, file_name_of, kind_id
from gitmem.document.plain_header import flow, plain_value
from gitmem.model.edits import PLACE, is_place
from gitmem.model.error import ErrorSignature, fields_of, long_numbers, signature
from gitmem.platform.machine import UTC, datetime
from gitmem.values import TYPE_CHECKING, Value

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Iterator
    from typing import TypeVar

    from gitmem.model.error_occurrence import ErrorOccurrence

    T = TypeVar("T", "Solution", "Cause")


FOLDER = "patterns"
KIND = "bug-pattern"
LETTER = "b"
MAX_SEEN = 200  # ids of a list
MAX_SOLUTIONS = 12
_MAX_FRAMES, _MAX_FILES, _MAX_COMMANDS, _MAX_CAUSES = 12, 12, 6, 4
_TITLE = 160
_BEFORE_TIME = datetime.fromtimestamp(0, UTC)  # of a pattern whose header says no time


class Solution(Value):
    """A solution of an error, with the exchanges in which it worked or failed.

    `commands` are the programs that failed where it worked, `ports` those that their errors named.
    """

    text: str
    worked: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    ports: tuple[str, ...] = ()

    @property
    def success_rate(self) -> float:
        """The share of exchanges in which it worked, 0 where it was never tried."""
        tried = len(self.worked) + len(self.failed)
        return len(self.worked) / tried if tried else 0.0

    @property
    def confidence(self) -> float:
        """The success rate as far as few trials show it: one that worked once is 2/3."""
        return (len(self.worked) + 1) / (len(self.worked) + len(self.failed) + 2)


class Cause(Value):
    """A sentence of an agent about the cause of an error, the exchanges that say it, and the ports it named there."""

    text: str
    said: tuple[str, ...] = ()
    ports: tuple[str, ...] = ()


def is_of_port(told: Solution | Cause, port: str) -> bool:
    """Return whether what is told of an error is of no other port than this one; "" is any.

    A sentence from before ports were kept names its own.
    """
    is_act = told.text.startswith(PLACE) or (told.text.startswith("`") and told.text.endswith("`"))
    ports = told.ports or (() if is_act else long_numbers(told.text))
    return not (port and ports) or port in ports or port in told.text


class BugPattern(Value):
    """A known error, with the ids of the exchanges in which it came; `updated` is the last time.

    `episodes` are those in which something fixed it, `scope` are the parts of the project it came in (none: all),
    `stale` says that its files changed a lot since then. `file` is the path it was read from, `source` its content;
    both are empty for a new one.
    """

    id: str
    error: ErrorSignature
    created: datetime
    updated: datetime
    seen: tuple[str, ...]
    commands: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    solutions: tuple[Solution, ...] = ()
    causes: tuple[Cause, ...] = ()
    stale: bool = False
    episodes: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()
    file: str = ""
    source: bytes = b""

    @property
    def path(self) -> str:
        """The pattern's file."""
        return self.file or f"{BUGS}/{file_name_of(self.id, self.title)}"

    def best(self, command: str = "", port: str = "") -> Solution | None:
        """Return the solution that worked in most of its trials and most often; None if none says what it did.

        One that worked for a program of `command`, which failed, goes before the others. What fixed an error of
        another `port` alone says nothing of this one.
        """

        def rank(one: Solution) -> tuple[bool, float, int, str]:
            return any(name in command for name in one.commands), one.confidence, len(one.worked), one.text

        fits = (one for one in self.solutions if one.worked and not is_place(one.text) and is_of_port(one, port))
        return max(fits, key=rank, default=None)

    @property
    def title(self) -> str:
        """The error on one line."""
        line = ": ".join(filter(None, (self.error.type, self.error.message))) or "An error without a message"
        return line if len(line) <= _TITLE else f"{line[: _TITLE - 1].rstrip()}…"


def pattern_id(error: ErrorSignature) -> str:
    """Return the id of the pattern of an error; it follows from the error's type and masked message."""
    return kind_id(LETTER, KIND, error.type, error.message)


def begun(sight: ErrorOccurrence) -> BugPattern:
    """Return the pattern of an error that came for the first time."""
    empty = BugPattern(pattern_id(sight.error), sight.error, sight.at, sight.at, (), scope=sight.scope)
    return seen_again(empty, sight)


def seen_again(pattern: BugPattern, sight: ErrorOccurrence) -> BugPattern:
    """Return a pattern with one more sight of its error; the same sight twice changes nothing."""
    solutions, ports = pattern.solutions, (sight.port,) if sight.port else ()
    for text in sight.tried:
        solutions = _with(solutions, Solution(text, failed=(sight.exchange,)))
    if sight.fix:
        commands = (sight.command,) if sight.command else ()
        solutions = _with(solutions, Solution(sight.fix, (sight.exchange,), (), commands, ports))
    causes = _with(pattern.causes, Cause(sight.cause, (sight.exchange,), ports)) if sight.cause else pattern.causes
    return pattern._replace(
        error=pattern.error._replace(frames=_joined(pattern.error.frames, sight.error.frames, _MAX_FRAMES)),
        created=min(pattern.created, sight.at),
        updated=max(pattern.updated, sight.at),
        seen=_joined(pattern.seen, (sight.exchange,), MAX_SEEN),
        commands=_joined(pattern.commands, filter(None, (sight.command,)), _MAX_COMMANDS),
        files=_joined(pattern.files, sight.files, _MAX_FILES),
        solutions=solutions[:MAX_SOLUTIONS],
        causes=causes[:_MAX_CAUSES],
        stale=pattern.stale and sight.at <= pattern.updated,
        episodes=_joined(pattern.episodes, filter(None, (sight.fix and sight.episode,)), MAX_SEEN),
        scope=tuple(dict.fromkeys((*pattern.scope, *sight.scope))) if pattern.scope and sight.scope else (),
    )


def claims(pattern: BugPattern) -> Iterator[tuple[str, str, str]]:
    """Yield what a pattern says of each exchange: the claim, the text that it is about, the exchange's id."""
    yield from (("seen", "", exchange) for exchange in pattern.seen)
    for solution in pattern.solutions:
        yield from (("worked", solution.text, exchange) for exchange in solution.worked)
        yield from (("failed", solution.text, exchange) for exchange in solution.failed)
    for cause in pattern.causes:
        yield from (("said", cause.text, exchange) for exchange in cause.said)


def only(pattern: BugPattern, kept: Container[tuple[str, str, str]]) -> BugPattern:
    """Return a pattern with these of its claims alone."""

    def left(claim: str, text: str, exchanges: Iterable[str]) -> tuple[str, ...]:
        return tuple(one for one in exchanges if (claim, text, one) in kept)

    solutions = (
        solution._replace(
            worked=left("worked", solution.text, solution.worked), failed=left("failed", solution.text, solution.failed)
        )
        for solution in pattern.solutions
    )
    causes = (cause._replace(said=left("said", cause.text, cause.said)) for cause in pattern.causes)
    return pattern._replace(
        seen=left("seen", "", pattern.seen),
        solutions=tuple(solution for solution in solutions if solution.worked or solution.failed),
        causes=tuple(cause for cause in causes if cause.said),
    )


def unseen(pattern: BugPattern, exchanges: Collection[str], episodes: Collection[str]) -> BugPattern | None:
    """Return a pattern without what these exchanges and episodes taught; None if nothing else did."""
    left = only(pattern, {claim for claim in claims(pattern) if claim[-1] not in exchanges})
    episodes = tuple(one for one in pattern.episodes if one not in episodes)
    return left._replace(episodes=episodes) if left.seen else None


def parse_pattern(data: bytes, path: str = "") -> BugPattern | None:
    """Return the bug pattern of a document, None if it is none."""
    given = Document.parse(data).metadata
    error = given.get("error")
    if given.get("kind") != KIND or not agreed_id(given.get("id"), path) or not isinstance(error, dict):
        return None
    created = as_moment(given.get("created")) or _BEFORE_TIME
    solutions: tuple[Solution, ...] = ()
    for text, one in _rows(given.get("solutions")):
        lists = (_each(one.get(name)) for name in Solution._fields[1:])
        solutions = _with(solutions, Solution(text, *lists))
    causes: tuple[Cause, ...] = ()
    for text, one in _rows(given.get("causes")):
        causes = _with(causes, Cause(text, _each(one.get("said")), _each(one.get("ports"))))
    return BugPattern(
        id=as_line(given["id"]),
        error=signature(error.get("type"), error.get("message"), error.get("frames")),
        created=created,
        updated=max(created, as_moment(given.get("updated")) or created),
        solutions=solutions,
        causes=causes,
        stale=given.get("stale") is True,
        file=path,
        source=data,
        **{name: _each(given.get(name)) for name in ("seen", "commands", "files", "episodes", "scope")},
    )


def _rows(listed: object) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield the mappings of a list that have a text."""
    for one in listed if isinstance(listed, list) else []:
        if isinstance(one, dict) and (text := as_line(one.get("text"))):
            yield text, one


def render_pattern(pattern: BugPattern) -> bytes:
    """Return a pattern's file: a new one, or the one it was read from with the changed fields and more solutions.

    Raises ValueError if a field of that file cannot be changed in place.
    """
    fields = _fields(pattern)
    if not pattern.source:
        head = [f"{key}: {flow(value)}" for key, value in fields.items()]
        return "\n".join(["---", *head, "---", *_body(pattern), ""]).encode("utf-8", "replace")
    document, before = Document.parse(pattern.source), parse_pattern(pattern.source)
    known = _fields(before) if before else {}
    for key, value in fields.items():
        if value != known.get(key):
            document = document.set(key, value)
    for key in known.keys() - fields.keys():
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
        "commands": pattern.commands,
        "files": pattern.files,
        "seen": pattern.seen,
        "solutions": list(map(_filled, pattern.solutions)),
        "causes": list(map(_filled, pattern.causes)),
        "episodes": pattern.episodes,
        "scope": pattern.scope,
        "stale": pattern.stale,
    }
    return {key: plain_value(value) for key, value in fields.items() if value or key == "error"}


def _filled(value: Solution | Cause) -> dict[str, object]:
    return {key: one for key, one in value._asdict().items() if one}  # without empty lists


def _body(pattern: BugPattern) -> list[str]:
    """Return the lines that a user reads and a search finds; numbers are left to the header."""
    lines = [f"# {pattern.title}", ""]
    lines += [f"- Came with `{command}`" for command in pattern.commands]
    lines += [f"- Cause: {cause.text}" for cause in pattern.causes]
    return lines + [
        f"- {'Mended by' if solution.worked else 'Did not help'}: {solution.text}" for solution in pattern.solutions
    ]


def _with(known: tuple[T, ...], more: T) -> tuple[T, ...]:
    """Return solutions or causes with one more, its ids joined to those of the same words; working beats failing."""
    same = next((one for one in known if _key(one.text) == _key(more.text)), None)
    if same is None:
        return tuple(chain(known, (more,)))
    lists = {name: _joined(getattr(same, name), getattr(more, name), MAX_SEEN) for name in same._fields[1:]}
    if "worked" in lists:
        lists["failed"] = tuple(one for one in lists["failed"] if one not in lists["worked"])
    lists |= {name: lists[name][:_MAX_COMMANDS] for name in ("commands", "ports") if name in lists}
    return tuple(one._replace(**lists) if one is same else one for one in known)


def _key(text: str) -> str:
    return " ".join(text.split()).casefold()


def _joined(known: Iterable[str], more: Iterable[str], most: int) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*known, *more)))[:most]


def _each(value: object) -> tuple[str, ...]:
    return tuple(dict.fromkeys(as_texts(value)))  # a merge may have doubled one
