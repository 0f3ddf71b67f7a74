"""The commands that test, lint and build a project, with the exchanges in which they worked or failed. Pure.

Two machines may count the same command: exchanges are kept as ids, so that a merge is a union.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gitmem.model.document.document import Document
from gitmem.model.document.scalars import plain_value
from gitmem.model.fact.commands import project_commands, purpose_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gitmem.model.session.turns import Turn

FEWEST = 2  # exchanges in which a command worked, from which it is listed
_MOST_IDS, _MOST_COMMANDS = 30, 30


@dataclass(frozen=True)
class Command:
    """A command, the exchanges in which its last run worked or failed, and the last such times, in UTC."""

    text: str
    worked: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    last_worked: str = ""
    last_failed: str = ""

    @property
    def last(self) -> str:
        """The time of its last use."""
        return max(self.last_worked, self.last_failed)

    @property
    def fails_now(self) -> bool:
        """Whether its last run failed, though it worked before."""
        return bool(self.worked) and self.last_failed > self.last_worked


def commands_of(turns: Iterable[Turn]) -> list[Command]:
    """Return the commands of a session, each with the result of its last run in each exchange."""
    found: dict[str, Command] = {}
    for turn in turns:
        ended = {command: run.failed for run in turn.runs for command in project_commands(run.command)}
        for text, failed in ended.items():
            one, at = (turn.exchange_id,), turn.ended.astimezone(UTC).isoformat(timespec="seconds")
            seen = Command(text, failed=one, last_failed=at) if failed else Command(text, one, last_worked=at)
            found[text] = _joined(found.get(text, Command(text)), seen)
    return list(found.values())


def read_commands(data: bytes) -> dict[str, Command]:
    """Return the commands in the header of the document."""
    given = Document.parse(data).get("commands")
    found = {}
    for text, value in given.items() if isinstance(given, dict) else ():
        if isinstance(value, dict):
            worked, failed = (_ids(value, key) for key in ("worked", "failed"))
            times = [_time(value.get(f"last_{key}")) for key in ("worked", "failed")]
            found[str(text)] = Command(str(text), worked, failed, times[0], times[1])
    return found


def join_commands(known: Mapping[str, Command], more: Iterable[Command]) -> dict[str, Command]:
    """Return known commands joined with those of another session; above a limit the last run ones stay."""
    joined = dict(known)
    for one in more:
        joined[one.text] = _joined(joined.get(one.text, Command(one.text)), one)
    newest = sorted(joined.values(), key=lambda one: (one.last, one.text), reverse=True)
    return {one.text: one for one in sorted(newest[:_MOST_COMMANDS], key=lambda one: one.text)}


def with_commands(data: bytes, commands: Mapping[str, Command]) -> bytes:
    """Return the document with commands in its header.

    Raises:
        ValueError: the header cannot be changed in place.

    """
    values = {
        text: {key: value for key, value in vars(one).items() if value and key != "text"}
        for text, one in commands.items()
    }
    return Document.parse(data).set("commands", plain_value(values)).render()


def command_lines(commands: Sequence[Command], *, counted: bool = False) -> list[str]:
    """Return the commands that worked, by purpose; with `counted` how often, and the last day."""
    lines = []
    for one in sorted(commands, key=lambda one: (purpose_of(one.text), -len(one.worked), one.text)):
        if len(one.worked) < FEWEST:
            continue
        line = f"{purpose_of(one.text) or 'Run'} `{one.text}`"
        if one.fails_now:
            line += "; its last run failed"
        if counted:
            line += (
                f" (worked in {len(one.worked)} of {len({*one.worked, *one.failed})}, last on {one.last_worked[:10]})"
            )
        lines.append(line)
    return lines


def sources_of(commands: Iterable[Command]) -> tuple[str, ...]:
    """Return the ids of the exchanges in which commands ran."""
    return tuple(dict.fromkeys(one for command in commands for one in (*command.worked, *command.failed)))


def _joined(known: Command, more: Command) -> Command:
    return Command(
        known.text,
        tuple(dict.fromkeys((*known.worked, *more.worked)))[-_MOST_IDS:],
        tuple(dict.fromkeys((*known.failed, *more.failed)))[-_MOST_IDS:],
        max(known.last_worked, more.last_worked),
        max(known.last_failed, more.last_failed),
    )


def _time(value: object) -> str:
    """Return a time in UTC as text that sorts by time; YAML may have made a time of it."""
    if isinstance(value, datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=UTC)
        return aware.astimezone(UTC).isoformat(timespec="seconds")
    return str(value or "")


def _ids(given: Mapping[str, object], key: str) -> tuple[str, ...]:
    value = given.get(key)
    return tuple(map(str, value)) if isinstance(value, list) else ()


def share_that_worked(commands: Sequence[Command]) -> float:
    """Return the share of runs that worked, 0 to 1."""
    worked, failed = (sum(len(getattr(one, key)) for one in commands) for key in ("worked", "failed"))
    return worked / (worked + failed) if worked + failed else 0.0
