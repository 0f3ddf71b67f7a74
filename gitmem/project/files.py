"""Read a project's files, which are not trusted: within bounds, without following links or waiting on pipes.

Tested through `tests/project/test_past.py`.
"""

from __future__ import annotations

import contextlib
from itertools import islice

from gitmem.errors import RefusedError
from gitmem.machine.beneath import enter, read_open, split

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_BYTES = 1 << 18
_MAX_NAMES = 5_000
_DEEPEST = 4
_LEFT_OUT = frozenset({"node_modules", "vendor", "dist", "build", "target", "__pycache__", "venv"})


def read_text(root: str, path: str, most: int = MAX_BYTES) -> str:
    """Return the text of a file, "" if there is none, it is larger than `most` bytes, or a link leads to it."""
    try:
        *folders, name = split(path)
        with enter(root, folders) as folder, open(folder.open(name), "rb") as file:
            data = read_open(file, most + 1) or b""
    except (OSError, RefusedError, ValueError):
        return ""
    return data.decode("utf-8", "replace") if len(data) <= most else ""


def list_files(root: str) -> tuple[str, ...]:
    """Return the paths of a folder's files, of no more than some thousand and four levels, hidden ones left out."""
    return tuple(sorted(islice(_below(root, ()), _MAX_NAMES)))


def names_in(root: str, path: str) -> tuple[str, ...]:
    """Return the names in a folder, sorted; none if there is no such folder."""
    with contextlib.suppress(OSError, RefusedError, ValueError), enter(root, split(path)) as folder:
        return tuple(sorted(folder.names()[:_MAX_NAMES]))
    return ()


def sizes_of(root: str, files: Iterable[str]) -> dict[str, int]:
    """Return the bytes of these files, as far as they are there."""
    below: dict[str, set[str]] = {}
    for file in files:
        path, _, name = file.rpartition("/")
        below.setdefault(path, set()).add(name)
    sizes: dict[str, int] = {}
    for path, names in below.items():
        with (
            contextlib.suppress(OSError, RefusedError, ValueError),
            enter(root, split(path) if path else ()) as folder,
            folder.scan() as entries,
        ):
            for entry in entries:
                if entry.name in names and entry.is_file(follow_symlinks=False):
                    sizes[f"{path}/{entry.name}" if path else entry.name] = entry.stat(follow_symlinks=False).st_size
    return sizes


def _below(root: str, parts: tuple[str, ...]) -> Iterator[str]:
    folders: list[str] = []
    with contextlib.suppress(OSError, RefusedError), enter(root, parts) as folder, folder.scan() as entries:
        for entry in islice(entries, _MAX_NAMES):
            if entry.is_file(follow_symlinks=False):
                yield "/".join((*parts, entry.name))
            elif entry.is_dir(follow_symlinks=False) and entry.name[0] != "." and entry.name not in _LEFT_OUT:
                folders.append(entry.name)
    for name in folders if len(parts) < _DEEPEST else ():
        yield from _below(root, (*parts, name))
