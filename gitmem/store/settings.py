"""Read the person's own settings and the store's tracked ones, change one, note what the person agreed to (spec R13).

`gitmem.config` has the table of settings, docs/settings.md what a person may rely on. Invalid values are skipped and
named in `Config.problems`. A personal file that resolves into a store is not read, since a sync could have written it.
A change edits the text of a file, so that comments stay. Hooks only read: what changes alone needs is imported late.
"""

from __future__ import annotations

import contextlib
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
    rules,
    shown,
    value_of,
)
from gitmem.document.ids import CONFIG
from gitmem.errors import GitmemError, RefusedError, UsageError, disk_errors
from gitmem.platform.safe_open import read_small, replace_file
from gitmem.store.locate import STORE_FOLDER
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from gitmem.platform.machine import Context
    from gitmem.store.store import Store
    from gitmem.store.transaction import Transaction

MAX_BYTES = 65_536  # of the person's own file
MAX_TRACKED_BYTES = 8_192  # of a store's file: a hook waits until Python has parsed it
STORES = "stores"  # in the person's own file: settings for single stores, by folder
TRUST = "trust.json"
_MADE = "config-made"  # the digest of the settings file that gitmem made
_FOLDER = "gitmem"
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


def agree(context: Context, root: str, values: Mapping[str, object]) -> None:
    """Record that the person agreed to these values of the store at `root`; None withdraws that for a setting."""
    import json

    folder = personal_folder(context.environ, context.home)
    stores, name = read_trust(folder), os.path.realpath(root)
    agreed = {**stores.get(name, {}), **values}
    stores[name] = {key: value for key, value in agreed.items() if value is not None}
    kept = {store: agreed for store, agreed in stores.items() if agreed}
    text = json.dumps({"v": 1, "stores": kept}, ensure_ascii=True, indent=1, sort_keys=True)
    _write_personal(os.path.join(folder, TRUST), text.encode() + b"\n")


def made_files(context: Context) -> list[str]:
    """Return the files of the person's settings folder that gitmem made and nobody edited."""
    folder = personal_folder(context.environ, context.home)
    names = [CONFIG, _MADE] if _is_made(os.path.join(folder, CONFIG)) else []
    return [path for name in (TRUST, *names) if os.path.isfile(path := os.path.join(folder, name))]


def _is_made(path: str) -> bool:
    """Return whether gitmem made the person's settings file and wrote what is in it."""
    data = read_small(path, follow=False)
    return data is not None and read_small(os.path.join(os.path.dirname(path), _MADE)) == _digest(data)


def _digest(data: bytes) -> bytes:
    import hashlib

    return hashlib.sha256(data).hexdigest().encode() + b"\n"


def _write_personal(path: str, data: bytes, *, made: bool = False) -> None:
    """Write a file in the person's settings folder, through a link; with `made`, as one that gitmem made."""
    target = os.path.realpath(path)
    if is_inside_store(target):
        raise RefusedError(f"{path} leads into a store, which others may write to.", "Remove the link.")
    with disk_errors(f"{path} could not be written", GitmemError):
        if made:
            replace_file(os.path.join(os.path.dirname(path), _MADE), _digest(data))
        replace_file(target, data, sync=True, mode=0o600)


class SettingChange(Value):
    """The file in which a setting was changed, and the commit, None if the file is not tracked."""

    path: str
    commit: str | None
    notices: tuple[str, ...] = ()


def check_key(key: str) -> None:
    """Refuse an unknown setting.

    Raises:
        UsageError: there is no such setting; the remedy names the most similar one.

    """
    from difflib import get_close_matches

    if key in rules():
        return
    by_name = {name.rpartition(".")[2]: name for name in rules()}
    near = get_close_matches(key, rules(), 1) or [by_name[name] for name in get_close_matches(key, by_name, 1)]
    hint = f"Did you mean {near[0]!r}? " if near else ""
    raise UsageError(f"There is no setting {key!r}.", f"{hint}'gitmem config' lists them all.")


