"""Check the documents that changed since the last check, cheaply enough for `gitmem status`.

`examined.json` in the private folder names the commit that was checked and the documents to check again, which had
findings or uncommitted edits. If it is deleted, all documents are checked.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from itertools import chain
from typing import TYPE_CHECKING

from gitmem import __version__
from gitmem.errors import GitFailedError, NotFoundError
from gitmem.git.upkeep.integrity import known_files
from gitmem.store.health.files import broken_headers, conflicts, conflicts_finding, headers_finding

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gitmem.store.store import Store
    from gitmem.store.upkeep.findings import Finding

_FILE = "examined.json"
_MAX_BYTES = 1 << 20


def check_documents(store: Store, edited: Iterable[str]) -> Iterator[Finding]:
    """Report broken headers and conflict markers in documents; `edited` are the files that differ from the tip."""
    try:
        tip = store.repository.resolve("HEAD")  # also works during a merge
    except NotFoundError:
        tip = ""
    edited = set(edited)
    paths = sorted({*_changed(store, tip), *edited})
    headers, markers = list(broken_headers(store, paths)), list(conflicts(store, paths))
    _remember(store, tip, sorted(edited.union(path for path, _ in chain(headers, markers))))
    yield headers_finding(words for _, words in headers)
    yield conflicts_finding(place for _, place in markers)


def _changed(store: Store, tip: str) -> Iterable[str]:
    """Return the files that changed since the last check or had findings then; all files at first."""
    try:
        with open(os.path.join(store.private, _FILE), "rb") as file:
            seen = json.loads(file.read(_MAX_BYTES))
        if seen["by"] == __version__ and re.fullmatch("[0-9a-f]{40,64}", seen["commit"]):
            return [*map(str, seen["again"]), *(one.path for one in store.repository.changes(seen["commit"], tip))]
    except (OSError, ValueError, TypeError, KeyError, RecursionError, GitFailedError):
        pass  # no valid record, or its commit is gone
    return known_files(store.repository.git)


def _remember(store: Store, tip: str, again: list[str]) -> None:
    path = os.path.join(store.private, _FILE)
    with contextlib.suppress(OSError):  # the store may be read-only
        with open(f"{path}.new", "w", encoding="utf-8", errors="surrogateescape") as file:
            json.dump({"by": __version__, "commit": tip, "again": again}, file)
        os.replace(f"{path}.new", path)
