"""Guidance for a task, a question or an error.

It is a search with headings: first working memory; then the facts that a search for the task finds (bans under
"Avoid"), the project's standing rules, episodes, bug patterns and exchanges found; then the user's preferences and the
knowledge of the project. Each line names its sources. Guidance is empty only if the search finds nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import islice

from gitmem.document.ids import BUGS, short_session
from gitmem.document.message import one_line
from gitmem.history.authors import AWAITS, Authors
from gitmem.history.marks import marked
from gitmem.learn.lessons import known_knowledge
from gitmem.model.episode import FOLDER as EPISODES_FOLDER
from gitmem.model.error import is_again, quoted, read_errors, signature
from gitmem.model.fact import FactKind
from gitmem.model.outcome import Outcome
from gitmem.model.pattern import LETTER
from gitmem.model.project_knowledge import KnowledgeKind, command_lines, purposes_in, read_commands
from gitmem.model.request import TaskType, classify
from gitmem.model.similarity import SAME_ERROR, is_negated, is_same_line, stems_of
from gitmem.model.validity import in_force
from gitmem.model.working import TaskStatus, WorkingMemory
from gitmem.record.working_memory import running
from gitmem.search.engine import SearchAnswer, answer
from gitmem.search.files import LINKED
from gitmem.search.hits import Hit, bare_text
from gitmem.search.query import fold, parse_query
from gitmem.search.recall import with_other_layers
from gitmem.store.known_facts import known_facts
from gitmem.store.learned import known_patterns, read_pattern
from gitmem.store.store import Store
from gitmem.tell.known_errors import counts, fix_line, match, user_part
from gitmem.tell.prompt import excerpt_of, needles_of, plain_query
from gitmem.tell.risk import from_other, without_risk
from gitmem.tell.similar_episodes import RankedEpisode, ranked_episodes, similar
from gitmem.tell.usage_log import BEGINS, GUIDE, ShownText, record_shown, usefulness_of
from gitmem.text.sentences import seen_times
from gitmem.values import Value


class AdviceKind(StrEnum):
    """The use of a line of guidance."""

    APPROACH = "approach"
    TRY = "try"
    AVOID = "avoid"
    CHALLENGE = "challenge"


class Advice(Value):
    """A piece of advice, the ids of its sources, and its confidence, 0 to 1."""

    part: AdviceKind
    text: str
    sources: tuple[str, ...]
    confidence: float


class Complexity(StrEnum):
    """How hard a task may be, by the number of its files that change most often."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Guidance(Value):
    """The advice for a situation; `complexity` is None if unknown or no file is named."""

    lines: tuple[Advice, ...]
    confidence: float
    complexity: Complexity | None = None


_SURE = {0.75: "These fit well.", 0.5: "These fit in part.", 0: "Only loosely related."}


def as_text(guidance: Guidance, *, user: bool = False) -> str:
    """Return guidance as a few headed lines, or ""; for a `user` with the confidence in words."""
    if not guidance.lines:
        return ""
    titles = {
        AdviceKind.APPROACH: "What was done and decided",
        AdviceKind.TRY: "Try",
        AdviceKind.AVOID: "Avoid",
        AdviceKind.CHALLENGE: "Expect",
    }
    lines = []
    for part, title in titles.items():
        own = [line for line in guidance.lines if line.part is part]
        lines += [f"{title}:", *map(_line, own)] if own else []
    if user:
        sure = next(words for least, words in _SURE.items() if guidance.confidence >= least)
        return "\n".join([*lines, "", f"{sure} 'gitmem show ^ID' prints a source."])
    lines += [f"complexity: {guidance.complexity}"] if guidance.complexity else []
    return "\n".join([*lines, f"confidence: {guidance.confidence:.2f}"])


def _line(line: Advice) -> str:
    sources = " ".join(source if "/" in source or ":" in source else f"^{source}" for source in line.sources)
    text = line.text.removesuffix(f" ^{line.sources[0]}").replace("\n", "\n  ")
    return f"- {text} ({sources})"


