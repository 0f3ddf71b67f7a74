"""A save as an event of the spool (docs/format.md, "The spool")."""

from __future__ import annotations

from gitmem.model.entry.entry import clean_tag
from gitmem.model.entry.kinds import MemoryType
from gitmem.model.ids import is_id
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

EVENT_VERSION = 1
_KIND = "save"


class Save(Value):
    """A text to save. `at` is when it was said, `host` the agent or the command it came through."""

    id: str
    at: datetime
    text: str
    type: MemoryType = MemoryType.NOTE
    tags: tuple[str, ...] = ()
    session: str = ""
    host: str = ""

    def to_event(self) -> dict[str, object]:
        """Return the save as a spool event."""
        return {
            "v": EVENT_VERSION,
            "kind": _KIND,
            "id": self.id,
            "at": self.at.isoformat(),
            "text": self.text,
            "type": self.type.value,
            "tags": list(self.tags),
            "session": self.session,
            "host": self.host,
        }


class UnknownEventError(Exception):
    """The event was written by a newer gitmem and stays in the spool."""


def parse_event(content: Mapping[str, object]) -> Save:
    """Return the save in an event.

    Raises:
        UnknownEventError: a newer gitmem wrote the event.
        ValueError: the event is malformed (KeyError, TypeError: likewise).

    """
    if content.get("v") != EVENT_VERSION or content.get("kind") != _KIND:
        if isinstance(content.get("v"), int) and isinstance(content.get("kind"), str):
            raise UnknownEventError
        raise ValueError("no save event")
    identifier, text, tags = content["id"], content["text"], content["tags"]
    if not (isinstance(identifier, str) and is_id(identifier) and isinstance(text, str) and isinstance(tags, list)):
        raise ValueError("no save event")
    from gitmem.machine.moment import datetime

    return Save(
        id=identifier,
        at=datetime.fromisoformat(str(content["at"])),
        text=text,
        type=MemoryType(str(content["type"])),
        tags=tuple(clean_tag(str(tag)) for tag in tags),
        session=str(content.get("session") or ""),
        host=str(content.get("host") or ""),
    )
