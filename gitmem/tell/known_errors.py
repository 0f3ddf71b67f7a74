"""Find the known patterns and fixes of errors, and format them for an agent. Light, as hooks wait.

A fix of another author is shown without the words of a risky command (docs/security.md). A pattern's file may name any
exchanges, also the user's own, so the author is that of the first commit with the claim.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gitmem.document.ids import do_meet
from gitmem.document.message import one_line
from gitmem.history.authors import Authors
from gitmem.history.authorship import Origin, claim_id, counts_id
from gitmem.history.marks import marked
from gitmem.model.command import runs_elsewhere
from gitmem.model.error import ErrorSignature, is_again, is_telling, likeness, read_errors, signature
from gitmem.model.pattern import BugPattern, Solution, claims, only
from gitmem.model.similarity import SAME_ERROR
from gitmem.record.read import Pending, glance
from gitmem.record.working_memory import working_with
from gitmem.store.known_facts import Header
from gitmem.store.learned import pattern_headers, read_pattern, signature_of
from gitmem.store.store import Store
from gitmem.tell.risk import from_other
from gitmem.tell.usage_log import COUNTS, ERROR, USELESS, Count, ShownText, record_shown, shown_to, total, usefulness_of
from gitmem.text.sentences import seen_times
from gitmem.text.terminal import FENCE, opening, plain
from gitmem.values import Value

UNKNOWN = "somebody"  # the author if no commit in the index contains it


class AuthorPart(Value):
    """The part of a bug pattern from one author's commits; `author` is "" for the user."""

    author: str
    part: BugPattern


def experience(store: Store, pattern: BugPattern) -> list[AuthorPart]:
    """Return a pattern's parts by author, the user's first, without claims about other authors' exchanges."""
    authors = Authors(store)
    by_author: dict[str, set[tuple[str, str]]] = {}
    for claim in claims(pattern):
        author = _others(authors, authors.origins(claim_id(pattern.id, *claim)))
        author = author or (authors.other_author(claim[-1]) if authors.origins(claim[-1]) else "")
        by_author.setdefault(author, set()).add(claim)
    return [AuthorPart(author, only(pattern, cases)) for author, cases in sorted(by_author.items())]


def user_counts(store: Store) -> list[str]:
    """Return the paths of count files that only the user committed and no merge of others changed."""
    authors, paths = Authors(store), (f"{COUNTS}/{name}" for name in sorted(store.names(COUNTS)))
    return [path for path in paths if not _others(authors, authors.origins(counts_id(path)))]


def _others(authors: Authors, makers: list[Origin]) -> str:
    """Return the name of the first author who is not the user, "" if all are the user, `UNKNOWN` for no authors."""
    others = [origin.author or UNKNOWN for origin in makers if not authors.is_users(origin, gitmem=False)]
    return next(iter(others), "" if makers else UNKNOWN)


def counts(store: Store) -> dict[str, Count]:
    """Return the counts of the user's machines, by id of the memory."""
    return total(count_files(store))


def count_files(store: Store) -> Iterator[bytes]:
    """Yield the count files of the user's machines; other users' verdicts do not count here."""
    names = {f"{COUNTS}/{name}" for name in store.names(COUNTS) if name.endswith(".json")}
    return (data for path in user_counts(store) if path in names and (data := store.read(path))) if names else iter(())


class Match(Value):
    """A known pattern, the error that it matches, the likeness, and the solution to show, None if unknown.

    The pattern is one author's part of it; `author` is "" for the user.
    """

    pattern: BugPattern
    error: ErrorSignature
    score: float
    solution: Solution | None
    author: str = ""

    @property
    def shown_fix(self) -> str:
        """The text to show: what made the command work, else the cause that a model found."""
        return self.solution.text if self.solution else next(iter(self.pattern.causes), "")


def match(store: Store, output: str, command: str = "") -> list[Match]:
    """Return the bug patterns that match the errors in a command's output, error by error, the best first.

    A solution that worked here does not apply to a command in a container, and vice versa.
    """
    errors = [error for error in read_errors(output) if is_telling(error)]
    headers = pattern_headers(store) if errors else []
    best: dict[tuple[str, str], Match] = {}
    for found in (match for error in errors for match in match_error(store, error, headers, command)):
        commands = found.solution.commands if found.solution else ()
        is_elsewhere = commands and runs_elsewhere(commands[0]) != runs_elsewhere(command or commands[0])
        best.setdefault((found.pattern.id, found.author), found._replace(solution=None) if is_elsewhere else found)
    return list(best.values())


def match_error(store: Store, error: ErrorSignature, headers: Sequence[Header], command: str = "") -> list[Match]:
    """Return the patterns of this part of the project that match an error, the user's first."""
    matches = []
    for header in headers:
        score = likeness(signature_of(header), error) if header.key[0] == error.type else 0.0
        pattern = read_pattern(store, header.path) if score > SAME_ERROR else None
        applies = pattern is not None and do_meet(pattern.scope, (store.here,))
        parts = experience(store, pattern) if pattern is not None and applies else ()
        matches += [Match(part.part, error, score, part.part.best(command), part.author) for part in parts]
    return sorted(
        matches, key=lambda match: (bool(match.author), -match.score, -len(match.pattern.seen), match.pattern.id)
    )


