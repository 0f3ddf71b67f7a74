"""Secrets recognised by their context: key blocks, URLs, headers, command lines, values of telling names.

Formats need no context; here the value must look like a secret, too (gitmem.redact.names). The places are a table,
`data/secret_places.tsv`. Patterns are bounded, so time is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache

from gitmem.redact.names import MAX_VALUE, Span, compiled, is_loose_secret, looks_random, stands_in, values_of_names
from gitmem.text.data import table

_MAX_BLOCK = 65_536  # characters between the two lines of a key block (an OpenSSH RSA key of 16,384 bits has 13,000)
# RFC 3986 section 3.2.1: user information is `user:password`. JSON may escape a slash (RFC 8259 section 7).
_URL = r":\\?/\\?/[^\s/?#:@\"'<>\\`]{0,128}:([^\s/?#@\"'<>\\`]{1,256})@"
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
    """Find all secrets that their context reveals; `lowered` is the text in lower case, of the same length.

    `words` has each word of it once, which is less to look through. Spans may overlap and are not sorted.
    """
    if "private" in words and "private key" in lowered:
        yield from _key_blocks(text)
    if ":/" in words:
        yield from _judged(text, _URL, "any")
    if "cookie" in words:
        for header in compiled(_COOKIES).finditer(text):
            yield from _judged(text, _COOKIE, "random", *header.span())
    for stem, rows in _places():
        if stem not in words:
            continue
        for longest, needed, pattern, judge in rows:
            if longest in words and all(part in lowered for part in needed):
                yield from _judged(text, pattern, judge)
    yield from values_of_names(text, lowered, words)


@cache
def _places() -> list[tuple[str, list[tuple[str, list[str], str, str]]]]:
    """Return the rows by the first stem they need, each with its longest piece of a word and all it needs."""
    parts: dict[str, str] = {}
    grouped: dict[str, list[tuple[str, list[str], str, str]]] = {stem: [] for stem in _STEMS}
    for kind, needs, pattern in table("secret_places.tsv"):
        for name, part in parts.items():
            pattern = pattern.replace(name, part)  # noqa: PLW2901
        if kind == "part":
            parts[f"<{needs}>"] = pattern
            continue
        needed = needs.split(" & ")
        stem = next(stem for stem in grouped if any(stem in part for part in needed))
        longest = max(compiled(r"[a-z0-9_.:/+=~$-]+").findall(" ".join(needed)), key=len)
        grouped[stem].append((longest, needed, pattern, kind))
    return list(grouped.items())


def _judged(text: str, pattern: str, judge: str, start: int = 0, end: int | None = None) -> Iterator[Span]:
    """Find the values that group 1 of a pattern matches and that are secrets by a judge."""
    marker, is_secret = _JUDGES[judge]
    for match in compiled(pattern).finditer(text, start, len(text) if end is None else end):
        if is_secret(match[1]):
            yield Span(*match.span(1), marker)


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
    "base64": ("basic-auth", _has_colon),
}


# RFC 7468 sections 2 and 10 (PEM), RFC 9580 section 6.2 (OpenPGP); OpenSSH's PROTOCOL.key has the same frame.
_FRAME = r"-----(BEGIN|END) (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
_BASE64 = r"[A-Za-z0-9+/=]{16,}"
_BODY = r"(?:(?:\\{1,8}[nrt]|\s|[+>|#*-]|[0-9]{1,6}(?:→|\t|\\t)){0,24}[A-Za-z0-9+/=]{16,})+"
_LINE = r"\\{1,8}[nrt]|([A-Za-z0-9+/=]{8,})"


def _key_blocks(text: str) -> Iterator[Span]:
    """Find key blocks from BEGIN to END; of a truncated one, the lines of base64 after BEGIN."""
    frames = list(compiled(_FRAME).finditer(text))
    for place, begin in enumerate(frames):
        if begin[1] != "BEGIN":
            continue
        after = frames[place + 1] if place + 1 < len(frames) else None
        if after and after[1] == "END" and _is_key_material(text, begin.end(), after.start()):
            yield from _block(text, begin, after)
        elif body := compiled(_BODY).match(text, begin.end()):
            yield Span(begin.start(), body.end(), "private-key")


def _block(text: str, begin: re.Match[str], end: re.Match[str]) -> Iterator[Span]:
    """Find the block as one span, or each line if each is a string (a list in JSON, a sum in code)."""
    if not compiled(r'(?<!\\)"').search(text, begin.end(), end.start()):
        yield Span(begin.start(), end.end(), "private-key")
        return
    for line in compiled(_LINE).finditer(text, begin.end(), end.start()):
        if line[1]:
            yield Span(*line.span(1), "private-key")


def _is_key_material(text: str, start: int, end: int) -> bool:
    """Return whether most of the text between the two lines is base64, unlike prose that mentions both.

    Line numbers, quotes and escapes may be among the lines of a key.
    """
    if end - start > _MAX_BLOCK:
        return False
    return 2 * sum(map(len, compiled(_BASE64).findall(text, start, end))) > end - start
