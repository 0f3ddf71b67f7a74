import os

import pytest


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX")
def test_the_private_folder_is_private(gitmem):
    gitmem("save", "x")
    for folder in ("gitmem", "gitmem/spool"):
        assert (gitmem.root / ".git" / folder).stat().st_mode & 0o077 == 0


def test_a_piped_text_of_wide_characters_is_kept_whole_or_refused(gitmem, monkeypatch):
    monkeypatch.setattr("gitmem.cli.arguments.MAX_TEXT", 7)
    assert gitmem("save", "-", stdin="기억은 깃에 🌱".encode())[0] == 8
    assert gitmem("save", "-", stdin="기억은 깃에🌱".encode())[0] == 0
    assert "기억은 깃에🌱" in (gitmem.root / "memory.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("words", [["pause"], ["private"], ["pause", "1h"]])
def test_a_word_that_is_a_command_is_neither_run_nor_saved(gitmem, words):
    code, out, err = gitmem("save", *words)
    assert (code, out) == (2, "")
    assert f"'gitmem {' '.join(words)}'" in err
    assert gitmem("save", "pause the queue before a deploy")[0] == 0