_HITS = 12
_LEAST_SHARE, _LEAST_WORDS = 0.5, 2  # weighted share and number of a task's words in an episode
_SHARE_OF_RULE = 0.25  # of a task's words in a rule of the user's own
_LINES = 4  # of each part except the exchanges and decisions
_MOST_DONE, _EXCHANGES, _TOKENS = 14, 6, 300  # lines of that part, exchanges in it, tokens of each
_FEW = 2  # lines of a kind from one episode, of errors; ids of a source
_EPISODES, _RULES, _OF_PROJECT = 3, 3, 3  # episodes; lines of rules and of a document
_PATTERNS = "patterns/"  # errors and project knowledge, which have parts of their own
_DATE = len("2026-11-20")
_LONGEST, _TASK = 400, 120  # characters of a line, and of the task in it
_FILE = re.compile(r"(?<![\w.+-])[\w.+-]*(?:/[\w.+-]+)+|(?<![\w+-])[\w+-]+\.[A-Za-z]\w{0,5}\b")


def guide(store: Store, task: str, *, error: str = "", session: str = "") -> Guidance:
    """Return advice for a task, a question or the error in an output, and record that it was given."""
    began = store.context.clock()
    error = error or quoted(task)
    active = (work for work in running(store) if work.task and work.task.status is TaskStatus.ACTIVE)
    work = next((memory for memory in active if session in {"", memory.session}), None)
    advice = [*_of_work(work, task, error), *(_of_error(store, error) if error else ())]
    if task.strip():
        hits = [hit for hit in _hits(store, task) if not hit.is_of(session or (work.session if work else ""))]
        advice += [*_by_authors(store, _of_memories(store, task, hits)), *_of_user(store, task)]
        advice += [*_of_errors_in(store, _files_in(task)), *_of_project(store, task)]
    lines = _kept(store, advice)
    ids = tuple(dict.fromkeys(source for line in lines for source in line.sources))
    session = session or (work.session if work else "")
    record_shown(store, ShownText(began, session, GUIDE, ids), "\n".join(line.text for line in lines))
    return Guidance(lines, round(max((line.confidence for line in lines), default=0.0), 2), _complexity(store, task))


def _kept(store: Store, lines: Iterable[Advice]) -> tuple[Advice, ...]:
    """Return the first lines of each part, without repetitions, marking statements that are not in force."""
    advised: list[Advice] = []
    for line in lines:
        same = [advice.text for advice in advised if advice.part is line.part]
        most = _MOST_DONE if line.part is AdviceKind.APPROACH else _LINES
        if line.text and len(same) < most and not any(is_same_line(line.text, line_before) for line_before in same):
            advised.append(line)
    return tuple(
        advice._replace(
            text=marked(store, advice.text, advice.sources[0]), confidence=round(min(advice.confidence, 1.0), 2)
        )
        for advice in advised
    )


def _by_authors(store: Store, lines: Iterable[Advice]) -> Iterator[Advice]:
    """Yield lines with the name of an author who is not the user, and without that author's risky commands."""
    authors, facts = Authors(store), {fact.id: fact for fact in known_facts(store) if fact.forbids}
    for line in lines:
        handle = line.sources[0]  # the parts of a pattern have their own authors
        author = "" if handle.startswith(LETTER) else authors.others(handle.partition(":")[0])
        if author and handle.startswith(("e", "x")):
            yield line._replace(text=from_other(line.text, author, handle))
        else:
            awaits = handle in facts and authors.awaits(facts[handle])
            yield line._replace(text=_said_by(line.text, author + f"; {AWAITS}" * awaits, handle))


