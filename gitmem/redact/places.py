"""Find secrets by context (`data/secret_places.tsv`), and near a word that names one: `this API key: …`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache

from gitmem.platform.machine import table
from gitmem.redact.names import OTHER_KEYS, OTHER_TOKENS, Span, values_of_names
from gitmem.redact.values import MAX_VALUE, compiled, is_loose_secret, is_made, is_scrambled, looks_random, stands_in

_BESIDE_STEMS = ("key", "secret", "token", "pass", "credential", "auth", "bearer", "login")
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

    `words` has each word of the text once, in lower case. A value not directly beside its name must have at least 20
    small letters, capitals and digits.
    """
    stems = [stem for stem in _BESIDE_STEMS if stem in words] + ([] if text.isascii() else [*_KOREAN_STEMS])
    done = 0
    for start, end in _surroundings(lowered, stems):
        for value in compiled(_RUN).finditer(text, max(start, done), end + _LONGEST):
            if value.start() >= end:
                break
            begin, done = value.span()
            if text[begin - 1 : begin] == "\\":  # an escape of JSON, which stays whole
                begin += 5 if text[begin] == "u" else 1
            kind = _kind_of(text, begin, done) if begin < done else ""
            if kind:
                yield Span(begin, done, kind)


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
    """Return whether a word near the value names a secret, and none names something else."""
    before = compiled(_STOP).split(text[max(0, start - _REACH) : start])[-1]
    after = compiled(_STOP).split(text[end : end + _REACH])[0]
    around = f"{before} {after}"
    return compiled(_WORD).search(around) is not None and compiled(_OTHER).search(around) is None


# RFC 3986 section 3.2.1: user information is `user:password`. JSON may escape a slash (RFC 8259 section 7). A password
# that is the name once more is the default of an example.
_URL = (
    r":\\?/\\?/(?P<user>[^\s/?#:@\"'<>\\`]{0,128}):(?!(?P=user)@)"
    r"([^\s/?#@\"'<>\\`]{1,256}|[A-Za-z0-9+/]{32,256}={1,2})@"
)
# RFC 6265 sections 4.1 and 4.2: a header of cookies, and a cookie that is named as one of a session.
_COOKIES = r"(?i:cookie)\\{0,8}[\"']?[ \t]{0,4}[:=][^\n]{1,4096}"
_COOKIE = (
    r"(?<![A-Za-z0-9_.-])(?=[A-Za-z0-9_.-]{0,60}(?i:sess|sid|auth|token|jwt|remember))"
    r"[A-Za-z0-9_.-]{1,60}=([A-Za-z0-9._~%+/-]{16,}=*)"
)
# Parts of many required words: a text without one of these can skip all rows that require it.
_STEMS = (
    *("auth", "bearer", "pass", "user", "login", "sql", ".key", "snmp", "conn", "openssl", "credential", "identified"),
    "",
)


def find_in_context(text: str, lowered: str, words: str) -> Iterator[Span]:
    """Find secrets, unsorted, by context or name; `lowered` is the text in lower case, `words` each of its words."""
    if ":/" in words:
        yield from _in_place(text, _URL, "any")
    if "cookie" in words:
        for header in compiled(_COOKIES).finditer(text):
            yield from _in_place(text, _COOKIE, "random", *header.span())
    for stem, rows in _places().items():
        if stem not in words:
            continue
        for longest, needed, pattern, judge in rows:
            if longest in words and all(part in lowered for part in needed):
                yield from _in_place(text, _whole(pattern), judge)
    yield from values_of_names(text, lowered, words)
    yield from values_beside(text, lowered, words)


# The characters that separate the words passed to `find_in_context`.
_APART = {code: " " for code in range(128) if not chr(code).isalnum() and chr(code) not in "_-.:/+=~$"}


@cache
def _places() -> dict[str, list[tuple[str, list[str], str, str]]]:
    """Return the rows by the first stem they require, each with its longest required piece and all of them."""
    grouped: dict[str, list[tuple[str, list[str], str, str]]] = {stem: [] for stem in _STEMS}
    for kind, needs, pattern in table("secret_places.tsv"):
        if kind != "part":
            longest = max(needs.translate(_APART).split(), key=len)
            grouped[next(stem for stem in _STEMS if stem in needs)].append((longest, needs.split(" & "), pattern, kind))
    return grouped


@cache
def _whole(pattern: str) -> str:
    """Return the compilable pattern of a row, its parts inserted; late, as few texts need any."""
    for kind, name, part in table("secret_places.tsv"):
        if kind == "part" and f"<{name}>" in pattern:
            pattern = pattern.replace(f"<{name}>", _whole(part))
    return pattern


def _in_place(text: str, pattern: str, judge: str, start: int = 0, end: int | None = None) -> Iterator[Span]:
    """Find the values in the last group of a pattern that the judge considers secrets."""
    marker, is_secret = _JUDGES[judge]
    for match in compiled(pattern).finditer(text, start, len(text) if end is None else end):
        group = match.lastindex or 0
        if is_secret(match[group]):
            yield Span(*match.span(group), marker)


def _has_colon(encoded: str) -> bool:
    from binascii import a2b_base64

    try:
        return b":" in a2b_base64(encoded)
    except ValueError:
        return False


# By the kinds of `secret_places.tsv`: the word of the marker, and whether a value is a secret.
_JUDGES: dict[str, tuple[str, Callable[[str], bool]]] = {
    "any": ("password", lambda value: not stands_in(value)),
    "password": ("password", lambda value: is_loose_secret(value, "password")),
    "random": ("bearer-token", lambda value: looks_random(value[:MAX_VALUE])),
    "made": ("api-key", lambda value: is_made(value[:MAX_VALUE], "api-key")),
    "base64": ("basic-auth", _has_colon),
}
