"""The state of a store, and its figures."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from gitmem.archive.summary import pending_archives
from gitmem.cli.app import OWN, VECTORS, App
from gitmem.cli.arguments import Args
from gitmem.cli.output import few, finding_lines
from gitmem.health.status import HISTORY, StoreStatus, status_reader
from gitmem.hosts.script import project_top, recorded_agents
from gitmem.llm.protocol import TURN_ON
from gitmem.platform.machine import timedelta
from gitmem.store.heard import heard_since_install
from gitmem.store.jobs import Job, running
from gitmem.store.store import Store
from gitmem.tell.usage_log import ASKED, read_notes
from gitmem.text.sentences import age, bytes_of, count, shorten
from gitmem.text.terminal import plain
from gitmem.values import TYPE_CHECKING, Value

if TYPE_CHECKING:
    from typing import Any

    from gitmem.llm.spending import Spending
    from gitmem.search.vectors import Overview
    from gitmem.sync.states import RemoteState

_DAYS = 7
_BRANCH = "gitmem"  # as in gitmem.git


def run_path(_: Args, app: App) -> None:
    store = app.find()
    app.answer({"store": store, "memory": os.path.join(store, "memory.md")}, store, OWN)


def run_status(args: Args, app: App) -> None:
    store = app.settled(read=False)
    with status_reader(store) as read_status:  # git looks meanwhile
        agents, off = recorded_agents(
            project_top(app.folder()), app.home(), app.environ, partial(heard_since_install, store.private, app.home())
        )
        used = _used(store)
        status = read_status()
    pending = len(pending_archives(store)) if status.archives else 0  # a summary made without a model, or none
    paused = ""
    if store.has_layers:
        from gitmem.store.layers import paused_words

        paused = paused_words(store)
    more = _More(agents, off, *used, pending, _vectors(store), _models(store), paused, running(app.home()))
    value = {**status._asdict(), **more._asdict(), "paused": bool(paused)}
    value |= {name: one._asdict() for name in ("vectors", "models") if (one := value[name])}
    value["running"] = [job._asdict() for job in more.running]
    value["knows"] = status.knows._asdict()
    value["remotes"] = [state.as_value() for state in status.remotes]
    value["review"] = [{"path": item.path, "places": list(item.places)} for item in status.review]
    value["attention"] = [finding._asdict() for finding in status.attention]
    value["last_event"] = status.last_event.isoformat() if status.last_event else None
    if status.last_save:
        value["last_save"] = {**status.last_save._asdict(), "at": status.last_save.at.isoformat()}
    app.answer(value, "" if args.json else _screen(status, more, app))


class _More(Value):
    """The part of the status that other rooms know.

    `off` has a sentence for each agent that runs no hooks. `told`, `asked` and `answered` count texts told, questions
    and answers of the last seven days.
    """

    agents: list[str]
    off: list[str]
    told: int
    asked: int
    answered: int
    pending: int
    vectors: Overview | None
    models: Spending | None
    paused: str
    running: list[Job]


def _used(store: Store) -> tuple[int, int, int]:
    since = store.context.clock() - timedelta(days=_DAYS)
    given = [one for one in read_notes(store.private, since).given if one.at >= since]
    asked = [one for one in given if one.how in ASKED]
    return sum(one.tokens > 0 for one in given), len(asked), sum(bool(one.ids) for one in asked)


def _used_words(more: _More) -> str:
    if not (more.told or more.asked):
        return "nothing was shown to an agent in the last seven days"
    found = _found_words(more) if more.asked else ""
    return f"{count(more.told, 'text')} shown to agents in the last seven days{found}"


def _found_words(more: _More) -> str:
    return f"; {more.answered:,} of {more.asked:,} prompts, errors and searches got something from memory"


def _vectors(store: Store) -> Overview | None:
    if not os.path.isdir(os.path.join(store.private, VECTORS)):
        return None
    from gitmem.search.vectors import overview

    return overview(store)


def _models(store: Store) -> Spending | None:
    if store.config.summary.provider in {"offline", "host"}:
        return None
    from gitmem.llm.spending import spending

    return spending(store)


def _screen(status: StoreStatus, more: _More, app: App) -> str:
    last, knows = status.last_save, status.knows
    unread = any(finding.check == HISTORY for finding in status.attention)
    unsaved = "unknown" if unread else 'nothing yet; try: gitmem save "..."'
    saved = f"{last.at:%Y-%m-%d %H:%M}  {last.subject}" if last else unsaved
    percent = status.tokens * 100 // max(status.threshold, 1)
    known = (count(knows.sessions, "session"), count(knows.facts, "fact"), count(knows.issues, "open issue"))
    rows = [
        ("recording", more.paused or _recording(status, more, unread=unread, read_only=app.read_only)),
        ("knows", ", ".join((*known, count(knows.patterns, "known error")))),
        ("used", _used_words(more)),
        ("waiting", ", ".join(_waiting(status, more)) or "nothing"),
        ("size", f"{bytes_of(status.bytes)} in {status.store}"),
        ("last save", saved),
        (
            "memory.md",
            f"{percent} % full" + (f"; {count(status.archives, 'full one')} archived" if status.archives else ""),
        ),
    ]
    if status.branch != _BRANCH:
        rows.append(("branch", status.branch))
    if more.vectors:
        made = count(more.vectors.vectors, "text") if more.vectors.vectors else "none yet (run 'gitmem reindex')"
        made += f", by {more.vectors.provider}" * bool(more.vectors.vectors)
        missing = f"not compared: {more.vectors.trouble or more.vectors.reason}"
        rows.append(("meanings", made if more.vectors.model else missing))
    rows.append(("models", _model_words(more.models)))
    rows += [("sync", _sync_words(state)) for state in status.remotes]
    rows += [("running", _job_words(job)) for job in more.running]
    if status.review:
        names = few([item.path for item in status.review])
        rows.append(("review", f"{count(len(status.review), 'document')} with two versions: {names}"))
    if status.contradictions:
        pairs = count(status.contradictions, "contradiction")
        rows.append(("facts", f"{pairs} to decide: 'gitmem review' shows both sentences"))
    if status.edited:
        rows.append(("by hand", f"{few(status.edited)}: the next save commits this, or says why not"))
    needed = {"review", "facts", "by hand"} | ({"recording"} if more.paused or more.off or not more.agents else set())
    lines = [
        app.styled("heading", f"{name:<12}") + (app.styled("warning", plain(value)) if name in needed else plain(value))
        for name, value in rows
    ]
    if status.attention:
        lines += ["", *finding_lines(status.attention, app)]
    return "\n".join(lines)


def _recording(status: StoreStatus, more: _More, *, unread: bool, read_only: bool) -> str:
    if any(finding.check == "trusted" for finding in status.attention):
        return "nothing: this memory came from elsewhere; see below"
    if read_only:
        return "nothing, as the environment says; see below"
    when = f"last event {status.last_event:%Y-%m-%d %H:%M}" if status.last_event else "no session yet"
    off = " ".join(more.off)
    if more.agents:
        agents = ", ".join(more.agents) + (f"; {off}" if off else "")
        return agents if unread and not status.last_event else f"{agents}; {when}"
    if off:
        return f"off; {off} ({when})"
    none = "off; run 'gitmem install' to start recording"
    return f"{none} ({when})" if status.last_event else none


def _waiting(status: StoreStatus, more: _More) -> Iterator[str]:
    if status.waiting:
        yield f"{count(status.waiting, 'save')} not committed yet"
    if status.unfinished:
        yield f"{count(status.unfinished, 'event')} of turns that are not over"
    if status.aside:
        yield f"{count(status.aside, 'file')} that could not be read"
    if more.pending:
        summaries = "1 summary" if more.pending == 1 else f"{more.pending:,} summaries"
        yield f"{summaries} that a model could improve ('gitmem summary pending')"


def _sync_words(state: RemoteState) -> str:
    record = state.record
    when = f"synced {record.synced:%Y-%m-%d %H:%M}" if record and record.synced else "never synced"
    waiting = f", {count(state.waiting, 'commit')} to send" if state.waiting else ""
    failed = f"; failed: {record.failure}" if record and record.failure else ""
    by_hand = "; not by itself, as it was not added with 'gitmem remote add' here: 'gitmem trust'"
    return f"{state.name}: {when}{waiting}{failed}{'' if state.automatic else by_hand}"


def _job_words(job: Job) -> str:
    """Return what runs in the background on this machine, also for other stores."""
    waiting = f"; {count(job.waiting, 'store')} wait{'s' * (job.waiting == 1)}" if job.waiting else ""
    return f"{job.kind.words} in {job.store}, since {job.since[11:16]}{waiting}"


def _model_words(models: Spending | None) -> str:
    """Return the provider of models, and its questions, tokens, dollars and seconds of today, or how to have one."""
    if models is None:
        return f"none; {TURN_ON}"
    if not models.questions:
        return f"{models.provider}, not asked today"
    tokens = f"{models.tokens:,} tokens" + (f" of {models.most_tokens:,}" if models.most_tokens else "")
    dollars = f"${models.dollars:.4f}" + (f" of ${models.most_dollars:.2f}" if models.most_dollars else "")
    dollars += f" ({models.unpriced} of unknown price)" if models.unpriced else ""
    seconds = f"{models.seconds:,.0f} s" + (f" of {models.most_seconds:,}" if models.most_seconds else "")
    failed = f", {models.failures} failed" if models.failures else ""
    asked = count(models.questions, "question")
    return f"{models.provider}; today {asked}{failed}: {tokens}, {dollars}, {seconds}"


_BARS = " ▁▂▃▄▅▆▇█"
_WIDTH = 18
_TITLE = 80  # characters
_ASKED = {"prompt": "at prompts", "error": "at errors", "guide": "guidance", "search": "searches", "recall": "recalls"}
_LEARNED = {"patterns": "errors", "reinforced": "errors again", "deprecated": "errors retired", "episodes": "tasks"}
_TOKENS = {
    "start": "at the start",
    "injected": "at prompts, errors",
    "recalled": "asked for",
    "models": "spent on models",
}


def run_stats(_: Args, app: App) -> None:
    from gitmem.tell.outcome_counts import measure

    store = app.settled()
    figures = measure(store) | {"rules": _fired(store), "judged": _judged(store)}
    app.answer(figures, plain("\n".join(_rows(figures, bars=app.out.isatty()))), "stats")


def _rows(figures: Mapping[str, Any], *, bars: bool) -> Iterator[str]:
    yield "Storage: bytes on disk, files"
    for name, one in figures["storage"].items():
        yield _row(name, f"{bytes_of(one['bytes']):>10}  {count(one['files'], 'file')}")
    yield "Use: in all"
    for name, number in figures["usage"].items():
        agents = ", ".join(f"{agent} {many:,}" for agent, many in number.items()) if name == "agents" else ""
        if name != "agents" or agents:
            yield _row(name, agents or f"{number:>10,}")
    yield f"Learned: a number a week, since {next(iter(figures['tokens']['start']))}"
    learned = figures["learning"].items()
    yield from (_row(_LEARNED.get(name, name), _weeks(weeks.values(), bars=bars)) for name, weeks in learned)
    yield from _tasks(figures["tasks"])
    yield "Answers found: with something from memory, of all questions; time of an answer"
    asked = [_row(_ASKED[name], _found(one)) for name, one in figures["retrieval"].items() if one["asked"]]
    if len(asked) > 1:
        asked.append(_row("in all", _found(figures["answers"])))
    yield from asked or ["  nothing was asked yet"]
    yield "What was shown and then helped"
    yield from _usage_rows(figures["effectiveness"])
    for name, title in {"patterns": "Errors shown most", "episodes": "Tasks shown most"}.items():
        most = [
            _row(one["id"], f"{count(one['told'], 'time'):>10}  {shorten(one['title'], _TITLE)}")
            for one in figures["most"][name]
        ]
        yield from [title, *most] if most else []
    total, session = figures["tokens"]["total"], figures["tokens"]["session"]
    yield f"Tokens: in all, for each of {count(total['sessions'], 'session')} that got a text, a week"
    for name, title in _TOKENS.items():
        weeks = _weeks(figures["tokens"][name].values(), bars=bars)
        yield _row(title, f"{total[name]:>10,} {session[name]:>8,}  {weeks}")
    if figures["rules"]:
        yield "Rules shown at tool calls; ignored: the call was made all the same"
        for rule in figures["rules"]:
            yield _row(
                rule["id"], f"{rule['fired']:>10,} shown, {rule['ignored']:,} ignored  {shorten(rule['text'], _TITLE)}"
            )
    yield from _judged_rows(figures["judged"])


def _fired(store: Store) -> list[dict[str, object]]:
    """Return how often each rule fired at a tool call on this machine, and how often the call was made all the same."""
    from gitmem.store.known_facts import known_facts
    from gitmem.tell.firings import counted

    said = {fact.id: fact.description for fact in known_facts(store)}
    return [
        {
            "id": rule,
            "text": said.get(rule, ""),
            "fired": number.fired,
            "obeyed": number.obeyed,
            "ignored": number.ignored,
        }
        for rule, number in sorted(counted(store.private).items(), key=lambda item: (-item[1].fired, item[0]))
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


def _found(one: Mapping[str, Any]) -> str:
    times = f"{one['mean']:,} ms on average, at most {one['slowest']:,}"
    return f"{one['found']:>10,} of {one['asked']:,} ({one['rate']:.0%}), {times}"


def _usage_rows(effect: Mapping[str, Any]) -> Iterator[str]:
    fixes, helped = effect["mends"], effect["helped"]
    if helped["good"] or helped["bad"]:
        yield _row("you said", f"{helped['good']:>10,} helped, {helped['bad']:,} did not")
    if fixes["told"]:
        yield _row("fixes", f"{fixes['mended']:>10,} of {fixes['told']:,} shown: the error was gone afterwards")
    if not (fixes["told"] or helped["judged"]):
        yield "  nothing yet: this is counted when a session is over"
    if helped["by"]:
        yield "Success of turns that were shown something"
    for how, one in helped["by"].items():
        yield _row(_ASKED.get(how, how), f"{one['mean']:>10.0%} in {count(one['judged'], 'turn')}")


def _judged(store: Store) -> dict[str, Any]:
    """Return how models judged sessions on this machine, in all and by week: {sessions, kept, refused, tokens}."""
    from gitmem.learn.judge import counted

    every, reasons = counted(store), Counter[str]()
    weeks: dict[str, Counter[str]] = {}
    for one in every:
        monday = (one.at.date() - timedelta(days=one.at.weekday())).isoformat()
        numbers = {"sessions": 1, "kept": one.kept, "refused": sum(one.refused.values()), "tokens": one.tokens}
        weeks.setdefault(monday, Counter()).update(numbers)
        reasons.update(one.refused)
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
