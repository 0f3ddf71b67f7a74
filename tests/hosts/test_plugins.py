"""The plugins in JavaScript, run by Node with what real clients gave to such a plugin; sessions out of databases."""

import json
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gitmem.hosts.edits import edits_of
from gitmem.hosts.host import InstallPlace, Scope
from gitmem.hosts.registry import find_host, read_payload, read_transcript, transcript_file
from gitmem.hosts.settings import HOOKS
from gitmem.model.events import HookKind
from gitmem.model.turns import fold
from gitmem.record.read import parse_payload
from tests.recorded import payloads_of

AT = datetime(2026, 11, 22, 16, 42, tzinfo=UTC)
NODE = shutil.which("node")
MEMORY = '{"hookSpecificOutput": {"additionalContext": "THE MEMORY"}}'
RECALLED = MEMORY.replace("THE MEMORY", "RECALLED")
FIX_MARK = MEMORY.replace("THE MEMORY", "MENDED")
HOOK = f"""
cat >"$HOME/out/$(ls "$HOME/out" | wc -l)-$gitmem"
case $gitmem in
SessionStart*) echo '{MEMORY}' ;;
UserPromptSubmit*) echo '{RECALLED}' ;;
PostToolUseFailure*) echo '{FIX_MARK}' ;;
esac
"""
DRIVER = """
import { readFileSync } from "node:fs"
const [path, recorded, host] = process.argv.slice(2)
const given = await import(path)
const ctx = { cwd: process.cwd(), sessionManager: { getSessionId: () => "s-1", getSessionFile: () => "" } }
const handlers = {}, told = []
if (host === "pi") given.default({ on: (name, handler) => (handlers[name] = handler) })
const plugin = host === "pi" ? {} : await given.Gitmem({ directory: process.cwd() })
for (let { event, given: payload } of JSON.parse(readFileSync(recorded))) {
  if (host === "pi") {
    const answer = await handlers[event.split("-")[0]]?.(payload, ctx)
    if (answer?.message) told.push(answer.message.content)
    if (answer?.content) told.push(answer.content.at(-1).text)
  } else if (event.startsWith("event.")) {
    await plugin.event({ event: { type: event.slice(6), properties: payload[0] } })
  } else if (event === "system.transform") {
    const output = { system: ["You are an agent."] }
    await plugin["experimental.chat.system.transform"](payload[0], output)
    told.push(...output.system.slice(1))
  } else {
    event = event.split("-")[0].replace("session.compacting", "experimental.session.compacting")
    await plugin[event]?.(...payload)
    if (payload[1]?.output?.endsWith("\\n\\nMENDED")) told.push("MENDED")
    if (event === "chat.message") {
      told.push(...payload[1].parts.filter((part) => part.synthetic).map((part) => part.text))
    }
  }
}
console.log(JSON.stringify(told))
"""


AMP = """
import plugin from "./gitmem.mjs"
const handlers = {}
plugin({ on: (name, handler) => (handlers[name] = handler), system: {}, helpers: {} })
const thread = { id: "T-1" }
const said = (text) => [{ role: "user", content: "x" }, { role: "assistant", content: [{ type: "text", text }] }]
const told = [await handlers["agent.start"]({ thread, id: 1, message: "Set up uv." })]
const result = (more) => handlers["tool.result"]({ thread, ...more })
await result({ toolUseID: "a", tool: "edit_file", input: { path: "/p/a.py" }, status: "done", output: "ok" })
await result({ toolUseID: "b", tool: "Bash", input: { cmd: "ls /no" }, status: "error", error: "No such file" })
await handlers["agent.end"]({ thread, id: 1, messages: said("Done."), status: "done" })
told.push((await handlers["agent.start"]({ thread, id: 2, message: "And now?" })) ?? null)
await handlers["agent.end"]({ thread, id: 2, messages: said("Nothing.") })
console.log(JSON.stringify(told))
"""


