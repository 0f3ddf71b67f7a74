"""Read the claim of a fact's text, in English or Korean."""

from __future__ import annotations

from functools import lru_cache

from gitmem.model.fact.claim.english import read_english
from gitmem.model.fact.claim.korean import read_korean
from gitmem.text.sentences import is_korean

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from gitmem.model.fact.claim.words import Claim

_LONGEST = 400  # characters of a statement


@lru_cache(maxsize=4_096)
def read_claim(text: str) -> Claim | None:
    """Return the claim of a text's first paragraph, None for a question, a report of a problem, or the past tense."""
    sentence = text.split("\n\n", maxsplit=1)[0][:_LONGEST]
    return read_korean(sentence) if is_korean(sentence) else read_english(sentence)
