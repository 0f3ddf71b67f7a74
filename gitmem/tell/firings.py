"""Which rules fired at a tool call, and whether the call was made all the same (a file of the private folder)."""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter
from collections.abc import Iterable

from gitmem.platform.machine import datetime
from gitmem.platform.safe_open import read_text
from gitmem.values import Value

_FILE = "firings.jsonl"
_LARGEST = 1 << 20  # bytes, after which the older half goes
OFTEN_IGNORED = 3  # times, more often than it was obeyed, after which a rule is offered for review


class Firing(Value):
    """A rule that fired at a call: when, in which session, the rule's id, what names the call."""

    at: datetime
    session: str
    rule: str
    call: str
    made: bool = False


class Counted(Value):
    """How often a rule fired, and how often the call was made all the same."""

    fired: int = 0
    ignored: int = 0

    @property
    def obeyed(self) -> int:
        """How often the call was not made."""
        return self.fired - self.ignored

    @property
    def is_ignored(self) -> bool:
        """Whether the rule is ignored so often that the user should look at it."""
        return self.ignored >= OFTEN_IGNORED and self.ignored > self.obeyed


def firings(private: str) -> list[Firing]:
    """Return what fired, the oldest first; lines of another form are passed over."""
    found: list[Firing] = []
    made: set[tuple[str, str]] = set()
    for line in read_text(os.path.join(private, _FILE)).splitlines():
        with contextlib.suppress(ValueError, KeyError, TypeError):
            row = json.loads(line)
            if row.get("made"):
                made.add((row["session"], row["call"]))
            else:
                found.append(Firing(datetime.fromisoformat(row["at"]), row["session"], row["rule"], row["call"]))
    return [firing._replace(made=(firing.session, firing.call) in made) for firing in found]


def note_firing(private: str, firing: Firing) -> None:
    """Record that a rule fired."""
    row = {"at": firing.at.isoformat(), "session": firing.session, "rule": firing.rule, "call": firing.call}
    _append(private, [json.dumps(row)])


def note_made(private: str, calls: Iterable[tuple[str, str]]) -> None:
    """Record the calls that were made, given by session and key, as far as a rule fired at them."""
    path = os.path.join(private, _FILE)
    if os.path.exists(path):
        open_calls = {(firing.session, firing.call) for firing in firings(private) if not firing.made}
        rows = dict.fromkeys(call for call in calls if call in open_calls)
        _append(private, [json.dumps({"made": True, "session": session, "call": call}) for session, call in rows])


def firings_by_rule(private: str) -> dict[str, Counted]:
    """Return how often each rule fired and was ignored, by its id."""
    found = firings(private)
    fired, ignored = Counter(firing.rule for firing in found), Counter(firing.rule for firing in found if firing.made)
    return {rule: Counted(number, ignored[rule]) for rule, number in fired.items()}


def _append(private: str, lines: list[str]) -> None:
    path = os.path.join(private, _FILE)
    with contextlib.suppress(OSError):
        if os.path.exists(path) and os.path.getsize(path) > _LARGEST:
            kept = read_text(path).splitlines()
            with open(path, "w", encoding="utf-8") as file:
                file.write("".join(f"{line}\n" for line in kept[len(kept) // 2 :]))
        with open(path, "a", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))
