"""JSON for plain values (a save's event, a lock's record, an answer) without the module `json`: 2 ms of import."""

from __future__ import annotations

_ESCAPES = {code: f"\\u{code:04x}" for code in range(0x20)}
_ESCAPES |= {ord(character): f"\\{letter}" for character, letter in zip('"\\\b\f\n\r\t', '"\\bfnrt', strict=True)}
_CONSTANTS = {None: "null", False: "false", True: "true"}
# What acts on a terminal and may stand in JSON as it is: C1 controls, and those that turn the direction of text around.
_OBEYED = (*range(0x7F, 0xA0), 0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_HARMLESS = {code: f"\\u{code:04x}" for code in _OBEYED}
_INFINITE = float("inf")
_LONGEST = 10_000  # characters of a text; for a longer one the import pays, as `json` is written in C


def dumps(value: object, margin: str | None = None) -> str:
    """Return what `json.dumps(value, ensure_ascii=False)` returns; with `margin=""`, what `indent=2` makes of it."""
    kind = type(value)
    if kind is str and len(str(value)) <= _LONGEST:
        return f'"{str(value).translate(_ESCAPES)}"'
    if kind is int or (isinstance(value, float) and kind is float and -_INFINITE < value < _INFINITE):
        return repr(value)
    if value is None or isinstance(value, bool):
        return _CONSTANTS[value]
    inner = None if margin is None else f"{margin}  "
    if isinstance(value, list):
        return _enclosed("[", [dumps(item, inner) for item in value], "]", margin)
    if isinstance(value, dict) and all(type(key) is str for key in value):
        return _enclosed("{", [f"{dumps(key)}: {dumps(item, inner)}" for key, item in value.items()], "}", margin)
    return _left_to_json(value, margin)


def harmless(text: str) -> str:
    """Return JSON, or another text, with an escape of JSON's for what a terminal obeys and JSON does not escape."""
    return text if text.isascii() and "\x7f" not in text else text.translate(_HARMLESS)


def _enclosed(opening: str, parts: list[str], closing: str, margin: str | None) -> str:
    if margin is None or not parts:
        return f"{opening}{', '.join(parts)}{closing}"
    line = f"\n{margin}  "
    return f"{opening}{line}{f',{line}'.join(parts)}\n{margin}{closing}"


def _left_to_json(value: object, margin: str | None) -> str:
    import json

    if margin is None:
        return json.dumps(value, ensure_ascii=False)
    return json.dumps(value, ensure_ascii=False, indent=2).replace("\n", f"\n{margin}")
