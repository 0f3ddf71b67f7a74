"""Compose the question about a session: its record in windows, and the known memory. Pure.

Tested through `tests/learn/test_reply.py`.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import accumulate

from gitmem.llm.protocol import Question, Size
from gitmem.model.command import only_reads
from gitmem.model.concept import Concept
from gitmem.model.events import UserWords
from gitmem.model.exchange import listed_files
from gitmem.model.fact import Fact, FactKind, day_of
from gitmem.model.outcome import Outcome, error_line, verdict_of
from gitmem.model.similarity import WEIGHED, stems_of
from gitmem.model.turns import Turn
from gitmem.model.validity import in_force
from gitmem.model.words import human_text, own_statements, render_words, states
from gitmem.values import Value

PURPOSE = "session"
USER, AGENT, TOOL = "USER", "AGENT", "TOOL"
CUT = "[…]"  # stands for the middle of a text that is left out
FIXED = "CHANGED SINCE:"  # begins a tool's part with the changes until a failing command worked
RAN = "RAN"  # begins a tool's part with the last commands that worked and did more than read
CHANGED = "CHANGED FILES"  # begins a tool's part with the files that a request changed
_STOPPED, _ENDS = "INTERRUPTED by USER", "ENDS HERE, before an answer"  # parts of a tool; the second ends a cut record
LASTS = "yes"  # value of `lasts`: the fact matters beyond the task at hand
KINDS = {
    "decision": FactKind.DECISION,
    "rule": FactKind.RULE,
    "preference": FactKind.PREFERENCE,
    "gotcha": FactKind.CORE_LOGIC,
    "issue": FactKind.ISSUE,
    "knowledge": FactKind.CORE_LOGIC,
}
STATES = {
    "done": Outcome.SUCCESS,
    "partial": Outcome.PARTIAL,
    "failed": Outcome.FAILED,
    "refuted": Outcome.REFUTED,
}
_WINDOW_BYTES = 12_000 * 4  # of the record in one question: 12,000 tokens
_KNOWN_BYTES = 3_000 * 4
_LENGTHS = (4_000, 2_000, 1_000, 500)  # characters of a part, the fewer the longer the session
_WINDOWS = 3  # of a session, up to which its parts may have the greatest length
_MOST_WINDOWS = 6
_MID, _ERROR, _COMMAND, _FIX = 600, 500, 300, 600  # characters of other texts
_MOST_FAILURES, _MOST_RUNS, _RUN = 6, 5, 160  # of a request: commands that failed, others, and characters of each
_MOST_CONCEPTS = 15
_MOST_PAIRS = 6
_LINE_START = 40  # bytes of a known fact's name, date and kind
_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_QUOTED = {"request": {"type": "integer"}, "quote": _TEXT}


class EndReason(StrEnum):
    """Why a known fact is no longer in force."""

    REPLACED = "replaced"
    DONE = "done"
    DROPPED = "dropped"


class PairDecision(StrEnum):
    """The verdict on a pair of facts that contradict each other."""

    NEW = "keep_new"
    OLD = "keep_old"
    MERGE = "merge"
    BOTH = "both"


def _one_of(words: Iterable[str]) -> dict[str, object]:
    return {"type": "string", "enum": list(words)}


def _object(**fields: object) -> dict[str, object]:
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def _list_of(**fields: object) -> dict[str, object]:
    return {"type": "array", "items": _object(**fields)}


def _schema(**more: object) -> dict[str, object]:
    """Return the schema of an answer; `more` fields of a request come first, so that a model thinks of them first."""
    return _object(
        ended=_list_of(known=_TEXTS, why=_one_of(EndReason), now=_TEXT, **_QUOTED),
        pairs=_list_of(pair=_TEXT, keep=_one_of(PairDecision), statement=_TEXT),
        facts=_list_of(
            kind=_one_of(KINDS),
            lasts=_one_of((LASTS, "no")),
            statement=_TEXT,
            reason=_TEXT,
            **_QUOTED,
            known=_TEXTS,
            until=_TEXT,
            forbids=_TEXTS,
        ),
        mends=_list_of(error=_TEXT, cause=_TEXT, mend=_TEXT, **_QUOTED),
        requests=_list_of(request={"type": "integer"}, **more, state=_one_of(STATES), sentence=_TEXT, topic=_TEXT),
    )


SCHEMA = _schema(left=_TEXT)
ANSWERED = _schema()  # of a stored answer; older ones lack `left`


class RecordPart(Value):
    """What somebody said in a request, numbered from 1; `who` is USER, AGENT or TOOL.

    `own` are the author's own statements in it, without quoted, pasted or printed text; None: derive it from `text`.
    """

    request: int
    who: str
    text: str
    own: str | None = None

    def __str__(self) -> str:
        """Return the part as the question shows it."""
        return f"[{self.request}] {self.who}: {self.text}"


class KnownMemory(Value):
    """The memory on the subjects of a session: facts (F1, F2 … in a question), concepts (C1 …), waiting pairs (W1 …).

    The older fact of a pair comes first.
    """

    facts: tuple[Fact, ...] = ()
    concepts: tuple[Concept, ...] = ()
    pairs: tuple[tuple[Fact, Fact], ...] = ()

    def names(self) -> dict[str, Fact]:
        """Return the facts by their names in the question."""
        return {f"F{number}": fact for number, fact in enumerate(self.facts, 1)}

    def topics(self) -> dict[str, Concept]:
        """Return the concepts by their names in the question."""
        return {f"C{number}": concept for number, concept in enumerate(self.concepts, 1)}

    def waiting(self) -> dict[str, tuple[Fact, Fact]]:
        """Return the pairs by their names in the question."""
        return {f"W{number}": pair for number, pair in enumerate(self.pairs, 1)}


def windows_of(turns: Sequence[Turn]) -> list[tuple[RecordPart, ...]]:
    """Split the record of a session, from redacted turns, into windows of at most 12,000 tokens.

    Parts of a long session are shortened. If it is still too long, only the first window and the last ones are kept.
    """
    windows: list[tuple[RecordPart, ...]] = []
    for length in _LENGTHS:
        windows = list(_windows(_parts(turns, length)))
        if len(windows) <= _WINDOWS:
            return windows
    return windows if len(windows) <= _MOST_WINDOWS else [windows[0], *windows[1 - _MOST_WINDOWS :]]


def _windows(parts: Iterable[RecordPart]) -> Iterator[tuple[RecordPart, ...]]:
    """Yield parts in windows; a window that continues a request repeats it first, so that `left` can be judged."""
    window: list[RecordPart] = []
    size = 0
    for part in parts:
        more = len(str(part).encode("utf-8", "replace")) + 1
        if window and size + more > _WINDOW_BYTES:
            yield tuple(window)
            window = [asked for asked in window if asked.request == part.request][:1]
            size = sum(len(str(asked).encode("utf-8", "replace")) + 1 for asked in window)
        window.append(part)
        size += more
    if window:
        yield tuple(window)


def _parts(turns: Sequence[Turn], length: int) -> Iterator[RecordPart]:
    for number, turn in enumerate(turns, 1):
        tools = [*_failed(turn)]
        tools += [f"{CHANGED} {listed_files(turn.files)}"] if turn.files else []
        tools += [*_ran(turn)]
        tools += ["WORKED the last test or build"] if verdict_of(turn.runs) is Outcome.SUCCESS else []
        tools += [_STOPPED if turn.stopped else _ENDS] if turn.interrupted else []
        # The agent's last text is its answer, unless the turn was interrupted before a tool call.
        said = [text for text in turn.said if turn.interrupted or text != turn.answer]
        answer = "" if turn.answer in said else turn.answer
        folder = f"{turn.cwd}/" if turn.cwd else ""
        prompt = human_text(turn.prompt)
        parts = [
            RecordPart(number, USER, _clipped(prompt, length), own_statements(prompt)),
            *(RecordPart(number, USER, _clipped(render_words(words), length), _stated(words)) for words in turn.words),
            *(RecordPart(number, AGENT, _clipped(human_text(text), min(length, _MID))) for text in said),
            *(RecordPart(number, TOOL, text.replace(folder, "") if folder else text) for text in tools),
            RecordPart(number, AGENT, _clipped(human_text(answer), length)),
        ]
        yield from (part for part in parts if part.text.strip())


def _stated(words: UserWords) -> str:
    """Return the user's statements in these words, without the question or the call that they answer."""
    return own_statements(words.text) if states(words) else ""


