"""Line ends.

Tested through `tests/model/document/test_document.py`.
"""

from __future__ import annotations


def newline_of(text: str, *, default: str = "\n") -> str:
    r"""Return how most lines of `text` end, "\r\n" or "\n"; `default` if it has no line end."""
    feeds, pairs = text.count("\n"), text.count("\r\n")
    if not feeds:
        return default
    return "\r\n" if pairs * 2 > feeds else "\n"
