"""Recognize a recurring error despite other paths, numbers and hashes. Pure.

A command's output is long, and one or two of its lines say what went wrong. `read_error` finds them by the forms that
common tools print. It takes from them a type (`ModuleNotFoundError`, `TS2345`, `non-fast-forward`), the message without
what changes from run to run, the names it speaks of, and the frames of the project's files. `likeness` compares two.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import islice, takewhile

from gitmem.document.document import as_line, as_texts
from gitmem.platform.machine import table
from gitmem.text.words import stop_words
from gitmem.values import Value

MATCH = 0.5  # the least score of the same error
MAX_ERRORS = 3  # of one output
_MAX_LINES = 400  # of an output, half from its beginning and half from its end
_MAX_LINE = 500  # characters
_MAX_FRAMES = 3
_MAX_NAMES = 8

_ANSI = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_MARK = r"`'\"\u2018\u2019\u201c\u201d"
_QUOTED = re.compile(  # no apostrophe of "can't"
    rf"(?<![A-Za-z0-9])[bu]?[{_MARK}]([^{_MARK}\n]{{1,120}})[{_MARK}](?![A-Za-z0-9])"
)
_NAMED = re.compile(
    r"\b(?:requirement|package|module|crate|wheel for|relation|table|column|command|undefined:|option) "
    r"([\w@][\w.@/-]{0,80})|^([\w.+-]{1,60}): (?:command )?not found\b"
)
_LONG_NUMBER = re.compile(r"(?<![\w.])[0-9]{4,5}(?![\w.]*[0-9])")
_PORT = re.compile(  # with a word before it that is no host, it would be a line of a file, with a column
    r"(?:\b(?i:port)[ =:]{1,3}"
    r"|(?<![\w.-])(?:localhost|[0-9]{1,3}(?:\.[0-9]{1,3}){3}|\[[0-9a-f:]{2,39}\]|::?|)[)'\"`]?(?::|, )"
    r"|(?<![\w.-])(?:(?:[a-z0-9-]{1,60}\.){2,6})?[a-z][a-z0-9-]{0,60}:(?![0-9]{1,7}:[0-9]))"
    r"([0-9]{4,5})(?![\w.]*[0-9])"
)
_URL = re.compile(r"\b[a-z][a-z0-9+.-]{1,12}://[^\s'\"<>)]{1,300}")
_PATH = re.compile(
    r"(?<![\w/\\.@])(?:[A-Za-z]:[\\/]|~?/|\.{1,2}/)?(?:[\w.@+-]{1,80}[\\/]){1,30}[\w.@+-]{0,80}|(?<![\w/])/[\w.@+-]{1,80}"
)
_HASH = re.compile(
    r"\b(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b|\b[0-9a-f]{8}-[0-9a-f-]{27}\b|\b0x[0-9a-fA-F]+\b"
)
_VERSION = re.compile(r"(?<![\w/])[v^~=<>]{0,3}[0-9]+(?:\.[0-9]+){1,3}(?:[-+.]?[a-z]{1,5}[0-9]*)?\b")
_NUMBER = re.compile(
    r"(?<![A-Za-z_/])(?:[+-]|(?<![0-9]))[0-9]+(?:[.,:][0-9]+)*(?:ms|s|m|h|[KMG]i?B|%)?(?![A-Za-z_0-9])"
)
_ABSOLUTE = re.compile(r"/|~|[A-Za-z]:[\\/]|\w+://")
_MASKED = re.compile(r"<\w+>")
_SIGNATURE = re.compile(r"\b(func [\w./-]{1,200})\(.*")  # of a Go function, which linters quote at the end
_WORD = re.compile(r"<\w+>|[^\W_][\w.$@/-]*[^\W_]|[^\W_]")
_HEADING = re.compile(r"(?:[A-Z][a-z]+ ){1,2}Error$")  # `Compilation Error` above what it is
_PROGRAM = re.compile(r"((?:[a-z][\w.-]{0,40}: ){1,3})")  # `gh: `, `aws: error: `
_VERSION_PART = re.compile(r"v[0-9]{1,3}")

_MAX_MESSAGE_LINES = 4  # of a wrapper's
# The beginning of an error within a sentence.
_BEGINS = re.compile(
    rf"(?<![\w.])[{_MARK}(]?(?=(?:[A-Za-z_]\w{{0,60}}\.){{0,6}}[A-Z]\w{{0,60}}(?:Error|Exception): \S|error TS[0-9])"
)
GENERIC = frozenset({"assert", "AssertionError", "runtime error", "FAIL", "FAILED"})  # their messages say little
_UNNAMED = GENERIC | {"", "Error", "Exception"}  # types that tell no error from another
_COMPARING = {
    *("got", "want", "wanted", "expect", "expected", "actual", "received", "equal", "deeply", "assert"),
    *("fail", "failed", "failing", "failure", "error", "errors", "test", "tests"),
}
_STEPS = _COMPARING | {
    *("build", "building", "code", "command", "compiling", "did", "exit", "exited", "file", "files", "job", "line"),
    *("linking", "process", "recipe", "returned", "run", "running", "script", "status", "step", "target", "task"),
    *("warning", "warnings"),
}
_NO_NAMES = frozenset({"", "named", "provides"})


class ErrorSignature(Value):
    """An error without the parts that vary between runs. `frames` are `file:function`, the innermost first."""

    type: str
    message: str
    names: tuple[str, ...] = ()
    frames: tuple[str, ...] = ()


def signature(kind: object, message: object, frames: object = ()) -> ErrorSignature:
    """Return a signature from what was kept of it, perhaps in the header of a document."""
    listed = list(frames) if isinstance(frames, tuple) else frames
    text = as_line(message)
    return ErrorSignature(as_line(kind), text, names_in(text), tuple(dict.fromkeys(as_texts(listed))))


def fields_of(error: ErrorSignature) -> dict[str, object]:
    """Return what is kept of a signature, without what is empty."""
    return {key: value for key in ("type", "message", "frames") if (value := getattr(error, key))}


def read_error(output: str) -> ErrorSignature | None:
    """Return the signature of the error in an output, None if no line has a known form."""
    return next(iter(_errors(_lines(output), 1)), None)


def read_errors(output: str) -> list[ErrorSignature]:
    """Return the distinct errors in an output, the most specific first; at most `MAX_ERRORS`."""
    return _errors(_lines(output), MAX_ERRORS)


def quoted(text: str) -> str:
    """Return a prompt as an output, if it quotes an error whose type it names; else ""."""
    output = _BEGINS.sub("\n", text)
    return output if any(error.type for error in read_errors(output)) else ""


def likeness(known: ErrorSignature, seen: ErrorSignature) -> float:
    """Return how alike two signatures are, 0 to 1; over `MATCH` they count as one error.

    Errors of different types are different. Then the message's words count, quoted names doubly; for a vague message
    (`assert`, none, "got 1, want 2") the frames decide. That both come from one program, or have a number, says
    nothing.
    """
    if known.type != seen.type:
        return 0.0
    one, other = set(known.names), set(seen.names)
    if one and other and not (one <= other or other <= one):
        return 0.0  # the same sentence about another thing
    overlap = _overlap(_words(known), _words(seen), _shared(known, seen))
    same = bool(set(known.frames) & set(seen.frames))
    framed = bool(known.frames and seen.frames)
    if only_compares(known) or (framed and (known.type in GENERIC or not known.message)):
        return (overlap + 2 * same) / 3
    return overlap + ((1 - overlap) * 0.2 if same else 0.0)


@lru_cache(maxsize=256)  # a hook compares an error with all that are known
def _sentence(error: ErrorSignature) -> frozenset[str]:
    """Return the words of an error without its names."""
    message = error.message
    for name in error.names:
        message = message.replace(name, " ")
    words = _words(error._replace(names=(), message=message))
    return frozenset(word for word in words if not _MASKED.fullmatch(word))


def is_again(known: ErrorSignature, seen: ErrorSignature) -> bool:
    """Return whether an error of one turn or output came there before; its time and place count for a vague one."""
    return known == seen or likeness(known, seen) > MATCH


def only_compares(error: ErrorSignature) -> bool:
    """Return whether an error says nothing but that a value is not the one expected, or that something failed."""
    told = {word for word in _words(error) if not _MASKED.fullmatch(word)}
    return error.type in _UNNAMED and bool(error.message) and told <= _COMPARING


def names_step(error: ErrorSignature) -> bool:
    """Return whether an error says nothing but which step failed, whose cause stands elsewhere."""
    return error.type in _UNNAMED and bool(error.message) and _sentence(error) <= _STEPS


def says_little(error: ErrorSignature) -> bool:
    """Return whether an error says only which step failed, or that a value was not the one expected."""
    is_check = error.type in GENERIC or "assertion" in f"{error.type} {error.message}".casefold()
    return is_check or only_compares(error) or names_step(error)


def port_in(output: str, error: ErrorSignature) -> str:
    """Return the port that an error's lines of an output name first, "" for none."""
    for line in _lines(output) if error.message else ():
        port = _PORT.search(line)
        if port and (error.message in (said := mask(line)) or said in error.message):
            return port[1]
    return ""


