"""`gitmem stats`: figures from files, history and what was given."""

import json
import os
import re
import sys
from datetime import UTC, datetime

import pytest

from gitmem.model.episode import Episode, episode_path, render_episode
from gitmem.model.outcome import Outcome
from gitmem.model.request import TaskType
from gitmem.platform.machine import Context
from gitmem.store.findings import FailureLog, LoggedFailure
from gitmem.store.store import Store
from gitmem.tell.outcome_counts import add_shown
from gitmem.tell.usage_log import ShownFixes, ShownText, record, record_fixes
from tests.command_line import Runner


@pytest.fixture
def store(tmp_path):
    return tmp_path / ".gitmem"


def test_status_as_json(gitmem, store):
    commit = json.loads(gitmem("save", "one", "--json")[1])["commit"]
    value = json.loads(gitmem("status", "--json")[1])
    assert (value["store"], value["branch"], value["models"], value["vectors"]) == (str(store), "gitmem", None, None)
    assert (value["last_save"]["commit"], value["last_save"]["subject"]) == (commit, "Save note: one")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d", value["last_save"]["at"])
    assert (value["threshold"], value["edited"], value["attention"]) == (23_750, [], [])


def test_status_says_that_an_agent_reviews_sessions_itself(gitmem):
    assert "models      none; to turn one on" in gitmem("status")[1]
    gitmem("config", "--user", "summary.provider", "host")
    assert "models      your agent reviews finished sessions itself" in gitmem("status")[1]


def test_status_says_why_no_model_could_be_asked_and_what_is_learned_without(gitmem, store):
    gitmem("config", "--user", "summary.provider", "agent")
    assert "models      agent, not asked today\n" in gitmem("status")[1]
    why = "There is no claude on your PATH. Install it, or name another provider."
    log = FailureLog(str(store / ".git" / "gitmem"))
    log.record(LoggedFailure(datetime.now(UTC), "model", f"session s-1: {why}"))
    shown = gitmem("status")[1]
    assert f"models      agent, but asking fails: {why} 'gitmem doctor' shows each try\n" in shown
    assert "learns      only sentences that begin with" in shown


def test_a_clone_takes_no_event_of_another_machine_for_its_own(gitmem, tmp_path_factory, bare_git):
    for event, more in (("UserPromptSubmit", {"prompt": "Which port?"}), ("Stop", {"last_assistant_message": "Four."})):
        payload = {"session_id": "s-1", "hook_event_name": event, **more}
        gitmem("hook", "claude", stdin=json.dumps(payload).encode())
    gitmem("hook", "claude", "--drain")
    assert gitmem.json("status")["last_event"]
    assert "Gitmem-Session" in bare_git(gitmem.root, "log")
    other = Runner(tmp_path_factory.mktemp("other"), gitmem.environ)
    there = str(tmp_path_factory.mktemp("remote") / "there.git")
    bare_git(other.cwd, "init", "-q", "--bare", there)
    assert gitmem("remote", "add", there)[0] == 0
    assert gitmem("sync")[0] == 0
    code, _, err = other("clone", there)
    assert code == 0, err
    assert other.json("status")["last_event"] is None


def test_status_of_a_store_that_nobody_changed_starts_git_four_times_at_most(gitmem, monkeypatch):
    from gitmem.git.process import Git

    gitmem("save", "Use uv, not pnpm", "--type", "decision")
    gitmem("status")
    started: list[str] = []
    real = Git._start

    def counted(git, args, *more, **named):
        started.append(args[0])
        return real(git, args, *more, **named)

    monkeypatch.setattr(Git, "_start", counted)
    gitmem("status")
    assert len(started) <= 4, started


TASK = "add retries with backoff to the importer"


def test_it_counts_what_is_held_learned_and_told(world):
    for number in range(12):
        world.run("save", f"Module m{number} was renamed to n{number}")
    world.run("save", "The importer retries thrice with backoff", "--type", "decision")
    world.run("guide", TASK)
    world.run("search", "importer backoff", CLAUDE_CODE_SESSION_ID="s-1")
    world.run("search", "zebra crossing")
    world.run("recall", "importer backoff", CLAUDE_CODE_SESSION_ID="s-1")
    found = world.run("stats", "--json").json
    assert found["storage"]["facts"]["files"] == 1
    assert found["storage"]["history"]["bytes"] > 0
    assert sum(found["learning"]["saves"].values()) >= 12
    assert {how: number for how, number in found["told"].items() if number} == {"guide": 1, "search": 1, "recall": 1}
    assert (found["retrieval"]["search"]["asked"], found["retrieval"]["search"]["found"]) == (2, 1)
    assert found["tokens"]["total"]["recalled"] > 0
    assert found["tokens"]["total"]["sessions"] == 1
    shown = world.run("stats").out
    assert "  searches                   1 of 2 (50%)" in shown
    columns = [line for line in shown.splitlines() if line.startswith(("Learned ", "Tokens "))]
    assert all(monday[5:] in line for line in columns for monday in found["tokens"]["start"])
    assert re.search(r"\n  errors again [ \d]+   known errors that occurred again\n", shown)
    assert "nothing yet: this is counted when a session is over" in shown


def test_it_says_how_told_turns_ended_and_what_was_told_most(world):
    at = datetime.now(UTC).replace(microsecond=0)
    store = Store(str(world.root), Context({}, os.environ["HOME"], "desk", lambda: at))
    ids = [f"e{number}4f7k2m9q0" for number in range(2)]
    for one in ids:
        made = Episode(one, "s", "h", at, at, TaskType.TEST, f"Mend {one}", Outcome.SUCCESS, ())
        world.write(episode_path(made), render_episode(made))
    record(store.private, ShownText(at, "s-1", "guide", (ids[0],), 40))
    add_shown(store, {ids[0]: {at.isoformat(): 0.5}}, "Count")
    record_fixes(store.private, ShownFixes(at, "s-1", 4, 3))
    shown = world.run("stats").out
    assert "Success of turns that were shown something\n  guidance                 50% in 1 turn\n" in shown
    assert "  fixes                      3 of 4 shown: the error was gone afterwards\n" in shown
    assert f"Tasks shown most\n  {ids[0]:<18}    1 time  Mend {ids[0]}\n" in shown


def test_what_a_user_reads_at_a_terminal_costs_no_tokens(world):
    world.run("save", "The importer retries thrice with backoff", "--type", "decision")
    world.run("recall", "importer backoff", terminal=True)
    found = world.run("stats", "--json").json
    assert found["retrieval"]["recall"]["found"] == 1
    assert found["tokens"]["total"]["recalled"] == 0


def test_status_shows_no_control_characters(gitmem, store):
    if sys.platform == "win32":
        pytest.skip("no such names")
    (store / "\x1b[2Jx.md").write_text("by hand\n")
    _, out, _ = gitmem("status", terminal=True)
    assert "\x1b[2J" not in out
    assert "\\x1b[2Jx.md" in out


def test_an_environment_in_which_nothing_is_recorded_is_named(world):
    for command in ("status", "doctor"):
        assert "GITMEM_READONLY is set: nothing is recorded" in world.run(command, GITMEM_READONLY="1").out
        assert "GITMEM_READONLY" not in world.run(command).out
    assert "recording   nothing, as the environment says" in world.run("status", GITMEM_READONLY="1").out
