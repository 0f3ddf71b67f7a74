"""Make and save the episodes of a finished session (spec M2; docs/format.md, "Episodes").

A task is a request with all that is said and done for it, over as many turns as that takes. Its outcome is one that
something shows: the person's words, tests, a commit.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import pairwise, zip_longest

from gitmem.document.ids import id_in, is_within, tail_of
from gitmem.document.message import Op, Trailer, link, one_line, session_message
from gitmem.learn.choices import chosen_options, without_options
from gitmem.model.command import has_effect, is_commit
from gitmem.model.compare import stems_of
from gitmem.model.entries import headline
from gitmem.model.episode import (
    REJECTED,
    UNMENDED,
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
from gitmem.model.error_occurrence import ErrorOccurrence, find_occurrences
from gitmem.model.events import PLACE
from gitmem.model.exchange import Exchange, exchanges_in, names_only_files
from gitmem.model.outcome import Outcome, judge_outcome, offers, reaction_of, rejects, verdict_of
from gitmem.model.transcript import Record, hook_events
from gitmem.model.turns import TaskType, Turn, classify, follows_up, is_trivial, tells
from gitmem.model.words import human_text
from gitmem.model.working import EndedTask, TaskStatus, WorkingMemory, working_of
from gitmem.record.exchanges import find_session_file, with_links
from gitmem.record.read import cleaner, redacted
from gitmem.record.working_memory import clean_event, read_working
from gitmem.store.store import Store
from gitmem.store.transact import transact
from gitmem.store.transaction import Transaction
from gitmem.text.sentences import blocks, count, sentences_of, split
from gitmem.text.words import matcher

Notes = EndedTask | WorkingMemory

_TASK, _LINE, _SUMMARY = 200, 240, 160  # characters
_MAX_FILES = 12
_MAX_ERRORS, _MAX_TOOLS, _MAX_PLAN, _MAX_LINES = 5, 8, 12, 6
_RESULTS = 3
_FEWEST = 2  # words of content without which a request sets no task of its own
_READ = 8_000  # characters of what was said in a task
_CHEER = re.compile(r"\A\s*(?:\w[\w', ]{0,30}!\s+){1,3}")  # "Perfect!" before what was done
_HEADING = re.compile(r"(?m)^(?=#{1,6} )")
_ASKS = ("?", "\uff1f")
_SENTENCE = r"(?:(?<=[.!)] )|(?m:^))[^.!?\n`]{1,200}"
_FURTHER = re.compile(r"(?:[.!]\s|\n)\s*")  # before what is said behind the first sentence
_QUESTION = re.compile(rf"{_SENTENCE}\?(?=\s|$)")
_LEAD_IN = re.compile(rf"{_SENTENCE}:\s*\Z")  # to what is left out
_NUMBER = re.compile(r"(?<![\w.])#?([0-9]{1,2})(?![\w.]*[0-9])\b")
_KEY = re.compile(r"(?m)^[\s|*_-]*#?([0-9]{1,2})(?:[*_]*[.):|]|\s*\|)")


def tasks_in(turns: Iterable[Turn]) -> list[list[Turn]]:
    """Return the turns of a session by task."""
    tasks: list[list[Turn]] = []
    words = set[str]()  # of the last task; growing, as a session may be long
    for turn in turns:
        if tasks and not _begins(turn, tasks[-1], words):
            tasks[-1].append(turn)
        else:
            tasks.append([turn])
            words = set()
        words.update(*(stems_of(human_text(text)[:_READ]) for text in (turn.prompt, turn.answer)))
    return tasks


def _begins(turn: Turn, task: Sequence[Turn], said: Collection[str]) -> bool:
    """Return whether a turn begins another task: it sets one that does not speak of what the last one spoke of.

    `said` are the stems of the last one's words.

    A question about it while nothing, such as thanks, shows that the task is done does not, nor does what goes on with
    it, nor what says too little to stand alone ("add it").
    """
    prompt, last = human_text(turn.prompt), task[-1]
    words = stems_of(headline(prompt, _TASK))
    if len(words) < _FEWEST or is_trivial(prompt) or follows_up(prompt) or (_committed(turn) and not turn.files):
        return False
    if turn.cwd and last.cwd and not (is_within(turn.cwd, last.cwd) or is_within(last.cwd, turn.cwd)):
        return True
    if (goes_on := _goes_on(prompt, last)) or _committed(last):
        return not goes_on
    if classify(prompt) is TaskType.QUESTION and reaction_of(last, prompt) is not Outcome.SUCCESS:
        return words.isdisjoint(said)
    return not set(turn.files) & {file for one in task for file in one.files} and 2 * len(
        words.intersection(said)
    ) < len(words)


def _committed(turn: Turn) -> bool:
    """Return whether a commit, a push or a release worked in a turn."""
    return any(is_commit(run.command) and not run.failed for run in turn.runs)


def _goes_on(prompt: str, last: Turn) -> bool:
    """Return whether a request turns or forbids what the last turn did, replies to its question, or names its items.

    So does what sets no task at all ("my user is ann") after a turn without an answer.
    """
    answer = human_text(last.answer).rstrip()
    named = set(_NUMBER.findall(prompt)) if len(prompt) <= _TASK else set()  # "skip 5 and 7"
    replies = answer.endswith(_ASKS) or (named and named <= set(_KEY.findall(answer[-_READ:])))
    return bool(replies) or _forbids(prompt, answer) or _turned(last, prompt) or (not answer and tells(prompt))


def _forbids(prompt: str, answer: str) -> bool:
    """Return whether a request begins with a "don't" about what the answer before it ends with."""
    [first, *_] = split(prompt[:_TASK]) or [""]
    forbids = matcher("outcomes.tsv", "forbids").search(first) is not None
    return forbids and not stems_of(first).isdisjoint(stems_of(answer[-2 * _LINE :]))


def episodes_of(
    turns: Sequence[Turn],
    exchanges: Iterable[Exchange],
    link: str,
    *,
    working: Sequence[Notes] = (),
    project: str = "",
    grown: Sequence[tuple[datetime, int]] = (),
) -> list[Episode]:
    """Return the episodes of a finished session; none of a task without an exchange in its file, or of mere talk.

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
        own = [
            (turn, by_tail[tail_of(turn.exchange_id)], human_text(after.prompt) if after else "")
            for turn in task
            if tail_of(turn.exchange_id) in by_tail
            for after in (following.get(turn.key),)
        ]
        if own:
            keys = {turn.key for turn in task}
            notes = [one for one in working if one.task is not None and one.task.turn in keys]
            tokens = sum(more for at, more in grown if at >= task[0].started and (end is None or at < end))
            episode = _episode_of(task, own, link, notes, project)
            if _is_work(episode, task):
                found.append(episode._replace(tokens=tokens))
    return found


