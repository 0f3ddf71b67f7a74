"""Text made safe for a terminal: a memory may hold control characters that an agent read somewhere."""

from __future__ import annotations

import re

# Control characters, and characters that change the direction of text. Compiled at first use: JSON output needs none.
_CONTROL = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
# Valid unescaped in JSON: C1 controls and the direction marks.
_OBEYED = (*range(0x7F, 0xA0), 0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_HARMLESS = {code: f"\\u{code:04x}" for code in _OBEYED}


def plain(text: str) -> str:
    """Return a text with control characters other than line ends and tabs escaped."""
    text = text.replace("\r\n", "\n")
    if text.replace("\n", "").replace("\t", "").isprintable():  # as nearly always
        return text
    return re.sub(_CONTROL, lambda found: f"\\x{ord(found[0]):02x}", text)


def harmless(text: str) -> str:
    """Return JSON with its control characters escaped, as far as JSON allows them bare."""
    return text if text.isascii() and "\x7f" not in text else text.translate(_HARMLESS)
