"""Facts as a person's edits make them that no commit has yet: of their lines in `memory.md`, and of their texts.

The next transaction commits such edits (gitmem.store.transaction.views); until then whoever reads shows them. Times
tell that there may be one, so that without an edit nothing is read and no git is started.

Tested through `tests/store/headers/test_edits.py`.
"""

from __future__ import annotations

import os

from gitmem.errors import GitmemError
from gitmem.model.paths import MEMORY

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gitmem.model.fact.fact import Fact
    from gitmem.store.headers.cache import Header
    from gitmem.store.store import Store


def as_edited(store: Store, headers: Iterable[Header], facts: list[Fact]) -> list[Fact]:
    """Return the facts of these headers with the edits of a person since the work tree was brought to a commit.

    An edited fact has its text, too.
    """
    try:
        since = os.stat(os.path.join(store.private, "checkout")).st_mtime_ns
        line_edited = os.lstat(os.path.join(store.root, MEMORY)).st_mtime_ns > since
        paths = [header.path for header in headers if header.line > f"{since}\t~"]  # a line begins with the time
        held = store.marked() if line_edited or paths else None
        changed = _edited(store, held, line_edited, paths, {fact.id: fact for fact in facts}) if held else {}
    except (GitmemError, OSError):
        return facts
    return [changed.get(fact.id, fact) for fact in facts] if changed else facts


def _edited(store: Store, held: str, line_edited: bool, paths: list[str], facts: Mapping[str, Fact]) -> dict[str, Fact]:
    from gitmem.model.document.document import Document
    from gitmem.model.fact.acts import reworded
    from gitmem.model.fact.file import parse_fact
    from gitmem.model.fact.views.lines import fact_entries, facts_as_edited, line_edits

    now = store.context.clock()
    with store.repository.reading() as objects:
        memory, *contents = objects.contents([f"{held}:{path}" for path in (MEMORY, *paths)])
    changed = {}
    for path, data in zip(paths, contents, strict=True):
        before, after = (parse_fact(one, path) if one else None for one in (data, store.read(path)))
        if before and after and before.text != after.text and before.description == after.description:
            changed[after.id] = reworded(after, after.text, now)
    if line_edited and memory:
        old, new = (Document.parse(data).body for data in (memory, store.read(MEMORY) or b""))
        edits = line_edits(fact_entries(old), new)
        if store.tip != held:  # moved by another program: perhaps a rotation took the lines that are gone
            edits = edits._replace(ended=())
        changed |= facts_as_edited(edits, facts.get, now)
    return changed
