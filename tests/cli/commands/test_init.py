from __future__ import annotations

import json

import pytest


def test_init_makes_a_store_and_a_second_one_finds_it(run, tmp_path):
    code, out, err = run("init")
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == f"Made a store at {tmp_path / '.gitmem'} (branch gitmem)."
    assert json.loads(run("init", "--json")[1]) == {
        "store": str(tmp_path / ".gitmem"),
        "branch": "gitmem",
        "new": False,
    }


@pytest.mark.parametrize("words", [("init", "--user"), ("--user", "init")])
def test_init_user_says_the_same_before_and_after_the_command(run, home, words):
    assert run(*words)[0] == 0
    assert (home / ".gitmem" / "memory.md").is_file()
    assert json.loads(run("--user", "path", "--json")[1])["store"] == str(home / ".gitmem")


def test_init_takes_one_place_only(run):
    assert run("init", "--home", "--branch")[0] == 2


def test_init_branch_says_what_a_push_of_all_branches_sends(run, tmp_path, bare_git):
    assert "push" not in run("init")[1]
    project = tmp_path / "other"
    project.mkdir()
    bare_git(project, "init", "-q")
    bare_git(project, "commit", "-q", "--allow-empty", "-m", "code")
    code, out, _ = run("-C", str(project), "init", "--branch")
    assert code == 0
    assert "'git push --all' in the project pushes this branch" in out
    assert "only 'git push --mirror' pushes them" in out
