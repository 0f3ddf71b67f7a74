from __future__ import annotations

import json

import pytest

OLD = "daily/2020/01/2020-01-06.md"


@pytest.fixture
def gitmem(gitmem, tmp_path):
    """Give the runner of commands in a store that holds an old day."""
    old = tmp_path / ".gitmem" / OLD
    old.parent.mkdir(parents=True)
    old.write_text("# 2020-01-06\n\n- 오래된 줄\n", encoding="utf-8")
    assert gitmem("check")[0] == 0
    return gitmem


def there(tmp_path, path: str = OLD) -> bool:
    return (tmp_path / ".gitmem" / path).exists()


def test_clear_shows_first_and_refuses_where_nobody_is_to_be_asked(gitmem, tmp_path):
    code, out, _ = gitmem("clear", "old", "--dry-run")
    assert (code, out.splitlines()) == (0, ["Would remove 1 file of 0.0 KB:", f"  {OLD}"])
    code, out, err = gitmem("clear", "old")
    assert (code, out) == (8, "")
    assert "--yes" in err
    assert there(tmp_path)


@pytest.mark.parametrize("answer, gone", [("\n", False), ("n\n", False), ("", False), ("y\n", True), ("YES\n", True)])
def test_clear_asks_at_a_terminal(gitmem, tmp_path, answer, gone):
    code, out, err = gitmem("clear", "old", answer=answer)
    assert code == 0
    assert f"  {OLD}\nRemove them?" in err
    assert there(tmp_path) is not gone
    assert ("gitmem undo" in out) is gone


def test_clear_all_and_undo(gitmem, tmp_path):
    value = json.loads(gitmem("clear", "all", "--yes", "--json")[1])
    assert (value["files"], value["dry_run"]) == ([OLD], False)
    assert not there(tmp_path)
    assert gitmem("clear", "all", "--yes")[1] == "There is nothing to clear.\n"
    assert gitmem("undo", value["commit"])[0] == 0
    assert there(tmp_path)
