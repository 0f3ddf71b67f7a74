"""A save that is not committed yet: the event of the spool."""

from __future__ import annotations

from collections.abc import Mapping

from gitmem.document.document import as_texts
from gitmem.document.entry import MemoryType, clean_tag
from gitmem.document.ids import is_id
from gitmem.platform.machine import datetime
from gitmem.values import Value

EVENT_VERSION = 1
_KIND = "save"


class Save(Value):
    """A text to save. `at` is the time of the text, `host` the agent or command it comes from.

    `forbids` are the literals of the rule that it becomes, `enforce` is `ask` or `deny` for more than a warning.
    """

    id: str
    at: datetime
    text: str
    type: MemoryType = MemoryType.NOTE
    tags: tuple[str, ...] = ()
    session: str = ""
    host: str = ""
    forbids: tuple[str, ...] = ()
    enforce: str = ""

    def to_event(self) -> dict[str, object]:
        """Return the save as a spool event."""
        plain = {"at": self.at.isoformat(), "type": self.type.value, "tags": list(self.tags)}
        plain |= {"forbids": list(self.forbids)}
        return {"v": EVENT_VERSION, "kind": _KIND, **self._asdict(), **plain}


class UnknownEventError(Exception):
    """The event was written by a newer gitmem and stays in the spool."""


def parse_event(content: Mapping[str, object]) -> Save:
    """Return the save in an event.

    Raises UnknownEventError if a newer gitmem wrote the event, ValueError if the event is malformed (KeyError,
    TypeError: likewise).
    """
    if content.get("v") != EVENT_VERSION or content.get("kind") != _KIND:
        if isinstance(content.get("v"), int) and isinstance(content.get("kind"), str):
            raise UnknownEventError
        raise ValueError("no save event")
    identifier, text, tags = content["id"], content["text"], content["tags"]
    if not (isinstance(identifier, str) and is_id(identifier) and isinstance(text, str) and isinstance(tags, list)):
        raise ValueError("no save event")
    return Save(
        id=identifier,
        at=datetime.fromisoformat(str(content["at"])),
        text=text,
        type=MemoryType(str(content["type"])),
        tags=tuple(clean_tag(str(tag)) for tag in tags),
        session=str(content.get("session") or ""),
        host=str(content.get("host") or ""),
        forbids=as_texts(content.get("forbids")),
        enforce=str(content.get("enforce") or ""),
    )
