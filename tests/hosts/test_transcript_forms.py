"""Older and newer forms of transcripts: each is read, or refused in one sentence."""

import json
from pathlib import Path

import pytest

from gitmem.hosts.registry import read_transcript, writer
from gitmem.learn.end import find_transcripts, replay
from gitmem.model.transcript import Unread, hook_events
from gitmem.model.turns import fold

ASKED, SAID = "Put the footer below the form.", "The footer is below the form now."
OPENCODE = {
    "info": {"id": "ses_1", "directory": "/home/kim/shop", "time": {"created": 1763600000000}},
    "messages": [
        {
            "info": {"id": "m1", "role": "user", "time": {"created": 1763600000000}},
            "parts": [{"type": "text", "text": ASKED}],
        },
        {
            "info": {"id": "m2", "role": "assistant", "time": {"created": 1763600050000}},
            "parts": [
                {
                    "type": "tool",
                    "tool": "edit",
                    "callID": "c1",
                    "state": {"status": "completed", "input": {"filePath": "/home/kim/shop/form.py"}, "output": "ok"},
                },
                {"type": "text", "text": SAID},
            ],
        },
    ],
}
GEMINI = {
    "sessionId": "s-1",
    "projectHash": "7e89",
    "startTime": "2026-01-15T20:51:48.582Z",
    "messages": [
        {"id": "a", "timestamp": "2026-01-15T20:51:48.582Z", "type": "user", "content": ASKED},
        {
            "id": "b",
            "timestamp": "2026-01-15T20:52:48.582Z",
            "type": "gemini",
            "content": SAID,
            "toolCalls": [{"id": "c", "name": "write_file", "args": {"file_path": "form.py"}, "status": "success"}],
        },
    ],
}
DOCUMENTS = pytest.mark.parametrize("host, document", [("opencode", OPENCODE), ("gemini", GEMINI)])


def turns_of(path: Path, unread: Unread | None = None):
    return fold(hook_events(read_transcript(str(path), unread)))


@DOCUMENTS
@pytest.mark.parametrize("indent", [None, 2])
def test_a_session_in_one_json_document_is_read(tmp_path, host, document, indent):
    path, unread = tmp_path / "session.json", Unread()
    path.write_text(json.dumps(document, indent=indent))
    (turn,) = turns_of(path, unread)
    assert (turn.prompt, turn.answer) == (ASKED, SAID)
    assert [Path(name).name for name in turn.files] == ["form.py"]
    assert turn.session == ("ses_1" if host == "opencode" else "s-1")
    assert turn.started.year == (2025 if host == "opencode" else 2026)
    assert writer(str(path)) == host
    assert unread.lines == 0


def test_a_folder_of_documents_is_imported_without_other_json(world, tmp_path):
    folder = tmp_path / "sessions"
    folder.mkdir()
    (folder / "one.json").write_text(json.dumps(OPENCODE, indent=2))
    (folder / "package.json").write_text(json.dumps({"name": "shop", "messages": []}, indent=2))
    (path,) = find_transcripts(str(folder))
    assert replay(world.store, path).saved == 1
    assert replay(world.store, path).saved == 0


def test_json_that_is_no_session_is_refused_in_one_sentence(world, tmp_path):
    path = tmp_path / "list.json"
    path.write_text(json.dumps([{"name": number} for number in range(3000)], indent=2))
    done = replay(world.store, str(path))
    assert done.turns == 0
    (notice,) = done.notices
    assert notice.count("\n") == 0
    assert "it has no turns of a session" in notice


def rollout(tmp_path: Path, *payloads: tuple[str, dict[str, object]], name: str = "rollout-1.jsonl") -> Path:
    lines = [
        json.dumps({"timestamp": f"2026-01-01T10:00:{second:02}Z", "type": kind, "payload": payload})
        for second, (kind, payload) in enumerate(payloads)
    ]
    path = tmp_path / name
    path.write_text("\n".join(lines) + "\n")
    return path


def said(text: str, role: str = "user") -> tuple[str, dict[str, object]]:
    return "response_item", {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}


