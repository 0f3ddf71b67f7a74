"""Judge by its characters whether a value looks like a secret."""

from __future__ import annotations

import re
from functools import cache

from gitmem.platform.machine import lines

MAX_VALUE = 256  # characters of a value that are judged; a secret is redacted as a whole


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern at its first use: most texts need none."""
    return re.compile(pattern)


_SPACE = r"\s|\\[nrt]"
_PATH = r"(?:\.{0,2}|~|[A-Za-z]:)[\\/]|[a-z][a-z0-9+.-]{1,20}:/|arn:"
_BASE64 = r"[A-Za-z0-9+/]{42,}={1,2}"  # of a key, which may begin like a path
_CALL = r"[A-Za-z_$][A-Za-z0-9_.$]*[(\[]"
MEMBER = r"[A-Za-z_$][A-Za-z0-9_$]*(?:\??\.|->|::)[A-Za-z_]"
_TEMPLATE = (
    r"\$\{|\$\(|\{\{|#\{|<%|%s|\{[A-Za-z_][A-Za-z0-9_.]*(?:![rsa])?\}"  # of a shell, a template, a format string
    r"|\.\.\.|…|\*\*\*|•|(?i:xxxx)|EXAMPLE|\[REDACTED"  # omitted by a user or a program
    r"|\[(?:a-|A-|0-)|\(\?"  # a regular expression
)
_REFERENCE = r"\$[A-Za-z_][A-Za-z0-9_.:>\[\]-]*$|%[A-Za-z_]+%$|%[dvqr]$|%\(|[{<\[].*[}>\]]$|[:@&!][A-Za-z_]+$|<|&lt;"
_LABEL = r"(?i)[a-z_-]{0,60}?pass(?:word|wd|phrase)[a-z_-]{0,60}$"  # names of constants, fields, policies
_CHANGES = r"(?<=[A-Za-z])[0-9]|(?<=[0-9])[A-Za-z]"
_CLASS_CHANGES = r"(?<=[a-z])[A-Z0-9]|(?<=[A-Z])[a-z0-9]|(?<=[0-9])[A-Za-z]"
_DIGEST = r"(?i:sha-?[0-9]{1,3}|md5|blake2[bs]?)[-:=]|[0-9]{4}-[0-9]{2}-[0-9]{2}"  # or a date
_ALGORITHM = (  # by its name, as in "비밀번호는 argon2로 해시한다"
    r"(?i)(?:argon2(?:id?|d)?|pbkdf2|md5|sha-?[0-9]{1,3}(?:-[0-9]{3})?|aes-?[0-9]{3}(?:-(?:gcm|cbc))?|[hrep]s(?:256|384|512)"
    r"|base64|oauth2?|ed25519|x25519|rsa-?[0-9]{4}|2fa)$"
)
_MIN_PASSWORD = 4
_MIN_LOOSE_PASSWORD = 6  # characters of an unquoted password, which could be the next word
_MIN_MIXED = 8  # characters of a generated secret with letters and digits, where the context is certain
_MIN_ALIKE = 16  # characters of a secret with letters only
_MIN_ONE_RUN = 10  # characters of a secret of letters, then digits, or the other way round
_MIN_KINDS = 5  # different characters of a generated secret
_MIN_CHANGES = 5  # from letters to digits or back; four characters of length count as one
_MIN_LOOSE_CHANGES = 3


@cache
def _placeholders() -> frozenset[str]:
    return frozenset(word for line in lines("placeholders.txt") for word in line.split())


def stands_in(value: str) -> bool:
    """Return whether a value is a reference, a placeholder or the name of an algorithm instead of a secret."""
    if compiled(_TEMPLATE).search(value) or compiled(_REFERENCE).match(value) or not value.strip("*.-_#?=x0X"):
        return True
    if compiled(_ALGORITHM).match(value):
        return True
    if any(map(str.isdigit, value)):
        return False
    words = compiled(r"[A-Z]?[a-z]+|[A-Z]+").findall(value)
    return bool(words) and all(word.lower() in _placeholders() for word in words)


def _is_plain(value: str) -> bool:
    """Return whether a value is a phrase, a path, a digest, a date, or a placeholder."""
    plain = compiled(_SPACE).search(value) or compiled(_DIGEST).match(value)
    path = compiled(_PATH).match(value) and not compiled(_BASE64).fullmatch(value)
    return plain is not None or bool(path) or stands_in(value)


def looks_random(value: str, least: int = 1) -> bool:
    """Return whether letters and digits alternate at least `least` times as in a key, unlike `us-east-1` or `utf8`."""
    changes = len(compiled(_CHANGES).findall(value))
    if _alternates(value) and not _is_plain(value):
        return True
    if changes < least or len(set(value)) < _MIN_KINDS or _is_plain(value):
        return False
    if changes == 1:
        return len(value) >= _MIN_ONE_RUN and value.isalnum()
    return changes + len(value) // 4 >= _MIN_CHANGES


def _alternates(value: str) -> bool:
    """Return whether small letters, capitals and digits alternate more than in words joined to a name."""
    kinds = any(map(str.islower, value)) and any(map(str.isupper, value)) and any(map(str.isdigit, value))
    return kinds and len(value) >= _MIN_ONE_RUN and 2 * len(compiled(_CLASS_CHANGES).findall(value)) >= len(value)


def is_scrambled(value: str) -> bool:
    """Return whether small letters, capitals and digits alternate as in a generated key, whatever the context."""
    kinds = any(map(str.islower, value)) and any(map(str.isupper, value)) and any(map(str.isdigit, value))
    digits = len(compiled(_CHANGES).findall(value)) >= max(_MIN_LOOSE_CHANGES, len(value) // 6)
    return kinds and (_alternates(value) or (digits and "/" not in value)) and not _is_plain(value)


def _is_mixed(value: str) -> bool:
    return any(map(str.isalpha, value)) and any(map(str.isdigit, value))


def is_quoted_secret(value: str, kind: str) -> bool:
    """Return whether a value in quotes is a secret of the kind."""
    if kind != "password":
        return looks_random(value)
    if len(value) < _MIN_PASSWORD or not any(map(str.isascii, value)) or compiled(_LABEL).match(value):
        return False
    return not _is_plain(value)


def is_hangul_password(value: str) -> bool:
    """Return whether a word that begins in Hangul is a password: it has digits and a sign that no sentence has."""
    value = compiled(r"\\{1,4}u[a-d][0-9a-f]{3}").sub("\uac00", value)
    has_sign = compiled(r"[0-9][!@^$*]|[!@^$*][0-9]").search(value) is not None
    return has_sign and len(value) >= _MIN_LOOSE_PASSWORD and sum(map(str.isdecimal, value)) > 1


def is_literal_secret(value: str, kind: str) -> bool:
    """Return whether `value` in `PASSWORD=value` is a secret, as in a shell or a settings file."""
    if compiled(_CALL).match(value):
        return False
    if kind == "password":
        return is_quoted_secret(value, kind)
    long = len(value) >= (_MIN_MIXED if _is_mixed(value) else _MIN_ALIKE)
    return long and not value.isdigit() and not _is_plain(value)


def is_key(value: str, *, shouted: bool) -> bool:
    """Return whether the value of a name that ends in `_key` is a secret; `shouted`: the name is in capitals."""
    if not compiled(r"[A-Za-z0-9+/_-]{20,}={0,2}$").match(value) or (
        "/" in value and not value.endswith("=") and not _alternates(value)
    ):
        return False
    cases = any(map(str.islower, value)) and any(map(str.isupper, value))
    return looks_random(value, least=_MIN_LOOSE_CHANGES) and (shouted or cases)


def is_made(value: str, kind: str) -> bool:
    """Return whether a value after a name and a blank or a comma is a secret, not the next word."""
    if kind == "password":
        return _is_mixed(value) and is_loose_secret(value, kind)
    long = len(value) >= _MIN_ALIKE or _alternates(value)
    return kind == "aws-secret-key" or (long and looks_random(value, least=_MIN_LOOSE_CHANGES))


def is_loose_secret(value: str, kind: str) -> bool:
    """Return whether an unquoted value is a secret, not a variable or the next word."""
    if compiled(_CALL).match(value) or compiled(MEMBER).match(value):
        return False
    if kind != "password":
        return looks_random(value, least=_MIN_LOOSE_CHANGES)
    if value.isdigit():
        return len(value) >= _MIN_PASSWORD
    strange = any(map(str.isalpha, value)) and compiled("[0-9!@#$%^*?~+]").search(value)
    return len(value) >= _MIN_LOOSE_PASSWORD and bool(strange) and is_quoted_secret(value, kind)
