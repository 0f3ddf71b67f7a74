"""A store's settings that the person agreed to on this machine.

Record and withdraw the person's agreement to values of a store's tracked settings, on this machine only.

Tested through `tests/cli/commands/test_config.py`.

Move the person's settings once from their former path, `~/.gitmem/config.yaml`, to their settings folder.

If the person has a store of their own (`gitmem init --user`), it tracks that file, so a remote may have written to it.
Neither the present remotes nor the commits prove who wrote a value. So only values that are safe whoever wrote them
are copied: those a tracked file may set, and those that send less. The user is told the others, to set them again.
Without such a store, the file moves as it is.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from typing import TYPE_CHECKING

from gitmem.config import USER, is_harmless, shown, value_of
from gitmem.document.ids import CONFIG
from gitmem.document.yaml import YamlTextError, set_value
from gitmem.errors import GitmemError, RefusedError
from gitmem.store.locate import is_store, user_store
from gitmem.store.settings import TRUST, is_inside_store, load_config, personal_folder, read_small, read_trust

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from gitmem.config import Config, Untrusted
    from gitmem.platform.clock import Context


_MADE = "config-made"  # the digest of the settings file that gitmem made


def agree(context: Context, root: str, values: Sequence[Untrusted]) -> None:
    """Record that the person agreed to these values of the store at `root`, replacing their former values."""
    new = {item.key: list(item.value) if isinstance(item.value, tuple) else item.value for item in values}
    _change(context, root, lambda agreed: {**agreed, **new})


def withdraw(context: Context, root: str, keys: Collection[str]) -> None:
    """Remove the agreement to these settings of the store at `root`."""
    _change(context, root, lambda agreed: {key: value for key, value in agreed.items() if key not in keys})


def make_personal_file(context: Context) -> None:
    """Create the person's settings file if missing, so that `take_over` leaves the settings of their store alone."""
    path = os.path.join(personal_folder(context.environ, context.home), CONFIG)
    if not os.path.lexists(path):
        write_personal(
            path, b"# Your own settings, for all stores: 'gitmem config --user' lists and changes them.\n", made=True
        )


def made_files(context: Context) -> list[str]:
    """Return the files of the person's settings folder that gitmem made and nobody edited."""
    folder = personal_folder(context.environ, context.home)
    names = [CONFIG, _MADE] if is_made(os.path.join(folder, CONFIG)) else []
    return [path for name in (TRUST, *names) if os.path.isfile(path := os.path.join(folder, name))]


def is_made(path: str) -> bool:
    """Return whether gitmem made the person's settings file and wrote what is in it."""
    data = read_small(path, follow=False)
    return data is not None and read_small(os.path.join(os.path.dirname(path), _MADE)) == _digest(data)


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).hexdigest().encode() + b"\n"


def write_personal(path: str, data: bytes, *, made: bool = False) -> None:
    """Write a file in the person's settings folder atomically, following a link to where they keep it.

    With `made` it is recorded as gitmem's own, for `made_files`.

    Raises:
        RefusedError: the file is inside a store.
        GitmemError: the file cannot be written.

    """
    target = os.path.realpath(path)
    if is_inside_store(target):
        raise RefusedError(f"{path} leads into a store, which others may write to.", "Remove the link.")
    temporary = ""
    try:
        os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f"{os.path.basename(target)}.", dir=os.path.dirname(target))
        with open(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if made:
            with open(os.path.join(os.path.dirname(path), _MADE), "wb") as file:
                file.write(_digest(data))
        os.replace(temporary, target)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise GitmemError(f"{path} could not be written: {error.strerror}.", "Make room or give access.") from error


def _change(context: Context, root: str, change: Callable[[dict[str, object]], dict[str, object]]) -> None:
    folder = personal_folder(context.environ, context.home)
    stores, name = read_trust(folder), os.path.realpath(root)
    stores[name] = change(stores.get(name, {}))
    kept = {store: agreed for store, agreed in stores.items() if agreed}
    text = json.dumps({"v": 1, "stores": kept}, ensure_ascii=True, indent=1, sort_keys=True)
    write_personal(os.path.join(folder, TRUST), text.encode() + b"\n")


# Values that send or keep less than the default: dropping one would undo a choice for privacy.
_SENDS_LESS: dict[str, object] = {"sync.auto": "off", "transcripts.enabled": False, "embedding.provider": "none"}


def take_over(environ: Mapping[str, str], home: str) -> tuple[str, ...]:
    """Move the person's settings to the file that no store tracks; return notices, a sentence each."""
    old, new = os.path.join(user_store(home), CONFIG), os.path.join(personal_folder(environ, home), CONFIG)
    tracked = is_store(user_store(home))
    if os.path.islink(old) and (tracked or is_inside_store(old)):
        return ()
    data = read_small(old)
    config = load_config((old, data))
    if data is None or not (config.origins or config.problems):
        return ()
    try:
        if tracked:
            return _copy(_values(config), old, new)
        return _move(data, old, new)
    except GitmemError as error:
        return (f"The settings in {old} are no longer used, and could not be moved. {error}",)


def _values(config: Config) -> dict[str, object]:
    """Return the values of the person's settings."""
    return {origin.key: value_of(config, origin.key) for origin in config.origins if origin.layer == USER}


def _move(data: bytes, old: str, new: str) -> tuple[str, ...]:
    write_personal(new, data)
    with contextlib.suppress(OSError):  # it is no longer read
        os.unlink(old)
    return (f"Your own settings are in {new} now; they were in {old}, which a store may track.",)


def _copy(values: Mapping[str, object], old: str, new: str) -> tuple[str, ...]:
    taken = {key: value for key, value in values.items() if is_harmless(key, value) or _SENDS_LESS.get(key) == value}
    skipped = {key: value for key, value in values.items() if key not in taken}
    text = f"# Your own settings. Taken over from {old!a}, which is a file of a store.\n"
    for key, value in taken.items():
        try:
            text = set_value(text, tuple(key.split(".")), value)
        except YamlTextError as error:
            raise GitmemError(f"{new} could not be written: {error}.") from error
    write_personal(new, text.encode())
    notices = [f"Your own settings are in {new} now. {old} is a file of your store, which others may have written to."]
    if skipped:
        notices.append(
            f"So these were not taken over: {', '.join(f'{key}: {shown(skipped[key])}' for key in skipped)}."
        )
        notices.append("Set again what you wrote yourself: gitmem config --user KEY VALUE.")
    return tuple(notices)
