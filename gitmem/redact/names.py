"""Find secrets by name and form of the value: `password = "…"`, `--token …`, `비밀번호는 …`.

gitmem.redact.places finds secrets by context.

A *password* may be any word, so its value counts unless it is plainly something else: a reference (`$PASSWORD`,
`getpass()`), a type (`str`), a placeholder (`changeme`), a sentence. A *secret*, *token* or *key* is made by a machine,
so its value counts only if letters and digits alternate as in little that users write (`looks_random`).
Names are found by `str.find`, values by anchored patterns of bounded length, so time is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from gitmem.platform.machine import table
from gitmem.redact.values import (
    MAX_VALUE,
    MEMBER,
    compiled,
    is_hangul_password,
    is_key,
    is_literal_secret,
    is_loose_secret,
    is_made,
    is_quoted_secret,
    stands_in,
)
from gitmem.values import Value


class Span(Value):
    """The position of a secret in a text, `[start, end)` in characters, and the word of its marker."""

    start: int
    end: int
    kind: str


_AWS_SECRET = r"(?:[A-Za-z0-9+]|\\?/){40}(?![A-Za-z0-9/+=])"  # noqa: S105  # a pattern; JSON may escape a slash
_WHOLE_WORDS = frozenset({"pw", "psk"})  # names so short that they must be whole words
_Row = tuple[str, list[str], str]  # a part of some names, the names, the kind of their values


@cache
def _names() -> tuple[list[_Row], list[_Row]]:
    """Return the names in ASCII, and the Korean ones, as they are and as JSON escapes them."""
    rows = [(part, names.split(" | "), kind) for kind, part, names in table("secret_names.tsv")]
    korean = [row for row in rows if not row[0]]
    escaped = [(f"u{ord(name[-1]):04x}", _escaped(name), kind) for _, names, kind in korean for name in names]
    return [row for row in rows if row[0]], korean + escaped


def _escaped(name: str) -> list[str]:
    r"""Return how JSON may write a name (RFC 8259 section 7), and JSON in JSON, which doubles each `\\`."""
    ways = ("\\", "\\" * 2, "\\" * 4)
    return ["".join(c if c.isascii() else f"{way}u{ord(c):04x}" for c in name) for way in ways]


def _hangul(*words: str) -> str:
    """Return a pattern for the words, plain or escaped as in JSON."""
    return "|".join(
        "".join(rf"(?:{c}|\\{{1,4}}u{ord(c):04x})" if not c.isascii() else rf"[{c}]" for c in word) for word in words
    )


# Between a name and its value: the rest of the name, its closing quote, a type, a separator.
_TO_VALUE = r"""(?ix)
    (?: [\ _-]?(?:access[\ _-]?)?key(?:[_-]?base)? | [_-](?:value|text|string|prod|dev|test|staging|live|base|raw) )?
    [0-9]{0,2}
    (?: \\{0,8}["'`] \]? )? \*{0,2} \??
    [\ \t]{0,8}
    (?: :[\ ]{0,2} &? [A-Za-z_][A-Za-z0-9_.\[\]|]{0,40} [\ ]{0,2} =(?!=)             # a type: `password: str = …`
      | HANGUL
      | (?<=[ ]) (?:value[ ])? (?:(?:should|must|will)[ ]be|is|was|equals)                 # a sentence
        (?:[ ](?:now|set[ ]to))? [\ \t:]{1,2}
      | (?P<to> (?<=[ ])                                                           # `set API_KEY to …`
        (?:(?:env(?:ironment)?[ ])?(?:var(?:iable)?|secret|value|setting|header)[ ])? to [ ] )
      | [\ ] --?(?:[a-z-]{0,20}-)?(?:body|value|data|string|text) (?=[\ =]) =?  # `secret set API_KEY --body …`
      | (?P<separator> => | -> | → | := | [:=](?![:=]) | > | (?<=[ ])[|\u2013\u2014-](?=[ ]) )
      | (?=[ ]')                                                                    # SQL: PASSWORD '…'
      | (?: \\[nrt] | [\s,"'\\-] ){1,40} value \\{0,8}["']? [\ \t]{0,4} [:=]        # `name: PASSWORD, value: …`
      | (?P<argument> (?<=["'`]) , [\ \t]{0,4} (?=\\{0,8}["'`]) )                   # `set("password", "…")`
      | (?P<call> \( (?=\\{0,8}["'`]) )                                             # `.api_key("…")`
      | (?P<next> (?: (?<=[A-Za-z0-9][\ \t]) | (?<=[A-Z]) , ) (?=[A-Za-z0-9]) )  # `configure set API_KEY …`
    )
    \*{0,2} [\ \t]{0,8} [*_]{0,2}
    (?: [A-Za-z@$]{1,2} (?= \\{0,8}["'] ) )?                                        # f"…", @"…"
"""
# `TOKEN의 값은 …`, `토큰을 … 로`, `키 값: …`
_OF = f"(?:{_hangul('의')})?[ ]?(?:(?:{_hangul('비밀번호', '암호', '토큰', '키', '시크릿')})[ ]?)?(?:{_hangul('값')})?"
_PARTICLE = _hangul("은", "는", "이", "가", "을", "를", "에")
_VARIABLE = f"(?:[ ]?{_hangul('환경')}[ ]?{_hangul('변수')})?"
_HANGUL_WAY = rf"(?: {_OF} {_VARIABLE} (?:{_PARTICLE}) | [ ]? (?:{_hangul('키', '값')}) [ ]? [:=] ) [\ \t:]{{1,2}}"
_WAYS = {False: _TO_VALUE.replace("| HANGUL", ""), True: _TO_VALUE.replace("HANGUL", _HANGUL_WAY)}
"""`_TO_VALUE` for a text in ASCII, and for one that may have Korean, which takes twice as long to compile."""

_BEFORE = 42  # characters read before a name
_FLAG = r"(?:^|[\s\"'`=(\[])--?[A-Za-z-]{0,40}$"
_PART = r":$|::[A-Za-z0-9]{1,40}$"  # of `arn:aws:…:secret:…`, of `"AWS::MSK::BatchScramSecret": …`
_ARGUMENT = rf"{_FLAG}|[?&]$"  # of a command (`--token=…`), of a URL (`?token=…`)
_QUERY = r"[?&][A-Za-z0-9_.-]{0,40}$"
_ALONE = r"(?:^|\n|\\n)[ \t]*(?:- )?[A-Za-z0-9_.-]{0,40}$"
_WORD_LINE = r"[a-z][a-z0-9_-]{3,63}(?=[ \t]{0,8}(?:[\r\n]|\\{1,8}[nr]|\\{0,8}\"|$))"  # a whole line of YAML
_TAG = r"<(?:[a-z]{1,20} name=[\"'])?[A-Za-z0-9_.:-]{0,40}$"
_SET = r"(?i)\b(?:set|change|reset|update|rotate)d?\b[^.\n]{0,30}$"
_FIRST = r"\(\\{0,8}[\"'`][A-Za-z0-9_.-]{0,40}$"  # the first string of a call
_SETTER = r"(?:[sS]et|[wW]ith)_?$"
OTHER_TOKENS = "next|continuation|page|pagination|cursor|sync|change|request|public"
_OTHER_NAME = rf"(?i)(?:{OTHER_TOKENS})[_-]?(?:key)?[_-]?$"
"""Tokens that keep no secret: of pages, of idempotent requests, of public keys."""
_HEADER = r"(?:^|[^A-Za-z0-9_-])(?:[Xx]|[A-Z][A-Za-z0-9]{0,20})(?:-[A-Za-z][A-Za-z0-9]{0,20}){0,4}$"
"""The start of a header's name: words with capitals, or behind `x-`."""
OTHER_KEYS = (
    "public|publishable|cache|idempotency|primary|foreign|partition|sort|object|registry|host|row|s3"
    "|websocket|surrogate|group|routing|dedup|deduplication"
)
_OTHER_KEY = rf"(?i)(?:{OTHER_KEYS})$"
"""Keys of rows, caches and objects."""


def values_of_names(text: str, lowered: str, words: str) -> Iterator[Span]:
    """Find the secret values of all names; `lowered` is the text in lower case, `words` each of its words once."""
    hangul = not text.isascii() or "\\u" in text
    plain, korean = _names()
    values = [(name, row[2]) for row in plain if row[0] in words for name in row[1] if " " in name or name in words]
    if hangul:
        values += [(name, row[2]) for row in korean if row[0] in words for name in row[1]]
    for name, kind in values:
        yield from _values_of(text, lowered, name, kind, _WAYS[hangul])


def _values_of(text: str, lowered: str, name: str, kind: str, to_value: str) -> Iterator[Span]:
    """Find the secret values that follow `name`, anywhere in an identifier."""
    at = lowered.find(name)
    while at >= 0:
        after = at + len(name)
        span = _value_after(text, at, after, kind, to_value)
        if span:
            if name not in {"_key", "-key"} or _is_secret_key(text, at, span):
                yield span
            after = span.end
        at = lowered.find(name, after)


def _is_secret_key(text: str, at: int, value: Span) -> bool:
    """Return whether the value of a name that only ends in `_key`, or of a header that ends in `-Key`, is secret."""
    before = text[max(0, at - _BEFORE) : at]
    header = text[at] == "-" and compiled(_HEADER).search(before) is not None
    shouted = text[at : at + 4].isupper() or header or compiled(_QUERY).search(before) is not None
    return not compiled(_OTHER_KEY).search(before) and is_key(text[value.start : value.end], shouted=shouted)


def _value_after(text: str, at: int, after: int, kind: str, to_value: str) -> Span | None:
    """Find the value of the name in `[at, after)` if it is a secret."""
    before = text[max(0, at - _BEFORE) : at]
    if text[at:after].lower() in _WHOLE_WORDS and (before[-1:].isalpha() or text[after : after + 1].isalpha()):
        return None
    way = compiled(to_value).match(text, after)
    if (way is None or way["next"] is not None) and text[after : after + 1] == " " and compiled(_FLAG).search(before):
        return _judged(text, after + 1, kind, literal=False)
    if way is None or compiled(_OTHER_NAME).search(before):
        return None
    if way["call"] is not None:
        return _value_without_sign(text, way, kind) if kind != "password" or compiled(_SETTER).search(before) else None
    if way.lastgroup in {"next", "argument", "to"}:
        is_constant = text[at:after].isupper() or "_" in before[-1:] + text[at:after]
        may_set = (
            is_constant or compiled(_SET).search(before) or (kind != "password" and compiled(_FIRST).search(before))
        )
        return _value_without_sign(text, way, kind) if may_set else None
    return _value_with_sign(text, text[at:after], before, way, kind)


def _value_without_sign(text: str, way: re.Match[str], kind: str) -> Span | None:
    """Judge a value after a name and "to", or after a name and a blank or a comma, which is weaker evidence."""
    value = _judged(text, way.end(), kind, literal=False)
    if value is None or way["to"] is not None:
        return value
    return value if is_made(text[value.start : value.end], kind) else None


def _value_with_sign(text: str, name: str, before: str, way: re.Match[str], kind: str) -> Span | None:
    """Judge a value after a name and a sign (`=`, `:`, `>`) or a verb."""
    separator, start = way["separator"], way.end()
    if separator == ":" and compiled(_PART).search(before):
        return None
    if separator == ">" and not (compiled(_TAG).search(before) and text.find("</", start, start + MAX_VALUE) > 0):
        return None
    if separator == "=" and text[start - 1] == "=":
        literal = name.isupper() or compiled(_ARGUMENT).search(before) is not None
    elif separator == ":" and kind == "password":
        capital = name.isupper() and not compiled(MEMBER).match(text, start)
        literal = capital or bool(compiled(_ALONE).search(before) and compiled(_WORD_LINE).match(text, start))
    else:
        literal = False
    in_query = separator == "=" and compiled(_QUERY).search(before) is not None
    return _judged(text, start, kind, literal=literal, in_query=in_query)


_OPENING = r"(\\{0,8})([\"'`])"
_RUN = r"(?:[!#$%()*+./0-9:=?@A-Z\[\]^_a-z{}~-]++|\\{1,8}/)++"  # ASCII without white space, quotes, and `; & | < > ,`
_SYLLABLE = r"[\uac00-\ud7a3]|\\{1,4}u[a-d][0-9a-f]{3}"  # plain, or as in JSON
_HANGUL_RUN = rf"(?:{_SYLLABLE})(?:[A-Za-z0-9!@^$*._-]|{_SYLLABLE})++"
# The continuation of a password after a run: signs that begin no tag, entity, command or next field, and a run.
_NEXT = (
    r"</?[A-Za-z][A-Za-z0-9-]{0,30}[ />]|&(?:lt|gt|quot|#[0-9]{1,5});|(?:&&|\|\|)[a-z./$]"
    r"|[;,|][A-Za-z_][\w.-]{0,60}[=:]"
)
_FIELD = r"&(?:amp;)?[A-Za-z_][\w.-]{0,60}="  # of a form, whose first one a `=` precedes
_MORE, _MORE_OF_FORM = (
    rf"(?:(?!{_NEXT}{field})(?:[&;,|<>]{{1,4}}+|[\"'`](?=[A-Za-z0-9])){_RUN}{end})++"
    for field, end in (("", r"|&{1,4}(?=[\s,.)]|$)"), (f"|{_FIELD}", ""))
)
_LINK = r"\]\((?:\.{0,2}/|#|https?:)"  # the middle of `[return the secret to frontend](../sessions/a.md)`


def _judged(text: str, start: int, kind: str, *, literal: bool, in_query: bool = False) -> Span | None:
    """Read the value at `start` and judge it; `literal` says that a bare word cannot be a variable.

    `in_query`: the value is in a URL's query, where a `&` ends it.
    """
    opening = compiled(_OPENING).match(text, start)
    if kind == "aws-secret-key":  # it may begin like a path and have no digit
        secret = compiled(_AWS_SECRET).match(text, opening.end() if opening else start)
        return Span(*secret.span(), kind) if secret and not stands_in(secret[0]) else None
    if opening:
        start = opening.end()
        end = _closing(text, opening)
        if end is not None:
            return Span(start, end, kind) if is_quoted_secret(text[start:end], kind) else None
    run = compiled(_RUN).match(text, start, start + MAX_VALUE)
    if run is None:
        hangul = compiled(_HANGUL_RUN).match(text, start, start + MAX_VALUE) if kind == "password" else None
        return Span(*hangul.span(), kind) if hangul and is_hangul_password(hangul[0]) else None
    is_secret = is_literal_secret if literal or opening else is_loose_secret
    bare = run[0] if literal else compiled(_LINK).split(run[0], maxsplit=1)[0]
    if kind == "password" and not opening and not in_query and bare == run[0]:
        form = _MORE_OF_FORM if text[start - 1] == "=" else _MORE
        more = compiled(form).match(text, run.end(), start + MAX_VALUE)
        if more and (is_secret(bare, kind) or ("(" not in bare and is_secret(bare + more[0], kind))):
            bare += more[0]
    value = bare if literal else _trimmed(bare)
    if not is_secret(value, kind):
        return None
    whole = compiled(_RUN).match(text, start + len(bare) - 1) if len(bare) == MAX_VALUE else None
    return Span(start, whole.end() if whole else start + len(value), kind)


def _trimmed(value: str) -> str:
    """Remove the punctuation of the sentence or the call around the value."""
    value = value.rstrip(".:(")  # a Korean particle may be in brackets: `…(으)로`
    while value and value[-1] in ")]}" and value.count(value[-1]) > value.count("([{"[")]}".index(value[-1])]):
        value = value[:-1].rstrip(".:")
    return value


def _closing(text: str, opening: re.Match[str]) -> int | None:
    r"""Return the end of the string that `opening` opens, None if it does not end on its line.

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
    """Return whether a value in single quotes extends beyond its JSON string."""
    return compiled(r'"\s{0,4}[,:}\]]').search(value) is not None
