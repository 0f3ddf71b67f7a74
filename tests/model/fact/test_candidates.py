"""The facts that are compared with a new one."""

from datetime import UTC, datetime

from gitmem.model.fact.candidates import MOST, candidates
from gitmem.model.fact.fact import Fact, FactKind, make_fact

NOW = datetime(2026, 11, 1, tzinfo=UTC)


def rule(text: str) -> Fact:
    return make_fact(FactKind.RULE, text, NOW)


def test_facts_that_share_a_word_in_any_form_are_compared() -> None:
    facts = [rule("Logs are written by structlog."), rule("Deploy on Mondays."), rule("캐시를 끈다.")]
    assert candidates("Write logs with logging.", facts) == facts[:1]
    assert candidates("캐시는 켠다.", facts) == facts[2:]


def test_of_many_facts_those_that_share_the_rarest_words_are_compared() -> None:
    facts = [rule(f"Use part{number} for name{number:04}.") for number in range(2 * MOST)]
    wanted = rule("Use npm for installs.")
    found = candidates("Use pnpm, not npm, for installs.", [wanted, *facts])
    assert found[0] == wanted
    assert len(found) == MOST
