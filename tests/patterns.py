"""All regular expressions of the program, and texts made from each of them that it reads as slowly as it can.

A pattern is slow where two of its repeats read the same text, the second behind the first, or where a search begins a
repeat anew at each character, and something behind it fails. So the texts of a pattern are: the shortest way to a
repeat, then many times what goes around in it, or leads from one repeat to the next, and an end that fails; the
characters are those that most repeats read. The ways come from the automaton of the pattern's positions (Glushkov).
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import time
from collections import deque
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from re import _constants as code  # type: ignore[attr-defined]  # no public module has the parser
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

import gitmem
from gitmem.platform.machine import table
from gitmem.redact.places import _whole
from gitmem.text.words import files_of, languages, phrases
from tests.cues import rows

BOUND = 4_096  # a repeat of at most so many counts as a constant
_MOST_LOOPS = 5
_CALLS = frozenset({"compile", "search", "match", "fullmatch", "sub", "subn", "findall", "finditer", "split"})
_ANCHORED = frozenset({"match", "fullmatch"})
_FORMS = ("commands.tsv", "errors.tsv", "tasks.tsv")  # tables whose second column is a pattern
ALPHABET = [*map(chr, range(128)), *"\x85\xa0éß\u2019\u2028\u2192中가힣\U0001f600"]


class Found(NamedTuple):
    """A pattern of the program: where it is used, and whether it is looked for at one place only."""

    place: str
    pattern: str | bytes
    flags: int
    is_anchored: bool = False


def patterns() -> Iterator[Found]:
    """Yield the patterns of the modules, as far as their text is known there, and those of the tables."""
    for info in pkgutil.walk_packages(gitmem.__path__, "gitmem."):
        if not info.name.endswith("__main__"):
            yield from _of_module(importlib.import_module(info.name))
    yield from (Found("secrets.tsv", row[2], 0) for row in table("secrets.tsv"))
    yield from (Found("secret_places.tsv", _whole(row[2]), 0) for row in table("secret_places.tsv") if row[0] != "part")
    for path in [path for name in _FORMS for path in (files_of(name) or (name,))]:
        yield from (Found(path, row[1], re.IGNORECASE | re.MULTILINE) for row in table(path))
    for spoken in languages():
        for kind in {row.kind for row in rows(spoken)}:
            yield Found(f"{spoken}/cues.tsv {kind}", phrases(kind, spoken).pattern, re.IGNORECASE)


def _of_module(module: Any) -> Iterator[Found]:
    nodes = [*ast.walk(ast.parse(Path(module.__file__).read_text("utf-8")))]
    uses: dict[str, set[str]] = {}
    methods = {id(node.value): node.attr for node in nodes if isinstance(node, ast.Attribute)}
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            uses.setdefault(node.value.id, set()).add(node.attr)
    for node in nodes:
        is_named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute) and node.args
        function = ast.unparse(node.func) if is_named else ""
        name = function.removeprefix("re.")
        if not isinstance(node, ast.Call) or not ((function != name and name in _CALLS) or name == "compiled"):
            continue
        if function == "re.compile" and id(node) not in methods:
            continue  # kept under a name, which is looked at below
        text = _value(node.args[0], module)
        for one in text if isinstance(text, tuple) else (text,):
            if isinstance(one, (str, bytes)):
                used = methods.get(id(node), name)  # `re.compile(…).match(…)`
                yield Found(f"{module.__name__}:{node.lineno}", one, _flags(node, module), used in _ANCHORED)
    for name, value in vars(module).items():
        if isinstance(value, re.Pattern):
            used = uses.get(name, set()) & _CALLS
            is_anchored = bool(used) and used <= _ANCHORED
            yield Found(f"{module.__name__}:{name}", value.pattern, value.flags, is_anchored)


def _value(node: ast.expr, module: Any) -> object:
    try:
        return eval(compile(ast.Expression(node), "pattern", "eval"), {**vars(module)})
    except Exception:  # noqa: BLE001  # made from what a call gives
        return None


def _flags(node: ast.Call, module: Any) -> int:
    given = [word.value for word in node.keywords if word.arg == "flags"]
    given += [argument for argument in node.args[1:] if "re." in ast.unparse(argument)]
    return sum(int(value) for one in given if isinstance(value := _value(one, module), int))


# The automaton: a position reads a character of its set.


class Position(NamedTuple):
    number: int
    reads: frozenset[str]


class Part(NamedTuple):
    """A piece of a pattern: whether it may be empty, its first and last positions."""

    is_empty: bool
    first: tuple[int, ...]
    last: tuple[int, ...]


class Automaton:
    """The automaton of a pattern."""

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        text = pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern
        tree = parser.parse(
            text, flags & ~re.LOCALE & ~re.ASCII if isinstance(pattern, str) else flags & (re.IGNORECASE | re.MULTILINE)
        )
        self.flags = tree.state.flags
        self.positions: list[Position] = []
        self.follow: dict[int, set[int]] = {}
        self.sets: dict[tuple[str, str], frozenset[str]] = {}
        self.whole = self._sequence(tree)

    def _sequence(self, items: Any) -> Part:
        result = Part(True, (), ())
        for op, value in items:
            result = self._joined(result, self._part(op, value))
        return result

    def _joined(self, left: Part, right: Part) -> Part:
        for one in left.last:
            self.follow[one].update(right.first)
        first = left.first + (right.first if left.is_empty else ())
        last = right.last + (left.last if right.is_empty else ())
        return Part(left.is_empty and right.is_empty, first, last)

    def _part(self, op: Any, value: Any) -> Part:  # noqa: PLR0911
        if op in (code.MAX_REPEAT, code.MIN_REPEAT, code.POSSESSIVE_REPEAT):
            return self._repeat(*value)
        if op is code.SUBPATTERN:
            return self._sequence(value[3])
        if op is code.ATOMIC_GROUP:
            return self._sequence(value)
        if op is code.BRANCH:
            parts = [self._sequence(branch) for branch in value[1]]
            first, last = (tuple(one for part in parts for one in part[place]) for place in (1, 2))
            return Part(any(part.is_empty for part in parts), first, last)
        if op is code.GROUPREF_EXISTS:
            return self._sequence([*value[1], *(value[2] or [])])
        if op in (code.AT, code.ASSERT, code.ASSERT_NOT, code.GROUPREF, code.FAILURE):
            return Part(True, (), ())
        position = Position(len(self.positions), self._set(op, value))
        self.positions.append(position)
        self.follow[position.number] = set()
        return Part(False, (position.number,), (position.number,))

    def _repeat(self, least: Any, most: Any, items: Any) -> Part:
        is_loop = most is code.MAXREPEAT or int(most) > BOUND
        result = Part(True, (), ())
        for number in range(min(int(least), 2) if is_loop else min(int(most), 2)):
            part = self._sequence(items)
            result = self._joined(result, part if number < int(least) else part._replace(is_empty=True))
        if is_loop:
            part = self._sequence(items)
            for one in part.last:
                self.follow[one].update(part.first)
            result = self._joined(result, part._replace(is_empty=True))
        return result

    def _set(self, op: Any, value: Any) -> frozenset[str]:
        key = (str(op), str(value))
        if key not in self.sets:
            self.sets[key] = frozenset(c for c in ALPHABET if self._reads(op, value, c))
        return self.sets[key]

    def _reads(self, op: Any, value: Any, c: str) -> bool:
        forms = {c, c.swapcase()} if self.flags & re.IGNORECASE else {c}
        if op is code.LITERAL:
            return any(ord(one) == value for one in forms if len(one) == 1) or (
                value > 127 and chr(value) not in ALPHABET and c == "中"
            )
        if op is code.NOT_LITERAL:
            return all(ord(one) != value for one in forms if len(one) == 1)
        if op is code.ANY:
            return c != "\n" or bool(self.flags & re.DOTALL)
        if op is code.IN:
            negated = value[0][0] is code.NEGATE
            return negated != any(self._is_in(item, c, forms) for item in value[negated:])
        return op is code.CATEGORY and _in_category(value, c)

    def _is_in(self, item: Any, c: str, forms: set[str]) -> bool:
        op, value = item
        if op is code.RANGE:
            return any(value[0] <= ord(one) <= value[1] for one in forms if len(one) == 1)
        return self._reads(op, value, c)


@cache
def _in_category(category: Any, c: str) -> bool:
    name = str(category).removeprefix("CATEGORY_")
    shape = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}[name.removeprefix("NOT_")]
    return (re.match(shape, c) is not None) != name.startswith("NOT_")


def texts_for(found: Found, size: int) -> list[str]:
    """Return the texts of about a size that a pattern may read slowly."""
    automaton = Automaton(found.pattern, found.flags)
    loops = [one for one in automaton.follow if _way(automaton, automaton.follow[one], one) is not None][:_MOST_LOOPS]
    shared = {c: sum(c in automaton.positions[one].reads for one in loops) for c in ALPHABET}

    def text(way: list[int] | None) -> str:
        sets = (automaton.positions[one].reads for one in way or ())
        return "".join(max(sorted(reads) or "0", key=lambda c: shared.get(c, 0)) for reads in sets)

    made: dict[str, None] = {}
    for first in loops:
        start = text(_way(automaton, automaton.whole.first, first))
        pieces = {text(_way(automaton, automaton.follow[first], one)) for one in loops}
        made |= dict.fromkeys(start + piece * (size // len(piece)) for piece in sorted(pieces) if piece)
        again = start + text(_way(automaton, automaton.follow[first], first))
        made[again * (size // len(again) + 1)] = None
    return [text + end for text in made for end in ("\x00", "\n\x00")]


def _way(automaton: Automaton, starts: Iterable[int], goal: int) -> list[int] | None:
    """Return the shortest way from one of the positions to another, both on it; None if there is none."""
    before: dict[int, int | None] = dict.fromkeys(starts)
    todo = deque(before)
    while todo and goal not in before:
        one = todo.popleft()
        for following in automaton.follow[one]:
            if following not in before:
                before[following] = one
                todo.append(following)
    way: list[int] = []
    place = goal if goal in before else None
    while place is not None:
        way.append(place)
        place = before[place]
    return way[::-1] or None


def slow_text(found: Found) -> str:
    """Return the beginning of a text for which the processor's time grows more than its length, "" if there is none."""
    for place, short in enumerate(texts_for(found, SHORT)):
        if (first := seconds(found, short)) < _FAST:
            continue
        if first > _SLOW:  # more than quadratic: the long text would take minutes
            return short[:40]
        long = texts_for(found, SHORT * TIMES)[place]
        if all(seconds(found, long) > MOST * seconds(found, short) for _ in range(3)):
            return short[:40]
    return ""


SHORT, TIMES, MOST = 2_000, 8, 24  # characters; the long texts are 8 times as long, quadratic would be 64
_SLOW = 2.0
_FAST = 0.001  # seconds for a short text, in which none can have been read again from each of its characters


def seconds(found: Found, text: str) -> float:
    """Return the processor's time to look for all places of a pattern in a text."""
    pattern = re.compile(found.pattern, found.flags)
    subject: Any = text.encode("latin-1", "replace") if isinstance(found.pattern, bytes) else text
    begin = time.process_time()
    if found.is_anchored:
        pattern.match(subject)
    else:
        deque(pattern.finditer(subject), 0)
    return time.process_time() - begin