def long_numbers(text: str) -> list[str]:
    """Return the numbers of four or five digits in a text, such as ports."""
    return _LONG_NUMBER.findall(text)


def mask(message: str) -> str:
    """Return a message without addresses, directories, hashes and numbers; a path keeps the name of its file."""
    message = _URL.sub(_host_and_name, message)
    message = _HASH.sub("<hash>", message)
    message = _PATH.sub(_file_name, message)
    message = _VERSION.sub("<n>", message)
    message = _NUMBER.sub("<n>", message)
    message = _SIGNATURE.sub(r"\1", message)
    return " ".join(message.split())


def names_in(message: str) -> tuple[str, ...]:
    """Return the names that a message quotes, else introduces; no absolute path, number or hash."""
    quoted = [match[1] for match in _QUOTED.finditer(message)] or [
        match[1] or match[2] for match in _NAMED.finditer(message)
    ]
    names = (_MASKED.sub("", mask(name)).strip("./@: ") for name in quoted if not _ABSOLUTE.match(name))
    fit = (name for name in names if name.casefold() not in _NO_NAMES | stop_words())
    return tuple(dict.fromkeys(islice(fit, _MAX_NAMES)))


def _lines(output: str) -> list[str]:
    lines = [_form("progress").sub("", _ANSI.sub("", line[:_MAX_LINE]).strip()) for line in output.splitlines()]
    half = _MAX_LINES // 2
    return lines if len(lines) <= _MAX_LINES else lines[:half] + lines[-half:]


