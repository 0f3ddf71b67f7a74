"""Documents of the store as a command line names them.

Tested through `tests/cli/commands/test_show.py`.
"""

from __future__ import annotations

import os
import unicodedata
from typing import TYPE_CHECKING

from gitmem.cli import output
from gitmem.errors import NotFoundError, RefusedError
from gitmem.model.paths import ARCHIVE, check_path

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door
    from gitmem.store.store import Store

FILES = "'gitmem at HEAD --list' lists the files."


def print_document(args: argparse.Namespace, door: Door, value: object, data: bytes) -> None:
    """Print `value` as JSON with `--json`, else the document's bytes."""
    if args.json:
        door.answer(args, value, "")
    else:
        output.write_file(door, data)


def refuse_folder(store: Store, path: str) -> None:
    """Refuse a path that is a folder.

    Raises:
        NotFoundError: it is.

    """
    if os.path.isdir(os.path.join(store.root, path)):
        raise NotFoundError(f"{path} is a folder.", f"'gitmem at HEAD {path} --list' lists its files.")


def named_path(store: Store, args: argparse.Namespace, door: Door, text: str) -> str:
    """Return a path relative to the store for one that is relative to the store, or to the current folder inside it.

    Raises:
        RefusedError: it leads out of the store, or gitmem would not write a file of this name.

    """
    here = os.path.normpath(os.path.abspath(door.folder(args)))
    full = os.path.normpath(os.path.join(here, text))
    inside = _below(store, full)
    if inside is None and os.path.isabs(text):
        raise RefusedError(f"{text} is not in the store at {store.root}.", "Name a file of the store.")
    # In the store's folder `archive`, `memory.md` is still the memory.
    if inside is None or (_below(store, here) is not None and not os.path.lexists(full)):
        inside = text
    # Names that gitmem writes are in this form; a keyboard or a file system may have given another.
    return check_path(unicodedata.normalize("NFC", inside.rstrip("/")))


def _below(store: Store, full: str) -> str | None:
    """Return an absolute path relative to the store: "" for the store itself, None outside of it."""
    for root in (store.root, os.path.realpath(store.root)):
        if full == root:
            return ""
        if full.startswith(root + os.sep):
            return full[len(root) + 1 :].replace(os.sep, "/")
    return None


def find_archive(store: Store, name: str | None) -> str:
    """Return the path of an archive named by its path, its name or its summary's; without a name the newest.

    Raises:
        NotFoundError: the work tree has none of that name, or no archive at all.

    """
    from gitmem.memory.summaries.offline import archive_summaries

    paths = [item.archive for item in archive_summaries(store)]
    if not paths:
        raise NotFoundError(
            "There is no archive yet.", "The first rotation makes one: 'gitmem status' shows how full memory.md is."
        )
    if name is None:
        return paths[-1]
    bare = name.replace("\\", "/").rpartition("/")[2].removesuffix(".md").removesuffix(".summary")
    path = f"{ARCHIVE}/{bare}.md"
    if path not in paths:
        raise NotFoundError(f"There is no archive {name[:100]!r}.", "'gitmem summary list' lists them.")
    return path
