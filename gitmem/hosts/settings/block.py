"""A block in a file that people write, such as AGENTS.md: put at its end, taken out again, all else stays to the byte.

One block serves all agents that read the file: its first line names those for which it was installed, and the digest of
what it holds. A block that a person has changed is theirs: uninstall leaves its words and takes the marks.
"""

from __future__ import annotations

import hashlib
import re

_BEGIN = "<!-- gitmem {}: {}. 'gitmem uninstall' takes this out. -->"
_END = "<!-- /gitmem -->"
_BLOCK = re.compile(
    r"<!-- gitmem (?P<digest>[0-9a-f]{8}): (?P<names>[a-z, ]+)\. 'gitmem uninstall' takes this out\. -->\r?\n"
    r"(?P<text>.*?)\r?\n<!-- /gitmem -->",
    re.DOTALL,
)
_BLANK_BEFORE, _LINE_BEFORE = re.compile(r"\r?\n\r?\n\Z"), re.compile(r"\r?\n\Z")
_LINE_AFTER = re.compile(r"\r?\n")


def with_block(text: str, words: str, name: str) -> str:
    """Return the text with the block, which names this agent, too; an older block of gitmem's gets these words."""
    newline = "\r\n" if "\r\n" in text else "\n"
    found = _BLOCK.search(text)
    if found is not None:
        names = dict.fromkeys([*found["names"].split(", "), name])
        kept = words.strip() if _is_ours(found) else found["text"]
        digest = _digest(words) if _is_ours(found) else found["digest"]
        return text[: found.start()] + _rendered(kept, [*names], digest, newline) + text[found.end() :]
    block = _rendered(words.strip(), [name], _digest(words), newline)
    if not text:
        return f"{block}{newline}"
    # Whether the text ended with a line end is said by whether the block does.
    return f"{text}{newline}{block}{newline}" if text.endswith("\n") else f"{text}{newline}{newline}{block}"


def without_block(text: str, name: str) -> str:
    """Return the text without this agent in the block, and without the block if it was the last one."""
    found = _BLOCK.search(text)
    if found is None or name not in found["names"].split(", "):
        return text
    names = [one for one in found["names"].split(", ") if one != name]
    before, after = text[: found.start()], text[found.end() :]
    if names:
        newline = "\r\n" if "\r\n" in text else "\n"
        return before + _rendered(found["text"], names, found["digest"], newline) + after
    if not _is_ours(found):
        return before + found["text"] + after
    if not before or after:
        return _LINE_BEFORE.sub("", before, count=1) * bool(before) + _LINE_AFTER.sub("", after, count=1)
    return _BLANK_BEFORE.sub("", before, count=1)


def has_block(text: str, name: str) -> bool:
    """Return whether the text has the block for this agent."""
    found = _BLOCK.search(text)
    return found is not None and name in found["names"].split(", ")


def is_block(text: str) -> bool:
    """Return whether the text is nothing but the block."""
    return _BLOCK.fullmatch(text.strip()) is not None


def _rendered(words: str, names: list[str], digest: str, newline: str) -> str:
    lines = [_BEGIN.format(digest, ", ".join(names)), *words.splitlines(), _END]
    return newline.join(lines)


def _is_ours(found: re.Match[str]) -> bool:
    return _digest(found["text"]) == found["digest"]


def _digest(words: str) -> str:
    """Return a digest that wrapping the lines anew does not change."""
    return hashlib.sha256(" ".join(words.split()).encode("utf-8", "surrogateescape")).hexdigest()[:8]
