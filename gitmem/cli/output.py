"""Commits, entries, differences and findings as JSON with stable keys and as text for people; questions and progress.

Text from a file or a commit loses its control characters on the way out: an escape sequence in it could rewrite the
screen.
"""

from __future__ import annotations

from collections.abc import Sequence

from gitmem.cli.app import App
from gitmem.errors import RefusedError
from gitmem.store.findings import Finding
from gitmem.text.terminal import cells, padded, plain


def agreed(
    app: App,
    would: str,
    question: str,
    remedy: str = "Look with --dry-run, then repeat it with --yes.",
    *,
    yes: bool = False,
    nothing: str = "",
) -> bool:
    """Ask whether to do what `would` names, unless `--yes` did, or say `nothing`; RefusedError without a terminal."""
    if yes:
        return True
    if not app.can_ask():
        raise RefusedError(f"{would}, and nobody is at a terminal to be asked.", f"{remedy} Nothing was done.")
    said = bool(app.ask(question))
    if nothing and not said:
        print(nothing, file=app.err)
    return said


def reversal(commit: str = "") -> str:
    """Return the last line of a command that changed much: how its commit is undone, or that nothing undoes it."""
    return f"To reverse this: gitmem undo {commit[:10]}" if commit else "This cannot be undone."


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as text in columns."""
    widths = [max(map(cells, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(padded(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def first_of(lines: Sequence[str], most: int) -> list[str]:
    """Return the first of some lines, indented, and how many more there are."""
    more = [f"  … and {len(lines) - most} more; --json lists all"] if len(lines) > most else []
    return [*(f"  {line}" for line in lines[:most]), *more]


def few(names: Sequence[str], most: int = 5) -> str:
    """Return the first of some names in a line."""
    return ", ".join(names[:most]) + ", ..." * (len(names) > most)


# The longest prefix first; styles as git has them.
_PATCH = (
    *((prefix, "head") for prefix in ("+++", "---", "diff ")),
    *(("commit ", "id"), ("@@", "hunk"), ("+", "added"), ("-", "removed")),
)


def answer_bytes(app: App, value: object, data: bytes, command: str) -> None:
    """Print `value` as JSON with `--json`, else the output of a git `command` as text; say if the text differs from it.

    The fence stands where `git apply` looks for no patch.
    """
    text = data.decode("utf-8", "replace")
    shown = plain(text)
    if app.args.json:
        app.answer(value, "")
    elif ":" in command or not app.colour():  # a file's content has no colours
        app.answer(value, shown.rstrip("\n"), command)
    else:
        lines = []
        for line in shown.rstrip("\n").split("\n"):
            style = next((style for prefix, style in _PATCH if line.startswith(prefix)), "")
            lines.append(app.styled(style, line) if style else line)
        app.write("\n".join(lines), wrap=False)
    if shown.encode("utf-8", "surrogatepass") != data and not app.args.json:
        git = f"git -C {app.open().root} {command}"
        app.notices((f"Tags and characters that are not seen are written as text; '{git}' prints the bytes.",))


def finding_lines(findings: Sequence[Finding], app: App) -> list[str]:
    """Return findings as lines: the message, below it the places and the remedy."""
    lines = []
    for finding in findings:
        level, check = app.styled(finding.level, f"{finding.level:<7}"), f"{finding.check} "
        lines.append(f"{level}  {check:<12}{plain(finding.message)}")
        lines += [f"{'':<23}{plain(detail)}" for detail in finding.details]
        if finding.remedy:
            lines.append(f"{'':<21}> {plain(finding.remedy)}")
    return lines
