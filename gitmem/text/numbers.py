"""Numbers in a text: digits, and those that are spelled out in English or Korean. Pure."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"(?<![A-Za-z0-9_./#-])\d+(?:[.,]\d+)*(?![\w-]*_)")  # none that is a part of a name
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_KOREAN_NUMBER = re.compile(r"(?:(\d{1,9})만)?\s?(?:(\d{1,9})천)?(?:(\d{1,9})백)?(?=\D|$)")
_SMALL = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_SPELLED = {name: float(value) for value, name in enumerate(_SMALL.split(), 1)}
_SPELLED |= {name: 10.0 * value for value, name in enumerate(_TENS.split(), 2)} | {"twice": 2.0, "half": 0.5}
_SCALES = {"": 1, "dozen": 12, "hundred": 100, "thousand": 1_000}
_SPELLED_NUMBER = re.compile(
    rf"\b(?:({'|'.join(_TENS.split())})[- ])?"
    rf"(?:({'|'.join(_SPELLED)})\b(?:[- ](dozen|hundred|thousand)\b)?|(?:an?[- ])?(dozen|hundred|thousand)\b)",
    re.IGNORECASE,
)
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
_ALONE = {"하나": "1", "둘": "2", "셋": "3", "넷": "4"}
_COUNTED_WORD = re.compile(
    rf"(?<![가-힣])(?:({'|'.join(_COUNTED)})(?= ?(?:칸|개|번|명|시간|시|달|주|줄|가지|배|자|단계|쪽|장))"
    rf"|({'|'.join(_ALONE)})(?=까지|[이은을만로]|[\s.,]|$))"
)
_HOUR = re.compile(r"(?<![\d:])0?(\d{1,2}):00(?![\d:])")  # five o'clock


def numbers_of(text: str) -> frozenset[str]:
    """Return the numbers of a text: digits, without separators of thousands, and those spelled out."""
    text = _HOUR.sub(r"\1", _THOUSANDS.sub("", text))
    text = _KOREAN_NUMBER.sub(_digits, text)
    spelled = (_spelled(*map(str.casefold, words)) for words in _SPELLED_NUMBER.findall(text))
    counted = (_COUNTED.get(word) or _ALONE[alone] for word, alone in _COUNTED_WORD.findall(text))
    return frozenset((*_NUMBER.findall(text), *spelled, *counted))


def _spelled(tens: str, unit: str, scale: str, alone: str) -> str:
    """Return a number in digits: "twenty-five", "three hundred", "a dozen"."""
    value = (_SPELLED.get(tens, 0) + _SPELLED.get(unit, 1)) * _SCALES[scale or alone]
    return f"{value:g}"


def _digits(match: re.Match[str]) -> str:
    if not any(match.groups()):
        return match[0]
    value = sum(int(digits or 0) * unit for digits, unit in zip(match.groups(), (10_000, 1_000, 100), strict=True))
    return f" {value} "
