"""What keeps an agent from running what was installed is said by `install`, `status` and `doctor`."""

import json
import os
import time
from datetime import UTC, datetime

import pytest

from gitmem.store.last_event import note_event_arrival
from tests.command_line import Runner

FOR_ALL = {"cline", "kilo"}  # gitmem installs into their user's settings only


@pytest.fixture
def run(project, home, environ, on_path, initialize):
    """Give a function that runs a command in the project, whose folder no agent trusts."""
    initialize(project)
    return Runner(project, environ)


def words(text: str) -> str:
    return " ".join(text.replace(">", " ").split())


def off(run) -> str:
    return " ".join(json.loads(run("status", "--json")[1])["off"])


def warnings(run, check: str) -> str:
    checks = json.loads(run("doctor", "--json")[1])["checks"]
    return " ".join(
        f"{one['message']} {one['remedy']}" for one in checks if (one["check"], one["level"]) == (check, "warning")
    )


ASKED = {
    "claude": ("Claude Code asks at its next start whether you trust this folder", "Yes, I trust this folder"),
    "codex": ("Codex asks at its next start whether you trust this folder", "Choose Yes"),
    "gemini": ("Gemini CLI asks at its next start whether you trust this folder", "Answer that you trust"),
    "copilot": ("Copilot CLI asks at its next start whether you trust this folder", "Answer that you trust"),
    "pi": ("pi asks at its next start whether you trust this folder", "Answer that you trust"),
}
TRUSTED = {
    "claude": {
        ".claude.json": '{"projects": {"PROJECT": {"hasTrustDialogAccepted": true}}}',
        ".claude/settings.json": '{"enabledMcpjsonServers": ["gitmem"]}',
    },
    "codex": {".codex/config.toml": '[projects."PROJECT"]\ntrust_level = "trusted"\n'},
    "gemini": {".gemini/trustedFolders.json": '{"PROJECT": "TRUST_FOLDER"}'},
    "copilot": {".copilot/config.json": '{"trustedFolders": ["PROJECT"]}'},
    "pi": {".pi/agent/trust.json": '{"PROJECT": true}'},
}


@pytest.mark.long
@pytest.mark.few(1)
@pytest.mark.parametrize("name", ASKED)
def test_what_an_agent_asks_at_its_next_start_is_said_until_it_is_answered(run, project, home, name):
    asks, answer = ASKED[name]
    out = words(run("install", name, "--project", "--no-judge")[1])
    assert asks in out
    assert answer in out
    assert "recorded from the next one on" not in out
    assert asks in off(run)
    assert asks in warnings(run, "host")
    for path, text in TRUSTED[name].items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_text(text.replace("PROJECT", project.as_posix()))
    if name == "codex":
        assert "does not run gitmem's hooks before you trust them" in off(run)
        run("install", name, "--project", "--trust", "--no-judge")
    assert off(run) == ""
    assert warnings(run, "host") == warnings(run, "mcp") == ""


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["cline", "droid", "kilo", "opencode", "qwen"])
def test_an_agent_that_asks_for_no_trust_is_recorded_at_once(run, name):
    out = words(run("install", name, "--user" if name in FOR_ALL else "--project", "--no-judge")[1])
    assert "recorded from the next one on" in out
    assert "asks at its next start" not in out
    assert off(run) == warnings(run, "host") == warnings(run, "mcp") == ""


def test_a_script_that_is_missing_is_said(run, home):
    run("install", "droid", "--project", "--no-judge")
    assert off(run) == ""
    (home / ".local/share/gitmem/hook.sh").unlink()
    assert "hook.sh, which the hooks read, is missing" in off(run)
    assert "'gitmem install droid' renews it" in warnings(run, "host")


HOOKS, SERVER = "host", "mcp"
# A setting of each agent with which it runs no hooks, or where there is none, starts no server: below the home or, with
# `./`, the project.
DISABLED = {
    "claude": (HOOKS, ".claude/settings.json", {"disableAllHooks": True}),
    "cline": (SERVER, ".cline/data/settings/cline_mcp_settings.json", {"mcpServers": {"gitmem": {"disabled": True}}}),
    "codex": (HOOKS, ".codex/config.toml", "[features]\nhooks = false\n"),
    "copilot": (HOOKS, ".copilot/settings.json", {"disableAllHooks": True}),
    "droid": (HOOKS, ".factory/settings.json", {"hooks": {"hooksDisabled": True}}),
    "gemini": (HOOKS, ".gemini/settings.json", {"hooksConfig": {"enabled": False}}),
    "kilo": (SERVER, ".config/kilo/kilo.json", {"mcp": {"gitmem": {"enabled": False}}}),
    "opencode": (SERVER, "./opencode.json", {"mcp": {"gitmem": {"enabled": False}}}),
    "pi": (HOOKS, "./.pi/settings.json", {"extensions": ["-extensions/gitmem.js"]}),
    "qwen": (HOOKS, ".qwen/settings.json", {"disableAllHooks": True}),
}


