from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from gitmem.cli.door import real_door
from gitmem.memory.learned.bugs import learn_bugs
from gitmem.model.session.turns import Failure, Turn
from gitmem.store.store import Store

AT = datetime(2026, 10, 2, 9, tzinfo=UTC)


@pytest.fixture
def pattern(gitmem, tmp_path) -> str:
    assert "No errors are known yet" in gitmem("patterns")[1]
    store = Store(str(tmp_path / ".gitmem"), real_door().context())
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
    assert (value["related"], value["mended_in"]) == ([], None)
    assert value["solutions"][0]["success_rate"] == 1.0
    assert (value["error"]["type"], value["commands"], value["files"]) == ("ModuleNotFoundError", ["pytest"], ["a.py"])
    assert gitmem("patterns", "show", "bnone")[0] == 9


def test_a_search_finds_them(gitmem, pattern):
    [hit] = json.loads(gitmem("search", "yaml ModuleNotFoundError", "--json")[1])
    assert (hit["path"], hit["entry"]) == (f"patterns/bugs/{pattern}.md", pattern)
