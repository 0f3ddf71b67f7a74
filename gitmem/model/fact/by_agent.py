"""Find the facts that an agent saved itself in a turn, and guesses of the rules that repeat them. Pure.

The agent knows what was decided, so its words replace those that the rules find in the same turn.

Tested through `tests/cli/commands/test_saved_by_agent.py`.
"""

from __future__ import annotations

import re
from datetime import timedelta

from gitmem.model.fact.compare import contradict, says_the_same, stems_of
from gitmem.model.ids import is_timed, milliseconds_of

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitmem.model.fact.fact import Fact
    from gitmem.model.session.turns import Turn

_TOOL = "memory_save"  # ends the name of the tool in each host
_COMMAND = re.compile(r"\bgitmem\b[^\n;|&]{0,200}\ssave\b")
_SHELL = "cli"  # the origin of a save that was typed
_QUOTED = 0.8  # share of a fact's words in the command that saved it
_AROUND = timedelta(seconds=2)  # a turn, as its events have times of their own
_NUMBER = re.compile(r"[0-9]+")
_SAME = 0.6  # share of the fewer keywords; within one turn little else shares so many
_FEWEST = 2


def saves(turn: Turn) -> bool:
    """Return whether the agent called the memory in a turn, by its tool or in a shell."""
    return any(name.endswith(_TOOL) for name in turn.used) or any(_COMMAND.search(run.command) for run in turn.runs)


def saved_in(facts: Iterable[Fact], turn: Turn) -> list[Fact]:
    """Return the facts that the agent saved while a turn went on.

    Where nobody told the session of a save, it is of the turn if it came by the tool, or if a command has its words: a
    person may save something meanwhile.
    """
    begin, end = ((at.timestamp() * 1000) for at in (turn.started - _AROUND, turn.ended + _AROUND))
    return [
        fact
        for fact in facts
        if is_saved(fact)
        and (_is_of(turn, fact) if "session" not in fact.origin else fact.origin["session"] == turn.session)
        and any(is_timed(source) and begin <= milliseconds_of(source) <= end for source in fact.sources)
    ]


def _is_of(turn: Turn, fact: Fact) -> bool:
    words, commands = stems_of(fact.description), [run.command for run in turn.runs if _COMMAND.search(run.command)]
    by_tool = fact.origin.get("tool") != _SHELL and any(name.endswith(_TOOL) for name in turn.used)
    return by_tool or any(len(words & stems_of(command)) >= _QUOTED * len(words) for command in commands)


def is_saved(fact: Fact) -> bool:
    """Return whether a fact was saved by an agent or a person: not found by the rules, nor mirrored from elsewhere."""
    return bool(fact.origin.get("tool")) and "id" not in fact.origin


def repeated(saved: Iterable[Fact], text: str) -> Fact | None:
    """Return the fact that a guess says again in its own words, None if it says something else."""
    return next((fact for fact in saved if _repeats(fact.description, text)), None)


def _repeats(one: str, other: str) -> bool:
    if says_the_same(one, other):
        return True
    fewer, more = sorted((_words(one), _words(other)), key=len)
    shared = sum(any(_is_same(word, known) for known in more) for word in fewer)
    return shared >= max(_FEWEST, _SAME * len(fewer)) and not contradict(one, other)


def _words(text: str) -> frozenset[str]:
    return stems_of(text) | frozenset(_NUMBER.findall(text))


def _is_same(one: str, other: str) -> bool:
    """Return whether two words are the same; of Korean ones, one may go on with an ending that no stem is cut from."""
    shorter, longer = sorted((one, other), key=len)
    return one == other or (len(shorter) > 1 and "가" <= shorter[0] <= "힣" and longer.startswith(shorter))
