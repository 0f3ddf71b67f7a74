"""Errors in the turns of a session: which came, what was tried, and what mended them. Pure."""

from __future__ import annotations

import re

from gitmem.model.learned.error import MATCH, ErrorSignature, likeness, read_error
from gitmem.model.message import one_line
from gitmem.model.session.entries import ENGLISH, KOREAN, explained, relative_files
from gitmem.model.session.failure import told_error
from gitmem.model.session.noise import human_text
from gitmem.model.session.turns import program
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from gitmem.model.session.turns import Failure, Turn

_LONGEST = 240  # characters of a mend
_MAX_TRIED = 5
_MAX_FILES = 6
# Programs that look at things and change nothing: they mend nothing, and what they do not find is no bug.
_LOOKS = re.compile(
    r"(?:ls|cat|bat|head|tail|less|more|grep|egrep|rg|ag|find|fd|pwd|cd|which|whereis|type|tree|stat|file|wc|du|df|ps"
    r"|echo|printf|env|printenv|date|whoami|jq|test|diff|sort|uniq|lsof|sleep|true"
    r"|git (?:status|diff|log|show|branch|blame|reflog|remote|ls-files|ls-tree|grep|stash list)"
    r"|gh (?:pr|run|issue) (?:view|list|status|checks))(?=\s|$)"
)
_PARTS = re.compile(r"\s*(?:&&|\|\||;|\n)\s*")
_OUTPUT = re.compile(r"\s*(?:[0-9&]?>{1,2}\s?(?:&[0-9]|\S{1,200})|\|\s*(?:head|tail|grep|cat|less|wc|tee)\b[^|&;\n]*)")


class Sight(Value):
    """An error that came in an exchange: with which program, what did not help (`tried`), and what mended it ("")."""

    exchange: str
    at: datetime
    error: ErrorSignature
    command: str
    mend: str = ""
    tried: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


# Before a mend in a failure that was read back from a log.
_LOGGED = tuple(f"{words}: " for words in (ENGLISH.fixed, ENGLISH.after, KOREAN.fixed, KOREAN.after))


def find_sights(turns: Iterable[Turn], project: str = "") -> list[Sight]:
    """Return the errors of a session, each once an exchange, with its last mend; files are told from the project."""
    return [sight for turn in turns for sight in _of_turn(turn, tuple(filter(None, (project, turn.cwd))))]


def _of_turn(turn: Turn, roots: Sequence[str]) -> Iterator[Sight]:
    found: list[tuple[ErrorSignature, list[Failure]]] = []
    for failure in explained(turn.failures, human_text(turn.answer)):
        error = read_error(failure.error) if is_bug(failure) else None
        if error is None:
            continue
        same = next((group for known, group in found if likeness(known, error) > MATCH), None)
        if same is None:
            found.append((error, [failure]))
        else:
            same.append(failure)
    for error, failures in found:
        mend = mend_of(failures[-1], turn.files, roots)
        tried = tuple(text for text in dict.fromkeys(_tried(turn, failures)) if text != mend)
        command = program(bare(failures[0].command))
        files = _files(relative_files(turn.files, roots), error)
        yield Sight(turn.exchange_id, failures[0].at, error, command, mend, tried[-_MAX_TRIED:], files)


def is_bug(failure: Failure) -> bool:
    """Say whether a failed call tells an error: no command that looks for something, no call the host refused."""
    looked = all(_LOOKS.match(part) for part in _PARTS.split(bare(failure.command)) if part)
    return bool(failure.command) and not looked and bool(told_error(failure.error))


def mend_of(failure: Failure, files: Sequence[str] = (), roots: Sequence[str] = ()) -> str:
    """Return what mended a failure: the answer's words, a command, or which of the files was changed; "" if unknown."""
    if failure.explained:
        logged = next((words for words in _LOGGED if failure.explained.startswith(words)), "")
        return one_line(failure.explained.removeprefix(logged), _LONGEST)
    if not failure.fixed_by:
        return ""
    if bare(failure.fixed_by) != bare(failure.command) and not _runs_more(failure):
        return _code(failure.fixed_by)
    if not failure.meanwhile or _is_look(failure.meanwhile):
        return ""
    if failure.meanwhile not in files:
        return _code(failure.meanwhile)
    return f"change `{next(iter(relative_files((failure.meanwhile,), roots)), failure.meanwhile)}`"


def bare(command: str) -> str:
    """Return a command line without what becomes of its output, and without the folder it goes to first."""
    parts = [part for part in _PARTS.split(_OUTPUT.sub("", command)) if not part.startswith("cd ")]
    return " && ".join(filter(None, parts)).strip()


def _runs_more(failure: Failure) -> bool:
    """Say whether the command that worked holds the one that failed: it was run again, with others."""
    return set(_PARTS.split(bare(failure.command))) <= set(_PARTS.split(bare(failure.fixed_by)))


def _tried(turn: Turn, failures: Sequence[Failure]) -> Iterator[str]:
    """Yield the commands that worked between the first and the last of the same failures, and did not help."""
    named = {bare(failure.command) for failure in failures}
    places = [index for index, run in enumerate(turn.runs) if run.failed and bare(run.command) in named]
    for run in turn.runs[places[0] : places[-1]] if places else ():
        if not run.failed and not _is_look(run.command) and bare(run.command) not in named:
            yield _code(run.command)


def _is_look(command: str) -> bool:
    return all(_LOOKS.match(part) for part in _PARTS.split(bare(command)) if part)


def _files(changed: Sequence[str], error: ErrorSignature) -> tuple[str, ...]:
    """Return the changed files that the error's frames name, else the changed files."""
    framed = {frame.partition(":")[0] for frame in error.frames}
    named = tuple(file for file in changed if file.replace("\\", "/").rpartition("/")[2] in framed)
    return (named or tuple(changed))[:_MAX_FILES]


def _code(command: str) -> str:
    return f"`{one_line(bare(command) or command, _LONGEST)}`"
