"""The agent's own memory files become facts, and stay the agent's."""

import os
from datetime import timedelta
from pathlib import Path

import pytest

from gitmem.facts.edit import retire
from gitmem.facts.learn import adopt, fingerprint
from gitmem.facts.validity import in_force
from gitmem.store.known_facts import known_facts
from gitmem.store.store import Store
from tests.started import session_start

THEIRS = """---
name: prefers-korean
description: The user writes Korean and wants answers in Korean
metadata:
  type: user
---
Answer in Korean. **Why:** it is their language.
"""


@pytest.fixture
def folder(tmp_path) -> Path:
    found = tmp_path / "their memory 한글"
    found.mkdir()
    (found / "prefers-korean.md").write_text(THEIRS, encoding="utf-8")
    (found / "deploys.md").write_text(
        "---\r\ndescription: Deploys go by Fly\r\nmetadata: {type: project}\r\n---\r\nBy Fly.\r\n"
    )
    (found / "MEMORY.md").write_text("- [prefers-korean](prefers-korean.md)\n")
    (found / "notes.txt").write_text("not a memory")
    return found


def again(desk, machine: str = "desk-machine") -> Store:
    desk.clock.now += timedelta(days=300)
    desk.store = Store(desk.store.root, desk.store.context._replace(machine=machine))
    return desk.store


def said(desk) -> dict[str, str]:
    return {fact.description: fact.kind for fact in in_force(known_facts(desk.store))}


def test_files_become_facts_once_and_stay_as_they_are(desk, folder, bare_git):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    done = adopt(desk.store, str(folder))
    assert (len(done.new), done.changed, done.retired) == (2, (), ())
    assert said(desk) == {
        "The user writes Korean and wants answers in Korean": "preference",
        "Deploys go by Fly": "core-logic",
    }
    assert adopt(again(desk), str(folder)).commits == ()
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    root = Path(desk.store.root)
    assert bare_git(root, "status", "--porcelain") == ""
    assert bare_git(root, "log", "-1", "--format=%s") == ("Adopt the agent's own memory, 2 new: Deploys go by Fly")


def test_what_changes_there_changes_here_and_what_goes_is_retired(desk, folder):
    adopt(desk.store, str(folder))
    (folder / "prefers-korean.md").write_text(THEIRS.replace("Korean", "French"), encoding="utf-8")
    (folder / "deploys.md").unlink()
    done = adopt(again(desk), str(folder))
    assert (done.new, len(done.changed), len(done.retired)) == ((), 1, 1)
    assert said(desk) == {"The user writes French and wants answers in French": "preference"}
    assert adopt(again(desk), str(folder)).commits == ()
    (folder / "deploys.md").write_text("---\nmetadata:\n  type: project\n---\nBy Fly again.\n")
    assert len(adopt(again(desk), str(folder)).changed) == 1
    assert len(known_facts(desk.store)) == 2


def test_a_folder_that_is_gone_retires_nothing(desk, folder):
    adopt(desk.store, str(folder))
    os.rename(folder, f"{folder} elsewhere")
    assert adopt(again(desk), str(folder)).commits == ()
    assert fingerprint(str(folder)) == ""
    assert len(said(desk)) == 2


def test_another_machines_agent_is_left_alone(desk, folder, tmp_path):
    adopt(desk.store, str(folder))
    (tmp_path / "other").mkdir()
    assert adopt(again(desk, "laptop"), str(tmp_path / "other")).retired == ()
    assert len(said(desk)) == 2


def test_what_a_person_retired_here_stays_so(desk, folder):
    adopt(desk.store, str(folder))
    desk.clock.now += timedelta(days=400)
    retire(desk.store, next(fact for fact in known_facts(desk.store) if fact.kind == "preference"), "")
    assert adopt(desk.store, str(folder)).commits == ()


def test_links_large_files_and_secrets_are_not_brought_in(desk, folder, tmp_path):
    (tmp_path / "secret.md").write_text("---\ndescription: a secret\n---\nx\n")
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    (folder / "large.md").write_text("x" * 70_000)
    (folder / "broken.md").write_text("---\na: [\n---\nx\n")
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    (folder / "token.md").write_text(f"---\ndescription: The token\n---\nIt is {token}\n")
    assert len(adopt(desk.store, str(folder)).new) == 3
    assert token not in "".join(path.read_text() for path in Path(desk.store.root, "facts").rglob("*.md"))


def test_what_the_agent_loads_by_itself_is_not_told_again(desk, folder):
    adopt(desk.store, str(folder))
    assert "Deploys go by Fly" not in session_start(desk.store, (), None, ())
    assert "Deploys go by Fly" in session_start(again(desk, "laptop"), (), None, ())
