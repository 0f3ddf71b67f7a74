"""The plugins in JavaScript, run by Node with what the real clients gave to such a plugin."""

import json
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gitmem.hosts import InstallPlace, Scope, find_host, read_payload
from gitmem.hosts.settings import HOOKS
from gitmem.sessions.events import parse_payload
from gitmem.sessions.turns import fold
from tests.recorded import payloads_of

AT = datetime(2026, 11, 22, 16, 42, tzinfo=UTC)
NODE = shutil.which("node")
MEMORY = '{"hookSpecificOutput": {"additionalContext": "THE MEMORY"}}'
RECALLED = MEMORY.replace("THE MEMORY", "RECALLED")
MENDED = MEMORY.replace("THE MEMORY", "MENDED")
HOOK = f"""
cat >"$HOME/out/$(ls "$HOME/out" | wc -l)-$gitmem"
case $gitmem in
SessionStart*) echo '{MEMORY}' ;;
UserPromptSubmit*) echo '{RECALLED}' ;;
PostToolUseFailure*) echo '{MENDED}' ;;
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

    def play(host: str, run: str) -> tuple[list[dict[str, object]], list[str]]:
        events = tmp_path / "events.json"
        events.write_text(json.dumps(payloads_of(run)))
        items = find_host(host).edits(InstallPlace(Scope.USER, "/p", str(tmp_path), {}))
        plugin = tmp_path / "gitmem.mjs"
        plugin.write_bytes(next(item.data for item in items if item.part == HOOKS))
        script = tmp_path / ".local" / "share" / "gitmem" / "hook.sh"
        script.parent.mkdir(parents=True)
        script.write_text(HOOK)
        (tmp_path / "out").mkdir()
        (tmp_path / "driver.mjs").write_text(DRIVER)
        done = subprocess.run(
            [NODE, str(tmp_path / "driver.mjs"), str(plugin), str(events), host],
            cwd=tmp_path, env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}, capture_output=True, check=True,
        )  # fmt: skip
        sent = sorted((tmp_path / "out").iterdir(), key=lambda path: int(path.name.split("-")[0]))
        return [json.loads(path.read_bytes()) for path in sent], json.loads(done.stdout)

    return play


def test_amps_plugin_sends_what_its_documentation_tells_of_a_thread(tmp_path):
    if NODE is None or sys.platform == "win32":
        pytest.skip("there is no Node and sh here")
    items = find_host("amp").edits(InstallPlace(Scope.USER, "/p", str(tmp_path), {}))
    (tmp_path / "gitmem.mjs").write_bytes(next(item.data for item in items if item.part == HOOKS))
    script = tmp_path / ".local" / "share" / "gitmem" / "hook.sh"
    script.parent.mkdir(parents=True)
    script.write_text(HOOK)
    (tmp_path / "out").mkdir()
    (tmp_path / "driver.mjs").write_text(AMP)
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([NODE, "driver.mjs"], cwd=tmp_path, env=environ, capture_output=True, check=True)
    assert json.loads(done.stdout) == [
        {"message": {"content": text, "display": False}} for text in ("THE MEMORY\n\nRECALLED", "RECALLED")
    ]
    sent = sorted((tmp_path / "out").iterdir(), key=lambda path: int(path.name.split("-")[0]))
    first, second = turns([json.loads(path.read_bytes()) for path in sent], "amp")
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
