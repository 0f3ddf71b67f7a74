"""What one author or session brought goes out of history, here and on every clone; the others' memories stay."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitmem.document.entry import MemoryType
from gitmem.document.event import Save
from gitmem.document.ids import make_id
from gitmem.errors import NotFoundError, RefusedError, UsageError
from gitmem.git.packing import every_object
from gitmem.health.doctor import check_purges
from gitmem.purge.purge import answer_purge, plan_erasure, preview_purge, purge, waiting_purges
from gitmem.record.save import save
from gitmem.store.findings import Level
from gitmem.store.transact import transact
from gitmem.store.transcripts import put, read
from tests.conftest import RunsGit
from tests.store.purges import objects_with
from tests.world import Machine, World

SAID = "Our depot in Turku closes at noon on Fridays"
KEPT = "Use tabs in the generator of the reports"


def make_team(machine: Callable[[str], Machine]) -> tuple[Machine, ...]:
    machines = []
    for name in ("ada", "ben", "cleo"):
        one = machine(name)
        one.git("config", "user.name", name.title())
        one.git("config", "user.email", f"{name}@example.org")
        machines.append(type(one)(one.root, name, one.context))
    ada, ben, cleo = machines
    ada.save(SAID, MemoryType.DECISION)
    ada.sync()
    ben.sync()
    ben.save(KEPT, MemoryType.DECISION)
    ben.write("notes.md", f"As Ada said: {SAID}.\n")
    ben.sync()
    cleo.sync()
    ada.sync()
    return ada, ben, cleo


@pytest.fixture
def team(made_once: Callable[..., tuple[Machine, ...]]) -> tuple[Machine, ...]:
    """Give three machines with what Ada said, what Ben answered, and a page that quotes her."""
    return made_once(make_team, "ada", "ben", "cleo")


def _held(one: Machine, *texts: str) -> list[str]:
    return [text for text in texts if objects_with(one.root, text)]


def _follow(one: Machine) -> None:
    """Sync, look at what an erasure takes out, and say yes, as `gitmem review` does."""
    with pytest.raises(RefusedError, match="another machine purged") as refused:
        one.sync()
    [waiting] = waiting_purges(one.store)
    assert f"'gitmem review {waiting.path} --take theirs', then 'gitmem sync'" in refused.value.remedy
    [told] = (found for found in check_purges(one.store) if found.level is Level.WARNING)
    assert f"gitmem review {waiting.path}" in told.remedy
    assert SAID in preview_purge(one.store, waiting.path).shown
    answer_purge(one.store, waiting.path, yes=True)
    one.sync()


def test_an_author_goes_from_every_clone_that_says_yes(team, remote: Path, bare_git: RunsGit):
    _, ben, cleo = team
    cleo.save("Cleo's own, said before she synced again")
    plan = plan_erasure(ben.store, author="Ada")
    assert plan.purge.commits > 0
    assert _held(ben, SAID), "a plan changes nothing"
    purge(ben.store, plan)
    assert _held(ben, SAID, "ada@example.org", KEPT) == [KEPT]
    ben.sync()
    _follow(cleo)
    assert _held(cleo, SAID, "ada@example.org", KEPT) == [KEPT]
    ben.sync()
    assert ben.tip == cleo.tip
    assert "Cleo's own" in ben.read("memory.md")
    assert KEPT in cleo.read("memory.md")
    bare_git(remote, "gc", "--prune=now", "--quiet")
    everything = bare_git(remote, "log", "-p", "--all", "--format=%an %ae %cn %ce %B")
    assert SAID not in everything
    assert "ada@example.org" not in everything
    assert "Ada" not in ben.git("log", "-1", "--format=%B", "--", "purged")
    transact(ben.store, lambda _: None, purpose="test")
    ben.sound()


def test_a_pattern_of_the_authors_goes_unless_another_one_changed_it(team):
    ada, ben, _ = team
    for name, identifier in (("alone", "b4f7k2m9q0w"), ("both", "b4f7k2m9q0x")):
        head = f"id: {identifier}\nkind: bug-pattern\nerror: {{type: KeyError, message: the depot of {name}}}"
        ada.write(f"patterns/bugs/{identifier}-{name}.md", f"---\n{head}\n---\n# KeyError: the depot of {name}\n")
    ada.sync()
    ben.sync()
    ben.write("patterns/bugs/b4f7k2m9q0x-both.md", ben.read("patterns/bugs/b4f7k2m9q0x-both.md") + "\nAlso here.\n")
    ben.sync()
    purge(ben.store, plan_erasure(ben.store, author="Ada"))
    assert _held(ben, "the depot of alone", "the depot of both") == ["the depot of both"]
    assert "Also here." in ben.read("patterns/bugs/b4f7k2m9q0x-both.md")


def test_two_people_of_one_name_are_told_apart_by_their_addresses(team):
    _, ben, cleo = team
    cleo.git("config", "user.name", "Ada")
    other = type(cleo)(cleo.root, "cleo", cleo.context).like(cleo)
    other.save("of another person who is called Ada")
    other.sync()
    ben.sync()
    with pytest.raises(UsageError, match=r"ada@example\.org, cleo@example\.org"):
        plan_erasure(ben.store, author="ada")
    purge(ben.store, plan_erasure(ben.store, author="ada@example.org"))
    assert "of another person" in ben.read("memory.md")
    assert SAID not in ben.read("memory.md")


@pytest.mark.slow
def test_another_ones_file_stays_though_the_author_changed_it_in_a_commit_that_comes_late(team):
    _, ben, cleo = team
    rule = "facts/rule/r4f7k2m9q0x.md"
    ben.write(rule, "---\nid: r4f7k2m9q0x\nkind: rule\n---\nBen's rule of the harbour.\n")
    ben.sync()
    cleo.sync()
    cleo.write(rule, cleo.read(rule) + "\nWhat Cleo added to it, late.\n")
    cleo.git("commit", "-qam", "Her edit", "--author=Cleo <cleo@example.org>", "--date=2026-11-21T12:00:00Z")
    cleo.save("which comes late as well")
    ben.write("pier.md", "The pier is Cleo's own.\n")
    ben.git("add", "pier.md")
    ben.git("commit", "-qm", "Pier", "--author=Cleo <cleo@example.org>", "--date=2026-11-21T12:00:00Z")
    ben.now = max(ben.now, cleo.now)
    purge(ben.store, plan_erasure(ben.store, author="Cleo"))
    ben.sync()
    cleo.git("push", "--quiet", "origin", f"HEAD:refs/gitmem/inbox/cleo-{cleo.tip[:12]}")
    ben.sync()
    assert "Ben's rule of the harbour" in ben.read(rule)
    assert _held(ben, "What Cleo added", "which comes late", "The pier is Cleo's", "cleo@example.org") == []


def test_nobody_and_no_session_of_that_name(team):
    with pytest.raises(NotFoundError, match="by 'Zoe'"):
        plan_erasure(team[0].store, author="Zoe")
    with pytest.raises(NotFoundError, match="session 'none'"):
        plan_erasure(team[0].store, session="none")


def test_a_session_goes_with_its_transcript_and_no_other(world: World):
    for session in ("one-of-them", "the-other-one"):
        moment = datetime(2026, 11, 20, tzinfo=UTC)
        text = f"What was said in {session}, word for word"
        save(
            world.store,
            Save(make_id(1, session.encode().ljust(16)[:16]), moment, text, MemoryType.NOTE, session=session),
        )
        put(world.store, session, moment, [f'{{"text": "{text}"}}'])
    purge(world.store, plan_erasure(world.store, session="one-of-them"))
    held = b"".join(data for _, data in every_object(world.store.repository.git))
    assert b"said in one-of-them" not in held
    assert b"said in the-other-one" in held
    assert read(world.store, "one-of-them") is None
    assert read(world.store, "the-other-one")
    assert "said in the-other-one" in (world.root / "memory.md").read_text()
    world.sound()


def test_a_machine_that_never_had_it_is_not_asked(world: World, remote: Path, machine):
    first = machine("first")
    for session, text in (("one-of-them", "Said in the one"), ("the-other-one", "Said in the other")):
        save(first.store, first.event(f"{text}, word for word", session=session))
    first.sync()
    purge(first.store, plan_erasure(first.store, session="one-of-them"))
    first.sync()
    new = machine("second")
    new.sync()
    assert waiting_purges(new.store) == []
    new.sync()
    assert new.tip == first.tip
    assert "Said in the other" in new.read("memory.md")


def test_what_another_session_said_as_well_stays_that_sessions(world: World):
    moment = datetime(2026, 11, 20, tzinfo=UTC)
    said = "The harbour crane stands still on Fridays: ask Turku before noon"
    cut = "The keeper of the lighthouse wants the re… and a call"
    own = "A word of Zoe's that nobody else has said"
    texts = {
        "first": (said, cut),
        "second": ("ask Turku before noon", "The keeper of the lighthouse wants the report", own),
    }
    for session, ones in texts.items():
        for number, text in enumerate(ones):
            token = f"{session}{number}".encode().ljust(16)[:16]
            save(world.store, Save(make_id(1, token), moment, text, MemoryType.NOTE, session=session))
    purge(world.store, plan_erasure(world.store, session="second"))
    memory = (world.root / "memory.md").read_text()
    assert said in memory
    assert cut in memory
    assert "wants the report" not in memory
    assert not objects_with(world.root, own)
    world.sound()


@pytest.mark.slow
def test_who_leaves_can_do_it_on_a_machine_of_their_own(team, remote: Path, bare_git: RunsGit):
    ada, ben, _ = team
    purge(ada.store, plan_erasure(ada.store, author="Ada"))
    assert _held(ada, SAID, "ada@example.org", KEPT) == [KEPT]
    ada.sync()
    _follow(ben)
    assert _held(ben, SAID, "ada@example.org", KEPT) == [KEPT]
    assert ada.git("log", "-1", "--format=%an %ae", "--", "purged") == "(purged) (purged)"
    ada.save("said after coming back")
    ada.sync()
    ben.sync()
    assert "said after coming back" in ben.read("memory.md")
    assert ada.tip == ben.tip


@pytest.mark.slow
def test_what_lies_in_the_inbox_with_an_erased_authors_words_is_taken_along_without_them(
    team, bare_git: RunsGit, remote: Path
):
    ada, ben, cleo = team
    ada.save("Left in the inbox by who is erased meanwhile")
    ada.git("push", "--quiet", "origin", "HEAD:refs/gitmem/inbox/ada-" + ada.tip[:12])
    purge(ben.store, plan_erasure(ben.store, author="Ada"))
    ben.sync()
    _follow(cleo)
    assert _held(ben, SAID, "ada@example.org") == []
    assert _held(cleo, SAID, "ada@example.org") == []
    assert ben.tip == cleo.tip
    assert bare_git(remote, "for-each-ref", "refs/gitmem/inbox") == ""
