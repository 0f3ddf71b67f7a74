"""What newcomers ran into and no page can show: `tests/transcripts/details/first_hour.md` has the rest."""

import json

import pytest


@pytest.fixture
def private(gitmem):
    for number in range(4):
        assert gitmem("save", f"The parser of part {number} is slow", "--tag", f"part{number}")[0] == 0
        assert gitmem("--private", "save", f"The parser of machine {number} is mine")[0] == 0
    return gitmem


@pytest.mark.parametrize("limit", [1, 2, 3, 5])
@pytest.mark.few(2)
def test_a_limit_is_that_of_all_hits_private_ones_too(private, limit):
    hits = json.loads(private("search", "parser", "-n", str(limit), "--json")[1])
    ours = [hit for hit in hits if not hit["path"].startswith("private:")]
    assert (len(hits), len(ours)) == (limit, max(-(-limit // 2), limit - 3))
    assert len(json.loads(private("search", "parser", "-n", "0", "--json")[1])) == 7, "of private ones three at most"


def test_a_folder_without_git_below_the_home_is_no_part_of_what_is_installed_for_the_user(run, home, environ):
    assert run("install", "claude", "--user", "--yes")[0] == 0
    (folder := home / "notes").mkdir()
    there = type(run)(folder, environ)
    before = (home / ".claude" / "settings.json").read_bytes()
    said = there("uninstall", "claude")[1]
    assert "gitmem uninstall claude --user" in said
    assert there("install", "claude", "--init", "--yes")[0] == 0
    assert (folder / ".claude" / "settings.json").is_file()
    assert (home / ".claude" / "settings.json").read_bytes() == before
