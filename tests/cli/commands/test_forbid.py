"""Rules that answer at the tool call, through the script that agents run."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gitmem.hosts.registry import find_host
from tests.world import World

SCRIPT = Path(__file__).resolve().parents[3] / "hooks" / "hook.sh"
pytestmark = pytest.mark.skipif(os.name != "posix", reason="the script is a shell's")


def call(
    world: World, tool: str, given: dict, *, session="s1", use="t1", host="claude", event="PreToolUse", **more
) -> dict:
    """Have the script look at a tool call; return the agent's answer, {} for none."""
    named = {"claude": event, "AfterTool": "PostToolUse.gemini"}.get(
        host if host == "claude" else event, f"PreToolUse.{host}"
    )
    payload = {
        "hook_event_name": event,
        "session_id": session,
        "cwd": str(world.project),
        "tool_name": tool,
        "tool_input": given,
    }
    payload |= {"tool_use_id": use} | more
    environ = os.environ | {"gitmem": named, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    ran = subprocess.run(
        ["sh", "-c", f'. "{SCRIPT}"'],
        input=json.dumps(payload),
        env=environ,
        cwd=world.project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return json.loads(ran.stdout) if ran.stdout else {}


def told(answer: dict) -> str:
    return answer.get("hookSpecificOutput", {}).get("additionalContext", "")


@pytest.fixture
def rule(world) -> str:
    return world.run("facts", "add", "Use uv, never pip", "--kind", "rule", "--forbids", "pip install", "--json").json[
        "id"
    ]


def test_what_it_does_not_forbid_starts_no_python(world, rule, tmp_path):
    trap = tmp_path / "bin" / "gitmem"
    trap.parent.mkdir()
    trap.write_text(f"#!/bin/sh\necho started >{tmp_path}/started\n")
    trap.chmod(0o755)
    payload = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "uv sync"}}
    environ = os.environ | {"gitmem": "PreToolUse", "PATH": f"{trap.parent}:{os.environ['PATH']}"}
    for given, started in ((payload, False), (payload | {"tool_input": {"command": "pip install x"}}, True)):
        subprocess.run(
            ["sh", "-c", f'. "{SCRIPT}"'], input=json.dumps(given).encode(), env=environ, cwd=world.project, check=True
        )
        assert (tmp_path / "started").exists() is started
    assert not list((world.root / ".git/gitmem/spool/hooks").glob("PreToolUse*")), "nothing of it is recorded"


def test_paths_and_text_that_an_edit_writes(world):
    world.run("facts", "add", "Generated files stay as they are", "--kind", "rule", "--forbids", "src/generated/*")
    world.run("facts", "add", "Times have a zone", "--kind", "rule", "--forbids", "datetime.utcnow")
    path = str(world.project / "src/generated/api.py")
    assert "Generated files" in told(call(world, "Write", {"file_path": path, "content": "x = 1\n"}))
    given = {"file_path": "a.py", "old_string": "now = 1", "new_string": "now = datetime.utcnow()"}
    assert "Times have a zone" in told(call(world, "Edit", given))
    assert call(world, "Read", {"file_path": path}) == {}


def test_the_words_of_a_command_without_its_program(world):
    world.run("facts", "add", "No skipped hooks", "--forbids=--no-verify", "--forbids", "push --force")
    assert "No skipped" in told(call(world, "Bash", {"command": "git push origin main --force"}))
    assert "No skipped" in told(call(world, "Bash", {"command": "git commit --no-verify"}, session="s2", use="t2"))
    assert call(world, "Bash", {"command": "git commit -m 'no push --force'"}, session="s3", use="t3") == {}


def test_another_spelling_of_an_option_is_the_same_option(world):
    world.run("facts", "add", "No skipped hooks", "--forbids=--no-verify", "--forbids", "git push --force")
    assert "No skipped" in told(call(world, "Bash", {"command": "git push -f origin main"}))
    assert "No skipped" in told(call(world, "Bash", {"command": "git commit -nm x"}, session="s2", use="t2"))
    assert call(world, "Bash", {"command": "git push -n"}, session="s3", use="t3") == {}


def test_a_rule_is_added_with_what_happens_at_a_match(world):
    added = world.run("facts", "add", "Use uv, never pip", "--forbids", "pip install", "--enforce", "deny")
    assert "An agent is stopped when it runs" in added.out
    answer = call(world, "Bash", {"command": "pip install x"})
    assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"
    again = world.run("facts", "add", "Use uv, never pip", "--forbids", "pip install", "--enforce", "tell")
    assert "An agent is warned, once a session, when" in again.out
    assert "--forbids" in world.ran("facts", "add", "Use uv.", "--enforce", "deny").err


