"""Leave out of a prompt's text what the session was told at its start.

Tested through `tests/memory/guide/test_prompt.py`.
"""

from __future__ import annotations

import re

from gitmem.memory.guide.advice.lines import is_repeated
from gitmem.model.ids import tail_of
from gitmem.model.paths import MEMORY
from gitmem.search.query.query import fold

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from gitmem.search.order.hits import Hit
    from gitmem.store.store import Store

_BYTES = 1 << 18  # read of memory.md, its beginning and end
_LONGER = ("daily/", "sessions/")  # say more of an exchange than memory.md
_EXCHANGE = "Exchange"
_LABEL = re.compile(r"^(?:Asked|Done|Files|Failed|요청|한 일|파일|실패): ")


def told_whole(hit: Hit, started: Collection[str]) -> bool:
    """Return whether the start text, which told the memories `started`, had all that a hit says."""
    is_longer = hit.label == _EXCHANGE and hit.path.startswith(_LONGER)
    return not is_longer and tail_of(hit.entry) in {tail_of(one) for one in started}


def told_lines(store: Store, hits: Sequence[Hit], started: Collection[str]) -> dict[str, list[str]]:
    """Return the lines of these exchanges in memory.md, as the start text told them, by id."""
    tails = {tail_of(one) for one in started}
    mine = {hit.entry: tail_of(hit.entry) for hit in hits if tail_of(hit.entry) in tails}
    body = (store.glance(MEMORY, _BYTES) or b"").decode("utf-8", "replace") if mine else ""
    found: dict[str, list[str]] = {}
    for identifier, tail in mine.items():
        entry = re.search(rf"(?m)^- \[[^\]\n]*\] (.*) \^\w{{1,10}}{tail}\r?$((?:\n[ \t]+.*)*)", body)
        if entry:
            lines = [entry[1], *(line.strip() for line in entry[2].splitlines())]
            found[identifier] = [_LABEL.sub("", line) for line in lines if line]
    return found


def without_told(text: str, told: Sequence[str], needles: Sequence[str]) -> str:
    """Return the lines of a text that none of the told ones says; "" if none of them has a word of the prompt."""
    left = [line for line in text.split("\n") if line.strip() and not is_repeated(line, told)]
    return "\n".join(left) if any(needle in fold(line) for line in left for needle in needles) else ""
