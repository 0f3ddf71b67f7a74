"""What models have cost today, and may cost."""

from __future__ import annotations

from gitmem.llm.ask import CENTS, day_of, ledger
from gitmem.store.store import Store
from gitmem.values import Value


class Spending(Value):
    """What models cost today (see `gitmem.llm.ask.Day`), and the limits of a day; 0 for no limit."""

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
