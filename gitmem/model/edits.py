"""Read what a tool call edits: the files, a short text of each change, and all lines added. Pure.

Hosts report an edit in one of four forms: a patch of git or of their own, the text before and after, the whole new
file, or a list of edits. The resulting patch of a write, if reported, is preferred to the call, since a rewritten file
contains many unchanged lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from gitmem.values import Value

Added = tuple[tuple[str, str], ...]  # paths as the call names them, each with the added lines
PLACE = "change `"  # begins an edit's text; one of more than a few lines only names the file
EDITORS = ("Edit", "Write", "MultiEdit", "NotebookEdit", "apply_patch")
PATHS = ("file_path", "notebook_path", "path")
_BEFORE, _AFTER = ("old_string", "old_str"), ("new_string", "new_str", "content", "file_text", "new_source")
_BEGIN, _MOVED = "*** Begin Patch", "*** Move to: "
_HEADS = ("*** Add File: ", "*** Update File: ", "*** Delete File: ")
_MAX_PATH = 1_000  # characters
_MAX_CHARACTERS = 2_000_000  # of one call; a larger file is generated
_MOST, _LONGEST = 6, 320  # lines and characters of a change that is shown
_REDIRECTS = re.compile(r"(?<![0-9&=-])>(?!\s*/dev/|&)|\btee\s")
_UNTOLD = ".env"  # prefix of a file name whose lines are never shown


class Edit(Value):
    """A call's edit of a file, with removed lines after `-` and added ones after `+`.

    `moved` is the new path, or "".
    """

    path: str
    lines: tuple[str, ...] = ()
    moved: str = ""


def edits_of(tool: str, tool_input: Mapping[str, object]) -> list[Edit]:
    """Return the edits of a tool call, one for each file; none for a tool that does not edit."""
    if tool not in EDITORS:
        return []
    patch = _first(tool_input, ("patch", "command"))
    if _BEGIN in patch:
        return _patched(patch)
    path, edits = _first(tool_input, PATHS)[:_MAX_PATH], tool_input.get("edits")
    listed = edits if isinstance(edits, list) else [tool_input]
    pairs = ((_first(edit, _BEFORE), _first(edit, _AFTER)) for edit in listed if isinstance(edit, dict))
    lines = tuple(line for before, after in pairs for line in _differing(before, after))
    return [Edit(path, lines)] if path else []


def changed_files(edits: list[Edit]) -> tuple[str, ...]:
    """Return the files that edits change, as named in the call."""
    return tuple(dict.fromkeys(filter(None, (path for edit in edits for path in (edit.path, edit.moved)))))


def shown_changes(edits: list[Edit]) -> tuple[str, ...]:
    """Return a text for each edit: its lines if they are few, else the file alone."""
    return tuple(_shown(edit) for edit in edits)


def is_place(change: str) -> bool:
    """Return whether the text of an edit only names the file."""
    return change.startswith(PLACE) and change.endswith("`") and change.count("`") == 2  # noqa: PLR2004


def added_lines(edits: list[Edit], result: object = None) -> Added:
    """Return each file with its added lines, joined by line feeds; `result` is the host's report of the call."""
    reported = _from_result(result)
    texts = ((edit.moved or edit.path, reported or _added(edit.lines)) for edit in edits)
    return tuple((path, text[:_MAX_CHARACTERS]) for path, text in texts if text)


def lines_by_shell(command: object) -> Added:
    """Return each file that a shell command writes its own text to, with that text (`files_written`)."""
    if not isinstance(command, str) or not _REDIRECTS.search(command):
        return ()
    from gitmem.model.shell_reader import files_written  # late: a hook parses events, most of them without this

    return tuple((path, text) for path, text in files_written(command[:_MAX_CHARACTERS]) if text)


def _from_result(result: object) -> str:
    """Return the added lines of Claude Code's `structuredPatch`, a list of hunks; "" if there is none."""
    hunks = result.get("structuredPatch") if isinstance(result, dict) else None
    lists = [hunk.get("lines") for hunk in hunks if isinstance(hunk, dict)] if isinstance(hunks, list) else []
    return _added(line for listed in lists if isinstance(listed, list) for line in listed if isinstance(line, str))


def _added(lines: Iterable[str]) -> str:
    return "\n".join(line[1:] for line in lines if line[:1] == "+")


def _patched(patch: str) -> list[Edit]:
    """Return the files of a patch in the form of Codex."""
    edits: list[Edit] = []
    lines: list[list[str]] = []
    for line in patch.splitlines():
        head = next((head for head in _HEADS if line.startswith(head)), "")
        if head:
            edits.append(Edit(line.removeprefix(head).strip()[:_MAX_PATH]))
            lines.append([])
        elif edits and line.startswith(_MOVED):
            edits[-1] = edits[-1]._replace(moved=line.removeprefix(_MOVED).strip()[:_MAX_PATH])
        elif edits and line[:1] in {"-", "+"}:
            lines[-1].append(line)
    return [edit._replace(lines=tuple(own)) for edit, own in zip(edits, lines, strict=True) if edit.path]


def _differing(before: str, after: str) -> list[str]:
    """Return the differing lines of two versions, without their common beginning and end."""
    old, new = before.splitlines(), after.splitlines()
    least, start, end = min(len(old), len(new)), 0, 0
    while start < least and old[start] == new[start]:
        start += 1
    while end < least - start and old[-1 - end] == new[-1 - end]:
        end += 1
    gone, come = old[start : len(old) - end], new[start : len(new) - end]
    return [*(f"-{line}" for line in gone), *(f"+{line}" for line in come)]


def _shown(edit: Edit) -> str:
    place = f"{PLACE}{edit.path}`"
    lines = [f"{line[0]} {line[1:].strip()}" for line in edit.lines if line[1:].strip()]
    text = " ".join(f"`{line.replace('`', chr(39))}`" for line in lines[: _MOST + 1])
    secret = edit.path.replace("\\", "/").rpartition("/")[2].startswith(_UNTOLD)
    return place if secret or not text or len(lines) > _MOST or len(text) > _LONGEST else f"{place}: {text}"


def _first(tool_input: Mapping[str, object], keys: tuple[str, ...]) -> str:
    values = (tool_input.get(key) for key in keys)
    return next((value[:_MAX_CHARACTERS] for value in values if isinstance(value, str) and value), "")