def _failed(turn: Turn) -> Iterator[str]:
    """Yield a turn's last failing commands, each once, with the error and the changes until it worked."""
    failures = [failure for failure in turn.failures if error_line(failure.error)]
    last = [failure for failure in failures if not (failure.again and len(failures) > _MOST_FAILURES)]
    for failure in last[-_MOST_FAILURES:]:
        yield f"FAILED `{_clipped(failure.command, _COMMAND)}`: {_clipped(failure.error, _ERROR)}"
        if failure.fixed_by:
            done = _clipped(failure.meanwhile, _FIX) or "nothing that was seen"
            yield f"{FIXED} {done}\nTHEN WORKED `{_clipped(failure.fixed_by, _COMMAND)}`"


def _ran(turn: Turn) -> Iterator[str]:
    """Yield a line of each of the last commands of a turn that worked and did more than read."""
    fixes = {failure.fixed_by for failure in turn.failures}
    worked = (run.command for run in turn.runs if not run.failed and run.command not in fixes)
    acted = [*dict.fromkeys(command for command in worked if not only_reads(command))]
    if acted:
        yield f"{RAN} {', '.join(f'`{_clipped(command, _RUN)}`' for command in acted[-_MOST_RUNS:])}"


def _clipped(text: str, most: int) -> str:
    """Return a text without blank lines, and without its middle if it is long."""
    text = re.sub(r"\n\s*\n", "\n", text.strip())
    return text if len(text) <= most else f"{text[: most * 2 // 3].rstrip()} {CUT} {text[-(most // 3) :].lstrip()}"


