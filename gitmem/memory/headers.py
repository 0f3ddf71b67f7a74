"""What the headers of a folder's documents say, remembered by the file's time and size: reading 1,000 takes 100 ms.

The cache is a file of the private folder, derived, and never wrong for longer than a file system keeps time: a document
that was changed by hand, or came with a sync, has another time or size, and is read again.
"""

from __future__ import annotations

import contextlib
import json
import os

from gitmem.errors import GitmemError

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from gitmem.store.store import Store

FOLDER = "known"
VERSION = 1
_SUFFIX = ".md"


def read_headers(
    store: Store, folder: str, read: Callable[[bytes, str], Mapping[str, Any] | None], most: int = 0
) -> tuple[dict[str, Mapping[str, Any]], bool]:
    """Return what `read` says of each document below a folder, by path, and whether all of them were looked at.

    `read` is given content and path and returns what JSON can hold, None for what is none of these documents. At most
    `most` documents are read that are not known yet (0: all). Links are not followed.
    """
    cache = os.path.join(store.private, FOLDER, f"{folder}.json")
    known = _load(cache)
    kept: dict[str, tuple[int, int, Mapping[str, Any] | None]] = {}
    new = 0
    complete = True
    for path, status in _files(store.root, folder):
        look = (status.st_mtime_ns, status.st_size)
        there = known.get(path)
        if there is not None and tuple(there[:2]) == look:
            kept[path] = (*look, there[2])
        elif most and new >= most:
            complete = False
        else:
            new += 1
            kept[path] = (*look, _read(store, path, read))
    if new or known.keys() - kept.keys():
        _save(cache, kept)
    return {path: said for path, (_, _, said) in kept.items() if said is not None}, complete


def _read(store: Store, path: str, read: Callable[[bytes, str], Mapping[str, Any] | None]) -> Mapping[str, Any] | None:
    try:
        data = store.read(path)
    except (GitmemError, OSError):
        return None
    return None if data is None else read(data, path)


def _files(root: str, folder: str) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the markdown files of a folder and of the folders in it, sorted."""
    try:
        with os.scandir(os.path.join(root, folder)) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        path = f"{folder}/{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            if folder.count("/") == 0:
                yield from _files(root, path)
        elif entry.name.endswith(_SUFFIX) and entry.is_file(follow_symlinks=False):
            with contextlib.suppress(OSError):
                yield path, entry.stat(follow_symlinks=False)


def _load(cache: str) -> dict[str, list[Any]]:
    try:
        with open(cache, encoding="utf-8") as file:
            value = json.load(file)
        return value["files"] if value["v"] == VERSION and isinstance(value["files"], dict) else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _save(cache: str, kept: Mapping[str, tuple[int, int, Mapping[str, Any] | None]]) -> None:
    """Write the cache as a whole; that it cannot be written costs time, nothing else."""
    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(cache), mode=0o700, exist_ok=True)
        temporary = f"{cache}.{os.getpid()}"
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(json.dumps({"v": VERSION, "files": kept}, ensure_ascii=False, separators=(",", ":")))
        os.replace(temporary, cache)
