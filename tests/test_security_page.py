"""The security page names tests that there are."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("heading, least", [("What an attacker holds", 14), ("What is promised", 50)])
def test_each_row_is_held_by_a_test_that_exists(heading: str, least: int):
    section = PAGE.partition(f"## {heading}")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")][2:]
    assert len(rows) >= least
    for row in rows:
        held = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", row)
        assert held, row
        for path, name in held:
            assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8"), f"{path}::{name}"


def test_the_pages_lead_to_each_other():
    assert "docs/security.md" in (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert "SECURITY.md" in PAGE
    assert "docs/security.md" in (ROOT / "README.md").read_text(encoding="utf-8")
