"""Text on its way out of gitmem, to a terminal or an agent: what agents read somewhere stays text (spec X4).

A terminal obeys control characters. An agent also reads what nobody sees, such as tag characters, and may take a text
that looks like a host's own for one. All text passes `plain`; JSON passes `harmless`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from typing import Any


_CONTROLS = r"\x00-\x08\x0b-\x1f\x7f-\x9f"
# Drawn as nothing, or changing how others are drawn: fillers, joiners, marks of direction, selectors, tags.
_HIDDEN = (
    r"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    r"\ufeff\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_FLAGS = "|".join(  # of England, Scotland and Wales, the only ones in use that are spelt in tag characters
    "\U0001f3f4" + "".join(chr(0xE0000 + ord(letter)) for letter in name) + "\U000e007f"
    for name in ("gbeng", "gbsct", "gbwls")
)
# A joiner between letters of a script that joins them (Arabic to Myanmar, Khmer, Mongolian), and between pictures; a
# selector behind a picture, sign or digit.
_JOINED = r"[\u0600-\u08ff\u0900-\u0fff\u1000-\u109f\u1780-\u17ff\u1820-\u18af]"
_PICTURE = (
    r"[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u24c2\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff\u3030"
    r"\u303d\u3297\u3299\U0001f000-\U0001faff]"
)
_MEANT = (
    rf"{_FLAGS}|(?<={_JOINED})[\u200c\u200d\u180b-\u180d](?={_JOINED})"
    rf"|(?<={_PICTURE})\ufe0f?\u200d(?={_PICTURE})|(?<={_PICTURE})[\ufe0e\ufe0f]|(?<=[0-9#*])\ufe0f(?=\u20e3)"
)


def plain(text: str) -> str:
    """Return a text as it may reach a terminal or an agent.

    Control characters other than line ends and tabs are written as their codes, hidden ones are left out where they do
    not shape a letter or a picture, and what looks like a tag or a turn of a host's own is blunted.
    """
    from gitmem.text.fence import blunted

    text = text.replace("\r\n", "\n")
    if not text.isascii():
        text = _without(text, "", lambda one: "\n" if one in "\u2028\u2029" else "")
    text = blunted(text)
    if text.replace("\n", "").replace("\t", "").isprintable():  # as nearly always
        return text
    return re.sub(f"[{_CONTROLS}]", lambda match: f"\\x{ord(match[0]):02x}", text)


# What the command line colours, by ANSI's codes: what needs a person is yellow or red, what a line is read past is dim.
STYLES = {
    "heading": "1",
    "id": "33",
    "place": "36",
    "aside": "2",
    "match": "1;33",
    "ok": "32",
    "note": "36",
    "warning": "33",
    "problem": "31",
    "error": "1;31",
    "head": "1",
    "hunk": "36",
    "added": "32",
    "removed": "31",
}
_CODE = r"\x1b\[[0-9;]*m"  # a colour
# The beginnings of lines in lists: an id, session or commit, and its date; a heading; and what is said of a fact.
_LISTED = (
    r"(?m)^(?P<blank> *)(?P<id>[a-z][0-9a-hj-np-tv-z]{10}|[0-9a-f]{8}|[0-9a-f]{10})"
    r"(?P<date>  ?\d{4}-\d\d-\d\d(?: \d\d:\d\d)?)?(?=  ?\S)"
    r"|^(?P<heading>\w[\w ]{,30}:)$|(?P<mark> \[[a-z][^\]\n]*\])$"
)
_UNSPACED = r"\u2e80-\u312f\u3190-\u9fff\uf900-\ufaff\uff00-\uff60"  # letters of scripts without blanks
_CLOSING = r"\u3001\u3002\u3009\u300b\u300d\u300f\u3011\uff01\uff09\uff0c\uff0e\uff1a\uff1b\uff1f"  # begin no line
_COLUMN = r"\S {2,}(?=\S)|^ *[-*>] (?=\S)"


def cells(text: str) -> int:
    """Return how many columns of a terminal a text takes: a Chinese, Japanese or Korean character takes two."""
    if text.isascii() and "\x1b" not in text:
        return len(text)
    from unicodedata import combining, east_asian_width

    bare = re.sub(_CODE, "", text)
    return sum(0 if combining(one) else 1 + (east_asian_width(one) in "WF") for one in bare)


def padded(text: str, width: int) -> str:
    """Return a text with blanks up to a width in columns."""
    return text + " " * (width - cells(text))


def wrapped(text: str, width: int) -> str:
    """Return a text with its lines broken at words, each going on below the column that its last part begins in."""
    return "\n".join(line if cells(line) <= width else _wrapped_line(line, width) for line in text.split("\n"))


def _wrapped_line(line: str, width: int) -> str:
    bare = re.sub(_CODE, "", line)
    columns = [cells(bare[: match.end()]) for match in re.finditer(_COLUMN, bare)]
    # A row of a table may go on in its right half; two blanks in prose are no column there.
    most = width * 2 // 3 if len(columns) > 2 else width // 2  # noqa: PLR2004
    indent = max((column for column in columns if column <= most), default=len(bare) - len(bare.lstrip()))
    lines, left = [""], width
    # Chinese and Japanese may be parted anywhere; a word longer than the screen is left to the terminal.
    for piece in re.findall(rf"{_CODE}|\s+|[{_UNSPACED}][{_CLOSING}]*|[^\s{_UNSPACED}\x1b]+", line):
        size = cells(piece)
        if size > left and left < width - indent:
            lines[-1] = lines[-1].rstrip(" ")
            lines.append(" " * indent)
            left = width - indent
            if piece.isspace():
                continue
        lines[-1] += piece
        left -= size
    return "\n".join(lines)


def clipped(text: str, width: int) -> str:
    """Return a text that takes at most this many columns, with … at its end where some is left out."""
    if cells(text) <= width:
        return text
    kept = text[:width]
    while cells(kept) >= width:
        kept = kept[:-1]
    return f"{kept.rstrip()}…"


def styled(style: str, text: str) -> str:
    """Return a text in one of `STYLES`."""
    return f"\033[{STYLES[style]}m{text}\033[0m" if text else ""


def painted(text: str) -> str:
    """Return a list with its ids, dates and headings, and what is said of a fact, in colour."""

    def paint(found: re.Match[str]) -> str:
        shown = (found["blank"] or "") + styled("id", found["id"] or "") + styled("aside", found["date"] or "")
        return shown + styled("heading", found["heading"] or "") + styled("warning", found["mark"] or "")

    return re.sub(_LISTED, paint, text)


def harmless(text: str) -> str:
    """Return text, JSON above all, with hidden characters and controls but ASCII's as escapes: JSON keeps its value."""
    if text.isascii() and "\x7f" not in text:
        return text
    return _without(text, r"\x7f-\x9f", _escaped)


