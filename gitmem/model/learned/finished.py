"""Make the episodes of a finished session (docs/format.md, "Episodes"). Pure.

A task is a request and the follow-ups after it.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import zip_longest

from gitmem.model.entry.kinds import MemoryType
from gitmem.model.ids import tail_of
from gitmem.model.learned.episode import FAILED, REJECTED, UNMENDED, Episode, episode_id, title_of
from gitmem.model.learned.error import MATCH, ErrorSignature, likeness
from gitmem.model.learned.sight import Sight, find_sights
from gitmem.model.learned.task import TaskStatus, classify, follows_up
from gitmem.model.message import one_line
from gitmem.model.session.changes import PLACE
from gitmem.model.session.cues.cues import find_cues
from gitmem.model.session.kept import headline
from gitmem.model.session.noise import human_text, is_trivial
from gitmem.model.session.outcome import Outcome, judge_outcome, reaction_of, verdict_of

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from gitmem.model.learned.state import EndedTask, WorkingMemory
    from gitmem.model.session.exchange import Exchange
    from gitmem.model.session.transcript import Record
    from gitmem.model.session.turns import Turn

    Notes = EndedTask | WorkingMemory

_TASK, _LINE, _SUMMARY = 200, 240, 160  # characters
_MAX_FILES = _MAX_SYMBOLS = 12
_NOTE = 300  # characters of a discovery, as in the working memory
_LISTED_ELSEWHERE = (MemoryType.DECISION, MemoryType.ISSUE)
_MAX_ERRORS, _MAX_TOOLS, _MAX_PLAN, _MAX_LINES = 5, 8, 12, 6
_SYMBOL = re.compile(r"`([A-Za-z_][\w.]{2,60})(?:\(\))?`")
_COMMIT = re.compile(r"(?=[a-f]*[0-9])[0-9a-f]{7,40}")
_FEEDBACK = {Outcome.SUCCESS: "positive", Outcome.PARTIAL: "negative", Outcome.FAILED: "negative", None: "neutral"}
_TESTS = {Outcome.SUCCESS: "passed", Outcome.FAILED: "failed"}


def tasks_in(turns: Iterable[Turn]) -> list[list[Turn]]:
    """Return the turns of a session by task; a follow-up ("still broken", "and commit it") belongs to the last task."""
    tasks: list[list[Turn]] = []
    for turn in turns:
        prompt = human_text(turn.prompt)
        if tasks and (not prompt or is_trivial(prompt) or follows_up(prompt)):
            tasks[-1].append(turn)
        else:
            tasks.append([turn])
    return tasks


def episodes_of(
    turns: Sequence[Turn],
    exchanges: Iterable[Exchange],
    link: str,
    *,
    working: Sequence[Notes] = (),
    project: str = "",
    grown: Sequence[tuple[datetime, int]] = (),
) -> list[Episode]:
    """Return the episodes of a finished session; none of a task without an exchange in its file, or without a result.

    `exchanges` are those of this file, and `link` is its path in the store; `working` holds plans, decisions and
    discoveries that were noted while the session ran, the surest last; `grown` says when the context grew, and by how
    many tokens.
    """
    by_tail = {tail_of(exchange.id): exchange for exchange in exchanges}
    following = dict(zip((turn.key for turn in turns), turns[1:], strict=False))
    found = []
    tasks = tasks_in(turns)
    ends = [task[0].started for task in tasks[1:]]
    for task, end in zip_longest(tasks, ends):
        known = [turn for turn in task if tail_of(turn.exchange_id) in by_tail]
        if known:
            own = [by_tail[tail_of(turn.exchange_id)] for turn in known]
            keys = {turn.key for turn in task}
            notes = [one for one in working if one.task is not None and one.task.turn in keys]
            tokens = sum(more for at, more in grown if at >= task[0].started and (end is None or at < end))
            episode = _Task(task, known, own, following).episode(link, notes, project)
            if _says_something(episode, known):
                found.append(episode._replace(tokens=tokens))
    return found


def _says_something(episode: Episode, turns: Iterable[Turn]) -> bool:
    """Return whether anything came of a task: an answer, a changed file, an error, a plan, or a note."""
    noted = (*episode.files, *episode.errors, *episode.plan, *episode.decisions, *episode.tips)
    return bool(noted) or any(turn.answer for turn in turns)


def noting_growth(records: Iterable[Record], grown: list[tuple[datetime, int]]) -> Iterator[Record]:
    """Yield the records of a transcript, and add to `grown` when the agent's context grew, and by how many tokens."""
    last = 0
    for record in records:
        if record.tokens and not record.sidechain:
            if last and record.tokens > last:  # after a compaction it is smaller
                grown.append((record.at, record.tokens - last))
            last = record.tokens
        yield record