def _is_work(episode: Episode, turns: Iterable[Turn]) -> bool:
    """Return whether a task was more than talk: something was changed, run, planned or noted, or found and thanked for.

    What a look-up found is not told unless the person says that it answers: of such episodes readers of recorded
    sessions found one in four right.
    """
    is_open = episode.outcome in {None, Outcome.SUCCESS}
    if is_open and not (episode.solution or episode.gotchas or episode.tips or episode.decisions):
        return False
    noted = (*episode.files, *episode.errors, *episode.plan, *episode.decisions, *episode.gotchas, *episode.tips)
    runs = [run for turn in turns for run in turn.runs if not run.failed]
    ran = verdict_of(runs) or any(has_effect(run.command) or is_commit(run.command) for run in runs)
    found = episode.steps and episode.solution and episode.outcome is Outcome.SUCCESS
    return bool(noted or ran or found) or episode.outcome is Outcome.FAILED


def noting_growth(records: Iterable[Record], grown: list[tuple[datetime, int]]) -> Iterator[Record]:
    """Yield the records of a transcript, and add to `grown` when the agent's context grew, and by how many tokens."""
    last = 0
    for record in records:
        if record.tokens and not record.sidechain:
            if last and record.tokens > last:  # after a compaction it is smaller
                grown.append((record.at, record.tokens - last))
            last = record.tokens
        yield record


_Told = tuple[Turn, Exchange, str]  # a turn of a task, its exchange, and what the person said after it


