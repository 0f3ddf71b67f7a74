"""Move the person's settings once from their former path, `~/.gitmem/config.yaml`, to their settings folder.

If the person has a store of their own (`gitmem init --user`), it tracks that file, so a remote may have written to it.
Neither the present remotes nor the commits prove who wrote a value. So only values that are safe whoever wrote them
are copied: those a tracked file may set, and those that send less. The user is told the others, to set them again.
Without such a store, the file moves as it is.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from gitmem.config import USER, is_harmless, shown, value_of
from gitmem.errors import GitmemError
from gitmem.model.document.edit import YamlTextError, set_value
from gitmem.model.paths import CONFIG
from gitmem.store.config.agree import write_personal
from gitmem.store.config.files import load_config
from gitmem.store.config.locate import is_store, user_store
from gitmem.store.config.personal import is_inside_store, personal_folder, read_small

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitmem.config import Config

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