PATCH = "*** Begin Patch\n*** Update File: form.py\n-a\n+b\n*** End Patch"


def test_older_rollouts_of_codex_have_their_commands_patches_and_failures(tmp_path):
    def call(key: str, words: list[str], output: str):
        arguments = json.dumps({"command": words})
        yield "response_item", {"type": "function_call", "name": "shell", "arguments": arguments, "call_id": key}
        yield "response_item", {"type": "function_call_output", "call_id": key, "output": output}

    path = rollout(
        tmp_path,
        ("session_meta", {"id": "s-1", "cwd": "/p"}),
        said("<environment_context>\n<cwd>/p</cwd>\n</environment_context>"),
        said(ASKED),
        *call("1", ["bash", "-lc", "ls x"], json.dumps({"output": "no x", "metadata": {"exit_code": 2}})),
        *call("2", ["apply_patch", PATCH], json.dumps({"output": "Success.", "metadata": {"exit_code": 0}})),
        *call(
            "3", ["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH.replace('form', 'page')}\nEOF"], "patch rejected by user"
        ),
        said(SAID, "assistant"),
    )
    (turn,) = turns_of(path)
    assert (turn.prompt, turn.answer, turn.files) == (ASKED, SAID, ("form.py",))
    assert [(failure.command, failure.error) for failure in turn.failures] == [("ls x", "no x")]
    assert [words.kind for words in turn.words] == ["refusal"]


def test_a_subagents_rollout_is_read_with_its_session_and_not_by_itself(world, tmp_path):
    call = {"type": "custom_tool_call", "name": "apply_patch", "input": PATCH, "call_id": "1"}
    result = {"type": "custom_tool_call_output", "call_id": "1", "output": "Exit code: 0\nOutput:\nSuccess."}
    session, own = "0" * 8 + "-0000-7000-8000-" + "0" * 12, "1" * 8 + "-0000-7000-8000-" + "0" * 12
    about = {"id": own, "parent_thread_id": session, "source": {"subagent": {"thread_spawn": {}}}, "cwd": "/p"}
    main = [("session_meta", {"id": session, "cwd": "/p"}), said(ASKED), said(SAID, "assistant")]
    path = rollout(tmp_path, *main, name=f"rollout-{session}.jsonl")
    parts = [("session_meta", about), said("Change the form."), ("response_item", call), ("response_item", result)]
    beside = rollout(tmp_path, *parts, name=f"rollout-{own}.jsonl")
    beside.write_text(beside.read_text().replace('": "', '":"'))
    (turn,) = turns_of(path)
    assert (turn.prompt, turn.files) == (ASKED, ("form.py",))
    assert turns_of(beside) == []
    done = replay(world.store, str(beside))
    assert (done.saved, done.notices) == (0, ())


@pytest.mark.parametrize(
    "told, prompts",
    [
        ({}, [ASKED]),
        ({"subtype": "mid_turn_user_message"}, []),
        ({"subtype": "notification"}, []),
        ({"provenance": "system"}, []),
    ],
)
def test_chats_of_qwen_code_without_provenance_say_who_wrote_by_their_kind(tmp_path, told, prompts):
    item = {
        "sessionId": "q",
        "timestamp": "2026-01-01T10:00:00Z",
        "type": "user",
        "message": {"parts": [{"text": ASKED}]},
    }
    path = tmp_path / ".qwen" / "projects" / "x" / "chats" / "q.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(item | told) + "\n")
    turns = turns_of(path)
    assert [turn.prompt for turn in turns if turn.prompt] == prompts
    assert [words.text for turn in turns for words in turn.words] == [ASKED] * (
        told.get("subtype") == "mid_turn_user_message"
    )


