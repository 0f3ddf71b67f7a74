"""Identifiers that sort by time (docs/format.md, "Entries").

Twenty characters of Crockford's base 32 in lower case: ten of the time, ten that are unique within
its millisecond. Time and randomness are passed in.
"""

from __future__ import annotations

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
TIME_LENGTH = 10
TAIL_LENGTH = 10
LENGTH = TIME_LENGTH + TAIL_LENGTH
TAIL_BYTES = 7  # 56 bits, of which the tail keeps 50

_VALUES = {character: value for value, character in enumerate(ALPHABET)}


def _base32(number: int, length: int) -> str:
    characters = []
    for _ in range(length):
        number, digit = divmod(number, 32)
        characters.append(ALPHABET[digit])
    return "".join(reversed(characters))


def make_id(milliseconds: int, tail: bytes) -> str:
    """Return the id of something that happened `milliseconds` after 1970 UTC.

    `tail` is at least `TAIL_BYTES` long: random bytes, or a digest of content and origin where the same thing
    delivered twice must get the same id. Times before 1970 count as 1970.
    """
    return _base32(max(milliseconds, 0), TIME_LENGTH) + _base32(int.from_bytes(tail[:TAIL_BYTES], "big"), TAIL_LENGTH)


def is_id(text: str) -> bool:
    """Say whether `text` has the form of an id."""
    return len(text) == LENGTH and all(character in _VALUES for character in text)


def milliseconds_of(identifier: str) -> int:
    """Return the time in an id, in milliseconds since 1970 UTC."""
    number = 0
    for character in identifier[:TIME_LENGTH]:
        number = number * 32 + _VALUES[character]
    return number
