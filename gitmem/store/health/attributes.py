"""Check for attributes and submodules by which a person's own git could change bytes or run programs.

gitmem itself ignores both (gitmem.git.process.unfiltered).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.errors import GitmemError
from gitmem.git.upkeep.integrity import known_files
from gitmem.store.upkeep.findings import Finding, Level

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gitmem.store.store import Store

_FILE = ".gitattributes"
_MODULES = ".gitmodules"
# Attributes that keep bytes as they are, or only affect merges and diffs of plain git.
_HARMLESS = frozenset(
    (
        *("-text", "-eol", "-filter", "-ident", "-working-tree-encoding", "binary", "diff", "-diff"),
        *("merge", "-merge", "merge=gitmem", "merge=union"),
    )
)
_SHOWN = 5


def check_attributes(store: Store) -> Iterator[Finding]:
    """Report attributes that are neither gitmem's nor harmless, and a list of submodules."""
    yield attributes_finding(store, known_files(store.repository.git, f":(glob)**/{_FILE}", f":(top){_MODULES}"))


def attributes_finding(store: Store, paths: Iterable[str]) -> Finding:
    """Return the finding on the attributes and lists of submodules among these files."""
    lines = [
        f"{path}, line {number}: {line}"
        for path in paths
        if path.rpartition("/")[2] == _FILE
        for number, line in _acting(_text(store, path))
    ]
    lines += [f"{path}: submodules" for path in paths if path == _MODULES]
    if lines:
        message = (
            "Attributes that are not gitmem's: gitmem ignores them, but your own git commands in the store do not."
        )
        remedy = f"If they are not yours, remove {_FILE}; 'gitmem init' writes gitmem's own."
        return Finding("attributes", Level.WARNING, message, remedy, tuple(lines[:_SHOWN]))
    return Finding("attributes", Level.OK, "No attributes but those that keep bytes as they are.")


def _acting(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if words and not words[0].startswith("#") and not _HARMLESS.issuperset(words[1:]):
            yield number, line.strip()


def _text(store: Store, path: str) -> str:
    try:
        return (store.read(path) or b"").decode("utf-8", "replace")
    except (GitmemError, OSError):  # a link, which the check of names reports
        return ""