def test_what_happens_at_a_match_is_changed_without_the_words(world, rule):
    file = next((world.root / "facts").rglob(f"{rule}*"))
    words = next(line for line in file.read_text().splitlines() if line.startswith("forbids:"))
    for enforce in ("deny", "ask"):
        world.run("facts", "forbid", rule, "--enforce", enforce)
        assert {words, f"enforce: {enforce}"} <= {*file.read_text().splitlines()}
    world.run("facts", "forbid", rule, "--enforce", "tell")
    assert words in file.read_text()
    assert "enforce:" not in file.read_text()
    assert world.ran("facts", "forbid", rule).code == 2
    world.run("facts", "forbid", rule, "--none")
    assert world.ran("facts", "forbid", rule, "--enforce", "deny").code == 2, "it forbids nothing"


def test_words_of_sql_are_met_in_small_letters_too(world):
    world.run("facts", "add", "Never drop a table", "--forbids", "DROP TABLE")
    for text in ("DROP TABLE users;", "drop table users;"):
        assert "Never drop a table" in told(call(world, "Write", {"file_path": "a.sql", "content": text}, session=text))


def test_a_warning_says_that_it_comes_once_a_session_and_a_refusal_does_not(world, rule):
    given = {"command": "pip install x"}
    assert "(`pip install`; shown once a session):" in told(call(world, "Bash", given))
    assert call(world, "Bash", given, use="t2") == {}
    world.run("facts", "forbid", rule, "pip install", "--enforce", "deny")
    for use in ("t3", "t4"):
        refused = call(world, "Bash", given, use=use)["hookSpecificOutput"]["permissionDecisionReason"]
        assert "(`pip install`):" in refused


def test_a_rule_that_ended_says_nothing(world, rule):
    world.run("facts", "retire", rule)
    assert call(world, "Bash", {"command": "pip install x"}) == {}


def test_a_rule_written_into_its_file_by_hand_counts_once_it_is_committed(world, rule):
    file = next((world.root / "facts").rglob(f"{rule}*"))
    file.write_text(file.read_text().replace("forbids: [pip install]", "forbids: [pip install, conda install]"))
    world.run("status")
    world.remember("another memory")
    assert "Use uv" in told(call(world, "Bash", {"command": "conda install x"}))


def test_a_rule_of_another_author_waits_for_a_yes(world, bare_git, rule):
    file = next((world.root / "facts").rglob(f"{rule}*"))
    other = file.read_text().replace("[pip install]", "[make]") + "\n"
    file.write_text(other.replace("status: active", "enforce: deny\nstatus: active"))
    bare_git(
        world.root,
        "-c",
        "user.name=Mallory",
        "-c",
        "user.email=m@example.com",
        "commit",
        "-qam",
        "x",
        "--author=Mallory <m@example.com>",
    )
    world.run("status")
    world.remember("x")
    assert call(world, "Bash", {"command": "make test"}) == {}
    assert "would warn of `make`" in world.run("review").out
    for said in (("facts",), ("facts", "show", rule), ("search", "pip"), ("recall", "pip"), ("guide", "use pip")):
        assert "warns at no tool call until the user confirms it" in world.run(*said).out, said
    number = next(str(item["number"]) for item in world.run("review", "--json").json if "forbids" in item)
    world.run("review", number, "--take", "theirs")
    assert call(world, "Bash", {"command": "make test"})["hookSpecificOutput"]["permissionDecision"] == "deny"


@pytest.mark.parametrize("author", ["Kim", ""])
def test_a_clone_that_had_no_session_acts_by_the_users_rules_and_asks_about_others(  # noqa: PLR0917
    world, home, tmp_path, bare_git, monkeypatch, author
):
    """A user whom git does not know has gitmem's address on each machine: two such are not the same."""
    kim, remote = tmp_path / "kim", str(tmp_path / "remote.git")
    kim.mkdir()
    named = "[user]\n\tname = Kim\n\temail = kim@example.org\n"
    (kim / ".gitconfig").write_text(named)
    if author:
        (home / ".gitconfig").write_text(named)
    world.run("facts", "add", "Use uv, never pip", "--kind", "rule", "--forbids", "pip install")
    bare_git(tmp_path, "init", "-q", "--bare", remote)
    world.run("remote", "add", remote)
    world.run("sync")
    assert world.run("review").out == "Nothing waits for your review.\n"
    at_kims = {"cwd": tmp_path / "clone", "HOME": str(kim), "USERPROFILE": str(kim)}
    assert "Git does not know your name" not in world.run("clone", remote, "clone", **{**at_kims, "cwd": tmp_path}).err
    world.run("install", "claude", "--only", "hooks", "--yes", **at_kims)
    monkeypatch.setenv("HOME", str(kim))
    clone = World(tmp_path / "clone" / ".gitmem", world.context)
    assert ("never pip" in told(call(clone, "Bash", {"command": "pip install x"}))) is bool(author)
    waits = "a rule by an unnamed author on" in world.run("review", **at_kims).out
    assert waits is not bool(author)
    assert ("1 decision of yours" in world.run("status", **at_kims).out) is waits
    assert ("warns at no tool call until" in world.run("start", **at_kims).out) is waits


