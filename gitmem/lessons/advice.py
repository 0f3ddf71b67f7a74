"""Make lines of guidance from episodes, from errors of named files, and from what is known of the project (spec M4)."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum

from gitmem.document.message import one_line
from gitmem.facts.compare import stems_of
from gitmem.facts.extract import purposes_in
from gitmem.facts.fact import FactKind
from gitmem.facts.validity import in_force
from gitmem.history.authors import People
from gitmem.lessons.counts import BEGINS
from gitmem.lessons.episode import REJECTED, UNMENDED, Episode, ending
from gitmem.lessons.episodes import Ranked
from gitmem.lessons.error import MATCH
from gitmem.lessons.knowledge_document import Knowledge, KnowledgeKind
from gitmem.lessons.pattern import LETTER, BugPattern
from gitmem.lessons.project_knowledge import NEW_FILE, Command, command_lines, folder_of, read_commands
from gitmem.lessons.read import known_knowledge, own_part, pattern_headers, read_pattern, signature_of
from gitmem.lessons.risk import from_other, without_risk
from gitmem.search.query import fold, parse_query
from gitmem.sessions.events import PLACE, is_place
from gitmem.sessions.outcome import Outcome
from gitmem.sessions.state import TaskType, classify
from gitmem.store.headers import known_facts
from gitmem.store.store import Store
from gitmem.text.sentences import seen_times
from gitmem.values import Value

_WORD = re.compile(r"\w+")
_FEWEST = 4  # words of a line that can be compared
_SAME = 0.7  # of the words of the shorter of two lines that say the same
_EXPERIENCE = ("e", "x")  # letters of the ids of episodes and exchanges


class Part(StrEnum):
    """The use of a line of guidance."""

    APPROACH = "approach"
    TRY = "try"
    AVOID = "avoid"
    CHALLENGE = "challenge"


class Line(Value):
    """A piece of advice, the ids of its sources, and its confidence, 0 to 1."""

    part: Part
    text: str
    sources: tuple[str, ...]
    confidence: float


def of_authors(store: Store, lines: Iterable[Line]) -> Iterator[Line]:
    """Yield lines with the name of an author who is not the person, and without that author's risky commands."""
    people = People(store)
    for line in lines:
        handle = line.sources[0]  # of a pattern the parts have authors of their own
        author = "" if handle.startswith(LETTER) else people.whose(handle.partition(":")[0])
        if author and handle[0] in _EXPERIENCE:
            yield line._replace(text=from_other(line.text, author, handle))
        elif author:
            yield line._replace(text=f"{without_risk(line.text, handle)} (by {author})")
        else:
            yield line


def is_repeated(text: str, others: Iterable[str]) -> bool:
    """Return whether one of the other texts says nearly the same, or holds the whole of this one."""
    words = set(_WORD.findall(fold(text)))
    for other in others:
        own = set(_WORD.findall(fold(other)))
        shorter = min(len(words), len(own))
        if text == other or (shorter >= _FEWEST and len(words & own) >= _SAME * shorter):
            return True
    return False


_LINES = 2  # of errors
_RULES = 3
_READ = 20  # patterns


def of_errors_in(store: Store, named: Sequence[str]) -> Iterator[Line]:
    """Yield the last errors that came from these files, with what mended them; stale ones are left out."""
    names = {_name(file) for file in named}
    headers = pattern_headers(store) if names else []
    paths = [one.path for one in headers if any(frame.partition(":")[0] in names for frame in signature_of(one).frames)]
    read = (read_pattern(store, path) for path in paths[:_READ])
    about = [one for one in read if one and not one.stale and _is_about(one, named)]
    found = [own for one in about if (own := own_part(store, one))]
    for one in sorted(found, key=lambda one: (one.updated, one.id), reverse=True)[:_LINES]:
        best = one.best()
        mended = f"mended by {best.text}" if best else "not known to be mended"
        text = f"{one.title}: {seen_times(len(one.seen)).lower()}, {mended}, last {one.updated:%Y-%m-%d}"
        ids = (one.id, *(best.worked if best else one.seen)[-_LINES:])
        yield Line(Part.CHALLENGE, text, ids, round(best.confidence if best else MATCH, 2))