class _Task:
    """The turns of a task, the exchanges among them, and the turn that follows each."""

    def __init__(
        self, turns: Sequence[Turn], known: Sequence[Turn], own: Sequence[Exchange], following: Mapping[str, Turn]
    ) -> None:
        self._turns = turns
        self._known = known
        self._own = own
        # Of this task only: of all tasks, these would be a copy of all prompts.
        self._said = {one.key: human_text(following[one.key].prompt) if one.key in following else "" for one in known}
        self._outcomes = {turn.key: judge_outcome(turn, self._said[turn.key]) for turn in known}
        self._cues = [cue for turn in known for cue in find_cues(human_text(turn.answer))]

    def episode(self, link: str, notes: Sequence[Notes], project: str) -> Episode:
        """Return the episode of this task."""
        first, last = self._turns[0], self._known[-1]
        sights = find_sights(self._turns, project)
        request = human_text(first.prompt) or self._own[0].summary
        task = one_line(headline(request, _TASK), _TASK)
        tests = verdict_of(run for turn in self._turns for run in turn.runs)
        errors = _errors(sights)
        abandoned = bool(notes) and notes[-1].task is not None and notes[-1].task.status is TaskStatus.ABANDONED
        return Episode(
            id=episode_id(first.session, self._own[0].id),
            session=first.session,
            host=first.host,
            created=first.started,
            ended=max(turn.ended for turn in self._turns),
            type=classify(request),
            task=task,
            outcome=Outcome.FAILED if abandoned else self._outcomes[last.key],
            exchanges=tuple(exchange.id for exchange in self._own),
            links=tuple(_link(exchange, link) for exchange in self._own),
            tests=_TESTS.get(tests, "") if tests else "",
            feedback=self._feedback(),
            files=tuple(dict.fromkeys(file for one in self._own for file in one.files))[:_MAX_FILES],
            symbols=_symbols(turn.answer for turn in self._known),
            errors=errors,
            steps=sum(turn.tools for turn in self._turns),
            failed=sum(len(turn.failures) for turn in self._turns),
            seconds=round(sum((turn.ended - turn.started).total_seconds() for turn in self._turns)),
            mended_in=max((sight.seconds for sight in sights if sight.mend), default=0),
            tools=tuple(Counter(tool for turn in self._turns for tool in turn.used).most_common(_MAX_TOOLS)),
            problem=one_line(title_of(errors[0]), _LINE) if errors else task,
            solution=self._solution(),
            plan=_plan(notes),
            decisions=self._decisions(notes),
            changes=self._changes(),
            gotchas=self._gotchas(sights),
            tips=self._tips(sights, notes),
        )

    def _feedback(self) -> str:
        """Return what the person said of the result; thanks stay if only a follow-up came after them."""
        *before, last = self._known
        if said := self._said[last.key]:
            return _FEEDBACK[reaction_of(last, said)]
        thanked = before and reaction_of(before[-1], self._said[before[-1].key]) is Outcome.SUCCESS
        return "positive" if thanked else ""

    def _solution(self) -> str:
        """Return the summary of the last exchange that came to a result, "" without one."""
        pairs = zip(self._known, self._own, strict=True)
        good = [one for turn, one in pairs if self._outcomes[turn.key] in {Outcome.SUCCESS, Outcome.PARTIAL}]
        return one_line(good[-1].summary, _LINE) if good else ""

    def _decisions(self, notes: Iterable[Notes]) -> tuple[str, ...]:
        made = [
            decision.text + (f" ({decision.reason})" if decision.reason else "")
            for memory in notes
            for decision in memory.decisions
        ]
        return _lines([*made, *self._stated(MemoryType.DECISION)])

    def _changes(self) -> tuple[str, ...]:
        turned = (self._said[turn.key] for turn in self._known[:-1] if self._is_turned(turn))
        return _lines(headline(said, _LINE) for said in turned)

    def _is_turned(self, turn: Turn) -> bool:
        return reaction_of(turn, self._said[turn.key]) in {Outcome.FAILED, Outcome.PARTIAL}

    def _gotchas(self, sights: Iterable[Sight]) -> tuple[str, ...]:
        """Return attempts that did not help, unmended errors, and results that the person rejected."""
        lines = []
        for sight in sights:
            title = one_line(title_of(sight.error), _SUMMARY)
            lines += [f"{title}: {tried} did not help" for tried in sight.tried]
            lines += [] if sight.works else [f"{title}{UNMENDED}"]
        for turn, exchange in zip(self._known, self._own, strict=True):
            if self._outcomes[turn.key] is Outcome.FAILED and turn.answer:
                rejected = reaction_of(turn, self._said[turn.key]) is Outcome.FAILED
                lines.append(f"{REJECTED if rejected else FAILED}{one_line(exchange.summary, _SUMMARY)}")
        return _lines([*lines, *self._stated(MemoryType.ISSUE)])

    def _tips(self, sights: Iterable[Sight], notes: Iterable[Notes]) -> tuple[str, ...]:
        """Return mends of errors, stated lessons, and discoveries that are not already listed elsewhere."""
        mends = [
            f"{one_line(title_of(one.error), _SUMMARY)}: {_quoted(one.mend)} mended it" for one in sights if one.mend
        ]
        stated = [*self._stated(MemoryType.LEARNING), *self._stated(MemoryType.ERROR_FIX)]
        others = {one_line(text, _NOTE) for kind in _LISTED_ELSEWHERE for text in self._stated(kind)}
        noted = [text for memory in notes for text in memory.discoveries if text not in others]
        return _lines([*mends, *stated, *noted])

    def _stated(self, kind: MemoryType) -> list[str]:
        return [cue.text for cue in self._cues if cue.type is kind]


