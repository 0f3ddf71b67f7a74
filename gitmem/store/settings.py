"""Change settings, and record what the user agreed to; `gitmem.config` reads them.

A change edits the text of a file, so that comments stay.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from difflib import get_close_matches

import yaml

from gitmem.config.read import (
    DEFAULT,
    HERE,
    STORES,
    TRUST,
    is_harmless,
    is_inside_store,
    parse_value,
    personal_folder,
    read_config,
    read_trust,
    rules,
    value_of,
)
from gitmem.config.values import Config, Untrusted
from gitmem.document.ids import CONFIG
from gitmem.document.message import Op, op_message
from gitmem.document.plain_header import YamlTextError, flow
from gitmem.document.yaml import remove_value, set_value
from gitmem.errors import GitmemError, RefusedError, UsageError, disk_errors
from gitmem.git.locking import writing_alone
from gitmem.platform.machine import Context
from gitmem.platform.safe_open import read_small, replace_file
from gitmem.store.store import Store
from gitmem.store.transact import transact
from gitmem.store.transaction import Transaction
from gitmem.values import Value

_OWN = "your settings"
_PROVIDER = "summary.provider"
_ANSWERED = "judge-answered"  # file with the value that an installation gave the setting
_NEW_FOLDER = "\nfolder"  # appended to that value if the settings folder's parent was made for it
_MADE = "config-made"  # file with the digest of the settings file that gitmem made


def agree(context: Context, root: str, values: Mapping[str, object]) -> None:
    """Record that the user agreed to these values of the store at `root`; None withdraws that for a setting."""
    folder = personal_folder(context.environ, context.home)
    with writing_alone(folder, _OWN):
        stores, name = read_trust(folder), os.path.realpath(root)
        agreed = {**stores.get(name, {}), **values}
        stores[name] = {key: value for key, value in agreed.items() if value is not None}
        answered = {store: agreed for store, agreed in stores.items() if agreed}
        text = json.dumps({"v": 1, "stores": answered}, ensure_ascii=True, indent=1, sort_keys=True)
        _write_personal(os.path.join(folder, TRUST), text.encode() + b"\n")


def made_files(context: Context) -> list[str]:
    """Return the files in the user's settings folder that gitmem made and nobody edited."""
    folder = personal_folder(context.environ, context.home)
    names = [CONFIG, _MADE] if _is_made(os.path.join(folder, CONFIG)) else []
    return [path for name in (TRUST, *names) if os.path.isfile(path := os.path.join(folder, name))]


def _is_made(path: str) -> bool:
    """Return whether the user's settings file is as gitmem wrote it."""
    data = read_small(path, follow=False)
    return data is not None and read_small(os.path.join(os.path.dirname(path), _MADE)) == _digest(data)


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).hexdigest().encode() + b"\n"


def _write_personal(path: str, data: bytes, *, made: bool = False) -> None:
    """Write a file in the user's settings folder, following a link; with `made`, note that gitmem made it."""
    target = os.path.realpath(path)
    if is_inside_store(target):
        raise RefusedError(f"{path} leads into a store, which others may write to.", "Remove the link.")
    with disk_errors(f"{path} could not be written", GitmemError):
        if made:
            replace_file(os.path.join(os.path.dirname(path), _MADE), _digest(data))
        replace_file(target, data, sync=True, mode=0o600)


class Setting(Value):
    """One setting as `gitmem config` lists it.

    `origin` is DEFAULT or a layer, `path` the file that sets it, None for a default; `untrusted` is a value of the
    store's tracked file that is ignored because the user has not agreed to it.
    """

    key: str
    value: object
    origin: str
    path: str | None
    help: str
    untrusted: Untrusted | None


def settings(config: Config) -> Iterator[Setting]:
    """Yield every setting of a configuration, in order."""
    origins = {origin.key: (origin.layer, origin.file) for origin in config.origins}
    untrusted = {item.key: item for item in config.untrusted}
    for key, rule in rules().items():
        layer, path = origins.get(key, (DEFAULT, None))
        yield Setting(key, value_of(config, key), layer, path, rule.help, untrusted.get(key))


class SettingChange(Value):
    """The file in which a setting was changed, and the commit, None if the file is not tracked."""

    path: str
    commit: str | None
    notices: tuple[str, ...] = ()


def check_key(key: str) -> None:
    """Raise UsageError if there is no such setting; the remedy names the most similar one."""
    if key in rules():
        return
    by_name = {name.rpartition(".")[2]: name for name in rules()}
    near = get_close_matches(key, rules(), 1) or [by_name[name] for name in get_close_matches(key, by_name, 1)]
    hint = f"Did you mean {near[0]!r}? " if near else ""
    raise UsageError(f"There is no setting {key!r}.", f"{hint}'gitmem config' lists them all.")


def read_value(key: str, text: str) -> object:
    """Parse a value that a user wrote as YAML, as the type of its setting; raises UsageError."""
    check_key(key)
    if "\n" in text and isinstance(value_of(Config(), key), str):  # YAML would join the lines
        return parse_value(key, text)
    readings: list[object] = [text]  # fallback for `*.test` or `12:30`, to which YAML gives another meaning
    with contextlib.suppress(yaml.YAMLError, RecursionError, ValueError):
        readings[:0] = [read for read in (yaml.safe_load(text),) if read is not None]
    complaints = []
    for reading in readings:
        try:
            return parse_value(key, reading)
        except ValueError as error:
            complaints.append(f"{error}")
    off, *on = rules()[key].choices or ("",)
    remedy = "'gitmem config' lists what each setting is and does."
    if text.lower().startswith("claude"):
        remedy = "Claude Code is 'agent'."
    elif text.lower() in {"on", "yes", "true"} and off == "off":
        remedy = f"Try: gitmem config {key} {on[0]}"
    raise UsageError(f"The setting {complaints[-1 if off else 0]}.", remedy)


