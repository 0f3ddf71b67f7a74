"""An agent's memory files, and notes that the user asked for, are read from a transcript as from a folder."""

import json
from pathlib import Path

from gitmem.learn.end import replay
from gitmem.model.validity import in_force
from gitmem.store.known_facts import known_facts
from gitmem.store.store import Store

SESSION = "11111111-2222-4333-8444-555555555555"
MEMORY = "/home/kim/.claude/projects/-home-kim-shop/memory/prefers-tabs.md"
TEXT = "---\ndescription: Kim wants tabs\nmetadata: {type: feedback}\n---\nTabs in Makefiles, spaces elsewhere.\n"


def transcript(path: Path, *calls: tuple[str, dict, bool], prompt: str) -> str:
    """Write a session of one request with these calls: tool, input, and whether it failed."""
    about = {"sessionId": SESSION, "cwd": "/home/kim/shop", "version": "2.1.330"}
    lines: list[dict] = [{"type": "user", "message": {"role": "user", "content": prompt}}]
    for number, (tool, given, failed) in enumerate(calls):
        use = {"type": "tool_use", "id": f"t{number}", "name": tool, "input": given}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": "done", "is_error": failed}
        lines.append({"type": "assistant", "message": {"role": "assistant", "content": [use]}})
        lines.append({"type": "user", "message": {"role": "user", "content": [result]}})
    said = [{"type": "text", "text": "I wrote it down in a note of its own, as you asked me to do."}]
    lines.append({"type": "assistant", "message": {"role": "assistant", "content": said, "stop_reason": "end_turn"}})
    stamped = [
        {**about, **line, "uuid": f"u{n}", "timestamp": f"2026-11-20T10:{n:02}:00.000Z"} for n, line in enumerate(lines)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in stamped), encoding="utf-8")
    return str(path)


def facts(world) -> dict[str, str]:
    world.store = Store(world.store.root, world.store.context)
    return {text_of(world, fact): str(fact.kind) for fact in in_force(known_facts(world.store)) if fact.adopted}


def text_of(world, fact) -> str:
    """Return the text in a fact's file."""
    return (Path(world.store.root) / fact.path).read_text("utf-8").rpartition("---\n")[2].strip()


def test_the_agents_own_memory_files_become_facts_as_the_edits_left_them(world, tmp_path):
    calls = (
        ("Write", {"file_path": MEMORY, "content": TEXT}, False),
        ("Edit", {"file_path": MEMORY, "old_string": "elsewhere", "new_string": "in all else"}, False),
        ("Edit", {"file_path": MEMORY, "old_string": "Tabs", "new_string": "Never tabs"}, True),
    )
    path = transcript(tmp_path / "t.jsonl", *calls, prompt="Tidy up the Makefile of the shop.")
    replay(world.store, path)
    assert facts(world) == {"Tabs in Makefiles, spaces in all else.": "rule"}
    replay(world.store, path)
    assert len(facts(world)) == 1


def test_a_note_that_the_user_asked_for_becomes_a_fact_and_no_other_document(world, tmp_path):
    note = (
        "Write",
        {"file_path": "/home/kim/shop/notes/bank.md", "content": "The bank closes its books at 17:00.\n"},
        False,
    )
    replay(world.store, transcript(tmp_path / "a.jsonl", note, prompt="Write a page about the bank for the manual."))
    assert facts(world) == {}
    other = transcript(tmp_path / "b.jsonl", note, prompt="The bank closes early, make sure to memorise this.")
    Path(other).write_text(Path(other).read_text("utf-8").replace(SESSION, SESSION.replace("1", "9")), "utf-8")
    replay(world.store, other)
    assert facts(world) == {"The bank closes its books at 17:00.": "core-logic"}
