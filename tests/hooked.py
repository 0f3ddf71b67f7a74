"""The hooks of gitmem's that a settings file holds."""

from pathlib import Path

from gitmem.errors import RefusedError
from gitmem.hosts.json_settings import SettingsError
from gitmem.hosts.settings import Edit, installed_events


def hooked_events(path: str) -> tuple[str, ...]:
    """Return the events with a hook of gitmem's; none if the file is missing or no settings file."""
    try:
        return installed_events(Path(path).read_text("utf-8"))
    except (OSError, ValueError, RefusedError, SettingsError):
        return ()


def put(edit: Edit, text: str, known: dict[str, str] | None = None) -> tuple[str, dict[str, str]]:
    """Return a text with an edit, and what is noted of it."""
    noted = dict(known or {})
    return edit.put(text, noted), noted
