"""`gitmem stats`: print the size, growth and use of the memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gitmem.errors import ExitCode
from gitmem.text.quantities import bytes_of, count

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from gitmem.cli.door import Door

_BARS = " ▁▂▃▄▅▆▇█"
_WIDTH = 16


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem stats`."""
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """Show the size of the memory, its growth in the last eight weeks, and how much of it agents were told.

    'Told' counts memories that agents got unasked at prompts and errors, and lines of 'gitmem guide'. A fix counts as
    used if the session that was told it reports doing the same. On a terminal, weeks are small bars.

    With --json: {storage: {FOLDER: {files, bytes}}, usage: {commits, sessions, exchanges}, learning: {exchanges, facts,
    patterns, saves: {MONDAY: number}}, told: {prompt, error, guide}, effectiveness: {mends_told, mends_used}, tokens:
    {told, sessions, MONDAY: number}}.

    Examples:
      gitmem stats
      gitmem stats --json

    """
    from gitmem.memory.guide.measure import measure

    figures: dict[str, Any] = measure(door.settled(args))
    door.answer(args, figures, "\n".join(_rows(figures, bars=door.out.isatty())))
    return ExitCode.OK


def _rows(figures: Mapping[str, Any], *, bars: bool) -> Iterator[str]:
    yield "Storage"
    for name, size in figures["storage"].items():
        files = count(size["files"], "file") if size["files"] else ""
        yield _row(name, f"{bytes_of(size['bytes']):>10}  {files}".rstrip())
    usage, told, used, tokens = (figures[name] for name in ("usage", "told", "effectiveness", "tokens"))
    yield "Usage"
    yield from (_row(name, f"{number:>10,}") for name, number in usage.items())
    yield "Learned, by week"
    yield from (_row(name, _weeks(weeks.values(), bars=bars)) for name, weeks in figures["learning"].items())
    yield "Told to agents"
    yield _row("at prompts", f"{told['prompt']:>10,}")
    yield _row("at errors", f"{told['error']:>10,}  {used['mends_used']} of {used['mends_told']} fixes were used")
    yield _row("as guidance", f"{told['guide']:>10,}")
    weeks = [number for name, number in tokens.items() if name not in {"told", "sessions"}]
    yield _row("tokens", f"{tokens['told']:>10,}  in {count(tokens['sessions'], 'session')}")
    yield _row("tokens a week", _weeks(weeks, bars=bars))


def _row(name: str, text: str) -> str:
    return f"  {name:<{_WIDTH}}{text}"


def _weeks(numbers: Any, *, bars: bool) -> str:
    """Return the numbers of weeks as figures, on a terminal as bars and the last number."""
    listed = list(numbers)
    if not bars:
        return " ".join(f"{number:>7,}" for number in listed)
    most = max(listed, default=0) or 1
    drawn = "".join(_BARS[-(-number * (len(_BARS) - 1) // most)] for number in listed)
    return f"{drawn}  {listed[-1]:,} this week"
