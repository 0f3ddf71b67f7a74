"""What models cost: counted before and after, never beyond the limits, by however many processes at once."""

import multiprocessing
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitmem.config.values import SummaryConfig
from gitmem.llm.ledger import Asking, Ledger, Spent, SpentError, day_of

NO_LIMITS = SummaryConfig(seconds_per_day=0, tokens_per_day=0, cents_per_day=0)
NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now


def asking(tokens: int = 100, dollars: float | None = 0.01, subject: str = "archive/a.md") -> Asking:
    return Asking("", NOON, "summary", subject, "anthropic", "claude", Spent(tokens, dollars, 120.0))


@pytest.fixture
def ledger(tmp_path):
    private = tmp_path / "한 폴더"
    private.mkdir()
    return Ledger(str(private), Clock())


def test_a_question_counts_at_most_until_it_is_answered_and_then_as_it_was(ledger):
    begun = ledger.begin(asking(5_000, 0.5), NO_LIMITS)
    assert ledger.today() == [begun]
    assert day_of(ledger.today()).spent == Spent(5_000, 0.5, 120.0)
    ledger.end(begun, Spent(700, 0.02, 3.5), model="claude-haiku")
    day = day_of(ledger.today())
    assert (day.questions, day.failures, day.spent, day.unpriced) == (1, 0, Spent(700, 0.02, 3.5), 0)
    assert ledger.today()[0].model == "claude-haiku"
    assert ledger.today()[0].ended == NOON


def test_a_failure_is_told_and_an_unknown_price_is_one(ledger):
    ledger.end(ledger.begin(asking(dollars=None), NO_LIMITS), Spent(10, None, 1.0), failure="429 없음\x00")
    day = day_of(ledger.today())
    assert (day.questions, day.failures, day.unpriced, day.spent.dollars) == (1, 1, 1, 0)


@pytest.mark.parametrize(
    "limits, words",
    [
        (NO_LIMITS._replace(tokens_per_day=150), "150 tokens"),
        (NO_LIMITS._replace(cents_per_day=1), "1 US cents"),
        (NO_LIMITS._replace(seconds_per_day=200), "200 seconds"),
    ],
)
def test_no_question_passes_a_limit_and_one_that_is_not_asked_costs_nothing(ledger, limits, words):
    first = ledger.begin(asking(), limits)
    with pytest.raises(SpentError, match=words):
        ledger.begin(asking(), limits)
    assert ledger.today() == [first]
    ledger.end(first, Spent(1, 0.0001, 1.0))
    ledger.begin(asking(), limits._replace(cents_per_day=limits.cents_per_day and 2))


def test_without_limits_there_are_none(ledger):
    for _ in range(5):
        ledger.begin(asking(10**9, 10**6), NO_LIMITS)
    assert day_of(ledger.today()).spent == Spent(5 * 10**9, 5 * 10**6, 600.0)


def test_damaged_lines_count_for_nothing(ledger):
    begun = ledger.begin(asking(), NO_LIMITS)
    with open(os.path.join(ledger.log.folder, ledger.log.name_of(NOON)), "ab") as file:
        file.write(b'\xff\xfe{"n": 3}\n[]\n{"n": "x", "at": 5}\n{"n": "y", "end": null}\n{"at')
    assert ledger.today() == [begun]


def test_a_ledger_that_cannot_be_written_lets_nothing_be_asked(tmp_path):
    Path(tmp_path, "models").write_text("a file in its place")
    with pytest.raises(OSError):
        Ledger(str(tmp_path), Clock()).begin(asking(), NO_LIMITS)
    assert Ledger(str(tmp_path), Clock()).today() == []


def _ask(private: str, times: int, results: multiprocessing.Queue) -> None:
    ledger, done = Ledger(private, Clock()), 0
    for _ in range(times):
        try:
            ledger.end(ledger.begin(asking(100), NO_LIMITS._replace(tokens_per_day=2_000)), Spent(100, 0.01, 0.1))
            done += 1
        except SpentError:
            pass
    results.put(done)


@pytest.mark.slow
def test_processes_that_ask_at_once_do_not_pass_a_limit_together(tmp_path):
    context = multiprocessing.get_context("spawn")
    results: multiprocessing.Queue = context.Queue()
    workers = [context.Process(target=_ask, args=(str(tmp_path), 15, results)) for _ in range(4)]
    for worker in workers:
        worker.start()
    done = sum(results.get(timeout=60) for _ in workers)
    for worker in workers:
        worker.join(30)
    assert done <= 20
    assert done >= 17  # each of the others may have had a question under way when it was refused
    assert day_of(Ledger(str(tmp_path), Clock()).today()).spent.tokens == done * 100
