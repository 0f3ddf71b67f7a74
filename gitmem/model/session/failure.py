"""What the output of a failed call says, on one line. Pure.

Tested through `tests/model/session/test_entries.py`.
"""

from __future__ import annotations

ERROR_LENGTH = 200  # characters
_NOT_FAILED = ("<tool_use_error>", "The user doesn't want to", "User rejected", "[Request interrupted")
_SAYS_NOTHING = ("warn", "task failed", "errors found", "exit status", "npm err! code")
# Words of an error's telling line, surely and perhaps; and words of lines that say nothing.
_TELLING = (
    ("error:", "fatal:", "panic:", "exception", "--- fail", "undefined", "no such", "not found", "denied"),
    ("failed", "failure", "cannot", "can't", "unexpected", "invalid", "unknown", "missing", "refused", "timed out"),
)


def told_error(text: str) -> str:
    """Return the most telling line of an error; "" for no failure.

    An exit code for "no", as of grep, is no failure, nor is a call that the person or the host refused.
    """
    lines = [line for line in (line.strip() for line in text.split("\n")) if line]
    if lines and lines[0].casefold().startswith("exit code"):
        lines = lines[1:]
    if lines and lines[0].startswith(_NOT_FAILED):
        return ""
    meaningful = [line for line in lines if not any(words in line.casefold() for words in _SAYS_NOTHING)]
    telling = (
        line
        for some in (meaningful, lines)
        for words in _TELLING
        for line in some
        if any(w in line.casefold() for w in words)
    )
    line = next(telling, lines[0] if lines else "")
    return line[:ERROR_LENGTH].rstrip() + "…" if len(line) > ERROR_LENGTH else line
