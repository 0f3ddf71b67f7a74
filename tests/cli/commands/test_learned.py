"""`gitmem facts`, `concepts`, `episodes`, `patterns` and `knowledge`, as a person or a script calls them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitmem.cli.app import real_app
from gitmem.errors import ExitCode
from gitmem.lessons import episode as reading
from gitmem.lessons.episode import episode_paths, parse_episode, read_episode, render_episode
from gitmem.lessons.learn import learn_bugs
from gitmem.sessions.turns import Failure, Turn
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


def test_facts_are_listed_shown_edited_and_retired(gitmem, store):
    ended(store, "Always run the linter before committing.", "my editor is vim")
    code, out, _ = gitmem("facts", "list")
    assert code == 0
    assert "preference:\n  f" in out
    assert "Always run the linter before committing." in out
    [rule] = listed(gitmem, "--kind", "rule")
    shown = gitmem("facts", "show", rule["id"][:5])[1]
    assert "confidence: 0.9" in shown
    assert "session s-1" in shown
    assert json.loads(gitmem("facts", "show", rule["id"], "--json")[1])["origin"]["session"] == "s-1"
    assert gitmem("facts", "edit", rule["id"], "-", stdin="린터를 항상 먼저 실행한다.".encode())[0] == 0
    assert listed(gitmem, "--kind", "rule")[0]["description"] == "린터를 항상 먼저 실행한다."
    said = gitmem("facts", "retire", rule["id"], "--why", "the linter is gone")
    assert said[0] == 0
    assert said[1].startswith(f"{rule['id']} is retired now: ")
    assert said[1].endswith("\nSessions and searches go by this from now on.\n")
    assert listed(gitmem, "--kind", "rule") == []
    assert "the linter is gone" in gitmem("facts", "show", rule["id"])[1]
    assert len(listed(gitmem, "--all")) == 2
    assert gitmem("facts", "show", "zzz")[0] == 9


def test_a_pinned_fact_is_told_before_all_others_whatever_its_age(gitmem, store):
    gitmem("facts", "add", "The proxy listens on port 8081.")
    (old,) = listed(gitmem)
    for number in range(20):
        gitmem("save", f"Service number {number} of the depot {'is described at length ' * 5}", "--type", "rule")
    gitmem("config", "session.budget_tokens", "500")
    assert "port 8081" not in gitmem("start")[1]
    assert gitmem("facts", "pin", old["id"])[1].startswith(f"{old['id']} is active, pinned now")
    assert f"  {old['id']}" in gitmem("facts")[1].split(" [pinned]")[0].split("\n")[-1]
    told = gitmem("start")[1]
    assert told.index("port 8081") < told.index("Service number")
    assert "pinned: true\n" in (store_file := store.read(old["path"]).decode())
    gitmem("facts", "unpin", old["id"])
    assert store.read(old["path"]).decode() == store_file.replace("pinned: true\n", "")
    assert "port 8081" not in gitmem("start")[1]


def test_what_contradicts_is_for_review_until_one_is_confirmed(gitmem, store):
    for text in ("Use pnpm, not npm.", "Use uv, not pnpm."):
        assert gitmem("save", "--type", "decision", text)[0] == 0
    one, other = listed(gitmem)
    assert (one["review"], other["review"]) == ([other["id"]], [one["id"]])
    assert f"[in dispute with: {other['description']}]" in gitmem("facts", "list")[1]
    assert json.loads(gitmem("status", "--json")[1])["contradictions"] == 1
    assert gitmem("facts", "confirm", other["id"])[0] == 0
    [left] = listed(gitmem)
    assert (left["id"], left["review"], left["confidence"]) == (other["id"], [], 1.0)


def test_a_fact_is_stale_once_its_code_has_changed(gitmem, store, tmp_path, bare_git):
    source = tmp_path / "src_한글.py"
    source.write_text("one\n")
    bare_git(tmp_path, "add", ".")
    bare_git(tmp_path, "commit", "-qm", "Begin")
    ended(store, "From now on keep all loaders in src_한글.py, never elsewhere.", files=(str(source),))
    [fact] = listed(gitmem)
    assert (fact["kind"], fact["files"], fact["stale"]) == ("rule", ["src_한글.py"], [])
    assert fact["commit"] == bare_git(tmp_path, "rev-parse", "HEAD")[:12]
    assert listed(gitmem, "--stale") == []
    source.write_text("two\n")
    bare_git(tmp_path, "commit", "-qam", "Change it")
    assert [one["stale"] for one in listed(gitmem, "--stale")] == [["src_한글.py"]]
    assert "may be out of date, since changed: src_한글.py" in gitmem("facts", "list")[1]
    assert gitmem("facts", "confirm", fact["id"])[0] == 0
    assert listed(gitmem, "--stale") == []


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


def test_concepts_are_listed_shown_merged_and_split(gitmem, store):
    ended(store, "Make the parser read CRLF", files=("parser.py",), answer="Changed the parser to read CRLF ends.")
    [concept] = json.loads(gitmem("concepts", "list", "--json")[1])
    assert concept["files"] == ["parser.py"]
    assert concept["name"] in gitmem("concepts", "list")[1]
    assert "## Exchanges" in gitmem("concepts", "show", "parser")[1]
    assert gitmem("concepts", "merge", "parser", "parser")[1] == "parser.py: CRLF, ends is one concept already.\n"
    assert gitmem("concepts", "split", "parser", concept["exchanges"][0], "--name", "x")[0] == 8


def test_episodes_are_listed_shown_and_judged(gitmem, store):
    assert "No episodes yet" in gitmem("episodes", "list")[1]
    ended(store, "Fix the parser of CRLF", files=("parser.py",), answer="Changed the parser to read CRLF ends.")
    [episode] = json.loads(gitmem("episodes", "list", "--json")[1])
    assert (episode["type"], episode["outcome"], episode["usefulness"]) == ("bug_fix", "", 0.5)
    assert episode["task"] in gitmem("episodes", "list")[1]
    shown = gitmem("episodes", "show", episode["id"][:6])[1]
    assert "## Solution" in shown
    assert gitmem("show", f"^{episode['id']}")[1] == gitmem("show", episode["id"])[1] == shown
    assert gitmem("episodes") == gitmem("episodes", "list")
    took = render_episode(parse_episode(store.read(episode["path"]))._replace(seconds=190, tokens=4_200, mended_in=70))
    Path(store.root, episode["path"]).write_bytes(took)
    assert (
        "Took 3 minutes and 4,200 tokens; its errors were mended within 1 minute." in gitmem("show", episode["id"])[1]
    )
    assert "usefulness is 0.65" in gitmem("episodes", "good", episode["id"])[1]
    judged = json.loads(gitmem("episodes", "bad", episode["id"], "--json")[1])
    assert judged["usefulness"] == 0.455
    assert judged["commit"]
    assert gitmem("episodes", "show", "e0")[0] == 9


def test_episodes_are_found_by_what_they_were_about(gitmem, store, tmp_path):
    ended(store, "Fix the parser of CRLF", files=("src/parser.py",), answer="Changed the parser to read CRLF ends.")
    for arguments in (["parser"], ["--file", "parser.py"], ["--type", "bug_fix"], ["CRLF"]):
        [found] = json.loads(gitmem("episodes", "find", *arguments, "--json")[1])
        assert found["files"] == ["src/parser.py"]
        assert (found["score"] > 0, found["likeness"]) == (True, 0)
    for arguments in (["parser", "--type", "docs"], ["--file", "arser.py"], ["CRLF", "--outcome", "success"]):
        code, out, err = gitmem("episodes", "find", *arguments)
        assert (code, out) == (0, "")
        assert "No episode matches." in err
    assert gitmem("episodes", "find")[0] == ExitCode.USAGE
    log = tmp_path / "build.log"
    log.write_text("Nothing of the kind", "utf-8")
    assert json.loads(gitmem("episodes", "find", "--error", str(log), "--json")[1]) == []
    assert gitmem("episodes", "find", "--error", "missing.log")[0] == ExitCode.NOT_FOUND


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


def test_knowledge_is_learned_and_printed(gitmem, tmp_path):
    assert "Nothing is known yet" in gitmem("knowledge")[1]
    assert "Nothing to learn was found" in gitmem("knowledge", "--learn")[1]
    (tmp_path / "pyproject.toml").write_text('[project]\nrequires-python = ">=3.11"\n')
    found = json.loads(gitmem("knowledge", "--learn", "--json")[1])
    [stack] = [one for one in found if one["kind"] == "stack"]
    assert (stack["lines"], stack["files"]) == (["Manifests: pyproject.toml"], ["pyproject.toml"])
    assert (stack["confidence"], stack["path"]) == (1.0, "patterns/project/stack.md")
    assert json.loads(gitmem("learned", "--json")[1])["knowledge"] == len(json.loads(gitmem("knowledge", "--json")[1]))
    shown = gitmem("knowledge", "stack")[1]
    assert shown.startswith("Stack (confidence 1.0, ")
    assert "  Manifests: pyproject.toml\n" in shown
    assert "Learned from: pyproject.toml\nIn patterns/project/stack.md\n" in shown
    assert gitmem("knowledge", "nothing")[0] == 2
    assert json.loads(gitmem("search", "Python", "--json")[1])[0]["path"] == "patterns/project/stack.md"


AT = datetime(2026, 10, 2, 9, tzinfo=UTC)


@pytest.fixture
def pattern(gitmem, tmp_path) -> str:
    assert "No errors are known yet" in gitmem("patterns")[1]
    store = Store(str(tmp_path / ".gitmem"), real_app().context())
    error = "ModuleNotFoundError: No module named 'yaml'"
    failure = Failure(AT, "Bash", "", "pytest -q", error, "pytest -q", "uv sync")
    learn_bugs(store, "s-1", "h", [Turn("s-1", "h", "t", AT, AT, "Test", "Done.", ("a.py",), (failure,))])
    [found] = json.loads(gitmem("patterns", "--json")[1])
    return found["id"]


def test_errors_are_listed_and_shown(gitmem, pattern):
    row = f"{pattern}  2026-10-02    1  ModuleNotFoundError: No module named 'yaml' → `uv sync`\n"
    assert gitmem("patterns") == gitmem("patterns", "list") == (0, row, "")
    shown = gitmem("patterns", "show", pattern[:4])[1]
    assert "Seen in 1 exchange, last on 2026-10-02." in shown
    assert "`uv sync`\n  worked in 1 of 1 when pytest failed: x" in shown
    assert gitmem("show", pattern)[1] == shown
    value = json.loads(gitmem("patterns", "show", pattern, "--json")[1])
    assert value["mended_in"] is None
    assert value["solutions"][0]["success_rate"] == 1.0
    assert (value["error"]["type"], value["commands"], value["files"]) == ("ModuleNotFoundError", ["pytest"], ["a.py"])
    assert gitmem("patterns", "show", "bnone")[0] == 9


def test_a_search_finds_them(gitmem, pattern):
    [hit] = json.loads(gitmem("search", "yaml ModuleNotFoundError", "--json")[1])
    assert hit["path"] == f"patterns/bugs/{pattern}-modulenotfounderror-no-module-named-yaml.md"
    assert hit["entry"] == pattern
