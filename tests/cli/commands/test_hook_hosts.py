"""Hooks of all agents in this process: each is answered in its own form, and no payload does any harm."""

import io
import json
import random
from datetime import UTC, datetime

import pytest

from gitmem.cli.app import App
from gitmem.cli.commands.hook import hook
from gitmem.cli.main import main
from gitmem.hosts.registry import NAMES, find_host
from gitmem.platform.machine import Context
from gitmem.record.read import read_pending
from gitmem.store.spool import HookSpool
from gitmem.store.store import Store
from tests.recorded import payloads_of

NOW = datetime(2026, 11, 22, tzinfo=UTC)


@pytest.fixture
def run(project, home, environ, initialize):
    """Give a function that runs a hook with these bytes in this process, and returns what it printed."""

    def run(data: bytes, *words: str) -> str:
        out = io.StringIO()
        app = App(environ, str(project), io.TextIOWrapper(io.BytesIO(data)), out, out)
        assert (main(words[1:], lambda: app) if words[0] == "gitmem" else hook(["hook", *words], app)) == 0
        return out.getvalue()

    initialize(project)
    run(b"", "gitmem", "save", "--type", "decision", "Decision: we use uv instead of pip.")
    return run


def payload(event: str, **more: object) -> bytes:
    return json.dumps({"hook_event_name": event, "session_id": "s", **more}).encode()


COPILOT = {"timestamp": "2026-11-22T16:26:18.639Z", "source": "new"}


@pytest.mark.parametrize("named", ["claude", "copilot"])
def test_copilot_is_told_the_memory_in_its_own_form_whoevers_hook_it_runs(run, named):
    answer = json.loads(run(payload("SessionStart", **COPILOT), named, "SessionStart"))
    assert set(answer) == {"additionalContext"}
    assert "uv instead of pip" in answer["additionalContext"]


@pytest.mark.parametrize("folder", [".qwen/projects/-p/chats", ".factory/sessions/-p", ".claude/projects/-p"])
def test_others_that_run_claude_codes_hooks_are_told_in_its_form(run, folder):
    answer = json.loads(run(payload("SessionStart", transcript_path=f"/h/{folder}/s.jsonl"), "claude", "SessionStart"))
    assert set(answer) == {"hookSpecificOutput", "systemMessage"}


ASKS = "Which port of bastion7 does the nightly export to the warehouse use?"


def gemini_asks(home):
    return ("SessionStart", {}), ("UserPromptSubmit", {"prompt": ASKS, "hook_event_name": "BeforeAgent"})


def droid_asks(home):
    record = home / "s.jsonl"
    record.write_text(json.dumps({"type": "session_start", "id": "s", "title": ASKS}) + "\n")
    return (("SessionStart", {"source": "startup", "transcript_path": str(record)}),)


def cline_asks(home):
    record = home / ".cline" / "data" / "sessions" / "s" / "s.messages.json"
    record.parent.mkdir(parents=True)
    said = {"role": "user", "content": [{"type": "text", "text": f"<user_input>{ASKS}</user_input>"}]}
    record.write_text(json.dumps({"messages": [said]}))
    result = {"id": "a", "name": "run_commands", "input": {}, "output": [{"success": True}]}
    return ("SessionStart", {"taskId": "s"}), ("PostToolUse", {"taskId": "s", "tool_result": result})


@pytest.mark.long
@pytest.mark.few(1)
@pytest.mark.parametrize("asks", [gemini_asks, droid_asks, cline_asks])
def test_what_the_first_prompt_speaks_of_is_told_with_the_start_where_no_other_event_tells_it(run, home, asks):
    run(b"", "gitmem", "save", "The nightly export to the warehouse runs on port 5439 of bastion7.")
    for number in range(12):
        run(b"", "gitmem", "save", f"Module m{number} is n{number} now. " + "The loader reads its table once. " * 12)
    run(b"", "gitmem", "config", "session.budget_tokens", "500")
    name = asks.__name__.removesuffix("_asks")
    told = [run(payload(event, **more), name, event) for event, more in asks(home)]
    assert not any(told[:-1])
    answer = json.loads(told[-1])
    text = answer.get("contextModification") or answer["hookSpecificOutput"]["additionalContext"]
    start, _, rest = text.partition("</gitmem-memory>")
    assert "uv instead of pip" in start
    assert "5439" not in start
    assert rest.startswith("\n\n<gitmem-memory source='prompt'>")
    assert "port 5439 of bastion7" in rest