def _episode_of(
    turns: Sequence[Turn], own: Sequence[_Told], link_to: str, notes: Sequence[Notes], project: str
) -> Episode:
    """Return the episode of a task."""
    first, exchanges = turns[0], [exchange for _, exchange, _ in own]
    sights = find_occurrences(turns, project)
    request = human_text(_asking(first, own[0][0]).prompt) or exchanges[0].summary
    task = one_line(_beginning(request, _TASK), _TASK)
    tests = verdict_of(run for turn in turns for run in turn.runs)
    errors, scopes = list[ErrorSignature](), [turn.scope for turn in turns]
    for sight in sights:
        if len(errors) < _MAX_ERRORS and not any(is_again(error, sight.error) for error in errors):
            errors.append(sight.error)
    outcome = _outcome(turns, own, notes, tests)
    # The plan that was noted last: hooks and transcript tell the same one.
    steps = next((task.steps for task in reversed(notes) if task.steps), ())[:_MAX_PLAN]
    mends = ((one_line(title_of(one.error), _SUMMARY), one.mend) for one in sights if one.mend)
    place = f"../../../{link_to}"
    return Episode(
        id=episode_id(first.session, exchanges[0].id),
        session=first.session,
        host=first.host,
        created=first.started,
        ended=max(turn.ended for turn in turns),
        type=classify(request),
        task=task,
        outcome=outcome,
        exchanges=tuple(exchange.id for exchange in exchanges),
        links=tuple(f"{exchange.time[:10]} {link(exchange.summary, place)} {exchange.id}" for exchange in exchanges),
        files=tuple(dict.fromkeys(file for exchange in exchanges for file in exchange.files))[:_MAX_FILES],
        errors=tuple(errors),
        steps=sum(turn.tools for turn in turns),
        seconds=round(sum((turn.ended - turn.started).total_seconds() for turn in turns)),
        mended_in=max((sight.seconds for sight in sights if sight.works), default=0),
        tools=tuple(Counter(tool for turn in turns for tool in turn.used).most_common(_MAX_TOOLS)),
        problem=one_line(title_of(errors[0]), _LINE) if errors else task,
        solution=_solution(own),
        plan=tuple(f"[{'x' if step.status == 'completed' else ' '}] {step.text}" for step in steps),
        decisions=_lines(
            decision.text + (f" ({decision.reason})" if decision.reason else "")
            for memory in notes
            for decision in memory.decisions
        ),
        changes=_lines(headline(said, _LINE) for turn, _, said in own[:-1] if _turned(turn, said)),
        gotchas=_gotchas(own, sights),
        tips=_lines(
            [*(f"{error}: {_quoted(mend)} mended it" for error, mend in mends)]
            + [text for memory in notes for text in memory.discoveries]
        ),
        scope=tuple(dict.fromkeys(scopes)) if all(scopes) else (),
    )


def _asking(first: Turn, kept: Turn) -> Turn:
    """Return the turn whose request names a task: the first, or that of the first exchange if the first was talk."""
    is_request = len(stems_of(headline(human_text(kept.prompt), _TASK))) >= _FEWEST and not follows_up(kept.prompt)
    return kept if is_request and not first.tools else first


def _outcome(
    turns: Sequence[Turn], own: Sequence[_Told], notes: Sequence[Notes], tests: Outcome | None
) -> Outcome | None:
    """Return the outcome that a note, the person's words, tests or a commit show, None without any."""
    if notes and notes[-1].task is not None and notes[-1].task.status is TaskStatus.ABANDONED:
        return Outcome.FAILED
    last, _, said = own[-1]
    judged = judge_outcome(last, said)
    if judged is Outcome.INTERRUPTED:
        return judged
    if reaction := reaction_of(last, said):
        return reaction
    if not said and len(own) > 1 and reaction_of(own[-2][0], own[-2][2]) is Outcome.SUCCESS:
        return Outcome.SUCCESS  # thanks stay if only a follow-up came after them
    if tests is Outcome.FAILED or judged is Outcome.FAILED:
        return (
            Outcome.FAILED if any(turn.files for turn in turns) else None
        )  # what failed where nothing changed was a look
    return Outcome.SUCCESS if tests or any(map(_committed, turns)) else None


