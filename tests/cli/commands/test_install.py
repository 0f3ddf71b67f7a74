import hashlib
import json
import os
import shutil
import subprocess
import sys

import pytest

from gitmem.errors import ExitCode
from gitmem.hosts.script import lock_settings
from gitmem.platform.machine import install_command
from tests.command_line import ROOT, Runner


@pytest.fixture
def project(tmp_path, bare_git):
    folder = tmp_path / "프로젝트 one"
    folder.mkdir()
    bare_git(folder, "init", "-q")
    return folder


@pytest.fixture
def run(project, home, environ):
    """Give a function that runs a command in the project."""
    return Runner(project, environ)


@pytest.fixture
def settings(project):
    return project / ".claude" / "settings.json"


@pytest.fixture
def gitmem(run, on_path, initialize):
    """Like `run`, in a project with a store and with gitmem on the PATH."""
    initialize(run.cwd)
    return run


@pytest.mark.parametrize(
    "answer, name", [("\n", "settings.local.json"), ("p\n", "settings.json"), ("L\n", "settings.local.json")]
)
@pytest.mark.few(1)
def test_on_a_terminal_it_asks(gitmem, settings, answer, name):
    code, _, err = gitmem("install", "claude", answer=f"{answer}y\n")
    assert "gitmem will write:" in err
    assert f"\n  .claude/{name}: hooks, which record" in err
    assert (code, [path.name for path in settings.parent.glob("*.json")]) == (0, [name])
    assert "Which sessions" in err
    assert "Tested in a temporary store: a turn" in err


@pytest.mark.slow
def test_it_offers_to_make_the_store_and_to_import_earlier_sessions(run, project, home, on_path):
    code, _, err = run("install", "claude")
    assert code == ExitCode.NO_STORE
    assert "'gitmem install claude --init' makes one" in err
    assert run("install", "claude", answer="no\n")[2].endswith("Nothing was changed.\n")
    assert not (project / ".gitmem").exists()
    kept = (
        home / ".claude" / "projects" / "".join(one if one.isascii() and one.isalnum() else "-" for one in str(project))
    )
    kept.mkdir(parents=True)
    for name in ("a", "b"):
        (kept / f"{name}.jsonl").write_text("{}\n")
    code, out, err = run("install", "claude", answer="\np\ny\nn\nn\n")
    assert f"Make one at {project / '.gitmem'}? [Y/n]" in err
    assert (code, (project / ".gitmem").is_dir()) == (0, True)
    assert "2 earlier sessions of Claude Code in this project: 'gitmem import --from claude' adds them" in out
    assert "earlier sessions" not in run("install", "claude", "--project")[1], "they are offered once"


@pytest.mark.parametrize(
    "answer, provider", [("\n", "agent"), ("yes\n", "agent"), ("n\n", "offline"), ("what?\n", "offline"), ("", None)]
)
@pytest.mark.few(1)
def test_on_a_terminal_it_asks_once_whether_a_model_may_judge(gitmem, settings, answer, provider):
    code, _, err = gitmem("install", "claude", answer=f"p\ny\nn\n{answer}")
    assert (code, err.count("May a model review each finished session, once, in all your projects?")) == (0, 1)
    given = json.loads(gitmem("config", "summary.provider", "--json")[1])
    assert given["value"] == (provider or "offline")
    again = gitmem("install", "claude", "--only", "skill", answer="p\ny\nn\n")[2]
    assert ("review each finished session" in again) is (provider is None)
    gitmem("uninstall", "claude")
    assert "review each finished session" in gitmem("install", "claude", answer="p\ny\nn\n")[2], (
        "it took the answer back"
    )


@pytest.mark.parametrize(
    "options, provider",
    [(("--yes",), "agent"), (("--no-judge", "--yes"), "offline"), (("--no-judge",), "offline"), ((), None)],
)
@pytest.mark.few(1)
def test_away_from_a_terminal_a_model_judges_where_the_options_say_so(gitmem, settings, options, provider):
    assert gitmem("install", "claude", *options)[0] == 0
    judges = json.loads(gitmem("config", "summary.provider", "--json")[1])
    assert judges["value"] == (provider or "offline")
    off = "gitmem config --user summary.provider agent" in gitmem("status")[1]
    assert off is (provider != "agent")


