"""Identifiers of memories (docs/format.md, "Entries").

An id of what was saved once sorts by time: twenty characters of Crockford's base 32 in lower case, ten of the time, ten
that are unique within its millisecond. An id that follows from what it names (an exchange, a fact) is a letter for its
kind and ten characters of a digest. Time and randomness are passed in.
"""

from __future__ import annotations

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
TIME_LENGTH = 10
TAIL_LENGTH = 10
LENGTH = TIME_LENGTH + TAIL_LENGTH
TAIL_BYTES = 7  # 56 bits, of which the tail keeps 50
SHORT_LENGTH = 1 + TAIL_LENGTH
EXCHANGE_LETTER = "x"
FACT_LETTERS = "dfrscpi"  # one for each kind
ID_FORM = rf"(?:[{ALPHABET}]{{{LENGTH}}}|[a-z][{ALPHABET}]{{{TAIL_LENGTH}}})"  # as a regular expression

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


def exchange_id(session: str, turn: str) -> str:
    """Return the id of an exchange, which follows from the session and the host's id of the turn alone."""
    return kind_id(EXCHANGE_LETTER, session, turn)


def kind_id(letter: str, *content: str) -> str:
    """Return the id that begins with a letter for its kind and follows from these texts."""
    return letter + _base32(int.from_bytes(digest(*content)[:TAIL_BYTES], "big"), TAIL_LENGTH)


def digest(*content: str) -> bytes:
    """Return a digest of texts, in their order."""
    import hashlib  # 5 ms, not needed by the start of a session

    return hashlib.sha256("\0".join(content).encode("utf-8", "surrogatepass")).digest()


def short_session(session: str) -> str:
    """Return the beginning of a session's id that tells it from others; an id that begins with its time needs more."""
    timed = session.startswith("ses_") or (session[8:9], session[14:15]) == ("-", "7")  # OpenCode; a UUID of version 7
    return session[: 16 if timed else 8]


def tail_of(identifier: str) -> str:
    """Return the digest in an id: by it the exchanges of version 1, which had a time in their ids, are the same."""
    return identifier[-TAIL_LENGTH:]


def is_id(text: str) -> bool:
    """Return whether `text` has the form of an id, with a time or of a kind."""
    if len(text) == SHORT_LENGTH:
        return text[0].isascii() and text[0].islower() and all(character in _VALUES for character in text[1:])
    return is_timed(text)


def is_fact_id(text: str) -> bool:
    """Return whether `text` has the form of the id of a fact."""
    return is_id(text) and len(text) == SHORT_LENGTH and text[0] in FACT_LETTERS


def is_timed(text: str) -> bool:
    """Return whether `text` has the form of an id that has a time."""
    return len(text) == LENGTH and all(character in _VALUES for character in text)


def milliseconds_of(identifier: str) -> int:
    """Return the time in an id, in milliseconds since 1970 UTC; 0 for one that has none."""
    if len(identifier) != LENGTH:
        return 0
    number = 0
    for character in identifier[:TIME_LENGTH]:
        number = number * 32 + _VALUES[character]
    return number
