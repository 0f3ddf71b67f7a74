"""Identifiers of memories (docs/format.md, "Entries"), paths that a store may have ("Names"), parts of a project.

An id of a save sorts by time: twenty characters of Crockford's base 32, half of them the time. An id derived from its
content (an exchange, a fact) is a letter and ten characters of a digest. Paths have `/` between their parts; a path
that passed `check_path` never leads out of the store by its names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable

from gitmem.errors import NotFoundError, RefusedError

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
TIME_LENGTH = 10
TAIL_LENGTH = 10
LENGTH = TIME_LENGTH + TAIL_LENGTH
TAIL_BYTES = 7  # 56 bits, of which the tail keeps 50
SHORT_LENGTH = 1 + TAIL_LENGTH
EXCHANGE_LETTER = "x"
FACT_LETTERS = "dfrscpi"  # the first letter of a fact's id, by kind
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

    `tail` is at least `TAIL_BYTES` long: random bytes, or a digest of content and origin if a repeated delivery must
    get the same id. Times before 1970 count as 1970.
    """
    return _base32(max(milliseconds, 0), TIME_LENGTH) + _base32(int.from_bytes(tail[:TAIL_BYTES], "big"), TAIL_LENGTH)


def exchange_id(session: str, turn: str) -> str:
    """Return the id of an exchange, derived only from the session and the host's id of the turn."""
    return kind_id(EXCHANGE_LETTER, session, turn)


def kind_id(letter: str, *content: str) -> str:
    """Return the id with a letter for its kind and a digest of these texts."""
    return letter + _base32(int.from_bytes(digest(*content)[:TAIL_BYTES], "big"), TAIL_LENGTH)


def digest(*content: str) -> bytes:
    """Return a digest of texts, in their order."""
    import hashlib  # 5 ms, not needed by the start of a session

    return hashlib.sha256("\0".join(content).encode("utf-8", "surrogatepass")).digest()


def short_session(session: str) -> str:
    """Return the distinctive beginning of a session's id, longer if the id begins with a time."""
    timed = session.startswith("ses_") or (session[8:9], session[14:15]) == ("-", "7")  # OpenCode; a UUID of version 7
    return session[: 16 if timed else 8]


def session_tag(session: str) -> tuple[str, ...]:
    """Return the tag of a session: `short_session`'s number of characters of its id that a tag may have."""
    fit = "".join(
        character for character in session if character.isascii() and (character.isalnum() or character == "-")
    )
    tag = fit[: len(short_session(session))].strip("-")
    return (tag,) if tag else ()


def tail_of(identifier: str) -> str:
    """Return the digest at the end of an id."""
    return identifier[-TAIL_LENGTH:]


def is_id(text: str) -> bool:
    """Return whether `text` has the form of an id, with a time or with a letter for its kind."""
    if len(text) == SHORT_LENGTH:
        return text[0].isascii() and text[0].islower() and not text[1:].strip(ALPHABET)
    return is_timed(text)


def is_fact_id(text: str) -> bool:
    """Return whether `text` has the form of the id of a fact."""
    return is_id(text) and len(text) == SHORT_LENGTH and text[0] in FACT_LETTERS


def is_timed(text: str) -> bool:
    """Return whether `text` has the form of an id with a time."""
    return len(text) == LENGTH and not text.strip(ALPHABET)


def milliseconds_of(identifier: str) -> int:
    """Return the time in an id, in milliseconds since 1970 UTC; 0 for one that has none."""
    if len(identifier) != LENGTH:
        return 0
    number = 0
    for character in identifier[:TIME_LENGTH]:
        number = number * 32 + _VALUES[character]
    return number


_SHOWN, _LISTED = 80, 5  # characters and names in an error


def find_named(prefix: str, names: Iterable[tuple[str, str]], noun: str, remedy: str) -> str:
    """Return the item with this name or unambiguous prefix, from pairs of name and item; else raise NotFoundError."""
    every = [*names]
    keys = {key for name, key in every if name == prefix}
    keys = keys or {key for name, key in every if prefix and name.startswith(prefix)}
    if len(keys) == 1:
        return keys.pop()
    if not keys:
        raise NotFoundError(f"There is no {noun} {prefix[:_SHOWN]!r}.", remedy)
    listed = ", ".join(sorted(keys)[:_LISTED]) + (", …" if len(keys) > _LISTED else "")
    raise NotFoundError(f"More than one {noun} begins with {prefix[:_SHOWN]!r}: {listed}.", "Give more of it.")


