"""Two clones that learn the same end with one fact after a sync."""

from datetime import timedelta

import pytest

from gitmem.learn.facts import learn
from gitmem.model.turns import Turn
from gitmem.store.known_facts import known_facts

SAID = ("Always run the linter before committing.", "always use pnpm, not npm", "preference: vim as the editor")
AGAIN = (
    "please always run the linter before committing!",
    "Always use pnpm,  not npm",
    "Preference: vim as the editor.",
)


@pytest.mark.slow
def test_the_same_facts_of_two_sessions_are_one_after_a_sync(pair):
    paths = []
    for machine, hours, prompts in zip(pair, (0, 1), (SAID, AGAIN), strict=True):
        machine.now += timedelta(hours=hours)
        at = machine.clock()
        turns = [Turn(machine.name, "claude-code", text, at, at, text, "Done.", closed=True) for text in prompts]
        learn(machine.store, machine.name, "claude-code", turns)
        paths.append(sorted(fact.path for fact in known_facts(machine.reopen())))
    assert paths[0] == paths[1]
    for machine in (*pair, *pair):
        machine.sync()
        machine.reopen()
    assert len({machine.tip for machine in pair}) == 1
    for machine in pair:
        facts = known_facts(machine.reopen())
        assert sorted(fact.path for fact in facts) == paths[0]
        assert all(len(fact.sources) == 2 and not fact.review for fact in facts)
        assert all(fact.created.isoformat().startswith("2026-11-21T12:00") for fact in facts)
        [linter] = [fact for fact in facts if "linter" in fact.description]
        assert machine.read(linter.path).count("linter before") == 2
