from __future__ import annotations

import json


def test_knowledge_is_learned_and_printed(gitmem, tmp_path):
    assert "Nothing is known yet" in gitmem("knowledge")[1]
    (tmp_path / "pyproject.toml").write_text('[project]\nrequires-python = ">=3.11"\n')
    found = json.loads(gitmem("knowledge", "--learn", "--json")[1])
    [stack] = [one for one in found if one["kind"] == "stack"]
    assert (stack["lines"], stack["files"]) == (["Python >=3.11 (pyproject.toml)"], ["pyproject.toml"])
    assert (stack["confidence"], stack["path"]) == (1.0, "patterns/project/stack.md")
    shown = gitmem("knowledge", "stack")[1]
    assert shown.startswith("Stack (confidence 1.0, ")
    assert "  Python >=3.11 (pyproject.toml)\n" in shown
    assert "Learned from: pyproject.toml\nIn patterns/project/stack.md\n" in shown
    assert gitmem("knowledge", "nothing")[0] == 2
    assert json.loads(gitmem("search", "Python", "--json")[1])[0]["path"] == "patterns/project/stack.md"
