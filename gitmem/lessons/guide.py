"""Guidance for a task, a question or an error (spec M4).

Working memory is asked first, then episodes and exchanges, then facts, the person's preferences,
bug patterns and what is known of the project.
Each line names its sources. Memories without a clear match are left out, even if no line remains.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from gitmem.document.ids import BUGS, short_session
from gitmem.lessons.advice import (
    EPISODES,
    Line,
    Part,
    files_in,
    is_repeated,
    of_authors,
    of_episodes,
    of_errors_in,
    of_project,
    of_review,
)
from gitmem.lessons.counts import BEGINS, usefulness_of
from gitmem.lessons.episode import FOLDER as EPISODES_FOLDER
from gitmem.lessons.episodes import Ranked, ranked_episodes, similar
from gitmem.lessons.error import MATCH, ErrorSignature, likeness, names_in, quoted, read_errors
from gitmem.lessons.fix import mend_line
from gitmem.lessons.pattern import FOLDER as PATTERNS
from gitmem.lessons.prompt import excerpt, needles_of, plain_query
from gitmem.lessons.read import counts, match, own_part, read_pattern
from gitmem.lessons.usage_log import GUIDE, GivenText, note_asked
from gitmem.search.engine import Answer, answer
from gitmem.search.hits import Hit
from gitmem.search.query import fold, parse_query
from gitmem.search.recall import with_own
from gitmem.search.units import bare_text, fields_in
from gitmem.sessions.memory import running
from gitmem.sessions.state import TaskStatus, TaskType, WorkingMemory, classify
from gitmem.store.headers import marked
from gitmem.store.store import Store
from gitmem.values import Value

_HITS = 12
_FIRST = 3  # hits of which one matches a task, if any does
_LINES = 4  # of a part
_TOKENS = 60  # of a line
_CHALLENGES = ("i",)  # letters of the ids of facts that are open issues
_CONCEPT = "k"
# The least that a memory shares with a task: the weighted share of its words, their weight, their number.
_ASKED, _ORDERED = (0.25, 4.5, 2), (0.3, 6.0, 2)
_LIKE_THE_BEST = 0.6  # of the best memory's share of words
_RULE = re.compile(r"(?m)^\s*\|[-| :]*\|\s*$")  # of a table
_MARKS = r"^\s*(?:#{1,6}|[-*>])\s+|\*\*"  # of headings, lists and bold words
_ENDS = (".", "!", "?", ":", "。", "|")
_NOT_SAID = r"(?m)^(?:Asked|Files|Failed|요청|파일|실패): .*$|^(?:Done|한 일): "  # in an entry of memory.md
_FORBIDS = re.compile(r"\b(?:never|don't|do not|avoid)\b|하지 ?마|쓰지 ?마|금지", re.IGNORECASE)


class Guidance(Value):
    """The advice for a situation."""

    lines: tuple[Line, ...]
    confidence: float


def guide(store: Store, task: str, *, error: str = "", session: str = "") -> Guidance:
    """Return advice for a task, a question, or the error in an output, and record that it was given."""
    began = store.context.clock()
    error = error or quoted(task)
    work = _running(store, session)
    hits = _fitting(store, task) if task.strip() else []
    episodes = ranked_episodes(store, hits, alike=classify(task))[:EPISODES]
    files = episodes[0].episode.files if episodes else ()
    project = [*of_errors_in(store, files_in(task)), *of_project(store, task, files)] if task.strip() else []
    person = list(_of_person(store, task)) if task.strip() else []
    past = [*of_review(store, task), *_of_past(hits, episodes, task), *_of_hits(store, hits, episodes, task)]
    past = list(of_authors(store, past))
    # A question wants general knowledge before single cases.
    asks = classify(task) is TaskType.QUESTION
    learned = [*person, *project, *past] if asks else [*past, *person, *project]
    lines = _kept(store, [*_of_work(work, task, error), *(_of_error(store, error) if error else ()), *learned])
    ids = tuple(dict.fromkeys(source for line in lines for source in line.sources))
    session = session or (work.session if work else "")
    note_asked(store, GivenText(began, session, GUIDE, ids), "\n".join(line.text for line in lines))
    return Guidance(lines, round(max((line.confidence for line in lines), default=0.0), 2))


def _kept(store: Store, lines: Iterable[Line]) -> tuple[Line, ...]:
    """Return the first lines of each part, without repetitions, with marks on what does not hold."""
    kept: list[Line] = []
    for line in lines:
        same = [one.text for one in kept if one.part is line.part]
        if len(same) < _LINES and not is_repeated(line.text, same):
            kept.append(line)
    return tuple(one._replace(text=marked(store, one.text, one.sources[0])) for one in kept)


def _fitting(store: Store, task: str) -> list[Hit]:
    """Return the memories that clearly match a task, about as well as the best of the first.

    The very first may be near by its vector only.
    """
    hits = answer(store, plain_query(task), limit=_HITS, beside=EPISODES_FOLDER).hits
    least = _ASKED if classify(task) is TaskType.QUESTION else _ORDERED
    best = next((hit for hit in hits[:_FIRST] if _reaches(hit, least)), None)
    if best is None:
        return []
    worst = max(best.worth.share * _LIKE_THE_BEST, least[0])
    return [hit for hit in hits if hit.worth.share >= worst and not hit.weak]


def _reaches(hit: Hit, least: tuple[float, float, int]) -> bool:
    share, weight, words = least
    return hit.worth.share >= share and hit.worth.weight >= weight and hit.worth.words >= words


def _running(store: Store, session: str) -> WorkingMemory | None:
    """Return the working memory of the session, or of the newest with an active task."""
    return next(
        (
            memory
            for memory in running(store)
            if session in {"", memory.session} and memory.task and memory.task.status is TaskStatus.ACTIVE
        ),
        None,
    )


def _of_work(memory: WorkingMemory | None, task: str, error: str) -> Iterator[Line]:
    """Yield what the session tried against these errors, its open hypotheses, and its unmended errors near the task."""
    if memory is None:
        return
    tag = short_session(memory.session)
    seen = read_errors(error) if error else []
    for known in memory.errors:
        signature = ErrorSignature(known.type, known.message, names_in(known.message))
        if any(likeness(signature, one) > MATCH for one in seen):
            text = f"The same again after `{known.command}` failed with it at {known.at[11:16]}: {known.message}"
            yield Line(Part.AVOID, text, (tag,), 1.0)
    for one in memory.hypotheses:
        yield Line(Part.TRY, f"Open: {one.text}", (f"{tag}/{one.id}",), round(one.confidence, 2))
    terms = parse_query(plain_query(task)).terms
    for known in memory.failed:
        text = f"`{known.command}` failed: {known.message}"
        near = [one.weight for one in terms if any(needle.text in fold(text) for needle in one.needles)]
        if near:
            yield Line(Part.CHALLENGE, text, (tag,), round(sum(near) / sum(one.weight for one in terms), 2))


def _of_error(store: Store, error: str) -> Iterator[Line]:
    """Yield what episodes with these errors did, then the working and the failed solutions of the errors."""
    found = similar(store, error=error, limit=EPISODES)
    yield from of_authors(store, of_episodes(found, {one.path: one.likeness for one in found}, {}))
    matched = match(store, error)
    useful = counts(store) if matched else {}
    for one in matched:
        if one.solution:
            # A mend that helped whom it was told is surer, one that did not is less sure.
            helped = usefulness_of(useful, (one.pattern.id, *one.pattern.episodes)) / BEGINS
            sure = round(min(one.score * one.solution.confidence * helped, 1.0), 2)
            ids = (one.pattern.id, *one.pattern.episodes[-1:], *one.solution.worked[-_LINES:])
            yield Line(Part.TRY, mend_line(one), ids, round(sure / 2, 2) if one.author else sure)
        if one.author:
            continue
        for cause in one.pattern.causes[:1]:
            yield Line(
                Part.CHALLENGE, f"Cause: {cause.text}", (one.pattern.id, *cause.said[-_LINES:]), round(one.score, 2)
            )
        for other in one.pattern.solutions:
            if other.failed and not other.worked:
                text = f"{other.text} did not help against {one.pattern.title}"
                yield Line(Part.AVOID, text, (one.pattern.id, *other.failed[-_LINES:]), round(one.score, 2))


def _of_past(hits: Sequence[Hit], episodes: Sequence[Ranked], task: str) -> Iterator[Line]:
    """Yield the advice of episodes like a task, in the words of their exchanges where these are hits, too."""
    needles = needles_of(plain_query(task))
    said = {hit.entry: _excerpt(hit, needles) for hit in hits if hit.entry and not hit.fact}
    shares: dict[str, float] = {}
    for hit in hits:
        shares.setdefault(hit.path, hit.worth.share)
    yield from of_episodes(episodes, shares, said, needles)


def _of_hits(store: Store, hits: Sequence[Hit], episodes: Sequence[Ranked], task: str) -> Iterator[Line]:
    """Yield what exchanges and facts say: approaches, failures, open issues; then bug patterns."""
    needles = needles_of(plain_query(task))
    told = {exchange for one in episodes for exchange in one.episode.exchanges}
    for hit in hits:
        if hit.path.startswith((f"{EPISODES_FOLDER}/", f"{PATTERNS}/")) or hit.entry in told:
            continue
        yield from _of_hit(hit, _excerpt(hit, needles))
    for hit in hits:
        read = read_pattern(store, hit.path) if hit.path.startswith(f"{BUGS}/") else None
        pattern = own_part(store, read) if read else None
        best = pattern.best() if pattern else None
        if pattern and best:
            text, sure = f"{pattern.title}: mended by {best.text}", min(hit.worth.share, 1.0) * best.confidence
            yield Line(Part.TRY, text, (pattern.id, *best.worked[-_LINES:]), round(sure, 2))
        elif pattern:
            yield Line(Part.CHALLENGE, pattern.title, (pattern.id,), round(min(hit.worth.share, 1.0), 2))


def _of_hit(hit: Hit, text: str) -> Iterator[Line]:
    """Yield the text of a fact, or the answer of an exchange: its errors have patterns."""
    sources, sure = (hit.entry or f"{hit.path}:{hit.start}",), round(min(hit.worth.share, 1.0), 2)
    if hit.fact:
        yield Line(Part.CHALLENGE if hit.entry.startswith(_CHALLENGES) else Part.APPROACH, text, sources, sure)
        return
    fields = fields_in(hit.text)
    if hit.entry.startswith(_CONCEPT) or (fields.outcome and not fields.answer):
        return  # a list of exchanges, and a request that nothing came of
    yield Line(Part.CHALLENGE if fields.outcome == "failed" else Part.APPROACH, text, sources, sure)


def _of_person(store: Store, task: str) -> Iterator[Line]:
    """Yield the person's own preferences and rules that a task speaks of."""
    for hit in with_own(store, plain_query(task), Answer([], "")).hits:
        if hit.worth.share >= _ASKED[0]:
            text = " ".join(bare_text(hit.text).split())
            part = Part.AVOID if _FORBIDS.search(text) else Part.APPROACH
            yield Line(part, text[: _TOKENS * 4], (hit.entry,), round(min(hit.worth.share, 1.0), 2))


