"""Find the errors in the turns of a session, with what fixed each. Pure.

A fix is what changed between a failing command and the success of the same command. Where several things changed,
the agent's own sentence about the error counts, or nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from gitmem.document.message import one_line
from gitmem.model.command import (
    bare,
    beyond,
    commits_before,
    effect_in,
    environment,
    has_compound,
    has_effect,
    helps_once,
    is_proposed,
    only_reads,
    repeated_elsewhere,
    run_before,
    runs_again,
    runs_program_before,
    shows_fixed,
)
from gitmem.model.edits import PLACE, is_place
from gitmem.model.entries import AFTER, FIXED, relative_files
from gitmem.model.error import (
    ErrorSignature,
    is_again,
    port_in,
    read_errors,
    says_little,
)
from gitmem.model.outcome import told_error
from gitmem.model.turns import Failure, Turn, effect_of, inner_program
from gitmem.values import Value

_LONGEST = 400  # characters of a fix
_MAX_TRIED, _MAX_FILES = 5, 6
_NEXT = 3  # turns after one, in which its errors may be fixed


class ErrorOccurrence(Value):
    """An error in an exchange, its program, attempts that did not help (`tried`), and its fix, or "".

    `episode` is the id of the task's episode, "" if it has none; `seconds` is the time until it was fixed, 0 if that
    is unknown; `cause` is the agent's sentence about it, or ""; `works` says that the command works now, by whatever
    fix; `scope` is the part of the project it came in, none for all; `port` is the one that it names, or "".
    """

    exchange: str
    at: datetime
    error: ErrorSignature
    command: str
    fix: str = ""
    tried: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    episode: str = ""
    seconds: int = 0
    cause: str = ""
    works: bool = False
    scope: tuple[str, ...] = ()
    port: str = ""


# Before a fix in a failure that was read back from a log.
_LOGGED = tuple(f"{words}: " for words in (*FIXED, *AFTER))


def find_occurrences(turns: Iterable[Turn], project: str = "") -> list[ErrorOccurrence]:
    """Return the errors of a session, each once an exchange, with its fix; files are relative to the project.

    An error that its turn leaves may be fixed in one of the next, where its command works.
    """
    listed = list(turns)
    return [
        sight
        for at, turn in enumerate(listed)
        for sight in _of_turn(turn, tuple(filter(None, (project, turn.cwd))), listed[at + 1 : at + 1 + _NEXT])
    ]


def with_errors(turns: Sequence[Turn]) -> list[Turn]:
    """Return the turns that `find_occurrences` needs: those with failed calls, and the next ones after each."""
    failed = [at for at, turn in enumerate(turns) if turn.failures]
    return [turns[at] for at in sorted({at + more for at in failed for more in range(_NEXT + 1)}) if at < len(turns)]


def _of_turn(turn: Turn, roots: Sequence[str], following: Sequence[Turn]) -> Iterator[ErrorOccurrence]:
    listed = turn.failures
    for error, failures in _grouped(listed):
        last = failures[-1]
        works = bool(last.fixed_by or last.explained)
        if last.again:
            last = _got_rid_of(last, [one for one in listed[listed.index(last) + 1 :] if _ran_again(last, one)])
        if not last.fixed_by and not last.explained:
            last = _fixed_later(last, turn, following)
            works = bool(last.fixed_by)
        last = last._replace(meanwhile=_without_taken_back(last.meanwhile, listed))
        fix = fix_of(last, turn.files, roots)
        if _is_unsure(fix, error, last) or is_place(fix):
            fix = ""
        tried = dict.fromkeys(
            f"`{one_line(failure.meanwhile, _LONGEST)}`" for failure in failures[:-1] if _was_tried(failure)
        )
        yield ErrorOccurrence(
            exchange=turn.exchange_id,
            at=failures[0].at,
            error=error,
            command=inner_program(failures[0].command),
            fix=fix,
            tried=tuple(one for one in tried if one != fix)[-_MAX_TRIED:],
            files=_files(relative_files(turn.files, roots), error),
            seconds=max(round((last.fixed_at - failures[0].at).total_seconds()), 0) if last.fixed_at else 0,
            works=works,
            scope=(turn.scope,) if turn.scope else (),
            port=port_in(failures[0].error, error),
        )


def _grouped(failures: Iterable[Failure]) -> list[tuple[ErrorSignature, list[Failure]]]:
    """Return the errors of a turn, each with the failures that show it."""
    found: list[tuple[ErrorSignature, list[Failure]]] = []
    for failure in filter(is_bug, failures):
        errors = read_errors(failure.error)
        for known, group in found:
            if any(is_again(known, signature) for signature in errors):
                group.append(failure)
        if errors and not any(is_again(signature, errors[0]) for signature, _ in found):
            found.append((errors[0], [failure]))
    return found


def _fixed_later(failure: Failure, turn: Turn, following: Iterable[Turn]) -> Failure:
    """Return a failure with what changed until its command works in one of the next turns."""
    changes = [failure.meanwhile] if failure.meanwhile else []
    for later in following:
        if later.session != turn.session:
            break
        for run in later.runs:
            changes += run.after
            if shows_fixed(failure.command, failure.error, run.command, run.said):
                if run.failed:
                    return failure
                return failure._replace(fixed_by=run.command, fixed_at=later.ended, meanwhile="\n".join(changes))
            changes += effect_of(run.command) if not run.failed else ()
        changes += later.edits
    return failure


def _ran_again(failure: Failure, later: Failure) -> bool:
    return failure.tool == later.tool and runs_again(failure.command, later.command)


def _got_rid_of(failure: Failure, later: Sequence[Failure]) -> Failure:
    """Return a failure whose command failed again, by another error, with what got rid of the first.

    That is what was changed before the command ran again, or what it ran in; an edit only if the command worked in the
    end. If nothing was, all that changed until it worked counts.
    """
    if not later or failure.meanwhile:
        is_effect = "\n" not in failure.meanwhile and not failure.meanwhile.startswith(PLACE)
        return failure._replace(fixed_by=later[0].command) if later and is_effect else failure
    done = later[-1].fixed_by
    if not done and repeated_elsewhere(failure.command, later[0].command):
        return failure._replace(fixed_by=later[0].command)
    if not done or environment(done) != environment(failure.command):
        return failure
    changes = "\n".join(filter(None, (one.meanwhile for one in later)))
    return failure._replace(fixed_by=done, fixed_at=later[-1].fixed_at, meanwhile=changes, again=False)


def is_bug(failure: Failure) -> bool:
    """Return whether a failed call is an error: not a command that only reads, not a call the host refused."""
    return bool(failure.command) and not only_reads(failure.command) and bool(told_error(failure.error))


def _is_unsure(fix: str, error: ErrorSignature, failure: Failure) -> bool:
    """Return whether an edit may be of another error, or an environment only shows whether a value differs there."""
    if not says_little(error):
        return _is_edit(fix) and not _is_of(fix, failure)
    elsewhere = repeated_elsewhere(failure.command, failure.fixed_by)
    return _is_edit(fix) or fix == f"`{one_line(elsewhere, _LONGEST)}`"


def _is_of(edit: str, failure: Failure) -> bool:
    """Return whether an edit fixed this error: the output shows no other, or it names the edited file."""
    return _base(_file(edit)[len(PLACE) : -1]) in failure.error or len(read_errors(failure.error)) == 1


def fix_of(failure: Failure, files: Sequence[str] = (), roots: Sequence[str] = ()) -> str:
    """Return what made a failed command work: the one command or the edits to the one file between; "" if several."""
    if failure.explained:
        logged = next((words for words in _LOGGED if failure.explained.startswith(words)), "")
        return one_line(failure.explained.removeprefix(logged), _LONGEST)
    if not failure.fixed_by:
        return ""
    changes = [*dict.fromkeys(filter(None, failure.meanwhile.split("\n")))]
    changes = [one if one.startswith(PLACE) else beyond(failure.command, one) for one in changes]
    changes = [f"{PLACE}{one}`" if one in files else one for one in changes if one]
    if not failure.again and (before := _run_before(failure, is_alone=not any(map(_is_edit, changes)))):
        changes = [*dict.fromkeys((*changes, before))]
    elsewhere = repeated_elsewhere(failure.command, failure.fixed_by)
    if not changes:
        return f"`{one_line(elsewhere, _LONGEST)}`" if elsewhere else ""
    edits = [*filter(_is_edit, changes)]
    several = len(changes) > 1 and (len(edits) < len(changes) or len({_file(one) for one in edits}) > 1)
    if several or (edits and (elsewhere or runs_program_before(failure.command, failure.fixed_by))):
        return ""
    if not edits:
        command = effect_in(changes[0]) or bare(changes[0]) or changes[0]
        command = " && ".join(filter(None, (command, elsewhere)))
        is_no_fix = helps_once(command) or has_compound(command) or is_proposed(command, failure.error)
        return "" if is_no_fix else f"`{one_line(command, _LONGEST)}`"
    told = "; ".join([edits[0], *(one.removeprefix(_file(one)).lstrip(": ") for one in edits[1:])])
    for root in roots:
        told = told.replace(f"`{root.rstrip('/')}/", "`")
    return told if len(told) <= _LONGEST and not any(map(is_place, edits[1:])) else ""


def _run_before(failure: Failure, *, is_alone: bool) -> str:
    """Return what the line that worked runs before it repeats the failed command, if that may have fixed it.

    What has no effect that is known counts if nothing was edited, and no script or commit stands before the command.
    """
    before = run_before(failure.command, failure.fixed_by)
    is_plain = is_alone and "<<" not in failure.fixed_by and not commits_before(failure.command, failure.fixed_by)
    return before if is_plain or has_effect(before) else ""


def _without_taken_back(changed: str, failures: Iterable[Failure]) -> str:
    """Return changes without the edits that the turn takes back, and those that take them back."""
    tried = [_lines_of(edit) for failure in failures for edit in failure.meanwhile.split("\n") if _is_edit(edit)]
    undone = {(file, added, removed) for file, removed, added in tried if removed or added}
    return "\n".join(one for one in changed.split("\n") if not (_is_edit(one) and _lines_of(one) in undone))


def _lines_of(edit: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Return an edit's file, the lines it removed and those it added."""
    lines = re.findall(r"`([-+]) (.+?)`(?= `[-+] |$)", edit.removeprefix(_file(edit)))
    removed, added = (tuple(line for sign, line in lines if sign == kind) for kind in "-+")
    return _file(edit), removed, added


def _is_edit(change: str) -> bool:
    return change.startswith(PLACE)


def _file(edit: str) -> str:
    """Return the head of an edit up to the name of its file."""
    return edit[: edit.index("`", len(PLACE)) + 1]


def _base(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]


def _was_tried(failure: Failure) -> bool:
    """Return whether a command alone was run before the same command failed again."""
    changed = failure.meanwhile
    return failure.again and bool(changed) and "\n" not in changed and not changed.startswith(PLACE)


def _files(changed: Sequence[str], error: ErrorSignature) -> tuple[str, ...]:
    """Return the changed files that the error's frames name, else the changed files."""
    framed = {frame.partition(":")[0] for frame in error.frames}
    named = tuple(file for file in changed if _base(file) in framed)
    return (named or tuple(changed))[:_MAX_FILES]
