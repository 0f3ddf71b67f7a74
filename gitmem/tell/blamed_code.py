"""Find the commit of the user's project that wrote a line of code, and the line before that commit.

The project is not trusted: no program named in its configuration or attributes is run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from difflib import SequenceMatcher

from gitmem.document.code_lines import normalized
from gitmem.errors import GitFailedError, GitmemError, NotFoundError, UsageError
from gitmem.git.filters import filters_off
from gitmem.git.process import Dialogue
from gitmem.git.repository import empty_tree
from gitmem.platform.machine import UTC
from gitmem.project.code import COMMIT, ProjectCode, read_project_file
from gitmem.values import Value

_IGNORED = ".git-blame-ignore-revs"  # the name that forges use as well
SECONDS = 30.0
_COMMITS = 2_000  # in which renames are looked for
_HEAD = re.compile(rb"([0-9a-f]{40,64}) (\d+) (\d+)(?: \d+)?")
HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
PLAIN = ("--no-color", "--no-ext-diff", "--no-textconv")
_UNCOMMITTED = "0"
MOST_LINES = 4_000  # of one answer
_WHERE = re.compile(r"(?P<path>.+?)(?::(?P<first>[0-9]{1,7})(?:-(?P<last>[0-9]{1,7}))?)?", re.DOTALL)


class BlamedCode(Value):
    """A line of the project and the commit that wrote it; `commit` is "" for an uncommitted line.

    `path` and `number` locate the line in that commit; `previous` and `previous_path` name the version before.
    """

    text: str
    now: int
    commit: str = ""
    path: str = ""
    number: int = 0
    at: datetime | None = None
    author: str = ""
    subject: str = ""
    previous: str = ""
    previous_path: str = ""


def blame_code(code: ProjectCode, path: str, first: int, last: int, revision: str = "") -> list[BlamedCode]:
    """Blame lines of a file in the work tree or a revision, all if `last` is 0."""
    return Blaming(code, path, first, last, revision).lines()


class Blaming:
    """A running `git blame`, so that the rest of the answer is prepared while it works.

    It follows moved and copied lines, and ignores white space and the commits in the project's ignore file.
    """

    def __init__(self, code: ProjectCode, path: str, first: int, last: int, revision: str = "") -> None:
        self.path, self.first, self.last = path, first, last
        self._code = code
        self._options = ("blame", "--porcelain", "-w", "-C", *((f"-L{first},{last}",) if last else ()))
        self._place = (*((revision,) if revision else ()), "--", path)
        self._ignored = _ignored_commits(code) if not revision else ()
        self._environment = filters_off(code.git, code.common_dir)
        self._running = Dialogue(code.git, *self._options, *self._ignored, *self._place, env=self._environment)

    def lines(self) -> list[BlamedCode]:
        """Wait for git and return the lines. Raises GitFailedError if there is no such file or line."""
        try:
            return _parsed(self._running.output(SECONDS))
        except GitFailedError:
            if self._place[0] == "--" and (lines := self._never_committed()):
                return lines
            if not self._ignored:
                raise
        # git fails if the ignore file has an id of another repository.
        words = (*self._options, *self._place)
        return _parsed(self._code.git.run(*words, timeout=SECONDS, env=self._environment))

    def _never_committed(self) -> list[BlamedCode]:
        """Return the lines of a work tree file that the checked-out commit does not have."""
        if self._code.git.run("rev-parse", "--verify", "--quiet", f"HEAD:./{self.path}", ok=(0, 1, 128)):
            return []
        texts = read_project_file(self._code.root, self.path).removesuffix("\n").split("\n")
        shown = texts[self.first - 1 : self.last or None]
        if not shown:
            edits = "It is not committed, so recorded edits alone are looked at."
            raise NotFoundError(f"{self.path} has no line {self.first}: it has {len(texts):,}.", edits)
        return [BlamedCode(text, at, path=self.path, number=at) for at, text in enumerate(shown, self.first)]


def blaming_place(code: ProjectCode, where: str, path_of: Callable[[str], str] = str) -> Blaming | None:
    """Start to blame `PATH`, `PATH:LINE` or `PATH:FROM-TO`; None if that names no file.

    `path_of` makes a path relative to the project. Raises UsageError for lines out of order.
    """
    place = _WHERE.fullmatch(where)
    path = project_path(code, path_of(place["path"])) if place else None
    if place is None or path is None:
        return None
    first = int(place["first"] or 1)
    last = int(place["last"] or place["first"] or MOST_LINES)
    if not 1 <= first <= last:
        raise UsageError(
            f"{where} names no lines: the first line of a file is 1, and FROM is not after TO.",
            "Write PATH:LINE or PATH:FROM-TO.",
        )
    return Blaming(code, path, first, min(last, first + MOST_LINES - 1))


def _ignored_commits(code: ProjectCode) -> tuple[str, ...]:
    names = [_IGNORED]
    settings = read_project_file(code.common_dir, "config").lower()
    if "ignorerevsfile" in settings or "include" in settings:  # else one process less to wait for
        with suppress(GitmemError):
            configured = code.git.run("config", "--local", "--get-all", "blame.ignoreRevsFile", ok=(0, 1))
            names += configured.decode("utf-8", "replace").split("\n")
    texts = (read_project_file(code.root, name) for name in dict.fromkeys(filter(None, names)))
    ids = (line.partition("#")[0].strip() for text in texts for line in text.split("\n"))
    return tuple(f"--ignore-rev={oid}" for oid in dict.fromkeys(ids) if COMMIT.fullmatch(oid))[:200]


def _parsed(output: bytes) -> list[BlamedCode]:
    """Parse `git blame --porcelain`, which describes each commit once."""
    codes: dict[str, BlamedCode] = {}
    lines: list[BlamedCode] = []
    current = BlamedCode("", 0)
    for raw in output.split(b"\n"):
        if raw.startswith(b"\t"):
            text = raw[1:].decode("utf-8", "replace")
            codes[current.commit] = current
            committed = bool(current.commit.strip(_UNCOMMITTED))
            lines.append(current._replace(text=text, commit=current.commit if committed else ""))
        elif head := _HEAD.fullmatch(raw):
            oid = head[1].decode()
            current = codes.get(oid, BlamedCode("", 0, oid))._replace(number=int(head[2]), now=int(head[3]))
        else:
            current = _with_field(current, *raw.decode("utf-8", "replace").partition(" ")[::2])
    return lines


def _with_field(line: BlamedCode, name: str, value: str) -> BlamedCode:
    if name == "committer-time" and value.isdecimal():
        return line._replace(at=datetime.fromtimestamp(min(int(value), 1 << 40), UTC))
    if name == "previous":
        oid, _, path = value.partition(" ")
        return line._replace(previous=oid, previous_path=path)
    field = {"author": "author", "summary": "subject", "filename": "path"}.get(name)
    return line._replace(**{field: value}) if field else line


def project_path(code: ProjectCode, path: str) -> str | None:
    """Return an absolute or relative path relative to the project, with `/`; None if it is no file."""
    root = os.path.realpath(code.root)
    full = os.path.join(root, path)
    full = os.path.join(os.path.realpath(os.path.dirname(full)), os.path.basename(full))
    if not full.startswith(root + os.sep) or not os.path.isfile(full):
        return None
    return os.path.relpath(full, root).replace(os.sep, "/")


def commit_named(code: ProjectCode, text: str) -> str:
    """Return the id of the project's commit that a text names, "" if it names none."""
    try:
        oid = code.git.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{text}^{{commit}}", ok=(0, 1))
    except GitmemError:
        return ""
    return oid.decode().strip()


