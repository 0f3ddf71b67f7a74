"""`gitmem install`, `uninstall` and `replay --from` for every agent: listed, all at once, taken back."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from gitmem.cli.app import App
from gitmem.hosts.edits import READS
from gitmem.hosts.registry import NAMES, find_host
from gitmem.platform.machine import machine_name
from tests.command_line import Runner
from tests.own_settings import own_file
from tests.recorded import TRANSCRIPTS


@pytest.fixture
def run(project, home, environ, on_path, initialize):
    """Give a function that runs a command in the project."""
    initialize(project)
    machine_name(str(home))  # which the first command makes, and which stays
    own_file(environ, str(home)).write_text("summary:\n  provider: offline\n")  # whether a model may judge is answered
    return Runner(project, environ)


def tree(*folders: Path) -> dict[str, bytes | None]:
    paths = [path for folder in folders for path in folder.rglob("*") if ".git" not in path.parts]
    return {str(path): path.read_bytes() if path.is_file() else None for path in paths if ".gitmem" not in path.parts}


@pytest.mark.parametrize("settings, said", [("{}", "the hooks are gone from"), ("{", "settings.json")])
def test_hooks_that_vanished_are_missed_beside_an_agent_that_has_its_own(run, project, settings, said):
    for name in ("claude", "codex"):
        assert run("install", name, "--only", "hooks", "--project", "--yes")[0] == 0
    assert "not recorded any more" not in run("doctor")[1]
    file = project / ".claude" / "settings.json"
    file.write_text(settings)
    for door in (("status",), ("doctor",)):
        shown = " ".join(run(*door)[1].split())
        assert "Claude Code is not recorded any more: " in shown
        assert said in shown
        assert "gitmem install claude --project" in shown
    assert "Codex" in shown
    file.write_text("{}")
    assert run("install", "claude", "--only", "hooks", "--project", "--yes")[0] == 0
    assert "not recorded any more" not in run("doctor")[1]
    assert run("uninstall", "claude", "--project", "--yes")[0] == 0
    assert "not recorded any more" not in run("doctor")[1]


@pytest.mark.parametrize("scope", ["--user", "--project"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.few(4)
def test_uninstall_leaves_every_file_as_it_was(run, project, home, name, scope):
    if scope[2:] not in {one.value for one in find_host(name).scopes}:
        assert run("install", name, scope, "--yes")[0] == 2
        return
    before = tree(project, home)
    assert run("install", name, scope, "--yes")[0] == 0
    assert tree(project, home) != before
    assert run("uninstall", name, scope)[0] == 0
    assert tree(project, home) == before


def test_settings_that_cannot_be_read_keep_those_of_no_other_agent_from_going(run, project, home, environ, tmp_path):
    environ["PATH"] = str(tmp_path / "bin") + os.pathsep + "/usr/bin" + os.pathsep + "/bin"
    for folder in (".codex", ".qwen"):
        (home / folder).mkdir()
    assert run("install", "--all", "--yes")[0] == 0
    servers = project / ".codex" / "config.toml"
    servers.write_text(f"]\n{servers.read_text(encoding='utf-8')}", encoding="utf-8")
    before = tree(project / ".codex")
    assert run("uninstall", "codex")[0] == 8
    assert tree(project / ".codex") == before, "nor its hooks, which could be read"
    code, out, err = run("uninstall", "--all")
    assert (code, "Removed .qwen/settings.json" in out) == (8, True)
    assert f"{servers} is not TOML" in err
    assert not (project / ".qwen").exists()


@pytest.mark.parametrize("mine", [None, b"# Mine\r\nno line end"])
@pytest.mark.parametrize("first", ["crush", "roo"])
def test_two_agents_share_a_block_and_the_last_one_takes_it_out(run, project, home, mine, first):
    if mine is not None:
        (project / "AGENTS.md").write_bytes(mine)
    before, second = tree(project, home), "roo" if first == "crush" else "crush"
    for name in ("crush", "roo", "crush"):
        assert run("install", name, "--yes")[0] == 0
    assert (project / "AGENTS.md").read_bytes().count(b"memory_search") == 1
    assert run("uninstall", first)[0] == 0
    assert b"memory_search" in (project / "AGENTS.md").read_bytes()
    assert run("uninstall", second)[0] == 0
    assert tree(project, home) == before


def test_the_agents_of_this_machine_are_listed_and_all_installed(run, home, environ, tmp_path):
    environ["PATH"] = str(tmp_path / "bin") + os.pathsep + "/usr/bin" + os.pathsep + "/bin"
    for folder in (".codex", ".qwen"):
        (home / folder).mkdir()
    listed = {one["host"]: one for one in json.loads(run("install", "--json")[1])}
    assert {"codex", "qwen"} <= set(listed)
    assert listed["qwen"]["hooks"] == []
    assert listed["qwen"]["parts"] == ["hooks", "mcp", "skill", "commands"]
    assert run("install", "--all", "--user", "--yes")[0] == 0
    assert (home / ".codex" / "hooks.json").exists()
    assert (home / ".qwen" / "settings.json").exists()
    listed = {one["host"]: one for one in json.loads(run("install", "--json")[1])}
    assert listed["qwen"]["hooks"] == [str(home / ".qwen" / "settings.json")]
    assert run("uninstall", "--all", "--user")[0] == 0


def test_all_leaves_out_those_without_such_settings_and_two_may_share_a_file(run, project, home):
    for folder in (".roo", os.path.join(".config", "kilo"), os.path.join(".config", "crush")):
        (home / folder).mkdir(parents=True)
    before = tree(project, home)
    for scope, left_out in (("--user", "Roo Code"), ("--project", "Kilo")):
        code, _, complaint = run("install", "--all", scope, "--yes")
        assert (code, f"{left_out} is left out" in complaint) == (0, True)
        assert (project / "AGENTS.md").exists() is (scope == "--project")
        assert run("uninstall", "--all", scope)[0] == 0
        assert tree(project, home) == before
    assert run("install", "roo", "--user")[0] == 2


def test_a_hook_whose_event_does_not_arrive_is_said_and_fails(run, monkeypatch):
    monkeypatch.setattr("gitmem.cli.commands.install.event_reaches_spool", lambda *_: False)
    code, _, complaint = run("install", "claude", "--only", "hooks", "--yes")
    assert code == 1
    assert "its event did not arrive" in complaint


@pytest.mark.long
@pytest.mark.few(1)
@pytest.mark.parametrize(
    "name, path, settings",
    [
        ("claude", ".claude/settings.local.json", ({"disableAllHooks": True}, {"disableAllHooks": False})),
        ("qwen", ".qwen/settings.json", ({"disableAllHooks": True}, {"disableAllHooks": False})),
        ("gemini", ".gemini/settings.json", ({"hooksConfig": {"enabled": False}}, {"hooksConfig": {"enabled": True}})),
    ],
)
def test_an_agent_that_runs_no_hooks_is_said_to_record_nothing(run, home, name, path, settings):
    """Each door that says whether sessions are recorded; of two settings the one closest to the project counts."""
    said = f"is {str(name != 'gemini').lower()} in "
    place = home / path.replace(".local", "")
    place.parent.mkdir(exist_ok=True)
    off, on = settings
    place.write_text(json.dumps(off))
    code, out, complaint = run("install", name, "--only", "hooks", "--project", "--yes")
    assert (code, said in complaint, "are recorded from the next one on" in out) == (0, True, False)
    for door in (("status",), ("doctor",), ("install",)):
        assert said in run(*door)[1].replace("\n", " "), door
    assert said in json.loads(run("status", "--json")[1])["off"][0]
    near = Path(run.cwd, path)
    near.write_text(json.dumps((json.loads(near.read_text()) if near.exists() else {}) | on))
    answer = run("status", "--json")
    assert answer[0] == 0, answer
    assert said not in str(json.loads(answer[1])["off"])


@pytest.mark.long
@pytest.mark.few(1)
@pytest.mark.usefixtures("home")
@pytest.mark.skipif(sys.platform == "win32", reason="a shell script stands in for gitmem")
@pytest.mark.parametrize("layout", ["separate git dir", "submodule", "bare", "home"])
def test_in_every_layout_the_events_of_the_test_arrive(tmp_path, environ, on_path, bare_git, layout):
    (on_path / "gitmem").write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m gitmem "$@"\n')
    folder = tmp_path / "project"
    folder.mkdir()
    if layout == "separate git dir":
        bare_git(folder, "init", "-q", "--separate-git-dir", str(tmp_path / "project.git"))
    else:
        bare_git(folder, "init", "-q")
        bare_git(folder, "commit", "-q", "--allow-empty", "-m", "a")
    if layout == "submodule":
        above = tmp_path / "above"
        above.mkdir()
        bare_git(above, "init", "-q")
        bare_git(above, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(folder), "part")
        folder = above / "part"
    if layout == "bare":
        bare_git(tmp_path, "clone", "-q", "--bare", str(folder), "bare.git")
        bare_git(tmp_path / "bare.git", "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "work")
        folder = tmp_path / "tree"
    run = Runner(folder, environ)
    assert run("init", *["--home"] * (layout == "home"))[0] == 0
    code, _, complaint = run("install", "claude", "--only", "hooks", "--yes")
    assert (code, "did not arrive" in complaint) == (0, False)


def test_what_one_agent_was_told_another_knows_at_its_start(run):
    def deliver(host: str, event: str, **more: object) -> str:
        payload = {"hook_event_name": event, "session_id": "s-codex", **more}
        return run("hook", host, event, stdin=json.dumps(payload).encode())[1]

    deliver("codex", "UserPromptSubmit", prompt="Which package manager?", turn_id="t")
    deliver("codex", "Stop", last_assistant_message="Decision: we use uv instead of pip.", turn_id="t")
    deliver("codex", "SessionEnd", reason="other")
    run("hook", "codex", "--drain")
    told = deliver("claude", "SessionStart", source="startup", session_id="s-claude")
    assert "uv instead of pip" in json.loads(told)["hookSpecificOutput"]["additionalContext"]


@pytest.mark.parametrize("name", ["claude", "cline", "codex", "copilot", "droid", "pi"])
@pytest.mark.few(2)
def test_sessions_are_imported_from_where_the_agent_keeps_them(run, project, home, name):
    shutil.copytree(TRANSCRIPTS / name, home, dirs_exist_ok=True)
    slug = "".join(one if one.isascii() and one.isalnum() else "-" for one in str(project))
    for path in [*home.rglob("*.jsonl"), *home.rglob("*.json")]:  # one, or two of Cline
        text = path.read_text(encoding="utf-8").replace("/W/project", project.as_posix())
        own = path.parent.parent / slug if name in {"claude", "droid"} else path.parent
        path.unlink()
        own.mkdir(exist_ok=True)
        (own / path.name).write_text(text, encoding="utf-8")
    assert json.loads(run("replay", "--from", name, "--since", "2030-01-01", "--json")[1])["turns"] == 0
    found = json.loads(run("replay", "--from", name, "--since", "2026-11-01", "--json")[1])
    assert found["saved"] == found["turns"] >= 1
    assert json.loads(run("replay", "--from", name, "--json")[1])["saved"] == 0


MINE = '{"permissions": {"allow": ["Bash(ls:*)", "mcp__gitmem__memory_get"], "deny": []}, "model": "opus"}\n'


@pytest.mark.long
@pytest.mark.few(1)
@pytest.mark.parametrize("mine", [None, "", "{}\n", MINE, '{"permissions": {}}'])
def test_tools_that_only_read_are_allowed_once_and_taken_back(run, project, mine):
    settings = project / ".claude" / "settings.local.json"
    if mine is not None:
        settings.parent.mkdir()
        settings.write_text(mine)
    assert "'gitmem install claude --allow'" in run("install", "claude", "--yes")[1]
    assert (settings.read_text() if settings.exists() else None) == mine
    for _ in range(2):
        said = run("install", "claude", "--allow", "--yes")
        assert said[0] == 0
        assert "--allow" not in said[1]
    allowed = json.loads(settings.read_text())["permissions"]["allow"]
    assert sorted(set(allowed) & set(READS)) == sorted(READS)
    assert len(allowed) == len(set(allowed))
    run("install", "claude", "--yes")
    assert json.loads(settings.read_text())["permissions"]["allow"] == allowed
    run("uninstall", "claude")
    assert settings.exists() == (mine is not None)
    assert mine is None or settings.read_text() == mine


@pytest.mark.slow
def test_a_user_at_a_terminal_is_asked_whether_to_allow_them(run, project, monkeypatch):
    monkeypatch.setattr(App, "can_ask", lambda _: True)
    settings = project / ".claude" / "settings.local.json"
    for answer, allowed in ((b"y\n\n", False), (b"y\ny\n", True)):
        assert "read the memory" in run("install", "claude", "--project", stdin=answer)[2]
        assert settings.exists() == allowed
    assert "read the memory" not in run("install", "claude", "--project", stdin=b"y\n")[2]
