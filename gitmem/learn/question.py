"""Compose the question about a session: its record in windows, and what is known already. Pure.

Tested through `tests/learn/test_reply.py`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gitmem.learn.concepts import Concept
from gitmem.llm import Question, Size
from gitmem.model.compare import stems_of
from gitmem.model.fact import Fact, FactKind
from gitmem.model.turns import Turn, human_text
from gitmem.model.validity import in_force
from gitmem.values import Value

PURPOSE = "session"
PERSON, AGENT, TOOL = "PERSON", "AGENT", "TOOL"
MENDED = "CHANGED SINCE:"  # begins the part of a tool that says what was done until a failing command worked
CHANGED = "CHANGED FILES"  # begins the part of a tool that names the files a request changed
NEW, REPLACES, CONFIRMS, RESOLVES = "new", "replaces", "confirms", "resolves"
KINDS = {
    "decision": FactKind.DECISION,
    "rule": FactKind.RULE,
    "preference": FactKind.PREFERENCE,
    "gotcha": FactKind.CORE_LOGIC,
    "issue": FactKind.ISSUE,
    "knowledge": FactKind.CORE_LOGIC,
}
_WINDOW_BYTES = 12_000 * 4  # of the record in one question: 12,000 tokens (spec R1)
_KNOWN_BYTES = 2_000 * 4
_LENGTHS = (4_000, 2_000, 1_000, 500)  # characters of a part, the fewer the longer the session
_WINDOWS = 3  # up to which a session is shown with its longest parts
_MOST_WINDOWS = 6
_MID, _ERROR, _COMMAND, _MEND = 600, 500, 300, 600  # characters of other texts
_MOST_FAILURES = 6  # of a request
_MOST_FILES = 12
_MOST_CONCEPTS = 15
_TEXT = {"type": "string"}
_NUMBERS = {"type": "array", "items": {"type": "integer"}}


def _list_of(**fields: object) -> dict[str, object]:
    item = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    return {"type": "array", "items": item}


_QUOTED = {"request": {"type": "integer"}, "quote": _TEXT}
_RELATION = {"relation": {"type": "string", "enum": [NEW, REPLACES, CONFIRMS, RESOLVES]}, "known": _TEXT}
_OUTCOME = {"type": "string", "enum": ["success", "partial", "failed"]}
_ASKED: dict[str, object] = {
    "facts": _list_of(
        kind={"type": "string", "enum": list(KINDS)}, statement=_TEXT, reason=_TEXT, **_QUOTED, **_RELATION
    ),
    "mends": _list_of(error=_TEXT, cause=_TEXT, mend=_TEXT, **_QUOTED),
    "episodes": _list_of(task=_TEXT, tried=_TEXT, solution=_TEXT, outcome=_OUTCOME, requests=_NUMBERS),
    "concepts": _list_of(name=_TEXT, known=_TEXT, requests=_NUMBERS),
    "open": {"type": "array", "items": _TEXT},
    "summary": _TEXT,
}
SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": _ASKED,
    "required": list(_ASKED),
    "additionalProperties": False,
}


class SaidPart(Value):
    """What somebody said in a request, numbered from 1; `who` is PERSON, AGENT or TOOL."""

    request: int
    who: str
    text: str

    def __str__(self) -> str:
        """Return the part as the question shows it."""
        return f"[{self.request}] {self.who}: {self.text}"


class KnownMemory(Value):
    """What the memory holds on the subjects of a session; in a question they are F1, F2 … and C1, C2 …."""

    facts: tuple[Fact, ...] = ()
    concepts: tuple[Concept, ...] = ()

    def names(self) -> dict[str, Fact]:
        """Return the facts by their names in the question."""
        return {f"F{number}": fact for number, fact in enumerate(self.facts, 1)}


def windows_of(turns: Sequence[Turn]) -> list[tuple[SaidPart, ...]]:
    """Return the record of a session, whose turns are redacted, in windows of at most 12,000 tokens.

    Parts of a long session are shortened; of one that is longer still, the first window and the last ones count.
    """
    windows: list[tuple[SaidPart, ...]] = []
    for length in _LENGTHS:
        windows = list(_windows(_parts(turns, length)))
        if len(windows) <= _WINDOWS:
            return windows
    return windows if len(windows) <= _MOST_WINDOWS else [windows[0], *windows[1 - _MOST_WINDOWS :]]


def _windows(parts: Iterable[SaidPart]) -> Iterator[tuple[SaidPart, ...]]:
    window: list[SaidPart] = []
    size = 0
    for part in parts:
        more = len(str(part).encode("utf-8", "replace")) + 1
        if window and size + more > _WINDOW_BYTES:
            yield tuple(window)
            window, size = [], 0
        window.append(part)
        size += more
    if window:
        yield tuple(window)


def _parts(turns: Sequence[Turn], length: int) -> Iterator[SaidPart]:
    for number, turn in enumerate(turns, 1):
        said, tools = (human_text(text) for text in turn.said), [*_failed(turn)]
        tools += [f"{CHANGED} {', '.join(turn.files[:_MOST_FILES])}"] if turn.files else []
        folder = f"{turn.cwd}/" if turn.cwd else ""
        texts = [
            (PERSON, _clipped(human_text(turn.prompt), length)),
            *((AGENT, _clipped(text, min(length, _MID))) for text in said),
            *((TOOL, text.replace(folder, "") if folder else text) for text in tools),
            (AGENT, _clipped(human_text(turn.answer), length)),
        ]
        yield from (SaidPart(number, who, text) for who, text in texts if text.strip())


def _failed(turn: Turn) -> Iterator[str]:
    """Yield each failing command of a turn with its error, and what was changed until it worked."""
    for failure in turn.failures[:_MOST_FAILURES]:
        yield f"FAILED `{_clipped(failure.command, _COMMAND)}`: {_clipped(failure.error, _ERROR)}"
        if failure.fixed_by:
            done = _clipped(failure.meanwhile, _MEND) or "nothing that was seen"
            yield f"{MENDED} {done}\nTHEN WORKED `{_clipped(failure.fixed_by, _COMMAND)}`"


def _clipped(text: str, most: int) -> str:
    """Return a text without its middle if it is long, and without blank lines."""
    text = re.sub(r"\n\s*\n", "\n", text.strip())
    return text if len(text) <= most else f"{text[: most * 2 // 3].rstrip()} […] {text[-(most // 3) :].lstrip()}"


def choose_known(parts: Iterable[SaidPart], facts: Iterable[Fact], concepts: Iterable[Concept]) -> KnownMemory:
    """Return the facts in force and the concepts that share most words with a session, within 2,000 tokens."""
    said = frozenset(stem for part in parts for stem in stems_of(part.text))
    words = [(stems_of(fact.description), fact) for fact in in_force(facts)]
    ranked = sorted(
        ((len(stems & said) / len(stems), fact.when, fact.id, fact) for stems, fact in words if stems), reverse=True
    )
    room = _KNOWN_BYTES
    chosen = []
    for share, _, _, fact in ranked:
        room -= len(fact.description.encode("utf-8", "replace")) + 20
        if not share or room < 0:
            break
        chosen.append(fact)
    shared = (
        (len(stems_of(" ".join((concept.name, *concept.keywords))) & said), concept.updated, concept)
        for concept in concepts
    )
    near = sorted((one for one in shared if one[0]), key=lambda one: one[:2], reverse=True)
    return KnownMemory(tuple(chosen), tuple(concept for *_, concept in near[:_MOST_CONCEPTS]))


def question_of(
    instructions: str, window: Iterable[SaidPart], known: KnownMemory, found: Mapping[str, str]
) -> Question:
    """Return the question about one window; `found` are statements of the windows before it, by name.

    A larger model is asked where a known fact is disputed (spec V9).
    """
    lines = ["KNOWN"]
    lines += [f"{name} {fact.kind.value}: {fact.description}" for name, fact in known.names().items()]
    lines += [f"C{number} concept: {concept.name}" for number, concept in enumerate(known.concepts, 1)]
    lines += [f"{name} found in this session: {statement}" for name, statement in found.items()]
    lines += ["(nothing)"] if len(lines) == 1 else []
    material = "\n".join([*lines, "", "RECORD", *map(str, window)])
    size = Size.LARGE if any(fact.review for fact in known.facts) else Size.SMALL
    return Question(PURPOSE, instructions, material, SCHEMA, size, most_tokens=4_000)


def digest_of(question: Question) -> str:
    """Return the digest of all that a model is told in a question; an answer that was recorded counts for no other."""
    text = json.dumps([question.instructions, question.material, question.schema], ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
