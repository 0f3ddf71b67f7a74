"""The items of an older tool's log."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gitmem.document.entry import TIMELINE, MemoryType

_TITLES = (*(kind.label for kind in MemoryType), "Session Summary")
_HEADING = re.compile(rf"## (?P<title>{'|'.join(_TITLES)})\s*")
_TIMED = re.compile(
    r"- \[(?P<time>(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9])\] \*\*(?P<label>[^*\n]{1,60})\*\*: ?(?P<text>.*)"
)


def items(text: str, prose: list[str]) -> Iterator[tuple[str, str, str, str]]:
    """Yield the items of a log as (section, time, label, text); other text goes to `prose`.

    An item of a section has the time of the last one before it, or the day's beginning.
    """
    section, time = "", "00:00:00"
    current: tuple[str, str, str] | None = None
    lines: list[str] = []
    for line in text.replace("\r\n", "\n").split("\n"):
        heading, timed = _HEADING.fullmatch(line), _TIMED.fullmatch(line)
        in_section = bool(section) and line.startswith("- ")
        if not (heading or timed or in_section):
            if current:
                lines.append(line)
            elif line.strip() and not re.fullmatch(r"# [0-9-]{10}\s*", line):
                prose.append(line)
            continue
        if current:
            yield (*current, "\n".join(lines))
        current, lines = None, []
        if heading:
            section = heading["title"]
        elif timed:
            section, time = "", timed["time"]
            current, lines = (TIMELINE, time, timed["label"].strip()), [timed["text"]]
        else:
            current, lines = (section, time, section), [line[2:]]
    if current:
        yield (*current, "\n".join(lines))
