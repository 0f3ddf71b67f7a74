"""Token estimates (spec R1): four bytes of UTF-8 are taken for one token."""

from __future__ import annotations

BYTES_PER_TOKEN = 4


def tokens_of_size(size: int) -> int:
    """Return the estimated tokens of `size` bytes, rounded up."""
    return -(-size // BYTES_PER_TOKEN)


def utf8_size(text: str) -> int:
    """Return the size of a text in bytes; a lone surrogate (a byte that was not UTF-8) counts one."""
    return len(text.encode("utf-8", "replace"))  # "?" for a surrogate: one byte too, and never an error


def estimate_tokens(text: str) -> int:
    """Return the estimated tokens of a text: "Hello World" is 3, ten Hangul syllables are 8."""
    return tokens_of_size(utf8_size(text))
