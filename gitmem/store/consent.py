"""A store's settings that the person agreed to on this machine.

Record and withdraw the person's agreement to values of a store's tracked settings, on this machine only.

Tested through `tests/cli/commands/test_config.py`.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from typing import TYPE_CHECKING

from gitmem.document.ids import CONFIG
from gitmem.errors import GitmemError, RefusedError
from gitmem.store.settings import TRUST, is_inside_store, personal_folder, read_small, read_trust

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from gitmem.config import Untrusted
    from gitmem.platform.clock import Context


_MADE = "config-made"  # the digest of the settings file that gitmem made


def agree(context: Context, root: str, values: Sequence[Untrusted]) -> None:
    """Record that the person agreed to these values of the store at `root`, replacing their former values."""
    new = {item.key: list(item.value) if isinstance(item.value, tuple) else item.value for item in values}
    _change(context, root, lambda agreed: {**agreed, **new})


def withdraw(context: Context, root: str, keys: Collection[str]) -> None:
    """Remove the agreement to these settings of the store at `root`."""
    _change(context, root, lambda agreed: {key: value for key, value in agreed.items() if key not in keys})


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
