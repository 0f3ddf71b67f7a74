"""Have the model of the settings name new concepts or merge them into older ones, in the background (spec V3).

Concepts are grouped by common files and words first. The model is asked once about each unnamed concept: which
of the most similar concepts it is part of, or else its name. The answer is a commit that `gitmem undo` takes back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from gitmem.document.document import Document
from gitmem.document.message import one_line
from gitmem.judgement.ask import Settled, ask, instructions_for, is_worth_asking, without_secrets
from gitmem.lessons.concept import Concept, affinity, has_own_name, lines_of
from gitmem.lessons.concepts import known_concepts, merge, rename
from gitmem.llm.http import Patience
from gitmem.llm.protocol import Question, ReplyError
from gitmem.store.store import Store

MERGE, CREATE = "merge", "create"
SCHEMA = {
    "type": "object",
    "properties": {
        "action": {"type": "string", "enum": [MERGE, CREATE]},
        "conceptId": {"type": "string"},
        "conceptName": {"type": "string"},
        "reason": {"type": "string"},
    },
    "required": ["action", "conceptId", "conceptName", "reason"],
    "additionalProperties": False,
}
AT_ONCE = 10  # concepts of one run
_MAX_CANDIDATES = 5  # concepts that a new one may be part of
_MAX_NAME = 80  # characters
_MAX_EXCHANGES = 6  # of a concept, the newest, that the model reads
_FILE = "named"  # in the folder of caches: concepts that were asked about


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's answer about a new concept: the one it is part of, or its name."""

    part_of: Concept | None
    name: str


def name_concepts(store: Store, late: Callable[[], bool], tries: Patience | None = None) -> None:
    """Have new concepts named or merged until it is `late`.

    Raises:
        GitmemError: an answer could not be committed.

    """
    settled = Settled(store, _FILE)
    unnamed = [concept for concept in known_concepts(store) if concept.id not in settled and not has_own_name(concept)]
    unnamed.sort(key=lambda concept: concept.updated, reverse=True)
    for identifier in [concept.id for concept in unnamed[:AT_ONCE]]:
        known = {one.id: one for one in known_concepts(store)}  # read anew: the last answer may have merged some
        concept = known.pop(identifier, None)
        subject = f"concept {identifier}"
        if late():
            break
        if concept is None or not is_worth_asking(store, subject):
            continue
        candidates = _candidates(concept, known.values())
        instructions = instructions_for(store, "concept")
        question = Question("concept", instructions, _material(store, concept, candidates), SCHEMA, most_tokens=400)
        asked = ask(store, question, subject, partial(_read, store, candidates), tries)
        if asked.value is None:
            break  # the next question would probably fail too; the next run asks again
        if asked.value.part_of:
            merge(store, asked.value.part_of, concept, asked.model)
        else:
            rename(store, concept, asked.value.name, asked.model)
        settled.add(identifier)


def _candidates(concept: Concept, others: Iterable[Concept]) -> list[Concept]:
    """Return the concepts that one may be part of, the most similar first."""
    ranked = sorted(((affinity(concept, other), other.updated, other) for other in others), reverse=True)
    return [other for score, _, other in ranked[:_MAX_CANDIDATES] if score]


def _material(store: Store, concept: Concept, candidates: Sequence[Concept]) -> str:
    return "\n\n".join(
        [
            "The new group:",
            _description(store, concept),
            "Groups there are:",
            *(f"id: {one.id}\n{_description(store, one)}" for one in candidates),
        ]
    )


def _description(store: Store, concept: Concept) -> str:
    body = Document.parse(store.read(concept.path) or b"").body
    done = [line.partition("[")[2].partition("](")[0] for _, line in lines_of(body)]
    lines = [f"name: {concept.name}", f"files: {', '.join(concept.files)}", f"keywords: {', '.join(concept.keywords)}"]
    return "\n".join([*lines, "done:", *(f"- {one}" for one in done[-_MAX_EXCHANGES:])])


def _read(store: Store, candidates: Sequence[Concept], given: Mapping[str, object]) -> Answer:
    """Return the answer of a reply.

    Raises:
        ReplyError: it names none of the candidates, or gives no name.

    """
    reply = without_secrets(store, given)
    if reply["action"] == MERGE:
        older = next((one for one in candidates if one.id == reply["conceptId"]), None)
        if older is None:
            raise ReplyError("names no concept that was given")
        return Answer(older, "")
    name = one_line(str(reply["conceptName"]), _MAX_NAME)
    if not name:
        raise ReplyError("gives the concept no name")
    return Answer(None, name)
