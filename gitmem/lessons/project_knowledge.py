"""What changes, breaks and is run in a project: hotspots, files that change together, commands. Pure.

Commands keep the exchanges in which they worked or failed as ids, so that what two machines count joins as a union.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import combinations
from typing import TYPE_CHECKING

from gitmem.document.document import Document
from gitmem.document.plain import as_moment, as_texts, plain_value
from gitmem.facts.extract import project_commands, purpose_of
from gitmem.lessons.project_stack import is_code, is_dull
from gitmem.text.sentences import at_least

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gitmem.sessions.turns import Turn


_FILES, _FEW_FILES, _PAIRS = 10, 5, 10  # lines of each
_TOGETHER = 3  # changes of two files together, at least
_SHARE = 0.5  # of the changes of the rarer of them
NEW_FILE = "a new file in "
_NEW, _MOSTLY, _WIDEST = 8, 0.6, 40  # folders; share of their commits with new files; files of such a commit
_WIDE = 15  # files in a change above which it does not count as changing them together
_TEST = re.compile(r"(?:^|/)(?:test_(?P<a>\w+)|(?P<b>\w+)_test|(?P<c>[\w-]+)\.(?:test|spec)|(?P<d>\w+)_spec)\.\w{1,4}$")
_FIX = re.compile(r"(?:\w+[/:] ?)?(?:fix(?:e[sd])?|hotfix|bugfix|revert)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Change:
    """Files that changed together: a commit of the project, or an exchange (`source` is its id)."""

    source: str
    at: datetime
    files: tuple[str, ...]
    author: str = ""
    subject: str = ""
    added: tuple[str, ...] = ()


def hotspot_lines(changes: Sequence[Change], errors: Mapping[str, int], there: frozenset[str]) -> list[str]:
    """Return the files with most changes, most errors of sessions and most commits that fix."""
    often = _most_named((change.files for change in changes), there)
    fixes = (change.files for change in changes if _FIX.match(change.subject))
    fixed = _most_named(fixes, frozenset(filter(is_code, there)))
    broken = sorted(((number, file) for file, number in errors.items() if number > 1), reverse=True)
    return [
        *(f"{file} changes often ({at_least(number)} changes)" for number, file in often[:_FILES]),
        *(f"{file} breaks often ({at_least(number)} errors)" for number, file in broken[:_FILES]),
        *(f"{file} was mended often ({at_least(number)} fixes)" for number, file in fixed[:_FEW_FILES]),
    ]


def _most_named(groups: Iterable[tuple[str, ...]], there: frozenset[str]) -> list[tuple[int, str]]:
    """Return how often files are named in several groups: code first, then texts and settings; the most named first."""
    counts = Counter(file for files in groups for file in set(files) if file in there and not is_dull(file))
    often = ((number, file) for file, number in counts.items() if number >= _TOGETHER)
    return sorted(often, key=lambda one: (not is_code(one[1]), -one[0], one[1]))


def change_lines(changes: Sequence[Change], files: Sequence[str]) -> list[str]:
    """Return pairs of files that change together, but for a test and its file, and what comes with a new file."""
    there = frozenset(files)
    pairs: Counter[tuple[str, str]] = Counter()
    single: Counter[str] = Counter()
    for change in changes:
        named = sorted({file for file in change.files if file in there and not is_dull(file)})
        if len(named) <= _WIDE:
            single.update(named)
            pairs.update(combinations(named, 2))
    lines = []
    for (one, other), number in sorted(pairs.items(), key=lambda pair: (-pair[1], pair[0])):
        if number >= _TOGETHER and number >= _SHARE * min(single[one], single[other]) and not _is_test_of(one, other):
            lines.append(f"{one} and {other} change together ({at_least(number)} times)")
        if len(lines) == _PAIRS:
            break
    return lines + list(_with_new_files(changes, there))


def _with_new_files(changes: Iterable[Change], there: frozenset[str]) -> Iterator[str]:
    """Yield, for folders that often get new files, the files and folders of most of these commits."""
    commits: Counter[str] = Counter()
    along: dict[str, Counter[str]] = defaultdict(Counter)
    for change in changes:
        added = {folder_of(file) for file in change.added if file in there and not is_dull(file)}
        named = {file for file in change.files if file in there and file not in change.added and not is_dull(file)}
        if len(change.files) <= _WIDEST:
            for folder in added - {""}:
                commits[folder] += 1
                along[folder].update(named | {f"{NEW_FILE}{other}" for other in added - {folder, ""}})
    # Folders of tests come last: a new test comes with new code, whose folder says more.
    for folder, number in sorted(commits.items(), key=lambda one: ("test" in one[0], -one[1], one[0]))[:_NEW]:
        often = [one for one, times in along[folder].most_common(_NEW) if times >= max(_TOGETHER, _MOSTLY * number)]
        if often:
            yield f"{NEW_FILE.capitalize()}{folder} comes with {', '.join(sorted(often))} ({at_least(number)} commits)"


def folder_of(file: str) -> str:
    """Return the folder of a file with a slash at its end, "" at the top."""
    return file[: file.rfind("/") + 1]


def _is_test_of(one: str, other: str) -> bool:
    return _tested(one) == _stem(other) or _tested(other) == _stem(one)


def _tested(file: str) -> str:
    found = _TEST.search(file)
    return next(filter(None, found.groups()), "") if found else ""


def _stem(file: str) -> str:
    return file.rpartition("/")[2].partition(".")[0]


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
    commands = {}
    for text, value in given.items() if isinstance(given, dict) else ():
        if isinstance(value, dict):
            worked, failed = (as_texts(value.get(key)) for key in ("worked", "failed"))
            times = [as_moment(value.get(f"last_{key}")) for key in ("worked", "failed")]
            last = [at.astimezone(UTC).isoformat(timespec="seconds") if at else "" for at in times]
            commands[str(text)] = Command(str(text), worked, failed, *last)
    return commands


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


def share_that_worked(commands: Sequence[Command]) -> float:
    """Return the share of runs that worked, 0 to 1."""
    worked, failed = (sum(len(getattr(one, key)) for one in commands) for key in ("worked", "failed"))
    return worked / (worked + failed) if worked + failed else 0.0
