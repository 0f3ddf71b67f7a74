"""Text from files and commits without what would act on a terminal: a memory may hold what an agent read somewhere."""

from __future__ import annotations

import re

# Those that turn the direction of text around are as good at hiding something as an escape sequence. Compiled where it
# is used: not in a command that answers with JSON.
_CONTROL = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"


def plain(text: str) -> str:
    """Return a text with its control characters written out, but for line ends and tabs."""
    return re.sub(_CONTROL, lambda found: f"\\x{ord(found[0]):02x}", text.replace("\r\n", "\n"))