def fields(value: object, names: str) -> dict[str, Any]:
    """Return the named fields of a value as JSON has them: a moment in ISO 8601, a tuple as a list.

    `b=a` is the field `a` by the name `b`, and what is empty in `a?` is None.
    """
    found = {}
    for name in names.split():
        key, _, field = name.rpartition("=")
        one: Any = getattr(value, field.removesuffix("?"))
        one = None if field.endswith("?") and not one else one
        found[key or field.removesuffix("?")] = one.isoformat() if hasattr(one, "isoformat") else _listed(one)
    return found


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple | set | frozenset) else getattr(value, "value", value)


def json_text(value: object, **form: Any) -> str:
    """Return a value as JSON in which no text passes for more than a value; whoever parses it gets it unchanged."""
    import json

    from gitmem.text.fence import blunted

    return harmless(blunted(json.dumps(value, ensure_ascii=False, **form), _escaped))


def _without(text: str, controls: str, instead: Callable[[str], str]) -> str:
    if not re.search(rf"[^\x00-\x7e](?<=[\x7f-\x9f{_HIDDEN}])", text):
        return text  # as nearly always: the other pattern takes a millisecond to compile
    return re.sub(rf"({_MEANT})|[{controls}{_HIDDEN}]", lambda match: match[1] or instead(match[0]), text)


def _escaped(character: str) -> str:
    data = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{data[at]:02x}{data[at + 1]:02x}" for at in range(0, len(data), 2))


def mask_urls(text: str) -> str:
    """Replace the parts of URLs before an `@` or behind a `?`, passwords and tokens, by `***`."""
    import re  # only a message about a failure needs it

    text = re.sub(r"://[^\s'\"]*@", "://***@", text)
    return re.sub(r"(://[^\s'\"?]*\?)[^\s'\"]+", r"\1***", text)