def renames(code: ProjectCode) -> dict[str, str]:
    """Return the new name of each file renamed in the last commits; the latest rename counts."""
    options = (f"-{_COMMITS}", "--diff-filter=R", "-M", "--name-status", "-z", "--format=", "--no-ext-diff")
    try:
        output = code.git.run("log", *options, "HEAD", "--", timeout=SECONDS)
    except GitmemError:
        return {}
    words = output.decode("utf-8", "surrogateescape").split("\0")
    later: dict[str, str] = {}
    for place, word in enumerate(words[:-2]):
        if re.fullmatch(r"\n?R[0-9]{3}", word):
            later.setdefault(words[place + 1], words[place + 2])
    return later


def lines_added_by(code: ProjectCode, commit: str) -> list[BlamedCode]:
    """Return the lines that a commit added, like `blame_code`; a merge is compared with its first parent."""
    header = code.git.run("show", "-s", "--format=%P%n%ct%n%an%n%s", commit).decode("utf-8", "replace").split("\n")
    parents, seconds, author, subject = header[:4]
    parent = parents.partition(" ")[0] or empty_tree(code.git)
    patch = code.git.run("diff", "-U0", "-M", *PLAIN, "--no-prefix", parent, commit, "--", timeout=SECONDS)
    base = BlamedCode("", 0, commit, at=datetime.fromtimestamp(int(seconds), UTC), author=author, subject=subject)
    base = base._replace(previous=parent if parents else "")
    lines: list[BlamedCode] = []
    number = 0
    for text in patch.decode("utf-8", "replace").split("\n"):
        if text.startswith("diff --git "):
            number = 0
        elif not number and text.startswith("--- "):
            base = base._replace(previous_path=text[4:].rstrip("\t"))
        elif not number and text.startswith("+++ "):
            base = base._replace(path=text[4:].rstrip("\t"))
        elif head := HUNK.match(text):
            number = int(head[3])
        elif number and text[:1] == "+":
            lines.append(base._replace(text=text[1:], now=number, number=number))
            number += 1
    return lines


