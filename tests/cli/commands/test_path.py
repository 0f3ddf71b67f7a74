from __future__ import annotations


def test_path_prints_the_store_alone_and_makes_none(gitmem, tmp_path, run):
    assert gitmem("path") == (0, f"{tmp_path / '.gitmem'}\n", "")
    assert gitmem("-C", "/", "path")[0] == 3
