from __future__ import annotations

import shutil


def test_uninstall_works_when_the_store_is_gone(gitmem):
    gitmem("install", "claude")
    shutil.rmtree(gitmem.root)
    assert gitmem("uninstall", "claude")[0] == 0
    assert (gitmem.cwd / ".claude" / "settings.json").read_text() == "{\n}\n"


def test_without_hooks_there_is_nothing_to_take_out(gitmem):
    gitmem("uninstall", "claude")  # takes out the merge driver that init put in
    assert gitmem("uninstall", "claude")[1].startswith("Nothing to do: ")
    assert not (gitmem.cwd / ".claude").exists()
