"""Texts on their way to a client: what no JSON can hold is replaced, what a terminal would obey is written out."""

from __future__ import annotations

from gitmem.text.terminal import plain


def clean(text: str) -> str:
    """Return a text that any client can be sent: file names and files may hold bytes that are no UTF-8."""
    return plain(text).encode("utf-8", "replace").decode()
