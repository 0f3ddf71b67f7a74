"""Bring texts of format version 1 over to version 2 (docs/format.md, "Versions"). Pure, and the same on every machine.

Version 1 held a turn in the daily log as up to four kinds of entries, each with an id of its own. The turn's exchange,
in `memory.md`, its archives and `sessions/`, has an id with the time at which the prompt came, and shows when the
answer did: by both times the entries of a turn are known as its own. What cannot be told apart stays as it is.

Tested through `tests/store/test_upgrade.py`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from gitmem.document.entry import Entry, clean_text, find_entries, remove_entries, render_entry
from gitmem.document.ids import ALPHABET, EXCHANGE_LETTER, LENGTH, TIME_LENGTH, is_timed, milliseconds_of, tail_of
from gitmem.sessions.outcome import Fields, render_fields
from gitmem.values import Value

_PROMPT, _ANSWER, _FILES, _ERROR, _EXCHANGE = "User Prompt", "Assistant Response", "Tool Usage", "Error", "Exchange"
_MODIFIED = "Files modified: "
_TIMED = rf"(?<![{ALPHABET}a-z])[{ALPHABET}]{{{LENGTH}}}(?![{ALPHABET}a-z])"


class Known(Value):
    """An exchange of version 1: its id, the tag of its session, and the date and time at which it ended."""

    id: str
    tags: tuple[str, ...]
    ended: str

    @property
    def new_id(self) -> str:
        """The id that it has in version 2."""
        return EXCHANGE_LETTER + tail_of(self.id)


def exchanges_in(text: str) -> list[Known]:
    """Return the exchanges of version 1 in `memory.md`, an archive, or a session's file."""
    entries = (found.entry for found in find_entries(text))
    return [Known(one.id, one.tags, one.time) for one in entries if one.label == _EXCHANGE and is_timed(one.id)]


def with_new_ids(text: str, exchanges: Collection[str]) -> str:
    """Return a text in which the exchanges whose ids end like these have the ids of version 2."""

    def renewed(found: re.Match[str]) -> str:
        tail = tail_of(found[0])
        return EXCHANGE_LETTER + tail if tail in exchanges else found[0]

    return re.sub(_TIMED, renewed, text)


def joined_day(text: str, day: str, exchanges: Iterable[Known], newline: str = "\n") -> str:
    """Return a daily log of version 1 in which the entries of each turn are one entry of version 2.

    `day` is the log's date. Turns that no exchange is known of, and entries that may be of two turns, stay.
    """
    entries = [found.entry for found in find_entries(text)]
    if not any(entry.label in {_PROMPT, _ANSWER} for entry in entries):
        return text
    ended = {one.new_id: one for one in exchanges if one.ended[:10] == day}
    turns = sorted(ended.values(), key=lambda one: one.id)
    taken: set[str] = set()
    for one in turns:
        parts = _parts_of([entry for entry in entries if entry.id not in taken], one)
        if parts:
            taken.update(entry.id for entry in parts)
            text = _joined(text, one, parts, newline)
    return text


def _parts_of(entries: Sequence[Entry], known: Known) -> list[Entry]:
    """Return the entries of a turn in a daily log: its prompt, its errors, its answer, its files.

    Errors are its own where no other prompt or answer stands between its beginning and its end.
    """
    begun, clock = known.id[:TIME_LENGTH], known.ended[11:]
    prompts = [one for one in entries if one.label == _PROMPT and one.id[:TIME_LENGTH] == begun]
    answers = [one for one in entries if one.label == _ANSWER and one.time == clock]
    files = [one for one in entries if one.label == _FILES and one.time == clock]
    if len(prompts) > 1 or len(answers) > 1 or len(files) > 1 or not prompts + answers:
        return []
    if not answers:
        return [*prompts, *files]
    first, last = milliseconds_of(known.id), milliseconds_of(answers[0].id)
    during = [one for one in entries if is_timed(one.id) and first <= milliseconds_of(one.id) <= last]
    alone = not any(one.label in {_PROMPT, _ANSWER} for one in during if one not in prompts + answers)
    errors = [one for one in during if one.label == _ERROR] if alone else []
    return [*prompts, *errors, *answers, *files]


def _joined(text: str, known: Known, parts: Sequence[Entry], newline: str) -> str:
    """Return a log with one entry in the place of the first entry of a turn, and without the others."""
    texts = {label: [one.text for one in parts if one.label == label] for label in (_PROMPT, _ANSWER, _ERROR, _FILES)}
    fields = Fields(
        request="".join(texts[_PROMPT]),
        answer="".join(texts[_ANSWER]),
        errors=tuple(texts[_ERROR]),
        files=tuple(name for one in texts[_FILES] for name in one.removeprefix(_MODIFIED).split(", ")),
    )
    first = parts[0]
    entry = Entry(known.new_id, first.time, _EXCHANGE, clean_text(render_fields(fields)), known.tags)
    found = next(found for found in find_entries(text) if found.entry.id == first.id)
    text = text[: found.start] + render_entry(entry, newline) + text[found.end :]
    return remove_entries(text, {one.id for one in parts})
