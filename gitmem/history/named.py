"""A document as every door tells it: marked where it does not hold, and with the names of others on what they wrote."""

from __future__ import annotations

import re

from gitmem.document.entry import find_entries
from gitmem.history.authors import People
from gitmem.store.known_facts import marked

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from gitmem.store.store import Store


def named(store: Store, text: str, path: str = "", commit: str | None = None) -> str:
    """Return a document of the store, or lines of one, with marks and names.

    The author of the document at `path` stands at the end of its first line, those of its entries before their ids,
    where they are others. What a `commit` held has no marks (`gitmem.store.known_facts.marked`).
    """
    text = text if commit else marked(store, text, path)
    people = People(store)
    if people.are_alone():
        return text
    whole = people.whose("", path) if path else ""
    header = re.match(r"---\n(?:[^\n]*\n)*?---\s*", text)
    first = _end_of_line(text, header.end() if header else 0)
    entries = find_entries(text)
    if entries and entries[0].start <= first:
        whole = ""  # lines from an entry on; a name behind its id would end the entry
    names = {first: whole} if whole else {}
    for entry in entries:
        name = people.whose(entry.entry.id)
        if name and name != whole:
            names[text.rindex(f" ^{entry.entry.id}", entry.start, _end_of_line(text, entry.start))] = name
    for at in sorted(names, reverse=True):
        text = f"{text[:at]} [by {names[at].translate(_BRACKETS)}]{text[at:]}"
    return text


_BRACKETS = str.maketrans("[]^", "()'")


def _end_of_line(text: str, start: int) -> int:
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    return end - text.startswith("\r", max(end - 1, start))
