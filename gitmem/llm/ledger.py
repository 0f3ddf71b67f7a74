"""The ledger of questions: their cost today, and the daily limits.

It has a file for each day in the private folder; each line is one write. The estimated maximum of a question is written
before it is asked, its cost after the answer. A process voids its line if the lines before show that a limit would be
exceeded. So concurrent processes need no lock, and exceed a limit at most by the error of the last estimate. A question
whose process was killed counts with its maximum. Tested through `tests/archive/test_summarize.py`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from itertools import takewhile

from gitmem.config.values import SummaryConfig
from gitmem.errors import RefusedError
from gitmem.store.day_log import DayLog
from gitmem.store.store import Store
from gitmem.values import Value

LEDGER_FOLDER = "models"
_KEPT_DAYS = 60
_MAX_BYTES = 8_000_000  # of a day's file; a line has 200
_ABOUT = ("purpose", "subject", "provider", "model")  # fields of a question in its line
CENTS = 100


class SpentError(RefusedError):
    """A daily limit is reached; the message names it."""


class Spent(Value):
    """The cost of a question, or its estimated maximum; `dollars` is None if the price is unknown."""

    tokens: int = 0
    dollars: float | None = 0.0
    seconds: float = 0.0


class Asking(Value):
    """A question in the ledger: purpose, subject, provider and model. `ended` is None until it is answered."""

    number: str
    at: datetime
    purpose: str
    subject: str
    provider: str
    model: str
    spent: Spent
    ended: datetime | None = None
    failure: str = ""


class Day(Value):
    """The totals of a day; `unpriced` counts questions with an unknown price."""

    questions: int
    failures: int
    spent: Spent
    unpriced: int


class Ledger:
    """The ledger of one store, in its private folder."""

    def __init__(self, private: str, clock: Callable[[], datetime]) -> None:
        self.log = DayLog(os.path.join(private, LEDGER_FOLDER), _KEPT_DAYS, _MAX_BYTES)
        self._clock = clock

    def begin(self, asking: Asking, limits: SummaryConfig) -> Asking:
        """Record a question before it is asked; returns it with its number and time.

        Raises:
            SpentError: a limit of this day would be exceeded; the question must not be asked.
            OSError: it could not be recorded; the question must not be asked.
        """
        asking = asking._replace(number=os.urandom(8).hex(), at=self._clock())
        line = {"n": asking.number, "at": asking.at.isoformat(timespec="seconds")}
        self.log.add(asking.at, line | {name: getattr(asking, name) for name in _ABOUT} | asking.spent._asdict())
        before = takewhile(lambda request: request.number != asking.number, self._read([self.log.name_of(asking.at)]))
        spent = day_of([*before, asking]).spent
        for used, most, act in (
            (spent.tokens, limits.tokens_per_day, "read and write {:,} tokens"),
            ((spent.dollars or 0.0) * CENTS, limits.cents_per_day, "cost {:,} US cents"),
            (spent.seconds, limits.seconds_per_day, "work {:,} seconds"),
        ):
            if most and used > most:
                self.log.add(asking.at, {"n": asking.number, "void": True})
                remedy = "It goes on tomorrow; 'gitmem config' shows the limits."
                raise SpentError(f"Models may {act.format(most)} for one day.", remedy)
        return asking

    def end(self, asking: Asking, spent: Spent, model: str = "", failure: str = "") -> None:
        """Record the end of a question; if that fails, it counts with its estimated maximum."""
        line: dict[str, object] = {"n": asking.number, "end": self._clock().isoformat(timespec="seconds")}
        line |= {**spent._asdict(), "seconds": round(spent.seconds, 3)}
        line |= {key: value for key, value in (("model", model), ("failure", failure[:300])) if value}
        with contextlib.suppress(OSError):
            self.log.add(asking.at, line)

    def today(self) -> list[Asking]:
        """Return today's questions, in order."""
        return self._read([self.log.name_of(self._clock())])

    def every(self) -> list[Asking]:
        """Return the questions of all days that are kept, in order."""
        return self._read(self.log.names())

    def _read(self, names: Iterable[str]) -> list[Asking]:
        askings: dict[str, Asking] = {}
        for values in self.log.read(names):
            with contextlib.suppress(ValueError, TypeError, KeyError):
                number = str(values["n"])
                if values.get("void"):
                    askings.pop(number, None)
                elif "at" in values:
                    at = datetime.fromisoformat(str(values["at"]))
                    purpose, subject, provider, model = (str(values.get(name, "")) for name in _ABOUT)
                    askings[number] = Asking(number, at, purpose, subject, provider, model, _spent(values))
                elif number in askings:
                    asking = askings[number]
                    askings[number] = asking._replace(
                        ended=datetime.fromisoformat(str(values["end"])),
                        spent=_spent(values),
                        model=str(values.get("model") or asking.model),
                        failure=str(values.get("failure", "")),
                    )
        return list(askings.values())


def day_of(askings: Iterable[Asking]) -> Day:
    """Return the totals of these questions."""
    questions = list(askings)
    costs = [asking.spent for asking in questions]
    priced = [cost.dollars for cost in costs if cost.dollars is not None]
    spent = Spent(sum(cost.tokens for cost in costs), sum(priced), sum(cost.seconds for cost in costs))
    return Day(len(questions), sum(bool(asking.failure) for asking in questions), spent, len(questions) - len(priced))


def _spent(values: Mapping[str, object]) -> Spent:
    tokens, dollars, seconds = values.get("tokens"), values.get("dollars"), values.get("seconds")
    return Spent(
        tokens if isinstance(tokens, int) else 0,
        float(dollars) if isinstance(dollars, int | float) else None,
        float(seconds) if isinstance(seconds, int | float) else 0.0,
    )


def ledger(store: Store) -> Ledger:
    """Return the ledger of a store."""
    return Ledger(store.private, store.context.clock)


class Spending(Value):
    """What models cost today (see `Day`), and the limits of a day; 0 for no limit."""

    provider: str
    questions: int
    failures: int
    tokens: int
    dollars: float
    unpriced: int
    seconds: float
    most_tokens: int
    most_dollars: float
    most_seconds: int


def spending(store: Store) -> Spending:
    """Return today's cost of models for this store."""
    config, day = store.config.summary, day_of(ledger(store).today())
    about = config.provider, day.questions, day.failures, day.spent.tokens, round(day.spent.dollars or 0.0, 6)
    most = config.tokens_per_day, config.cents_per_day / CENTS, config.seconds_per_day
    return Spending(*about, day.unpriced, round(day.spent.seconds, 1), *most)