def lines_with(code: ProjectCode, text: str, most: int) -> list[tuple[str, int]]:
    """Return path and number of the first lines in the project's tracked files that contain a text."""
    output = code.git.run(
        "grep", "-n", "-z", "-I", "--full-name", "--fixed-strings", "-e", text, "--", ":/", ok=(0, 1), timeout=SECONDS
    )
    rows = (row.split("\0", 2) for row in output.decode("utf-8", "surrogateescape").split("\n"))
    return [(row[0], int(row[1])) for row in rows if len(row) > 2 and row[1].isdecimal()][:most]  # noqa: PLR2004


_CLEAR_LETTERS = 20  # letters of a line that is recognized without its surroundings
_CONTEXT = 8  # characters of surroundings that a shorter line needs
_MAX_HUNK = 20_000  # characters that are compared


def line_before(code: ProjectCode, line: BlamedCode) -> tuple[str, int] | None:
    """If a commit only reformatted a line, return path and number of the line in `line.previous`, else None."""
    if not line.previous:
        return None
    names = (f"{line.previous}:{line.previous_path}", f"{line.commit}:{line.path}")
    try:
        output = code.git.run("diff", "-U0", *PLAIN, *names, timeout=SECONDS)
    except GitmemError:
        return None
    number = _number_before(output.decode("utf-8", "replace").split("\n"), line)
    return (line.previous_path, number) if number else None


def _number_before(patch: Sequence[str], line: BlamedCode) -> int:
    """Return the number of the old line that contains the text of a patch's line, 0 without one."""
    removed: list[str] = []
    added: list[str] = []
    old = new = 0
    for text in patch:
        if head := HUNK.match(text):
            if added and new <= line.number < new + len(added):
                break
            removed, added = [], []
            old, new = int(head[1]), int(head[3])
        elif text[:1] == "-" and old:
            removed.append(text[1:])
        elif text[:1] == "+" and new:
            added.append(text[1:])
    if not (removed and added and new <= line.number < new + len(added)):
        return 0
    return old + index if (index := _same_place(removed, added, line.number - new)) is not None else 0


def _same_place(removed: Sequence[str], added: Sequence[str], index: int) -> int | None:
    """Return the index of the removed line that contains all of an added one, None if the line has something new.

    Formatters break and join lines, so the hunk's texts are compared as a whole. A line of a few letters must also
    share its surroundings with the old text.
    """
    before, after = [_core(text) for text in removed], [_core(text) for text in added]
    old, new = "".join(before), "".join(after)
    start, length = sum(map(len, after[:index])), len(after[index])
    if max(len(old), len(new)) > _MAX_HUNK or not length:
        return None
    around = 0 if sum(map(str.isalpha, after[index])) >= _CLEAR_LETTERS else _CONTEXT
    for block in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
        holds_line = block.b <= start and start + length <= block.b + block.size
        if holds_line and block.size >= min(length + around, len(old)):
            return _line_at(before, block.a + start - block.b + length // 2)
    return None


def _line_at(lines: Sequence[str], place: int) -> int:
    """Return the index of the line at a position in the joined lines."""
    for number, text in enumerate(lines):
        if place < len(text):
            return number
        place -= len(text)
    return len(lines) - 1


def _core(text: str) -> str:
    """Return a line without a formatter's additions: trailing commas, brackets around a broken line."""
    return normalized(text).replace(",", "").replace("(", "").replace(")", "")