@pytest.fixture
def played(tmp_path):
    """Give a function that plays a host's recorded events to its plugin; returns what was sent, and what was told."""
    if NODE is None or sys.platform == "win32":
        pytest.skip("there is no Node and sh here")

    def play(host: str, run: str = "", driver: str = DRIVER) -> tuple[list[dict[str, object]], list[object]]:
        events = tmp_path / "events.json"
        events.write_text(json.dumps(payloads_of(run) if run else []))
        items = edits_of(find_host(host), InstallPlace(Scope.USER, "/p", str(tmp_path), {}))
        plugin = tmp_path / "gitmem.mjs"
        plugin.write_bytes(next(item.data for item in items if item.part == HOOKS))
        script = tmp_path / ".local" / "share" / "gitmem" / "hook.sh"
        script.parent.mkdir(parents=True)
        script.write_text(HOOK)
        (tmp_path / "out").mkdir()
        (tmp_path / "driver.mjs").write_text(driver)
        done = subprocess.run(
            [NODE, str(tmp_path / "driver.mjs"), str(plugin), str(events), host],
            cwd=tmp_path, env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}, capture_output=True, check=True,
        )  # fmt: skip
        sent = sorted((tmp_path / "out").iterdir(), key=lambda path: int(path.name.split("-")[0]))
        return [json.loads(path.read_bytes()) for path in sent], json.loads(done.stdout)

    return play


def test_amps_plugin_sends_what_its_documentation_tells_of_a_thread(played):
    sent, told = played("amp", driver=AMP)
    assert told == [{"message": {"content": text, "display": False}} for text in ("THE MEMORY\n\nRECALLED", "RECALLED")]
    first, second = turns(sent, "amp")
    assert (first.session, first.prompt, first.answer, first.closed) == ("T-1", "Set up uv.", "Done.", True)
    assert (first.files, [one.command for one in first.failures]) == (("/p/a.py",), ["ls /no"])
    assert (second.prompt, second.answer) == ("And now?", "Nothing.")


def turns(sent, host):
    read = [(number, read_payload(payload, host, "", ({}, "/h"))) for number, payload in enumerate(sent)]
    events = (parse_payload(payload, AT + timedelta(seconds=number), label) for number, (label, payload) in read)
    return fold(event for event in events if event is not None)


@pytest.mark.parametrize("host", ["opencode", "kilo", "pi"])
def test_recorded_events_become_the_turn_that_was(played, host):
    sent, told = played(host, host)
    (turn,) = turns(sent, host)
    assert (turn.prompt, turn.answer) == ("PROMPT-ONE 첫 요청", "DONE-ONE: 결정: **uv**, not pip.")
    assert [Path(name).name for name in turn.files] == ["notes.md"]
    assert [failure.command for failure in turn.failures] == ["ls /no/such/dir"]
    assert (turn.tools, turn.closed) == (4, True)
    assert set("\n\n".join(told).split("\n\n")) == {"THE MEMORY", "RECALLED", "MENDED"}
    assert [payload["hook_event_name"] for payload in sent].count("SessionStart") == 1
    assert sent[-1]["hook_event_name"] == "SessionEnd"


def test_subagents_and_summaries_of_a_compaction_are_no_turns(played):
    sent, _ = played("opencode", "opencode-compaction")
    found = turns(sent, "opencode")
    assert not any("PROMPT-SUB" in turn.prompt or "DONE-SUB" in turn.answer for turn in found)
    assert not any("Summary of the conversation" in turn.answer for turn in found)
    assert len(found) >= 2


@pytest.mark.parametrize("host", ["opencode", "kilo"])
def test_the_sessions_of_a_project_are_found_and_the_database_stays(recorded_transcript, host, tmp_path):
    path = recorded_transcript(host)
    before = Path(transcript_file(path)).read_bytes()
    place = InstallPlace(Scope.PROJECT, "/W/project", "/h", {"XDG_DATA_HOME": str(tmp_path)})
    assert find_host(host).sessions(place) == [path]
    assert find_host(host).sessions(place._replace(project="/W/other")) == []
    assert Path(transcript_file(path)).read_bytes() == before


@pytest.mark.parametrize("data", [b"", b"no database", None])
def test_what_is_no_database_tells_nothing(tmp_path, data):
    path = tmp_path / "opencode.db"
    if data is not None:
        path.write_bytes(data)
    assert list(read_transcript(f"{path}#ses_1")) == []


def test_a_prompt_loses_its_quotes_and_keeps_its_id():
    prompt = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": '"set it up"', "prompt_id": "msg_1"}
    event = parse_payload(read_payload(prompt, "kilo", "", ({}, "/h"))[1], AT, "kilo")
    assert (event.kind, event.text, event.turn) == (HookKind.PROMPT, "set it up", "msg_1")
