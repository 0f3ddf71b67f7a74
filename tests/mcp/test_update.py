from __future__ import annotations

import pytest


def keep(memory, text: str, kind: str = "decision") -> str:
    return memory.call("memory_save", type=kind, content=text).structured_content["id"]


def test_what_an_agent_ends_is_not_in_memory_any_more(memory, bare_git):
    identifier = keep(memory, "Use Redis for sessions.")
    before = int(bare_git(memory.root, "rev-list", "--count", "HEAD"))
    assert memory.text("memory_update", id=identifier, act="retire", text="Memcached is there").startswith(
        f"{identifier} is retired"
    )
    assert int(bare_git(memory.root, "rev-list", "--count", "HEAD")) == before + 1
    assert identifier not in (memory.root / "memory.md").read_text("utf-8")


@pytest.mark.parametrize(
    "act, text, said", [("edit", "Use Valkey.", "active: Use Valkey."), ("confirm", "", "active: Use Redis.")]
)
def test_what_an_agent_rewords_or_confirms_stays(memory, act, text, said):
    identifier = keep(memory, "Use Redis.")
    assert said in memory.text("memory_update", id=identifier, act=act, text=text)


def test_what_an_agent_replaces_names_its_successor(memory):
    old, new = keep(memory, "Deploy by hand."), keep(memory, "Deploys run in CI.")
    assert f"superseded by {new}" in memory.text("memory_update", id=old, act="supersede", text=new)


@pytest.mark.parametrize("act, text", [("resolve", ""), ("edit", " "), ("supersede", "d0000000000")])
def test_what_makes_no_sense_is_refused(memory, act, text):
    identifier = keep(memory, "Use Redis.")
    assert memory.call("memory_update", id=identifier, act=act, text=text).is_error


def test_an_issue_is_resolved(memory):
    identifier = keep(memory, "The build is slow.", "issue")
    assert "is resolved" in memory.text("memory_update", id=identifier, act="resolve", text="cached now")
