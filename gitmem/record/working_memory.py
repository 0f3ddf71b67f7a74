"""The working memory of each running session: a private file, shown in a few lines (docs/memory.md, "Working memory").

It is never committed and stays on its machine. A file is replaced as a whole, by rename, and lists the events applied,
so that none is applied twice if a process is killed before it empties the spool.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from gitmem.document.ids import find_named
from gitmem.document.message import one_line
from gitmem.errors import NotFoundError
from gitmem.model import working
from gitmem.model.events import HookEvent, HookKind
from gitmem.model.exchange import file_name
from gitmem.model.similarity import contradict, says_the_same
from gitmem.model.working import (
    LINE,
    MAX_NOTES,
    Hypothesis,
    HypothesisStatus,
    WorkingMemory,
    apply,
    begin,
    decide,
    with_context_size,
)
from gitmem.platform.safe_open import read_text, replace_file
from gitmem.record.read import clean_fields, cleaner
from gitmem.store.store import Store
from gitmem.text.terminal import as_json
from gitmem.text.words import estimate_tokens
from gitmem.values import TYPE_CHECKING

if TYPE_CHECKING:
    from gitmem.model.episode import Episode


FOLDER = "tasks"
_SUFFIX = ".json"
_PATIENCE = 10.0  # seconds to wait for another process to write
_KEPT = timedelta(days=30)  # age at which the memory of a session that never ended is removed
TOKENS = 300
CONFIRMED = 0.9  # least confidence of a confirmed hypothesis, which becomes a decision
_DECIDED = "a decision"  # in place of the id of a hypothesis that became one
_SHOWN = 5  # files, discoveries
_NEXT = 5  # pending steps
_FAILED = 3  # commands
_OPEN = "[ ] "  # begins an open step of an episode's plan
_COMMAND, _MESSAGE = 120, 160  # characters


def read_working(store: Store, session: str) -> WorkingMemory | None:
    """Return the working memory of a session; None if it has none, or the file cannot be parsed."""
    memory = _read(_path(store, session))
    return memory[0] if memory else None


def running(store: Store) -> list[WorkingMemory]:
    """Return the working memories of all sessions, the last changed first."""
    folder = os.path.join(store.private, FOLDER)
    names = [name for name in os.listdir(folder) if name.endswith(_SUFFIX)] if os.path.isdir(folder) else []
    paths = sorted((os.path.join(folder, name) for name in names), key=lambda path: -os.path.getmtime(path))
    return [memory[0] for path in paths if (memory := _read(path))]


def find_working(store: Store, session: str) -> WorkingMemory:
    """Return the working memory of a session's id or prefix, the last changed one for ""; raises NotFoundError."""
    tasks, remedy = running(store), "'gitmem task start TEXT' begins one."
    if not session and not tasks:
        raise NotFoundError("No running session has a task.", remedy)
    names = ((memory.session, memory.session) for memory in tasks)
    name = find_named(session, names, "running session", remedy) if session else tasks[0].session
    return next(memory for memory in tasks if memory.session == name)


def apply_events(store: Store, events: Iterable[HookEvent], contexts: Mapping[str, int] | None = None) -> None:
    """Apply events once to their sessions' working memory; `contexts` has the tokens of a session's context."""
    by_session: dict[str, list[HookEvent]] = {}
    for event in sorted(events, key=lambda event: event.at):
        by_session.setdefault(event.session, []).append(event)
    for session, own in by_session.items():
        clean = [*clean_events(store, own)]
        _change(store, session, partial(_followed, events=clean, tokens=(contexts or {}).get(session, 0)))


def change_working(store: Store, session: str, change: Callable[[WorkingMemory], WorkingMemory]) -> WorkingMemory:
    """Change the working memory of a session for a note of its agent, and return it."""
    now = store.context.clock().isoformat()
    return _change(store, session, lambda memory, seen: (change(memory or WorkingMemory(session, now)), seen))


