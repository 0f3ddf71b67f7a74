"""Find the errors in the turns of a session, with the attempts to mend them and the mend. Pure."""

from __future__ import annotations

import re

from gitmem.model.fact.compare import stems_of
from gitmem.model.learned.command import bare, only_reads, runs_again, works_now
from gitmem.model.learned.error import MATCH, ErrorSignature, likeness, read_error
from gitmem.model.learned.mend import PLACE, is_place
from gitmem.model.message import one_line
from gitmem.model.session.entries import ENGLISH, KOREAN, explained, relative_files
from gitmem.model.session.failure import told_error
from gitmem.model.session.noise import human_text
from gitmem.model.session.turns import program
from gitmem.text.sentences import split
from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from gitmem.model.session.turns import Failure, Turn

_LONGEST = 240  # characters of a mend
_MAX_TRIED = 5
_NEXT = 3  # turns after one, in which its errors may be mended
_MAX_FILES = 6
_ACTS = re.compile(
    r"\b(?:add|fix|use|using|remov|replac|renam|chang|updat|import|install|wrap|set|mov|need|should|instead|because|since)"
    r"\w{0,4}\b|추가|수정|고치|고쳤|바꾸|바꿨|제거|설치|때문",
    re.IGNORECASE,
)
_CAUSES = re.compile(
    r"\b(?:cause|reason) (?:is|was|of)\b|\bcaused by\b|\b(?:error|failure|it|this) (?:is|was|comes|came) due to\b"
    r"|\b(?:error|failure) (?:comes|came) from\b"
    r"|\b(?:fail|broke|happen|occur|rais|error)(?:s|n|ed|es|red|ring)? (?:when|because|since)\b"
    r"|원인은|이유는|때문에 .{0,40}(?:실패|에러|오류|깨)|(?:실패|에러|오류).{0,40}때문",
    re.IGNORECASE,
)
_FEWEST, _FEWEST_OF_CAUSE = 3, 2  # words that a sentence shares with an error
_READ = 8_000  # characters of a text


class Sight(Value):
    """An error in an exchange, its program, attempts that did not help (`tried`), and its mend, or "".

    `episode` is the id of the task's episode, "" if it has none; `commands` counts the commands until it
    was mended, and `seconds` the time, each 0 if that is unknown; `cause` is the agent's sentence about it, or "".
    """

    exchange: str
    at: datetime
    error: ErrorSignature
    command: str
    mend: str = ""
    tried: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    episode: str = ""
    commands: int = 0
    seconds: int = 0
    cause: str = ""


# Before a mend in a failure that was read back from a log.
_LOGGED = tuple(f"{words}: " for words in (ENGLISH.fixed, ENGLISH.after, KOREAN.fixed, KOREAN.after))


def find_sights(turns: Iterable[Turn], project: str = "") -> list[Sight]:
    """Return the errors of a session, each once an exchange, with its last mend; files are relative to the project.

    An error that its turn leaves may be mended in one of the next: there its command works, and a file was changed.
    """
    listed = list(turns)
    return [
        sight
        for at, turn in enumerate(listed)
        for sight in _of_turn(turn, tuple(filter(None, (project, turn.cwd))), listed[at + 1 : at + 1 + _NEXT])
    ]


def with_errors(turns: Sequence[Turn]) -> list[Turn]:
    """Return the turns that `find_sights` needs: those with failed calls, and the next ones after each."""
    failed = [at for at, turn in enumerate(turns) if turn.failures]
    return [turns[at] for at in sorted({at + more for at in failed for more in range(_NEXT + 1)}) if at < len(turns)]


def _of_turn(turn: Turn, roots: Sequence[str], following: Sequence[Turn]) -> Iterator[Sight]:
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
        if is_place(mend):
            mend = _in_words(turn, error, _ACTS) or mend
        tried = tuple(text for text in dict.fromkeys(_tried(turn, failures)) if text != mend)
        command = program(bare(failures[0].command).partition("<<")[0])
        files = _files(relative_files(turn.files, roots), error)
        sight = Sight(turn.exchange_id, failures[0].at, error, command, mend, tried[-_MAX_TRIED:], files)
        cause = _in_words(turn, error, _CAUSES, command, fewest=_FEWEST_OF_CAUSE)
        mended = failures[-1].fixed_at
        later = None if failures[-1].fixed_by or mend else _mended_in(failures[-1], turn, following)
        if later:
            place = _files(relative_files(later.files, roots), error)[-1]
            sight = sight._replace(mend=_in_words(later, error, _ACTS) or f"{PLACE}{place}`")
            mended = later.ended
        seconds = round((mended - failures[0].at).total_seconds()) if mended else 0
        yield sight._replace(commands=_commands(turn, failures), seconds=max(seconds, 0), cause=cause)


