"""Plain command lines of `gitmem save` and `search`, understood without argparse: it takes a fifth of both.

What is not understood here, a mistake or a call for help among it, is for argparse to judge; what is, argparse would
have read in the same way (a test compares the two).
"""

from __future__ import annotations

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence
else:

    class Namespace:
        """What `argparse.Namespace` is to those who ask for arguments by their names."""

        def __init__(self, **values: object) -> None:
            self.__dict__.update(values)


COMMANDS = ("save", "search")
SEARCH_LIMIT = 10  # hits, where nobody says how many
_SEARCH = {"by": "layer", "deep": False, "history": False, "at": None, "limit": SEARCH_LIMIT}
_WITH_VALUE = {"-f": "file", "--file": "file", "-t": "type", "--type": "type", "--tag": "tag", "--session": "session"}


def parse(argv: Sequence[str]) -> Namespace | None:
    """Return what a command line of one of `COMMANDS` says, None where argparse is to be asked."""
    found: dict[str, object] = {"directory": None, "user": False, "json": False}
    words = [*reversed(argv)]
    while words and words[-1] not in COMMANDS:
        word = words.pop()
        if word == "-C" and words and _is_value(words[-1]):
            found["directory"] = words.pop()
        elif word == "--user":
            found["user"] = True
        else:
            return None
    if not words:
        return None
    command = words.pop()
    more = (_parse_save if command == "save" else _parse_search)(words)
    return None if more is None else Namespace(command=command, **found | more)


def _parse_save(words: list[str]) -> dict[str, object] | None:
    """Read what follows the word `save`, last word first."""
    from gitmem.model.kinds import MemoryType  # a search does without

    texts: list[str] = []
    tags: list[str] = []
    found: dict[str, object] = {"file": None, "type": MemoryType.NOTE.value, "session": ""}
    ended = False  # argparse takes one run of words for the text, and another one for a mistake
    while words:
        word = words.pop()
        if _is_value(word):
            if ended:
                return None
            texts.append(word)
            continue
        ended = bool(texts)
        name, equals, value = word.partition("=")
        if word == "--json":
            found["json"] = True
            continue
        if name not in _WITH_VALUE or (equals and not name.startswith("--")):
            return None
        if not equals:
            if not words or not _is_value(words[-1]):
                return None
            value = words.pop()
        if _WITH_VALUE[name] == "tag":
            tags.append(value)
        else:
            found[_WITH_VALUE[name]] = value
    if found["type"] not in list(MemoryType):
        return None
    return {**found, "text": texts, "tag": tags}


def _parse_search(words: list[str]) -> dict[str, object] | None:
    """Read what follows the word `search`, last word first: words, with `--json` before or after them."""
    words.reverse()
    as_json = False
    for end in (0, -1):
        while words and words[end] == "--json":
            words.pop(end)
            as_json = True
    if not words or not all(map(_is_value, words)):
        return None
    return {**_SEARCH, "query": words, "json": as_json}


def _is_value(word: str) -> bool:
    return not word.startswith("-") or word == "-"
