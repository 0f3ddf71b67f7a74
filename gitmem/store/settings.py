"""Settings as a person sees and changes them (spec R13): each with where it comes from, changed one at a time.

`gitmem.config` says what settings there are and what fits; this is about the two files they stand in. A change edits
the text of the file, so that comments and everything else in it stay.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from gitmem.config import RULES, load_config, parse_value, settings
from gitmem.errors import GitmemError, RefusedError
from gitmem.model.message import Message, Op, Trailer
from gitmem.model.paths import CONFIG
from gitmem.model.yamltext import YamlTextError, load_mapping, remove_value, set_value
from gitmem.model.yamlvalue import flow
from gitmem.store.locate import user_store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitmem.store.store import Outcome, Store
    from gitmem.store.transaction import Transaction

DEFAULT = "default"
USER = "user"
STORE = "store"


@dataclass(frozen=True, slots=True)
class Layer:
    """A settings file: `origin` is `user` or `store`, `data` None where there is no such file."""

    origin: str
    path: str
    data: bytes | None


@dataclass(frozen=True, slots=True)
class Found:
    """A setting in force; `path` is the file it comes from, None for a default."""

    key: str
    value: object
    origin: str
    path: str | None
    help: str


def read_layers(home: str, store: str | None) -> list[Layer]:
    """Return the settings files that count for the store at work tree `store`, or for none, the weakest first."""
    places = {os.path.join(user_store(home), CONFIG): USER}
    if store is not None:
        places.setdefault(os.path.join(store, CONFIG), STORE)
    return [Layer(origin, path, _read(path)) for path, origin in places.items()]


def find_settings(layers: Sequence[Layer]) -> tuple[list[Found], tuple[str, ...]]:
    """Return every setting with its origin, in order, and what in the files could not be used, a sentence each."""
    config = load_config([(layer.path, layer.data) for layer in layers])
    origins: dict[str, Layer] = {}
    for layer in layers:
        own = layer.origin == USER
        origins |= {key: layer for key in _keys(layer) if own or not RULES[key].personal}
    found = []
    for setting in settings(config):
        source = origins.get(setting.key)
        origin, path = (DEFAULT, None) if source is None else (source.origin, source.path)
        found.append(Found(setting.key, setting.value, origin, path, setting.help))
    return found, config.problems


def check_key(key: str) -> None:
    """Refuse a setting that there is not.

    Raises:
        RefusedError: with the nearest one, if one is near.

    """
    if key in RULES:
        return
    by_name = {name.rpartition(".")[2]: name for name in RULES}
    near = get_close_matches(key, RULES, 1) or [by_name[name] for name in get_close_matches(key, by_name, 1)]
    hint = f"Did you mean {near[0]!r}? " if near else ""
    raise RefusedError(f"There is no setting {key!r}.", f"{hint}'gitmem config' lists them all.")


def read_value(key: str, text: str) -> object:
    """Return the value that a person wrote as YAML, a scalar or a list, in the form the setting has.

    Raises:
        RefusedError: it does not fit.

    """
    import yaml

    check_key(key)
    readings: list[object] = [text]  # what YAML takes for something else, as `*.test` or `12:30`, may be meant as text
    with contextlib.suppress(yaml.YAMLError, RecursionError, ValueError):
        readings.insert(0, yaml.safe_load(text))
    complaints = []
    for reading in readings:
        try:
            return parse_value(key, reading)
        except ValueError as error:
            complaints.append(f"{error}")
    raise RefusedError(f"The setting {complaints[0]}.")


def set_in_store(store: Store, key: str, value: object | None) -> Outcome[bool]:
    """Set a setting in the store's own file, or remove it from there (None), as one commit; False if it was so already.

    Raises:
        RefusedError: the setting counts in the user's own file only.
        GitmemError: the file cannot be changed in place, or nothing could be committed.

    """
    home = store.context.home
    if RULES[key].personal and value is not None and os.path.realpath(store.root) != os.path.realpath(user_store(home)):
        raise RefusedError(f"{key} counts in your own settings only.", f"Add --user: 'gitmem config {key} … --user'.")

    def plan(transaction: Transaction) -> bool:
        data = edited(CONFIG, transaction.read(CONFIG) or b"", key, value)
        shown = "" if isinstance(value, tuple) else f" to {flow(value)}"
        message = Message(
            f"Unset {key}" if value is None else f"Set {key}{shown}", ((Trailer.OP.value, Op.CONFIG.value),)
        )
        return transaction.commit(message, {CONFIG: data})

    # In force from here on: a text that redaction is to allow may stand in the file that allows it.
    data = edited(CONFIG, store.read(CONFIG) or b"", key, value)
    layers = read_layers(store.context.home, store.root)
    store.config = load_config([(layer.path, layer.data) for layer in layers[:-1]] + [(layers[-1].path, data)])
    return store.transact(plan, purpose="config")


def set_in_user_file(home: str, key: str, value: object | None) -> str:
    """Set a setting in the user's own file, or remove it from there (None); returns the file's path.

    Raises:
        GitmemError: the file cannot be changed in place or not be written.

    """
    shown = os.path.join(user_store(home), CONFIG)
    path = os.path.realpath(shown)  # it may be a link to where a person keeps such files
    data = edited(shown, _read(path) or b"", key, value)
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise GitmemError(f"{shown} could not be written: {error.strerror}.", "Make room or give access.") from error
    return shown


def edited(name: str, data: bytes, key: str, value: object | None) -> bytes:
    """Return the content of a settings file with one setting changed, or removed; all other bytes stay.

    Raises:
        GitmemError: that is not possible; `name` is what the message calls the file.

    """
    path = tuple(key.split("."))
    try:
        text = data.decode()
        text = remove_value(text, path) if value is None else set_value(text, path, _plain(value))
    except (YamlTextError, UnicodeDecodeError) as error:
        raise GitmemError(f"{name} cannot be changed: {error}.", "Mend it with an editor, then try again.") from error
    return text.encode()


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _keys(layer: Layer) -> list[str]:
    """Return the settings that a file gives a usable value."""
    try:
        tree = load_mapping((layer.data or b"").decode())
    except (YamlTextError, UnicodeDecodeError):
        return []
    return [
        f"{group}.{name}"
        for group, values in tree.items()
        if isinstance(values, dict)
        for name, value in values.items()
        if _fits(f"{group}.{name}", value)
    ]


def _fits(key: str, value: object) -> bool:
    try:
        parse_value(key, value)
    except ValueError:
        return False
    return True


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read(1 << 20)
    except OSError:
        return None
