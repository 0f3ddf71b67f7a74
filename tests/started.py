"""The text a session starts with, as the hook makes it."""

from collections.abc import Callable, Sequence

from gitmem.model.turns import Turn
from gitmem.project.code import ProjectState
from gitmem.store.known_facts import never
from gitmem.store.store import Store
from gitmem.tell.start import start_parts, start_text


def session_start(
    store: Store,
    unsaved: Sequence[Turn],
    project: ProjectState | None,
    pending: Sequence[str],
    late: Callable[[], bool] = never,
    *,
    offer: str = "",
) -> str:
    """Return the text a session starts with; "" if memory is empty."""
    return start_text(store, start_parts(store, unsaved, project, pending, late, offer=offer))
