"""A passage of a document: some lines, or the entry or section around a line (docs/spec.md J5).

Tested through `tests/mcp/test_read.py`.
"""

from __future__ import annotations

import errno
import unicodedata

from gitmem.errors import NotFoundError, RefusedError
from gitmem.model.paths import is_git_folder
from gitmem.search.files import is_searched
from gitmem.search.units.units import Units
from gitmem.store.headers.facts import marked
from gitmem.text.tokens import estimate_tokens
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from gitmem.store.store import Store


_LONGEST = 4096  # characters of a path
_SHOWN = 200  # characters of a path in a message


class Passage(Value):
    """Lines of a file, counted from 1, both ends included; `commit` has them if no file of the working tree does."""

    path: str
    start: int
    end: int
    text: str
    tokens: int
    commit: str = ""


def read_passage(
    store: Store, path: str, first: int | None = None, last: int | None = None, *, commit: str | None = None
) -> Passage:
    """Return lines of a file: `first` to `last`, or the entry or section around `first`, or the whole file.

    They have marks on what does not hold (`gitmem.store.headers.facts.marked`). `commit` is the id of a commit to read
    instead of the working tree, without marks.

    Raises:
        NotFoundError: there is no such file or line.
        RefusedError: the path leads out of the store or through a link, or is not that of a document.

    """
    path = path.removeprefix("./")
    data = _read(store, path, commit)
    if data is None:
        path = unicodedata.normalize("NFC", path)
        data = _read(store, path, commit)
    if data is None:
        raise NotFoundError(
            f"There is no file {path[:_SHOWN]!r} in the store.", "'gitmem at HEAD --list' lists the files."
        )
    units = Units(path, data)
    lines = units.text.split("\n")
    count = len(lines) - (not lines[-1])
    if first is not None and not 1 <= first <= count:
        raise NotFoundError(f"{path} has {count} lines; there is no line {first}.", "Lines are counted from 1.")
    start, end = 1, count
    if first is not None and last is not None:
        start, end = first, min(max(first, last), count)
    elif first is not None:
        start, end = _around(units, lines, first)
    text = "\n".join(line.rstrip("\r") for line in lines[start - 1 : end])
    shown = text if commit else marked(store, text, path)
    return Passage(path, start, end, shown, estimate_tokens(shown), commit or "")


def _read(store: Store, path: str, commit: str | None) -> bytes | None:
    if len(path) > _LONGEST or any(is_git_folder(part) for part in path.split("/")) or not is_searched(path):
        raise RefusedError(f"{path[:_SHOWN]!r} is not a document of the store.", "Name a file as 'gitmem search' does.")
    try:
        return store.repository.read(commit, path) if commit else store.read(path)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            return None
        raise


def _around(units: Units, lines: list[str], number: int) -> tuple[int, int]:
    """Return the first and the last line of the unit around a line."""
    index = units.at(sum(len(line) + 1 for line in lines[: number - 1]))
    if index < 0:
        return number, number
    start, end = units.lines(units.unit(index))
    return min(start, number), max(end, number)
