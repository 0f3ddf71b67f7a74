"""Settings: one table of all keys, their values, and the values a tracked file may set (docs/settings.md, "Settings").

A store's own `config.yaml` is *tracked*: it may come from a remote, or with somebody's project. So it may set a few
numbers, within bounds that do no harm. All else in it counts only after the user agreed to that exact value on this
machine (`gitmem config trust`), or where it stands in the user's own file, which no store tracks.

A setting that cannot be used is passed over and reported, never an error: a typing mistake in a settings file must
not cost a memory. A personal file that resolves into a store is not read, since a sync could have written it.
Hooks read this.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache

from gitmem.config.values import Config, SettingOrigin, Untrusted
from gitmem.document.ids import CONFIG
from gitmem.git.layout import STORE_FOLDER
from gitmem.platform.machine import table
from gitmem.platform.safe_open import read_small
from gitmem.values import Value

DEFAULT, USER, HERE, STORE = "default", "user", "here", "store"
_MOST = 1_000_000_000


class Rule(Value):
    """The help text of a setting and its bounds.

    A number is from `minimum` to `maximum`, a text is one of `choices`. `tracked` is the range that a tracked file may
    set without consent; None forbids it.
    """

    help: str
    minimum: int = 0
    maximum: int = _MOST
    choices: tuple[str, ...] = ()
    tracked: tuple[int, int] | None = None


@cache
def rules() -> dict[str, Rule]:
    """Return the rule of each setting, by its key: the rows of `data/settings.tsv`."""
    rules_by_key = {}
    for key, least, most, tracked, choices, words in table("settings.tsv"):
        first, _, last = tracked.partition(" ")
        bounds = (int(first), int(last)) if last else None
        rules_by_key[key] = Rule(words, int(least or 0), int(most or _MOST), tuple(choices.split()), bounds)
    return rules_by_key


def value_of(config: Config, key: str) -> object:
    """Return the value of one setting."""
    group, _, name = key.partition(".")
    return getattr(getattr(config, group), name)


def is_harmless(key: str, value: object) -> bool:
    """Return whether a tracked file may set this value without consent."""
    bounds = rules()[key].tracked
    return bounds is not None and isinstance(value, int) and bounds[0] <= value <= bounds[1]


def is_agreed(agreed: Mapping[str, object], key: str, value: object) -> bool:
    """Return whether the user has agreed to exactly this value."""
    try:
        return key in agreed and parse_value(key, agreed[key]) == value
    except ValueError:
        return False


def parse_value(key: str, value: object) -> object:
    """Return a value of YAML in the form that the setting has; raises ValueError, whose message is a sentence."""
    rule = rules().get(key)
    if rule is None:
        raise ValueError(f"there is no setting {shown(key)}")
    default = value_of(Config(), key)
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise ValueError(f"{key} is true or false, not {shown(value)}")
    elif isinstance(default, int):
        if not isinstance(value, int) or isinstance(value, bool) or not rule.minimum <= value <= rule.maximum:
            raise ValueError(f"{key} is a whole number from {rule.minimum} to {rule.maximum}, not {shown(value)}")
    elif isinstance(default, tuple):
        if isinstance(value, str):
            value = [value]
        if not isinstance(value, list | tuple) or not all(isinstance(part, str) for part in value):
            raise ValueError(f"{key} is a list of texts, not {shown(value)}")
        return tuple(value)
    elif not isinstance(value, str) or value not in (rule.choices or (value,)):
        allowed = f"one of {', '.join(rule.choices)}" if rule.choices else "a text"
        raise ValueError(f"{key} is {allowed}, not {shown(value)}")
    return value


def shown(value: object) -> str:
    """Return a value for people, truncated: with aliases a short file can hold a huge value."""
    from reprlib import Repr

    if isinstance(value, bool):
        return str(value).lower()  # as the file and `gitmem config` have it
    bounded = Repr()
    bounded.maxlevel = 1
    try:
        return bounded.repr(value)
    except ValueError:  # more digits than Python converts
        return "a number that is too long"


MAX_BYTES = 65_536  # of the user's own file
MAX_TRACKED_BYTES = 8_192  # of a store's file: a hook waits until Python has parsed it
STORES = "stores"  # in the user's own file: settings for single stores, by folder
TRUST = "trust.json"
_FOLDER = "gitmem"
_MAX_PROBLEMS = 20
_BOM = b"\xef\xbb\xbf"


def load_config(
    own: tuple[str, bytes | None],
    tracked: tuple[str, bytes | None] = ("", None),
    store: str = "",
    agreed: Callable[[], Mapping[str, object]] = dict,
) -> Config:
    """Return the configuration from the user's own file and a store's tracked one, each given as name and content.

    In rising precedence: the user's general settings, the allowed values of the tracked file, the user's settings
    for this store (the section named by the folder `store`). `agreed` returns the tracked values the user agreed to;
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
    # A value that changes nothing, or that the user overrides here, needs no agreement.
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


def personal_folder(environ: Mapping[str, str], home: str, platform: str = sys.platform) -> str:
    """Return the folder of the user's own settings, as the platform's convention has it."""
    configured = environ.get("APPDATA" if platform == "win32" else "XDG_CONFIG_HOME", "")
    if os.path.isabs(configured):  # the XDG specification ignores relative paths
        return os.path.join(configured, _FOLDER)
    defaults = {"win32": ("AppData", "Roaming"), "darwin": ("Library", "Application Support")}
    return os.path.join(home, *defaults.get(platform, (".config",)), _FOLDER)


def read_config(environ: Mapping[str, str], home: str, root: str | None) -> Config:
    """Return the configuration for the store at `root`; for None, the user's own settings alone."""
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
    """Return the tracked values of a store that the user agreed to, by setting."""
    return read_trust(folder).get(os.path.realpath(root), {})


def read_trust(folder: str) -> dict[str, dict[str, object]]:
    """Return the tracked values that the user agreed to, by store; {} if the file is missing or damaged."""
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