def requested_change(
    act: str, text: str, at: str, *, steps: Sequence[str] = (), sure: float | None = None, why: str = "", lists: str
) -> Callable[[WorkingMemory], WorkingMemory]:
    """Return the change that a user or an agent asks for: start, note, hypothesis, confirm and so on.

    `sure` is the confidence of a hypothesis. Settling an unknown one raises NotFoundError; `lists` is the command that
    lists them.
    """
    status = HypothesisStatus.CONFIRMED if act == "confirm" else HypothesisStatus.REJECTED
    changes: dict[str, Callable[[WorkingMemory], WorkingMemory]] = {
        "start": lambda memory: working.start_task(memory, text, at),
        "plan": lambda memory: working.set_plan(memory, [working.PlanStep(step) for step in steps]),
        "note": lambda memory: working.note(memory, text),
        "error": lambda memory: working.fail(memory, text, at),
        "hypothesis": lambda memory: add_hypothesis(memory, text, 0.5 if sure is None else sure, [why] if why else ()),
        "decide": lambda memory: decide(memory, text, at, why),
        "complete": lambda memory: working.end_task(memory, working.TaskStatus.COMPLETED),
        "abandon": lambda memory: working.end_task(memory, working.TaskStatus.ABANDONED),
    }
    settle = partial(settle_hypothesis, name=text.strip(), status=status, at=at, sure=sure, lists=lists)
    return changes.get(act, settle)


def add_hypothesis(memory: WorkingMemory, text: str, confidence: float, evidence: Iterable[str] = ()) -> WorkingMemory:
    """Add a hypothesis; a repeated one keeps the higher confidence and the evidence of both."""
    line = one_line(text, LINE)
    reasons = tuple(one_line(reason, LINE) for reason in evidence)
    for hypothesis in memory.hypotheses:
        if says_the_same(hypothesis.text, line):
            joined = tuple(dict.fromkeys((*hypothesis.evidence, *reasons)))
            return _with(
                memory, hypothesis._replace(confidence=max(hypothesis.confidence, confidence), evidence=joined)
            )
    counts = memory.statistics._replace(hypotheses=memory.statistics.hypotheses + 1)
    rivals = [hypothesis for hypothesis in memory.hypotheses if contradict(hypothesis.text, line)]
    made = Hypothesis(f"h{counts.hypotheses}", line, confidence, reasons, conflicts=tuple(rival.id for rival in rivals))
    for rival in rivals:
        memory = _with(memory, rival._replace(conflicts=(*rival.conflicts, made.id)))
    return memory._replace(hypotheses=(*memory.hypotheses, made)[-MAX_NOTES:], statistics=counts)


def _with(memory: WorkingMemory, changed: Hypothesis) -> WorkingMemory:
    """Return the memory with a hypothesis in place of the one with its id."""
    return memory._replace(
        hypotheses=tuple(changed if hypothesis.id == changed.id else hypothesis for hypothesis in memory.hypotheses)
    )


def settle_hypothesis(
    memory: WorkingMemory, name: str, status: HypothesisStatus, at: str, sure: float | None = None, *, lists: str = ""
) -> WorkingMemory:
    """Settle a hypothesis: one confirmed, with at least `CONFIRMED`, becomes a decision; a rejected one is removed.

    `sure` is its new confidence. Those that contradict it then contradict a decision, or nothing. `lists` is the
    command that lists the ids. Raises NotFoundError for an unknown name.
    """
    hypothesis = next((known for known in memory.hypotheses if known.id == name), None)
    if hypothesis is None:
        raise NotFoundError(f"There is no hypothesis {name}.", lists)
    changed = hypothesis._replace(status=status, confidence=hypothesis.confidence if sure is None else sure)
    decided = status is HypothesisStatus.CONFIRMED and changed.confidence >= CONFIRMED
    if not decided and status is not HypothesisStatus.REJECTED:
        return _with(memory, changed)
    memory = memory._replace(hypotheses=tuple(known for known in memory.hypotheses if known is not hypothesis))
    for item in memory.hypotheses:
        if name in item.conflicts:
            rivals = (*(rival for rival in item.conflicts if rival != name), *((_DECIDED,) if decided else ()))
            memory = _with(memory, item._replace(conflicts=rivals))
    return decide(memory, changed.text, at, "; ".join(changed.evidence)) if decided else memory


