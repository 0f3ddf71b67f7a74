"""The parts of a project that memories are of: one of `packages/a` is told there and above, not beside (spec T3). Pure.

An entry names its part by the tag `in/PATH`, a fact in its header. A character of a path that no tag holds is `-`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

LONGEST = 47  # characters of a part's name: a tag has 50
_TAG = "in/"
_NO_TAG = re.compile(r"[^\w/-]")
_LINE = re.compile(r"- \[[^\]\n]{1,40}\] \*\*[^*\n]{1,60}\*\*((?: #[\w/-]+)+):")


def scope_name(path: str) -> str:
    """Return the name of the part of a project at a path with `/`; "" for the whole project."""
    return _NO_TAG.sub("-", path.strip("/")) if path != "." else ""


def scope_tags(scope: str) -> tuple[str, ...]:
    """Return the tag of a part, none for the whole project."""
    return (_TAG + scope,) if scope else ()


def scopes_in(tags: Iterable[str]) -> tuple[str, ...]:
    """Return the parts that tags name."""
    return tuple(tag.removeprefix(_TAG) for tag in tags if tag.startswith(_TAG))


def scopes_of_line(text: str) -> tuple[str, ...]:
    """Return the parts that the first line of an entry names."""
    match = _LINE.match(text)
    return scopes_in(match[1].replace("#", "").split()) if match else ()


def is_within(part: str, other: str) -> bool:
    """Return whether a part is the other one or lies in it."""
    return not other or f"{part}/".startswith(f"{other}/")


def do_all_meet(some: Iterable[str], here: str) -> bool:
    """Return whether each of these parts meets another one: a text made of memories of several is told in such."""
    return all(do_meet((one,), (here,)) for one in some)


def do_meet(some: Collection[str], others: Collection[str]) -> bool:
    """Return whether one of these parts is, is in, or is around one of the others; none stand for the whole project."""
    some, others = set(some) - {""}, set(others) - {""}
    pairs = ((one, other) for one in some for other in others)
    return not some or not others or any(is_within(one, other) or is_within(other, one) for one, other in pairs)
