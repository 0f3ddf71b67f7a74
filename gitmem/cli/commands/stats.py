"""`gitmem stats`: print the size, growth and use of the memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gitmem.errors import ExitCode
from gitmem.text.quantities import age, bytes_of, count

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Mapping

    from gitmem.cli.door import Door

_BARS = " ▁▂▃▄▅▆▇█"
_WIDTH = 18
_ASKED = {
    "prompt": "at prompts",
    "error": "at errors",
    "guide": "guidance",
    "search": "searches",
    "recall": "recalls",
}
_TOKENS = {
    "start": "at the start",
    "injected": "at prompts, errors",
    "recalled": "asked for",
    "models": "spent on models",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem stats`."""
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """Show the size and growth of the memory, how often it had an answer, and how often agents used it.

    A text given to an agent counts as used if the session goes on to work with or mention a file or command in it, and
    did not before. Answers and tokens are this machine's, of the last 90 days (of models, 60). On a terminal, the last
    eight weeks are small bars. Nothing leaves this machine.

    With --json: {storage, usage, learning, tasks, retrieval, told, effectiveness, tokens}. storage is {NAME:
    {files, bytes}}; usage {commits, saves, exchanges, sessions, agents}; learning {exchanges, saves, facts,
    patterns, episodes, contradictions}, each {MONDAY: number}; tasks {number, seconds, tokens, mended_in, told,
    alone}, the medians of what a task took, and {number, succeeded} of those in sessions that were told a memory,
    and of others; retrieval, for prompt, error, guide, search and recall, {asked, found, rate, ms, slowest};
    effectiveness {named, used, rate, by, errors}, errors {mended, again, faster, slower, first, later}; tokens
    {start, injected, recalled, models, sessions}, each {MONDAY: number}, with {total, session}.

    Examples:
      gitmem stats
      gitmem stats --json

    """
    from gitmem.memory.guide.measure import measure

    figures = measure(door.settled(args))
    door.answer(args, figures, "\n".join(_rows(figures, bars=door.out.isatty())))
    return ExitCode.OK


def _rows(figures: Mapping[str, Any], *, bars: bool) -> Iterator[str]:
    yield "Storage"
    for name, one in figures["storage"].items():
        yield _row(name, f"{bytes_of(one['bytes']):>10}  {count(one['files'], 'file')}")
    yield "Use"
    for name, number in figures["usage"].items():
        agents = ", ".join(f"{agent} {many:,}" for agent, many in number.items()) if name == "agents" else ""
        if name != "agents" or agents:
            yield _row(name, agents or f"{number:>10,}")
    yield f"Learned a week, since {next(iter(figures['tokens']['start']))}"
    yield from (_row(name, _weeks(weeks.values(), bars=bars)) for name, weeks in figures["learning"].items())
    yield from _tasks(figures["tasks"])
    yield "Answers found"
    asked = [_row(_ASKED[name], _found(one)) for name, one in figures["retrieval"].items() if one["asked"]]
    yield from asked or ["  nothing was asked yet"]
    yield "Told and then used"
    yield from _used(figures["effectiveness"])
    yield from _tokens(figures["tokens"], bars=bars)


def _tasks(tasks: Mapping[str, Any]) -> Iterator[str]:
    if not tasks["number"]:
        return
    yield f"Tasks of these weeks: {tasks['number']:,}"
    took = {"time": tasks["seconds"] and age(tasks["seconds"]), "tokens": tasks["tokens"] and f"{tasks['tokens']:,}"}
    took["an error mended"] = tasks["mended_in"] and f"within {age(tasks['mended_in'])}"
    yield from (_row(name, f"half of them {text} or less") for name, text in took.items() if text)
    for name, title in {"told": "success, if told", "alone": "success, if not"}.items():
        if number := tasks[name]["number"]:
            done = tasks[name]["succeeded"]
            yield _row(title, f"{done:>10,} of {number:,} ({done / number:.0%})")


def _found(one: Mapping[str, Any]) -> str:
    return f"{one['found']:>10,} of {one['asked']:,} ({one['rate']:.0%}), {one['ms']:,} ms, at most {one['slowest']:,}"


def _used(effect: Mapping[str, Any]) -> Iterator[str]:
    errors = effect["errors"]
    if effect["named"]:
        yield _row("texts", f"{effect['used']:>10,} of {effect['named']:,} that name a file or command")
    if errors["mended"]:
        yield _row("errors mended", f"{errors['mended']:>10,}")
    if errors["again"]:
        faster = f"{errors['faster']:,} of {errors['again']:,} that came back in fewer commands"
        yield _row("mended faster", f"{faster}: {errors['later']:g} on average, {errors['first']:g} the first time")
    if not (effect["named"] or errors["mended"]):
        yield "  nothing yet: this is counted when a session is over"


def _tokens(tokens: Mapping[str, Any], *, bars: bool) -> Iterator[str]:
    total, session = tokens["total"], tokens["session"]
    yield f"Tokens, in all and for each of {count(total['sessions'], 'session')}"
    for name, title in _TOKENS.items():
        yield _row(title, f"{total[name]:>10,} {session[name]:>8,}  {_weeks(tokens[name].values(), bars=bars)}")


def _row(name: str, text: str) -> str:
    return f"  {name:<{_WIDTH}}{text}"


def _weeks(numbers: Iterable[int], *, bars: bool) -> str:
    """Return the numbers of weeks as figures, on a terminal as bars and the last number."""
    listed = list(numbers)
    if not bars:
        return " ".join(f"{number:>7,}" for number in listed)
    most = max(listed, default=0) or 1
    drawn = "".join(_BARS[-(-number * (len(_BARS) - 1) // most)] for number in listed)
    return f"{drawn}  {listed[-1]:,} this week"