@pytest.mark.parametrize("name", DISABLED)
@pytest.mark.few(3)
def test_what_an_agents_own_settings_switch_off_is_said(run, project, home, name):
    part, below, setting = DISABLED[name]
    for path, text in TRUSTED.get(name, {}).items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_text(text.replace("PROJECT", project.as_posix()))
    scope = "--user" if name in FOR_ALL else "--project"
    run("install", name, scope, "--no-judge", "--trust")
    assert not warnings(run, part)
    path = project / below if below.startswith("./") else home / below
    path.parent.mkdir(parents=True, exist_ok=True)
    before = path.read_text() if path.exists() else ""
    path.write_text(before + setting if isinstance(setting, str) else merged(before, setting))
    assert str(path) in warnings(run, part)
    assert (str(path) in off(run)) is (part == HOOKS)
    out, err = run("install", name, scope, "--no-judge", "--trust")[1:]
    assert str(path) in out + err


def merged(text: str, setting: dict[str, object]) -> str:
    """Return JSON settings with another one in them."""

    def put(into: dict[str, object], more: dict[str, object]) -> dict[str, object]:
        for key, value in more.items():
            there = into.get(key)
            into[key] = put(there, value) if isinstance(there, dict) and isinstance(value, dict) else value
        return into

    return json.dumps(put(json.loads(text or "{}"), setting))


DECLINED = {
    "claude": (".claude.json", '{"projects": {"PROJECT": {"disabledMcpServers": ["gitmem"]}}}', "you switched it off"),
    "codex": (".codex/config.toml", '[projects."PROJECT"]\ntrust_level = "untrusted"\n', "does not trust this folder"),
    "gemini": (".gemini/trustedFolders.json", '{"PROJECT": "DO_NOT_TRUST"}', "does not trust this folder"),
    "qwen": (".qwen/settings.json", '{"mcp": {"excluded": ["gitmem"]}}', "leaves it out"),
    "pi": (".pi/agent/trust.json", '{"PROJECT": false}', "does not trust this folder"),
}


@pytest.mark.parametrize("name", DECLINED)
@pytest.mark.few(2)
def test_what_the_user_declined_is_said(run, project, home, name):
    path, text, said = DECLINED[name]
    (home / path).parent.mkdir(parents=True, exist_ok=True)
    (home / path).write_text(text.replace("PROJECT", project.as_posix()))
    assert said in words(run("install", name, "--project", "--no-judge")[2])
    assert said in warnings(run, "mcp")


def test_a_refused_server_of_the_project_is_said(run, project):
    """Enter alone at Claude Code's question writes this, unseen."""
    run("install", "claude", "--project", "--no-judge")
    (project / ".claude" / "settings.local.json").write_text('{"disabledMcpjsonServers": ["gitmem"]}')
    assert "disabledMcpjsonServers names it" in warnings(run, "mcp")


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "policy", [{"allowManagedHooksOnly": True}, {"disableAllHooks": True}, {"allowedMcpServers": []}]
)
def test_a_policy_of_an_organization_is_said(run, tmp_path, monkeypatch, policy):
    managed = tmp_path / "managed.json"
    managed.write_text(json.dumps(policy))
    monkeypatch.setattr("gitmem.hosts.obstacles._managed_paths", lambda name: [str(managed)] * (name == "claude"))
    run("install", "claude", "--project", "--no-judge")
    said = warnings(run, "host") + warnings(run, "mcp")
    assert str(managed) in said
    assert "Only your organization can change that." in said


def test_an_installation_that_changes_nothing_forgets_no_event_and_a_new_one_names_the_last(run, project):
    run("install", "qwen", "--project", "--no-judge")
    private = project / ".gitmem" / ".git" / "gitmem"
    [record] = (private / "hosts").iterdir()
    note_event_arrival(str(private), [record.stem])
    early = time.time() - 60
    for path in (record, private / "heard" / record.stem):
        os.utime(path, (early, early))
    run("install", "qwen", "--project", "--no-judge")
    assert "No event" not in run("doctor")[1]
    run("uninstall", "qwen")
    run("install", "qwen", "--project", "--no-judge")
    said = words(run("doctor")[1])
    assert "No event of Qwen Code has arrived here since the install on" in said
    assert "(the last one came on 20" in said


LATER = 60  # seconds
BEGUN = '{"type": "user", "sessionId": "s-9", "timestamp": "AT", "cwd": "PROJECT", "message": MESSAGE}'
MESSAGE = '{"role": "user", "content": "Hello.", "parts": [{"text": "Hello."}]}'  # Claude Code's and Qwen Code's keys