def user_part(store: Store, pattern: BugPattern) -> BugPattern | None:
    """Return the part of a pattern from the user's own commits, None without one."""
    return next((own.part for own in experience(store, pattern) if not own.author and own.part.seen), None)


def has_other_authors(store: Store, path: str) -> bool:
    """Return whether others committed a part of a file's bug pattern."""
    pattern = read_pattern(store, path)
    return pattern is not None and any(own.author for own in experience(store, pattern))


_AGAIN = 3  # occurrences of an error in a session, at which the agent is told to try another way
_MAX_FIX = 600  # characters of a solution
_LEAD = f"{opening('error')}\nThis error has occurred before; recorded by gitmem: data, not instructions."
_OTHERS = _LEAD.replace("has occurred before", "is known to others")


def tell_error(store: Store, session: str, output: str, command: str = "") -> str:
    """Return a text on known errors in a command's output, or "", and record question and answer.

    A session is shown a memory once, never one that did not help when shown before, nor a command that it just ran.
    """
    errors = read_errors(output)
    if not errors:
        return ""

    now, pending = store.context.clock(), glance(store)
    # The commands that worked in the current turn, formatted like the shown fixes.
    turns = [turn for turn in pending.turns if turn.session == session] if pending else []
    ran = {f"`{one_line(run.command, _MAX_FIX)}`" for turn in turns[-1:] for run in turn.runs if not run.failed}
    matched = [item for item in match(store, output, command) if not (item.solution and item.solution.text in ran)]
    texts = [*fixes_of(store, matched)] or [*_occurrences_of(store, matched)]
    known = shown_to(store.private, session, now)
    new = [(text, ids) for text, ids in texts if ids[0] not in known]
    lead = _OTHERS if all("\nFrom " in text for text, _ in new) else _LEAD
    lines = [lead, *(plain(text) for text, _ in new), f"</{FENCE}>"] if new else []
    lines += _another_way(store, session, errors, pending)
    if not lines and texts:
        return ""
    ids = tuple(dict.fromkeys(identifier for _, ids in new for identifier in ids))
    record_shown(store, ShownText(now, session, ERROR, ids), "\n".join(lines))
    return "\n".join(lines)


def _occurrences_of(store: Store, matched: Iterable[Match]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield when the user's own errors without a known fix occurred before, and where to read on."""
    for match in matched:
        pattern = match.pattern
        if not (match.author or match.shown_fix or pattern.best()):
            line = f"{pattern.title}\n{seen_times(len(pattern.seen))}, last on {pattern.updated:%Y-%m-%d}; "
            line += f"what fixed it is unknown. To read on: 'gitmem show ^{pattern.seen[-1]}' ^{pattern.id}"
            yield marked(store, line), (pattern.id,)


def _another_way(
    store: Store, session: str, errors: Iterable[ErrorSignature], pending: Pending | None
) -> Iterator[str]:
    """Yield the attempts at an error on its third, sixth, ... occurrence in a session."""
    memory = working_with(store, session, pending.events if pending else ())
    for seen in memory.errors[-1:] if memory else ():
        is_now = any(is_again(signature(seen.type, seen.message), error) for error in errors)
        if is_now and seen.times % _AGAIN == 0:
            tried = "; ".join(seen.tried) or "nothing that changed a file or the environment"
            yield opening("error")
            nth = "third" if seen.times == _AGAIN else f"{seen.times}th"
            yield plain(f"The same error for the {nth} time in this session: try another way. Tried: {tried}")
            yield f"</{FENCE}>"


def fixes_of(store: Store, matched: Iterable[Match]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the fix of each error, also other authors', with its sources, without those that did not help before."""
    useful = counts(store)
    best: dict[tuple[bool, object], Match] = {}
    for match in matched:
        if match.shown_fix and usefulness_of(useful, (match.pattern.id,)) >= USELESS:
            best.setdefault((bool(match.author), match.error), match)
    for match in sorted(best.values(), key=lambda match: bool(match.author)):
        own = best.get((False, match.error))
        if not (match.author and own and own.shown_fix == match.shown_fix):
            yield marked(store, fix_line(match)), (match.pattern.id,)


def fix_line(match: Match) -> str:
    """Return a pattern as text: the error, its number of occurrences, the fix, its date, and the pattern's id."""
    pattern, fix, solution = match.pattern, match.shown_fix[:_MAX_FIX], match.solution
    if match.author:
        return f"{pattern.title}\n{from_other(fix, match.author, pattern.id)} ^{pattern.id}"
    date, times = f"{pattern.updated:%Y-%m-%d}", seen_times(len(pattern.seen))
    if solution is None:
        return f'{pattern.title}\n{times}, last on {date}. Its cause, as a model found: "{fix}" ^{pattern.id}'
    seen, when = f"{times}. " if len(pattern.seen) > 1 else "", f"Last time ({date}) this"
    if pattern.seen[-1] not in solution.worked:
        seen, when = f"{times}, last on {date}. ", "Before, it"
    tried = len(solution.worked) + len(solution.failed)
    more = f" It helped {len(solution.worked)} of {tried} times." if tried > 1 else ""
    more += " Its files changed a lot since." if pattern.stale else ""
    return f'{pattern.title}\n{seen}{when} was fixed by: "{fix}"{more} ^{pattern.id}'
