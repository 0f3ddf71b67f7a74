"""An episode: a finished task of a session, with its lessons (docs/format.md, "Episodes"). Pure, and light.

It is a view of its exchanges: it names them, and sums up problem, solution and lessons in short lines.
`gitmem.model.learned.finished` makes it.

Tested through `tests/model/learned/test_finished.py`.
"""

from __future__ import annotations

from gitmem.model.ids import kind_id, tail_of
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from datetime import datetime

    from gitmem.model.learned.error import ErrorSignature
    from gitmem.model.learned.task import TaskType
    from gitmem.model.session.outcome import Outcome

LETTER = "e"
UNMENDED = ": nothing mended it"  # ends the line of an error
REJECTED = "Rejected by the person: "  # begins the line of a result
_FEW_FILES, _MANY_FILES = 3, 6  # from which a task was of medium, of high complexity
_MANY = 3  # errors, and steps of a plan


class Episode(Value):
    """A finished task. `exchanges` are ids, `links` their lines; `tests` and `feedback` are "" where none were.

    `outcome` is None where nothing shows one.

    `steps` counts its tool calls, `failed` those that failed. `changes` are the person's corrections of course.
    `seconds` is the time that its turns took, `tokens` by how many the context grew in them, `mended_in` the seconds
    until its slowest error was mended; each 0 if unknown.
    """

    id: str
    session: str
    host: str
    created: datetime
    ended: datetime
    type: TaskType
    task: str
    outcome: Outcome | None
    exchanges: tuple[str, ...]
    links: tuple[str, ...] = ()
    tests: str = ""
    feedback: str = ""
    files: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    errors: tuple[ErrorSignature, ...] = ()
    steps: int = 0
    failed: int = 0
    tools: tuple[tuple[str, int], ...] = ()
    problem: str = ""
    solution: str = ""
    plan: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    gotchas: tuple[str, ...] = ()
    tips: tuple[str, ...] = ()
    seconds: int = 0
    tokens: int = 0
    mended_in: int = 0

    @property
    def complexity(self) -> str:
        """How much the task took, by its files, errors and changes of course: `low`, `medium` or `high`."""
        if len(self.files) >= _MANY_FILES or len(self.errors) >= _MANY or len(self.changes) > 1:
            return "high"
        taxing = len(self.files) >= _FEW_FILES or self.errors or self.changes or len(self.plan) > _MANY
        return "medium" if taxing else "low"


def episode_id(session: str, exchange: str) -> str:
    """Return the id of the episode that begins with an exchange; the same on every machine."""
    return kind_id(LETTER, session, tail_of(exchange))


def ending(episode: Episode) -> str:
    """Return the outcome of an episode in a word."""
    return episode.outcome.value if episode.outcome else "open"


def title_of(error: ErrorSignature) -> str:
    """Return an error on one line."""
    return ": ".join(filter(None, (error.type, error.message)))