def test_on_a_terminal_an_answer_that_is_none_changes_nothing(gitmem, settings, home):
    assert gitmem("install", "claude", answer="what?\n")[0] == 2
    assert not settings.exists()
    assert gitmem("install", "claude", answer="p\nno\n")[2].endswith("Nothing was changed.\n")
    assert not settings.exists()
    assert gitmem("install", "claude", "--user", "--yes", answer="")[0] == 0
    assert (home / ".claude" / "settings.json").exists()


def test_a_dry_run_prints_the_change_and_makes_none(gitmem, project, settings):
    code, out, _ = gitmem("install", "claude", "--dry-run")
    assert (code, out.splitlines()[0]) == (0, f"--- {os.devnull}")
    assert "+++ " + str(settings) in out
    assert not settings.exists()
    gitmem("install", "claude")
    said = json.loads(gitmem("uninstall", "claude", "-n", "--json")[1])
    assert said["dry_run"] is True
    assert {"scope": "project", "file": str(settings), "changed": True, "removed": True} in said["files"]
    assert f"--- {settings}\n+++ {os.devnull}\n" in said["diff"]
    assert settings.exists()


def test_a_gitmem_that_hooks_will_not_find_is_said(gitmem, environ, tmp_path, monkeypatch):
    git = shutil.which("git")
    (tmp_path / "only git").mkdir()
    (tmp_path / "only git" / os.path.basename(git)).symlink_to(git)
    environ["PATH"] = str(tmp_path / "only git")
    monkeypatch.setattr("gitmem.cli.commands.install.own_program", lambda _: "")
    assert "'gitmem' is not on your PATH" in gitmem("install", "claude")[2]


def test_doctor_says_that_hooks_will_not_find_gitmem(gitmem, monkeypatch):
    gitmem("install", "claude")
    monkeypatch.setattr("gitmem.cli.commands.doctor.own_program", lambda _: "")
    assert "not on your PATH" in " ".join(gitmem("doctor")[1].split())


@pytest.mark.long
@pytest.mark.few(1)
@pytest.mark.parametrize("words", [(), ("--local",), ("--user",)])
def test_doctor_says_whether_the_mcp_server_can_run(gitmem, monkeypatch, words):
    def findings():
        checks = json.loads(gitmem("doctor", "--json")[1])["checks"]
        return [(check["level"], check["message"], check["remedy"]) for check in checks if check["check"] == "mcp"]

    gitmem("install", "claude", "--only", "hooks", *words)
    assert findings() == []
    gitmem("install", "claude", "--only", "mcp", *words)
    (gitmem.cwd / ".claude").mkdir(exist_ok=True)  # as Claude Code keeps the answer to its question
    (gitmem.cwd / ".claude" / "settings.local.json").write_text('{"enabledMcpjsonServers": ["gitmem"]}')
    monkeypatch.setattr("gitmem.cli.commands.doctor.is_installed", lambda _: True)
    [(level, message, remedy)] = findings()
    assert (level, remedy) == ("ok", "")
    assert "has the tools of the memory" in message
    monkeypatch.setattr("gitmem.cli.commands.doctor.is_installed", lambda _: False)
    [(level, message, remedy)] = findings()
    assert level == "warning"
    assert install_command("mcp") in remedy
    gitmem("uninstall", "claude", *words)
    assert findings() == []


def test_a_missing_extra_is_said(gitmem, monkeypatch):
    monkeypatch.setattr("gitmem.cli.commands.install.is_installed", lambda _: False)
    assert install_command("mcp") in gitmem("install", "claude", "--only", "hooks,mcp")[2]


@pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
@pytest.mark.parametrize("link", [".claude", ".claude/settings.json", ".mcp.json"])
def test_a_projects_settings_that_lead_out_of_it_are_not_written(gitmem, project, home, link):
    """A project that came from elsewhere must not have the settings of all projects changed."""
    outside = home / "own"
    outside.mkdir()
    if link != ".claude":
        (outside / "settings.json").write_text("{}")
    (project / link).parent.mkdir(exist_ok=True)
    (project / link).symlink_to(outside if link == ".claude" else outside / "settings.json")
    code, _, err = gitmem("install", "claude", "--only", "hooks,mcp")
    assert code == ExitCode.REFUSED
    assert "leads out of the project" in err
    assert [path.read_text() for path in outside.iterdir()] == ([] if link == ".claude" else ["{}"])