def _errors(lines: list[str], most: int) -> list[ErrorSignature]:
    """Return the first distinct errors; the first has the frames of all lines, another one those of its own line."""
    signatures: list[ErrorSignature] = []
    for kind, message, line in _telling(lines):
        frames = _frames([line] if signatures else lines)
        error = ErrorSignature(kind.rpartition(".")[2], mask(message), names_in(message), frames)
        if not any(is_again(signature, error) for signature in signatures):
            signatures.append(error)
        if len(signatures) == most:
            break
    return signatures


@cache
def _forms(*kinds: str) -> list[tuple[str, re.Pattern[str]]]:
    """Return the forms of these kinds in `gitmem/data/errors.tsv`, in order."""
    return [(row[0], re.compile(row[1])) for row in table("errors.tsv") if row[0] in kinds]


def _form(kind: str) -> re.Pattern[str]:
    ((_, form),) = _forms(kind)
    return form


def _telling(lines: list[str]) -> Iterator[tuple[str, str, str]]:
    """Yield type, message and line of each error, the most specific first; of raised exceptions the last first.

    Beside the first, a line of another form counts only if it has both type and message.
    """
    first = None
    taken: set[int] = set()
    for kind_of_form, form in _forms("form", "raised"):
        matches = [(at, match) for at, line in enumerate(lines) if at not in taken and (match := form.search(line))]
        for at, match in reversed(matches) if kind_of_form == "raised" else matches:
            groups = match.groupdict(default="")
            kind, message = groups.get("type", ""), groups.get("message", "").strip()
            if first is None or first is form or (kind and message):
                first = first or form
                taken.add(at)
                yield kind, _continued(lines, at, message) or _detail(lines), lines[at]
    says_nothing = [form for _, form in _forms("wrapped")]
    telling = [at for at, line in enumerate(lines) if not any(form.match(line) for form in says_nothing)]
    for _, form in _forms("wrapper") if first is None else ():
        matches = [(at, match) for at in telling if (match := form.search(lines[at]))][:_MAX_MESSAGE_LINES]
        if matches:
            texts = dict.fromkeys(_continued(lines, at, match["message"]) for at, match in matches)
            yield matches[0][1].groupdict().get("type", ""), " / ".join(texts), ""
            return


