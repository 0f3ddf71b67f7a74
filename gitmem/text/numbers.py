"""Find the numbers in a text: digits, and numbers spelled out in English or Korean. Pure."""

from __future__ import annotations

import re
from functools import cache

_NUMBER = re.compile(r"(?<![A-Za-z0-9_./#-])\d+(?:[.,]\d+)*(?![\w-]*_)")  # not within a name
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
_SPELLED_NUMBER = (
    rf"\b(?:({'|'.join(_TENS.split())})[- ])?"
    rf"(?:({'|'.join(_SPELLED)})\b(?:[- ](dozen|hundred|thousand)\b)?|(?:an?[- ])?(dozen|hundred|thousand)\b)"
)
_UNITS, _DOZENS = "한 두 세 네 다섯 여섯 일곱 여덟 아홉", "열 스물 서른 마흔 쉰 예순 일흔 여든 아흔"
_COUNTED = {name: value for value, name in enumerate(_UNITS.split(), 1)}
_COUNTED_TENS = {name: 10 * value for value, name in enumerate(_DOZENS.split(), 1)} | {"스무": 20}
_ALONE = {"하나": "1", "둘": "2", "셋": "3", "넷": "4"}
_DIGITS, _POWERS = "일이삼사오육칠팔구", {"십": 10, "백": 100, "천": 1_000}
_DIGIT = f"[{_DIGITS}]?"
# A counter as a whole word or with a particle: "네 명", not "네 명령". A lone digit is mostly another word:
# "이 줄" means "this line".
_COUNTER = (
    "(?= ?(?:칸|개월|개|번|명|시간|시|달러|달|주일|주|줄|가지|배|자리|글자|자|단계|쪽|장|년|건|권|초|분|회|행|퍼센트)"
    "(?:[씩마째짜이은는을를까만로으에의간쯤정당동미도와과보다입별]|$|[^가-힣]))"
)
_COUNTED_WORD = (
    rf"(?<![가-힣])(?:(?=[한두세네다여일아열스서마쉰예])({'|'.join(_COUNTED_TENS)})?({'|'.join(_COUNTED)})?{_COUNTER}"
    rf"|((?={_DIGIT}[십백천])(?:{_DIGIT}천)?(?:{_DIGIT}백)?(?:{_DIGIT}십)?{_DIGIT}|[삼오육칠팔]){_COUNTER}"
    rf"|({'|'.join(_ALONE)})(?=까지|[이은을만로]|[\s.,]|$))"
)
_HOUR = re.compile(r"(?<![\d:])0?(\d{1,2}):00(?![\d:])")  # five o'clock


def numbers_of(text: str) -> frozenset[str]:
    """Return the numbers of a text: digits, without separators of thousands, and those spelled out."""
    text = _HOUR.sub(r"\1", _THOUSANDS.sub("", text))
    text = _KOREAN_NUMBER.sub(_digits, text)
    spelled_number, counted_word = _patterns()
    spelled = (_spelled(*map(str.casefold, words)) for words in spelled_number.findall(text))
    counted = (_counted(*words) for words in counted_word.findall(text))
    return frozenset((*_NUMBER.findall(text), *spelled, *counted))


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Compile the large patterns at their first use, which takes 3 ms."""
    return re.compile(_SPELLED_NUMBER, re.IGNORECASE), re.compile(_COUNTED_WORD)


def _spelled(tens: str, unit: str, scale: str, alone: str) -> str:
    """Return a number in digits: "twenty-five", "three hundred", "a dozen"."""
    value = (_SPELLED.get(tens, 0) + _SPELLED.get(unit, 1)) * _SCALES[scale or alone]
    return f"{value:g}"


def _counted(tens: str, unit: str, sino: str, alone: str) -> str:
    """Return a Korean number in digits: "스물네", "이백오십", "둘"."""
    parts = re.findall(f"({_DIGIT})([십백천]|$)", sino)
    value = sum((_DIGITS.find(digit) + 1 if digit else bool(power)) * _POWERS.get(power, 1) for digit, power in parts)
    return _ALONE.get(alone) or f"{_COUNTED_TENS.get(tens, 0) + _COUNTED.get(unit, 0) + value}"


def _digits(match: re.Match[str]) -> str:
    if not any(match.groups()):
        return match[0]
    value = sum(int(digits or 0) * unit for digits, unit in zip(match.groups(), (10_000, 1_000, 100), strict=True))
    return f" {value} "
