from __future__ import annotations

import os

import pytest

from gitmem.project.work_tree import work_tree_of


def test_the_nearest_work_tree_is_returned(tmp_path, bare_git, home):
    outer, inner = tmp_path / "outer 한글", tmp_path / "outer 한글" / "inner"
    (inner / "src").mkdir(parents=True)
    bare_git(outer, "init", "-q")
    assert work_tree_of(str(inner / "src")) == (str(outer), str(outer / ".git"))
    bare_git(inner, "init", "-q")
    assert work_tree_of(str(inner / "src")) == (str(inner), str(inner / ".git"))


def test_a_linked_work_tree_has_its_own_git_dir(tmp_path, bare_git, home):
    main, linked = tmp_path / "main", tmp_path / "linked"
    main.mkdir()
    bare_git(main, "init", "-q")
    bare_git(main, "commit", "-q", "--allow-empty", "-m", "first")
    bare_git(main, "worktree", "add", "-q", "-b", "other", str(linked))
    assert work_tree_of(str(linked)) == (str(linked), os.path.join(main, ".git", "worktrees", "linked"))


@pytest.mark.parametrize("name", ["", "no/such", ".git"])
def test_no_work_tree(tmp_path, name):
    assert work_tree_of(str(tmp_path / name)) == ("", "")
