"""Taking over a person's settings from where gitmem once kept them, `~/.gitmem/config.yaml`, once.

That file is also a file of the person's own store (`gitmem init --user`), which syncs, so its remote could write to it.
Where there is no such store nobody else could, and the file moves as it is. Where there is one, nothing tells which
values the person wrote: not whether it has a remote now (it may have been removed), nor what commits say of themselves.
So only those are taken over that do no harm whoever wrote them: what a tracked file may say, and what sends less. The
others are named, and the person sets them again.
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
from gitmem.store.config.personal import inside_store, personal_folder, read_small
from gitmem.store.locate import is_store, user_store

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitmem.config import Config

# What sends or keeps less than the default: a person who chose it must not find it undone.
_SENDS_LESS: dict[str, object] = {"sync.auto": "off", "transcripts.enabled": False, "embedding.provider": "none"}


def take_over(environ: Mapping[str, str], home: str) -> tuple[str, ...]:
    """Move a person's settings to the file that no store tracks; returns what to tell them, a sentence each."""
    old, new = os.path.join(user_store(home), CONFIG), os.path.join(personal_folder(environ, home), CONFIG)
    tracked = is_store(user_store(home))
    if os.path.islink(old) and (tracked or inside_store(old)):
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
        return (f"The settings in {old} do not count any more, and could not be moved. {error}",)


def _values(config: Config) -> dict[str, object]:
    """Return the settings that a file gave."""
    return {origin.key: value_of(config, origin.key) for origin in config.origins if origin.layer == USER}


def _move(data: bytes, old: str, new: str) -> tuple[str, ...]:
    write_personal(new, data)
    with contextlib.suppress(OSError):  # it is not read any more
        os.unlink(old)
    return (f"Your own settings are in {new} now; they were in {old}, which a store may track.",)


def _copy(values: Mapping[str, object], old: str, new: str) -> tuple[str, ...]:
    taken = {key: value for key, value in values.items() if is_harmless(key, value) or _SENDS_LESS.get(key) == value}
    left = {key: value for key, value in values.items() if key not in taken}
    text = f"# Your own settings. Taken over from {old!a}, which is a file of a store.\n"
    for key, value in taken.items():
        try:
            text = set_value(text, tuple(key.split(".")), value)
        except YamlTextError as error:
            raise GitmemError(f"{new} could not be written: {error}.") from error
    write_personal(new, text.encode())
    told = [f"Your own settings are in {new} now. {old} is a file of your store, which others may have written to."]
    if left:
        told.append(f"So these were not taken over: {', '.join(f'{key}: {shown(left[key])}' for key in left)}.")
        told.append("Set again what you wrote yourself: gitmem config --user KEY VALUE.")
    return tuple(told)
