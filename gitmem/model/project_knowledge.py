"""Knowledge of a project, one document per kind, `patterns/project/KIND.md` (docs/format.md, "Learned patterns"). Pure.

Commands keep the ids of exchanges in which they worked or failed, so that counts of two machines merge as a union.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache

from gitmem.document.document import Document, as_moment, as_texts
from gitmem.document.plain_header import flow, plain_value
from gitmem.model.command import form, has_effect, only_reads
from gitmem.model.turns import Turn
from gitmem.platform.machine import table
from gitmem.text.sentences import at_least
from gitmem.values import Value

FOLDER = "patterns/project"
KIND = "knowledge"
MAX_LINES = 40
_MAX_SOURCES = 40
_SECTION = "\n## "  # begins a section added by a user


class KnowledgeKind(StrEnum):
    """The subject of a document; the value is its file's name."""

    STRUCTURE = "structure"
    STACK = "stack"
    COMMANDS = "commands"
    HOTSPOTS = "hotspots"

    @property
    def path(self) -> str:
        """The file of this kind."""
        return f"{FOLDER}/{self.value}.md"


class Knowledge(Value):
    """The knowledge of one kind: its lines, its source files and exchanges, and its confidence."""

    kind: KnowledgeKind
    lines: tuple[str, ...]
    files: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    confidence: float = 1.0
    commit: str = ""
    updated: datetime | None = None


def parse_knowledge(data: bytes) -> Knowledge | None:
    """Return the knowledge in a document, None without any."""
    document = Document.parse(data)
    header = document.metadata
    about = str(header.get("about", ""))
    if header.get("kind") != KIND or about not in set(KnowledgeKind):
        return None
    confidence, updated = header.get("confidence"), header.get("updated") or header.get("created")
    lines = document.body.partition(_SECTION)[0].split("\n")
    return Knowledge(
        kind=KnowledgeKind(about),
        lines=tuple(line[2:].rstrip() for line in lines if line.startswith("- ")),
        files=as_texts(header.get("files")),
        sources=as_texts(header.get("sources")),
        confidence=float(confidence) if isinstance(confidence, int | float) else 1.0,
        commit=str(header.get("commit") or ""),
        updated=updated if isinstance(updated, datetime) else None,
    )


def render_knowledge(known: Knowledge, before: bytes | None, now: datetime) -> bytes | None:
    """Return the new document with the user's own sections, None if its lines are unchanged."""
    stamp = now.astimezone(UTC).replace(microsecond=0)
    head = {"id": f"knowledge-{known.kind.value}", "kind": KIND, "about": known.kind.value, "created": stamp}
    start = "\n".join(["---", *(f"{key}: {flow(plain_value(value))}" for key, value in head.items()), "---", ""])
    old = parse_knowledge(before) if before is not None else None
    if old is not None and old.lines == known.lines[:MAX_LINES]:
        return None
    document = Document.parse(start.encode() if before is None else before)
    fields: dict[str, object] = {"files": known.files[:_MAX_SOURCES], "sources": known.sources[-_MAX_SOURCES:]}
    fields |= {"confidence": round(known.confidence, 2), "commit": known.commit}
    for key, value in (fields if before is None else fields | {"updated": stamp}).items():
        document = document.set(key, plain_value(value)) if value else document
    body = "\n".join([f"# {known.kind.value.capitalize()}", "", *(f"- {line}" for line in known.lines[:MAX_LINES]), ""])
    _, section, theirs = document.body.partition(_SECTION)
    return document.with_body(body + section + theirs).render()


_FILES = 10  # lines of each
_OFTEN = 3  # changes of a file, at least


def hotspot_lines(commits: Iterable[tuple[str, ...]], errors: Mapping[str, int], there: frozenset[str]) -> list[str]:
    """Return the files with most changes, from the files of each commit, and with most errors in sessions."""
    often = _most_named(commits, there)
    broken = sorted(((number, file) for file, number in errors.items() if number >= _OFTEN), reverse=True)
    return [
        *(f"{file} changes often ({at_least(number)} changes)" for number, file in often[:_FILES]),
        *(f"{file} breaks often ({at_least(number)} errors)" for number, file in broken[:_FILES]),
    ]


