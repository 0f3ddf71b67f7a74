import json

import pytest

from gitmem.cli.app import real_app
from gitmem.store.store import Store


@pytest.fixture
def store(gitmem) -> Store:
    return Store(str(gitmem.root), real_app().context())


def test_review_of_a_purge_from_elsewhere(gitmem, tmp_path, bare_git):
    from gitmem.purge.marks import make_record

    bare_git(tmp_path, "init", "-q", "--bare", "remote.git")
    record = make_record("20261121-120000-0a1b2c", "2026-11-21T12:00:00+00:00", b"0" * 16, [b"Current State"])
    path = f"purged/{record.id}.json"
    (tmp_path / ".gitmem" / "purged").mkdir()
    (tmp_path / ".gitmem" / path).write_bytes(record.render())
    gitmem("remote", "add", str(tmp_path / "remote.git"))
    code, _, err = gitmem("sync")
    assert (code, f"'gitmem review {path}'" in err) == (0, True)
    assert path in gitmem("status")[1]
    assert path in gitmem("doctor")[1]
    asked = gitmem("review")[1]
    assert asked.startswith(f"1. {path}  a purge that waits, since it is by gitmem on ")
    assert "which purge.machines does not list" in asked
    assert json.loads(gitmem("review", "--json")[1])[0]["path"] == path
    shown = gitmem("review", path)[1]
    assert "It names 1 text; found here: 1, such as:\n  'Current State'\n" in shown
    assert "  memory.md\n" in shown
    assert gitmem("review", path, "--take", "both")[0] == 2
    assert gitmem("review", "purged/none.json")[0] == 9
    assert gitmem("review", path, "--take", "ours")[1] == f"This machine will not follow {path}.\n"
    assert gitmem("review")[1] == "Nothing waits for your review.\n"
    assert path not in gitmem("status")[1]
    assert "Current State" in (tmp_path / ".gitmem" / "memory.md").read_text(encoding="utf-8")
    assert f"{path} is not followed here, since you refused it on this machine." in gitmem("review", path)[1]
    assert gitmem("review", path, "--take", "theirs")[1] == f"Purged what {path} names.\n"
    assert "Current State" not in (tmp_path / ".gitmem" / "memory.md").read_text(encoding="utf-8")
    assert gitmem("review", path)[0] == 9


def test_a_fact_of_a_branch_that_is_gone_waits_and_is_taken_over_or_retired(gitmem, store, tmp_path, bare_git):
    bare_git(tmp_path, "init", "-q")
    (tmp_path / "a.py").write_text("begin = 1\n")
    bare_git(tmp_path, "add", "a.py")
    bare_git(tmp_path, "commit", "-qm", "Begin")
    bare_git(tmp_path, "switch", "-qc", "feature/x")
    (tmp_path / "a.py").write_text("begin = 1\nretry_limit = 5\n")
    bare_git(tmp_path, "commit", "-qam", "Limit")
    ids = [gitmem("facts", "add", f"{text} `retry_limit` of a.py.")[1].split()[0] for text in ("Keep", "Lower")]
    assert ids_in_force(gitmem) >= {*ids}
    bare_git(tmp_path, "switch", "-q", "main")
    told = gitmem("facts", "list", "--all")[1]
    assert told.count("learned on feature/x, and holds only there") == 2
    assert not ids_in_force(gitmem) & {*ids}
    assert "retry_limit" not in gitmem("start")[1]
    bare_git(tmp_path, "branch", "-qD", "feature/x")
    waiting = json.loads(gitmem("review", "--json")[1])
    assert {one["id"] for one in waiting} == {*ids}
    assert "is gone and was never merged" in gitmem("review")[1]
    assert gitmem("review", ids[0], "--take", "theirs")[0] == 0
    assert gitmem("review", "1", "--take", "ours")[0] == 0
    assert json.loads(gitmem("review", "--json")[1]) == []
    assert ids_in_force(gitmem) & {*ids} == {ids[0]}


def ids_in_force(gitmem) -> set[str]:
    return {fact["id"] for fact in json.loads(gitmem("facts", "list", "--json")[1])}
