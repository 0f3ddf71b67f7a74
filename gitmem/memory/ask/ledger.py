"""What asking models cost a store, day by day, and the limits of a day (spec R6; docs/format.md, Models).

A file a day in the private folder, to which lines are only ever added, each in one write. What a question may cost at
most is written down before it is asked, and what it did cost after it was answered; whoever finds, by the lines before
its own, that a limit is passed takes its line back. So processes that ask at once need no lock, and together never pass
a limit by more than the last question's own error of estimate. A question whose asker was killed counts at most.
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
_MOST_BYTES = 8_000_000  # of a day; a line has two hundred
_SUFFIX = ".jsonl"
_CENTS = 100


class SpentError(RefusedError):
    """What may be spent in a day is spent; the message says of what."""


class Limits(Value):
    """What may be spent in a day: tokens, US cents and seconds; 0 stands for any amount."""

    tokens: int = 0
    cents: int = 0
    seconds: int = 0


class Spent(Value):
    """What a question took, or may take at most; `dollars` is None where no price is known."""

    tokens: int = 0
    dollars: float | None = 0.0
    seconds: float = 0.0


class Asking(Value):
    """A question in the ledger: what for, about what, and of whom. `ended` is None while it may still be answered."""

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
    """What a day came to; `unpriced` counts questions whose price is not known."""

    questions: int
    failures: int
    spent: Spent
    unpriced: int


class Ledger:
    """The ledger of one store, by its private folder; `token` makes what tells two questions apart."""

    def __init__(
        self, private: str, clock: Callable[[], datetime], token: Callable[[], bytes] = lambda: os.urandom(8)
    ) -> None:
        self._folder = os.path.join(private, FOLDER)
        self._clock = clock
        self._token = token

    def begin(self, asking: Asking, limits: Limits) -> Asking:
        """Write down that something is about to be asked; returns it with its number and time.

        Raises:
            SpentError: a limit of this day would be passed; nothing may be asked.
            OSError: it could not be written, and nothing may be asked that nobody counts.

        """
        asking = asking._replace(number=self._token().hex(), at=self._clock())
        self._forget()
        self._write(asking.at, _begun(asking))
        before: list[Asking] = []
        for other in self._read(asking.at):
            if other.number == asking.number:
                break
            before.append(other)
        passed = _passed(day_of([*before, asking]).spent, limits)
        if passed:
            # Not asked, so that it does not count either.
            self._write(asking.at, {"n": asking.number, "void": True})
            raise SpentError(f"{passed} for one day.", "It goes on tomorrow; 'gitmem config' shows the limits.")
        return asking

    def end(self, asking: Asking, spent: Spent, model: str = "", failure: str = "") -> None:
        """Write down how it ended; where that is not possible it goes on counting as what it might have cost."""
        said: dict[str, object] = {"n": asking.number, "end": self._clock().isoformat(timespec="seconds")}
        said |= _spent_value(spent)
        said |= {key: value for key, value in (("model", model), ("failure", failure[:300])) if value}
        with contextlib.suppress(OSError):
            self._write(asking.at, said)

    def today(self) -> list[Asking]:
        """Return what was asked today, in order."""
        return self._read(self._clock())

    def _path(self, at: datetime) -> str:
        return os.path.join(self._folder, f"{at.date().isoformat()}{_SUFFIX}")

    def _write(self, at: datetime, said: Mapping[str, object]) -> None:
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(self._path(at), flags, 0o600)
        try:
            os.write(descriptor, json.dumps(said, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
        finally:
            os.close(descriptor)

    def _read(self, at: datetime) -> list[Asking]:
        found: dict[str, Asking] = {}
        try:
            with open(self._path(at), "rb") as file:
                lines = file.read(_MOST_BYTES).split(b"\n")
        except OSError:
            lines = []
        for line in lines:
            with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):
                said = json.loads(line)
                number = str(said["n"])
                if said.get("void"):
                    found.pop(number, None)
                elif "at" in said:
                    found[number] = _asking(number, said)
                elif number in found:
                    found[number] = _ended(found[number], said)
        return list(found.values())

    def _forget(self) -> None:
        """Remove the files of days long gone."""
        oldest = (self._clock() - timedelta(days=_KEPT_DAYS)).date().isoformat()
        with contextlib.suppress(OSError):
            for name in os.listdir(self._folder):
                if name.endswith(_SUFFIX) and name.removesuffix(_SUFFIX) < oldest:
                    os.unlink(os.path.join(self._folder, name))


def day_of(askings: Iterable[Asking]) -> Day:
    """Return what some questions came to together."""
    found = list(askings)
    priced = [one.spent.dollars for one in found if one.spent.dollars is not None]
    spent = Spent(sum(one.spent.tokens for one in found), sum(priced), sum(one.spent.seconds for one in found))
    return Day(len(found), sum(bool(one.failure) for one in found), spent, len(found) - len(priced))


def _passed(spent: Spent, limits: Limits) -> str:
    """Say which limit is passed, "" where none is."""
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


def _asking(number: str, said: Mapping[str, object]) -> Asking:
    return Asking(
        number,
        datetime.fromisoformat(str(said["at"])),
        str(said.get("purpose", "")),
        str(said.get("subject", "")),
        str(said.get("provider", "")),
        str(said.get("model", "")),
        _spent(said),
    )


def _ended(asking: Asking, said: Mapping[str, object]) -> Asking:
    return asking._replace(
        ended=datetime.fromisoformat(str(said["end"])),
        spent=_spent(said),
        model=str(said.get("model") or asking.model),
        failure=str(said.get("failure", "")),
    )


def _spent(said: Mapping[str, object]) -> Spent:
    tokens, dollars, seconds = said.get("tokens"), said.get("dollars"), said.get("seconds")
    return Spent(
        tokens if isinstance(tokens, int) else 0,
        float(dollars) if isinstance(dollars, int | float) else None,
        float(seconds) if isinstance(seconds, int | float) else 0.0,
    )
