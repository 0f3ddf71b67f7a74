"""Sentences of an agent's answer worth keeping: decisions, open issues, learnings, fixes.

Cues in English and Korean, with precision before recall: questions, offers, plans, quotations, suppositions and
denials are no memories, and a problem that the answer then works on is no open issue.
"""

from __future__ import annotations

import re
from functools import cache

from gitmem.model.entry.kinds import MemoryType
from gitmem.model.session.cues import patterns
from gitmem.text.sentences import Block, Kind, blocks, mask_code, sentences_of
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterator

MENDED = 0.6  # share of an issue's words that its fix has
# Characters of a sentence: a shorter one is not understood later, a longer one is data.
_SHORTEST = 9
_LONGEST = 600
_LEADS_ON = (":", "\uff1a")  # ends of a sentence that introduces the next
_LOOK_AT = 400_000  # characters of an answer; real ones have a few thousand


class Cue(Value):
    """A sentence worth keeping and its type; a label ("Decision:") is left out of the text."""

    type: MemoryType
    text: str


def find_cues(text: str) -> list[Cue]:
    """Return the decisions, issues, learnings and fixes in an agent's answer (markdown), each sentence once."""
    found: dict[str, Cue] = {}
    heading: MemoryType | None = None
    parts = blocks(text[:_LOOK_AT])
    for index, block in enumerate(parts):
        if block.kind is Kind.HEADING:
            heading = _heading_type(block.text)
            continue
        following = parts[index + 1] if index + 1 < len(parts) else None
        for cue in _cues_of(block, heading, following):
            found.setdefault(cue.text.casefold(), cue)
    return list(found.values())


def without_label(text: str) -> str:
    """Return a text without its label ("Decision: ...")."""
    cue = _labelled(text)
    return cue.text if cue else text


def is_resolved(text: str) -> bool:
    """Return whether the text of an issue says that it is resolved."""
    masked = mask_code(" ".join(text[:_LOOK_AT].split()))
    return bool(_re(patterns.RESOLVED).search(masked)) and not _re(patterns.UNRESOLVED).search(masked)


def _cues_of(block: Block, heading: MemoryType | None, following: Block | None) -> Iterator[Cue]:
    """Yield the cues of one block; `heading` is the type of items under the heading above it."""
    if block.kind is Kind.QUOTE:
        return
    sentences = sentences_of(block)
    for index, sentence in enumerate(sentences):
        last = index + 1 == len(sentences)
        after = sentences[index + 1] if not last else following.text if following else ""
        cue = _labelled(sentence)
        if cue is None and heading and index == 0 and block.kind is Kind.ITEM:
            cue = Cue(heading, sentence)
        if cue is None and (kind := _stated(sentence, after)):
            before = sentences[index - 1] if index and _re(patterns.LEANS_BACK).match(sentence) else ""
            cue = Cue(kind, f"{before} {sentence}".strip())
        if cue and _says_something(cue):
            yield cue


def _labelled(sentence: str) -> Cue | None:
    """Return the cue of a sentence with a label ("Decision: ...")."""
    for kind in patterns.LABELS:
        if label := _label_form(kind).match(sentence):
            return Cue(kind, sentence[label.end() :])
    return None


def _stated(sentence: str, after: str) -> MemoryType | None:
    """Return the cue of a sentence without a label, None unless it is certain."""
    if len(sentence) > _LONGEST or sentence.endswith(_LEADS_ON):
        return None
    masked = _quotes().sub(lambda quote: "x" * len(quote[0]), mask_code(sentence))
    kind = next((kind for kind, form in patterns.CUES.items() if _re(form).search(masked)), None)
    if kind is None or _re(patterns.NOT_AT_START).match(masked) or _re(patterns.UNSURE).search(masked):
        return None
    if kind is MemoryType.ISSUE and _re(patterns.WORKING_ON_IT).match(after):
        return None
    return kind


def _says_something(cue: Cue) -> bool:
    """Return whether a cue's text is a statement that is understood without its context."""
    masked = mask_code(cue.text)
    wide = sum("\u1100" <= character <= "\uffdc" for character in masked[:_SHORTEST])  # Hangul needs fewer characters
    if not _SHORTEST - wide <= len(masked) <= _LONGEST or " " not in masked or masked.endswith(_LEADS_ON):
        return False
    if _re(patterns.CODE).search(masked) or _re(patterns.NOT_AT_END).search(masked):
        return False
    if _re(patterns.DENIED[cue.type]).search(masked) or _re(patterns.TOPIC).match(masked):
        return False
    return cue.type is not MemoryType.ISSUE or not is_resolved(cue.text)


def _heading_type(title: str) -> MemoryType | None:
    return next((kind for kind, form in patterns.HEADINGS.items() if _re(rf"\W*(?:{form})\W*$").match(title)), None)


@cache
def _label_form(kind: MemoryType) -> re.Pattern[str]:
    # Something may stand before it (an emoji), and it needs a colon or a dash of its own.
    return re.compile(rf"\W{{0,4}}(?:{patterns.LABELS[kind]})\s?(?:[:\uff1a]|\s[\u2013\u2014])\s*(?=\S)", re.IGNORECASE)


@cache
def _quotes() -> re.Pattern[str]:
    return re.compile(r"\"[^\"\n]{1,200}\"|[\u201c\u300c][^\u201d\u300d\n]{1,200}[\u201d\u300d]")


@cache
def _re(form: str) -> re.Pattern[str]:
    return re.compile(form, re.IGNORECASE)