def _most_named(groups: Iterable[tuple[str, ...]], existing: frozenset[str]) -> list[tuple[int, str]]:
    """Count the groups that contain each file; return those with several, the most frequent first."""
    counts = Counter(file for files in groups for file in set(files) if file in existing and not is_dull(file))
    often = ((number, file) for file, number in counts.items() if number >= _OFTEN)
    return sorted(often, key=lambda pair: (-pair[0], pair[1]))


_LONGEST = 120  # characters of a command
_PARTS = re.compile(r"(?<!\s)\s*(?:&&|\|\||;|\||\n)\s*")
_REDIRECTED = re.compile(r"(?<!\s)\s*[0-9&]?>{1,2}\s?(?:&[0-9]|\S{1,200})")
_BEFORE = re.compile(r"(?:[A-Z_][A-Z0-9_]{0,40}=\S{0,80} |time |timeout [0-9]{1,6}[smh]? |sudo ){0,4}")
_QUOTED = re.compile(r"['\"`$<(]")


def project_commands(line: str) -> Iterator[str]:
    """Yield the commands on a line that test, build or check the project, without shell syntax."""
    for part in _PARTS.split(line)[:20]:
        bare = _BEFORE.sub("", _REDIRECTED.sub("", part.strip()), count=1).strip()
        if len(bare) <= _LONGEST and not _QUOTED.search(bare) and _is_of_project(bare):
            yield " ".join(word for word in bare.split() if word not in ("-q", "-v"))


def _is_of_project(command: str) -> bool:
    if form("task").match(command):
        return bool(purpose_of(command))
    acts = any(form(kind).search(command) for kind in ("tests", "builds", "checks"))
    return acts and not (only_reads(command) or has_effect(command))


def purposes_in(text: str) -> Iterator[str]:
    """Yield the purposes of commands named in a request or command."""
    low = text.casefold()
    yield from (name for name, form in _named("purpose").items() if re.search(rf"(?<![\w-])(?:{form})(?![\w-])", low))
    yield from (name for name, word in _named("request").items() if word in low)


def purpose_of(command: str) -> str:
    """Return the purpose of a command, "" if unknown."""
    return next(purposes_in(command), "")


_FEWEST = 2  # exchanges in which a command must have worked to be listed
_MOST_IDS, _MOST_COMMANDS = 30, 30


class Command(Value):
    """A command, the exchanges in which its last run worked or failed, and the last time of each, in UTC."""

    text: str
    worked: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    last_worked: str = ""
    last_failed: str = ""

    @property
    def fails_now(self) -> bool:
        """Whether its last run failed, though it worked before."""
        return bool(self.worked) and self.last_failed > self.last_worked

    @property
    def tried(self) -> int:
        """The number of exchanges in which it ran."""
        return len({*self.worked, *self.failed})

    def joined(self, more: Command) -> Command:
        """Return this command with the counts of another session or machine."""
        return Command(
            self.text,
            tuple(dict.fromkeys((*self.worked, *more.worked)))[-_MOST_IDS:],
            tuple(dict.fromkeys((*self.failed, *more.failed)))[-_MOST_IDS:],
            max(self.last_worked, more.last_worked),
            max(self.last_failed, more.last_failed),
        )


def commands_of(turns: Iterable[Turn]) -> list[Command]:
    """Return the commands of a session, each with the result of its last run in each exchange."""
    commands: dict[str, Command] = {}
    for turn in turns:
        ended = {command: run.failed for run in turn.runs for command in project_commands(run.command)}
        for text, failed in ended.items():
            exchange, at = (turn.exchange_id,), turn.ended.astimezone(UTC).isoformat(timespec="seconds")
            seen = Command(text, failed=exchange, last_failed=at) if failed else Command(text, exchange, last_worked=at)
            commands[text] = commands.get(text, Command(text)).joined(seen)
    return list(commands.values())


