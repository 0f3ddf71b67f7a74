"""Find how much of an exchange's code is left, in which commits, and which exchanges wrote a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from datetime import datetime

from gitmem.document.code_lines import digest_of
from gitmem.errors import GitmemError
from gitmem.project.code import ProjectCode
from gitmem.store.store import Store
from gitmem.tell.blamed_code import blame_code, project_path, renames
from gitmem.tell.found_exchange import FoundExchange, find_exchange
from gitmem.tell.written_lines import WrittenLines
from gitmem.text.sentences import count
from gitmem.values import Value

_MOST_FILES = 20  # blamed for one answer
_MOST_COMMITS = 5  # named in an answer
_SHORT = 10  # digits of a commit


class CodeLeft(Value):
    """The lines that exchanges wrote into a file and that are left in the project.

    `file` is its present path, "" if it is gone; `commits` are the ids of the commits with these lines and their
    numbers, the most lines first. Uncommitted lines count as left and have no commit.
    """

    path: str
    file: str
    written: int
    left: int
    commits: tuple[tuple[str, int], ...]


class MadeFile(Value):
    """An exchange that wrote lines of a file: its time, their number, and how many are left."""

    at: datetime
    exchange: FoundExchange
    written: int
    left: int


def code_left(store: Store, code: ProjectCode, exchanges: Collection[str]) -> list[CodeLeft]:
    """Return the lines of these exchanges that are left, a value for each file, the most lines first."""
    wrote: dict[str, set[str]] = {}
    for row in WrittenLines(store).of(exchanges):
        wrote.setdefault(row.path, set()).update(row.digests)
    most = sorted(wrote, key=lambda path: (-len(wrote[path]), path))[:_MOST_FILES]
    return [_left(code, path, wrote[path]) for path in most]


def code_left_of(store: Store, exchanges: Collection[str]) -> tuple[list[dict[str, object]], list[str]]:
    """Return the code of these exchanges that is left, for JSON and as lines; nothing in a project without git."""
    code = store.code()
    left = code_left(store, code, exchanges) if code else []
    return [item._asdict() for item in left], [f"code    {_sentence(item)}" for item in left]


def _left(code: ProjectCode, path: str, digests: Collection[str]) -> CodeLeft:
    now = current_path(code, path)
    try:
        lines = blame_code(code, now, 1, 0) if now else []
    except GitmemError:  # a file that git does not track
        lines = []
    found = {digest: line.commit for line in lines if (digest := digest_of(line.text)) in digests}
    commits = Counter(filter(None, found.values())).most_common()
    return CodeLeft(path, now, len(digests), len(found), tuple(commits))


def current_path(code: ProjectCode, path: str) -> str:
    """Return the present path of a file of the project, after renames; "" if it is gone."""
    if project_path(code, path):
        return path
    later = renames(code)
    while path in later:
        path = later.pop(path)
    return path if project_path(code, path) else ""


def exchanges_of_file(store: Store, code: ProjectCode, path: str) -> list[MadeFile]:
    """Return the exchanges that wrote lines of a file of the project, under any of its names, the newest first."""
    earlier = {new: old for old, new in renames(code).items()}
    names, name = {path}, path
    while (name := earlier.pop(name, "")) and name not in names:
        names.add(name)
    try:
        now = {digest_of(line.text) for line in blame_code(code, path, 1, 0)}
    except GitmemError:
        now = set()
    made = []
    for row in WrittenLines(store).into(names):
        exchange = find_exchange(store, row.exchange, row.at)
        if exchange is not None:
            made.append(MadeFile(row.at, exchange, len(row.digests), len(now.intersection(row.digests))))
    return sorted(made, key=lambda item: (item.at, item.exchange.id), reverse=True)


def _sentence(item: CodeLeft) -> str:
    if not item.file:
        return f"{item.path} is gone; {count(item.written, 'line')} were written into it"
    name = item.file if item.file == item.path else f"{item.file} (then {item.path})"
    where = ", ".join(f"{commit[:_SHORT]} ({number})" for commit, number in item.commits[:_MOST_COMMITS])
    where += ", …" if len(item.commits) > _MOST_COMMITS else ""
    return f"{name}: {item.left} of {count(item.written, 'line')} left{', in ' + where if where else ''}"
