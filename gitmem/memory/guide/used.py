"""Judge whether a session used a given text: a file or command in it occurs in the session afterwards. Pure.

Tested through `tests/memory/guide/test_measure.py`.
"""

from __future__ import annotations

import re

from gitmem.model.session.noise import human_text

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gitmem.memory.guide.given import Given
    from gitmem.model.session.turns import Turn


def was_used(given: Given, turns: Sequence[Turn]) -> bool:
    """Return whether a name in the text occurs in the session after the text, and not before."""
    index = max((index for index, turn in enumerate(turns) if turn.started <= given.at), default=None)
    if index is None:
        return False
    before = "\n".join([*(text for turn in turns[:index] for text in _of(turn)), human_text(turns[index].prompt)])
    after = "\n".join(text for turn in turns[index:] for text in _done(turn))
    return any(_occurs(name, after) and not _occurs(name, before) for name in given.names)


def _occurs(name: str, text: str) -> bool:
    return name in text and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _of(turn: Turn) -> Iterator[str]:
    yield human_text(turn.prompt)
    yield from _done(turn)


def _done(turn: Turn) -> Iterator[str]:
    """Yield the files, successful commands, mends and answers of a turn."""
    yield from turn.files
    yield from _spaced(run.command for run in turn.runs if not run.failed)
    for failure in turn.failures:
        yield from _spaced((failure.fixed_by, failure.meanwhile))
        yield failure.explained
    yield from turn.said
    yield turn.answer


def _spaced(commands: Iterable[str]) -> Iterator[str]:
    return (" ".join(command.split()) for command in commands)
