"""`make try` prints one screen, and README.md shows lines of it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def printed(language: str) -> str:
    command = (sys.executable, str(ROOT / "packaging" / "demo.py"), language)
    return subprocess.run(command, cwd=ROOT, capture_output=True, check=True, encoding="utf-8").stdout


def without_ids(text: str) -> list[str]:
    """Return the lines of a text; those of commits without the id, which is another each time."""
    return re.sub(r"^[0-9a-f]{7} ", "", text, flags=re.MULTILINE).splitlines()


@pytest.mark.parametrize("language, decision", [("en", "Floats lose money."), ("ko", "커서로 페이지를 나누기로 했어")])
def test_the_next_session_is_told_the_decision_and_the_mend_on_one_screen(language, decision):
    text = printed(language)
    start, failed = text.split("source='start'")[1].split("source='error'")
    assert decision in start
    assert "`uv add --dev hypothesis`" in failed
    assert "REDACTED" not in text
    assert text.count("\n") <= 50


def test_the_page_shows_what_it_prints():
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = [line for line in without_ids(page.partition("$ make try\n")[2].partition("```")[0]) if line.strip(" …")]
    told = without_ids(printed("en"))
    assert len(shown) > 10
    assert [line for line in shown if line not in told] == []
