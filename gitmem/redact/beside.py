"""Find values near a word that names a secret: `this token for Mistral: …`, `… is my API key`, `…를 API_TOKEN에`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gitmem.redact.names import OTHER_KEYS, OTHER_TOKENS, Span
from gitmem.redact.values import MAX_VALUE, compiled, is_loose_secret, is_made, is_scrambled

_STEMS = ("key", "secret", "token", "pass", "credential", "auth", "bearer", "login")
_KOREAN_STEMS = ("토큰", "시크릿", "비밀", "암호", "키")
_WORD = (
    r"(?<![A-Za-z])(?i:api[ _-]?key|secret|token|passw(?:or)?d|passphrase|credentials?|auth|bearer|login|key)"
    r"(?![A-Za-z])|토큰|시크릿|비밀|암호|(?<=[ 가-힣])키"
)
_OTHER = (  # tokens and keys that keep no secret, and values that are none
    rf"(?i:{OTHER_KEYS}|{OTHER_TOKENS}|checksum|digest|hash|sha|md5|etag|trace|commit|fingerprint|signature|certificate)"
    "|캐시|공개|기본|외래"
)
_RUN = r"(?<![A-Za-z0-9_.+/=~!@#$%^&*-])[A-Za-z0-9_.+/=~!@#$%^&*-]{8,2000}+"
_ID = (  # of messages, calls, runs, customers, payments: a word that says so before the rest
    r"(?:acct|asst|batch|call|ch|chatcmpl|conv|cus|evt|fc|file|gen|in|item|job|msg|org|pi|price|prod|proj|req|resp|rs|run"
    r"|sess|sub|task|thread|toolu|user|vs)[_-]"
)
_LONG = rf"(?!{_ID})[A-Za-z0-9][A-Za-z0-9_+/~-]{{19,511}}={{0,2}}"
_NAME = r"""(?x) (?:\\{0,8}["'`])? (?:
    [ ] (?:as|is) [ ] (?:(?:the|my|our|your|an?) [ ] (?:[A-Za-z0-9.-]{1,20} [ ]){0,2})? (?:\\{0,8}["'`])?
        [A-Za-z0-9_]{0,40}? (?: (?i:token|secret|_key|api[ ]key) | (?P<phrase>(?i:pass)) )
  | [ ] (?:for|into|in|to|->|=>) [ ] (?:(?:the|my|our|your) [ ])? (?:\\{0,8}["'`])?
        [A-Z0-9_]{0,40}_ (?: TOKEN|SECRET|KEY | (?P<constant>PASS) )
  | (?:을|를|로|으로|은|는|이|가)? [ ]? (?:\\{0,8}["'`])?
        [A-Za-z0-9_]{0,40}_ (?: (?i:token|secret|key) | (?P<joined>(?i:pass)) )
)"""
"""A name behind its value: in a sentence, in capitals behind a preposition, joined by a Korean particle or none."""
_REACH = 64  # characters between the word and the value
_LONGEST = 2000  # characters of a value
_LOOKED = 600  # characters before a word, most values among them
_STOP = r"[.!?]\s|[\r\n,;|&(){}\[\]\\]"  # the end of a sentence or a command; a member of JSON


def values_beside(text: str, lowered: str, words: str) -> Iterator[Span]:
    """Find values near a word that names a secret; `lowered` is the text in lower case, of the same length.

    `words` has each word of the text once, in lower case. A value of which the name does not follow at once must have
    at least 20 small letters, capitals and digits.
    """
    stems = [stem for stem in _STEMS if stem in words] + ([] if text.isascii() else [*_KOREAN_STEMS])
    done = 0
    for start, end in _surroundings(lowered, stems):
        for value in compiled(_RUN).finditer(text, max(start, done), end + _LONGEST):
            if value.start() >= end:
                break
            done = value.end()
            kind = _kind_of(text, *value.span())
            if kind:
                yield Span(*value.span(), kind)


def _surroundings(lowered: str, stems: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Yield the ranges around the stems, in order and without overlaps."""
    start, end = 0, 0
    for place in sorted(place for stem in stems for place in _places_of(lowered, stem)):
        if place - _LOOKED > end:
            yield start, end
            start = place - _LOOKED
        end = place + _REACH
    yield start, end


def _places_of(text: str, stem: str) -> Iterator[int]:
    at = text.find(stem)
    while at >= 0:
        yield at
        at = text.find(stem, at + len(stem))


def _kind_of(text: str, start: int, end: int) -> str:
    """Return the kind of the value if a word near it names a secret, or ''."""
    value = text[start:end]
    name = compiled(_NAME).match(text, end)
    if name and (name["phrase"] or name["constant"] or name["joined"]):
        return "password" if is_loose_secret(value, "password") else ""
    if name and is_made(value[:MAX_VALUE], "api-key"):
        return "api-key"
    alone = text[start - 1 : start] not in {"&", "?", ":"} and text[end : end + 1] not in {"(", "?", "&"}
    long = alone and compiled(_LONG).fullmatch(value.rstrip("."))
    return "api-key" if long and is_scrambled(value) and _is_named(text, start, end) else ""


def _is_named(text: str, start: int, end: int) -> bool:
    """Return whether a word that names a secret stands near the value, and none that names something else."""
    before = compiled(_STOP).split(text[max(0, start - _REACH) : start])[-1]
    after = compiled(_STOP).split(text[end : end + _REACH])[0]
    around = f"{before} {after}"
    return compiled(_WORD).search(around) is not None and compiled(_OTHER).search(around) is None
