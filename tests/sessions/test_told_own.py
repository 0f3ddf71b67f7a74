"""A person's own rules and preferences are told in each project, and yield to what the project says."""

from datetime import timedelta

import pytest

from gitmem.document.entry import MemoryType
from gitmem.facts.edit import retire
from gitmem.sessions.start import start_parts
from gitmem.sessions.told import TITLE
from gitmem.store.headers import known_facts
from gitmem.store.init import Place, init_store
from gitmem.store.store import Store
from gitmem.text.stems import estimate_tokens
from tests.sessions.test_start import titles
from tests.started import session_start


@pytest.fixture
def own(desk, home):
    """Give a function that saves into the person's own store."""
    from gitmem.sessions.save import save

    desk.store.context = desk.store.context._replace(home=str(home))
    init_store(str(home), desk.store.context, Place.USER)
    store = Store(str(home / ".gitmem"), desk.store.context)

    def put(text: str, kind: MemoryType = MemoryType.PREFERENCE) -> Store:
        save(store, desk.save(text, kind))
        return store

    return put


def told(desk) -> str:
    return session_start(Store(desk.store.root, desk.store.context), (), None, ())


def own_part(text: str) -> list[str]:
    _, found, rest = text.partition(f"## {TITLE}\n")
    return rest.partition("\n\n")[0].splitlines() if found else []


def test_rules_and_preferences_are_told_and_nothing_else(desk, own):
    own("Answer in Korean.")
    own("Never push without asking.", MemoryType.RULE)
    own("We chose Postgres for the shop.", MemoryType.DECISION)
    lines = own_part(told(desk))
    assert [line.partition(" (")[0] for line in lines] == ["- Never push without asking.", "- Answer in Korean."]


def test_the_start_names_their_ids_so_that_they_are_recorded_as_given(desk, own):
    store = own("Answer in Korean.")
    (fact,) = known_facts(store)
    (part,) = (one for one in start_parts(Store(desk.store.root, desk.store.context), (), None, ()) if one.ids)
    assert (part.title, part.ids) == (TITLE, (fact.id,))


def test_of_two_rules_that_contradict_each_other_the_newer_is_told(desk, own):
    own("Always use tabs for indentation.", MemoryType.RULE)
    desk.clock.now += timedelta(days=1)
    own("Always use spaces for indentation.", MemoryType.RULE)
    (line,) = own_part(told(desk))
    assert line.startswith("- Always use spaces for indentation. (rule, ")
    assert "tabs" not in line


def test_what_contradicts_the_project_yields_and_is_said(desk, own):
    from gitmem.sessions.save import save

    save(desk.store, desk.save("Always use tabs for indentation.", MemoryType.RULE))
    own("Always use spaces for indentation.", MemoryType.RULE)
    (line,) = own_part(told(desk))
    assert line == (
        "- Not here: Always use spaces for indentation. "
        "This project's rule goes before it: Always use tabs for indentation."
    )


def test_what_the_project_says_too_and_what_ended_are_left_out(desk, own):
    from gitmem.sessions.save import save

    save(desk.store, desk.save("Always run the linter.", MemoryType.RULE))
    own("Always run the linter.", MemoryType.RULE)
    store = own("Answer in Korean.")
    (line,) = own_part(told(desk))
    assert "Korean" in line
    (answer,) = (fact for fact in known_facts(store) if "Korean" in fact.description)
    retire(store, answer, "")
    assert own_part(told(desk)) == []


def test_they_keep_within_their_share(desk, own):
    for number in range(12):
        own(f"Preference {number:02}: " + " ".join(f"word{number}{index}" for index in range(60)))
    text = told(desk)
    assert 0 < estimate_tokens("\n".join(own_part(text))) <= desk.store.config.session.budget_tokens // 10


def test_in_the_own_store_itself_nothing_is_told_twice(desk, own):
    store = own("Answer in Korean.")
    assert TITLE not in titles(session_start(store, (), None, ()))


def test_an_own_store_that_cannot_be_opened_is_no_trouble(desk, own):
    store = own("Answer in Korean.")
    with open(f"{store.root}/FORMAT.md", "w", encoding="utf-8") as file:
        file.write("version: 99\n")
    assert own_part(told(desk)) == []