def choose_known(parts: Iterable[RecordPart], facts: Iterable[Fact], concepts: Iterable[Concept]) -> KnownMemory:
    """Return the memory that a session may change, within 3,000 tokens.

    First come the pairs that wait for a verdict and the open issues, then the facts in force by the words they share
    with the session, rare words weighing more and the length not at all. Last come the newest rules, decisions and
    preferences: "two spaces" ends "Indent with four columns" and shares no word with it.
    """
    said = frozenset(stem for part in parts for stem in stems_of(part.text))
    current = in_force(facts)
    stems = {fact.id: stems_of(fact.description) for fact in current}
    counts = Counter(stem for some in stems.values() for stem in some)
    weights = {stem: math.log(1 + len(current) / number) for stem, number in counts.items()}
    scores = {name: sum(map(weights.__getitem__, some & said)) for name, some in stems.items()}
    pairs = waiting_pairs(current)
    waits = {fact.id for pair in pairs for fact in pair}
    ranked = sorted(
        (fact for fact in current if scores[fact.id] or fact.id in waits or fact.kind in (*WEIGHED, FactKind.ISSUE)),
        key=lambda fact: (fact.id in waits, fact.kind is FactKind.ISSUE, scores[fact.id], fact.when, fact.id),
        reverse=True,
    )
    sizes = accumulate(len(fact.description.encode("utf-8", "replace")) + _LINE_START for fact in ranked)
    chosen = [fact for fact, size in zip(ranked, sizes, strict=True) if size <= _KNOWN_BYTES]
    ids = {fact.id for fact in chosen}
    pairs = tuple(pair for pair in pairs if ids.issuperset(fact.id for fact in pair))
    shared = [
        (len(stems_of(" ".join((topic.name, *topic.keywords))) & said), topic.updated, topic) for topic in concepts
    ]
    near = sorted((ranked for ranked in shared if ranked[0]), key=lambda ranked: ranked[:2], reverse=True)
    return KnownMemory(tuple(chosen), tuple(concept for *_, concept in near[:_MOST_CONCEPTS]), pairs)


def waiting_pairs(facts: Sequence[Fact]) -> tuple[tuple[Fact, Fact], ...]:
    """Return the pairs of contradicting facts that wait, the newest first, each as (older, newer)."""
    known = {fact.id: fact for fact in facts}
    pairs: dict[frozenset[str], tuple[Fact, Fact]] = {}
    for fact in facts:
        for rival in (known[name] for name in fact.review if name in known and name != fact.id):
            older, newer = sorted((fact, rival), key=lambda fact: (fact.when, fact.id))
            pairs[frozenset((fact.id, rival.id))] = (older, newer)
    return tuple(sorted(pairs.values(), key=lambda pair: (pair[1].when, pair[1].id), reverse=True)[:_MOST_PAIRS])


def question_of(
    instructions: str, window: Iterable[RecordPart], known: KnownMemory, earlier: Mapping[str, str]
) -> Question:
    """Return the question about a window, for a larger model if a pair waits; `earlier` are earlier claims."""
    names = known.names()
    name_of = {fact.id: name for name, fact in names.items()}
    lines = [f"{name} ({day_of(fact.when)}) {fact.kind.value}: {fact.description}" for name, fact in names.items()]
    lines += [f"{name} topic: {concept.name}" for name, concept in known.topics().items()]
    lines += [f"{name} found in this session: {statement}" for name, statement in earlier.items()]
    for name, (older, newer) in known.waiting().items():
        lines.append(f"{name} pair: {name_of[older.id]} (older) and {name_of[newer.id]} (newer) contradict each other")
    material = "\n".join(["KNOWN", *(lines or ["(nothing)"]), "", "RECORD", *map(str, window)])
    size = Size.LARGE if known.pairs else Size.SMALL
    return Question(PURPOSE, instructions, material, SCHEMA, size, most_tokens=8_000)


def digest_of(question: Question) -> str:
    """Return the digest of a whole question, so that a stored answer is used for no other one."""
    text = json.dumps([question.instructions, question.material, question.schema], ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