def _of_work(memory: WorkingMemory | None, task: str, error: str) -> Iterator[Advice]:
    """Yield the session's attempts at these errors, its open hypotheses, and its unfixed errors related to the task."""
    if memory is None:
        return
    tag = short_session(memory.session)
    seen = read_errors(error) if error else []
    for occurrence in memory.errors:
        error_seen = signature(occurrence.type, occurrence.message)
        if any(is_again(error_seen, pattern) for pattern in seen):
            failure = f"`{occurrence.command}` failed with it at {occurrence.at[11:16]}: {occurrence.message}"
            yield Advice(AdviceKind.AVOID, f"The same again after {failure}", (tag,), 1.0)
    for hypothesis in memory.hypotheses:
        yield Advice(AdviceKind.TRY, f"Open: {hypothesis.text}", (f"{tag}/{hypothesis.id}",), hypothesis.confidence)
    words = stems_of(task)
    for occurrence in memory.failed:
        text = f"`{occurrence.command}` failed: {occurrence.message}"
        if near := len(words & stems_of(text)):
            yield Advice(AdviceKind.CHALLENGE, text, (tag,), near / len(words))


def _of_error(store: Store, error: str) -> Iterator[Advice]:
    """Yield the approaches of episodes with these errors, then the errors' working and failed solutions."""
    for episode in similar(store, error=error, limit=_EPISODES):
        yield from _by_authors(store, _of_episode(episode, episode.likeness, ()))
    matched = match(store, error)
    useful = counts(store) if matched else {}
    for hit in matched:
        pattern, alike = hit.pattern, hit.score
        if hit.solution:
            # The confidence of a fix grows if it helped when shown, and shrinks if not.
            sure = min(hit.score * hit.solution.confidence * usefulness_of(useful, (pattern.id,)) / BEGINS, 1.0)
            ids = (pattern.id, *hit.solution.worked[-_LINES:])
            yield Advice(AdviceKind.TRY, fix_line(hit), ids, sure / 2 if hit.author else sure)
        if hit.author:
            continue
        ids = (pattern.id, *pattern.seen[-_LINES:])
        for cause in pattern.causes[:1]:
            yield Advice(AdviceKind.CHALLENGE, f"Cause: {cause}", ids, alike)
        for solution in pattern.solutions:
            if solution.failed and not solution.worked:
                text = f"{solution.text} did not help against {pattern.title}"
                yield Advice(AdviceKind.AVOID, text, (pattern.id, *solution.failed[-_LINES:]), alike)


def _of_errors_in(store: Store, named: Sequence[str]) -> Iterator[Advice]:
    """Yield the last errors in these files with their fixes, skipping stale ones."""
    patterns = (pattern for pattern in known_patterns(store) if named and not pattern.stale)
    of_files = (pattern for pattern in patterns if any(_is_same(file, named) for file in pattern.files))
    for pattern in islice(filter(None, (user_part(store, pattern) for pattern in of_files)), _FEW):
        best = pattern.best()
        fixed = f"fixed by {best.text}" if best else "not known to be fixed"
        text = f"{pattern.title}: {seen_times(len(pattern.seen)).lower()}, {fixed}, last {pattern.updated:%Y-%m-%d}"
        ids = (pattern.id, *(best.worked if best else pattern.seen)[-_FEW:])
        yield Advice(AdviceKind.CHALLENGE, text, ids, best.confidence if best else SAME_ERROR)


def _is_same(file: str, named: Iterable[str]) -> bool:
    """Return whether one of the names is a file's whole path or the end of it."""
    return any(f"/{file}".endswith(f"/{name}") for name in named)


def _hits(store: Store, task: str) -> list[Hit]:
    """Return the hits of a search for the task, facts first; weak ones only if there are no others."""
    found = answer(store, plain_query(task), limit=_HITS, beside=EPISODES_FOLDER).hits
    hits = [hit for hit in found if not hit.is_beside]
    good = [hit for hit in hits if not hit.weak] or hits[:_LINES]
    return sorted(good, key=lambda hit: not hit.fact)


