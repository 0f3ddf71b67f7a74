"""Secrets recognised by their context: key blocks, URLs, headers, command lines, values of telling names.

Formats (gitmem.redact.formats) need no context; here the value must look like a secret, too (gitmem.redact.values).
Patterns are bounded, so time is linear in the text.

Tested through `tests/redact/test_redact.py`.
"""

from __future__ import annotations

from gitmem.redact.names import values_of_names
from gitmem.redact.values import MAX_VALUE, Span, compiled, looks_random, stands_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

MAX_BLOCK = 65_536
"""Characters a key block may have between its two lines (an OpenSSH RSA key of 16,384 bits has 13,000)."""


def find_in_context(text: str, lowered: str) -> Iterator[Span]:
    """Find all secrets that their context reveals; `lowered` is the text in lower case, of the same length.

    Spans may overlap and are not sorted.
    """
    if "private key" in lowered:
        yield from _key_blocks(text)
    if ":/" in text or ":\\/" in text:
        yield from _url_passwords(text)
    if "bearer" in lowered:
        yield from _bearer_tokens(text)
    for word, pattern in _BASIC:
        if word in lowered:
            yield from _basic_credentials(text, pattern)
    for words, pattern in _COMMANDS:
        if all(word in lowered for word in words):
            yield from _passwords(text, pattern)
    yield from values_of_names(text, lowered)


# Key blocks -----------------------------------------------------------------------------------------------------

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
    if end - start > MAX_BLOCK:
        return False
    return 2 * sum(map(len, compiled(_BASE64).findall(text, start, end))) > end - start


# URLs, headers, command lines -----------------------------------------------------------------------------------

# RFC 3986 section 3.2.1: user information is `user:password`. JSON may escape a slash (RFC 8259 section 7).
_URL = r":\\?/\\?/[^\s/?#:@\"'<>\\`]{0,128}:([^\s/?#@\"'<>\\`]{1,256})@"

# RFC 6750 section 2.1.
_BEARER = r"(?i:bearer)(?:[ \t]|%20|\\t){1,4}([A-Za-z0-9._~+/-]{16,}=*)"

# A word without which the pattern cannot match, and the pattern. RFC 7617 section 2; Docker, "docker login", credential
# stores (config.json); npm, ".npmrc", auth related configuration.
_BASE64_VALUE = r"([A-Za-z0-9+/]{8,}={0,2})"
_BASIC = (
    (
        "basic ",
        rf"(?i:authorization\\{{0,8}}[\"']?[ \t]{{0,4}}[:=][ \t]{{0,4}}\\{{0,8}}[\"']?basic) {{1,4}}{_BASE64_VALUE}",
    ),
    ("auth", rf"\"auth\\{{0,8}}\"\s{{0,4}}:\s{{0,4}}\\{{0,8}}\"{_BASE64_VALUE}"),
    ("_auth", rf"_auth[ \t]{{0,4}}=[ \t]{{0,4}}\\?\"?{_BASE64_VALUE}"),
)

# The words without which the pattern cannot match, and the pattern. In order: netrc(5), sshpass(1), curl(1) twice,
# "docker login", mysql(1), redis-cli, openssl-passphrase-options(1), MySQL's CREATE USER, WordPress's wp-config.php.
_ARGUMENT = r"\\{0,8}[\"']?([^\s\"'\\]{1,256})"
_COMMANDS = (
    (("login ", "password"), rf"login[ \t]{{1,4}}\S{{1,128}}[ \t]{{1,4}}password[ \t]{{1,4}}{_ARGUMENT}"),
    (("sshpass -p",), rf"sshpass -p ?{_ARGUMENT}"),
    (("curl ", " -u"), rf"curl [^\n|;]{{0,200}}?(?<= )-u[ =]?\\{{0,8}}[\"']?[^\s:\"'\\]{{1,128}}:{_ARGUMENT}"),
    (("curl ", "--user"), rf"curl [^\n|;]{{0,200}}?(?<= )--user[ =]\\{{0,8}}[\"']?[^\s:\"'\\]{{1,128}}:{_ARGUMENT}"),
    (("docker login", " -p"), rf"docker login [^\n|;]{{0,200}}?(?<= )-p[ =]{_ARGUMENT}"),
    (("mysql", " -p"), rf"mysql[a-z]{{0,10}} [^\n|;]{{0,200}}?(?<= )-p(?![0-9:]+\b){_ARGUMENT}"),
    (("redis-cli", " -a "), rf"redis-cli [^\n|;]{{0,200}}?(?<= )-a {_ARGUMENT}"),
    (("pass:",), rf"-pass(?:in|out)? pass:{_ARGUMENT}"),
    (("identified by",), rf"(?i:user [^\n;]{{1,120}}? identified by) (?=\\{{0,8}}[\"']){_ARGUMENT}"),
    (
        ("define(",),
        r"define\(\s{0,4}\\{0,8}[\"'][A-Z_]{0,40}(?:PASSWORD|PASS|SECRET|TOKEN|KEY|SALT)\\{0,8}[\"'],\s{0,4}\\{0,8}[\"']([^\"'\\\n]{4,256})",
    ),
)


def _url_passwords(text: str) -> Iterator[Span]:
    return _passwords(text, _URL)


def _passwords(text: str, pattern: str) -> Iterator[Span]:
    for match in compiled(pattern).finditer(text):
        if not stands_in(match[1]):
            yield Span(*match.span(1), "password")


def _bearer_tokens(text: str) -> Iterator[Span]:
    for match in compiled(_BEARER).finditer(text):
        if looks_random(match[1][:MAX_VALUE]):
            yield Span(*match.span(1), "bearer-token")


def _basic_credentials(text: str, pattern: str) -> Iterator[Span]:
    """Find the base64 of `user:password`."""
    for match in compiled(pattern).finditer(text):
        if _has_colon(match[1]):
            yield Span(*match.span(1), "basic-auth")


def _has_colon(encoded: str) -> bool:
    from binascii import a2b_base64

    try:
        return b":" in a2b_base64(encoded)
    except ValueError:
        return False
