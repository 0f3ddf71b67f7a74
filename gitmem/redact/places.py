"""Find secrets by where they stand: addresses, headers of cookies, programs and files (`data/secret_places.tsv`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

from gitmem.platform.machine import table
from gitmem.redact.beside import values_beside
from gitmem.redact.names import Span, values_of_names
from gitmem.redact.values import MAX_VALUE, compiled, is_loose_secret, is_made, looks_random, stands_in

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
# Parts of many needed words: where one of these is not in a text, no row with it need be looked at.
_STEMS = (
    *("auth", "bearer", "pass", "user", "login", "sql", ".key", "snmp", "conn", "openssl", "credential", "identified"),
    "",
)


def find_in_context(text: str, lowered: str, words: str) -> Iterator[Span]:
    """Find the secrets that their context or name reveals; `lowered` is the text in lower case, of the same length.

    `words` has each word of it once, which is less to look through. Spans may overlap and are not sorted.
    """
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


# What parts the words that `find_in_context` is given.
_APART = {code: " " for code in range(128) if not chr(code).isalnum() and chr(code) not in "_-.:/+=~$"}


@cache
def _places() -> dict[str, list[tuple[str, list[str], str, str]]]:
    """Return the rows by the first stem they need, each with its longest piece of a word and all it needs."""
    grouped: dict[str, list[tuple[str, list[str], str, str]]] = {stem: [] for stem in _STEMS}
    for kind, needs, pattern in table("secret_places.tsv"):
        if kind != "part":
            longest = max(needs.translate(_APART).split(), key=len)
            grouped[next(stem for stem in _STEMS if stem in needs)].append((longest, needs.split(" & "), pattern, kind))
    return grouped


@cache
def _whole(pattern: str) -> str:
    """Return the pattern of a row with its parts; few texts need any."""
    for kind, name, part in table("secret_places.tsv"):
        if kind == "part" and f"<{name}>" in pattern:
            pattern = pattern.replace(f"<{name}>", _whole(part))
    return pattern


def _in_place(text: str, pattern: str, judge: str, start: int = 0, end: int | None = None) -> Iterator[Span]:
    """Find the values that the last group of a pattern matches and that are secrets by a judge."""
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
