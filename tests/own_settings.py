"""A user's own settings, which may say what a store's may not."""

from collections.abc import Mapping
from pathlib import Path

from gitmem.config.read import personal_folder
from gitmem.platform.machine import Context


def own_file(environ: Mapping[str, str], home: str) -> Path:
    """Return where a user's own settings are; the folder is there."""
    path = Path(personal_folder(environ, home), "config.yaml")
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def own_settings(context: Context, text: str) -> None:
    """Write the settings of the user that a context is of, as an editor would."""
    own_file(context.environ, context.home).write_text(text, encoding="utf-8")