def _excerpt(hit: Hit, needles: Sequence[str]) -> str:
    """Return the lines of a memory that say most of a task; of an exchange those of its answer."""
    fields = fields_in(hit.text)
    said = "\n".join(filter(None, (fields.answer, *fields.said))) or re.sub(_NOT_SAID, "", bare_text(hit.text))
    return _joined(excerpt(_RULE.sub("", said), needles, _TOKENS).splitlines())


def _joined(lines: Iterable[str]) -> str:
    """Return lines of markdown as one line of plain text."""
    bare = [" ".join(re.sub(_MARKS, "", line).split()) for line in lines]
    ended = [f"{line.rstrip(';,')}{'' if line.endswith(_ENDS) else ';'}" for line in bare if line]
    return " ".join(ended).rstrip(";")


_SURE = {0.75: "These fit well.", 0.5: "These fit in part.", 0: "These are only alike in some words."}


def as_text(found: Guidance, *, person: bool = False) -> str:
    """Return guidance as a few headed lines, "" where there is none; a `person` gets how sure it is in words."""
    if not found.lines:
        return ""
    titles = {
        Part.APPROACH: "What was done and decided",
        Part.TRY: "Try",
        Part.AVOID: "Avoid",
        Part.CHALLENGE: "Expect",
    }
    lines = []
    for part, title in titles.items():
        own = [line for line in found.lines if line.part is part]
        lines += [f"{title}:", *(f"- {line.text} ({_sources(line)})" for line in own)] if own else []
    if person:
        sure = next(words for least, words in _SURE.items() if found.confidence >= least)
        return "\n".join([*lines, "", f"{sure} 'gitmem show ^ID' prints a source."])
    return "\n".join([*lines, f"confidence: {found.confidence:.2f}"])


def _sources(line: Line) -> str:
    return " ".join(source if "/" in source or ":" in source else f"^{source}" for source in line.sources)