def read_value(key: str, text: str) -> object:
    """Parse a value that a person wrote as YAML (a scalar or list), as the type of its setting.

    Raises:
        UsageError: the value is invalid.

    """
    import yaml

    check_key(key)
    if "\n" in text and isinstance(value_of(Config(), key), str):  # YAML would join the lines
        return parse_value(key, text)
    readings: list[object] = [text]  # fallback for `*.test` or `12:30`, to which YAML gives another meaning
    with contextlib.suppress(yaml.YAMLError, RecursionError, ValueError):
        readings.insert(0, yaml.safe_load(text))
    complaints = []
    for reading in readings:
        try:
            return parse_value(key, reading)
        except ValueError as error:
            complaints.append(f"{error}")
    raise UsageError(f"The setting {complaints[0]}.")


def set_for_store(store: Store, key: str, value: object | None) -> SettingChange:
    """Set a setting for one store, or unset it (None).

    A value that a tracked file may set is committed to the store, for all who share it. Any other value is written to
    the person's own file, for this store alone.

    Raises:
        GitmemError: a file cannot be changed in place, or nothing could be committed.

    """
    from gitmem.document.document import flow
    from gitmem.document.message import Message, Op, Trailer
    from gitmem.store.transact import transact

    _check_carryover(store.config, key, value)
    own = any(origin.key == key and origin.layer == HERE for origin in store.config.origins)
    place = (STORES, os.path.realpath(store.root), *key.split("."))
    if value is not None and not is_harmless(key, value):
        return SettingChange(_set_in_own_file(store.context.environ, store.context.home, place, value), None)

    def plan(transaction: Transaction) -> bool:
        data = _edited(CONFIG, transaction.read(CONFIG) or b"", tuple(key.split(".")), value)
        to = "" if isinstance(value, tuple) else f" to {flow(value)}"
        message = Message(f"Unset {key}" if value is None else f"Set {key}{to}", ((Trailer.OP.value, Op.CONFIG.value),))
        return transaction.commit(message, {CONFIG: data})

    outcome = transact(store, plan, purpose="config")
    path = os.path.join(store.root, CONFIG)
    if own:  # it would override the tracked value
        own_path = _set_in_own_file(store.context.environ, store.context.home, place, None)
        path = path if outcome.value else own_path
    return SettingChange(path, outcome.commit, outcome.notices)


def _check_carryover(config: Config, key: str, value: object | None) -> None:
    """Refuse to keep as much of `memory.md` as makes it rotate."""
    threshold = config.rotation.threshold_tokens
    if key == "rotation.carryover_tokens" and isinstance(value, int) and value >= threshold:
        raise RefusedError(
            f"{key} has to be below rotation.threshold_tokens, which is {threshold:,}.",
            "What is kept of memory.md would fill it again at once.",
        )


def set_for_all(environ: Mapping[str, str], home: str, key: str, value: object | None) -> SettingChange:
    """Set a setting in the person's own file, or remove it from there (None).

    Raises:
        GitmemError: the file cannot be changed in place or not be written.

    """
    _check_carryover(read_config(environ, home, None), key, value)
    return SettingChange(_set_in_own_file(environ, home, tuple(key.split(".")), value), None)


def _edited(name: str, data: bytes, path: tuple[str, ...], value: object | None) -> bytes:
    """Return the content of a settings file, `name`, with one value changed or removed; all other bytes stay."""
    from gitmem.document.document import YamlTextError
    from gitmem.document.yaml import remove_value, set_value

    try:
        text = data.decode()
        value = list(value) if isinstance(value, tuple) else value
        text = remove_value(text, path) if value is None else set_value(text, path, value)
    except (YamlTextError, UnicodeDecodeError) as error:
        raise GitmemError(f"{name} cannot be changed: {error}.", "Correct it in an editor, then try again.") from error
    return text.encode()


def _set_in_own_file(environ: Mapping[str, str], home: str, place: tuple[str, ...], value: object | None) -> str:
    path = os.path.join(personal_folder(environ, home), CONFIG)
    data = read_small(path)
    if data is None and os.path.exists(path):
        raise GitmemError(f"{path} cannot be read.", "Give access to it, then try again.")
    made = not os.path.lexists(path) or _is_made(path)
    _write_personal(path, _edited(path, data or b"", place, value), made=made)
    return path
