"""Find the lines of code that a fact cites, and their digests."""

from __future__ import annotations

import contextlib
import os
import re
import zlib
from collections.abc import Iterable, Sequence

from gitmem.errors import GitmemError
from gitmem.git.layout import Layout
from gitmem.git.repository import Repository, blob_id, is_object_id
from gitmem.model.fact import Fact
from gitmem.platform.safe_open import read_text
from gitmem.project.code import LINE_BREAKS, SHORT, ProjectCode, is_file, read_project_file

_BLOB = 12  # digits of a blob's id
_NAMED = re.compile(
    r"(?<![\w/.@+-])(?P<path>(?:[\w.@+-]+/)*[\w.@+-]*\w)"
    r"(?::(?P<first>\d{1,6})(?:-(?P<last>\d{1,6}))?)?"
)
_WORD = re.compile(r"[A-Za-z]\w*(?:_\w+|[a-z0-9][A-Z]\w*|\d\w*)|(?<=`)[A-Za-z_][\w.]{2,}(?=[`(])")
_MOST_FILES = 12  # of a fact
_MOST_LINES = 12  # of a file
_COMMON = 6  # lines with a word; a more frequent word says little


def checked_out(code: ProjectCode) -> tuple[str, str]:
    """Return the checked-out branch and commit, read from files; "" for none."""
    git_dir = code.git.git_dir or code.common_dir
    repository = Repository(Layout(code.root, git_dir, code.common_dir), {})
    repository.git = code.git
    with contextlib.suppress(GitmemError, OSError):
        ref = repository.head()
        if ref is None:
            head = read_text(os.path.join(git_dir, "HEAD")).strip()
            return "", head if is_object_id(head) else ""
        return ref.removeprefix("refs/heads/"), repository.tip(ref) or ""
    return "", ""


def cite(code: ProjectCode, fact: Fact, branch: str, commit: str) -> Fact:
    """Return a fact with the branch and commit checked out, its files, and the digests of the lines it mentions.

    Its files include those named in its text. Of each it cites the lines that it names by number, else those with an
    identifier of its text, else the whole file.
    """
    spans: dict[str, tuple[int, int]] = {}
    for named in _NAMED.finditer(fact.text):
        path = named["path"].removeprefix("./")
        if ("/" in path or "." in path) and len(spans) < _MOST_FILES and is_file(code.root, path):
            first = int(named["first"] or 0)
            spans.setdefault(path, (first, max(int(named["last"] or 0), first)))
    words = set(_WORD.findall(fact.text))
    files = tuple(dict.fromkeys((*fact.files, *spans)))[: max(_MOST_FILES, len(fact.files))]
    items = []
    for path in files[:_MOST_FILES]:
        text = read_project_file(code.root, path)
        if text and "\0" not in text and not LINE_BREAKS.search(path):
            lines = text.split("\n")
            first, last = spans.get(path, (0, 0))
            cited = lines[first - 1 : last] if first else _with_words(lines, words)
            digests = ".".join(dict.fromkeys(digest(line) for line in cited[:_MOST_LINES] if line.strip()))
            items.append(f"{blob_id(text.encode(), commit)[:_BLOB]}:{digests} {path}")
    return fact._replace(files=files, lines=tuple(items), branch=branch, commit=commit[:SHORT])


def _with_words(lines: Sequence[str], words: Iterable[str]) -> list[str]:
    by_word = [[place for place, line in enumerate(lines) if word in line] for word in words]
    found = {place for places in by_word if len(places) <= _COMMON for place in places}
    return [lines[place] for place in sorted(found)]


def digest(line: str) -> str:
    """Return the digest of a line without the white space around it."""
    return f"{zlib.crc32(line.strip().encode('utf-8', 'replace')):08x}"
