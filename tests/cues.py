"""The rows of the cues, each of which is its own test."""

import pytest

from gitmem.text.words import languages, rows

EVERY = [(language, row) for language in languages() for row in rows(language)]


def of_kind(kinds: str):
    wanted = kinds.split()
    chosen = [one for one in EVERY if one[1].kind in wanted]
    return pytest.mark.parametrize("language, row", chosen, ids=[row.phrases[0] for _, row in chosen])
