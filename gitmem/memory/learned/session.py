"""Learn errors with their mends, commands, and preferences of the person from a finished session.

Tested through `tests/memory/learned/test_preferences.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.memory.learned.bugs import learn_bugs
from gitmem.memory.learned.knowledge import learn_commands
from gitmem.memory.learned.preferences import learn_preferences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitmem.model.session.turns import Turn
    from gitmem.store.store import Store


def learn_lessons(store: Store, session: str, host: str, turns: Sequence[Turn]) -> None:
    """Learn from the turns of a finished session; a second call adds nothing.

    Raises:
        GitmemError: the lessons could not be committed.

    """
    learn_bugs(store, session, host, turns)
    learn_commands(store, session, host, turns)
    learn_preferences(store, session, host, turns)
