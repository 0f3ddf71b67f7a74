"""JSON for the plain values of a save's event and a lock's record, without the module `json`: 2 ms of import."""

from __future__ import annotations

_ESCAPES = {code: f"\\u{code:04x}" for code in range(0x20)}
_ESCAPES |= {ord(character): f"\\{letter}" for character, letter in zip('"\\\b\f\n\r\t', '"\\bfnrt', strict=True)}
_INFINITE = float("inf")


def dumps(value: object) -> str:
    """Return what `json.dumps(value, ensure_ascii=False)` returns."""
    kind = type(value)
    if kind is str:
        return f'"{str(value).translate(_ESCAPES)}"'
    if kind is int or (isinstance(value, float) and kind is float and -_INFINITE < value < _INFINITE):
        return repr(value)
    if isinstance(value, list):
        return f"[{', '.join(map(dumps, value))}]"
    if isinstance(value, dict) and all(type(key) is str for key in value):
        return f"{{{', '.join(f'{dumps(key)}: {dumps(item)}' for key, item in value.items())}}}"
    import json

    return json.dumps(value, ensure_ascii=False)
