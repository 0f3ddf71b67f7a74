"""What is remembered of syncs between two of them, and whether one is due: light, since a session's start asks.

`sync.json` in the private folder says of each remote when it was last tried, when it was last synced, and why not. It
can be deleted.
"""

from __future__ import annotations

import os

from gitmem.machine.beneath import read_regular
from gitmem.machine.moment import datetime
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from gitmem.store.store import Store

_FILE = "sync.json"
_MAX_BYTES = 1 << 20


class Record(Value):
    """What is known of a remote: when it was last tried and last synced, why it failed, and if it was out of reach."""

    tried: datetime
    synced: datetime | None = None
    failure: str = ""
    unreachable: bool = False


def is_due(store: Store, *, session: bool) -> bool:
    """Say whether it is time for an automatic sync; cheap, and False where there is no remote.

    `session` says that one begins or is over. Otherwise it is time every so many minutes, where that is configured.
    """
    config = store.config.sync
    if config.auto == "off" or not (session or config.auto == "interval") or not store.has_remotes():
        return False
    tried = [record.tried for record in read_records(store.private).values()]
    if session or not tried:
        return True
    return (store.context.clock() - max(tried)).total_seconds() >= config.minutes * 60


def failures(private: str) -> list[str]:
    """Return a sentence for each remote whose last sync failed."""
    said = []
    for name, record in sorted(read_records(private).items()):
        if record.failure:
            since = f"since {record.synced:%Y-%m-%d %H:%M}" if record.synced else "yet"
            said.append(f"Not synced with {name} {since}: {record.failure}")
    return said


def read_records(private: str) -> dict[str, Record]:
    """Return what is remembered of each remote; nothing where that cannot be read."""
    try:
        data = read_regular(os.path.join(private, _FILE), _MAX_BYTES)
        if data is None:
            return {}
        import json

        said = json.loads(data)
        return {str(name): _record(fields) for name, fields in said["remotes"].items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {}


def write_record(private: str, name: str, record: Record | None) -> None:
    """Remember how it went with a remote; None: forget it."""
    import json

    records = {**read_records(private), name: record}
    said = {
        remote: {
            "tried": known.tried.isoformat(),
            "synced": known.synced.isoformat() if known.synced else None,
            "failure": known.failure,
            "unreachable": known.unreachable,
        }
        for remote, known in records.items()
        if known is not None
    }
    path = os.path.join(private, _FILE)
    temporary = f"{path}.{os.getpid()}.new"
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(json.dumps({"v": 1, "remotes": said}, ensure_ascii=False))
    os.replace(temporary, path)


def _record(fields: dict[str, object]) -> Record:
    moments = [datetime.fromisoformat(str(fields[key])) if fields.get(key) else None for key in ("tried", "synced")]
    tried, synced = moments
    if tried is None or tried.tzinfo is None:
        raise ValueError
    return Record(tried, synced, str(fields.get("failure", "")), bool(fields.get("unreachable")))
