"""The raw transcript of a session (L1), normalised: one JSON object a line (spec R14; docs/format.md)."""

from __future__ import annotations

import json

from gitmem.model.noise import human_text
from gitmem.model.transcript import Record, Role

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_MAX_INPUT = 2_000  # characters of one value that a tool was called with


def l1_lines(parts: Iterable[Record], result_chars: int) -> Iterator[str]:
    """Yield a transcript's lines without what was injected; a tool's result keeps `result_chars` characters."""
    for part in parts:
        if part.injected and part.role is not Role.SUMMARY:
            continue
        said = _said(part, result_chars)
        if said:
            head = {"at": part.at.isoformat(timespec="milliseconds"), "role": part.role.value}
            if part.sidechain:
                head["agent"] = "sub"
            yield json.dumps({**head, **said}, ensure_ascii=False)


def _said(part: Record, result_chars: int) -> dict[str, object]:
    if part.role is Role.CALL:
        given = {key: _short(value, _MAX_INPUT) for key, value in (part.input or {}).items()}
        return {"tool": part.tool, "id": part.tool_id, "input": given}
    if part.role is Role.RESULT:
        said: dict[str, object] = {"id": part.tool_id, "text": _short(human_text(part.text), result_chars)}
        return {**said, "failed": True} if part.failed else said
    text = human_text(part.text) if part.role is Role.USER else part.text.strip()
    return {"text": text} if text else {}


def _short(value: object, limit: int) -> object:
    """Return a value that fits; of a text its beginning and end, which say most, with what is left out counted."""
    if isinstance(value, str):
        if len(value) <= limit:
            return value
        head = limit * 2 // 3
        tail = limit - head
        return f"{value[:head]}\n… {len(value) - limit:,} characters left out …\n{value[-tail:] if tail else ''}"
    if isinstance(value, int | float | bool) or value is None:
        return value
    text = json.dumps(value, ensure_ascii=False)
    return value if len(text) <= limit else _short(text, limit)
