"""Facts fill themselves at a session's end and from an agent's own memory, once, and are kept right."""

import os
from datetime import timedelta
from pathlib import Path

import pytest

from gitmem.background import do_upkeep, process_spool
from gitmem.document.entry import MemoryType
from gitmem.history.authors import Authors
from gitmem.history.authorship import Manner
from gitmem.history.undo import undo
from gitmem.hosts.claude_code import memory_folder
from gitmem.learn.end import replay
from gitmem.learn.facts import adopt, learn
from gitmem.model.turns import Turn
from gitmem.model.validity import in_force
from gitmem.record.fact_edits import find_fact, retire
from gitmem.record.save import save
from gitmem.store.known_facts import known_facts
from gitmem.store.store import Store

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


def again(world, machine: str = "desk-machine") -> Store:
    world.clock.now += timedelta(days=300)
    world.store = Store(world.store.root, world.store.context._replace(machine=machine))
    return world.store


def kinds(world) -> dict[str, str]:
    return {fact.description: fact.kind for fact in in_force(known_facts(world.store))}


def test_upkeep_mirrors_the_folder_in_which_claude_code_keeps_its_memory(world, folder):
    context = world.store.context
    theirs = Path(memory_folder(context.environ, context.home, os.path.dirname(world.store.root)))
    theirs.parent.mkdir(parents=True)
    folder.rename(theirs)
    do_upkeep(world.store, lambda: False)
    assert kinds(world)["Deploys go by Fly"] == "core-logic"


def test_a_folder_that_is_gone_retires_nothing(world, folder):
    adopt(world.store, str(folder))
    os.rename(folder, f"{folder} elsewhere")
    assert adopt(again(world), str(folder)).commits == ()
    assert len(kinds(world)) == 2


def test_another_machines_agent_is_left_alone(world, folder, tmp_path):
    adopt(world.store, str(folder))
    (tmp_path / "other").mkdir()
    assert adopt(again(world, "laptop"), str(tmp_path / "other")).retired == ()
    assert len(kinds(world)) == 2


def said(world, prompt: str, answer: str = "Done.", session: str = "s-1", **more) -> Turn:
    now = world.clock.now
    return Turn(session, "claude-code", f"t-{prompt[:20]}", now, now, prompt, answer, closed=True, **more)


def learned(world, *prompts: str, session: str = "s-1") -> str | None:
    world.clock.now += timedelta(hours=1)
    store = world.store = Store(world.store.root, world.store.context)
    return learn(store, session, "claude-code", [said(world, prompt, session=session) for prompt in prompts])


def held(world) -> dict[str, str]:
    """Return what is in force: its ids, by description."""
    return {fact.description: fact.id for fact in in_force(known_facts(world.store))}


def log(world, bare_git) -> list[str]:
    root = Path(world.store.root)
    assert bare_git(root, "status", "--porcelain") == ""
    return bare_git(root, "log", "--format=%s", "gitmem").splitlines()


def test_a_replayed_session_and_a_live_one_teach_the_same(world, recorder, bare_git):
    recorder.turn(4, "앞으로 빌드는 pnpm 대신 uv를 써줘.", "그렇게 했습니다.")
    recorder.write()
    recorder.live(world.store)
    recorder.deliver("SessionEnd", 1_791_018_100.0, "", reason="other")
    recorder.live(world.store)
    process_spool(world.store)
    facts = held(world)
    assert "앞으로 빌드는 pnpm 대신 uv를 써줘." in facts
    before = log(world, bare_git)
    replay(Store(world.store.root, world.store.context), str(recorder.path))
    assert log(world, bare_git) == before
    assert held(world) == facts


def test_what_was_saved_becomes_a_fact_and_of_what_had_a_secret_what_a_label_says_lasts(world):
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    world.save("Use uv, not pnpm.", MemoryType.DECISION)
    world.save("긴 경로에서 저장이 실패합니다", MemoryType.ISSUE)
    world.save("A note is none.")
    prompt = f"Always send the token {token} with a request. Always retry twice."
    learned(world, f"{prompt}\nRemember: the token for staging is {token}.\n기억해: 스테이징 토큰은 {token} 이다.")
    facts = {fact.description: fact for fact in known_facts(world.store)}
    assert {fact.kind for fact in facts.values()} == {"decision", "issue", "rule", "core-logic"}
    assert {text for text in facts if "REDACTED" in text} == {
        "The token for staging is [REDACTED:github-token].",
        "스테이징 토큰은 [REDACTED:github-token] 이다.",
    }
    assert token not in "".join(path.read_text() for path in Path(world.store.root, "facts").rglob("*.md"))
    assert (facts["Use uv, not pnpm."].confidence, facts["긴 경로에서 저장이 실패합니다"].status) == (0.9, "open")
    assert learned(world) is None


def test_the_fact_of_a_saved_entry_came_as_the_entry_did_not_from_the_session_that_read_it(world):
    save(world.store, world.event("The loader reads empty files as none.", MemoryType.LEARNING)._replace(host="cli"))
    learned(world, "Always run the linter before committing.")
    authors = Authors(world.store)
    facts = {fact.kind.value: (fact.session, authors.origin(fact.id)) for fact in known_facts(world.store)}
    session, origin = facts["core-logic"]
    assert (session, origin.manner, origin.host) == ("", Manner.COMMAND, "cli")
    session, origin = facts["rule"]
    assert (session, origin.manner, origin.host) == ("s-1", Manner.SESSION, "claude-code")


def test_a_fact_of_an_old_session_bears_the_commit_that_its_files_were_in(world, bare_git):
    project = world.project
    bare_git(project, "init", "-q", ".")
    (project / "loader.py").write_text("LIMIT = 1\n")
    bare_git(project, "add", "loader.py")
    turn = said(world, "Rule: loader.py never reads more than a million bytes. Rule: draft.py is never committed.")
    at = {"GIT_COMMITTER_DATE": turn.started.isoformat()}
    bare_git(project, "commit", "-qm", "Limit", env=at)
    turn = turn._replace(files=(str(project / "loader.py"), str(project / "draft.py")))
    again(world)
    learn(world.store, "s-1", "claude-code", [turn])
    commits = {fact.files: fact.commit for fact in known_facts(world.store)}
    assert commits == {("loader.py",): bare_git(project, "rev-parse", "HEAD")[:12], ("draft.py",): ""}


def test_what_was_retired_removed_or_undone_is_not_learned_again(world, bare_git):
    learned(world, "Always run the linter before committing.")
    learned(world, "Preference: editor vim on every machine.")
    learned(world, "Decision: zod for validation, not yup")
    rule, editor, zod = (find_fact(world.store, letter) for letter in "rfd")
    retire(world.store, rule, "")
    undo(world.store, revision=bare_git(Path(world.store.root), "log", "-1", "--format=%H", "--", zod.path))
    Path(world.store.root, editor.path).unlink()
    for session in ("s-4", "s-5"):
        learned(
            world,
            "Always run the linter before committing.",
            "Preference: editor vim on every machine.",
            "Decision: zod for validation, not yup",
            session=session,
        )
    assert held(world) == {}
