"""The person's own settings, and what they agreed to: in a folder of theirs that no store tracks.

`config.yaml` in it has their settings, `trust.json` the values of stores' tracked files that they said yes to
(docs/format.md, "Settings"). Neither is read where it turns out to be inside a store: what a sync writes there is not
the person's.
"""

from __future__ import annotations

import os
import sys

from gitmem.machine.beneath import read_regular
from gitmem.model.paths import CONFIG
from gitmem.store.config.files import is_comments, load_config
from gitmem.store.locate import STORE_FOLDER, user_store

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitmem.config import Config

TRUST = "trust.json"
_FOLDER = "gitmem"
_MOST = 1 << 20


def personal_folder(environ: Mapping[str, str], home: str, platform: str = sys.platform) -> str:
    """Return the folder of a person's own settings, where people expect such files on their system."""
    named = environ.get("APPDATA" if platform == "win32" else "XDG_CONFIG_HOME", "")
    if os.path.isabs(named):  # the XDG specification has relative ones ignored
        return os.path.join(named, _FOLDER)
    places = {"win32": ("AppData", "Roaming"), "darwin": ("Library", "Application Support")}
    return os.path.join(home, *places.get(platform, (".config",)), _FOLDER)


def is_left_behind(environ: Mapping[str, str], home: str) -> bool:
    """Say whether the person's settings are still where gitmem once kept them (`gitmem.store.config.takeover`)."""
    if os.path.lexists(os.path.join(personal_folder(environ, home), CONFIG)):
        return False
    data = read_small(os.path.join(user_store(home), CONFIG))
    return data is not None and not is_comments(data)


def read_config(environ: Mapping[str, str], home: str, root: str | None) -> Config:
    """Return the settings in force for the store at a work tree, or for none."""
    folder = personal_folder(environ, home)
    path = os.path.join(folder, CONFIG)
    own = read_small(path)
    astray = own is not None and inside_store(path)
    tracked = os.path.join(root, CONFIG) if root is not None else ""
    config = load_config(
        (path, None if astray else own),
        (tracked, read_small(tracked, follow=False) if root is not None else None),
        store=os.path.realpath(root) if root is not None else "",
        agreed=lambda: read_agreed(folder, root or ""),
    )
    if astray:
        problem = f"{path} leads into a store, which others may write to, and is not used."
        config = config._replace(problems=(problem, *config.problems))
    return config


def read_agreed(folder: str, root: str) -> Mapping[str, object]:
    """Return the values of a store's tracked settings that the person has agreed to, by setting."""
    return read_trust(folder).get(os.path.realpath(root), {})


def read_trust(folder: str) -> dict[str, dict[str, object]]:
    """Return all that the person has agreed to, by store; nothing where that cannot be read."""
    path = os.path.join(folder, TRUST)
    data = read_small(path)
    if data is None or inside_store(path):
        return {}
    import json

    try:
        stores = json.loads(data)["stores"]
        return {root: dict(values) for root, values in stores.items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {}


def inside_store(path: str) -> bool:
    """Say whether a file, once its links are followed, is inside a store."""
    return any(part.casefold() == STORE_FOLDER for part in os.path.realpath(path).split(os.sep))


def read_small(path: str, *, follow: bool = True) -> bytes | None:
    """Return the first megabyte of a file, None where there is none; of a link only with `follow`."""
    if not follow and os.path.islink(path):  # also where no open can leave links alone
        return None
    try:
        return read_regular(path, _MOST, follow=follow)
    except OSError:
        return None
