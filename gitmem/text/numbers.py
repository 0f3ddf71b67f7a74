"""Numbers in a text: digits, and those that are spelled out in English or Korean. Pure."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"(?<![A-Za-z0-9_./#-])\d+(?:[.,]\d+)*(?![\w-]*_)")  # none that is a part of a name
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_KOREAN_NUMBER = re.compile(r"(?:(\d{1,9})만)?\s?(?:(\d{1,9})천)?(?:(\d{1,9})백)?(?=\D|$)")
_SPELLED = {"one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8"}
_SPELLED |= {"nine": "9", "ten": "10", "twelve": "12", "twice": "2", "half": "0.5"}
_SPELLED_WORD = re.compile(rf"\b(?:{'|'.join(_SPELLED)})\b", re.IGNORECASE)
_COUNTED = {
    "한": "1",
    "두": "2",
    "세": "3",
    "네": "4",
    "다섯": "5",
    "여섯": "6",
    "일곱": "7",
    "여덟": "8",
    "아홉": "9",
    "열": "10",
}
_COUNTED_WORD = re.compile(
    rf"(?<![가-힣])({'|'.join(_COUNTED)})(?= ?(?:칸|개|번|명|시간|시|달|주|줄|가지|배|자|단계|쪽|장))"
)


def numbers_of(text: str) -> frozenset[str]:
    """Return the numbers of a text: digits, without separators of thousands, and those spelled out."""
    text = _THOUSANDS.sub("", text)
    text = _KOREAN_NUMBER.sub(_digits, text)
    spelled = (_SPELLED[word.casefold()] for word in _SPELLED_WORD.findall(text))
    counted = (_COUNTED[word] for word in _COUNTED_WORD.findall(text))
    return frozenset((*_NUMBER.findall(text), *spelled, *counted))


def _digits(match: re.Match[str]) -> str:
    if not any(match.groups()):
        return match[0]
    value = sum(int(digits or 0) * unit for digits, unit in zip(match.groups(), (10_000, 1_000, 100), strict=True))
    return f" {value} "
