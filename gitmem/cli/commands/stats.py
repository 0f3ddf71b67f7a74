"""The figures of a store: its size, growth and use, each row with what it counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gitmem.cli.app import App
from gitmem.cli.arguments import Args
from gitmem.learn.judge import judged_sessions
from gitmem.platform.machine import timedelta
from gitmem.store.known_facts import known_facts
from gitmem.store.store import Store
from gitmem.tell.forbidden import firings_by_rule
from gitmem.tell.outcome_counts import measure
from gitmem.text.sentences import age, bytes_of, count, shorten
from gitmem.text.terminal import plain

_BARS = " ▁▂▃▄▅▆▇█"
_WIDTH = 18
_TITLE = 80  # characters
_ASKED = {"prompt": "at prompts", "error": "at errors", "guide": "guidance", "search": "searches", "recall": "recalls"}
_ABOUT = {  # what each row counts, by name of the figure
    "daily": "days",
    "weekly": "weeks made of old days",
    "monthly": "months made of old weeks",
    "patterns": "known errors",
    "episodes": "finished tasks",
    "archive": "full memory.md files",
    "other": "memory.md, settings, authors",
    "history": "git's own files",
    "private": "this machine's: events, counts, caches",
    "commits": "changes of the memory, its own and yours",
    "saves": "texts that you or an agent saved",
    "exchanges": "requests, each with what was done",
    "sessions": "sessions of agents",
}
_LEARNED = {
    "exchanges": ("exchanges", "requests that were recorded"),
    "saves": ("saves", "texts that you or an agent saved"),
    "facts": ("facts", "decisions, rules and issues that are in force or open"),
    "patterns": ("errors", "errors seen for the first time"),
    "reinforced": ("errors again", "known errors that occurred again"),
    "deprecated": ("errors retired", "known errors that are gone for good"),
    "episodes": ("tasks", "tasks that were finished"),
    "contradictions": ("contradictions", "pairs of facts that say the opposite"),
}
_TOKENS = {
    "start": ("at the start", "shown when a session starts"),
    "injected": ("at prompts, errors", "shown beside a prompt or an error"),
    "recalled": ("asked for", "found by the agent's searches"),
    "models": ("spent on models", "read and written by models that review sessions"),
}


def run_stats(_: Args, app: App) -> None:
    store = app.settled()
    figures = measure(store) | {"rules": _fired(store), "judged": _judged(store)}
    app.answer(figures, plain("\n".join(_rows(figures, bars=app.out.isatty()))), "stats")


def _rows(figures: Mapping[str, Any], *, bars: bool) -> Iterator[str]:
    yield _row("Storage", f"{'on disk':>10}  {'files':>6}", depth=0)
    for name, figure in figures["storage"].items():
        yield _row(name, f"{bytes_of(figure['bytes']):>10}  {figure['files']:>6,}", _ABOUT.get(name, ""))
    yield _row("Use", f"{'in all':>10}", depth=0)
    for name, number in figures["usage"].items():
        agents = ", ".join(f"{agent} {many:,}" for agent, many in number.items()) if name == "agents" else ""
        if name != "agents" or agents:
            yield _row(name, agents or f"{number:>10,}", _ABOUT.get(name, ""))
    mondays = _mondays(figures["tokens"]["start"], bars=bars)
    yield _row("Learned", mondays, depth=0)
    for name, weeks in figures["learning"].items():
        title, about = _LEARNED[name]
        yield _row(title, _weeks(weeks.values(), bars=bars), about)
    yield from _tasks(figures["tasks"])
    yield "Answers: how many prompts, errors and searches got something from memory, and in what time"
    asked = [_row(_ASKED[name], _found(figure)) for name, figure in figures["retrieval"].items() if figure["asked"]]
    if len(asked) > 1:
        asked.append(_row("in all", _found(figures["answers"])))
    yield from asked or ["  nothing was asked yet"]
    yield "Help: whether what was shown helped"
    yield from _usage_rows(figures["effectiveness"])
    for name, title in {"patterns": "Errors shown most", "episodes": "Tasks shown most"}.items():
        most = [
            _row(item["id"], f"{count(item['told'], 'time'):>10}  {shorten(item['title'], _TITLE)}")
            for item in figures["most"][name]
        ]
        yield from [title, *most] if most else []
    total, session = figures["tokens"]["total"], figures["tokens"]["session"]
    yield _row("Tokens", f"{'in all':>10} {'a session':>10} {mondays}", depth=0)
    for name, (title, about) in _TOKENS.items():
        weeks = _weeks(figures["tokens"][name].values(), bars=bars)
        yield _row(title, f"{total[name]:>10,} {session[name]:>10,} {weeks}", about)
    yield f"  a session: the mean of the {count(total['sessions'], 'session')} that got a text"
    if figures["rules"]:
        yield "Rules shown at tool calls; ignored: the call was made all the same"
        for rule in figures["rules"]:
            yield _row(
                rule["id"], f"{rule['fired']:>10,} shown, {rule['ignored']:,} ignored  {shorten(rule['text'], _TITLE)}"
            )
    yield from _judged_rows(figures["judged"])


def _fired(store: Store) -> list[dict[str, object]]:
    """Return how often each rule fired at a tool call on this machine, and how often the call was made anyway."""
    said = {fact.id: fact.description for fact in known_facts(store)}
    return [
        {
            "id": rule,
            "text": said.get(rule, ""),
            "fired": number.fired,
            "obeyed": number.obeyed,
            "ignored": number.ignored,
        }
        for rule, number in sorted(firings_by_rule(store.private).items(), key=lambda item: (-item[1].fired, item[0]))
    ]


def _tasks(tasks: Mapping[str, Any]) -> Iterator[str]:
    if not tasks["number"]:
        return
    yield f"Tasks of these weeks: {tasks['number']:,}"
    if tasks["types"]:
        yield _row("type", ", ".join(f"{kind.replace('_', ' ')} {number:,}" for kind, number in tasks["types"].items()))
    took = {"time": tasks["seconds"] and age(tasks["seconds"]), "tokens": tasks["tokens"] and f"{tasks['tokens']:,}"}
    took["an error fixed"] = tasks["mended_in"] and f"within {age(tasks['mended_in'])}"
    yield from (_row(name, f"half of them {text} or less") for name, text in took.items() if text)
    for name, title in {"told": "with memory", "alone": "without"}.items():
        if number := tasks[name]["number"]:
            done = tasks[name]["succeeded"]
            yield _row(title, f"{done:>10,} of {number:,} ({done / number:.0%}) succeeded")


def _found(figure: Mapping[str, Any]) -> str:
    times = f"{figure['mean']:,} ms on average, at most {figure['slowest']:,}"
    return f"{figure['found']:>10,} of {figure['asked']:,} ({figure['rate']:.0%}), {times}"


def _usage_rows(effect: Mapping[str, Any]) -> Iterator[str]:
    fixes, helped = effect["fixes"], effect["helped"]
    if helped["good"] or helped["bad"]:
        yield _row("you said", f"{helped['good']:>10,} helped, {helped['bad']:,} did not")
    if fixes["shown"]:
        yield _row("fixes", f"{fixes['worked']:>10,} of {fixes['shown']:,} shown: the error was gone afterwards")
    if not (fixes["shown"] or helped["judged"]):
        yield "  nothing yet: this is counted when a session is over"
    if helped["by"]:
        yield "Success of turns that were shown something"
    for how, figure in helped["by"].items():
        yield _row(_ASKED.get(how, how), f"{figure['mean']:>10.0%} in {count(figure['judged'], 'turn')}")


def _judged(store: Store) -> dict[str, Any]:
    """Return how models judged sessions on this machine, in all and by week: {sessions, kept, refused, tokens}."""
    every, reasons = judged_sessions(store), Counter[str]()
    weeks: dict[str, Counter[str]] = {}
    for session in every:
        monday = (session.at.date() - timedelta(days=session.at.weekday())).isoformat()
        numbers = {
            "sessions": 1,
            "kept": session.kept,
            "refused": sum(session.refused.values()),
            "tokens": session.tokens,
        }
        weeks.setdefault(monday, Counter()).update(numbers)
        reasons.update(session.refused)
    total = sum(weeks.values(), Counter[str]())
    names = ("sessions", "kept", "refused", "tokens")
    return {**{name: total[name] for name in names}, "reasons": dict(reasons), "weeks": dict(weeks)}


def _judged_rows(judged: Mapping[str, Any]) -> Iterator[str]:
    if sessions := judged["sessions"]:
        yield f"Judged by a model: {count(sessions, 'session')}"
        yield _row("tokens", f"{judged['tokens']:>10,} {judged['tokens'] // sessions:>8,} a session")
        why = ", ".join(f"{reason} {number}" for reason, number in judged["reasons"].items())
        yield _row("claims", f"{judged['kept']:>10,} kept, {judged['refused']:,} refused{why and f' ({why})'}")
        for monday, week in judged["weeks"].items():
            yield _row(monday, f"{week['kept']:>10,} kept, {week['refused']:,} refused, {week['tokens']:,} tokens")


def _row(name: str, text: str, about: str = "", *, depth: int = 2) -> str:
    return f"{' ' * depth + name:<{_WIDTH + 2}}{text}{'   ' * bool(about)}{about}"


def _mondays(weeks: Iterable[str], *, bars: bool) -> str:
    """Return the heads of the columns of weeks: their Mondays, on a terminal only the first."""
    listed = list(weeks)
    return f"a week, since {listed[0]}" if bars else " ".join(f"{monday[5:]:>7}" for monday in listed)


def _weeks(numbers: Iterable[int], *, bars: bool) -> str:
    """Return the numbers of weeks as figures, on a terminal as bars with the last number."""
    listed = list(numbers)
    if not bars:
        return " ".join(f"{number:>7,}" for number in listed)
    most = max(listed, default=0) or 1
    drawn = "".join(_BARS[-(-number * (len(_BARS) - 1) // most)] for number in listed)
    return f"{drawn}  {listed[-1]:>6,} this week"
