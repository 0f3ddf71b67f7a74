"""The rows of the cues, each of which is its own test."""

from typing import NamedTuple

import pytest

from gitmem.platform.machine import table
from gitmem.text.words import languages


class Row(NamedTuple):
    """A row: what its phrases tell, and a text that they find and one that they do not."""

    kind: str
    phrases: list[str]
    example: str
    counter: str


def rows(language: str) -> list[Row]:
    return [Row(kind, said.split(" | "), *more) for kind, said, *more in table(f"{language}/cues.tsv")]


EVERY = [(language, row) for language in languages() for row in rows(language)]


def of_kind(kinds: str):
    wanted = kinds.split()
    chosen = [one for one in EVERY if one[1].kind in wanted]
    return pytest.mark.parametrize("language, row", chosen, ids=[row.phrases[0] for _, row in chosen])