def set_for_store(store: Store, key: str, value: object | None) -> SettingChange:
    """Set a setting for one store, or unset it (None).

    A value that a tracked file may set is committed to the store, for all who share it. Any other value is written to
    the user's own file, for this store alone. Raises GitmemError if a file cannot be changed in place, or nothing
    could be committed.
    """
    _check_carryover(store.config, key, value)
    own = any(origin.key == key and origin.layer == HERE for origin in store.config.origins)
    place = (STORES, os.path.realpath(store.root), *key.split("."))
    if value is not None and not is_harmless(key, value):
        return SettingChange(_set_in_own_file(store.context.environ, store.context.home, place, value), None)

    def plan(transaction: Transaction) -> bool:
        data = _edited(CONFIG, transaction.read(CONFIG) or b"", tuple(key.split(".")), value)
        to = "" if isinstance(value, tuple) else f" to {flow(value)}"
        message = op_message(Op.CONFIG, f"Unset {key}" if value is None else f"Set {key}{to}")
        return transaction.commit(message, {CONFIG: data})

    outcome = transact(store, plan, purpose="config")
    path = os.path.join(store.root, CONFIG)
    if own:  # it would override the tracked value
        own_path = _set_in_own_file(store.context.environ, store.context.home, place, None)
        path = path if outcome.value else own_path
    return SettingChange(path, outcome.commit, outcome.notices)


def _check_carryover(config: Config, key: str, value: object | None) -> None:
    """Refuse a carryover so large that `memory.md` would rotate again at once."""
    threshold = config.rotation.threshold_tokens
    if key == "rotation.carryover_tokens" and isinstance(value, int) and value >= threshold:
        raise RefusedError(
            f"{key} has to be below rotation.threshold_tokens, which is {threshold:,}.",
            "What is kept of memory.md would fill it again at once.",
        )


def set_for_all(environ: Mapping[str, str], home: str, key: str, value: object | None) -> SettingChange:
    """Set a setting in the user's own file, or remove it from there (None).

    Raises GitmemError if the file cannot be changed in place or not be written.
    """
    _check_carryover(read_config(environ, home, None), key, value)
    return SettingChange(_set_in_own_file(environ, home, tuple(key.split(".")), value), None)


def answer_for_models(context: Context, provider: str) -> None:
    """Set the model that judges sessions, as the user answered during installation; `take_answer_back` undoes it."""
    folder = personal_folder(context.environ, context.home)
    is_new = not os.path.isdir(os.path.dirname(folder))  # an existing ~/.config, even if empty, is the user's
    set_for_all(context.environ, context.home, _PROVIDER, provider)
    _write_personal(os.path.join(folder, _ANSWERED), f"{provider}{_NEW_FOLDER * is_new}".encode())


def take_answer_back(context: Context, *, dry_run: bool) -> list[tuple[str, bytes | None, bytes | None]]:
    """Undo `answer_for_models`, with files and folders made for it, unless the user changed the setting since.

    Return the files, each with its bytes before and after, None: missing.
    """
    folder = personal_folder(context.environ, context.home)
    note, config = os.path.join(folder, _ANSWERED), os.path.join(folder, CONFIG)
    answered = read_small(note)
    if answered is None:
        return []
    known, before = read_config(context.environ, context.home, None), read_small(config)
    provider = answered.decode().removesuffix(_NEW_FOLDER)
    is_unchanged = _PROVIDER in {origin.key for origin in known.origins} and known.summary.provider == provider
    after = _edited(config, before, tuple(_PROVIDER.split(".")), None) if before and is_unchanged else before
    is_empty = (after or b"").strip() in {b"", b"summary: {}"} and _is_made(config)
    made = [config, os.path.join(folder, _MADE)] if is_empty else []
    edited = [(config, before, after)] if after != before and not made else []
    gone = [(path, read_small(path), None) for path in (*made, note)]
    if dry_run:
        return [*edited, *gone]
    if edited:
        set_for_all(context.environ, context.home, _PROVIDER, None)
    with contextlib.suppress(OSError):
        for path in (*made, note):
            os.unlink(path)
        os.rmdir(folder)  # only if it is empty
        if answered.decode().endswith(_NEW_FOLDER):
            os.rmdir(os.path.dirname(folder))
    return [*edited, *gone]


def _edited(name: str, data: bytes, path: tuple[str, ...], value: object | None) -> bytes:
    """Return the content of a settings file, `name`, with one value changed or removed; all other bytes stay."""
    try:
        text = data.decode()
        value = list(value) if isinstance(value, tuple) else value
        text = remove_value(text, path) if value is None else set_value(text, path, value)
    except (YamlTextError, UnicodeDecodeError) as error:
        raise GitmemError(f"{name} cannot be changed: {error}.", "Correct it in an editor, then try again.") from error
    return text.encode()


def _set_in_own_file(environ: Mapping[str, str], home: str, place: tuple[str, ...], value: object | None) -> str:
    folder = personal_folder(environ, home)
    path = os.path.join(folder, CONFIG)
    with writing_alone(folder, _OWN):
        data = read_small(path)
        if data is None and os.path.exists(path):
            raise GitmemError(f"{path} cannot be read.", "Give access to it, then try again.")
        made = not os.path.lexists(path) or _is_made(path)
        _write_personal(path, _edited(path, data or b"", place, value), made=made)
    return path
