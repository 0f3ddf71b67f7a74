"""Tell an edit by the lines that it changed: "change `a.py`: `- import os` `+ import sys`". Pure, and light."""

from __future__ import annotations

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

PLACE = "change `"  # begins an edit; one that changes more than a few lines names its file alone
_EDITORS = ("Edit", "Write", "MultiEdit", "NotebookEdit", "apply_patch")
_PATHS = ("file_path", "notebook_path", "path")
_BEFORE, _AFTER = ("old_string", "old_str"), ("new_string", "new_str", "content", "new_source")
_PATCHED = ("*** Add File: ", "*** Update File: ", "*** Delete File: ")
_MOST, _LONGEST = 6, 320  # lines, characters
_UNTOLD = ".env"  # begins the name of a file whose lines stay untold


def is_place(change: str) -> bool:
    """Return whether an edit says no more than which file was changed."""
    return change.startswith(PLACE) and change.endswith("`") and change.count("`") == 2  # noqa: PLR2004


def changes_of(tool: str, tool_input: Mapping[str, object]) -> tuple[str, ...]:
    """Return what a tool call changes, file by file."""
    if tool not in _EDITORS:
        return ()
    patch = _first(tool_input, ("patch", "command"))
    if "*** Begin Patch" in patch:
        return tuple(_patched(patch.splitlines()))
    path, edits = _first(tool_input, _PATHS), tool_input.get("edits")
    listed = edits if isinstance(edits, list) else [tool_input]
    pairs = [(_first(one, _BEFORE), _first(one, _AFTER)) for one in listed if isinstance(one, dict)]
    lines = [line for before, after in pairs for line in _differing(before.splitlines(), after.splitlines())]
    return (_told(path, lines),) if path else ()


def _patched(lines: Iterable[str]) -> Iterator[str]:
    path, changed = "", list[str]()
    for line in lines:
        head = next((head for head in _PATCHED if line.startswith(head)), "")
        if head and path:
            yield _told(path, changed)
        if head:
            path, changed = line.removeprefix(head).strip(), []
        elif line[:1] in {"-", "+"}:
            changed.append(f"{line[0]} {line[1:].strip()}")
    if path:
        yield _told(path, changed)


def _differing(before: list[str], after: list[str]) -> Iterator[str]:
    """Yield the lines of an edit without those that it has before and after."""
    while before and after and before[0] == after[0]:
        before, after = before[1:], after[1:]
    while before and after and before[-1] == after[-1]:
        before, after = before[:-1], after[:-1]
    yield from (f"- {line.strip()}" for line in before if line.strip())
    yield from (f"+ {line.strip()}" for line in after if line.strip())


def _told(path: str, lines: list[str]) -> str:
    place = f"{PLACE}{path}`"
    text = " ".join(f"`{line.replace('`', chr(39))}`" for line in lines if line[2:])
    secret = path.replace("\\", "/").rpartition("/")[2].startswith(_UNTOLD)
    return place if secret or not text or len(lines) > _MOST or len(text) > _LONGEST else f"{place}: {text}"


def _first(given: Mapping[str, object], keys: Iterable[str]) -> str:
    return next((value for key in keys if isinstance(value := given.get(key), str) and value), "")