def _mended_in(failure: Failure, turn: Turn, following: Iterable[Turn]) -> Turn | None:
    """Return the first of the next turns of a session in which a failed command works, if it changed a file."""
    for later in following:
        if later.session != turn.session:
            return None
        if any(not run.failed and works_now(failure.command, run.command) for run in later.runs):
            return later if later.files else None
    return None


def is_bug(failure: Failure) -> bool:
    """Return whether a failed call is an error: not a command that only reads, not a call the host refused."""
    return bool(failure.command) and not only_reads(failure.command) and bool(told_error(failure.error))


def mend_of(failure: Failure, files: Sequence[str] = (), roots: Sequence[str] = ()) -> str:
    """Return the mend of a failure: the answer's words, a command, or a changed file; "" if unknown."""
    if failure.explained:
        logged = next((words for words in _LOGGED if failure.explained.startswith(words)), "")
        return one_line(failure.explained.removeprefix(logged), _LONGEST)
    if not failure.fixed_by:
        return ""
    changed = failure.meanwhile if failure.meanwhile in files else ""
    if not runs_again(failure.command, failure.fixed_by, by_flags=bool(changed)):
        return _code(failure.fixed_by)
    if changed:
        return f"{PLACE}{next(iter(relative_files((changed,), roots)), changed)}`"
    return "" if not failure.meanwhile or only_reads(failure.meanwhile) else _code(failure.meanwhile)


def _in_words(
    turn: Turn, error: ErrorSignature, form: re.Pattern[str], command: str = "", *, fewest: int = _FEWEST
) -> str:
    """Return the agent's sentence of this form about an error, or the command that failed; "" if there is none."""
    named_in = [_as_word(name) for name in error.names if any(map(str.isalnum, name))]
    named_in += [re.compile(re.escape(f"`{command}`"), re.IGNORECASE)] if command else []
    about = stems_of(error.message)
    best, score = "", 0
    for text in (*turn.said, turn.answer[:_READ]):
        for sentence in split(human_text(text)[:_READ]):
            if len(sentence) > _LONGEST or not form.search(sentence):
                continue
            shared = len(stems_of(sentence) & about)
            named = any(name.search(sentence) for name in named_in)
            if (named or shared >= fewest) and shared + 2 * named > score:
                best, score = sentence, shared + 2 * named
    return one_line(best, _LONGEST)


def _as_word(name: str) -> re.Pattern[str]:
    """Return the form of a name between other words; a Korean ending may follow."""
    return re.compile(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])", re.IGNORECASE)


def _tried(turn: Turn, failures: Sequence[Failure]) -> Iterator[str]:
    """Yield the commands that worked between the first and the last of the same failures, and did not help."""
    named = {bare(failure.command) for failure in failures}
    places = [index for index, run in enumerate(turn.runs) if run.failed and bare(run.command) in named]
    for run in turn.runs[places[0] : places[-1]] if places else ():
        if not run.failed and not only_reads(run.command) and bare(run.command) not in named:
            yield _code(run.command)


def _commands(turn: Turn, failures: Sequence[Failure]) -> int:
    """Return the number of commands from the first failure to the one that worked; 0 if unknown."""
    runs, first, last = turn.runs, failures[0].command, failures[-1].fixed_by
    failed = next((index for index, run in enumerate(runs) if run.failed and run.command == first), None)
    if failed is None or not last:
        return 0
    return next((by for by, run in enumerate(runs[failed:]) if not run.failed and run.command == last), 0)


def _files(changed: Sequence[str], error: ErrorSignature) -> tuple[str, ...]:
    """Return the changed files that the error's frames name, else the changed files."""
    framed = {frame.partition(":")[0] for frame in error.frames}
    named = tuple(file for file in changed if file.replace("\\", "/").rpartition("/")[2] in framed)
    return (named or tuple(changed))[:_MAX_FILES]


def _code(command: str) -> str:
    return f"`{one_line(bare(command) or command, _LONGEST)}`"
