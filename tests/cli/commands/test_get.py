from __future__ import annotations

import pytest


def test_get_prints_an_entry_some_lines_or_a_file(filled):
    (filled.root / "knowledge").mkdir()
    (filled.root / "knowledge" / "a.md").write_text("# One\n\nfirst\nsecond\n\n# Two\n\nthird\n")

    assert filled.json("get", "knowledge/a.md:4") == {
        "path": "knowledge/a.md",
        "start_line": 1,
        "end_line": 4,
        "text": "# One\n\nfirst\nsecond",
        "tokens": 5,
    }
    assert filled("get", "knowledge/a.md:3-4")[1] == "first\nsecond\n"
    assert filled("get", "./knowledge/a.md")[1] == "# One\n\nfirst\nsecond\n\n# Two\n\nthird\n"
    assert filled("get", "knowledge/a.md:7-99")[1] == "\nthird\n"


@pytest.mark.parametrize(
    "where, code",
    [
        ("knowledge/nowhere.md", 9),
        ("memory.md:999", 9),
        ("memory.md:0", 9),
        ("../outside.md", 8),
        ("archive/../../outside.md", 8),
        ("/etc/hosts.md", 8),
        (".git/config", 8),
        (".GIT/x.md", 8),
        ("config.yaml", 8),
        ("archive/link.md", 8),
        ("linked/outside.md", 8),
        ("archive", 8),
        ("", 2),
    ],
)
def test_get_reads_documents_of_the_store_and_nothing_else(filled, where, code):
    (filled.cwd / "outside.md").write_text("secret\n")
    (filled.root / "archive" / "link.md").symlink_to(filled.cwd / "outside.md")
    (filled.root / "linked").symlink_to(filled.cwd)

    found, out, err = filled("get", where)

    assert (found, out) == (code, ""), err