def _errors(sights: Iterable[Sight]) -> tuple[ErrorSignature, ...]:
    found: list[ErrorSignature] = []
    for sight in sights:
        if all(likeness(known, sight.error) <= MATCH for known in found):
            found.append(sight.error)
    return tuple(found[:_MAX_ERRORS])


def _plan(notes: Sequence[Notes]) -> tuple[str, ...]:
    """Return the plan that was noted last: hooks and transcript tell the same one."""
    steps = next((one.steps for one in reversed(notes) if one.steps), ())
    return tuple(f"[{'x' if step.status == 'completed' else ' '}] {step.text}" for step in steps)[:_MAX_PLAN]


def _quoted(mend: str) -> str:
    """Return a mend, in quotes if it is a sentence of the agent."""
    return mend if mend.startswith(("`", PLACE)) else f'"{mend}"'


def _symbols(answers: Iterable[str]) -> tuple[str, ...]:
    named = Counter(match[1] for answer in answers for match in _SYMBOL.finditer(answer))
    names = (name for name, _ in named.most_common() if not _COMMIT.fullmatch(name))
    return tuple(names)[:_MAX_SYMBOLS]


def _link(exchange: Exchange, link: str) -> str:
    summary = one_line(exchange.summary, _SUMMARY).replace("[", "(").replace("]", ")")
    return f"{exchange.time[:10]} [{summary}](../../../{link}) {exchange.id}"


def _lines(texts: Iterable[str]) -> tuple[str, ...]:
    lines = dict.fromkeys(one_line(text, _LINE) for text in texts)
    return tuple(filter(None, lines))[:_MAX_LINES]
