"""Render commits, entries, differences and findings, as JSON with stable keys and as text; ask questions.

Control characters are removed from text of a file or a commit, since an escape sequence could rewrite the screen.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from gitmem.cli.app import App
from gitmem.document.ids import short_session
from gitmem.errors import RefusedError
from gitmem.history.origin import BlamedLine, EntryFound
from gitmem.history.records import CommitRecord, Difference
from gitmem.store.findings import Finding
from gitmem.store.store import Store
from gitmem.text.terminal import cells, clipped, fields, padded, plain


def agreed(
    app: App,
    would: str,
    question: str,
    remedy: str = "Look with --dry-run, then repeat it with --yes.",
    *,
    yes: bool = False,
    nothing: str = "",
) -> bool:
    """Ask for consent to what `would` names unless `yes`; after a no print `nothing`; RefusedError off a terminal."""
    if yes:
        return True
    if not app.can_ask():
        raise RefusedError(f"{would}, and nobody is at a terminal to be asked.", f"{remedy} Nothing was done.")
    consent = bool(app.ask(question))
    if nothing and not consent:
        print(nothing, file=app.err)
    return consent


def reversal(commit: str = "") -> str:
    """Return the last line of a command that changes much: how to undo its commit, or that it cannot be undone."""
    return f"To reverse this: gitmem undo {commit[:10]}" if commit else "This cannot be undone."


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as text in columns."""
    widths = [max(map(cells, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(padded(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def first_of(lines: Sequence[str], most: int) -> list[str]:
    """Return the first `most` lines, indented, and the number of the others."""
    more = [f"  … and {len(lines) - most} more; --json lists all"] if len(lines) > most else []
    return [*(f"  {line}" for line in lines[:most]), *more]


def few(names: Sequence[str], most: int = 5) -> str:
    """Return the first `most` names on one line."""
    return ", ".join(names[:most]) + ", ..." * (len(names) > most)


# The longest prefix first; git's styles.
_PATCH = (
    *((prefix, "head") for prefix in ("+++", "---", "diff ")),
    *(("commit ", "id"), ("@@", "hunk"), ("+", "added"), ("-", "removed")),
)


def answer_bytes(app: App, value: object, data: bytes, command: str) -> None:
    """Print JSON with `--json`, else a git command's output, in a fence that `git apply` skips; say if it differs."""
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
        git = f"git -C {shlex.quote(app.open().root)} {command}"
        app.notices((f"Tags and invisible characters are written as text; for the bytes: {git}",))


def finding_lines(findings: Sequence[Finding], app: App) -> list[str]:
    """Return findings as lines: message, places, remedy."""
    lines = []
    for finding in findings:
        level, check = app.styled(finding.level, f"{finding.level:<7}"), f"{finding.check} "
        lines.append(f"{level}  {check:<12}{plain(finding.message)}")
        lines += [f"{'':<23}{plain(detail)}" for detail in finding.details]
        if finding.remedy:
            lines.append(f"{'':<21}> {plain(finding.remedy)}")
    return lines


SHORT = 10  # characters of an object id
MINUTES = "%Y-%m-%d %H:%M"


def commit_value(record: CommitRecord) -> dict[str, object]:
    """Return a commit for JSON."""
    return fields(
        record, "commit parents date committed author email subject op type session host machine entries archive"
    )


def commit_line(record: CommitRecord, app: App, store: Store) -> str:
    """Return a commit as one line, with the name of another author, cut to the terminal's width."""
    line = plain(f"{record.commit[:SHORT]} {record.date:{MINUTES}} {_whose(record, store)}  {record.subject}")
    screen = app.screen(app.out)
    return clipped(line, screen.columns) if screen and screen.columns else line


def commit_block(record: CommitRecord) -> str:
    """Return a commit as a paragraph: a line for each known value, and the subject."""
    facts = (
        ("date", f"{record.date:%Y-%m-%d %H:%M:%S %z}"),
        ("op", " ".join(filter(None, (record.op, record.type)))),
        ("session", record.session),
        ("host", record.host),
        ("machine", record.machine),
        ("author", f"{record.author} <{record.email}>"),
        ("entry", ", ".join(f"^{entry}" for entry in record.entries)),
        ("archive", record.archive),
    )
    lines = [f"commit {record.commit}", *(f"{name + ':':<9}{value}" for name, value in facts if value)]
    return plain("\n".join(lines)) + f"\n\n    {plain(record.subject)}\n"


def difference_value(changed: Difference) -> dict[str, object]:
    """Return a difference for JSON."""
    files = [
        {"path": change.path, "change": "added" if change.old is None else "modified" if change.new else "removed"}
        for change in changed.changes
    ]
    return {"from": changed.old, "to": changed.new, "files": files, "diff": changed.text.decode("utf-8", "replace")}


def entry_value(found: EntryFound) -> dict[str, object]:
    """Return an entry for JSON."""
    return {
        **fields(found.entry, "id time label tags text"),
        "places": found.places,
        "origin": commit_value(found.origin) if found.origin else None,
    }


def place_lines(found: EntryFound) -> list[str]:
    """Return the places of an entry and the user who saved it, as lines."""
    lines = [f"in      {place.path}:{place.line}" for place in found.places] or ["in      no file, only history"]
    if found.origin:
        lines += [f"saved   {found.origin.date:{MINUTES}}  {_who(found.origin)}", f"commit  {found.origin.commit}"]
    return lines


def blame_value(path: str, lines: Sequence[BlamedLine]) -> dict[str, object]:
    """Return blamed lines for JSON."""
    origins = [commit_value(line.origin) if line.origin else None for line in lines]
    listed = zip(lines, origins, strict=True)
    return {
        "path": path,
        "lines": [{"line": line.number, "text": line.text, "origin": origin} for line, origin in listed],
    }


def blame_table(lines: Sequence[BlamedLine], store: Store) -> str:
    """Return blamed lines in columns: date, author or host and session, commit, number, line."""
    rows = [
        (f"{line.origin.date:{MINUTES}}", _whose(line.origin, store), line.origin.commit[:SHORT], line)
        if line.origin
        else ("", "not committed yet", "", line)
        for line in lines
    ]
    width = max((len(who) for _, who, _, _ in rows), default=0)
    digits = len(str(lines[-1].number)) if lines else 0
    return "\n".join(
        f"{date:<16}  {plain(who):<{width}}  {commit:<{SHORT}}  {line.number:>{digits}}  {plain(line.text)}".rstrip()
        for date, who, commit, line in rows
    )


def _whose(record: CommitRecord, store: Store) -> str:
    own = store.is_user(record.author, record.email, record.machine) or _who(record) == record.author
    return _who(record) if own else f"{record.author} {_who(record)}".strip()


def _who(record: CommitRecord) -> str:
    """Return the host and the start of the session's id, or the author if both are unknown."""
    return "/".join(filter(None, (record.host, short_session(record.session or "")))) or record.author
