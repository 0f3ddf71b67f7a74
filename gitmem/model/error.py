"""Read the errors in a command's output, without parts that vary between runs. Pure.

One or two lines of a long output name the error. They are found by the forms that common tools print
(`gitmem/data/errors.tsv`). An error has a type (`ModuleNotFoundError`, `TS2345`, `non-fast-forward`) and a masked
message. `likeness` compares two.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import islice, takewhile

from gitmem.document.document import as_line
from gitmem.model.similarity import SAME_ERROR, error_likeness, error_words
from gitmem.model.words import refusal_in
from gitmem.platform.machine import table
from gitmem.values import Value

MAX_ERRORS = 3  # of one output
_MAX_LINES = 400  # of an output, half from its beginning and half from its end
_MAX_LINE = 500  # characters
_MAX_MESSAGE_LINES = 4
_ANSI = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
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
_SIGNATURE = re.compile(r"\b(func [\w./-]{1,200})\(.*")  # of a Go function, quoted by linters at the end of a line
_HEADING = re.compile(r"(?:[A-Z][a-z]+ ){1,2}Error$")  # such as `Compilation Error`, above the error itself
_VERSION_PART = re.compile(r"v[0-9]{1,3}")
# The beginning of an error within a sentence.
_BEGINS = re.compile(
    r"(?<![\w.])[`'\"\u2018\u2019\u201c\u201d(]?"
    r"(?=(?:[A-Za-z_]\w{0,60}\.){0,6}[A-Z]\w{0,60}(?:Error|Exception): \S|error TS[0-9])"
)
_REST = re.compile(r"(?<=[!-~])\s+[가-힣].*")  # the rest of a Korean sentence after an English error
# Kinds whose message is about one test.
_CHECKS = frozenset({"assert", "AssertionError", "FAIL", "FAILED", "panicked", "runtime error"})
# Words of messages that only say which step failed, or that a value was unexpected.
_STEPS = frozenset(
    "actual assert build building code command compiling deeply did equal error errors exit exited expect expected "  # noqa: SIM905
    "fail failed failing failure file files got job line linking process received recipe returned run running "
    "script status step target task test tests want wanted warning".split()
)


class ErrorSignature(Value):
    """An error without the parts that vary between runs."""

    type: str
    message: str


def signature(kind: object, message: object) -> ErrorSignature:
    """Return a signature from its stored fields, such as those in a document's header."""
    return ErrorSignature(as_line(kind), as_line(message))


def fields_of(error: ErrorSignature) -> dict[str, object]:
    """Return the fields of a signature to store, without empty ones."""
    return {key: value for key in ("type", "message") if (value := getattr(error, key))}


def read_error(output: str) -> ErrorSignature | None:
    """Return the signature of the error in an output, None if no line has a known form."""
    return next(iter(read_errors(output, 1)), None)


def read_errors(output: str, most: int = MAX_ERRORS) -> list[ErrorSignature]:
    """Return the distinct errors in an output, the most specific first; that a call was refused is none."""
    signatures: list[ErrorSignature] = []
    for kind, message in _telling(_lines(output)) if refusal_in(output, "") is None else ():
        error = ErrorSignature(kind.rpartition(".")[2], mask(message))
        if not any(is_again(known, error) for known in signatures):
            signatures.append(error)
        if len(signatures) == most:
            break
    return signatures


def quoted(text: str) -> str:
    """Return a prompt to be read as an output if it quotes an error with its type, else ""."""
    output = _REST.sub("", _BEGINS.sub("\n", text))
    return output if any(error.type for error in read_errors(output)) else ""


def is_again(known: ErrorSignature, seen: ErrorSignature) -> bool:
    """Return whether an error is a known one: the same, or nearly the same."""
    return likeness(known, seen) > SAME_ERROR


def likeness(known: ErrorSignature, seen: ErrorSignature) -> float:
    """Return the likeness of two errors, from 0 (such as different types) to 1."""
    if (known.type, known.message) == (seen.type, seen.message):
        return 1.0
    return error_likeness(known.message, seen.message) if known.type == seen.type else 0.0


def is_telling(error: ErrorSignature) -> bool:
    """Return whether an error is specific enough to recognize: no failed test or step with its cause elsewhere."""
    words = error_words(error.message)
    named = error.type not in {"", "Error", "Exception", "fatal", "ERROR", "FATAL"}
    is_step = not named and words.keys() <= _STEPS
    return error.type not in _CHECKS and len(words) >= (1 if named else 2) and not is_step


def mask(message: str) -> str:
    """Return a message without addresses, directories, hashes and numbers; a path keeps the name of its file."""
    message = _URL.sub(lambda match: f"<url> {_base(match[0].partition('?')[0])}", message)
    message = _HASH.sub("<hash>", message)
    message = _PATH.sub(_file_name, message)
    message = _VERSION.sub("<n>", message)
    message = _NUMBER.sub("<n>", message)
    message = _SIGNATURE.sub(r"\1", message)
    return " ".join(message.split())


def _lines(output: str) -> list[str]:
    lines = [_form("progress").sub("", _ANSI.sub("", line[:_MAX_LINE]).strip()) for line in output.splitlines()]
    return lines if len(lines) <= _MAX_LINES else lines[: _MAX_LINES // 2] + lines[-_MAX_LINES // 2 :]


@cache
def _forms(*kinds: str) -> list[tuple[str, re.Pattern[str]]]:
    """Return the patterns of these kinds in `gitmem/data/errors.tsv`, in order."""
    return [(row[0], re.compile(row[1])) for row in table("errors.tsv") if row[0] in kinds]


def _form(kind: str) -> re.Pattern[str]:
    ((_, form),) = _forms(kind)
    return form


def _telling(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Yield type and message of each error, the most specific first; of raised exceptions the last first.

    After the first, a line of another form counts only with both type and message.
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
                yield kind, _continued(lines, at, message) or _detail(lines)
    says_nothing = [form for _, form in _forms("wrapped")]
    telling = [at for at, line in enumerate(lines) if not any(form.match(line) for form in says_nothing)]
    for _, form in _forms("wrapper") if first is None else ():
        matches = [(at, match) for at in telling if (match := form.search(lines[at]))][:_MAX_MESSAGE_LINES]
        if matches:
            texts = dict.fromkeys(_continued(lines, at, match["message"]) for at, match in matches)
            yield matches[0][1].groupdict().get("type", ""), " / ".join(texts)
            return


def _continued(lines: list[str], at: int, message: str) -> str:
    """Return a message with the next non-empty lines, as long as it ends with a colon or is a heading.

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


def _base(path: str) -> str:
    return re.split(r"[\\/]", path.rstrip("\\/"))[-1]


def _file_name(match: re.Match[str]) -> str:
    path = match[0].rstrip("\\/")
    name = _base(path)
    if _VERSION_PART.fullmatch(name):  # of a Go module
        name = f"{_base(path[: -len(name)])}/{name}"
    return name if re.search(r"[A-Za-z]", name) and ("." in name or not _ABSOLUTE.match(path)) else "<path>"
