"""Compare what a user said in a transcript with what the store has of it, at its import or end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from functools import cache

from gitmem.document.entry import find_by_digest
from gitmem.document.ids import daily_path, tail_of
from gitmem.history.origin import files_naming
from gitmem.model.exchange import Fields, split_fields
from gitmem.model.turns import Turn, is_restated
from gitmem.model.words import render_words
from gitmem.record.read import boot_lines, redacted
from gitmem.store.findings import FailureLog, LoggedFailure
from gitmem.store.store import Store
from gitmem.text.sentences import count
from gitmem.text.terminal import plain

_BOOT, _UNKNOWN = "a file that the agent loads itself", "not saved"
_DAYS = (timedelta(0), timedelta(days=-1), timedelta(days=1))  # a log may be that of another time zone
_COMPARED = 200  # characters of a text: long ones are shortened


def missing_words(store: Store, turns: Sequence[Turn]) -> Counter[str]:
    """Return how many messages of the user the day's logs lack, by reason; `turns` are those of a transcript."""
    boot, logs = boot_lines(store), cache(lambda path: (store.read(path) or b"").decode("utf-8", "replace"))
    missing: Counter[str] = Counter()
    for turn in (redacted(turn, store) for turn in turns):
        saved = next(
            filter(None, (find_by_digest(log, tail_of(turn.exchange_id)) for log in _logs(store, turn, logs))), None
        )
        fields = split_fields(saved.entry.text) if saved else Fields()
        if turn.prompt and not fields.request:
            missing[_BOOT if is_restated(turn.prompt, boot) else _UNKNOWN] += 1
        said = {_head(text) for text in fields.words}
        missing[_UNKNOWN] += sum(_head(render_words(word)) not in said for word in turn.words)
    return +missing


def _logs(store: Store, turn: Turn, read: Callable[[str], str]) -> Iterator[str]:
    """Yield the logs that may hold a turn: those around its day, then any, as a transcript's clock may be wrong."""
    yield from (read(daily_path((turn.started + days).strftime("%Y-%m-%d"))) for days in _DAYS)
    yield from (read(path) for path in files_naming(store, [turn.exchange_id]) if path.startswith("daily/"))


def _head(text: str) -> str:
    return " ".join(text.split())[:_COMPARED]


def note_missing(store: Store, path: str, turns: Sequence[Turn]) -> None:
    """Write into the log that `gitmem doctor` shows how many messages of a transcript the store lacks, and why."""
    missing = missing_words(store, turns)
    if missing:
        messages = count(sum(len(turn.words) + bool(turn.prompt) for turn in turns), "message")
        reasons = ", ".join(f"{number} {reason}" for reason, number in sorted(missing.items()))
        told = f"of {messages} of the user, {missing.total()} are not in the day's log ({reasons})."
        FailureLog(store.private).record_once(LoggedFailure(store.context.clock(), "words", f"{plain(path)}: {told}"))
