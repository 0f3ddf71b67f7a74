"""The lines of code that a tool call adds, file by file: what `gitmem why` is answered from. Pure.

Hosts say an edit in one of four forms: a patch of git's or the host's own, the text before and after, the whole new
file, or a list of edits. A host that reports the resulting patch of a write is believed before the call itself, since
a rewritten file holds many lines that were there.
"""

from __future__ import annotations

from gitmem.values import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Added = tuple[tuple[str, str], ...]  # paths as the call names them, each with the added lines

EDITORS = ("Edit", "Write", "MultiEdit", "NotebookEdit", "apply_patch")
_PATHS = ("file_path", "notebook_path", "path")
_BEFORE, _AFTER = ("old_string", "old_str"), ("new_string", "new_str", "content", "file_text", "new_source")
_BEGIN, _FILES, _MOVED = "*** Begin Patch", ("*** Add File: ", "*** Update File: "), "*** Move to: "
_MAX_CHARACTERS = 2_000_000  # of one call; a larger file was generated


def added_lines(tool: str, tool_input: Mapping[str, object], result: object = None) -> Added:
    """Return each file that a tool call changes with the lines that it adds, joined by line feeds.

    `result` is the call's result as the host reports it. Files without an added line are left out.
    """
    if tool not in EDITORS:
        return ()
    patch = _first(tool_input, ("patch", "command"))
    if _BEGIN in patch:
        return tuple((path, lines) for path, lines in _patched(patch) if path and lines)
    path = _first(tool_input, _PATHS)
    lines = _from_result(result) or "\n".join(_from_call(tool_input))
    return ((path, lines),) if path and lines else ()


def _from_result(result: object) -> str:
    """Return the added lines of Claude Code's `structuredPatch`, a list of hunks; "" if there is none."""
    hunks = result.get("structuredPatch") if isinstance(result, dict) else None
    lines = (
        [line for hunk in hunks if isinstance(hunk, dict) for line in _list(hunk)] if isinstance(hunks, list) else []
    )
    return "\n".join(line[1:] for line in lines if isinstance(line, str) and line[:1] == "+")[:_MAX_CHARACTERS]


def _list(hunk: Mapping[str, object]) -> list[object]:
    lines = hunk.get("lines")
    return lines if isinstance(lines, list) else []


def _from_call(tool_input: Mapping[str, object]) -> Iterator[str]:
    edits = tool_input.get("edits")
    for edit in edits if isinstance(edits, list) else [tool_input]:
        if isinstance(edit, dict):
            before = set(_first(edit, _BEFORE).splitlines())
            yield from (line for line in _first(edit, _AFTER).splitlines() if line not in before)


def _patched(patch: str) -> list[tuple[str, str]]:
    """Return the files of a patch in the form of Codex, each with its added lines."""
    files: list[tuple[str, list[str]]] = []
    for line in patch.splitlines():
        head = next((head for head in _FILES if line.startswith(head)), "")
        if head:
            files.append((line.removeprefix(head).strip(), []))
        elif files and line.startswith(_MOVED):
            files[-1] = (line.removeprefix(_MOVED).strip(), files[-1][1])
        elif files and line[:1] == "+":
            files[-1][1].append(line[1:])
    return [(path, "\n".join(lines)) for path, lines in files]


def _first(tool_input: Mapping[str, object], keys: tuple[str, ...]) -> str:
    values = (tool_input.get(key) for key in keys)
    return next((value[:_MAX_CHARACTERS] for value in values if isinstance(value, str) and value), "")
