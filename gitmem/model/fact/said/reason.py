"""Split the reason off a statement such as "Use pnpm, because the lock file is shared". Pure.

Patterns are bounded, for sentences of some hundred characters. Tested through `tests/model/fact/said/test_reason.py`.
"""

from __future__ import annotations

import re
from functools import cache

MARK = "**Why:**"
_FEWEST_WORDS = 3  # of a statement that stands without its reason
_WORD = re.compile(r"[^\W\d_]{2,}|[가-힣]")
_HANGUL = re.compile(r"[가-힣]")
_SINCE = r"since(?! (?:yesterday|last|then|v?[0-9]|the (?:last|start|beginning|release)|monday|version))"
_WORDS = rf"(?:because|{_SINCE}|given that|so that|due to)"
_KO_END = r"(?:자|줘|마|세요|해|요|다|돼|것|야)"
_KO_REASON = r"(?:니까|거든|라서|[아어여해]서|때문(?:에|이야|입니다))요?"
_KO_CLOSED = r"(?:[하가쓰말]자|지 마|합시다|갑시다|[해써]줘|하세요|말아\s?줘)"
_AFTER = (
    rf"^(?P<main>.{{4,280}}?)(?:,|;| [\u2013\u2014-]{{1,2}})? {_WORDS}\s(?P<why>.{{6,280}})$",
    r"^(?P<main>.{8,280}?)(?:,| [\u2013\u2014-]{1,2}) (?P<why>(?:otherwise|or else)\s.{6,280})$",
    r"^(?P<main>.{8,280}?), as (?P<why>(?:it|we|they|the|our|this|that)\s.{6,280})$",
    r"^(?P<main>.{8,280}?) [\u2013\u2014] (?P<why>(?:i|we|it|they|that|this|there)(?:'|\s).{6,280})$",
    rf"^(?P<main>.{{6,200}}{_KO_CLOSED}),? (?P<why>.{{3,200}}{_KO_REASON})\W*$",
    rf"^(?P<main>.{{6,200}}{_KO_END}), (?P<why>.{{3,200}}{_KO_REASON})\W*$",
)
_BEFORE = (
    r"^(?:because|since|given that) (?P<why>[^,]{6,200}), (?:so )?(?P<main>.{8,280})$",
    r"^(?P<why>.{4,200}(?:니까|때문에|므로|라서)),? (?P<main>.{6,280})$",
)


def split_reason(sentence: str, fewest: int = _FEWEST_WORDS) -> tuple[str, str]:
    """Return a statement of at least `fewest` words without its reason, and the reason; "" if it gives none."""
    for form in (*_BEFORE, *_AFTER):
        found = _re(form).match(sentence)
        if found and count_words(found["main"]) >= fewest:
            return found["main"].strip(" ,;\u2013\u2014-"), found["why"].strip()
    return sentence, ""


def count_words(text: str) -> int:
    """Return the number of words of a text; a Korean one says as much in one word less."""
    return len(_WORD.findall(text)) + bool(_HANGUL.search(text))


def with_reason(statement: str, why: str) -> str:
    """Return the text of a fact: the statement, and its reason as a paragraph of its own."""
    return f"{statement}\n\n{MARK} {why}" if why else statement


@cache
def _re(form: str) -> re.Pattern[str]:
    return re.compile(form, re.IGNORECASE)
