"""A block in AGENTS.md: a person's words stay to the byte, whichever agents come and go, in whatever order."""

import pytest

from gitmem.hosts.settings import has_block, is_block, with_block, without_block

WORDS = "## Memory\n\nSave what was decided.\nLook before you answer.\n"
TEXTS = [
    "",
    "\n",
    "# Mine",
    "# Mine\n",
    "# Mine\n\n",
    "# Mine\r\n",
    "# Mine\r\nand\r\n\r\nmore",
    "한글\udcff\n",
    "\ufeff# Mine\n\n\n",
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("order", [("crush", "roo"), ("roo", "crush")])
def test_the_text_is_as_it_was_after_the_last_one_went(text, order):
    new = text
    for name in ("crush", "roo", "crush"):
        new = with_block(new, WORDS, name)
    assert new.count("Save what was decided.") == 1
    assert new.startswith(text)
    assert is_block(new) is (not text.strip("\n"))
    assert ("\r\n" in new) is ("\r\n" in text)
    one = without_block(new, order[0])
    assert (has_block(one, order[0]), has_block(one, order[1])) == (False, True)
    assert without_block(without_block(one, order[1]), order[1]) == text


@pytest.mark.parametrize("text", TEXTS)
def test_what_was_written_below_the_block_stays(text):
    new = with_block(text, WORDS, "roo")
    below = new + ("" if new.endswith("\n") else "\n") + "## Later\nmore\n"
    left = without_block(below, "roo")
    assert "gitmem" not in left
    assert left.startswith(text.rstrip("\r\n"))
    assert left.endswith("## Later\nmore\n")
    if text.endswith("\n") or not text:
        assert left == text + "## Later\nmore\n"


def test_a_block_that_was_wrapped_anew_goes_and_one_that_was_changed_leaves_its_words():
    new = with_block("# Mine\n", WORDS, "roo")
    assert without_block(new.replace("decided.\nLook", "decided. Look"), "roo") == "# Mine\n"
    changed = without_block(new.replace("decided.", "decided, and by whom."), "roo")
    assert "by whom" in changed
    assert "gitmem" not in changed


def test_a_newer_gitmem_renews_its_words_and_leaves_changed_ones():
    new = with_block("# Mine\n", "old words", "roo")
    assert "old words" not in with_block(new, WORDS, "roo")
    assert with_block(new, WORDS, "roo") == with_block("# Mine\n", WORDS, "roo")
    theirs = new.replace("old words", "my words")
    assert with_block(theirs, WORDS, "roo") == theirs