def _continued(lines: list[str], at: int, message: str) -> str:
    """Return a message with the next lines that have text, as long as they end with a colon or are a heading.

    The line below "Caused by:" belongs to the message, too.
    """
    texts = [lines[at], *filter(None, lines[at + 1 :])]
    if len(texts) > 1 and _form("cause").match(texts[1]):
        return f"{message}: {' '.join(texts[2:3])}" if message else texts[2]
    leads = takewhile(lambda text: text.endswith(":") or _HEADING.match(text), texts[:_MAX_MESSAGE_LINES])
    leading = sum(1 for _ in leads)
    return " ".join(filter(None, (message, *texts[1 : leading + 1])))


def _detail(lines: list[str]) -> str:
    """Return npm's lines below an error's code; "" for another tool."""
    details = (match["message"] for line in lines if (match := _form("detail").match(line)))
    return " / ".join(islice(details, _MAX_MESSAGE_LINES))


def _frames(lines: list[str]) -> tuple[str, ...]:
    """Return the frames of the project's own files nearest to the error."""
    frames = _forms("frame")
    found: list[str] = []
    for line in lines:
        match = next((match for _, form in frames if (match := form.match(line))), None)
        if match and not _form("foreign").search(line):
            found.append(_base(match["file"]) + (f":{match['name']}" if match["name"] else ""))
    is_python = any(frames[0][1].match(line) for line in lines)  # the innermost comes last there
    return tuple(dict.fromkeys(reversed(found) if is_python else found))[:_MAX_FRAMES]


def _words(error: ErrorSignature) -> dict[str, float]:
    words = {word.casefold(): 1.0 for word in _WORD.findall(error.message) if word.casefold() not in stop_words()}
    return words | {name.casefold(): 2.0 for name in error.names}


def _shared(known: ErrorSignature, seen: ErrorSignature) -> set[str]:
    """Return the words that say nothing of the errors though two messages share them: masks, and the program's name."""
    heads = [_PROGRAM.match(error.message) for error in (known, seen)]
    programs = [set(_WORD.findall(head[1].casefold())) if head else set() for head in heads]
    return (programs[0] & programs[1]) | set(_MASKED.findall(known.message))


def _overlap(one: dict[str, float], other: dict[str, float], beside: set[str]) -> float:
    """Return the share of words that both have, not counting those `beside` that both have; 1 if none is left."""
    common = one.keys() & other.keys()
    counted = {word: weight for word, weight in (one | other).items() if word not in common & beside}
    total = sum(counted.values())
    return sum(counted[word] for word in common if word in counted) / total if total else 1.0


def _base(path: str) -> str:
    return re.split(r"[\\/]", path.rstrip("\\/"))[-1]


def _file_name(match: re.Match[str]) -> str:
    path = match[0].rstrip("\\/")
    name = _base(path)
    if _VERSION_PART.fullmatch(name):  # of a Go module
        name = f"{_base(path[: -len(name)])}/{name}"
    return name if re.search(r"[A-Za-z]", name) and ("." in name or not _ABSOLUTE.match(path)) else "<path>"


def _host_and_name(match: re.Match[str]) -> str:
    return f"<url> {_base(match[0].partition('?')[0])}"
