"""`gitmem task` shows and changes what a session is at; a compaction has it told again."""

import json

from gitmem.errors import ExitCode


def test_after_a_compaction_the_session_is_told_what_it_is_at(desk):
    def event(name: str, **more: object) -> str:
        payload = {"hook_event_name": name, "session_id": "s1", "cwd": str(desk.project), "transcript_path": ""}
        return desk.run("hook", "claude", stdin=json.dumps(payload | more).encode()).out

    event("SessionStart", source="startup")
    event("UserPromptSubmit", prompt="Fix the loader, it crashes on empty files")
    event("PostToolUseFailure", tool_name="Bash", tool_input={"command": "pytest -x"}, error="E   KeyError: 'a'")
    told = json.loads(event("SessionStart", source="compact"))["hookSpecificOutput"]["additionalContext"]
    assert "Where this session stands" in told
    assert "Task (bug_fix, active): Fix the loader, it crashes on empty files" in told
    assert "Failed: `pytest -x`: KeyError: 'a'" in told
    assert "Where this session stands" not in event("SessionStart", source="startup")
    event("Stop", last_assistant_message="The loader reads empty files as a list without rows now.")
    event("SessionEnd", reason="other")
    assert desk.ran("task").code == ExitCode.NOT_FOUND
    told = json.loads(event("SessionStart", source="resume"))["hookSpecificOutput"]["additionalContext"]
    assert "Task (bug_fix, open): Fix the loader, it crashes on empty files" in told
    assert "Failed: KeyError: 'a': nothing mended it" in told


TASK = "add retries with backoff to the importer"


def test_a_decision_is_told_for_a_task_and_its_source(desk):
    for number in range(12):
        desk.run("save", f"Module m{number} was renamed to n{number}")
    desk.run("save", "The importer retries thrice with backoff", "--type", "decision")
    told = desk.run("guide", TASK).out
    assert "What was done and decided:\n- " in told
    assert "The importer retries thrice with backoff (^d" in told
    found = desk.run("guide", "--json", TASK).json
    assert [line["part"] for line in found["lines"]] == ["approach"]
    assert found["lines"][0]["sources"][0].startswith("d")


def test_an_output_that_is_no_text_is_read_all_the_same(desk):
    assert desk.run("guide", "--error", "-", stdin=b"\xff\xfe error: KeyError").data == b""
