"""Find the errors in a session's turns, with the changes until the same command worked, all raw. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from gitmem.document.message import one_line
from gitmem.model.command import only_reads, runs_again, works_now
from gitmem.model.entries import AFTER, FIXED, relative_files
from gitmem.model.error import ErrorSignature, is_again, read_error
from gitmem.model.outcome import error_line
from gitmem.model.pattern import MAX_FILES, Case, ErrorOccurrence
from gitmem.model.turns import Failure, Turn, effect_of

_LONGEST = 400  # characters of a command or of an edit
_MAX_CHANGED = 6
_NEXT = 3  # later turns in which a failed command may work again
_LOGGED = tuple(f"{words}: " for words in (*FIXED, *AFTER))  # precedes the fix in a failure read back from a log


def find_occurrences(turns: Iterable[Turn], project: str = "") -> list[ErrorOccurrence]:
    """Return the errors of a session, each once a turn; files are relative to the project.

    What was changed did not help if the same command then failed by the same error: each case but the last. An error
    left by its turn may be fixed in one of the next turns, when its command works.
    """
    listed, occurrences = list(turns), list[ErrorOccurrence]()
    for at, turn in enumerate(listed):
        roots = tuple(filter(None, (project, turn.cwd)))
        occurrences += _of_turn(turn, roots, listed[at + 1 : at + 1 + _NEXT])
    return occurrences


def with_errors(turns: Sequence[Turn]) -> list[Turn]:
    """Return the turns that `find_occurrences` needs: those with failed calls, and the next ones after each."""
    failed = [at for at, turn in enumerate(turns) if turn.failures]
    return [turns[at] for at in sorted({at + more for at in failed for more in range(_NEXT + 1)}) if at < len(turns)]


def _of_turn(turn: Turn, roots: Sequence[str], following: Sequence[Turn]) -> Iterator[ErrorOccurrence]:
    scope = (turn.scope,) if turn.scope else ()
    for error, failures in _grouped(turn.failures):
        last = failures[-1]
        if not (last.fixed_by or last.explained):
            last = _fixed_later(last, turn, following)
        elif last.again and not last.meanwhile:  # another error came between
            last = last._replace(fixed_by="")
        pairs = ((failure, after) for failure, after in pairwise(failures) if failure.again and failure.meanwhile)
        tried = [first._replace(fixed_by="") for first, after in pairs if runs_again(first.command, after.command)]
        cases = tuple(_case(turn, failure, roots) for failure in (*tried, last))
        yield ErrorOccurrence(error, cases, relative_files(turn.files, roots)[:MAX_FILES], scope)


def _grouped(failures: Iterable[Failure]) -> list[tuple[ErrorSignature, list[Failure]]]:
    """Return the errors of a turn, each with the failed calls that it caused."""
    groups: list[tuple[ErrorSignature, list[Failure]]] = []
    for failure in failures:
        error = read_error(failure.error) if _is_error(failure) else None
        group = next((group for known, group in groups if error and is_again(known, error)), None)
        if group is not None:
            group.append(failure)
        elif error is not None:
            groups.append((error, [failure]))
    return groups


def _is_error(failure: Failure) -> bool:
    """Return whether a failed call is an error, not a command that only reads or a call that the host refused."""
    return bool(failure.command) and not only_reads(failure.command) and bool(error_line(failure.error))


def _fixed_later(failure: Failure, turn: Turn, following: Iterable[Turn]) -> Failure:
    """Return a failure with what changed until its command works in one of the next turns."""
    changes = [failure.meanwhile] if failure.meanwhile else []
    for later in following:
        if later.session != turn.session:
            break
        for run in later.runs:
            changes += run.after
            if works_now(failure.command, run.command, run.said):
                if run.failed:
                    return failure
                return failure._replace(fixed_by=run.command, fixed_at=later.ended, meanwhile="\n".join(changes))
            changes += effect_of(run.command) if not run.failed else ()
        changes += later.edits
    return failure


def _case(turn: Turn, failure: Failure, roots: Sequence[str]) -> Case:
    changed = dict.fromkeys(filter(None, failure.meanwhile.split("\n")))
    label = next((words for words in _LOGGED if failure.explained.startswith(words)), "")
    return Case(
        exchange=turn.exchange_id,
        at=failure.at,
        command=one_line(failure.command, _LONGEST),
        changed=tuple(one_line(_below(change, roots), _LONGEST) for change in changed)[-_MAX_CHANGED:],
        worked=one_line(failure.fixed_by, _LONGEST),
        fix=one_line(failure.explained.removeprefix(label), _LONGEST),
        seconds=max(round((failure.fixed_at - failure.at).total_seconds()), 0) if failure.fixed_at else 0,
    )


def _below(change: str, roots: Sequence[str]) -> str:
    """Return an edit's text with its file's path relative to the project."""
    for root in roots:
        change = change.replace(f"`{root.rstrip('/')}/", "`")
    return change
