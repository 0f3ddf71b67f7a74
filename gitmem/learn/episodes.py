"""Make and save the episodes of a finished session (docs/format.md, "Episodes").

A task is a request and everything said and done for it, over one or more turns. Without a model an episode consists of
the request, the beginning of the last answer, what failed and what worked. Its outcome comes from tests, an
interruption or a note of the agent.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import zip_longest

from gitmem.document.ids import id_in, is_within, tail_of
from gitmem.document.message import Op, Trailer, link, one_line, session_message
from gitmem.model.command import has_effect, is_commit
from gitmem.model.episode import (
    Episode,
    ending,
    episode_folder,
    episode_id,
    episode_path,
    parse_episode,
    render_episode,
    title_of,
)
from gitmem.model.error import ErrorSignature, is_again
from gitmem.model.error_occurrence import find_occurrences
from gitmem.model.exchange import Exchange, exchanges_in
from gitmem.model.outcome import Outcome, beginning, verdict_of
from gitmem.model.pattern import ErrorOccurrence
from gitmem.model.request import classify
from gitmem.model.similarity import GOES_ON, overlap, stems_of
from gitmem.model.transcript import Record, hook_events
from gitmem.model.turns import Turn, is_trivial
from gitmem.model.words import human_text
from gitmem.model.working import EndedTask, TaskStatus, WorkingMemory, working_of
from gitmem.record.exchanges import find_session_file, with_links
from gitmem.record.read import redacted
from gitmem.record.working_memory import clean_events, read_working
from gitmem.store.store import Store
from gitmem.store.transact import transact
from gitmem.store.transaction import Transaction
from gitmem.text.sentences import count, shorten

TaskNotes = EndedTask | WorkingMemory

_TASK, _LINE, _SUMMARY = 200, 240, 160  # characters
_MAX_FILES = 12
_MAX_ERRORS, _MAX_TOOLS, _MAX_PLAN, _MAX_LINES = 5, 8, 12, 6
_FEWEST = 2  # words of content that a request needs to begin a task
_READ = 8_000  # characters of the texts of a task


def tasks_in(turns: Iterable[Turn]) -> list[list[Turn]]:
    """Return the turns of a session by task."""
    tasks: list[list[Turn]] = []
    words = set[str]()  # of the last task; updated in place, as a session may be long
    for turn in turns:
        if tasks and not _begins(turn, tasks[-1], words):
            tasks[-1].append(turn)
        else:
            tasks.append([turn])
            words = set()
        words.update(*(stems_of(human_text(text)[:_READ]) for text in (turn.prompt, turn.answer)))
    return tasks


def _begins(turn: Turn, task: Sequence[Turn], stems: Collection[str]) -> bool:
    """Return whether a turn begins another task: it is in another folder, or shares no file and too few words.

    `stems` are those of the texts of the last task. A request too short to stand alone ("add it") continues it.
    """
    prompt, last = human_text(turn.prompt), task[-1]
    words = stems_of(shorten(prompt, _TASK))
    if len(words) < _FEWEST or is_trivial(prompt):
        return False
    if turn.cwd and last.cwd and not (is_within(turn.cwd, last.cwd) or is_within(last.cwd, turn.cwd)):
        return True
    shares_file = bool(set(turn.files) & {file for turn in task for file in turn.files})
    return not shares_file and overlap(words, frozenset(stems)) < GOES_ON


def episodes_of(
    turns: Sequence[Turn],
    exchanges: Iterable[Exchange],
    link: str,
    *,
    working: Sequence[TaskNotes] = (),
    project: str = "",
    grown: Sequence[tuple[datetime, int]] = (),
) -> list[Episode]:
    """Return the episodes of a finished session, skipping tasks without an exchange in its file and mere talk.

    `exchanges` are those of this file, and `link` is its path in the store; `working` are plans, decisions and
    discoveries noted while the session ran, the most reliable last; `grown` lists when the context grew, and by how
    many tokens.
    """
    by_tail = {tail_of(exchange.id): exchange for exchange in exchanges}
    episodes = []
    tasks = tasks_in(turns)
    ends = [task[0].started for task in tasks[1:]]
    for task, end in zip_longest(tasks, ends):
        own = [by_tail[tail] for turn in task if (tail := tail_of(turn.exchange_id)) in by_tail]
        if own:
            keys = {turn.key for turn in task}
            notes = [note for note in working if note.task is not None and note.task.turn in keys]
            tokens = sum(more for at, more in grown if at >= task[0].started and (end is None or at < end))
            episode = _episode_of(task, own, link, notes, project)
            if _is_work(episode, task):
                episodes.append(episode._replace(tokens=tokens))
    return episodes


def _is_work(episode: Episode, turns: Iterable[Turn]) -> bool:
    """Return whether a task was more than talk: something was changed, run, planned or noted, or it failed."""
    noted = (*episode.files, *episode.errors, *episode.plan, *episode.decisions, *episode.gotchas, *episode.tips)
    runs = [run for turn in turns for run in turn.runs if not run.failed]
    ran = verdict_of(runs) or any(has_effect(run.command) or is_commit(run.command) for run in runs)
    return bool(noted or ran) or episode.outcome is Outcome.FAILED


def noting_growth(records: Iterable[Record], grown: list[tuple[datetime, int]]) -> Iterator[Record]:
    """Yield the records of a transcript, and add to `grown` when the agent's context grew, and by how many tokens."""
    last = 0
    for record in records:
        if record.tokens and not record.sidechain:
            if last and record.tokens > last:  # after a compaction it is smaller
                grown.append((record.at, record.tokens - last))
            last = record.tokens
        yield record