def _solution(own: Sequence[_Told]) -> str:
    """Return what the first exchange and the last that changed something or passed tests came to, else the last answer.

    Results that the person rejected, answers that the person doubted or that offer a choice are none, nor are names
    of changed files alone, nor, without another result, that something is done, committed or passes. What comes after
    a rejected result is one. What a result leaves open, the last exchange tells; a no to what a result proposes stands
    behind it.
    """
    if all(map(_names_files, own)):
        return ""
    answers = {turn.key: (before.answer, said) for (before, *_), (turn, _, said) in pairwise((own[0], *own))}
    met = [(one[0], reaction_of(one[0], one[2])) for one in own if not _names_files(one) or _says_more(one[0])]
    good = [(turn, met) for turn, met in met if turn.answer and not turn.interrupted and met is not Outcome.FAILED]
    again = {turn.key for before, (turn, *_) in pairwise(own) if reaction_of(before[0], before[2]) is Outcome.FAILED}
    changed = [turn for turn, _ in good if turn.files or turn.key in again or verdict_of(turn.runs) is Outcome.SUCCESS]
    said = [turn for turn, met in good if met is not Outcome.PARTIAL and not offers(turn.answer)]
    last = said[-1:]
    said = [turn for turn in said if not _committed(turn)] or said
    results = changed[-_RESULTS:] or said[-1:]
    begun = [turn for turn in said[:1] if turn is own[0][0] and turn not in results]
    is_open = bool(results) and _is_open(results[-1], answers[results[-1].key][1])
    ended = [turn for turn in last if is_open and turn not in results and (_says_more(turn) or _asks(results[-1]))]
    listed = (*begun, *results, *ended)
    requests, told = {human_text(turn.prompt) for turn in listed}, list[str]()
    for turn in listed:
        before, after = answers[turn.key]
        told.append(_result(turn, own[0][0], before, after))
        if after not in requests and _refuses(after, turn):
            told.append(one_line(headline(after, _SUMMARY), _SUMMARY))
    return "; ".join(filter(None, told)) if any(map(_says_more, listed)) else ""


def _names_files(told: _Told) -> bool:
    """Return whether of a turn no more is known than which files it changed."""
    turn, exchange, _ = told
    is_short = len(turn.answer) < _SUMMARY / 2 and names_only_files(exchange.summary)
    return is_short and not (verdict_of(turn.runs) or _committed(turn))


def _refuses(said: str, turn: Turn) -> bool:
    """Return whether the request after a turn begins with a no or a "don't" to what its answer asks or proposes."""
    declines = _asks(turn) and matcher("outcomes.tsv", "declined").search(said) is not None
    return declines or _forbids(said, human_text(turn.answer))


def _says_more(turn: Turn) -> bool:
    """Return whether an answer says more than that something is done, committed or passes."""
    said = (one for block in blocks(human_text(turn.answer)[:_READ]) for one in sentences_of(block))
    form = matcher("outcomes.tsv", "only_done")
    return any(re.search(r"\w", re.sub(r"`[^`]*`", "", one)) and not form.search(one) for one in said)


def _asks(turn: Turn) -> bool:
    """Return whether an answer ends with a question, or offers a choice."""
    return turn.answer.rstrip().endswith(_ASKS) or offers(turn.answer)


def _is_open(turn: Turn, said: str) -> bool:
    """Return whether a result leaves something open: it asks, not all of it worked, or the person met an error."""
    met = matcher("outcomes.tsv", "error").search(said) is not None
    return met or _asks(turn) or judge_outcome(turn, said) is not Outcome.SUCCESS


