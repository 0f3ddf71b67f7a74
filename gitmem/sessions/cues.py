"""Sentences of an agent's answer worth keeping: decisions, open issues, learnings, fixes.

Precision before recall: questions, offers, plans, quotations, suppositions and denials are no memories, and a problem
that the answer then works on is no open issue. The words stand in `gitmem/data/LANGUAGE/answers.tsv`.
"""

from __future__ import annotations

import re
from functools import cache

from gitmem.document.entry import MemoryType
from gitmem.text.data import matcher
from gitmem.text.sentences import Block, Kind, blocks, mask_code, sentences_of
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterator


_STATED = (MemoryType.DECISION, MemoryType.ISSUE, MemoryType.LEARNING, MemoryType.ERROR_FIX)
_HEADED = _STATED[:3]  # a heading "Fix" is also that of a step of a plan
_CODE = re.compile(r"[\])}>\"'\w];\s*(?:$|//)|=>|^\$\{|[{}]\s*$|\w\(\w*\)[,;]")  # outside a fence
_QUOTED = re.compile(r"\"[^\"\n]{1,200}\"|[\u201c\u300c][^\u201d\u300d\n]{1,200}[\u201d\u300d]")
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
    cues: dict[str, Cue] = {}
    heading: MemoryType | None = None
    parts = blocks(text[:_LOOK_AT])
    for index, block in enumerate(parts):
        if block.kind is Kind.HEADING:
            heading = next((kind for kind in _HEADED if _heading(kind).match(block.text)), None)
            continue
        following = parts[index + 1] if index + 1 < len(parts) else None
        for cue in _cues_of(block, heading, following):
            cues.setdefault(cue.text.casefold(), cue)
    return list(cues.values())


def without_label(text: str) -> str:
    """Return a text without its label ("Decision: ...")."""
    cue = _labelled(text)
    return cue.text if cue else text


def is_resolved(text: str) -> bool:
    """Return whether the text of an issue says that it is resolved."""
    masked = mask_code(" ".join(text[:_LOOK_AT].split()))
    return _says("resolved", masked) and not _says("unresolved", masked)


def is_prose(sentence: str) -> bool:
    """Return whether a sentence is no lead-in and no line of code."""
    return not sentence.endswith(_LEADS_ON) and _CODE.search(sentence) is None


def reports(sentence: str) -> bool:
    """Return whether a sentence says something: no question, offer, plan, lead-in or line of code."""
    return is_prose(sentence) and not any(_says(kind, sentence) for kind in ("begins_no_report", "ends_no_report"))


def _says(kind: str, text: str) -> bool:
    return matcher("answers.tsv", kind).search(text) is not None


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
            before = sentences[index - 1] if index and _says("leans_back", sentence) else ""
            cue = Cue(kind, f"{before} {sentence}".strip())
        if cue and _says_something(cue):
            yield cue


def _labelled(sentence: str) -> Cue | None:
    """Return the cue of a sentence with a label ("Decision: ...")."""
    for kind in _STATED:
        if label := _label(kind).match(sentence):
            return Cue(kind, sentence[label.end() :])
    return None


def _stated(sentence: str, after: str) -> MemoryType | None:
    """Return the cue of a sentence without a label, None unless it is certain."""
    if len(sentence) > _LONGEST or sentence.endswith(_LEADS_ON):
        return None
    masked = _QUOTED.sub(lambda quote: "x" * len(quote[0]), mask_code(sentence))
    kind = next((kind for kind in _STATED if _says(_name(kind), masked)), None)
    is_open = kind is MemoryType.ISSUE and not _says("works_on_it", after)
    if _says("begins_no_report", masked) or _says("unsure", masked):
        return None
    return kind if is_open or kind is not MemoryType.ISSUE else None


def _says_something(cue: Cue) -> bool:
    """Return whether a cue's text is a statement that is understood without its context."""
    masked = mask_code(cue.text)
    wide = sum("\u1100" <= character <= "\uffdc" for character in masked[:_SHORTEST])  # Hangul needs fewer characters
    if not _SHORTEST - wide <= len(masked) <= _LONGEST or " " not in masked or masked.endswith(_LEADS_ON):
        return False
    if _CODE.search(masked) or any(
        _says(kind, masked) for kind in ("ends_no_report", "topic", f"denied_{_name(cue.type)}")
    ):
        return False
    return cue.type is not MemoryType.ISSUE or not is_resolved(cue.text)


@cache
def _heading(kind: MemoryType) -> re.Pattern[str]:
    return re.compile(rf"\W*(?:{matcher('answers.tsv', f'heading_{_name(kind)}').pattern})\W*$", re.IGNORECASE)


@cache
def _label(kind: MemoryType) -> re.Pattern[str]:
    """Return the form of a label ("Decision: …"): a heading's words count, too, and an emoji may stand before them."""
    names = [f"label_{_name(kind)}", *([f"heading_{_name(kind)}"] if kind in _HEADED else [])]
    words = "|".join(matcher("answers.tsv", name).pattern for name in names)
    return re.compile(rf"\W{{0,4}}(?:{words})\s?(?:[:\uff1a]|\s[\u2013\u2014])\s*(?=\S)", re.IGNORECASE)


def _name(kind: MemoryType) -> str:
    return kind.name.lower()
