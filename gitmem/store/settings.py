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
    builder = _Builder()
    general = dict(builder.tree(*own, MAX_BYTES))
    here = general.pop(STORES, None)
    for key, value in builder.values(own[0], general):
        builder.use(key, value, USER, own[0])
    known: Mapping[str, object] | None = None
    for key, value in builder.values(tracked[0], builder.tree(*tracked, MAX_TRACKED_BYTES)):
        if not is_harmless(key, value):
            known = agreed() if known is None else known
            if not is_agreed(known, key, value):
                builder.untrusted.append(Untrusted(key, value, tracked[0]))
                continue
        builder.use(key, value, STORE, tracked[0])
    if isinstance(here, Mapping) and isinstance(section := here.get(store), Mapping):
        for key, value in builder.values(own[0], section):
            builder.use(key, value, HERE, own[0])
    return builder.build()


class _Builder:
    """A configuration that is being built, file by file."""

    def __init__(self) -> None:
        self.config = Config()
        self.problems: list[str] = []
        self.untrusted: list[Untrusted] = []
        self.origins: dict[str, SettingOrigin] = {}

    def tree(self, name: str, data: bytes | None, most: int) -> Mapping[str, object]:
        """Return the content of a file as a mapping; {} and a recorded problem if it is invalid."""
        if not data:
            return {}
        try:
            return _mapping(data, most)
        except ValueError as error:
            self.problems.append(f"{name} cannot be read and is not used: {error}.")
            return {}

    def values(self, name: str, tree: Mapping[str, object]) -> Iterator[tuple[str, object]]:
        """Yield the valid settings of a file; record the others as problems."""
        for group, values in tree.items():
            if values is None:  # a group whose settings are all commented out
                continue
            if not isinstance(values, Mapping):
                self.problems.append(f"{name}: {shown(group)} is not a group of settings and is not used.")
                continue
            for inner, value in values.items():
                try:
                    key = f"{group}.{inner}"
                    parsed = parse_value(key, value)
                except ValueError as error:
                    self.problems.append(f"{name}: {error}; it is not used.")
                else:
                    yield key, parsed

    def use(self, key: str, value: object, layer: str, file: str) -> None:
        """Apply a value."""
        group, _, name = key.partition(".")
        changed = getattr(self.config, group)._replace(**{name: value})
        self.config = self.config._replace(**{group: changed})
        self.origins[key] = SettingOrigin(key, layer, file)

    def build(self) -> Config:
        """Return the configuration; a value that changes nothing or that the person overrides needs no agreement."""
        untrusted = [
            item
            for item in self.untrusted
            if item.value != value_of(self.config, item.key)
            and not (item.key in self.origins and self.origins[item.key].layer == HERE)
        ]
        rotation = self.config.rotation
        if rotation.carryover_tokens >= rotation.threshold_tokens:  # each save would rotate again
            less = rotation.threshold_tokens // 10
            if "rotation.carryover_tokens" in self.origins:
                self.problems.append(
                    f"rotation.carryover_tokens ({rotation.carryover_tokens:,}) is not below rotation.threshold_tokens "
                    f"({rotation.threshold_tokens:,}); {less:,} are kept."
                )
            self.config = self.config._replace(rotation=rotation._replace(carryover_tokens=less))
        problems = self.problems[:_MAX_PROBLEMS]
        if len(self.problems) > _MAX_PROBLEMS:
            problems.append(f"And {len(self.problems) - _MAX_PROBLEMS} more problems.")
        origins = tuple(self.origins.values())
        return self.config._replace(problems=tuple(problems), untrusted=tuple(untrusted), origins=origins)


def is_comments(data: bytes) -> bool:
    """Return whether a settings file has only comments and blank lines."""
    return all(line.strip(b" \t\r")[:1] in {b"", b"#"} for line in data.removeprefix(_BOM).split(b"\n"))


def _mapping(data: bytes, most: int) -> Mapping[str, object]:
    if len(data) > most:
        raise ValueError(f"it has more than {most} bytes")
    if is_comments(data):
        return {}
    from gitmem.document.yaml import load_mapping

    return load_mapping(data.decode())


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
