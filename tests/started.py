"""The text a session starts with, as the hook makes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.sessions.start import start_parts, start_text
from gitmem.store.headers import never

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitmem.project.state import ProjectState
    from gitmem.sessions.turns import Turn
    from gitmem.store.known_facts import Late
    from gitmem.store.store import Store


def session_start(
    store: Store,
    unsaved: Sequence[Turn],
    project: ProjectState | None,
    pending: Sequence[str],
    late: Late = never,
    *,
    offer: str = "",
) -> str:
    """Return the text a session starts with; "" if memory is empty."""
    return start_text(store, start_parts(store, unsaved, project, pending, late, offer=offer))