def begin(project, chats, *, ago: float = -LATER, more: str = "") -> None:
    """Write the transcript of a session that began at that time and goes on."""
    chats.mkdir(parents=True, exist_ok=True)
    at = f"{datetime.fromtimestamp(time.time() - ago, UTC):%Y-%m-%dT%H:%M:%S.000Z}"
    path = chats / "s-9.jsonl"
    line = BEGUN.replace("MESSAGE", MESSAGE).replace("AT", at).replace("PROJECT", project.as_posix())
    path.write_text(f"{line}\n{more}")
    os.utime(path, (time.time() + LATER,) * 2)


def chats_of(project, home, name: str):
    folder = "".join(one if one.isascii() and one.isalnum() else "-" for one in str(project))
    below = {"claude": (".claude", "projects", folder), "qwen": (".qwen", "projects", folder, "chats")}
    return home.joinpath(*below[name])


def test_sessions_that_no_event_told_of_are_said(run, project, home):
    run("install", "qwen", "--project", "--no-judge")
    assert "No event of Qwen Code has arrived here since the install on" in words(run("doctor")[1])
    assert not warnings(run, "host")
    chats = chats_of(project, home, "qwen")
    begin(project, chats, ago=LATER)
    assert not warnings(run, "host"), "a session that was open before has no hooks"
    begin(project, chats)
    assert "though 1 session of it began since" in warnings(run, "host")


@pytest.fixture
def recorded(run, project, home):
    """Give a function that installs an agent, which trusts the project, and has it record a session."""

    def install(name: str, *options: str) -> None:
        for path, text in TRUSTED.get(name, {}).items():
            (home / path).parent.mkdir(parents=True, exist_ok=True)
            (home / path).write_text(text.replace("PROJECT", project.as_posix()))
        assert run("install", name, "--project", "--no-judge", "--trust", *options)[0] == 0
        session = {"session_id": "s-1", "cwd": str(project)}
        for event, said in (("UserPromptSubmit", {"prompt": "Which port?"}), ("Stop", {"last_assistant_message": "4"})):
            payload = {"hook_event_name": event, **session, **said}
            run("hook", name, event, stdin=json.dumps(payload).encode())
        run("hook", name, "--drain")
        assert json.loads(run("status", "--json")[1])["last_event"]
        assert (off(run), warnings(run, "host"), warnings(run, "mcp")) == ("", "", "")

    return install


