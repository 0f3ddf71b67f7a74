"""Guidance for a task, a question or an error: from working memory, then exchanges, then facts and patterns (spec M4).

Each line names its sources. Memories without a clear match are left out, even if no line remains.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from gitmem.memory.guide.asked import note_asked
from gitmem.memory.guide.excerpt import excerpt
from gitmem.memory.guide.given import GUIDE, Given
from gitmem.memory.guide.mend import mend_line
from gitmem.memory.guide.prompt import ASKED, plain_query
from gitmem.memory.learned.known import match
from gitmem.memory.task.working import running
from gitmem.model.learned.task import TaskStatus
from gitmem.model.session.fields import MENDED, split_fields
from gitmem.search.engine import answer
from gitmem.search.query.query import parse_query
from gitmem.search.units.bare import bare_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitmem.search.order.hits import Hit
    from gitmem.store.store import Store

_HITS = 12
_LINES = 4  # of a kind
_TOKENS = 60  # of a line
_FEW_FILES, _MANY_FILES = 3, 6  # changed files from which complexity is medium, or high
_CHALLENGES = ("i",)  # letters of the ids of facts that are open issues
_CONCEPT = "k"
_KINDS = {
    "convention": r"\b(?:conventions?|style|format(?:ting)?|naming|lint\w*)\b|관례|규칙|스타일",
    "past_approach": r"\b(?:did we|have we|had we|last time|before|previously|earlier)\b|전에|지난번|예전",
    "how_to": r"^how\b|\bhow (?:do|to|can|should)\b|어떻게",
}


class Part(StrEnum):
    """The use of a line of guidance."""

    APPROACH = "approach"
    TRY = "try"
    AVOID = "avoid"
    CHALLENGE = "challenge"


@dataclass(frozen=True, slots=True)
class Line:
    """A piece of advice, the ids of its sources, and its confidence, 0 to 1."""

    part: Part
    text: str
    sources: tuple[str, ...]
    confidence: float


@dataclass(frozen=True, slots=True)
class Guidance:
    """The advice for a situation; `complexity` is "" if no similar task is remembered."""

    kind: str
    lines: tuple[Line, ...]
    complexity: str
    confidence: float


def guide(store: Store, task: str, *, error: str = "", session: str = "") -> Guidance:
    """Return advice for a task, a question, or the error in an output, and record that it was given."""
    began = store.context.clock()
    hits = _fitting(store, task) if task.strip() else []
    lines = [*_of_work(store, session), *_of_error(store, error), *_of_hits(hits, task)]
    kept: list[Line] = []
    for line in lines:
        if sum(one.part is line.part for one in kept) < _LINES and line.text not in {one.text for one in kept}:
            kept.append(line)
    found = Guidance(
        kind_of(task, error),
        tuple(kept),
        _complexity(hits),
        round(max((line.confidence for line in kept), default=0.0), 2),
    )
    ids = tuple(dict.fromkeys(source for line in kept for source in line.sources))
    note_asked(store, Given(began, session, GUIDE, ids), "\n".join(line.text for line in kept))
    return found


def kind_of(task: str, error: str = "") -> str:
    """Return the kind of guidance that a task or an error asks for."""
    if error:
        return "similar_error"
    low = task.casefold()
    return next((kind for kind, words in _KINDS.items() if re.search(words, low)), "general")


def _fitting(store: Store, task: str) -> list[Hit]:
    """Return the memories that clearly match a task."""
    hits = answer(store, plain_query(task), limit=_HITS).hits
    if not hits or hits[0].worth.share < ASKED.share or hits[0].worth.weight < ASKED.weight:
        return []
    return [hit for hit in hits if hit.worth.share >= ASKED.share and not hit.weak]


def _of_work(store: Store, session: str) -> Iterator[Line]:
    """Yield the open hypotheses and the unmended errors of the running session."""
    for memory in running(store):
        if session not in {"", memory.session} or memory.task is None or memory.task.status is not TaskStatus.ACTIVE:
            continue
        for one in memory.hypotheses:
            yield Line(Part.TRY, f"Open: {one.text}", (f"{memory.session[:8]}/{one.id}",), round(one.confidence, 2))
        for error in memory.errors:
            if not error.mended_by:
                yield Line(Part.CHALLENGE, f"`{error.command}` failed: {error.message}", (memory.session[:8],), 1.0)
        return


def _of_error(store: Store, error: str) -> Iterator[Line]:
    """Yield the working and the failed solutions of an error."""
    for found in match(store, error) if error else []:
        if found.solution:
            sure = round(found.score * found.solution.confidence, 2)
            yield Line(Part.TRY, mend_line(found), (found.pattern.id, *found.solution.worked[-_LINES:]), sure)
        for solution in found.pattern.solutions:
            if solution.failed and not solution.worked:
                text = f"{solution.text} did not help against {found.pattern.title}"
                yield Line(Part.AVOID, text, (found.pattern.id, *solution.failed[-_LINES:]), round(found.score, 2))


def _of_hits(hits: Sequence[Hit], task: str) -> Iterator[Line]:
    """Yield lines of exchanges and facts: past approaches, failures, open issues."""
    needles = [needle.text for term in parse_query(plain_query(task)).terms for needle in term.needles]
    for hit in hits:
        sources, sure = (hit.entry or f"{hit.path}:{hit.start}",), round(min(hit.worth.share, 1.0), 2)
        text = " ".join(excerpt(bare_text(hit.text), needles, _TOKENS).split())
        if hit.fact:
            part = Part.CHALLENGE if hit.entry.startswith(_CHALLENGES) else Part.APPROACH
            yield Line(part, text, sources, sure)
            continue
        fields = split_fields(bare_text(hit.text))
        if hit.entry.startswith(_CONCEPT) or (fields.outcome and not fields.answer):
            continue  # a concept is a list of exchanges; a request without an answer advises nothing
        yield Line(Part.AVOID if fields.outcome == "failed" else Part.APPROACH, text, sources, sure)
        for error in fields.errors:
            line = " ".join(error.split())
            mended = MENDED.strip() in line
            yield Line(Part.TRY if mended else Part.CHALLENGE, line[: _TOKENS * 4], sources, sure)


def _complexity(hits: Sequence[Hit]) -> str:
    """Return the complexity of similar tasks, by the number of files they changed; "" without any."""
    counts = [len(split_fields(bare_text(hit.text)).files) for hit in hits if not hit.fact]
    if not counts:
        return ""
    files = max(counts)
    return "high" if files >= _MANY_FILES else "medium" if files >= _FEW_FILES else "low"


def as_text(found: Guidance) -> str:
    """Return guidance as a few headed lines, "" where there is none."""
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
    about = [f"complexity: {found.complexity}"] if found.complexity else []
    return "\n".join([*lines, ", ".join([*about, f"confidence: {found.confidence:.2f}"])])


def _sources(line: Line) -> str:
    return " ".join(source if "/" in source or ":" in source else f"^{source}" for source in line.sources)
