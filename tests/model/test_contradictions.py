"""Two sessions that say different things of one subject: noticed, told newest first, or ended at once (issue of V6)."""

from datetime import timedelta
from pathlib import Path

import pytest

from gitmem.background import do_upkeep
from gitmem.document.entry import MemoryType
from gitmem.learn.facts import learn
from gitmem.model.fact import FactKind, make_fact, render_fact
from gitmem.model.turns import Turn
from gitmem.model.validity import in_force, what_holds
from gitmem.record.fact_edits import Holds, decide, waiting_pairs
from gitmem.record.save import save
from gitmem.store.known_facts import known_facts
from gitmem.store.store import Store
from tests.started import session_start


def session(desk, number: int, prompt: str, *, days: int = 1) -> None:
    desk.clock.now += timedelta(days=days)
    at = desk.clock.now
    desk.store = Store(desk.store.root, desk.store.context)
    learn(desk.store, f"s-{number}", "claude-code", [Turn("s", "claude-code", prompt, at, at, prompt, "Done.")])


def facts(desk):
    return {fact.description: fact for fact in known_facts(desk.store)}


def held(desk) -> set[str]:
    return {fact.description for fact in in_force(known_facts(desk.store))}


@pytest.mark.parametrize(
    "older, newer",
    [
        ("Always use tabs for indentation.", "Always use spaces for indentation."),
        ("Use Redis for the session cache.", "Use Memcached for the session cache."),
        ("Use pnpm, not npm.", "Use uv, not pnpm."),
        ("들여쓰기는 항상 탭을 사용한다.", "들여쓰기는 항상 스페이스를 사용한다."),
    ],
)
def test_of_two_decisions_the_newer_is_told_with_what_held_before(desk, older, newer):
    save(desk.store, desk.save(older, MemoryType.DECISION))
    before = desk.clock.now
    desk.clock.now += timedelta(days=1)
    save(desk.store, desk.save(newer, MemoryType.DECISION))
    found = facts(desk)
    assert found[older].review == (found[newer].id,)
    assert found[newer].review == (found[older].id,)
    told = session_start(Store(desk.store.root, desk.store.context), (), None, ())
    assert f"(decision; since {desk.clock.now:%Y-%m-%d}, before: {older} ({before:%Y-%m-%d})" in told


@pytest.mark.parametrize(
    "older, newer",
    [
        ("Always use tabs for indentation.", "Always use spaces for indentation."),
        ("We decided to use Redis for the session cache.", "We decided to use Memcached for the session cache."),
        ("들여쓰기는 항상 탭을 사용한다.", "들여쓰기는 항상 스페이스를 사용한다."),
        ("Always squash commits before merging.", "Never squash commits before merging."),
    ],
)
def test_of_two_rules_of_the_person_the_newer_replaces_the_older(desk, older, newer):
    session(desk, 1, older)
    session(desk, 2, newer)
    assert held(desk) == {newer}
    status = what_holds(known_facts(desk.store))[facts(desk)[older].id]
    assert (status.standing, status.successor) == ("superseded", facts(desk)[newer].id)
    session(desk, 3, older)
    assert held(desk) == {newer}, "a session that is learned again brings nothing back"


@pytest.mark.parametrize(
    "older, newer",
    [
        ("Always use Redis for the session cache.", "We no longer use Redis for the session cache."),
        ("Always use Flyway for migrations.", "We switched from Flyway to Liquibase for migrations."),
        ("항상 빌드는 npm으로 한다.", "앞으로 빌드는 npm 대신 pnpm을 쓰자."),
    ],
)
def test_a_statement_of_change_ends_what_it_changes_at_once(desk, older, newer):
    session(desk, 1, older)
    session(desk, 2, "Always use Redis for the job queue.")
    session(desk, 3, newer)
    assert held(desk) == {newer, "Always use Redis for the job queue."}
    status = what_holds(known_facts(desk.store))[facts(desk)[older].id]
    assert (status.standing, status.successor) == ("superseded", facts(desk)[newer].id)
    assert status.since == facts(desk)[newer].created
    assert not any(fact.review for fact in known_facts(desk.store))
    assert older not in session_start(desk.store, (), None, ())


def test_a_recorded_session_that_is_read_later_ends_nothing_newer(desk):
    queue, change = "We always use Redis for the job queue.", "From now on, replace Redis with RabbitMQ."
    session(desk, 1, change, days=10)
    session(desk, 2, queue, days=-5)
    assert held(desk) == {change}
    session(desk, 3, "We always use Redis for the session cache.", days=30)
    assert held(desk) == {"We always use Redis for the session cache."}
    session(desk, 4, "From now on, replace Redis with Valkey.", days=-20)
    assert "We always use Redis for the session cache." in held(desk)


def by_hand(desk, text: str) -> None:
    """Write a fact's file as a sync or a person does."""
    fact = make_fact(FactKind.RULE, text, desk.clock.now)
    path = Path(desk.store.root, fact.path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(render_fact(fact))


def test_facts_that_came_by_a_sync_are_compared_once(desk):
    session(desk, 1, "Always use tabs for indentation.")
    desk.clock.now += timedelta(days=1)
    by_hand(desk, "Always use spaces for indentation.")
    do_upkeep(desk.store, lambda: False)
    [pair] = waiting_pairs(desk.store)
    assert pair.newer.description == "Always use spaces for indentation."
    decide(desk.store, pair, Holds.BOTH)
    tip = desk.store.tip
    do_upkeep(desk.store, lambda: False)
    Path(desk.store.private, "known", "noticed").unlink()  # as on another machine
    do_upkeep(desk.store, lambda: False)
    assert waiting_pairs(desk.store) == []
    assert desk.store.tip == tip


def test_a_statement_of_change_from_elsewhere_ends_what_it_changes(desk):
    session(desk, 1, "Always use Redis for the session cache.")
    desk.clock.now += timedelta(days=1)
    by_hand(desk, "We no longer use Redis for the session cache.")
    do_upkeep(desk.store, lambda: False)
    assert held(desk) == {"We no longer use Redis for the session cache."}


def test_facts_of_one_form_about_different_subjects_are_told_side_by_side(desk):
    """Four of one form made six contradictions, and the start told one with the others as its earlier versions."""
    names = ("mail", "search", "billing", "결제")
    form = "Always keep the configuration of the {0} service in {0}.toml, and read it once."
    for number, name in enumerate(names):
        session(desk, number, form.format(name))
        by_hand(desk, f"{name} 로그는 항상 var/{name}에 쓴다.")
    desk.store = Store(desk.store.root, desk.store.context)
    do_upkeep(desk.store, lambda: False)
    assert len(held(desk)) == 2 * len(names)
    assert waiting_pairs(desk.store) == []
    told = session_start(desk.store, (), None, ())
    assert "before:" not in told
    assert all(f"- {text} " in told for text in held(desk))
