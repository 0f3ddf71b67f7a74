"""The marks of a prompt's memories, for which few facts are parsed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from gitmem.cli.app import real_app
from gitmem.search.engine import answer
from gitmem.store import headers as facts
from gitmem.store.headers import known_facts, marks_for
from gitmem.store.store import Store
from tests.cli.commands.conftest import gitmem, run  # noqa: F401
from tests.store.test_headers import change, file_of

if TYPE_CHECKING:
    from tests.cli.commands.project import Runner

QUERIES = ("redis cache", "memory cache", "flicker", "port of staging", "linter", "tabs")


@pytest.fixture
def decided(gitmem: Runner) -> tuple[Store, dict[str, str]]:  # noqa: F811
    said = {
        "memory": "Keep the cache in memory.",
        "redis": "Use Redis for the session cache.",
        "port": "The port of staging is 5433.",
        "linter": "Run the linter before each commit.",
        "tabs": "Indent with tabs.",
    }
    ids = {name: str(gitmem.json("save", text, "--type", "decision")["id"]) for name, text in said.items()}
    ids["again"] = str(gitmem.json("save", said["tabs"], "--type", "rule")["id"])
    gitmem("facts", "supersede", ids["memory"], ids["redis"])
    gitmem("facts", "retire", ids["linter"])
    gitmem("facts", "retire", ids["tabs"])
    gitmem("facts", "edit", ids["port"], "The port of staging is 5434.")
    store = Store(str(gitmem.root), real_app().context())
    known_facts(store)
    for path in gitmem.root.rglob("*"):  # as if all had been there for a while
        os.utime(path, (1, 1))
    known_facts(store)
    return store, ids


def hits(store, *, hurried, monkeypatch):
    if not hurried:
        monkeypatch.setattr("gitmem.search.engine.marks_for", lambda store, shown: facts.known_marks(store))
    return [answer(store, query, hurried=True).hits for query in QUERIES]


def test_a_prompt_is_told_of_facts_what_a_search_tells(decided, monkeypatch):
    store, ids = decided
    quick = hits(store, hurried=True, monkeypatch=monkeypatch)

    assert quick == hits(store, hurried=False, monkeypatch=monkeypatch)
    assert ids["linter"] not in marks_for(store, ()).in_force
    assert ids["memory"] in marks_for(store, ()).words
    assert ids["tabs"] not in marks_for(store, ()).words, "another fact in force says the same"


def test_only_facts_that_may_need_a_mark_and_those_shown_are_parsed(gitmem, decided, monkeypatch):  # noqa: F811
    store, ids = decided
    for number in range(20):
        gitmem("save", f"Service number {number} listens on port {number}.", "--type", "rule")
    known_facts(store)
    shown = str(gitmem.json("save", "Deploy on Fridays.", "--type", "rule")["id"])
    for path in gitmem.root.rglob("*"):
        os.utime(path, (1, 1))
    known_facts(store)
    monkeypatch.setattr(facts, "known_marks", None)
    read = marks_for(store, {shown}).facts.keys()

    assert {shown, ids["memory"], ids["redis"], ids["linter"], ids["tabs"], ids["again"], ids["port"]} >= read
    assert shown in read


def test_a_fact_that_ended_just_now_is_marked(gitmem, decided):  # noqa: F811
    store, ids = decided
    gitmem("facts", "retire", ids["redis"])

    assert marks_for(store, {ids["redis"]}).has_ended(ids["redis"])
    change(file_of(gitmem, ids["again"]), "status: active", "status: retired")
    assert marks_for(store, {ids["again"]}).has_ended(ids["again"])