def test_rollouts_of_codex_whose_parts_stand_alone(tmp_path):
    text = [{"type": "input_text", "text": ASKED}], [{"type": "output_text", "text": SAID}]
    context = [{"type": "input_text", "text": "<environment_context>\nx\n</environment_context>"}]
    rows = [
        {"id": "s-1", "timestamp": "2025-08-01T10:00:00.000Z", "instructions": "Always use tabs.", "git": {}},
        {"record_type": "state"},
        *({"type": "message", "role": "user", "content": content} for content in (context, text[0])),
        {"type": "message", "role": "assistant", "content": text[1]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "And a test."}]},
    ]
    path = tmp_path / "rollout-1.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    turns = [turn for turn in turns_of(path) if turn.prompt]
    assert [(turn.session, turn.prompt, turn.answer) for turn in turns] == [
        ("s-1", ASKED, SAID),
        ("s-1", "And a test.", ""),
    ]


def test_what_codex_puts_around_a_request_is_its_own(tmp_path):
    shell = "<command>\ngit fetch\n</command>\n<result>\nExit code: 0\n</result>"
    path = rollout(
        tmp_path,
        ("session_meta", {"id": "s-1", "cwd": "/home/kim/shop"}),
        said("Warning: apply_patch was requested via exec_command. Use the apply_patch tool instead."),
        said(f"# Context from my IDE setup:\n\n## Active file: a.py\n\n## My request for Codex:\n{ASKED}\n"),
        said(SAID, "assistant"),
        said(f"<user_shell_command>\n{shell}\n</user_shell_command>"),
    )
    (turn,) = [turn for turn in turns_of(path) if turn.prompt or turn.words]
    assert turn.prompt == ASKED
    assert [one.text for one in turn.words] == ["git fetch\nExit code: 0"]


def test_a_fork_of_a_rollout_copies_the_other_session_and_goes_on_as_its_own(world, tmp_path):
    def turn(key: str, text: str) -> list[tuple[str, dict[str, object]]]:
        return [("turn_context", {"turn_id": key}), said(text), said(SAID, "assistant")]

    old = [("session_meta", {"id": "aaaa", "cwd": "/home/kim/shop"}), *turn("t-1", ASKED)]
    first = rollout(tmp_path, *old)
    own = ("session_meta", {"id": "bbbb", "forked_from_id": "aaaa", "cwd": "/home/kim/shop"})
    rows = rollout(tmp_path, own, *old, *turn("t-2", "And a test."), name="rollout-2.jsonl").read_text().splitlines()
    copied = [row.replace(f"10:00:0{second}Z", "11:00:00Z") for second, row in enumerate(rows[:5])]
    fork = tmp_path / "rollout-3.jsonl"
    fork.write_text("\n".join([*copied, *(row.replace("T10:", "T12:") for row in rows[5:])]) + "\n")
    assert [(turn.session, turn.prompt) for turn in turns_of(fork)] == [("aaaa", ASKED), ("bbbb", "And a test.")]
    assert [replay(world.store, str(path)).saved for path in (first, fork)] == [1, 1]


def test_files_of_subagents_below_a_session_of_claude_or_beside_it_are_read(tmp_path):
    def row(number: int, kind: str, content: object, **more: object) -> str:
        about = {"sessionId": "s-1", "type": kind, "timestamp": f"2026-01-01T10:00:{number:02}Z", **more}
        return json.dumps({**about, "message": {"role": kind, "content": content}}, separators=(",", ":")) + "\n"

    def agent(name: str) -> str:
        call = {"type": "tool_use", "id": name, "name": "Write", "input": {"file_path": name, "content": "x\n"}}
        result = {"type": "tool_result", "tool_use_id": name, "content": "ok"}
        return row(2, "assistant", [call], isSidechain=True) + row(3, "user", [result], isSidechain=True)

    path = tmp_path / "s-1.jsonl"
    path.write_text(row(1, "user", ASKED) + row(9, "assistant", [{"type": "text", "text": SAID}]))
    (tmp_path / "agent-4.jsonl").write_text(agent("d.py").replace("s-1", "s-2"))
    places = "agent-0.jsonl", "s-1/subagents/agent-1.jsonl", "s-1/subagents/workflows/w/agent-2.jsonl"
    for place, name in zip(places, ("a.py", "b.py", "c.py"), strict=True):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text(agent(name))
    (turn,) = turns_of(path)
    assert sorted(turn.files) == ["a.py", "b.py", "c.py"]
