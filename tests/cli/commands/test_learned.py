"""`gitmem facts`, `episodes`, `guide`, `task` and what they show, as a user or a script calls them."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from gitmem.cli.app import real_app
from gitmem.cli.arguments import MAX_TEXT
from gitmem.errors import ExitCode
from gitmem.model.episode import parse_episode, render_episode
from gitmem.store import learned as reading
from gitmem.store.learned import episode_paths, read_episode
from gitmem.store.store import Store
from tests.cli.commands.turns import ended


@pytest.fixture
def run(run, bare_git):
    """Have the project be a git repository."""
    bare_git(run.cwd, "init", "-q")
    return run


@pytest.fixture
def store(gitmem, tmp_path) -> Store:
    return Store(str(tmp_path / ".gitmem"), real_app().context())


def listed(gitmem, *options: str) -> list[dict]:
    code, out, err = gitmem("facts", "list", "--json", *options)
    assert (code, err) == (0, "")
    return json.loads(out)


def test_what_is_not_committed_yet_is_not_stale_once_it_is(gitmem, store, tmp_path, bare_git):
    (tmp_path / "a.py").write_text("one\n")
    bare_git(tmp_path, "add", ".")
    bare_git(tmp_path, "commit", "-qm", "Begin")
    (tmp_path / "a.py").write_text("two\n")
    ended(store, "From now on keep all loaders in a.py, never elsewhere.", files=(str(tmp_path / "a.py"),))
    [fact] = listed(gitmem)
    assert (fact["commit"], fact["branch"]) == (bare_git(tmp_path, "rev-parse", "HEAD")[:12], "main")
    assert listed(gitmem, "--stale") == []
    bare_git(tmp_path, "commit", "-qam", "Change it")
    assert listed(gitmem, "--stale") == []


@pytest.mark.slow
def test_a_day_and_a_summary_say_what_no_longer_holds(gitmem, tmp_path):
    for setting in ("rotation.carryover_tokens=100", "rotation.threshold_tokens=1000"):
        assert gitmem("config", *setting.split("="))[0] == 0
    redis = json.loads(gitmem("facts", "add", "We cache sessions in Redis on the first host", "--json")[1])["id"]
    flicker = json.loads(gitmem("facts", "add", "The session test flickers on Mondays", "--kind", "issue", "--json")[1])
    for index in range(40):
        assert gitmem("save", f"note {index} on how the loader reads part {index} of its settings in layers")[0] == 0
    other = json.loads(gitmem("facts", "add", "We cache sessions in Memcached instead", "--json")[1])["id"]
    gitmem("facts", "supersede", redis, other)
    gitmem("facts", "retire", flicker["id"])
    day = json.loads(gitmem("show", "today", "--json")[1])["text"]
    mark = "now: We cache sessions in Memcached instead]"
    assert f"{mark} ^{redis}" in day
    assert "[resolved since 20" in day
    archive = min((tmp_path / ".gitmem/archive").iterdir()).name
    assert f"{mark} ^{redis}" in gitmem("show", f"archive/{archive}", "--json")[1]
    assert mark not in gitmem("show", f"HEAD:archive/{archive}", "--json")[1]
    summary = json.loads(gitmem("summary", "show", archive, "--json")[1])
    assert mark in next(one["decision"] for one in summary["keyDecisions"] if "Redis" in one["decision"])
    assert [one["status"] for one in summary["issues"] if "flickers" in one["issue"]] == ["resolved"]


def test_the_list_reads_only_the_months_it_shows(gitmem, store, tmp_path, monkeypatch):
    gitmem("init")
    ended(store, "Fix the parser of CRLF", files=("parser.py",), answer="Changed the parser to read CRLF ends.")
    one = parse_episode(store.read(episode_paths(store)[0]))
    for month in range(1, 13):
        for day in range(1, 6):
            episode = one._replace(id=f"e{month:05}{day:05}", created=datetime(2025, month, day, tzinfo=UTC))
            path = tmp_path / ".gitmem" / "episodes" / f"2025/{month:02}/{episode.id}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(render_episode(episode))
    read = []
    monkeypatch.setattr(reading, "read_episode", lambda store, path: read.append(path) or read_episode(store, path))
    _, out, err = gitmem("episodes")
    newest = [f"e{month:05}{day:05}" for month in (9, 10, 11, 12) for day in range(1, 6)]
    assert [line.split()[0] for line in out.splitlines()] == [*newest[1:], one.id]
    assert "-n 0 lists all" in err
    assert len(read) == 21
    assert len(json.loads(gitmem("episodes", "list", "-n", "0", "--json")[1])) == 61


def test_after_a_compaction_the_session_is_told_what_it_is_at(world):
    def event(name: str, **more: object) -> str:
        payload = {"hook_event_name": name, "session_id": "s1", "cwd": str(world.project), "transcript_path": ""}
        return world.run("hook", "claude", stdin=json.dumps(payload | more).encode()).out

    event("SessionStart", source="startup")
    event("UserPromptSubmit", prompt="Fix the loader, it crashes on empty files")
    event("PostToolUseFailure", tool_name="Bash", tool_input={"command": "pytest -x"}, error="E   KeyError: 'a 2024'")
    told = json.loads(event("SessionStart", source="compact"))["hookSpecificOutput"]["additionalContext"]
    assert "Where this session stands" in told
    assert "Task (bug_fix, active): Fix the loader, it crashes on empty files" in told
    assert "Failed: `pytest -x`: KeyError: 'a 2024'" in told
    assert "Where this session stands" not in event("SessionStart", source="startup")
    event("Stop", last_assistant_message="The loader reads empty files as a list without rows now.")
    event("SessionEnd", reason="other")
    assert world.ran("task").code == ExitCode.NOT_FOUND
    told = json.loads(event("SessionStart", source="resume"))["hookSpecificOutput"]["additionalContext"]
    assert "Task (bug_fix, open): Fix the loader, it crashes on empty files" in told
    assert "nothing fixed it" not in told


def test_an_output_that_is_no_text_is_read_all_the_same(world):
    assert world.run("guide", "--error", "-", stdin=b"\xff\xfe error: KeyError").data == b""


def test_a_fact_on_standard_input_is_utf_8_and_not_endless(gitmem):
    gitmem("init")
    code, _, err = gitmem("facts", "add", "-", stdin=b"We cache \xff in Redis")
    assert (code, "not UTF-8" in err) == (8, True)
    code, _, err = gitmem("facts", "add", "-", stdin=b"x" * (MAX_TEXT + 1))
    assert (code, "more than" in err) == (8, True)
