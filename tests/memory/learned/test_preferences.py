"""Preferences, and rules that are corrected again, go into the person's own store (spec M3)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from gitmem.memory.facts.edit import retire
from gitmem.memory.facts.learn import learn
from gitmem.memory.learned.preferences import learn_preferences
from gitmem.model.fact.holds import in_force
from gitmem.model.session.turns import Turn
from gitmem.store.headers.facts import known_facts
from gitmem.store.setup.init import Place, init_store
from gitmem.store.store import Store, own_store


@pytest.fixture
def own(desk, tmp_path) -> Store:
    home = tmp_path / "somebody's home"
    home.mkdir()
    desk.store = Store(desk.store.root, desk.store.context._replace(home=str(home)))
    desk.store.acceptance.give(())
    init_store(str(home), desk.store.context, Place.USER)
    found = own_store(desk.store)
    assert found is not None
    return found


def said(desk, session: str, *prompts: str) -> None:
    """Have a session end in which a person said this."""
    desk.clock.now += timedelta(hours=1)
    at = desk.clock.now
    desk.store = Store(desk.store.root, desk.store.context)
    turns = [Turn(session, "h", f"t{number}", at, at, text, closed=True) for number, text in enumerate(prompts)]
    learn(desk.store, session, "h", turns)
    learn_preferences(desk.store, session, "h", turns)


def held(own: Store) -> set[str]:
    return {fact.description for fact in in_force(known_facts(Store(own.root, own.context)))}


def test_what_a_person_prefers_is_known_everywhere(desk, own):
    said(desk, "s-1", "My editor is vim. Fix the bug.", "항상 한국어로 답해줘", "I told you, never use emojis.")
    assert held(own) == {"My editor is vim.", "항상 한국어로 답해줘.", "Never use emojis."}
    tip = Store(own.root, own.context).tip
    said(desk, "s-1", "My editor is vim. Fix the bug.")
    assert Store(own.root, own.context).tip == tip


def test_a_rule_is_the_persons_when_it_is_said_in_a_second_session(desk, own):
    said(desk, "s-1", "In general, ask before you rename a function.", "In general, ask before you rename a function.")
    assert held(own) == set()
    said(desk, "s-2", "In general, ask before you rename a function.")
    assert held(own) == {"In general, ask before you rename a function."}


@pytest.mark.parametrize(
    "rule",
    [
        "Always run `make lint` before committing.",
        "Never edit app/a.py by hand.",
        "Money must be stored as integer cents, never floats.",
        "Never log the access token.",
        "We use pnpm workspaces; never run npm install in this repo.",
        "Every public function needs a docstring.",
        "Commits should always reference a ticket.",
        "배포는 항상 금요일 오전에만 한다.",
    ],
)
def test_what_is_of_the_project_stays_there(desk, own, rule):
    said(desk, "s-1", rule)
    said(desk, "s-2", rule)
    assert held(own) == set()
    assert held(desk.store)


def test_what_was_retired_is_not_learned_again(desk, own):
    said(desk, "s-1", "My editor is vim.")
    [fact] = known_facts(Store(own.root, own.context))
    retire(Store(own.root, own.context), fact, "No more.")
    said(desk, "s-2", "My editor is vim.")
    assert held(own) == set()


def test_without_a_store_of_the_persons_own_the_project_keeps_it(desk):
    said(desk, "s-1", "My editor is vim.")
    assert held(desk.store) == {"My editor is vim."}
