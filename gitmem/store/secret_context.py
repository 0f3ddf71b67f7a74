"""Secrets that are known by where they stand: key blocks, URLs, headers, command lines, and values of telling names.

Formats (gitmem.store.secret_formats) need no context; here the context is all there is, and the value must earn it.
Two kinds of names are told apart by what their values look like:

- a *password* may be any word, so its value counts unless it is plainly something else: a reference (`$PASSWORD`,
  `args.password`, `getpass()`), a type (`str`), a word that stands for the real one (`changeme`, `your-password`), a
  sentence;
- a *secret*, *token* or *key* is made by a machine, so its value counts only where letters and digits alternate as
  they do in little that a person writes (`_looks_random`).

Names are found by `str.find` in the lowered text and their values read forward by anchored patterns of bounded length,
so time is linear in the text. Rules and bounds without a source are gitmem's own, tuned on what `bench/redact.py`
shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from gitmem.values import Value

MAX_VALUE = 256
"""Characters of a value that are looked at to judge it; one that is judged a secret is redacted whole."""

MAX_BLOCK = 65_536
"""Characters a key block may have between its two lines (an OpenSSH RSA key of 16,384 bits has 13,000)."""


class Span(Value):
    """A secret's place in a text: `[start, end)` in characters, and the word of its marker."""

    start: int
    end: int
    kind: str


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern at its first use: most texts need none of them."""
    return re.compile(pattern)


def find_in_context(text: str, lowered: str) -> Iterator[Span]:
    """Find all secrets that their context gives away; `lowered` is the text in lower case, of the same length.

    Spans may overlap and come in no order.
    """
    if "private key" in lowered:
        yield from _key_blocks(text)
    if ":/" in text or ":\\/" in text:
        yield from _url_passwords(text)
    if "bearer" in lowered or "basic" in lowered:
        yield from _authorizations(text)
    for words, pattern in _COMMANDS:
        if all(word in lowered for word in words):
            yield from _argument_passwords(text, pattern)
    for gate, names, kind in _NAMES if text.isascii() and "\\u" not in text else (*_NAMES, *_HANGUL_NAMES):
        if gate in lowered:
            for name in names:
                yield from _values_of(text, lowered, name, kind)


# Key blocks -----------------------------------------------------------------------------------------------------

# RFC 7468 sections 2 and 10 (PEM), RFC 9580 section 6.2 (OpenPGP); OpenSSH's PROTOCOL.key has the same frame.
_FRAME = r"-----(BEGIN|END) (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
_BASE64 = r"[A-Za-z0-9+/=]{16,}"
_BODY = r"(?:(?:\\{1,8}[nrt]|\s|[+>|#*-]|[0-9]{1,6}(?:→|\t|\\t)){0,24}[A-Za-z0-9+/=]{16,})+"
_LINE = r"\\{1,8}[nrt]|([A-Za-z0-9+/=]{8,})"


def _key_blocks(text: str) -> Iterator[Span]:
    """From BEGIN to END; of a block that is cut off, the lines of base64 that follow BEGIN."""
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
    """Take the block in one, or where each line is a string (of a list in JSON, of a sum in code), each line."""
    if not compiled(r'(?<!\\)"').search(text, begin.end(), end.start()):
        yield Span(begin.start(), end.end(), "private-key")
        return
    for line in compiled(_LINE).finditer(text, begin.end(), end.start()):
        if line[1]:
            yield Span(*line.span(1), "private-key")


def _is_key_material(text: str, start: int, end: int) -> bool:
    """Whether a key stands between the two lines, and not the prose of a text that names both of them.

    Line numbers, quotes and escapes may stand among the lines of a key, so base64 need only be most of it.
    """
    if end - start > MAX_BLOCK:
        return False
    return 2 * sum(map(len, compiled(_BASE64).findall(text, start, end))) > end - start


# URLs, headers, command lines -----------------------------------------------------------------------------------

# RFC 3986 section 3.2.1: user information is `user:password`. JSON may escape a slash (RFC 8259 section 7).
_URL = r":\\?/\\?/[^\s/?#:@\"'<>\\`]{0,128}:([^\s/?#@\"'<>\\`]{1,256})@"

# RFC 6750 section 2.1 (Bearer), RFC 7617 section 2 (Basic).
_BEARER = r"(?i:bearer)(?:[ \t]|%20|\\t){1,4}([A-Za-z0-9._~+/-]{16,}=*)"
_BASIC = r"(?i:authorization\\{0,8}[\"']?[ \t]{0,4}[:=][ \t]{0,4}\\{0,8}[\"']?basic) {1,4}([A-Za-z0-9+/]{8,}={0,2})"

# The words without which the pattern cannot match, and the pattern: netrc(5), sshpass(1), curl(1).
_COMMANDS = (
    (("login ", "password"), r"login[ \t]{1,4}\S{1,128}[ \t]{1,4}password[ \t]{1,4}([^\s\"'\\]{1,256})"),
    (("sshpass -p",), r"sshpass -p ?\\?[\"']?([^\s\"'\\]{1,256})"),
    (("curl ", " -u"), r"curl [^\n|;]{0,200}?-u[ =]?\\?[\"']?[^\s:\"'\\]{1,128}:([^\s\"'\\]{1,256})"),
    (("curl ", "--user"), r"curl [^\n|;]{0,200}?--user[ =]\\?[\"']?[^\s:\"'\\]{1,128}:([^\s\"'\\]{1,256})"),
)


def _url_passwords(text: str) -> Iterator[Span]:
    return _argument_passwords(text, _URL)


def _argument_passwords(text: str, pattern: str) -> Iterator[Span]:
    for match in compiled(pattern).finditer(text):
        if not _stands_in(match[1]):
            yield Span(*match.span(1), "password")


def _authorizations(text: str) -> Iterator[Span]:
    for match in compiled(_BEARER).finditer(text):
        if _looks_random(match[1][:MAX_VALUE]):
            yield Span(*match.span(1), "bearer-token")
    for match in compiled(_BASIC).finditer(text):
        yield Span(*match.span(1), "basic-auth")


# Values of telling names ----------------------------------------------------------------------------------------

# What all names of the row contain, the names, and the kind of what they name.
_NAMES = (
    ("pass", ("password", "passwd", "passphrase", "passcode", "_pass"), "password"),
    ("pw", ("pwd", "_pw"), "password"),
    ("secret", ("secret",), "secret"),
    ("credential", ("credential",), "secret"),
    ("private", ("private_key", "private-key", "privatekey"), "secret"),
    ("token", ("token",), "token"),
    ("authorization", ("authorization",), "token"),
    ("api", ("api_key", "api-key", "api key", "apikey"), "api-key"),
    ("access", ("access_key", "access-key", "accesskey"), "api-key"),
    ("key", ("auth_key", "authkey", "signing_key", "encryption_key", "master_key"), "api-key"),
)


def _written(*names: str) -> tuple[str, ...]:
    r"""Add to the names how JSON may write them (RFC 8259 section 7), and JSON in JSON, which doubles each `\\`."""
    escaped = [
        "".join(c if c.isascii() else f"{backslashes}u{ord(c):04x}" for c in name)
        for backslashes in ("\\", "\\" * 2, "\\" * 4)
        for name in names
    ]
    return (*names, *escaped)


_HANGUL_NAMES = (
    ("", _written("비밀번호", "암호", "패스워드", "비번"), "password"),
    ("", _written("시크릿", "비밀키"), "secret"),
    ("", _written("토큰"), "token"),
    ("", _written("인증키", "api 키", "api키"), "api-key"),
)

# What may stand between a name and its value: the rest of the name, the quote that closes it, a type, a separator.
_TO_VALUE = r"""(?ix)
    (?: [_-]?(?:access[_-]?)?key(?:[_-]?base)? | [_-](?:value|text|prod|dev|test|staging|live|base|raw) )? [0-9]{0,2}
    (?: \\{0,8}["'`] \]? )? \*{0,2} \??
    [\ \t]{0,8}
    (?: :[\ ]{0,2} [A-Za-z_][A-Za-z0-9_.\[\]|]{0,40} [\ ]{0,2} =(?!=)                # a type: `password: str = …`
      | (?: 은 | 는 | 이 | 가 | \\{1,4}u(?:c740|b294|c774|ac00) | (?<=[ ])is | (?<=[ ])was ) [\ \t:]{1,2}  # a sentence
      | (?P<separator> => | := | [:=](?![:=]) | > )
      | (?: \\[nrt] | [\s,"'\\-] ){1,40} value \\{0,8}["']? [\ \t]{0,4} :            # `name: PASSWORD, value: …`
    )
    \*{0,2} [\ \t]{0,8} [*_]{0,2}
    (?: [A-Za-z@$]{1,2} (?= \\{0,8}["'] ) )?                                        # f"…", @"…"
"""
_BEFORE = 42  # characters before a name that are looked at
_FLAG = r"(?:^|[\s\"'`=(\[])--?[A-Za-z-]{0,40}$"
_TAG = r"<[A-Za-z0-9_.:-]{0,40}$"
_OTHER_NAME = r"(?i)(?:next|continuation|page|pagination|cursor|sync|change|request|public)[_-]?(?:key)?[_-]?$"
"""Tokens that keep no secret: of pages, of idempotent requests, of public keys."""


def _values_of(text: str, lowered: str, name: str, kind: str) -> Iterator[Span]:
    """Find the secret values that follow `name`, wherever it stands in an identifier."""
    at = lowered.find(name)
    while at >= 0:
        after = at + len(name)
        span = _value_after(text, at, after, kind)
        if span:
            yield span
            after = span.end
        at = lowered.find(name, after)


def _value_after(text: str, at: int, after: int, kind: str) -> Span | None:
    """Find the value of the name in `[at, after)`, if it is a secret."""
    before = text[max(0, at - _BEFORE) : at]
    way = compiled(_TO_VALUE).match(text, after)
    if way is None:
        is_flag = text[after : after + 1] == " " and compiled(_FLAG).search(before)
        return _judged(text, after + 1, kind, literal=False) if is_flag else None
    separator, start = way["separator"], way.end()
    if compiled(_OTHER_NAME).search(before) or (separator == ":" and before.endswith(":")):  # `arn:aws:…:secret:…`
        return None
    if separator == ">" and not (compiled(_TAG).search(before) and text.find("</", start, start + MAX_VALUE) > 0):
        return None
    tight = separator == "=" and text[start - 1] == "="
    mapped = separator == ":" and kind == "password" and not compiled(_MEMBER).match(text, start)
    sure = text[at:after].isupper() or (tight and compiled(_FLAG).search(before) is not None)
    return _judged(text, start, kind, literal=(tight or mapped) and sure)


_OPENING = r"(\\{0,8})([\"'`])"
_RUN = r"(?:[!#$%()*+./0-9:=?@A-Z\[\]^_a-z{}~-]++|\\{1,8}/)++"  # ASCII without white space, quotes, and `; & | < > ,`


def _judged(text: str, start: int, kind: str, *, literal: bool) -> Span | None:
    """Read the value at `start`, and judge it; `literal` where a bare word can be no variable."""
    opening = compiled(_OPENING).match(text, start)
    if opening:
        start = opening.end()
        end = _closing(text, opening)
        if end is not None:
            return Span(start, end, kind) if _is_quoted_secret(text[start:end], kind) else None
    run = compiled(_RUN).match(text, start, start + MAX_VALUE)
    if run is None:
        return None
    value = run[0] if literal else _trimmed(run[0])
    if not (_is_literal_secret(value, kind) if literal or opening else _is_loose_secret(value, kind)):
        return None
    whole = compiled(_RUN).match(text, start) if len(run[0]) == MAX_VALUE else None
    return Span(start, whole.end() if whole else start + len(value), kind)


def _trimmed(value: str) -> str:
    """Take off the punctuation of the sentence or the call that the value ends."""
    value = value.rstrip(".:")
    while value and value[-1] in ")]}" and value.count(value[-1]) > value.count("([{"[")]}".index(value[-1])]):
        value = value[:-1].rstrip(".:")
    return value


def _closing(text: str, opening: re.Match[str]) -> int | None:
    r"""Where the string that `opening` opens ends, or None where it does not on its line.

    A quote at nesting depth n (a string in JSON in JSON …) has k = 2**n - 1 backslashes before it; a quote of the
    same kind inside the string has more, and escaped backslashes at its end come in multiples of 2k + 2.
    """
    depth, start = len(opening[1]), opening.end()
    newline = text.find("\n", start, start + MAX_VALUE)
    for quote in compiled(r"(\\*+)" + opening[2]).finditer(text, start, newline if newline >= 0 else start + MAX_VALUE):
        backslashes = len(quote[1])
        if backslashes < depth:
            return None
        if backslashes % (2 * depth + 2) == depth:
            end = quote.end() - 1 - depth
            return None if opening[2] != '"' and _leaves_json(text[start:end]) else end
    return None


def _leaves_json(value: str) -> bool:
    """Whether a value in single quotes runs out of the JSON string it stands in."""
    return compiled(r'"\s{0,4}[,:}\]]').search(value) is not None


# Judging a value ------------------------------------------------------------------------------------------------

_SPACE = r"\s|\\[nrt]"
_PATH = r"(?:\.{0,2}|~|[A-Za-z]:)[\\/]|[a-z][a-z0-9+.-]{1,20}:/|arn:"
_CALL = r"[A-Za-z_$][A-Za-z0-9_.$]*[(\[]"
_MEMBER = r"[A-Za-z_$][A-Za-z0-9_$]*(?:\??\.|->|::)[A-Za-z_]"
_TEMPLATE = (
    r"\$\{|\$\(|\{\{|#\{|<%|%s|\{[A-Za-z_][A-Za-z0-9_.]*(?:![rsa])?\}"  # of a shell, a template, a format string
    r"|\.\.\.|…|\*\*\*|•|(?i:xxxx)|EXAMPLE|\[REDACTED"  # left out by a person or a program
    r"|\[(?:a-|A-|0-)|\(\?"  # a regular expression
)
_REFERENCE = r"\$[A-Za-z_][A-Za-z0-9_.:>\[\]-]*$|%[A-Za-z_]+%$|%[dvqr]$|%\(|[{<\[].*[}>\]]$|[:@&!][A-Za-z_]+$|<|&lt;"
_LABEL = r"(?i)[a-z_-]{0,60}?pass(?:word|wd|phrase)[a-z_-]{0,60}$"  # names of constants, fields, policies
_CHANGES = r"(?<=[A-Za-z])[0-9]|(?<=[0-9])[A-Za-z]"
_DIGEST = r"(?i:sha-?[0-9]{1,3}|md5|blake2[bs]?)[-:=]|[0-9]{4}-[0-9]{2}-[0-9]{2}"  # or a date

# Words that stand in for a secret: a value of nothing but these is none.
_FILLER_WORDS = """
a access admin an any api app auth bar baz bearer bool boolean bytes change changeme client credential credentials db
default demo dummy empty enter env example fake false field fixme foo generate here hidden insert int invalid key local
me missing mock my new nil no none null number object of old optional oauth paste pass passphrase passwd password
placeholder private pwd redacted removed replace required sample secret secrets set show some str string tbd test
testing the this todo token true type undefined unknown unset use user username value var wrong xxx yes your
"""
_FILLERS = frozenset(_FILLER_WORDS.split())

_MIN_PASSWORD = 4
_MIN_LOOSE_PASSWORD = 6  # without quotes, where it must be told from the next word
_MIN_MIXED = 8  # of a machine's secret with letters and digits, where its place is sure
_MIN_ALIKE = 16  # of one with letters only
_MIN_ONE_RUN = 10  # of one that is letters and then digits, or the other way round
_MIN_KINDS = 5  # different characters of a machine's secret
_MIN_CHANGES = 5  # from letters to digits or back; four characters of length count as one
_MIN_LOOSE_CHANGES = 3


def _stands_in(value: str) -> bool:
    """Whether a value is no secret but a reference to one, or a word in its place."""
    if compiled(_TEMPLATE).search(value) or compiled(_REFERENCE).match(value) or not value.strip("*.-_#?=x0X"):
        return True
    if any(map(str.isdigit, value)):
        return False
    words = compiled(r"[A-Z]?[a-z]+|[A-Z]+").findall(value)
    return bool(words) and all(word.lower() in _FILLERS for word in words)


def _is_plain(value: str) -> bool:
    """Whether a value is a phrase, a path, a digest, a date, or stands in for a secret."""
    plain = compiled(_SPACE).search(value) or compiled(_PATH).match(value) or compiled(_DIGEST).match(value)
    return plain is not None or _stands_in(value)


def _looks_random(value: str, least: int = 1) -> bool:
    """Whether letters and digits alternate as in a key, often enough for its length and `least` times.

    `gpt-4o-mini`, `us-east-1`, `2026-01-15T10:00` and `utf8` do not; a hexadecimal digest does.
    """
    changes = len(compiled(_CHANGES).findall(value))
    if changes < least or len(set(value)) < _MIN_KINDS or _is_plain(value):
        return False
    if changes == 1:
        return len(value) >= _MIN_ONE_RUN and value.isalnum()
    return changes + len(value) // 4 >= _MIN_CHANGES


def _is_mixed(value: str) -> bool:
    return any(map(str.isalpha, value)) and any(map(str.isdigit, value))


def _is_quoted_secret(value: str, kind: str) -> bool:
    if kind != "password":
        return _looks_random(value)
    if len(value) < _MIN_PASSWORD or not any(map(str.isascii, value)) or compiled(_LABEL).match(value):
        return False
    return not _is_plain(value)


def _is_literal_secret(value: str, kind: str) -> bool:
    """Of `PASSWORD=value`, as in a shell or a file of settings."""
    if compiled(_CALL).match(value):
        return False
    if kind == "password":
        return _is_quoted_secret(value, kind)
    long = len(value) >= (_MIN_MIXED if _is_mixed(value) else _MIN_ALIKE)
    return long and not value.isdigit() and not _is_plain(value)


def _is_loose_secret(value: str, kind: str) -> bool:
    """Of a value without quotes, which in code is a variable and in prose the next word."""
    if compiled(_CALL).match(value) or compiled(_MEMBER).match(value):
        return False
    if kind != "password":
        return _looks_random(value, least=_MIN_LOOSE_CHANGES)
    if value.isdigit():
        return len(value) >= _MIN_PASSWORD
    strange = any(map(str.isalpha, value)) and compiled("[0-9!@#$%^*?~+]").search(value)
    return len(value) >= _MIN_LOOSE_PASSWORD and bool(strange) and _is_quoted_secret(value, kind)
