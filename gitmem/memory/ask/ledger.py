"""The ledger: the cost of models for a store, by day, and the limits of a day (spec R6).

An append-only file a day in the private folder; each line is one write. The estimated maximum of a question is written
before it is asked, its cost after the answer. A process that finds, by the lines before its own, that a limit is
exceeded voids its line. So concurrent processes need no lock, and exceed a limit at most by the error of the last
estimate. A question whose process was killed counts with its maximum.
"""

from __future__ import annotations

import contextlib
import json
import os
from datetime import datetime, timedelta

from gitmem.errors import RefusedError
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

FOLDER = "models"
_KEPT_DAYS = 60
_MAX_BYTES = 8_000_000  # of a day's file; a line has 200
_SUFFIX = ".jsonl"
_CENTS = 100


class SpentError(RefusedError):
    """A limit of the day is reached; the message says which."""


class DayLimits(Value):
    """The limits of a day: tokens, US cents and seconds; 0 for no limit."""

    tokens: int = 0
    cents: int = 0
    seconds: int = 0


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
    """The totals of a day; `unpriced` counts questions whose price is unknown."""

    questions: int
    failures: int
    spent: Spent
    unpriced: int


class Ledger:
    """The ledger of one store, in its private folder; `token` returns random bytes to identify a question."""

    def __init__(
        self, private: str, clock: Callable[[], datetime], token: Callable[[], bytes] = lambda: os.urandom(8)
    ) -> None:
        self._folder = os.path.join(private, FOLDER)
        self._clock = clock
        self._token = token

    def begin(self, asking: Asking, limits: DayLimits) -> Asking:
        """Record a question before it is asked; returns it with its number and time.

        Raises:
            SpentError: a limit of this day would be exceeded; the question must not be asked.
            OSError: it could not be recorded; the question must not be asked.

        """
        asking = asking._replace(number=self._token().hex(), at=self._clock())
        self._forget()
        self._write(asking.at, _begun(asking))
        before: list[Asking] = []
        for other in _read_file(self._path(asking.at)):
            if other.number == asking.number:
                break
            before.append(other)
        exceeded = _exceeded(day_of([*before, asking]).spent, limits)
        if exceeded:
            self._write(asking.at, {"n": asking.number, "void": True})
            raise SpentError(f"{exceeded} for one day.", "It goes on tomorrow; 'gitmem config' shows the limits.")
        return asking

    def end(self, asking: Asking, spent: Spent, model: str = "", failure: str = "") -> None:
        """Record the end of a question; if that fails, it counts with its estimated maximum."""
        line: dict[str, object] = {"n": asking.number, "end": self._clock().isoformat(timespec="seconds")}
        line |= _spent_value(spent)
        line |= {key: value for key, value in (("model", model), ("failure", failure[:300])) if value}
        with contextlib.suppress(OSError):
            self._write(asking.at, line)

    def today(self) -> list[Asking]:
        """Return today's questions, in order."""
        return _read_file(self._path(self._clock()))

    def every(self) -> list[Asking]:
        """Return the questions of all days that are kept, in order."""
        try:
            names = sorted(name for name in os.listdir(self._folder) if name.endswith(_SUFFIX))
        except OSError:
            return []
        return [asking for name in names for asking in _read_file(os.path.join(self._folder, name))]

    def _path(self, at: datetime) -> str:
        return os.path.join(self._folder, f"{at.date().isoformat()}{_SUFFIX}")

    def _write(self, at: datetime, line: Mapping[str, object]) -> None:
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(self._path(at), flags, 0o600)
        try:
            os.write(descriptor, json.dumps(line, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
        finally:
            os.close(descriptor)

    def _forget(self) -> None:
        """Remove the files of days older than `_KEPT_DAYS`."""
        oldest = (self._clock() - timedelta(days=_KEPT_DAYS)).date().isoformat()
        with contextlib.suppress(OSError):
            for name in os.listdir(self._folder):
                if name.endswith(_SUFFIX) and name.removesuffix(_SUFFIX) < oldest:
                    os.unlink(os.path.join(self._folder, name))


def _read_file(path: str) -> list[Asking]:
    """Return the questions of a day's file, in order; broken lines are passed over."""
    askings: dict[str, Asking] = {}
    try:
        with open(path, "rb") as file:
            lines = file.read(_MAX_BYTES).split(b"\n")
    except OSError:
        lines = []
    for line in lines:
        with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):
            values = json.loads(line)
            number = str(values["n"])
            if values.get("void"):
                askings.pop(number, None)
            elif "at" in values:
                askings[number] = _asking(number, values)
            elif number in askings:
                askings[number] = _ended(askings[number], values)
    return list(askings.values())


def day_of(askings: Iterable[Asking]) -> Day:
    """Return the totals of these questions."""
    questions = list(askings)
    priced = [asking.spent.dollars for asking in questions if asking.spent.dollars is not None]
    spent = Spent(
        sum(asking.spent.tokens for asking in questions), sum(priced), sum(asking.spent.seconds for asking in questions)
    )
    return Day(len(questions), sum(bool(asking.failure) for asking in questions), spent, len(questions) - len(priced))


def _exceeded(spent: Spent, limits: DayLimits) -> str:
    """Return a sentence about the limit that is exceeded, "" if none is."""
    if limits.tokens and spent.tokens > limits.tokens:
        return f"Models may read and write {limits.tokens:,} tokens"
    if limits.cents and (spent.dollars or 0.0) * _CENTS > limits.cents:
        return f"Models may cost {limits.cents:,} US cents"
    if limits.seconds and spent.seconds > limits.seconds:
        return f"Models may work {limits.seconds:,} seconds"
    return ""


def _begun(asking: Asking) -> dict[str, object]:
    return {
        "n": asking.number,
        "at": asking.at.isoformat(timespec="seconds"),
        "purpose": asking.purpose,
        "subject": asking.subject,
        "provider": asking.provider,
        "model": asking.model,
        **_spent_value(asking.spent),
    }


def _spent_value(spent: Spent) -> dict[str, object]:
    return {"tokens": spent.tokens, "dollars": spent.dollars, "seconds": round(spent.seconds, 3)}


def _asking(number: str, values: Mapping[str, object]) -> Asking:
    return Asking(
        number,
        datetime.fromisoformat(str(values["at"])),
        str(values.get("purpose", "")),
        str(values.get("subject", "")),
        str(values.get("provider", "")),
        str(values.get("model", "")),
        _spent(values),
    )


def _ended(asking: Asking, values: Mapping[str, object]) -> Asking:
    return asking._replace(
        ended=datetime.fromisoformat(str(values["end"])),
        spent=_spent(values),
        model=str(values.get("model") or asking.model),
        failure=str(values.get("failure", "")),
    )


def _spent(values: Mapping[str, object]) -> Spent:
    tokens, dollars, seconds = values.get("tokens"), values.get("dollars"), values.get("seconds")
    return Spent(
        tokens if isinstance(tokens, int) else 0,
        float(dollars) if isinstance(dollars, int | float) else None,
        float(seconds) if isinstance(seconds, int | float) else 0.0,
    )
