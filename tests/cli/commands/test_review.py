import json


def test_review_of_a_purge_from_elsewhere(gitmem, tmp_path, bare_git):
    from gitmem.purge.record import make_record

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
    assert gitmem("review", path, "--take", "ours")[1] == f"This machine will not carry out {path}.\n"
    assert gitmem("review")[1] == "Nothing waits for your review.\n"
    assert path not in gitmem("status")[1]
    assert "Current State" in (tmp_path / ".gitmem" / "memory.md").read_text(encoding="utf-8")
    assert f"{path} was not carried out here, since you refused it on this machine." in gitmem("review", path)[1]
    assert gitmem("review", path, "--take", "theirs")[1] == f"Purged what {path} names.\n"
    assert "Current State" not in (tmp_path / ".gitmem" / "memory.md").read_text(encoding="utf-8")
    assert gitmem("review", path)[0] == 9