def _episode_of(
    turns: Sequence[Turn], exchanges: Sequence[Exchange], link_to: str, notes: Sequence[TaskNotes], project: str
) -> Episode:
    """Return the episode of a task."""
    first = turns[0]
    occurrences = find_occurrences(turns, project)
    request = human_text(first.prompt) or exchanges[0].summary
    task = one_line(shorten(request, _TASK), _TASK)
    errors, scopes = list[ErrorSignature](), [turn.scope for turn in turns]
    for occurrence in occurrences:
        if len(errors) < _MAX_ERRORS and not any(is_again(error, occurrence.error) for error in errors):
            errors.append(occurrence.error)
    # The plan noted last; hooks and the transcript report the same plan.
    steps = next((task.steps for task in reversed(notes) if task.steps), ())[:_MAX_PLAN]
    fixes = (
        (one_line(title_of(occurrence.error), _SUMMARY), occurrence.last.remedy)
        for occurrence in occurrences
        if occurrence.last.remedy
    )
    place = f"../../../{link_to}"
    return Episode(
        id=episode_id(first.session, exchanges[0].id),
        session=first.session,
        host=first.host,
        created=first.started,
        ended=max(turn.ended for turn in turns),
        type=classify(request),
        task=task,
        outcome=_outcome(turns, notes),
        exchanges=tuple(exchange.id for exchange in exchanges),
        links=tuple(f"{exchange.time[:10]} {link(exchange.summary, place)} {exchange.id}" for exchange in exchanges),
        files=tuple(dict.fromkeys(file for exchange in exchanges for file in exchange.files))[:_MAX_FILES],
        errors=tuple(errors),
        steps=sum(turn.tools for turn in turns),
        seconds=round(sum((turn.ended - turn.started).total_seconds() for turn in turns)),
        mended_in=max((occurrence.last.seconds for occurrence in occurrences), default=0),
        tools=tuple(Counter(tool for turn in turns for tool in turn.used).most_common(_MAX_TOOLS)),
        problem=one_line(title_of(errors[0]), _LINE) if errors else task,
        solution=_solution(turns),
        plan=tuple(f"[{'x' if step.status == 'completed' else ' '}] {step.text}" for step in steps),
        decisions=_lines(
            decision.text + (f" ({decision.reason})" if decision.reason else "")
            for memory in notes
            for decision in memory.decisions
        ),
        gotchas=_gotchas(occurrences),
        tips=_lines(
            [*(f"{error}: {fix} fixed it" for error, fix in fixes)]
            + [text for memory in notes for text in memory.discoveries]
        ),
        scope=tuple(dict.fromkeys(scopes)) if all(scopes) else (),
    )


