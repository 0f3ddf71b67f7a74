"""Lines of guidance from project knowledge: commands, conventions, files and their tests (spec M4).

Each rests on something that the task names: a purpose, a file, or words of the line.
"""

from __future__ import annotations

import os
import re

from gitmem.memory.guide.advice.lines import Line, Part
from gitmem.memory.learned.read import known_knowledge
from gitmem.model.fact.commands import purposes_in
from gitmem.model.knowledge.commands import Command, command_lines, read_commands
from gitmem.model.knowledge.document import KnowledgeKind
from gitmem.model.knowledge.places import NEW_FILE, folder_of
from gitmem.model.learned.task import TaskType, classify
from gitmem.search.query.query import fold, parse_query

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from gitmem.model.knowledge.document import Knowledge
    from gitmem.store.store import Store

_LINES = 3  # of one document
_RECIPE = NEW_FILE.capitalize()
_SHARED = 2  # words of the task that a line has to have
_FILE = re.compile(r"[\w.+-]*(?:/[\w.+-]+)+|[\w+-]+\.[A-Za-z]\w{0,5}\b")
_CLAUSE = re.compile(r"[,;.?!\n]\s|\b(?:so|because|since|before|after|until|unless|which|that)\b", re.IGNORECASE)
_RUN = re.compile(r"^how\b|\bhow (?:do|to|can|should)\b|\bruns?\b|어떻게|실행|돌려|돌리", re.IGNORECASE)
# Who speaks of failures needs the command that shows them; unasked, it is told only to who asks how to run it.
_FAILS = re.compile(
    r"\b(?:tests?|lint\w*|types?|type-?check\w*|builds?|format\w*) (?:errors?|failures?|warnings?|issues?|problems?)\b"
    r"|\b(?:failing|broken) (?:[\w-]+ )?(?:tests?|lint\w*|types?|builds?|format\w*)\b"
    r"|\b(?:tests?|lint\w*|builds?) (?:(?:is|are|still|now) ){0,2}(?:fail\w*|broken|red)\b"
    r"|(?:테스트|린트|타입|빌드|포맷).{0,6}(?:실패|에러|오류|깨)",
    re.IGNORECASE,
)


def of_project(store: Store, task: str, kind: str, files: Sequence[str] = ()) -> Iterator[Line]:
    """Yield the lines of project knowledge that match a task; `files` are the files of similar tasks."""
    words = _words(task)
    asked = files_in(task)
    named, top = [*asked, *files], os.path.dirname(store.root)
    new = {folder_of(file) for file in asked if not os.path.lexists(os.path.join(top, file))}
    for known, data in known_knowledge(store):
        if known.kind is KnowledgeKind.COMMANDS:
            yield from _of_commands(list(read_commands(data).values()), task)
        elif known.kind in {KnowledgeKind.HOTSPOTS, KnowledgeKind.CHANGES}:
            yield from _of_files(known, named)
            yield from _told(known, [line for line in known.lines if _is_recipe(line, task, new)], Part.TRY)
        elif known.kind is KnowledgeKind.CONVENTIONS and kind == "convention":
            ordered = sorted(known.lines, key=lambda line: -_shared(line, words))
            yield from _told(known, ordered, Part.APPROACH)
        else:
            yield from _told(known, [line for line in known.lines if _shared(line, words) >= _SHARED], Part.APPROACH)


def files_in(text: str) -> list[str]:
    """Return the files that a text names."""
    return [match[0].removeprefix("./") for match in _FILE.finditer(text)]


def _of_commands(commands: Sequence[Command], task: str) -> Iterator[Line]:
    """Yield the commands of a purpose that the task names, one that began to fail as a challenge."""
    asked = _purposes(task, _RUN) | _purposes(task, _FAILS)
    source = (KnowledgeKind.COMMANDS.path,)
    for one in commands:
        for line in command_lines([one], counted=True):
            if any(line.startswith(purpose) for purpose in asked):
                share = len(one.worked) / len({*one.worked, *one.failed})
                yield Line(Part.CHALLENGE if one.fails_now else Part.TRY, line, source, round(share, 2))


def _purposes(task: str, form: re.Pattern[str]) -> frozenset[str]:
    """Return what a task asks to run: "how do I test it", not "how do I install it so that I can test it"."""
    clauses = (clause for clause in _CLAUSE.split(task) if form.search(clause))
    return frozenset(purpose for clause in clauses for purpose in purposes_in(clause))


def _of_files(known: Knowledge, named: Sequence[str]) -> Iterator[Line]:
    """Yield the lines about these files."""
    part = Part.CHALLENGE if known.kind is KnowledgeKind.HOTSPOTS else Part.TRY
    lines = [line for line in known.lines if any(_is_about(line, file) for file in named)]
    yield from _told(known, lines, part)


def _is_recipe(line: str, task: str, new: Collection[str]) -> bool:
    """Return whether a line says what comes with a file that a task adds: to a folder in `new`, or by its name."""
    if not line.startswith(_RECIPE):
        return False
    folder = line.removeprefix(_RECIPE).partition(" comes with ")[0]
    if folder in new:
        return True
    if classify(task) is not TaskType.FEATURE:
        return False
    from gitmem.model.fact.compare import stems_of

    return bool(stems_of(folder.rstrip("/").rpartition("/")[2]) & stems_of(task))


def _is_about(line: str, file: str) -> bool:
    if line.startswith(_RECIPE):
        return False
    return any(one == file or one.endswith(f"/{file}") for one in files_in(line))


def _told(known: Knowledge, lines: Sequence[str], part: Part) -> Iterator[Line]:
    for line in lines[:_LINES]:
        yield Line(part, line, (known.kind.path,), known.confidence)


def _words(task: str) -> list[list[str]]:
    """Return the forms of each word of a task."""
    groups: dict[int, list[str]] = {}
    for term in parse_query(task).terms:
        if not term.aside:
            groups.setdefault(term.group, []).extend(needle.text for needle in term.needles)
    return list(groups.values())


def _shared(line: str, words: Sequence[Sequence[str]]) -> int:
    low = fold(line)
    return sum(any(form in low for form in forms) for forms in words)