def of_review(store: Store, task: str) -> Iterator[Line]:
    """Yield, for a review, the project's rules that were stated most often."""
    if classify(task) is TaskType.REVIEW:
        rules = [fact for fact in in_force(known_facts(store)) if fact.kind is FactKind.RULE]
        rules.sort(key=lambda fact: (len(fact.sources), fact.when, fact.id), reverse=True)
        for fact in rules[:_RULES]:
            yield Line(Part.APPROACH, f"Check: {fact.description}", (fact.id,), round(fact.confidence or 0.0, 2))


def _is_about(pattern: BugPattern, named: Sequence[str]) -> bool:
    """Return whether the files of a pattern with the name of a named file, if there are any, are that file."""
    same = [(file, one) for file in pattern.files for one in named if _name(file) == _name(one)]
    return not same or any(f"/{file}".endswith(f"/{one}") for file, one in same)


def _name(file: str) -> str:
    return file.rpartition("/")[2]


EPISODES = 3
_PAST_LINES = 2  # of a kind from one episode
_LONGEST, _TASK = 400, 120  # characters of a line, and of the task in it
_THE_SAME = 2 / 3  # confidence from which an episode's task is nearly this one
_DID_NOT_HELP = ("did not help", REJECTED)
_TRIED = ("mended it", "did not help")  # end the lines of errors


def of_episodes(
    found: Iterable[Ranked], shares: Mapping[str, float], said: Mapping[str, str], needles: Sequence[str] = ()
) -> Iterator[Line]:
    """Yield the advice of episodes, by how much of the task they share (`shares`, by path).

    `said` has, by id of an exchange, its lines that say most of the task; `needles` are the words of the task.
    """
    for one in found:
        # An episode that helped before is surer than its words; one that did not is told only if asked for.
        sure = round(min(shares.get(one.path, 0.0) * one.count.usefulness / BEGINS, 1.0), 2)
        yield from _lines(one.episode, sure, said, needles)


def _lines(episode: Episode, sure: float, said: Mapping[str, str], needles: Sequence[str]) -> Iterator[Line]:
    source = (episode.id,)
    failed = episode.outcome is Outcome.FAILED
    exchange = next((one for one in episode.exchanges if one in said), "")
    how = said.get(exchange) or episode.solution
    plan = "; ".join(step[4:] for step in episode.plan if step.startswith("[x] "))
    if how or plan:
        text = f"{one_line(episode.task, _TASK)} ({ending(episode)}): {how}" + (f" Steps: {plan}" if plan else "")
        part = Part.CHALLENGE if failed else Part.APPROACH  # why it failed is not known, so it may still be right
        yield Line(part, one_line(text, _LONGEST), (*source, exchange) if exchange else source, sure)
    tips = [] if failed else [tip for tip in episode.tips if not _is_place(tip)]
    tried = [one for one in episode.gotchas if any(words in one for words in _DID_NOT_HELP)]
    others = [one for one in episode.gotchas if one not in tried]
    for part, lines in ((Part.TRY, tips), (Part.AVOID, tried), (Part.CHALLENGE, others)):
        for text in _nearest(lines, needles, sure):
            yield Line(part, text, source, sure)
    for change in episode.changes[:1]:
        yield Line(Part.CHALLENGE, f"The person then turned the work: {change}", source, sure)


def _is_place(tip: str) -> bool:
    """Return whether a tip says no more than which file was changed."""
    return is_place(f"{PLACE}{tip.removesuffix(' mended it').partition(PLACE)[2]}")


def _nearest(lines: Sequence[str], needles: Sequence[str], sure: float) -> list[str]:
    """Return the lines that share words with the task; else, of nearly the same task, what mended an error or did not.

    What a task stated beside that is about something else, unless it shares a word with this one.
    """
    near = [line for line in lines if any(needle in fold(line) for needle in needles)]
    tried = [line for line in lines if line.endswith(_TRIED) and not line.endswith(UNMENDED)]
    return near[:_PAST_LINES] or (tried[:1] if sure >= _THE_SAME else [])


_PROJECT_LINES = 3  # of one document
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


def of_project(store: Store, task: str, files: Sequence[str] = ()) -> Iterator[Line]:
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
    lines = [line for line in known.lines if any(_project_is_about(line, file) for file in named)]
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
    return bool(stems_of(folder.rstrip("/").rpartition("/")[2]) & stems_of(task))


def _project_is_about(line: str, file: str) -> bool:
    if line.startswith(_RECIPE):
        return False
    return any(one == file or one.endswith(f"/{file}") for one in files_in(line))


def _told(known: Knowledge, lines: Sequence[str], part: Part) -> Iterator[Line]:
    for line in lines[:_PROJECT_LINES]:
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
