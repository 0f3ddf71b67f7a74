"""Two machines of one user: whatever turnover there is, every sync goes through and loses nothing."""

import contextlib
import random

import pytest

from gitmem.archive.rotate import check
from gitmem.document.entry import MemoryType
from gitmem.errors import RefusedError
from gitmem.record.fact_edits import find_fact, retire
from gitmem.store.known_facts import known_facts
from tests.world import Machine

MANY = 100  # rounds, after which memory.md was full once
ROTATES_SOON = "rotation:\n  threshold_tokens: 400\n  carryover_tokens: 80\nmaintenance:\n  automatic: false\n"
WORDS = (
    "oven",
    "bakery",
    "flour",
    "ledger",
    "invoice",
    "cents",
    "parser",
    "queue",
    "backup",
    "export",
    "locale",
    "batch",
)


class Walk:
    """A walk of two machines by chance; `retired` are the ids of facts that a machine retired."""

    def __init__(self, machines: tuple[Machine, Machine], seed: int) -> None:
        self.machines, self.random, self.number = machines, random.Random(seed), 0
        self.facts: set[str] = set()
        self.retired: set[str] = set()
        self.notes: set[str] = set()

    def step(self) -> None:
        each = self.random.choice(self.machines)
        act = self.random.choice([self.fact, self.fact, self.note, self.retire, self.edit, self.jot, self.rotate])
        act(each)
        if self.random.random() < 0.6:
            each.sync()

    def words(self) -> str:
        self.number += 1
        return f"{' '.join(self.random.sample(WORDS, 5))}, number {self.number}"

    def fact(self, each: Machine) -> None:
        each.save(f"We decided for the {self.words()}", MemoryType.DECISION)
        self.facts |= {fact.id for fact in known_facts(each.store)}

    def note(self, each: Machine) -> None:
        self.notes.add(text := f"Saw the {self.words()}")
        each.save(text)

    def retire(self, each: Machine) -> None:
        """Retire up to three facts at once: of a small memory that is most of it."""
        standing = [fact.id for fact in known_facts(each.store) if fact.binds]
        for name in self.random.sample(standing, min(len(standing), self.random.randint(1, 3))):
            retire(each.store, find_fact(each.store, name), "no longer")
            self.retired.add(name)

    def edit(self, each: Machine) -> None:
        """Change the words of a fact by hand."""
        if facts := [fact for fact in known_facts(each.store) if fact.binds]:
            path = self.random.choice(facts).path
            text = each.read(path)
            self.notes.add(line := f"By hand, of the {self.words()}.")
            each.write(path, f"{text.rstrip()}\n\n{line}\n")

    def jot(self, each: Machine) -> None:
        """Write a page by hand, or take half of it out again."""
        path = f"knowledge/{self.random.choice('ab')}.md"
        lines = each.read(path).splitlines() if (each.root / path).exists() else []
        if len(lines) > 6:
            self.notes -= set(lines[len(lines) // 2 :])
            each.write(path, "\n".join(lines[: len(lines) // 2]) + "\n")
        else:
            each.write(path, "\n".join([*(lines or ["# A page", ""]), f"Of the {self.words()}."]) + "\n")

    def rotate(self, each: Machine) -> None:
        with contextlib.suppress(RefusedError):
            check(each.store)

    def converge(self) -> None:
        for each in (*self.machines, *self.machines):
            each.sync()
        assert len({each.tip for each in self.machines}) == 1
        for each in self.machines:
            each.sound()


def test_three_of_four_facts_retired_on_the_users_other_machine_are_no_suspicion(pair):
    first, second = pair
    for word in ("oven", "ledger", "parser", "queue"):
        first.save(f"We decided that the {word} is made in one piece, for the sake of the bakery", MemoryType.DECISION)
    first.sync()
    second.sync()
    for fact in known_facts(second.store)[:3]:
        retire(second.store, find_fact(second.store, fact.id), "no longer")
        second.sync()
        first.sync()
    assert sum(fact.binds for fact in known_facts(first.store)) == 1


@pytest.mark.parametrize("seed, rounds", [(1, 12), pytest.param(2, 200, marks=pytest.mark.slow)])
def test_turnover_of_one_users_two_machines_is_refused_nowhere(pair, seed, rounds):
    first, _ = pair
    first.configure(ROTATES_SOON)
    walk = Walk(pair, seed)
    for _ in range(rounds):
        walk.step()
    walk.converge()
    facts = {fact.id: fact for fact in known_facts(first.store)}
    assert walk.facts <= facts.keys()
    assert not [name for name in walk.retired if facts[name].binds]
    said = "".join(path.read_text(encoding="utf-8") for path in first.root.rglob("*.md"))
    assert [text for text in walk.notes if text not in said] == []
    assert rounds < MANY or [*(first.root / "archive").glob("*.md")], "memory.md was full"
