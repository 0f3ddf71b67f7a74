"""Settings as a person sees and changes them (spec R13): each with where it comes from, changed one at a time.

`gitmem.config` says what settings there are and what fits; this is about the files they stand in. A change edits the
text of the file, so that comments and everything else in it stay.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from gitmem.config import HERE, RULES, is_harmless, parse_value, settings
from gitmem.errors import GitmemError, RefusedError
from gitmem.model.document.edit import YamlTextError, remove_value, set_value
from gitmem.model.document.scalars import flow
from gitmem.model.message import Message, Op, Trailer
from gitmem.model.paths import CONFIG
from gitmem.store.config.agree import write_personal
from gitmem.store.config.files import STORES
from gitmem.store.config.personal import personal_folder, read_small
from gitmem.store.transaction.transact import transact

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitmem.config import Config, Untrusted
    from gitmem.store.store import Store
    from gitmem.store.transaction.transaction import Transaction

DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Found:
    """A setting in force.

    `path` is the file it comes from, None for a default; `untrusted` what the store's tracked file says instead, which
    does not count.
    """

    key: str
    value: object
    origin: str
    path: str | None
    help: str
    untrusted: Untrusted | None


@dataclass(frozen=True, slots=True)
class Changed:
    """Where a setting was changed, and the commit that did it, None where it was no tracked file."""

    path: str
    commit: str | None
    notices: tuple[str, ...] = ()


def find_settings(config: Config) -> list[Found]:
    """Return every setting with its origin, in order."""
    origins = {origin.key: origin for origin in config.origins}
    untrusted = {item.key: item for item in config.untrusted}
    found = []
    for setting in settings(config):
        source = origins.get(setting.key)
        layer, path = (DEFAULT, None) if source is None else (source.layer, source.file)
        found.append(Found(setting.key, setting.value, layer, path, setting.help, untrusted.get(setting.key)))
    return found


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


def set_for_store(store: Store, key: str, value: object | None) -> Changed:
    """Set a setting for one store, or take it back (None).

    What a tracked file may say goes into the store's, as one commit, and counts for all who share the store; all else
    into the person's own file, for this store alone.

    Raises:
        GitmemError: a file cannot be changed in place, or nothing could be committed.

    """
    own = any(origin.key == key and origin.layer == HERE for origin in store.config.origins)
    place = (STORES, os.path.realpath(store.root), *key.split("."))
    if value is not None and not is_harmless(key, value):
        return Changed(_set_in_own_file(store.context.environ, store.context.home, place, value), None)

    def plan(transaction: Transaction) -> bool:
        data = edited(CONFIG, transaction.read(CONFIG) or b"", tuple(key.split(".")), value)
        shown = "" if isinstance(value, tuple) else f" to {flow(value)}"
        message = Message(
            f"Unset {key}" if value is None else f"Set {key}{shown}", ((Trailer.OP.value, Op.CONFIG.value),)
        )
        return transaction.commit(message, {CONFIG: data})

    outcome = transact(store, plan, purpose="config")
    path = os.path.join(store.root, CONFIG)
    if own:  # it would count before what was just set
        own_path = _set_in_own_file(store.context.environ, store.context.home, place, None)
        path = path if outcome.value else own_path
    return Changed(path, outcome.commits[-1] if outcome.value else None, outcome.notices)


def set_for_all(environ: Mapping[str, str], home: str, key: str, value: object | None) -> Changed:
    """Set a setting in the person's own file, or remove it from there (None).

    Raises:
        GitmemError: the file cannot be changed in place or not be written.

    """
    return Changed(_set_in_own_file(environ, home, tuple(key.split(".")), value), None)


def edited(name: str, data: bytes, path: tuple[str, ...], value: object | None) -> bytes:
    """Return the content of a settings file with one value changed, or removed; all other bytes stay.

    Raises:
        GitmemError: that is not possible; `name` is what the message calls the file.

    """
    try:
        text = data.decode()
        text = remove_value(text, path) if value is None else set_value(text, path, _plain(value))
    except (YamlTextError, UnicodeDecodeError) as error:
        raise GitmemError(f"{name} cannot be changed: {error}.", "Mend it with an editor, then try again.") from error
    return text.encode()


def _set_in_own_file(environ: Mapping[str, str], home: str, place: tuple[str, ...], value: object | None) -> str:
    path = os.path.join(personal_folder(environ, home), CONFIG)
    data = read_small(path)
    if data is None and os.path.exists(path):
        raise GitmemError(f"{path} cannot be read.", "Give access; it is changed only as a whole.")
    write_personal(path, edited(path, data or b"", place, value))
    return path


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
