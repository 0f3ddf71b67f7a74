"""Where a line of code was before a commit that only changed its form."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from gitmem.document.code_lines import normalized
from gitmem.errors import GitmemError
from gitmem.project.code import ProjectCode
from gitmem.tell.blamed_code import HUNK, PLAIN, SECONDS, BlamedCode

_CLEAR_LETTERS = 20  # of a line that is recognized without its surroundings
_CONTEXT = 8  # characters of surroundings that a shorter line needs
_MAX_HUNK = 20_000  # characters that are compared


def line_before(code: ProjectCode, line: BlamedCode) -> tuple[str, int] | None:
    """Return path and number, in `line.previous`, of the line that the commit of a line only reformatted.

    None if the commit added the line, or changed more than its form.
    """
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
    """Return the number of the old line that holds the text of a line of a patch, 0 if none does."""
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
    """Return the index of the removed line that holds all of an added one; None if the line says something new.

    Formatters break and join lines, so the texts of the hunk are compared as one. A line of a few letters must have its
    surroundings in common with the old text, too.
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
    """Return the index of the line that holds a character of the joined lines."""
    for number, text in enumerate(lines):
        if place < len(text):
            return number
        place -= len(text)
    return len(lines) - 1


def _core(text: str) -> str:
    """Return a line without what a formatter adds: commas at the end, brackets around a broken line."""
    return normalized(text).replace(",", "").replace("(", "").replace(")", "")
