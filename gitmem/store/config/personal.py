"""The person's own settings folder: `config.yaml`, and `trust.json` with the tracked values they agreed to.

See docs/format.md, "Settings". A file that resolves into a store is not read: a sync could have written it.
"""

from __future__ import annotations

import os
import sys

from gitmem.machine.beneath import read_regular
from gitmem.model.paths import CONFIG
from gitmem.store.config.files import is_comments, load_config
from gitmem.store.config.locate import STORE_FOLDER, user_store

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitmem.config import Config

TRUST = "trust.json"
_FOLDER = "gitmem"
_MAX_BYTES = 1 << 20


def personal_folder(environ: Mapping[str, str], home: str, platform: str = sys.platform) -> str:
    """Return the folder of the person's own settings, as the platform's convention has it."""
    configured = environ.get("APPDATA" if platform == "win32" else "XDG_CONFIG_HOME", "")
    if os.path.isabs(configured):  # the XDG specification ignores relative paths
        return os.path.join(configured, _FOLDER)
    defaults = {"win32": ("AppData", "Roaming"), "darwin": ("Library", "Application Support")}
    return os.path.join(home, *defaults.get(platform, (".config",)), _FOLDER)


def is_left_behind(environ: Mapping[str, str], home: str) -> bool:
    """Return whether the person's settings are still at their former path (`gitmem.store.config.takeover`)."""
    if os.path.lexists(os.path.join(personal_folder(environ, home), CONFIG)):
        return False
    data = read_small(os.path.join(user_store(home), CONFIG))
    return data is not None and not is_comments(data)


def read_config(environ: Mapping[str, str], home: str, root: str | None) -> Config:
    """Return the configuration for the store at `root`; for None, the person's own settings alone."""
    folder = personal_folder(environ, home)
    path = os.path.join(folder, CONFIG)
    own = read_small(path)
    misplaced = own is not None and is_inside_store(path)
    tracked = os.path.join(root, CONFIG) if root is not None else ""
    config = load_config(
        (path, None if misplaced else own),
        (tracked, read_small(tracked, follow=False) if root is not None else None),
        store=os.path.realpath(root) if root is not None else "",
        agreed=lambda: read_agreed(folder, root or ""),
    )
    if misplaced:
        problem = f"{path} leads into a store, which others may write to, and is not used."
        config = config._replace(problems=(problem, *config.problems))
    return config


def read_agreed(folder: str, root: str) -> Mapping[str, object]:
    """Return the tracked values of a store that the person agreed to, by setting."""
    return read_trust(folder).get(os.path.realpath(root), {})


def read_trust(folder: str) -> dict[str, dict[str, object]]:
    """Return the tracked values that the person agreed to, by store; {} if the file is missing or damaged."""
    path = os.path.join(folder, TRUST)
    data = read_small(path)
    if data is None or is_inside_store(path):
        return {}
    import json

    try:
        stores = json.loads(data)["stores"]
        return {root: dict(values) for root, values in stores.items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {}


def is_inside_store(path: str) -> bool:
    """Return whether a path resolves to one inside a store."""
    return any(part.casefold() == STORE_FOLDER for part in os.path.realpath(path).split(os.sep))


def read_small(path: str, *, follow: bool = True) -> bytes | None:
    """Return up to 1 MiB of a regular file, None if it cannot be read, or is a link and `follow` is false."""
    if not follow and os.path.islink(path):  # for systems without O_NOFOLLOW
        return None
    try:
        return read_regular(path, _MAX_BYTES, follow=follow)
    except OSError:
        return None
