"""Read the person's own settings and the store's tracked ones (docs/settings.md, "Settings").

`gitmem.config` has the table of settings. Invalid values are skipped and named in `Config.problems`. A personal file
that resolves into a store is not read, since a sync could have written it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping

from gitmem.config import (
    HERE,
    STORE,
    USER,
    Config,
    SettingOrigin,
    Untrusted,
    is_agreed,
    is_harmless,
    parse_value,
    shown,
    value_of,
)
from gitmem.document.ids import CONFIG
from gitmem.platform.safe_open import read_small
from gitmem.store.locate import STORE_FOLDER

MAX_BYTES = 65_536  # of the person's own file
MAX_TRACKED_BYTES = 8_192  # of a store's file: a hook waits until Python has parsed it
STORES = "stores"  # in the person's own file: settings for single stores, by folder
_MAX_PROBLEMS = 20
_BOM = b"\xef\xbb\xbf"


def load_config(
    own: tuple[str, bytes | None],
    tracked: tuple[str, bytes | None] = ("", None),
    store: str = "",
    agreed: Callable[[], Mapping[str, object]] = dict,
) -> Config:
    """Return the configuration from the person's own file and a store's tracked one, each given as name and content.

    In rising precedence: the person's general settings, the allowed values of the tracked file, the person's settings
    for this store (the section named by the folder `store`). `agreed` returns the tracked values the person agreed to;
    it is called only if a tracked value needs agreement.

    PyYAML is imported only for a file with more than comments: the import takes a fourth of the time of a save.
    """
    problems: list[str] = []
    general = dict(_tree(*own, MAX_BYTES, problems))
    here = general.pop(STORES, None)
    section = here.get(store) if isinstance(here, Mapping) else None
    layers = (
        (USER, own[0], general),
        (STORE, tracked[0], _tree(*tracked, MAX_TRACKED_BYTES, problems)),
        (HERE, own[0], section if isinstance(section, Mapping) else {}),
    )
    config, origins, untrusted = Config(), dict[str, SettingOrigin](), list[Untrusted]()
    known: Mapping[str, object] | None = None
    for layer, file, tree in layers:
        for key, value in _values(file, tree, problems):
            if layer == STORE and not is_harmless(key, value):
                known = agreed() if known is None else known
                if not is_agreed(known, key, value):
                    untrusted.append(Untrusted(key, value, file))
                    continue
            group, _, name = key.partition(".")
            config = config._replace(**{group: getattr(config, group)._replace(**{name: value})})
            origins[key] = SettingOrigin(key, layer, file)
    rotation = config.rotation
    if rotation.carryover_tokens >= rotation.threshold_tokens:  # each save would rotate again
        less = rotation.threshold_tokens // 10
        config = config._replace(rotation=rotation._replace(carryover_tokens=less))
        if "rotation.carryover_tokens" in origins:
            problems.append(
                f"rotation.carryover_tokens ({rotation.carryover_tokens:,}) is not below rotation.threshold_tokens "
                f"({rotation.threshold_tokens:,}); {less:,} are kept."
            )
    if len(problems) > _MAX_PROBLEMS:
        problems[_MAX_PROBLEMS:] = [f"And {len(problems) - _MAX_PROBLEMS} more problems."]
    # A value that changes nothing, or that the person overrides here, needs no agreement.
    overridden = {origin.key for origin in origins.values() if origin.layer == HERE}
    asked = (item for item in untrusted if item.value != value_of(config, item.key) and item.key not in overridden)
    return config._replace(problems=tuple(problems), untrusted=tuple(asked), origins=tuple(origins.values()))


def _tree(name: str, data: bytes | None, most: int, problems: list[str]) -> Mapping[str, object]:
    """Return the content of a file as a mapping; {} and one more problem if it is invalid."""
    lines = (data or b"").removeprefix(_BOM).split(b"\n")
    if not data or (len(data) <= most and all(line.strip(b" \t\r")[:1] in {b"", b"#"} for line in lines)):
        return {}  # nothing but comments
    problem = f"it has more than {most} bytes"
    if len(data) <= most:
        from gitmem.document.yaml import load_mapping

        try:
            return load_mapping(data.decode())
        except ValueError as error:
            problem = f"{error}"
    problems.append(f"{name} cannot be read and is not used: {problem}.")
    return {}


def _values(name: str, tree: Mapping[str, object], problems: list[str]) -> Iterator[tuple[str, object]]:
    """Yield the valid settings of a file; add the others to the problems."""
    for group, values in tree.items():
        if values is not None and not isinstance(values, Mapping):  # None: its settings are all commented out
            problems.append(f"{name}: {shown(group)} is not a group of settings and is not used.")
            continue
        for inner, value in (values or {}).items():
            try:
                key = f"{group}.{inner}"
                parsed = parse_value(key, value)
            except ValueError as error:
                problems.append(f"{name}: {error}; it is not used.")
            else:
                yield key, parsed


TRUST = "trust.json"
_FOLDER = "gitmem"


def personal_folder(environ: Mapping[str, str], home: str, platform: str = sys.platform) -> str:
    """Return the folder of the person's own settings, as the platform's convention has it."""
    configured = environ.get("APPDATA" if platform == "win32" else "XDG_CONFIG_HOME", "")
    if os.path.isabs(configured):  # the XDG specification ignores relative paths
        return os.path.join(configured, _FOLDER)
    defaults = {"win32": ("AppData", "Roaming"), "darwin": ("Library", "Application Support")}
    return os.path.join(home, *defaults.get(platform, (".config",)), _FOLDER)


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