def working_with(store: Store, session: str, events: Iterable[HookEvent]) -> WorkingMemory | None:
    """Return the working memory of a session with the spool's events applied, None if it has none."""
    memory = _read(_path(store, session))
    own = sorted((event for event in events if event.session == session), key=lambda event: event.at)
    own = [*clean_events(store, own)]
    if own:
        memory = _followed(memory[0] if memory else None, memory[1] if memory else frozenset(), own)
    return memory[0] if memory else None


def brief_session(store: Store, session: str, events: Iterable[HookEvent]) -> str:
    """Return a session's working memory in a few lines, including the spool's events, else its last episode, or ""."""
    memory = working_with(store, session, events)
    if memory and (text := brief(memory)):
        return text
    from gitmem.store.learned import last_episode

    ended = last_episode(store, session)
    return brief_episode(ended) if ended else ""


def clean_events(store: Store, events: Iterable[HookEvent]) -> Iterator[HookEvent]:
    """Yield a session's events without secrets and purged text.

    Call it before text is split into sentences, which could split a secret.
    """
    asked = None
    for event in events:
        asked = event.at if asked is None or event.kind is HookKind.PROMPT else asked
        clean = cleaner(store, asked)
        steps = tuple((clean(text), status, key) for text, status, key in event.steps)
        yield clean_fields(event._replace(steps=steps), clean, "text", "command", "target", "files")


def forget_working(store: Store, session: str) -> None:
    """Remove the working memory of a finished session, and working memories unchanged for 30 days."""
    oldest = (store.context.clock() - _KEPT).timestamp()
    folder = os.path.join(store.private, FOLDER)
    if not os.path.isdir(folder):
        return
    own = _path(store, session)
    # Under the lock, as another process may be replacing the file.
    with store.folder_lock(folder, "working memory").acquire(_PATIENCE):
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            # A killed writer leaves its temporary file.
            if path == own or path.startswith(f"{own}.") or (_SUFFIX in name and os.path.getmtime(path) < oldest):
                os.unlink(path)


def _followed(
    memory: WorkingMemory | None, seen: frozenset[str], events: list[HookEvent], tokens: int = 0
) -> tuple[WorkingMemory, frozenset[str]]:
    memory = memory or begin(events[0])
    for event in events:
        if _mark(event) not in seen:
            memory = apply(memory, event)
    memory = with_context_size(memory, tokens) if tokens else memory
    # Events that left the spool are never applied again.
    return memory, frozenset(map(_mark, events))


def _mark(event: HookEvent) -> str:
    """Return a key of an event. Its name in the spool is not unique: a later process with the same id may reuse it."""
    return f"{event.source} {event.at.isoformat()}"


def _change(
    store: Store,
    session: str,
    change: Callable[[WorkingMemory | None, frozenset[str]], tuple[WorkingMemory, frozenset[str]]],
) -> WorkingMemory:
    path = _path(store, session)
    folder = os.path.dirname(path)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    with store.folder_lock(folder, "working memory").acquire(_PATIENCE):
        memory, seen = _read(path) or (None, frozenset())
        changed, known = change(memory, seen)
        if changed != memory or known != seen:
            value = {"working": as_json(changed), "events": sorted(known)}
            text = cleaner(store)(json.dumps(value, ensure_ascii=False, indent=1))
            replace_file(path, text.encode("utf-8", "replace"))
    return changed


def _path(store: Store, session: str) -> str:
    return os.path.join(store.private, FOLDER, file_name(session) + _SUFFIX)


def _read(path: str) -> tuple[WorkingMemory, frozenset[str]] | None:
    text = read_text(path)
    try:
        value = json.loads(text) if text else {}
        return (_made("WorkingMemory", value["working"]), frozenset(map(str, value["events"]))) if value else None
    except (ValueError, KeyError, TypeError, AttributeError):
        return None  # written by another version, or by hand: begin a new one