def read_commands(data: bytes) -> dict[str, Command]:
    """Return the commands in the header of the document."""
    header = Document.parse(data).get("commands")
    commands = {}
    for text, value in header.items() if isinstance(header, dict) else ():
        if isinstance(value, dict):
            worked, failed = (as_texts(value.get(key)) for key in ("worked", "failed"))
            times = [as_moment(value.get(f"last_{key}")) for key in ("worked", "failed")]
            last = [at.astimezone(UTC).isoformat(timespec="seconds") if at else "" for at in times]
            commands[str(text)] = Command(str(text), worked, failed, *last)
    return commands


def join_commands(known: Mapping[str, Command], more: Iterable[Command]) -> dict[str, Command]:
    """Join known commands with those of another session.

    Above a limit, those that worked in several exchanges are kept, then the most recent.
    """
    joined = dict(known)
    for command in more:
        joined[command.text] = joined.get(command.text, Command(command.text)).joined(command)

    def worth(command: Command) -> tuple[bool, str, str]:
        return len(command.worked) >= _FEWEST, max(command.last_worked, command.last_failed), command.text

    best = sorted(joined.values(), key=worth, reverse=True)[:_MOST_COMMANDS]
    return {command.text: command for command in sorted(best, key=lambda command: command.text)}


def with_commands(data: bytes, commands: Mapping[str, Command]) -> bytes:
    """Return the document with commands in its header. Raises ValueError if the header cannot be changed in place."""
    values = {
        text: {key: value for key, value in command._asdict().items() if value and key != "text"}
        for text, command in commands.items()
    }
    return Document.parse(data).set("commands", plain_value(values)).render()


def command_lines(commands: Iterable[Command], *, counted: bool = False) -> list[str]:
    """Return the commands that worked, by purpose; with `counted` how often, and the last day."""
    lines = []
    for command in sorted(commands, key=lambda command: (purpose_of(command.text), -len(command.worked), command.text)):
        line = f"{purpose_of(command.text) or 'Run'} `{command.text}`{'; its last run failed' * command.fails_now}"
        if counted:
            line += f" (worked in {len(command.worked)} of {command.tried}, last on {command.last_worked[:10]})"
        lines += [line] if len(command.worked) >= _FEWEST else []
    return lines


def of_commands(commands: Sequence[Command]) -> Knowledge:
    """Return the knowledge of commands; the confidence is the share of runs that worked."""
    sources = tuple(dict.fromkeys(exchange for command in commands for exchange in (*command.worked, *command.failed)))
    worked, failed = (sum(len(getattr(command, key)) for command in commands) for key in ("worked", "failed"))
    lines, sure = tuple(command_lines(commands)), worked / ((worked + failed) or 1)
    return Knowledge(KnowledgeKind.COMMANDS, lines, sources=sources, confidence=sure)


_MOST = 12  # names of a line
_FOLDERS = 12  # of a project
_LEVELS = 2  # of folders that are counted separately


def structure_lines(files: Sequence[str], manifests: Iterable[str]) -> list[str]:
    """Return the largest folders, two levels deep, with their number of files, and the folders that have a manifest."""
    folders = Counter("/".join(file.split("/")[:-1][:_LEVELS]) for file in files)
    folders.pop("", None)
    largest = sorted(folders, key=lambda name: (-folders[name], name))[:_FOLDERS]
    packages = dict.fromkeys(file.rpartition("/")[0] + "/" for file in manifests if "/" in file)
    lines = [f"{name}/: {'1 file' if folders[name] == 1 else f'{at_least(folders[name])} files'}" for name in largest]
    return [*lines, *([f"Packages: {listed([*packages])}"] if packages else ())]


@cache
def _named(kind: str) -> dict[str, str]:
    """Return the rows of a kind in `gitmem/data/project.tsv`: each name with its meaning."""
    return {name: " ".join(meaning) for row, name, *meaning in table("project.tsv") if row == kind}


def is_dull(file: str) -> bool:
    """Return whether a file is no code of the project: a text, lock file, picture or vendored file."""
    return any(re.search(form, file) for form in _named("dull"))


def is_aside(file: str) -> bool:
    """Return whether a file belongs to a test, an example or vendored code, not to a package of the project."""
    return any(re.search(form, file) for form in _named("aside"))


def listed(names: Sequence[str]) -> str:
    """Return names as a list; of many, the first ones and the number of the rest."""
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more