MAX_PART_BYTES = 120
MAX_PATH_BYTES = 400
SLUG_LENGTH = 40

MEMORY = "memory.md"
CONFIG = "config.yaml"
FORMAT = "FORMAT.md"
README = "README.md"  # for people who see the folder on a forge
ARCHIVE = "archive"
FACTS = "facts"
SUMMARIES = "summaries"
BUGS = "patterns/bugs"
PURGED = "purged"
OF_GITMEM = frozenset({FORMAT, README, CONFIG, ".gitattributes", ".gitignore"})
TEMPORARY = ".tmp"

_FORBIDDEN = frozenset('<>:"|?*\\') | {chr(code) for code in (*range(32), *range(127, 160))}
# Windows takes these for devices, with any extension ("Naming Files, Paths, and Namespaces", Microsoft).
_DEVICES = frozenset(
    {"con", "prn", "aux", "nul", "conin$", "conout$"}
    | {f"{name}{digit}" for name in ("com", "lpt") for digit in "0123456789¹²³"}
)
# HFS+ ignores these when it compares names, so ".g\u200cit" is ".git" there (git's own utf8.c: next_hfs_char).
_IGNORABLE = {*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF}


def fold(name: str) -> str:
    """Return `name` as a case-insensitive, normalising file system compares it."""
    if name.isascii():  # the common case, quick: a sync folds thousands
        return name.casefold()
    bare = "".join(character for character in name if ord(character) not in _IGNORABLE)
    return _composed(_composed(bare).casefold())


def _composed(text: str) -> str:
    import unicodedata  # late: the names of most files are ASCII

    return unicodedata.normalize("NFC", text)


def is_git_folder(part: str) -> bool:
    """Return whether some file system treats this name as `.git`."""
    # NTFS ignores the part after a colon or a backslash (git's own path.c: is_ntfs_dotgit).
    name = fold(part).replace("\\", ":").split(":", 1)[0]
    return name.rstrip(". ") in {".git", "git~1"}


# Each rule and its error message, in order of evaluation.
_RULES: tuple[tuple[Callable[[str], bool], str], ...] = (
    (lambda part: part in {"", ".", ".."}, "an empty, '.' or '..' part"),
    (is_git_folder, "a part that stands for .git"),
    (lambda part: not _FORBIDDEN.isdisjoint(part), "a character that not every file system can hold"),
    (lambda part: part[-1] in ". ", "a part that ends in a dot or a blank"),
    (lambda part: part.split(".", 1)[0].rstrip(" ").casefold() in _DEVICES, "a device name of Windows"),
    (lambda part: not part.isascii() and _composed(part) != part, "a part that is not in Unicode normalisation form C"),
    (lambda part: any("\ud800" <= c <= "\udfff" for c in part), "a character that is not Unicode"),
    (lambda part: len(part.encode()) > MAX_PART_BYTES, f"a part longer than {MAX_PART_BYTES} bytes"),
)


def _complaint(part: str) -> str | None:
    return next((words for broken, words in _RULES if broken(part)), None)


def check_path(path: str) -> str:
    """Return `path`; raise RefusedError if it leaves the store, reaches `.git`, or is no name on some platform."""
    complaint = next(filter(None, map(_complaint, path.split("/"))), None)
    if complaint is None and len(path.encode()) > MAX_PATH_BYTES:
        complaint = f"more than {MAX_PATH_BYTES} bytes"
    if complaint is not None:
        shown = ascii(path[:MAX_PART_BYTES])
        raise RefusedError(f"The name {shown} is refused: it has {complaint}.", "Use another name.")
    return path


def slug(text: str, *, length: int = SLUG_LENGTH) -> str:
    """Return a short readable name from a text's letters and digits that passes `check_path`; "" if it has none."""
    from unicodedata import category

    characters = []
    letter = False
    for character in fold(text):
        # Vowel signs, as of Devanagari and Thai, are marks, which belong to the letter before them.
        letter = character.isalnum() or (letter and category(character)[0] == "M")
        characters.append(character if letter else " ")
    result = "-".join("".join(characters).split())[:length].rstrip("-")
    while len(result.encode()) > MAX_PART_BYTES // 2:
        result = result[:-1].rstrip("-")
    return f"{result}-" if result in _DEVICES else result


def file_name_of(identifier: str, text: str) -> str:
    """Return the name of a memory's file: its id, and the beginning of a text as a hint for readers."""
    words = slug(text)
    return f"{identifier}{f'-{words}' if words else ''}.md"


def is_memory(path: str) -> bool:
    """Return whether a file is part of the memory: neither a file about the store nor a purge record."""
    return path not in OF_GITMEM and not path.startswith(f"{PURGED}/")