@pytest.mark.parametrize("success", [True, False])
def test_cline_is_told_with_the_first_tool_after_a_start_as_it_hears_no_answer_before(run, project, success):
    def called(tool: str) -> str:
        result = {"tool_result": {"id": tool, "name": "run_commands", "input": {}, "output": [{"success": success}]}}
        common = {"sessionContext": {"rootSessionId": "s"}, "workspaceRoots": [str(project)]}
        return run(json.dumps(common | result).encode(), "cline", "PostToolUse")

    assert called("1") == ""
    assert run(b'{"hookName": "agent_start", "taskId": "s"}', "cline", "SessionStart") == ""
    assert "uv instead of pip" in json.loads(called("2"))["contextModification"]
    assert called("3") == ""


def mutated(value: object, chance: random.Random) -> object:
    """Return JSON with one of its values replaced by something else, or left out, or repeated."""
    odd = [None, 0, -1, 1e308, True, "", "\0", "한글\ud800", "../../x", "x" * 5_000, [], {}, [[]], {"a": {}}, "/x#y"]
    if isinstance(value, dict) and value and chance.random() < 0.8:
        key = chance.choice(sorted(value))
        changed = dict(value)
        changed[key] = mutated(value[key], chance)
        if chance.random() < 0.1:
            del changed[key]
        return changed
    if isinstance(value, list) and value and chance.random() < 0.8:
        at = chance.randrange(len(value))
        return [*value[:at], mutated(value[at], chance), *value[at:]]
    return chance.choice(odd)


def cut(data: bytes, chance: random.Random) -> bytes:
    """Return now and then a part of the bytes, or with others between them."""
    at = chance.randrange(len(data) + 1)
    return chance.choice([data, data, data, data[:at], data[:at] + b"\xff\0{" + data[at:]])


@pytest.mark.parametrize(
    "mutations",
    [pytest.param(200, id="some"), pytest.param(1_000, id="thousand", marks=(pytest.mark.slow, pytest.mark.long))],
)
@pytest.mark.parametrize("host", [name for name in NAMES if find_host(name).events])
@pytest.mark.few(1)
def test_mutated_payloads_harm_nobody_and_leave_the_store_alone(project, run, host, environ, mutations):
    # The plugins of these turn events into Claude Code's payloads; of Cursor and Amp none are recorded.
    given = payloads_of("claude" if host in {"opencode", "kilo", "pi", "cursor", "amp"} else host)
    events = [ours.partition(".")[0] for ours in find_host(host).events.values() if ours != "SessionStart"] or [""]
    chance, seen = random.Random(17), {path for path in project.parent.rglob("*") if ".gitmem" not in path.parts}
    spool = HookSpool(str(project / ".gitmem" / ".git" / "gitmem"))
    accepted = 0
    for number in range(mutations):
        value = mutated(chance.choice(given), chance)
        if isinstance(value, dict) and value.get("hook_event_name") == "SessionStart":
            value["hook_event_name"] = "Stop"  # a start opens the store and asks git, which takes its time
        said = run(cut(json.dumps(value).encode(), chance), host, chance.choice(events))
        assert said == "" or "gitmem-memory" in said
        if number % 100 == 99:
            read_pending(Store(str(project / ".gitmem"), Context(environ, environ["HOME"], "here", lambda: NOW)))
            accepted += len(spool.names())
            spool.remove(spool.names())
    assert accepted > mutations // 10
    assert {path for path in project.parent.rglob("*") if ".gitmem" not in path.parts} == seen