def _of_memories(store: Store, task: str, hits: Sequence[Hit]) -> Iterator[Advice]:
    """Yield the facts among the hits and the standing rules, episodes, bug patterns, then exchanges."""
    facts = {fact.id: fact for fact in in_force(known_facts(store))}
    for hit in hits:
        if hit.fact:
            forbids = hit.entry in facts and facts[hit.entry].forbids
            yield Advice(_part_of_fact(hit, forbids=bool(forbids)), _plain(hit), (hit.entry,), hit.coverage.share)
    rules = [fact for fact in facts.values() if fact.kind is FactKind.RULE]
    rules.sort(key=lambda fact: (len(fact.sources), fact.when, fact.id), reverse=True)
    label = "Check" if classify(task) is TaskType.REVIEW else "Rule"
    for fact in rules[:_RULES]:
        bans = label == "Rule" and (fact.forbids or is_negated(fact.description))
        part = AdviceKind.AVOID if bans else AdviceKind.APPROACH
        yield Advice(part, f"{label}: {fact.description}", (fact.id,), fact.confidence or 0.0)
    needles = needles_of(parse_query(plain_query(task)).terms)
    alike = [hit for hit in hits if hit.coverage.share >= _LEAST_SHARE and hit.coverage.words >= _LEAST_WORDS]
    shares = {hit.path: hit.coverage.share for hit in reversed(alike)}
    for episode in ranked_episodes(store, alike, alike=classify(task))[:_EPISODES]:
        yield from _of_episode(episode, shares[episode.path], needles)
    for hit in alike:
        yield from _of_pattern(store, hit)
    others = (hit for hit in hits if not hit.fact and not hit.path.startswith((*LINKED, _PATTERNS)))
    for hit in islice(others, _EXCHANGES):
        yield _of_exchange(hit, needles)


def _part_of_fact(hit: Hit, *, forbids: bool) -> AdviceKind:
    if hit.entry.startswith("i"):
        return AdviceKind.CHALLENGE
    return AdviceKind.AVOID if forbids or is_negated(_plain(hit)) else AdviceKind.APPROACH


def _of_pattern(store: Store, hit: Hit) -> Iterator[Advice]:
    """Yield the fix of a bug pattern, or its error; nothing for other hits."""
    read = read_pattern(store, hit.path) if hit.path.startswith(f"{BUGS}/") else None
    pattern = user_part(store, read) if read else None
    best = pattern.best() if pattern else None
    if pattern and best:
        ids, sure = (pattern.id, *best.worked[-_LINES:]), min(hit.coverage.share, 1.0) * best.confidence
        yield Advice(AdviceKind.TRY, f"{pattern.title}: fixed by {best.text}", ids, sure)
    elif pattern:
        yield Advice(AdviceKind.CHALLENGE, pattern.title, (pattern.id,), min(hit.coverage.share, 1.0))


def _of_exchange(hit: Hit, needles: Sequence[str]) -> Advice:
    """Return the lines of an exchange or section most related to the task; a refuted one is to be avoided."""
    text = excerpt_of(hit, needles, _TOKENS)
    part = AdviceKind.AVOID if hit.status.startswith(Outcome.REFUTED.value) else AdviceKind.APPROACH
    source = hit.entry or f"{hit.path}:{hit.start}"
    text += f" ({hit.reply})" if text and hit.reply else ""
    return Advice(part, f"{hit.date[:_DATE]} {text}".strip() if text else "", (source,), hit.coverage.share)


def _plain(hit: Hit) -> str:
    """Return the text of a fact on one line, shortened, with the model that found it."""
    return one_line(bare_text(hit.text), _LONGEST) + (f" ({hit.found})" if hit.found else "")


