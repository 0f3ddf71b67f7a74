"""`gitmem stats`: print the size, growth and use of the memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gitmem.errors import ExitCode
from gitmem.text.quantities import age, bytes_of, count
from gitmem.text.sentences import shorten
from gitmem.text.terminal import plain

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Mapping

    from gitmem.cli.door import Door

_BARS = " ▁▂▃▄▅▆▇█"
_WIDTH = 18
_TITLE = 80  # characters
_ASKED = {
    "prompt": "at prompts",
    "error": "at errors",
    "guide": "guidance",
    "search": "searches",
    "recall": "recalls",
}
_LEARNED = {"patterns": "errors", "reinforced": "errors again", "deprecated": "errors retired", "episodes": "tasks"}
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
    did not before; whether it helped is the outcome of its turn, a partial success being a half. Answers and tokens are
    this machine's, of the last 90 days (of models, 60). On a terminal, the last eight weeks are small bars. Nothing
    leaves this machine.

    With --json: {storage, usage, learning, tasks, retrieval, answers, told, most, effectiveness, tokens}. storage is
    {NAME: {files, bytes}}; usage {commits, saves, exchanges, sessions, agents}; learning {exchanges, saves, facts,
    patterns, reinforced, deprecated, episodes, contradictions}, each {MONDAY: number}; tasks {number, types, seconds,
    tokens, mended_in, told, alone}, {TYPE: number}, the medians of what a task took, and {number, succeeded} of those
    in sessions that were told a memory, and of others; retrieval, for prompt, error, guide, search and recall, {asked,
    found, rate, ms, mean, slowest}, answers the same of all; most {patterns: [{id, title, told, seen}], episodes:
    [{id, title, told, usefulness}]}, those told most often; effectiveness {named, used, rate, by, mends, helped,
    errors}, mends {told, mended, rate}, helped {judged, mean, by, good, bad}, errors {mended, again, faster, slower,
    first, later}; tokens {start, injected, recalled, models, sessions}, each {MONDAY: number}, with {total, session}.

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
    learned = figures["learning"].items()
    yield from (_row(_LEARNED.get(name, name), _weeks(weeks.values(), bars=bars)) for name, weeks in learned)
    yield from _tasks(figures["tasks"])
    yield "Answers found"
    asked = [_row(_ASKED[name], _found(one)) for name, one in figures["retrieval"].items() if one["asked"]]
    if len(asked) > 1:
        asked.append(_row("in all", _found(figures["answers"])))
    yield from asked or ["  nothing was asked yet"]
    yield "Told and then used"
    yield from _used(figures["effectiveness"])
    yield from _most(figures["most"])
    yield from _tokens(figures["tokens"], bars=bars)


def _tasks(tasks: Mapping[str, Any]) -> Iterator[str]:
    if not tasks["number"]:
        return
    yield f"Tasks of these weeks: {tasks['number']:,}"
    if tasks["types"]:
        yield _row("type", ", ".join(f"{kind.replace('_', ' ')} {number:,}" for kind, number in tasks["types"].items()))
    took = {"time": tasks["seconds"] and age(tasks["seconds"]), "tokens": tasks["tokens"] and f"{tasks['tokens']:,}"}
    took["an error mended"] = tasks["mended_in"] and f"within {age(tasks['mended_in'])}"
    yield from (_row(name, f"half of them {text} or less") for name, text in took.items() if text)
    for name, title in {"told": "success, if told", "alone": "success, if not"}.items():
        if number := tasks[name]["number"]:
            done = tasks[name]["succeeded"]
            yield _row(title, f"{done:>10,} of {number:,} ({done / number:.0%})")


def _found(one: Mapping[str, Any]) -> str:
    times = f"{one['mean']:,} ms on average, at most {one['slowest']:,}"
    return f"{one['found']:>10,} of {one['asked']:,} ({one['rate']:.0%}), {times}"


def _used(effect: Mapping[str, Any]) -> Iterator[str]:
    errors, mends, helped = effect["errors"], effect["mends"], effect["helped"]
    if effect["named"]:
        yield _row("texts", f"{effect['used']:>10,} of {effect['named']:,} that name a file or command")
    if helped["good"] or helped["bad"]:
        yield _row("you said", f"{helped['good']:>10,} helped, {helped['bad']:,} did not")
    if mends["told"]:
        yield _row("mends", f"{mends['mended']:>10,} of {mends['told']:,} told ones: the error was gone afterwards")
    if errors["mended"]:
        yield _row("errors mended", f"{errors['mended']:>10,}")
    if errors["again"]:
        faster = f"{errors['faster']:,} of {errors['again']:,} that came back in fewer commands"
        yield _row("mended faster", f"{faster}: {errors['later']:g} on average, {errors['first']:g} the first time")
    if not (effect["named"] or errors["mended"] or helped["judged"]):
        yield "  nothing yet: this is counted when a session is over"
    if helped["by"]:
        yield "Success of turns that were told something"
    for how, one in helped["by"].items():
        yield _row(_ASKED.get(how, how), f"{one['mean']:>10.0%} in {count(one['judged'], 'turn')}")


def _most(most: Mapping[str, Any]) -> Iterator[str]:
    for name, title in {"patterns": "Errors told most", "episodes": "Tasks told most"}.items():
        if most[name]:
            yield title
        for one in most[name]:
            yield plain(_row(one["id"], f"{count(one['told'], 'time'):>10}  {shorten(one['title'], _TITLE)}"))


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