def _made(annotation: str, value: Any) -> Any:
    """Return the value of a field; classes in its annotation are those of `gitmem.model.working`."""
    if isinstance(value, list):
        return tuple(_made(annotation, item) for item in value)
    named = re.search(r"\b[A-Z]\w+", annotation)
    kind = vars(working).get(named[0]) if named and value is not None else None
    if kind is None or not isinstance(value, dict):
        return kind(value) if kind else value
    return kind(**{name: _made(str(kind.__annotations__.get(name)), field) for name, field in value.items()})


def brief(memory: WorkingMemory) -> str:
    """Return task, plan, progress, failures and hypotheses in at most `TOKENS` tokens; "" if there are none."""
    return _within_budget(_lines(memory))


def brief_episode(episode: Episode) -> str:
    """Return task, open steps, decisions and files of a finished task in at most `TOKENS` tokens."""
    from gitmem.model.episode import ending

    left = [step.removeprefix(_OPEN) for step in episode.plan if step.startswith(_OPEN)]
    lines = (
        f"Task ({episode.type.value}, {ending(episode)}): {episode.task}",
        *([_listed("To do", left)] if left else ()),
        *(f"Decided: {line}" for line in episode.decisions),
        *([f"Changed: {', '.join(episode.files[:_SHOWN])}"] if episode.files else ()),
        *(f"Found: {line}" for line in episode.tips),
    )
    return _within_budget(lines)


def _within_budget(candidates: Iterable[str]) -> str:
    """Return the first lines that fit."""
    lines: list[str] = []
    for line in candidates:
        if estimate_tokens("\n".join([*lines, line])) > TOKENS:
            break
        lines.append(line)
    return "\n".join(lines)


def _lines(memory: WorkingMemory) -> Iterator[str]:
    if memory.task:
        yield f"Task ({memory.task.type.value}, {memory.task.status.value}): {memory.task.description}"
    if memory.step or any(step.status == "in_progress" for step in memory.steps):
        current = next((step.text for step in memory.steps if step.status == "in_progress"), "")
        yield f"Plan: {memory.step} of {len(memory.steps)} steps done" + (f"; now: {current}" if current else "")
    left = [step.text for step in memory.steps if step.status == "pending"]
    if left:
        # If no step was ever begun, maybe no tool reports the plan's progress.
        title = "Plan" if len(left) == len(memory.steps) else "To do"
        yield _listed(title, left)
    yield from _thoughts(memory)
    changed = [file.path for file in memory.files if file.changes]
    if changed:
        yield f"Changed: {', '.join(changed[::-1][:_SHOWN])}"
    if memory.results:
        last = memory.results[-1]
        yield " ".join(filter(None, ("Last:", last.tool, last.what, "" if last.worked else "(failed)")))
    yield from (f"Found: {text}" for text in memory.discoveries[::-1][:_SHOWN])
    yield from (f"Done: {step.text}" for step in memory.steps if step.status == "completed")


def _listed(title: str, steps: Sequence[str]) -> str:
    more = f" and {len(steps) - _NEXT} more" if len(steps) > _NEXT else ""
    return f"{title}: {'; '.join(steps[:_NEXT])}{more}"


def _thoughts(memory: WorkingMemory) -> Iterator[str]:
    for error in memory.failed[::-1][:_FAILED]:
        message = error.said or ": ".join(filter(None, (error.type, error.message)))
        command = f"`{one_line(error.command, _COMMAND)}`: " if error.command else ""
        yield f"Failed: {command}{one_line(message, _MESSAGE)}"
    for hypothesis in memory.hypotheses:
        rivals = f", against {', '.join(hypothesis.conflicts)}" if hypothesis.conflicts else ""
        sure = f"{hypothesis.status.value}, {hypothesis.confidence:g}{rivals}"
        yield f"Hypothesis {hypothesis.id} ({sure}): {hypothesis.text}"
    for decision in memory.decisions:
        yield f"Decided: {decision.text}" + (f" Because: {decision.reason}" if decision.reason else "")
