import os
import re
from datetime import UTC, datetime, timedelta

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


def test_the_later_word_counts_though_a_clock_was_ahead_at_the_one_before(gitmem):
    ahead = (datetime.now(UTC) + timedelta(hours=3)).isoformat()
    gitmem("save", "Always indent by tabs", "--type", "rule")
    file = next((gitmem.root / "facts").rglob("*.md"))
    file.write_text(re.sub("(?m)^created: .*$", f"created: {ahead}", file.read_text()))
    code, _, err = gitmem("save", "Always indent by spaces", "--type", "rule")
    assert (code, "a clock was ahead" in err) == (0, True)
    told = gitmem("start")[1]
    assert re.search(r"- Always indent by spaces \(rule, [0-9-]{10}; it contradicts: Always indent by tabs ", told)
    assert "Always indent by spaces\n" in gitmem("facts", "list")[1]
    assert "by tabs [in dispute with: Always indent by spaces]" in gitmem("facts", "list")[1]


def test_doctor_says_which_machine_s_clock_was_ahead(gitmem):
    gitmem("save", "Always indent by tabs", "--type", "rule")
    assert "dated after the present" not in gitmem("doctor")[1]
    file = next((gitmem.root / "facts").rglob("*.md"))
    ahead = datetime.now(UTC) + timedelta(hours=3)
    file.write_text(re.sub("(?m)^created: .*$", f"created: {ahead.isoformat()}", file.read_text()))
    said = gitmem("doctor")[1]
    assert "1 fact dated after the present: the clock of a machine was ahead." in said
    assert re.search(rf"{file.name[:11]}, {ahead.astimezone():%Y-%m-%d %H:%M} on \S+: Always indent by tabs", said), (
        said
    )