def _result(turn: Turn, first: Turn, before: str, said: str) -> str:
    """Return how an answer, or its section that is most about the request, begins; behind the request if not first.

    A request that picks options of the answer `before` is told by them and by what it says further. Options are left
    out if the request that follows picks one or the answer asks, and so are questions.
    """
    asked, answer = human_text(turn.prompt), human_text(turn.answer)[:_READ]
    words = stems_of(asked[:_READ])
    picked = chosen_options(asked, before) if turn is not first else []
    settled = ". ".join(one.removesuffix(".") for one in (*picked, *_FURTHER.split(asked, maxsplit=1)[1:]) if one)
    head = one_line(_beginning(settled if picked else asked, _SUMMARY), _SUMMARY)
    head = f"{head} → " if turn is not first and (picked or not is_trivial(asked)) else ""
    if offers(answer) or chosen_options(said, answer):
        answer = without_options(answer)
    sections = _HEADING.split(_CHEER.sub("", answer))
    shared = [len(words & stems_of(section[: 2 * _LINE])) for section in sections]
    told = _QUESTION.sub("", "".join(sections[shared.index(max(shared)) :]))
    told = _LEAD_IN.sub("", _beginning(_LEAD_IN.sub("", told), _LINE)).rstrip()
    return told and one_line(f"{head}{told}", _SUMMARY + _LINE).removesuffix(".")


def _beginning(text: str, limit: int) -> str:
    """Return the first sentences of a text, and more than fits if the first alone says little ("Good morning!")."""
    begins = headline(text, limit)
    return begins if len(begins) > limit // 4 else headline(text, 2 * limit)


def _gotchas(own: Sequence[_Told], sights: Iterable[ErrorOccurrence]) -> tuple[str, ...]:
    """Return attempts that did not help, unmended errors, and results that the person clearly rejected."""
    lines = []
    for sight in sights:
        title = one_line(title_of(sight.error), _SUMMARY)
        lines += [f"{title}: {tried} did not help" for tried in sight.tried]
        lines += [] if sight.works else [f"{title}{UNMENDED}"]
    for turn, exchange, said in own:
        if turn.answer and rejects(turn, said):
            lines.append(f"{REJECTED}{one_line(exchange.summary, _SUMMARY)}")
    return _lines(lines)


def _turned(turn: Turn, said: str) -> bool:
    """Return whether the person turned the work after a turn: rejected its result, or missed something in it."""
    return reaction_of(turn, said) in {Outcome.FAILED, Outcome.PARTIAL}


def _quoted(mend: str) -> str:
    """Return a mend, in quotes if it is a sentence of the agent."""
    return mend if mend.startswith(("`", PLACE)) else f'"{mend}"'


def _lines(texts: Iterable[str]) -> tuple[str, ...]:
    lines = dict.fromkeys(one_line(text, _LINE) for text in texts)
    return tuple(filter(None, lines))[:_MAX_LINES]


def save_episodes(
    store: Store, session: str, host: str, turns: Sequence[Turn], records: Iterable[Record] = ()
) -> str | None:
    """Save the episodes of a finished session; return the commit. A second call adds nothing.

    `records` are those of its transcript, for plans and decisions; the agent's own notes come from working memory. A
    task that went on since gets its new exchanges, unless a person changed its episode. Raises GitmemError if the
    episodes could not be committed.
    """
    if not turns:
        return None
    clean = [redacted(turn, store) for turn in turns]
    noted = read_working(store, session)
    grown: list[tuple[datetime, int]] = []
    events = (clean_event(event, cleaner(store)) for event in hook_events(noting_growth(records, grown), None))
    working: list[Notes] = [*working_of(events)]
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
    """Return where to write an episode that is missing and was never cleared, or has more exchanges now; else ""."""
    path = find_episode_file(transaction, episode.id, episode.created)
    data = transaction.read(path) if path else None
    if data is None:
        return "" if was_cleared(store, episode.id, episode.created) else episode_path(episode)
    known = parse_episode(data, path)
    grown = known is not None and set(known.exchanges) < set(episode.exchanges) and render_episode(known) == data
    return path if grown else ""


def find_episode_file(transaction: Transaction, identifier: str, created: datetime) -> str:
    """Return the file of an episode, "" if it has none; older versions named it by the id alone."""
    folder = episode_folder(created)
    names = (name for name in sorted(transaction.names(folder)) if id_in(name) == identifier)
    return next((f"{folder}/{name}" for name in names), "")


def was_cleared(store: Store, identifier: str, created: datetime) -> bool:
    """Return whether history has a file of an episode."""
    return store.repository.ever_had(f":(glob){episode_folder(created)}/{identifier}[-.]*")
