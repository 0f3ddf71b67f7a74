"""Text from files and commits without what would act on a terminal: a memory may hold what an agent read somewhere."""

from __future__ import annotations

import re

# Those that turn the direction of text around are as good at hiding something as an escape sequence. Compiled where it
# is used: not in a command that answers with JSON.
_CONTROL = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
# What acts on a terminal and may stand in JSON as it is: C1 controls, and those that turn the direction of text around.
_OBEYED = (*range(0x7F, 0xA0), 0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_HARMLESS = {code: f"\\u{code:04x}" for code in _OBEYED}


def plain(text: str) -> str:
    """Return a text with its control characters written out, but for line ends and tabs."""
    return re.sub(_CONTROL, lambda found: f"\\x{ord(found[0]):02x}", text.replace("\r\n", "\n"))


def harmless(text: str) -> str:
    """Return JSON, or another text, with an escape of JSON's for what a terminal obeys and JSON does not escape."""
    return text if text.isascii() and "\x7f" not in text else text.translate(_HARMLESS)