@pytest.mark.parametrize("literal", ["", "*", "x" * 300, "a\nb", "pip\x1b[2J"])
@pytest.mark.few(2)
def test_what_cannot_be_looked_for_is_refused(world, rule, literal):
    assert world.ran("facts", "forbid", rule, literal).code == 8
    assert world.ran("facts", "add", "Another rule.", "--forbids", literal).code == 8
    assert len(world.run("facts", "--json").json) == 1, "nothing is saved of what was refused"


def test_hostile_literals_in_a_file_hide_nothing(world, rule):
    file = next((world.root / "facts").rglob(f"{rule}*"))
    hostile = json.dumps(["pip install", "", "*", ".*", "x" * 100_000, "\x1b[2J", "a\nb", "[", "\\"])
    file.write_text(file.read_text().replace("forbids: [pip install]", f"forbids: {hostile}"))
    world.run("status")
    world.remember("x")
    assert "Use uv" in told(call(world, "Bash", {"command": "pip install x"}))
    assert call(world, "Bash", {"command": "ls .* [ \\"}, session="s3") == {}


def test_each_agent_is_answered_in_its_own_form(world, rule):
    given = {"command": "pip install x"}
    assert call(world, "run_shell_command", given, host="gemini", event="BeforeTool", session="g") == {}
    after = call(world, "run_shell_command", given, host="gemini", event="AfterTool", session="g", tool_response={})
    assert "Use uv" in told(after), "it gives its model nothing before a call"
    codex = call(world, "Bash", {"command": "pip install x"}, host="codex", session="c", turn_id="1")
    assert "Use uv" in told(codex)
    assert find_host("copilot").decide("preToolUse", "deny", "why") == {
        "permissionDecision": "deny",
        "permissionDecisionReason": "why",
    }


@pytest.mark.parametrize("take, then", [("keep", ""), ("ask", "ask"), ("deny", "deny"), ("drop", None)])
def test_firings_are_counted_and_an_ignored_rule_is_offered_for_review_until_it_is_answered(world, rule, take, then):
    given = {"command": "pip install x"}
    for number in range(4):
        session = f"s{number}"
        call(world, "Bash", given, session=session, use=f"t{number}")
        if number:  # the call was made all the same
            payload = {"tool_response": "ok", "prompt_id": "p"}
            call(world, "Bash", given, session=session, use=f"t{number}", event="PostToolUse", **payload)
    world.run("status")
    assert (
        "warns once a session; 4 times so far on this machine, ignored 3 times" in world.run("facts", "show", rule).out
    )
    assert "an agent was shown memory 4 times" in world.run("status").out
    (counted,) = world.run("stats", "--json").json["rules"]
    assert (counted["fired"], counted["obeyed"], counted["ignored"]) == (4, 1, 3)
    assert "ignored 3 of 4 times" in world.run("review").out
    assert "1 decision of yours" in world.run("status").out
    assert "--take keep|ask|deny|drop" in world.run("review", rule).out
    world.run("review", rule, "--take", take)
    answer = call(world, "Bash", given, session="s9")
    decided = answer.get("hookSpecificOutput", {}).get("permissionDecision", "") if answer else None
    assert decided == then
    assert "an agent was shown memory" in world.run("status").out, "what was shown before the answer counts, too"
    assert world.run("review").out == "Nothing waits for your review.\n"


def test_a_rule_that_a_newer_one_contradicts_is_told_with_it_and_refuses_nothing(world):
    rule = world.run("facts", "add", "Deploy with make on Fridays", "--kind", "rule", "--json").json["id"]
    world.run("facts", "forbid", rule, "kubectl apply", "--enforce", "deny")
    world.run("facts", "add", "Deploy with kubectl on Fridays", "--kind", "rule")
    assert len(world.run("review", "--json").json) == 1, "the pair waits"
    answer = told(call(world, "Bash", {"command": "kubectl apply -f x"}))
    assert "A newer fact contradicts it" in answer
    assert "Deploy with kubectl" in answer


def given_of(project: Path, call: dict) -> dict:
    """Return a call of `tests/data/forbidden.json` as Claude Code's tool takes it."""
    if call["tool"] == "Bash":
        return {"command": call["command"]}
    path = str(project / call["path"])
    if call["tool"] == "Edit":
        return {"file_path": path, "old_string": call["old"], "new_string": call["new"]}
    return {"file_path": path, "content": call["text"]}


@pytest.mark.slow
def test_rules_and_calls_by_writers_who_had_seen_no_code_of_it(world):
    """Each rule of `tests/data/forbidden.json` has one call that it forbids and two that only look like it."""
    rules = json.loads((Path(__file__).parents[2] / "data" / "forbidden.json").read_text())
    wrong = []
    for number, rule in enumerate(rules[::3]):
        literals = (word for literal in rule["forbids"] for word in ("--forbids", literal))
        fact = world.run("facts", "add", rule["rule"], "--kind", "rule", *literals, "--json").json["id"]
        for place, made in enumerate(rule["calls"]):
            answer = told(call(world, made["tool"], given_of(world.project, made), session=f"s{number}-{place}"))
            if (f"^{fact}" in answer) is not made["forbidden"]:
                wrong.append((rule["rule"], made))
    assert wrong == []
