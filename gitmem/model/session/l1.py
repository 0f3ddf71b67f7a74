"""The raw transcript of a session (L1), normalised: one JSON object a line (spec R14; docs/format.md)."""

from __future__ import annotations

import json
import re

from gitmem.model.session.noise import human_text
from gitmem.model.session.transcript import Record, Role

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_OWN_TOOL = r"mcp__(?:\w*_)?gitmem__memory_\w+"
_MAX_INPUT = 2_000  # characters of one argument of a tool


def l1_lines(parts: Iterable[Record], result_chars: int, clean: Callable[[str], str] = str) -> Iterator[str]:
    """Yield a transcript's lines without injected text; a tool's result keeps `result_chars` characters.

    Results of gitmem's own tools are left out: they are in the memory already.

    `clean` removes secrets from a text before it is truncated, which could cut one in two.
    """
    own: set[str] = set()
    for part in parts:
        if part.role is Role.CALL and re.fullmatch(_OWN_TOOL, part.tool):
            own.add(part.tool_id)
        if part.injected and part.role is not Role.SUMMARY:
            continue
        head = {"at": part.at.isoformat(timespec="milliseconds"), "role": part.role.value}
        if part.sidechain:
            head["agent"] = "sub"
        try:
            recalled = part.role is Role.RESULT and part.tool_id in own
            content = _said(part._replace(text="") if recalled else part, result_chars, clean)
            line = json.dumps({**head, **content}, ensure_ascii=False) if content else ""
        except RecursionError:  # parsed, but nested too deeply for this recursion
            continue
        if line:
            yield line


def _said(part: Record, result_chars: int, clean: Callable[[str], str]) -> dict[str, object]:
    if part.role is Role.CALL:
        given = {key: _short(value, _MAX_INPUT, clean) for key, value in (part.input or {}).items()}
        return {"tool": part.tool, "id": part.tool_id, "input": given}
    if part.role is Role.RESULT:
        said: dict[str, object] = {"id": part.tool_id, "text": _short(human_text(part.text), result_chars, clean)}
        return {**said, "failed": True} if part.failed else said
    text = human_text(part.text) if part.role is Role.USER else part.text.strip()
    return {"text": text} if text else {}


def _short(value: object, limit: int, clean: Callable[[str], str]) -> object:
    """Return a value truncated; of a text the beginning and the end stay, with the number of characters left out."""
    if isinstance(value, str):
        if len(value) <= limit:
            return value
        value = clean(value)
        if len(value) <= limit:
            return value
        head = limit * 2 // 3
        tail = limit - head
        return f"{value[:head]}\n… {len(value) - limit:,} characters left out …\n{value[-tail:] if tail else ''}"
    if isinstance(value, int | float | bool) or value is None:
        return value
    text = json.dumps(value, ensure_ascii=False)
    return value if len(text) <= limit else _short(text, limit, clean)
