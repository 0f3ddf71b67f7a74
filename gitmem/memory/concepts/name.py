"""New concepts named, or put to the one they go on with, by the model of the settings (spec V3), behind the hooks.

Overlap of files and words has grouped them before, and that stands until there is a good answer. One question is asked
of each concept, once, while it is young and nobody has named it: which of the concepts it has most in common with is it
part of, or else what is it about. What the model says is a commit that `gitmem undo` takes back.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from gitmem.llm.protocol import Question
from gitmem.llm.replies import ReplyError
from gitmem.machine.resources import read_resource
from gitmem.memory.ask.ask import Settled, ask, is_worth_asking, without_secrets
from gitmem.memory.concepts.group import merge, rename
from gitmem.memory.concepts.index import known_concepts
from gitmem.model.concept import affinity, has_own_name, lines_of
from gitmem.model.document.document import Document
from gitmem.model.message import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from gitmem.llm.http import Patience
    from gitmem.model.concept import Concept
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
_CANDIDATES = 5  # concepts that a new one may be part of
_LONGEST = 80  # characters of a name
_TOLD = 6  # exchanges of a concept, the last
_SEEN = "named"  # beside the caches: concepts that were asked about


@dataclass(frozen=True, slots=True)
class Sorted:
    """What a model says of a new concept: the one it is part of, or its name."""

    part_of: Concept | None
    name: str


def name_concepts(store: Store, late: Callable[[], bool], tries: Patience | None = None) -> list[str]:
    """Have new concepts named or merged until it is `late`; returns why some could not be, a sentence each.

    Raises:
        GitmemError: what was decided could not be committed.

    """
    settled = Settled(store, _SEEN)
    waiting = [one for one in known_concepts(store) if one.id not in settled and not has_own_name(one)]
    waiting.sort(key=lambda one: one.updated, reverse=True)
    failed = []
    for identifier in [one.id for one in waiting[:AT_ONCE]]:
        known = {one.id: one for one in known_concepts(store)}  # of which one may be part of another by now
        concept = known.pop(identifier, None)
        subject = f"concept {identifier}"
        if late():
            break
        if concept is None or not is_worth_asking(store, subject):
            continue
        candidates = _candidates(concept, known.values())
        instructions = read_resource("templates", "prompts", "concept.md").decode()
        question = Question("concept", instructions, _material(store, concept, candidates), SCHEMA, most_tokens=400)
        asked = ask(store, question, subject, partial(_read, store, candidates), tries)
        if asked.value is None:
            failed.append(f"{concept.name} stays as it is: {asked.why}")
            break  # the others would hardly fare better; they are asked about the next time
        if asked.value.part_of:
            merge(store, asked.value.part_of, concept)
        else:
            rename(store, concept, asked.value.name, asked.model)
        settled.add(identifier)
    return failed


def _candidates(concept: Concept, others: Iterable[Concept]) -> list[Concept]:
    """Return the concepts that one may be part of, those first with which it has most in common."""
    common = sorted(((affinity(concept, other), other.updated, other) for other in others), reverse=True)
    return [other for score, _, other in common[:_CANDIDATES] if score]


def _material(store: Store, concept: Concept, candidates: Sequence[Concept]) -> str:
    return "\n\n".join(
        [
            "The new group:",
            _told(store, concept),
            "Groups there are:",
            *(f"id: {one.id}\n{_told(store, one)}" for one in candidates),
        ]
    )


def _told(store: Store, concept: Concept) -> str:
    body = Document.parse(store.read(concept.path) or b"").body
    done = [line.partition("[")[2].partition("](")[0] for _, line in lines_of(body)]
    lines = [f"name: {concept.name}", f"files: {', '.join(concept.files)}", f"keywords: {', '.join(concept.keywords)}"]
    return "\n".join([*lines, "done:", *(f"- {one}" for one in done[-_TOLD:])])


def _read(store: Store, candidates: Sequence[Concept], given: Mapping[str, object]) -> Sorted:
    """Return what an answer says.

    Raises:
        ReplyError: it names no concept that was given, or gives no name.

    """
    said = without_secrets(store, given)
    if said["action"] == MERGE:
        found = next((one for one in candidates if one.id == said["conceptId"]), None)
        if found is None:
            raise ReplyError("names no concept that was given")
        return Sorted(found, "")
    name = one_line(str(said["conceptName"]), _LONGEST)
    if not name:
        raise ReplyError("gives the concept no name")
    return Sorted(None, name)
