"""The file of a finished session: where it stands, and the exchanges in it.

Tested through `tests/memory/concepts/test_group.py` and `tests/memory/learned/test_episodes.py`.
"""

from __future__ import annotations

from datetime import UTC

from gitmem.model.entry.entry import find_entries
from gitmem.model.paths import session_path
from gitmem.model.session.exchange import parse

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from datetime import datetime

    from gitmem.model.session.exchange import Exchange
    from gitmem.store.transaction.transaction import Transaction


def find_session_file(transaction: Transaction, session: str, started: datetime) -> str | None:
    """Return the path of the file of a session that began then, None if it has none."""
    from gitmem.store.transcripts.transcripts import file_name

    name = file_name(session)
    folder = session_path(started.astimezone(UTC).strftime("%Y%m%d_%H%M%S"), name).rpartition("/")[0]
    names = sorted(other for other in transaction.names(folder) if other.endswith(f"-{name}.md"))
    return f"{folder}/{names[0]}" if names else None


def exchanges_in(data: bytes) -> list[Exchange]:
    """Return the exchanges in a session's file, in order."""
    entries = find_entries(data.decode("utf-8", "replace"))
    return [exchange for found in entries if (exchange := parse(found.entry)) is not None]