def _outcome(turns: Sequence[Turn], notes: Sequence[TaskNotes]) -> Outcome | None:
    """Return the outcome shown by a note, an interruption, or the last test or build; else None."""
    if notes and notes[-1].task is not None and notes[-1].task.status is TaskStatus.ABANDONED:
        return Outcome.FAILED
    if turns[-1].interrupted:
        return Outcome.INTERRUPTED
    return verdict_of(run for turn in turns for run in turn.runs)


def _solution(turns: Sequence[Turn]) -> str:
    """Return the beginning of the last answer of a task, or ""."""
    answers = (human_text(turn.answer) for turn in reversed(turns) if not turn.interrupted)
    answer = next(filter(str.strip, answers), "")
    return one_line(beginning(answer, _SUMMARY + _LINE), _SUMMARY + _LINE).removesuffix(".")


def _gotchas(occurrences: Iterable[ErrorOccurrence]) -> tuple[str, ...]:
    """Return the changes that did not help."""
    lines = []
    for occurrence in occurrences:
        title = one_line(title_of(occurrence.error), _SUMMARY)
        tried = dict.fromkeys(case.change for case in occurrence.cases[:-1])
        lines += [f"{title}: {change} did not help" for change in tried if change not in {"", occurrence.last.remedy}]
    return _lines(lines)


def _lines(texts: Iterable[str]) -> tuple[str, ...]:
    lines = dict.fromkeys(one_line(text, _LINE) for text in texts)
    return tuple(filter(None, lines))[:_MAX_LINES]


def save_episodes(
    store: Store, session: str, host: str, turns: Sequence[Turn], records: Iterable[Record] = ()
) -> str | None:
    """Save the episodes of a finished session; return the commit. A second call adds nothing.

    `records` are those of its transcript, for plans and decisions; the agent's own notes come from working memory. A
    task that continued gets its new exchanges, unless a user changed its episode. Raises GitmemError if the
    episodes could not be committed.
    """
    if not turns:
        return None
    clean = [redacted(turn, store) for turn in turns]
    noted = read_working(store, session)
    grown: list[tuple[datetime, int]] = []
    events = clean_events(store, hook_events(noting_growth(records, grown)))
    working: list[TaskNotes] = [*working_of(events)]
    working += [*noted.earlier, noted] if noted else []

    def plan(transaction: Transaction) -> bool:
        path = find_session_file(transaction, session, turns[0].started)
        data = transaction.read(path) if path else None
        if path is None or data is None:
            return False
        project = os.path.dirname(store.root)
        made = episodes_of(clean, exchanges_in(data), path, working=working, project=project, grown=grown)
        new = {name: episode for episode in made if (name := _path_of(store, transaction, episode))}
        changes: dict[str, bytes | None] = {name: render_episode(episode) for name, episode in new.items()}
        changes |= with_links(transaction, path, {name: episode.task for name, episode in new.items()})
        tasks = one_line("; ".join(f"{episode.task} ({ending(episode)})" for episode in new.values()), 60)
        subject, ids = f"Remember {count(len(new), 'episode')}: {tasks}", (episode.id for episode in new.values())
        message = session_message(subject, Op.EPISODE, Trailer.EPISODE, ids, session=session, host=host)
        return bool(new) and transaction.commit(message, changes, when=turns[-1].ended)

    return transact(store, plan, purpose="episodes").commit


def _path_of(store: Store, transaction: Transaction, episode: Episode) -> str:
    """Return the path to write an episode to if it is new and was never cleared, or has more exchanges; else ""."""
    path = find_episode_file(transaction, episode.id, episode.created)
    data = transaction.read(path) if path else None
    if data is None:
        return "" if was_cleared(store, episode.id, episode.created) else episode_path(episode)
    known = parse_episode(data, path)
    grown = known is not None and set(known.exchanges) < set(episode.exchanges) and render_episode(known) == data
    return path if grown else ""


def find_episode_file(transaction: Transaction, identifier: str, created: datetime) -> str:
    """Return the file of an episode, "" if it has none."""
    folder = episode_folder(created)
    names = (name for name in sorted(transaction.names(folder)) if id_in(name) == identifier)
    return next((f"{folder}/{name}" for name in names), "")


def was_cleared(store: Store, identifier: str, created: datetime) -> bool:
    """Return whether history contains a file of this episode."""
    return store.repository.ever_had(f":(glob){episode_folder(created)}/{identifier}[-.]*")
