from __future__ import annotations

import json
import subprocess

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


def test_consolidate_says_what_it_does(gitmem, tmp_path):
    code, out, _ = gitmem("consolidate", "--dry-run")
    assert code == 0
    assert out.splitlines() == [
        "Would consolidate 2020-01-06 into weekly/2020/2020-W02.md",
        "Would consolidate 2020-W02 into monthly/2020/2020-01.md",
    ]
    assert there(tmp_path)
    steps = json.loads(gitmem("consolidate", "--json")[1])["done"]
    assert [(step["into"], step["files"]) for step in steps] == [
        ("weekly/2020/2020-W02.md", [OLD]),
        ("monthly/2020/2020-01.md", ["weekly/2020/2020-W02.md"]),
    ]
    assert gitmem("consolidate")[1] == "Nothing is old enough to be consolidated.\n"
    assert gitmem("undo", steps[1]["commit"])[0] == 0
    assert gitmem("consolidate")[1] == "1 file stays: its consolidation was undone.\n"
    assert there(tmp_path, "weekly/2020/2020-W02.md")


def test_a_day_that_was_consolidated_is_still_shown(gitmem):
    gitmem("consolidate")
    code, out, err = gitmem("show", "2020-01-06")
    assert (code, out) == (0, "# 2020-01-06\n\n- 오래된 줄\n")
    assert "this is its last version" in err
    assert gitmem("show", "2020-01-07")[0] == 9


def test_a_day_that_one_clone_edits_while_another_consolidates_it_comes_back(tmp_path, run_in, environ):
    """The change wins over the deletion, and the day joins its week again (docs/memory.md, "Tiers")."""
    one, other, remote = tmp_path / "one", tmp_path / "other", tmp_path / "remote.git"
    day, week = "daily/2026/01/2026-01-06.md", "weekly/2026/2026-W02.md"

    for project in (one, other):
        project.mkdir()
    subprocess.run(["git", "init", "-q", "--bare", str(remote)], check=True, env=environ)
    run_in(one, "init")
    (one / ".gitmem" / day).parent.mkdir(parents=True)
    entry = "- [10:00:00] **Decision**: Use uv. ^1ksd9q2x0m3v8t5w7zab\n"
    (one / ".gitmem" / day).write_text(f"# 2026-01-06\n\n{entry}", encoding="utf-8")
    run_in(one, "config", "tiers.monthly_days", "0")
    run_in(one, "remote", "add", str(remote))
    run_in(one, "sync")
    run_in(other, "clone", str(remote))
    run_in(other, "consolidate")
    run_in(other, "sync")
    with (one / ".gitmem" / day).open("a", encoding="utf-8") as file:
        file.write("\n손으로 쓴 줄\n")
    run_in(one, "sync")
    assert "손으로 쓴 줄" in (one / ".gitmem" / day).read_text(encoding="utf-8")
    run_in(one, "consolidate")
    run_in(one, "sync")
    run_in(other, "sync")
    for project in (one, other):
        assert not (project / ".gitmem" / day).exists()
        text = (project / ".gitmem" / week).read_text(encoding="utf-8")
        assert text.count("Use uv. ^1ksd9q2x0m3v8t5w7zab") == 1
        assert text.count("손으로 쓴 줄") == 1