def _of_episode(ranked: RankedEpisode, share: float, needles: Sequence[str]) -> Iterator[Advice]:
    """Yield the advice of an episode that has a `share` of the task's words, `needles`.

    Only lessons that share a word with the task count; the fix of an error is shown when the error recurs.
    """
    episode, source = ranked.episode, (ranked.episode.id,)
    # The confidence grows if the episode helped before, and shrinks if not.
    sure = share * ranked.count.usefulness / BEGINS
    failed = episode.outcome in {Outcome.FAILED, Outcome.REFUTED}
    plan = "; ".join(step[4:] for step in episode.plan if step.startswith("[x] "))
    if episode.solution or plan:
        ended = f" ({episode.outcome.value})" if episode.outcome else ""
        text = f"{one_line(episode.task, _TASK)}{ended}: {episode.solution}"
        # The reason of the failure is unknown, so the approach may still be right.
        part = AdviceKind.CHALLENGE if failed else AdviceKind.APPROACH
        yield Advice(part, one_line(f"{text} Steps: {plan}" if plan else text, _LONGEST), source, sure)
    tried = [line for line in episode.gotchas if "did not help" in line]
    others = [line for line in episode.gotchas if line not in tried]
    for part, lines in (
        (AdviceKind.TRY, () if failed else episode.tips),
        (AdviceKind.AVOID, tried),
        (AdviceKind.CHALLENGE, others),
    ):
        near = [line for line in lines if any(needle in fold(line) for needle in needles)]
        yield from (Advice(part, text, source, sure) for text in near[:_FEW])


def _of_user(store: Store, task: str) -> Iterator[Advice]:
    """Yield the user's own preferences and rules and the private facts related to a task."""
    hits = with_other_layers(store, plain_query(task), SearchAnswer([], "")).hits
    for hit in (hit for hit in hits if hit.entry and (hit.own or hit.fact) and hit.coverage.share >= _SHARE_OF_RULE):
        text = _plain(hit)
        part = AdviceKind.AVOID if is_negated(text) else AdviceKind.APPROACH
        yield Advice(part, _said_by(text, hit.author, hit.entry), (hit.entry,), hit.coverage.share)


def _said_by(text: str, author: str, handle: str) -> str:
    return f"{without_risk(text, handle)} (by {author})" if author else text


def _of_project(store: Store, task: str) -> Iterator[Advice]:
    """Yield the lines of project knowledge related to a task by files, purposes of commands, or two words."""
    words, purposes, named = stems_of(task), tuple(purposes_in(task)), _files_in(task)
    for known, data in known_knowledge(store):
        source = (known.kind.path,)
        if known.kind is KnowledgeKind.COMMANDS:
            for command in read_commands(data).values():
                lines = [line for line in command_lines([command], counted=True) if line.startswith(purposes)]
                part = AdviceKind.CHALLENGE if command.fails_now else AdviceKind.TRY
                yield from (Advice(part, line, source, len(command.worked) / command.tried) for line in lines)
            continue
        if known.kind is KnowledgeKind.HOTSPOTS:
            part = AdviceKind.CHALLENGE
            near = [line for line in known.lines if any(_is_same(file, named) for file in _files_in(line))]
        else:
            part = AdviceKind.APPROACH
            near = [line for line in known.lines if len(words & stems_of(line)) >= _FEW]
        yield from (Advice(part, line, source, known.confidence) for line in near[:_OF_PROJECT])


def _complexity(store: Store, task: str) -> Complexity | None:
    """Return how hard a task may be: none, one or more of the files it names are among those that change most."""
    named = _files_in(task)
    known = known_knowledge(store) if named else ()
    lines = [line for knowledge, _ in known if knowledge.kind is KnowledgeKind.HOTSPOTS for line in knowledge.lines]
    hot = {file for line in lines for file in _files_in(line)}
    if not hot:
        return None
    number = sum(any(_is_same(file, [name]) for file in hot) for name in set(named))
    return (Complexity.LOW, Complexity.MEDIUM)[number] if number < _FEW else Complexity.HIGH


def _files_in(text: str) -> list[str]:
    """Return the files that a text names."""
    return [match[0].removeprefix("./") for match in _FILE.finditer(text)]
