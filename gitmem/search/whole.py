"""The whole of a memory by its id: the handle that recall gives.

Tested through `tests/search/test_whole.py`.
"""

from __future__ import annotations

from gitmem.errors import NotFoundError
from gitmem.model.ids import is_id
from gitmem.search.sources import work_tree
from gitmem.search.units.passage import Passage, read_passage
from gitmem.search.units.units import FRAME

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from gitmem.store.store import Store


def is_handle(text: str) -> bool:
    """Return whether a text names a memory by its id, with or without `^`."""
    return is_id(text.removeprefix("^"))


def read_memory(store: Store, handle: str) -> Passage:
    """Return the fullest view of a memory.

    Raises:
        NotFoundError: no file of the working tree has it, and no day that history holds.

    """
    identifier = handle.removeprefix("^")
    views = [
        (units.length(index), units.commit, units.path, units.lines(units.unit(index))[0])
        for units in work_tree(store, None, (), [identifier], lambda _: True).read
        for index in range(len(units))
        if identifier in (units.named, units.entry_id(index))
    ]
    if not views:
        raise NotFoundError(
            f"There is no memory ^{identifier} in the files.", "It may be gone: 'gitmem search --history' finds it."
        )
    longest = max(length for length, *_ in views)
    full = (view for view in views if view[0] >= longest - FRAME)
    _, commit, path, line = min(full, key=lambda view: (bool(view[1]), view[2:]))
    return read_passage(store, path, line, commit=commit or None)
