"""An interrupted purge is finished at each door, of the private store as well."""

import pytest

from gitmem.store.store import PURGING

MARK = '{"v": 1, "stash": []}'
DOORS = [["save", "x"], ["status"], ["facts", "list"], ["search", "x"], ["recall", "x"], ["sync"], ["doctor"]]


@pytest.mark.parametrize("words", [*DOORS, ["hook", "claude", "--drain"]])
@pytest.mark.few(3)
def test_of_the_team_s_store(gitmem, words):
    gitmem("save", "before")
    mark = gitmem.root / ".git" / "gitmem" / PURGING
    mark.write_text(MARK)
    gitmem(*words)
    assert not mark.exists()


@pytest.mark.parametrize("words", DOORS[:4])
@pytest.mark.few(2)
def test_of_the_private_store(gitmem, home, words):
    gitmem("--private", "save", "mine")
    [folder] = home.rglob("*.private")
    mark = folder / ".git" / "gitmem" / PURGING
    mark.write_text(MARK)
    gitmem("--private", *words)
    assert not mark.exists()
