"""Parse an archive for its summary: each sentence with its role, day and session.

Tested through `tests/offline/test_summary.py`.
"""

from __future__ import annotations

import re
from enum import Enum

from gitmem.model.document.document import Document
from gitmem.model.entry.entry import Entry, find_entries
from gitmem.model.entry.kinds import CORE_DECISIONS, KNOWN_ISSUES, MemoryType
from gitmem.model.entry.log import sections
from gitmem.model.session.cues import patterns
from gitmem.model.session.cues.cues import Cue, find_cues
from gitmem.model.session.fields import split_fields, without_labels
from gitmem.model.tiers.choice import without_count
from gitmem.model.tiers.rotation import KEPT_SECTIONS
from gitmem.text.sentences import Kind, blocks, sentences_of, split
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Narration of an agent at work, useless later.
_NARRATION = (
    r"\b(?:let me|let's|i'll|i(?:'m| am) going to|i apologi[sz]e|ready (?:for|to|when)|here (?:is|are))\b"
    r"|as you can see|^(?:great|perfect|excellent|done)\b[!.]?\W*$|하겠습니다|할게요|죄송|말씀해"
)
MOST_CHARACTERS = 1_000_000  # read of an archive, half from either end; a usual one has a hundred thousand
_DAY = re.compile(r"(?<![0-9])([0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01]))(?![0-9])")
# Labels of captured turns: the request, then lines with result, files and failures.
_TURNS = ("Turn", "Exchange")
_SKIPPED = ("State",)  # repeats the end of the last turn
_DONE = ("Done: ", "한 일: ")
_ASKED = ("Asked: ", "요청: ")
_NOT_PROSE = (
    *("Files: ", "파일: ", "Failed: ", "실패: ", "Files modified: "),
    *("Keywords: ", "키워드: ", "Outcome: ", "결과: "),
)


class Role(Enum):
    """The role of a sentence in an archive."""

    DECISION = "decision"
    ISSUE = "issue"
    FIX = "fix"
    LEARNING = "learning"
    DONE = "done"
    ASKED = "asked"
    OTHER = "other"


_ROLES = {
    MemoryType.DECISION: Role.DECISION,
    MemoryType.PREFERENCE: Role.DECISION,
    MemoryType.RULE: Role.DECISION,
    MemoryType.ISSUE: Role.ISSUE,
    MemoryType.ERROR_FIX: Role.FIX,
    MemoryType.LEARNING: Role.LEARNING,
    MemoryType.PATTERN: Role.LEARNING,
}
_LABELS = {kind.label: role for kind, role in _ROLES.items()}
_SECTIONS = {CORE_DECISIONS.casefold(): Role.DECISION, KNOWN_ISSUES.casefold(): Role.ISSUE}


class Item(Value):
    """An entry or other block of text; `whole` is its text on one line, `kept` whether a rotation keeps it.

    `session` is the tag of a session, or where that is not known the day; both and `day` may be "".
    """

    role: Role
    whole: str
    sentences: tuple[tuple[Role, str], ...]
    day: str
    session: str
    kept: bool


class Reading(Value):
    """The items of an archive, in order, and the number of its sections."""

    items: tuple[Item, ...]
    section_count: int
    left_out: int = 0  # characters in the middle, of a text longer than `MOST_CHARACTERS`


def read(text: str) -> Reading:
    """Parse an archive; never raises."""
    body = without_count(Document.parse(text.encode("utf-8", "replace")).body)
    left_out = max(len(body) - MOST_CHARACTERS, 0)
    if left_out:
        half = MOST_CHARACTERS // 2
        body = f"{body[:half]}\n\n{body[-half:]}"
    parts = sections(body)
    found = list(find_entries(body))
    items: list[Item] = []
    starts = [0, *(part.body for part in parts)]
    ends = [parts[0].start if parts else len(body), *(part.end for part in parts)]
    titles = ["", *(part.title for part in parts)]
    index = 0
    for start, end, title in zip(starts, ends, titles, strict=True):
        position = start
        while index < len(found) and found[index].start < end:
            items += _free(body[position : found[index].start], title)
            items += _of_entry(found[index].entry, title)
            position = max(position, found[index].end)
            index += 1
        items += _free(body[position:end], title)
    return Reading(tuple(items), sum(part.level > 1 for part in parts) or len(parts), left_out)