@pytest.mark.parametrize("folder", ["hosts", "Hosts"])
def test_a_record_that_the_users_store_tracks_is_not_gone_by(gitmem, home, bare_git, folder):
    assert gitmem("init", "--user")[0] == 0
    store, bystander = home / ".gitmem", home / ".claude" / "settings.json"
    bystander.parent.mkdir()
    bystander.write_text("{}")
    record = {"created": True, "noted": {"digest": hashlib.sha256(b"{}").hexdigest()}}
    (store / folder).mkdir()
    (store / folder / "claude-code.json").write_text(json.dumps({"v": 1, "files": {str(bystander): record}}))
    bare_git(store, "add", "-f", folder)
    bare_git(store, "commit", "-qm", "By a remote, before such paths were refused")
    code, _, err = gitmem("uninstall", "claude", "--user")
    assert code == ExitCode.REFUSED
    assert "tracks" in err
    assert bystander.read_text() == "{}"


@pytest.mark.slow
def test_installs_at_once_are_all_recorded(tmp_path, home, environ, bare_git):
    projects = [tmp_path / f"project {number}" for number in range(6)]
    for project in projects:
        project.mkdir()
        bare_git(project, "init", "-q")
        assert Runner(project, environ)("init")[0] == 0
    command = [sys.executable, "-m", "gitmem", "install", "claude", "--project", "--yes"]
    given = {**environ, "PYTHONPATH": str(ROOT)}
    runs = [subprocess.Popen(command, cwd=project, env=given, stdin=subprocess.DEVNULL) for project in projects]
    assert [run.wait() for run in runs] == [0] * len(projects)
    folder = home / ".local" / "share" / "gitmem"
    users = json.loads((folder / "users.json").read_text(encoding="utf-8"))["files"]
    assert users == [str(project / ".claude" / "settings.json") for project in projects]
    assert not (folder / "lock").exists()


@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_settings_wait_for_another_gitmem_that_writes_some(gitmem, home, monkeypatch, command):
    gitmem("install", "codex", "--project")
    monkeypatch.setattr("gitmem.git.locking._WRITING_SECONDS", 0)
    with lock_settings(str(home)):
        code, _, err = gitmem(command, "codex", "--project")
        assert (code, "Another gitmem is writing the settings of agents." in err) == (ExitCode.BUSY, True)
    assert gitmem(command, "codex", "--project")[0] == 0


def test_the_last_uninstall_takes_back_what_the_user_was_asked_but_no_later_change(gitmem, home):
    (home / ".claude").mkdir(exist_ok=True)
    settings = home / ".config" / "gitmem"
    assert gitmem("install", "claude", "--user", "--yes")[0] == 0
    assert "provider: agent" in (settings / "config.yaml").read_text()
    assert gitmem("uninstall", "claude", "--user")[0] == 0
    assert not settings.exists()
    assert gitmem("install", "claude", "--user", "--yes")[0] == 0
    assert gitmem("config", "--user", "summary.provider", "offline")[0] == 0
    assert gitmem("uninstall", "claude", "--user")[0] == 0
    assert "provider: offline" in (settings / "config.yaml").read_text()


def test_in_a_memory_that_came_from_elsewhere_nothing_is_called_recorded(gitmem, home, on_path, tmp_path_factory):
    copy = tmp_path_factory.mktemp("copy") / "project"
    shutil.copytree(gitmem.cwd, copy, symlinks=True)
    (home / ".claude.json").write_text(json.dumps({"projects": {str(copy): {"hasTrustDialogAccepted": True}}}))
    code, out, err = Runner(copy, gitmem.environ)("install", "claude", "--project", "--only", "hooks", "--no-judge")
    assert code == ExitCode.FAILURE
    assert "Nothing is recorded here until you say yes to this memory: gitmem trust" in err
    assert "Claude Code's hooks are in .claude/settings.json." in out
    assert "Next: start" not in out