def rewrite(path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.few(1)
@pytest.mark.parametrize("name", TRUSTED)
def test_trust_that_is_withdrawn_after_a_session_is_said(run, home, recorded, name):
    recorded(name)
    for path in TRUSTED[name]:
        (home / path).unlink()
    asks = ASKED[name][0]
    assert asks in off(run)
    assert asks in warnings(run, "host")


def test_codex_that_no_longer_trusts_the_hooks_is_said(run, home, recorded):
    recorded("codex")
    rewrite(home / ".codex" / "config.toml", "trusted_hash", "other_hash")
    for said in (off(run), warnings(run, "host")):
        assert "Codex does not run gitmem's hooks before you trust them" in said
        assert "'gitmem install codex --project --trust'" in said
        assert "'codex exec' does not ask" in said
    run("install", "codex", "--project", "--no-judge", "--trust")
    rewrite(home / ".codex" / "config.toml", '"trusted"', '"untrusted"')
    assert "does not trust this folder" in off(run)
    assert "does not trust this folder" in warnings(run, "host")


@pytest.mark.parametrize(
    "trusted, asks", [("linked", False), ("project", False), ("", True)], ids=["itself", "main", "folder above"]
)
@pytest.mark.few(1)
def test_in_a_linked_work_tree_claude_goes_by_the_main_ones_trust(  # noqa: PLR0917
    run, project, home, bare_git, trusted, asks
):
    """As seen in 2.1.330, which takes no repository for trusted because a folder above it is."""
    bare_git(project, "commit", "-q", "--allow-empty", "-m", "x")
    linked = project.parent / "linked"
    bare_git(project, "worktree", "add", "-q", str(linked))
    trust = {"projects": {str(project.parent / trusted): {"hasTrustDialogAccepted": True}}}
    (home / ".claude.json").write_text(json.dumps(trust))
    there = Runner(linked, run.environ)
    assert there("install", "claude", "--project", "--no-judge", "--init")[0] == 0
    assert bool(off(there)) is asks


def test_in_a_linked_work_tree_codex_runs_the_main_ones_hooks(run, project, home, bare_git, recorded):
    """As `hooks/list` of its app-server says in 0.169.0, whichever of both the user trusts."""
    bare_git(project, "commit", "-q", "--allow-empty", "-m", "x")
    linked = project.parent / "linked"
    bare_git(project, "worktree", "add", "-q", str(linked))
    there = Runner(linked, run.environ)
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text(f'[projects."{project.as_posix()}"]\ntrust_level = "trusted"\n')
    assert there("install", "codex", "--project", "--no-judge", "--trust")[0] == 0
    assert f"Run: gitmem -C {project} install codex" in off(there)
    recorded("codex")
    assert off(there) == ""


def test_codex_runs_the_hooks_of_a_repository_whose_git_dir_is_elsewhere(run, project, home, bare_git):
    """As a submodule's is."""
    (project.parent / "modules").mkdir()
    bare_git(project, "init", "-q", "--separate-git-dir", str(project.parent / "modules" / "one"))
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text(f'[projects."{project.as_posix()}"]\ntrust_level = "trusted"\n')
    run("install", "codex", "--project", "--no-judge", "--trust")
    assert "hooks" in (project / ".codex" / "hooks.json").read_text()
    assert off(run) == ""


def test_where_only_claude_p_is_recorded_status_calls_it_recorded_and_says_what_is_not(run, home, recorded):
    recorded("claude")
    (home / ".claude.json").unlink()
    lines = run("status")[1].splitlines()
    assert lines[0].startswith("recording   Claude Code; last event ")
    assert "Until you do, only 'claude -p' is recorded." in lines[1]


@pytest.mark.few(1)
@pytest.mark.parametrize("gone", ["file", "entry"])
def test_a_server_that_is_gone_is_said(run, project, recorded, gone):
    recorded("claude")
    listing = project / ".mcp.json"
    if gone == "file":
        listing.unlink()
    else:
        listing.write_text('{"mcpServers": {}}')
    said = f"the server gitmem is gone from {listing}"
    assert said in warnings(run, "mcp")
    assert "'gitmem install claude --project' writes it again." in warnings(run, "mcp")
    assert said in " ".join(json.loads(run("status", "--json")[1])["tools"])
    run("install", "claude", "--project", "--no-judge")
    assert not warnings(run, "mcp")
    run("uninstall", "claude")
    assert not warnings(run, "mcp")


@pytest.mark.parametrize("missing", [["Stop"], ["UserPromptSubmit", "Stop"]])
@pytest.mark.few(1)
def test_hooks_that_are_missing_are_named(run, project, recorded, missing):
    recorded("claude")
    path = project / ".claude" / "settings.json"
    settings = json.loads(path.read_text())
    for event in missing:
        del settings["hooks"][event]
    path.write_text(json.dumps(settings))
    for said in (off(run), warnings(run, "host")):
        assert f"{path} lacks gitmem's hooks for {' and '.join(missing)}" in said
        assert "'gitmem install claude --project' adds them." in said
        assert "version" not in said
    run("install", "claude", "--project", "--no-judge")
    assert off(run) == warnings(run, "host") == ""


def test_a_hook_of_another_version_is_named(run, project, recorded):
    recorded("claude")
    path = project / ".claude" / "settings.json"
    rewrite(path, "gitmem=Stop .", "gitmem=Halt .")
    assert f"Another version of gitmem wrote the hook for Stop in {path}." in warnings(run, "host")


def test_with_all_hooks_gone_doctor_fails(run, project, recorded):
    recorded("claude")
    (project / ".claude" / "settings.json").unlink()
    code, out, _ = run("doctor")
    assert code == 1
    assert "Claude Code is not recorded any more: the hooks are gone from" in words(out)
    assert "'gitmem install claude --project' writes them again." in words(out)


def test_a_session_after_the_last_event_is_said_to_be_unrecorded(run, project, home, recorded):
    recorded("claude")
    chats = chats_of(project, home, "claude")
    begin(project, chats, ago=LATER, more='{"type": "user", "sessionId": "s-9", "message": {"content": "More."}}\n')
    assert not warnings(run, "host"), "a session that goes on after its last event"
    begin(project, chats)
    said = warnings(run, "host")
    assert "1 session of Claude Code began here after its last event, at 20" in said
    assert "gitmem import --from claude" in said


def test_claudes_own_note_of_an_answer_stays_and_is_said(run, project, recorded):
    note = project / ".claude" / "settings.local.json"
    recorded("claude")
    note.write_text('{"enabledMcpjsonServers": ["gitmem"]}')
    out = run("uninstall", "claude")[1]
    assert f"Claude Code's own note of your answer on the server stays in {note}." in out
    assert note.read_text() == '{"enabledMcpjsonServers": ["gitmem"]}'
    note.unlink()
    assert str(note) not in run("uninstall", "claude")[1]
