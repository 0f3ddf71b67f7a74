"""A newer gitmem after an older one: its settings, hooks and store, as it wrote them (docs/hosts.md, "Upgrading").

`tests/data/upgrade` holds what gitmem 0.1.0 of 2026-11-27 left: `files.json` after `install claude --project` and
`install codex --user --trust`, and the store as `git fast-export` prints it.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gitmem.background import process_spool
from gitmem.store.spool import HookSpool
from gitmem.store.store import Store
from tests.command_line import ROOT, Runner
from tests.copies import accept

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="its hooks are lines of a POSIX shell")
OLD = ROOT / "tests" / "data" / "upgrade"
PROMPT, ANSWER = "Decision: name branches after issues.", "They are named after issues now."


@pytest.fixture
def run(project, on_path, context, bare_git) -> Runner:
    """Give a function that runs a command in a project which an older gitmem was installed in."""
    (store := project / ".gitmem").mkdir()
    bare_git(store, "init", "-q", "--initial-branch=gitmem")
    bare_git(store, "fast-import", "--quiet", stdin=(OLD / "store.txt").read_bytes())
    bare_git(store, "reset", "-q", "--hard")
    for name, text in json.loads((OLD / "files.json").read_text("utf-8")).items():
        top, _, below = name.partition("/")
        path = {"project": project, "home": Path(context.home)}[top] / below
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("{project}", str(project)).replace("{home}", context.home), "utf-8")
    HookSpool(accept(project, context).private).make()  # git, as the record, has no empty folders
    return Runner(project, {**context.environ, "HOME": context.home})


def deliver(run: Runner, event: str, **payload: str) -> None:
    """Run the hooks in the project's settings as Claude Code does."""
    settings = json.loads((run.cwd / ".claude" / "settings.json").read_text("utf-8"))
    given = {"hook_event_name": event, "session_id": "s-new", "prompt_id": "1", "cwd": str(run.cwd)} | payload
    for hook in (hook for group in settings["hooks"][event] for hook in group["hooks"]):
        subprocess.run(
            ["sh", "-c", hook["command"]], cwd=run.cwd, env=run.environ, input=json.dumps(given).encode(), check=True
        )


def checks(run: Runner) -> str:
    found = json.loads(run("doctor", "--json")[1])["checks"]
    return " ".join(f"{one['message']} {one['remedy']}" for one in found if one["level"] in {"warning", "problem"})


@pytest.mark.slow
def test_an_older_installation_goes_on_and_is_renewed_by_install(run, context, home):
    assert "Use uv, never pip" in run("facts")[1]
    assert "keep prices in cents" in run("search", "prices in cents")[1]
    assert json.loads(run("config", "session.budget_tokens", "--json")[1])["value"] == 1500

    deliver(run, "UserPromptSubmit", prompt=PROMPT)
    deliver(run, "Stop", last_assistant_message=ANSWER)
    process_spool(Store(str(run.root), context))
    assert "name branches after issues" in run("search", "branches after issues")[1], "its hooks deliver to the newer"

    assert "gitmem install claude --project" in checks(run)
    assert "gitmem install codex --user" in checks(run)
    assert run("install", "claude", "--project", "--no-judge")[0] == 0
    assert run("install", "codex", "--user", "--trust", "--no-judge")[0] == 0
    assert "renews them" not in checks(run)

    assert run("uninstall", "claude")[0] == 0
    assert run("uninstall", "codex", "--user")[0] == 0
    left = [path for top in (run.cwd, home) for path in top.rglob("*") if path.is_file()]
    assert not [path for path in left if below(path, run, home) and b"gitmem" in path.read_bytes()]


def below(path: Path, run: Runner, home: Path) -> bool:
    """Return whether a file is an agent's: none of a store, a repository or gitmem's own record of stores."""
    return not {".gitmem", ".git", "stores"} & {*path.parts} and path.parent != home / ".local" / "share" / "gitmem"


def test_all_that_an_older_installation_wrote_can_be_removed(run, home):
    assert run("uninstall", "--everything", "--yes")[0] == 0
    left = [path for top in (run.cwd, home) for path in top.rglob("*") if path.is_file()]
    assert not [path for path in left if below(path, run, home) and b"gitmem" in path.read_bytes()]
    assert run("save", "The memory stays")[0] == 0
