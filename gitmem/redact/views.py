"""Views of a text that map each of their characters to its position in the original.

A secret may stand in a text with invisible characters in it (copied from a web page or a chat), or percent-encoded (in
a URL). It is found in a view without either, and removed from the original.

Tested through `tests/redact/test_redact.py`.
"""

from __future__ import annotations

from gitmem.redact.values import compiled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# Invisible characters: Unicode category Cf, fillers, joiners, variation selectors, tags.
_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_ESCAPED = (
    r"\\{1,8}u(?:00ad|034f|061c|115f|1160|180[b-e]|200[b-f]|202[a-e]|206[0-9a-f]|3164|fe0[0-9a-f]|feff|ffa0"
    r"|db4[0-3]\\{1,8}ud[c-f][0-9a-f]{2})"
)
_HIDDEN = rf"[{_INVISIBLE}]|(?i:{_ESCAPED})"
# Printable ASCII except quotes, `<`, `>` and the backslash, which would end a string or a tag once decoded.
_ENCODED = r"%(?:2[13-689a-fA-F]|3[0-9abdfABDF]|4[0-9a-fA-F]|5[0-9abdefABDEF]|6[1-9a-fA-F]|7[0-9a-eA-E])"


class View:
    """A text with some ranges replaced, which maps positions back to the original."""

    def __init__(self, original: str, edits: Iterable[tuple[int, int, str]]) -> None:
        """Replace each passage `(start, end, replacement)`; they are in order and do not overlap."""
        pieces, at, length, shift = [], 0, 0, 0
        self._edits = tuple(edits)
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._shifts = [0]
        for start, end, replacement in self._edits:
            pieces += [original[at:start], replacement]
            length += start - at
            self._starts.append(length)
            length += len(replacement)
            self._ends.append(length)
            shift += end - start - len(replacement)
            self._shifts.append(shift)
            at = end
        self.text = "".join([*pieces, original[at:]])

    def original(self, start: int, end: int) -> tuple[int, int]:
        """Return the range of the original for the characters `[start, end)` of this text."""
        return self._place(start)[0], self._place(end - 1)[1]

    def _place(self, at: int) -> tuple[int, int]:
        from bisect import bisect_right  # late: most texts have no secret

        number = bisect_right(self._ends, at)
        if number < len(self._starts) and self._starts[number] <= at:
            return self._edits[number][:2]
        place = at + self._shifts[number]
        return place, place + 1


def without_hidden(text: str) -> View | None:
    r"""Return a text without its invisible characters, plain or as JSON writes them (`\u200b`); None if it has none."""
    if text.isascii() and "\\u" not in text:
        return None
    if "\\u" not in text and not compiled(f"[{_INVISIBLE}]").search(text):
        return None
    edits = [(*found.span(), "") for found in compiled(_HIDDEN).finditer(text)]
    return View(text, edits) if edits else None


def percent_decoded(text: str) -> View | None:
    """Return a text percent-decoded (`%41` to `A`); None if nothing is encoded."""
    if "%" not in text:
        return None
    edits = [(*found.span(), chr(int(found[0][1:], 16))) for found in compiled(_ENCODED).finditer(text)]
    return View(text, edits) if edits else None
