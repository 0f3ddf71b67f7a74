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
def store(gitmem, tmp_path) -> Store:
    return Store(str(tmp_path / ".gitmem"), real_app().context())


def test_concepts_are_listed_shown_merged_and_split(gitmem, store):
    ended(store, "Make the parser read CRLF", files=("parser.py",), answer="Changed the parser to read CRLF ends.")
    [concept] = json.loads(gitmem("concepts", "list", "--json")[1])
    assert concept["files"] == ["parser.py"]
    assert concept["name"] in gitmem("concepts", "list")[1]
    assert "## Exchanges" in gitmem("concepts", "show", "parser")[1]
    assert gitmem("concepts", "merge", "parser", "parser")[1] == "parser.py: CRLF, ends is one concept already.\n"
    assert gitmem("concepts", "split", "parser", concept["exchanges"][0], "--name", "x")[0] == 8


def test_episodes_are_listed_shown_and_judged(gitmem, tmp_path):
    assert "No episodes yet" in gitmem("episodes", "list")[1]
    store = Store(str(tmp_path / ".gitmem"), real_app().context())
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


def test_episodes_are_found_by_what_they_were_about(gitmem, tmp_path):
    store = Store(str(tmp_path / ".gitmem"), real_app().context())
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


def test_the_list_reads_only_the_months_it_shows(gitmem, tmp_path, monkeypatch):
    gitmem("init")
    store = Store(str(tmp_path / ".gitmem"), real_app().context())
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
