"""`make try` prints one screen, and README.md shows it."""

import functools
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gitmem.text.terminal import cells

ROOT = Path(__file__).resolve().parents[1]
PROMPTS = 2  # lines of a screen: the command that was typed, and the prompt after it


@functools.cache
def printed(*words: str) -> str:
    command = (sys.executable, str(ROOT / "packaging" / "demo.py"), *words)
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, encoding="utf-8")
    assert done.stderr == ""
    return done.stdout


def without_ids(text: str) -> str:
    """Return a text without the ids of commits, which are others each time."""
    return re.sub(r"^[0-9a-f]{7} ", "", text, flags=re.MULTILINE)


@pytest.mark.long
@pytest.mark.few(1)
@pytest.mark.parametrize(
    "language, decision",
    [("en", "Keep prices in cents, because floats lose money."), ("ko", "주문 목록은 커서로 나눈다")],
)
def test_the_next_session_is_told_the_decision_and_the_fix_on_one_screen(language, decision):
    text = printed(language)
    start, failed = text.split("# Session two starts")[1].split("# A command fails")
    assert decision in start
    assert "`uv add hypothesis`" in failed
    assert "REDACTED" not in text
    assert text.count("\n") <= 24 - PROMPTS
    assert [line for line in text.splitlines() if cells(line) > 80] == []


@pytest.mark.slow
def test_all_that_the_agent_is_told_is_shown_when_asked():
    part, whole = printed("en"), printed("en", "--all")
    assert whole.count("\n</gitmem-memory>\n") == 2
    missing = set(without_ids(part).splitlines()) - set(without_ids(whole).splitlines())
    assert missing == set()


def test_the_page_shows_what_it_prints():
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = page.partition("$ make try\n")[2].partition("```")[0]
    assert without_ids(shown) == without_ids(printed("en"))
