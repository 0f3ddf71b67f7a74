"""Whatever people do to facts on two machines, no view says in force what does not hold, and nothing is lost."""

import tempfile
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from gitmem.document.entry import MemoryType, find_entries
from gitmem.document.ids import is_fact_id
from gitmem.errors import GitmemError
from gitmem.history.undo import undo
from gitmem.learn.facts import keep_turn
from gitmem.model.turns import Turn
from gitmem.model.validity import fact_statuses
from gitmem.record.capture import capture_turn
from gitmem.record.fact_edits import confirm, edit, retire, supersede_fact
from gitmem.store.known_facts import known_facts
from gitmem.store.transact import transact
from tests.started import session_start
from tests.world import Machine, make_machines

TEXTS = ("Use alpha for caching.", "Use bravo for caching.", "Deploys go by charlie.", "The delta importer is slow.")
SAID = ("Decision: juliett for the queue.", "Please rename the old handler.")
KINDS = {TEXTS[3]: MemoryType.ISSUE}
NEW = ("echo", "foxtrot", "golf")
CLONES = st.integers(0, 1)


class FactsMachine(RuleBasedStateMachine):
    """Two clones of a memory, and everything that was ever said in either."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="gitmem-")
        self.clones = make_machines(Path(self.folder.name).resolve(), "one", "other")
        for number in range(12):  # a sync does not remove most of a small memory unasked
            self.clones[0].save(f"Note {number} of the plan, which stays as it is while others come and go.")
        for clone in (*self.clones, *self.clones):
            clone.sync()
        self.said: set[str] = set()

    def chosen(self, clone: Machine, data: st.DataObject):
        facts = known_facts(clone.store)
        return data.draw(st.sampled_from(facts)) if facts else None

    def moved(self, number: int) -> Machine:
        clone = self.clones[number]
        clone.now = max(one.now for one in self.clones) + timedelta(minutes=1)
        clone.reopen()
        return clone

    @rule(number=CLONES, text=st.sampled_from(TEXTS))
    def save(self, number: int, text: str) -> None:
        self.said.add(self.moved(number).save(text, KINDS.get(text, MemoryType.DECISION)).id)

    @rule(number=CLONES, text=st.sampled_from(SAID))
    def say(self, number: int, text: str) -> None:
        clone = self.moved(number)
        turn = Turn("s-1", "claude-code", f"t-{clone.now}", clone.now, clone.now, text, "It is done.", closed=True)
        transact(
            clone.store, lambda transaction: capture_turn(transaction, clone.store, turn, (), keep_turn), purpose="test"
        )

    @rule(number=CLONES, data=st.data(), act=st.sampled_from(["retire", "edit", "confirm", "supersede"]))
    def act(self, number: int, data: st.DataObject, act: str) -> None:
        clone = self.moved(number)
        if (fact := self.chosen(clone, data)) is None:
            return
        if act == "retire":
            retire(clone.store, fact, "")
        elif act == "edit":
            edit(clone.store, fact, f"Use {data.draw(st.sampled_from(NEW))} now.")
        elif act == "confirm":
            confirm(clone.store, fact)
        elif (winner := self.chosen(clone, data)).id != fact.id:
            supersede_fact(clone.store, fact, winner)

    @rule(number=CLONES, data=st.data(), how=st.sampled_from(["strike", "delete", "reword"]))
    def edit_a_line(self, number: int, data: st.DataObject, how: str) -> None:
        clone = self.moved(number)
        text = clone.read("memory.md")
        lines = [found for found in find_entries(text) if is_fact_id(found.entry.id)]
        if not lines:
            return
        found = data.draw(st.sampled_from(lines))
        line = text[found.start : found.end]
        first = found.entry.text.split("\n")[0]
        new = {"strike": line.replace(first, f"~~{first}~~"), "delete": "", "reword": line.replace(first, "By hotel.")}
        clone.write("memory.md", text[: found.start] + new[how] + text[found.end :])
        clone.settle()

    @rule(number=CLONES, data=st.data(), status=st.sampled_from(["active", "retired"]))
    def edit_a_file(self, number: int, data: st.DataObject, status: str) -> None:
        clone = self.moved(number)
        if (fact := self.chosen(clone, data)) is None:
            return
        clone.write(fact.path, clone.read(fact.path).replace(f"status: {fact.status.value}", f"status: {status}"))
        clone.settle()

    @precondition(lambda self: self.said)
    @rule(number=CLONES)
    def undo(self, number: int) -> None:
        clone = self.moved(number)
        before = known_facts(clone.store)
        try:
            undo(clone.store)
        except GitmemError:  # something later builds on it; nothing was done
            return
        self.said -= {fact.id for fact in before} - {fact.id for fact in known_facts(clone.store)}

    @rule()
    def meet(self) -> None:
        for clone in (*self.clones, *self.clones):
            clone.sync()
        assert self.clones[0].text("memory.md") == self.clones[1].text("memory.md")

    @invariant()
    def no_view_says_in_force_what_is_not(self) -> None:
        for clone in self.clones:
            facts = known_facts(clone.store)
            statuses = fact_statuses(facts)
            text = clone.text("memory.md")
            lines = {found.entry.id: found.entry.text for found in find_entries(text)}
            states = [line for line in text.splitlines() if "**State**" in line]
            in_force = {fact.description for fact in facts if statuses[fact.id].is_in_force}
            told = session_start(clone.store, (), None, ())
            for fact in facts:
                data = clone.text(fact.path)
                if fact.id in lines:
                    assert statuses[fact.id].is_in_force, fact
                    assert data.endswith(f"---\n{lines[fact.id]}\n"), "the line says what the fact says"
                elif not statuses[fact.id].is_in_force and fact.description not in in_force:
                    assert f"{fact.description} (" not in told.replace(f"by: {fact.description} (", "")
                    lines_with_it = [one for one in (*told.splitlines(), *states) if fact.description[:-1] in one]
                    assert all(statuses[fact.id].standing in line for line in lines_with_it), fact

    @invariant()
    def nothing_of_history_is_lost(self) -> None:
        there = {fact.id for clone in self.clones for fact in known_facts(clone.store)}
        assert self.said <= there
        for clone in self.clones:
            days = "".join(path.read_text("utf-8") for path in clone.root.glob("daily/*/*/*.md"))
            for fact in known_facts(clone.store):
                again = len(fact.sources) > 1  # if the first saying was undone elsewhere, the fact alone has the second
                undone = not fact.text  # elsewhere, while it was ended here: the merge keeps that it has ended
                assert again or undone or any(f"^{one}" in days for one in (fact.id, *fact.sources)), fact

    def teardown(self) -> None:
        self.folder.cleanup()


TestFacts = FactsMachine.TestCase
TestFacts.settings = settings(max_examples=2, stateful_step_count=6, deadline=None)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.timeout(900)
class TestManyFacts(FactsMachine.TestCase):
    """The same, for longer."""

    settings = settings(max_examples=40, stateful_step_count=16, deadline=None)