def day_of(text: str) -> str:
    """Return the first day (`YYYY-MM-DD`) in a text, "" if none."""
    found = _DAY.search(text)
    return found[1] if found else ""


def _of_entry(entry: Entry, title: str) -> list[Item]:
    if entry.label in _SKIPPED:
        return []
    day = day_of(entry.time) or day_of(title)
    kept = title.casefold() in KEPT_SECTIONS
    if entry.label in _TURNS:
        session = entry.tags[0] if entry.tags else day
        whole = _on_one_line(without_labels(entry.text))
        return [Item(Role.DONE, whole, tuple(_of_turn(entry.text)), day, session, kept)]
    role = _LABELS.get(entry.label) or _SECTIONS.get(title.casefold(), Role.OTHER)
    spoken = tuple((role, sentence) for sentence in split(entry.text))
    return [Item(role, _on_one_line(entry.text), spoken, day, day, kept)]


def _of_turn(text: str) -> Iterator[tuple[Role, str]]:
    """Yield the sentences of a turn with their roles; decisions, fixes and so on of an answer by its cues."""
    fields = split_fields(text)
    if fields.answer or fields.said:  # of a daily log
        yield from ((Role.ASKED, sentence) for sentence in split(fields.request))
        for words in (*fields.said, fields.answer):
            cues = find_cues(words)
            yield from (_stated(sentence, cues) or (Role.DONE, sentence) for sentence in split(words))
        return
    lines = text.split("\n")
    # The request comes first, or has a line of its own below the summary.
    role = Role.DONE if any(line.startswith((*_ASKED, "Outcome: ", "결과: ")) for line in lines) else Role.ASKED
    for line in lines:
        label = next((label for label in (*_DONE, *_ASKED) if line.startswith(label)), "")
        if label:
            role = Role.ASKED if label in _ASKED else Role.DONE
        elif line.startswith(_NOT_PROSE):
            continue
        words = line[len(label) :]
        cues = find_cues(words) if role is Role.DONE else []
        for sentence in split(words):
            yield _stated(sentence, cues) or (role, sentence)


def _stated(sentence: str, cues: Sequence[Cue]) -> tuple[Role, str] | None:
    """Return role and text of a sentence that is a cue, None otherwise."""
    for cue in cues:
        if sentence.endswith(cue.text) or cue.text.endswith(sentence):
            return _ROLES[cue.type], cue.text
    return None


def _free(text: str, title: str) -> Iterator[Item]:
    """Yield the blocks of a text outside entries; a day in the heading above applies to them."""
    if not text.strip():
        return
    day = day_of(title)
    by_title = _SECTIONS.get(title.casefold())
    for block in blocks(text):
        if block.kind is Kind.HEADING:
            day = day_of(block.text) or day
            continue
        cues = [] if by_title else find_cues(block.text)
        role = by_title or Role.OTHER
        spoken = tuple(_stated(sentence, cues) or (role, sentence) for sentence in sentences_of(block))
        own_day = day_of(block.text[:_DATED_START]) or day
        yield Item(role, block.text, spoken, own_day, own_day, title.casefold() in KEPT_SECTIONS)


_DATED_START = 30  # characters at the start of a line searched for its date: "[2026-01-10] ..."


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def is_statement(sentence: str, role: Role) -> bool:
    """Return whether a sentence can be part of a summary: no question, offer or lead-in."""
    if sentence.endswith((":", "\uff1a")) or re.search(patterns.CODE, sentence):
        return False
    if role is Role.ASKED:
        return True
    return not (
        re.search(patterns.NOT_AT_END, sentence, re.IGNORECASE)
        or re.match(patterns.NOT_AT_START, sentence, re.IGNORECASE)
        or re.search(_NARRATION, sentence, re.IGNORECASE)
    )
