from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.cli.commands.project import Desk


def test_uninstall_works_when_the_store_is_gone(gitmem):
    gitmem("install", "claude")
    shutil.rmtree(gitmem.root)
    assert gitmem("uninstall", "claude")[0] == 0
    assert (gitmem.cwd / ".claude" / "settings.json").read_text() == "{\n}\n"


def test_without_hooks_there_is_nothing_to_take_out(gitmem):
    gitmem("uninstall", "claude")  # takes out the merge driver that init put in
    assert gitmem("uninstall", "claude")[1].startswith("Nothing to do: ")
    assert not (gitmem.cwd / ".claude").exists()


def test_two_installs_leave_no_folder_behind(desk: Desk):
    before = sorted(path for path in desk.project.rglob("*") if ".git" not in str(path))
    desk.run("install", "claude", "--yes")
    desk.run("install", "claude", "--summaries", "--yes")
    desk.run("uninstall", "claude")
    assert sorted(path for path in desk.project.rglob("*") if ".git" not in str(path)) == before