def id_in(path: str) -> str:
    """Return the id that the name of a memory's file begins with."""
    return path.rpartition("/")[2].partition(".")[0].partition("-")[0]


def agreed_id(header: object, path: str) -> str:
    """Return the id in a document's header, "" if its file name has another one; the path of a new file is "".

    Authors are found by file name, words by header: a document with two ids is invalid.
    """
    identifier = header if isinstance(header, str) else ""
    return identifier if is_id(identifier) and (not path or id_in(path) == identifier) else ""


def daily_path(date: str) -> str:
    """Return the path of the daily log of `date`, `YYYY-MM-DD`."""
    return f"daily/{date[:4]}/{date[5:7]}/{date}.md"


def weekly_path(week: str) -> str:
    """Return the path of the weekly document of an ISO week, `YYYY-Www`."""
    return f"weekly/{week[:4]}/{week}.md"


def monthly_path(month: str) -> str:
    """Return the path of the monthly document of a month, `YYYY-MM`."""
    return f"monthly/{month[:4]}/{month}.md"


def session_path(stamp: str, session: str) -> str:
    """Return the path of the file of a session begun at `stamp` (`YYYYMMDD_HHMMSS`)."""
    return f"sessions/{stamp[:4]}/{stamp[4:6]}/{stamp}-{session}.md"


def archive_path(stamp: str) -> str:
    """Return the path of the archive made at `stamp`, `YYYYMMDD_HHMMSS`, perhaps with a suffix."""
    return f"{ARCHIVE}/memory_{stamp}.md"


def summary_path(archive: str) -> str:
    """Return the path of the summary of the archive at path `archive`."""
    name = archive.rpartition("/")[2].removesuffix(".md")
    return f"{SUMMARIES}/{name}.summary.md"


def summarized(summary: str) -> str:
    """Return the path of the archive that a summary is about, "" if the file is no summary."""
    folder, _, name = summary.rpartition("/")
    is_summary = folder == SUMMARIES and name.endswith(".summary.md")
    return f"{ARCHIVE}/{name.removesuffix('.summary.md')}.md" if is_summary else ""


def raw_path(archive: str) -> str:
    """Return the path of a model's unreadable reply for the archive at path `archive`."""
    return f"{archive.removesuffix('.md')}.summary.raw.txt"


# A memory may belong to a part of a project: one of `packages/a` is shown there and above, but not beside. An
# entry names its part by the tag `in/PATH`, a fact in its header. `-` replaces characters not allowed in a tag.
LONGEST_SCOPE = 47  # characters of a part's name: a tag has 50
_SCOPE_TAG = "in/"
# Compiled at first use: a save needs none.
_NO_TAG = r"[^\w/-]"
_TAGGED_LINE = r"- \[[^\]\n]{1,40}\] \*\*[^*\n]{1,60}\*\*((?: #[\w/-]+)+):"


def scope_name(path: str) -> str:
    """Return the name of the part of a project at a path with `/`; "" for the whole project."""
    return re.sub(_NO_TAG, "-", path.strip("/")) if path != "." else ""


def scope_tags(scope: str) -> tuple[str, ...]:
    """Return the tag of a part, none for the whole project."""
    return (_SCOPE_TAG + scope,) if scope else ()


def scopes_in(tags: Iterable[str]) -> tuple[str, ...]:
    """Return the parts that tags name."""
    return tuple(tag.removeprefix(_SCOPE_TAG) for tag in tags if tag.startswith(_SCOPE_TAG))


def scopes_of_line(text: str) -> tuple[str, ...]:
    """Return the parts that the first line of an entry names."""
    match = re.match(_TAGGED_LINE, text)
    return scopes_in(match[1].replace("#", "").split()) if match else ()


def is_within(part: str, path: str) -> bool:
    """Return whether a part is the other one or lies in it."""
    return not path or f"{part}/".startswith(f"{path}/")


def do_all_meet(some: Iterable[str], here: str) -> bool:
    """Return whether each of these parts meets `here`: a text derived from several parts is shown only then."""
    return all(do_meet((part,), (here,)) for part in some)


def do_meet(some: Collection[str], others: Collection[str]) -> bool:
    """Return whether one of these parts equals, contains or is in one of the others; no parts: the whole project."""
    some, others = set(some) - {""}, set(others) - {""}
    pairs = ((part, path) for part in some for path in others)
    return not some or not others or any(is_within(part, path) or is_within(path, part) for part, path in pairs)
