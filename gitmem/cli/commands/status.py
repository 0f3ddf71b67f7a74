"""`gitmem status`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from gitmem.archive.summary import pending_archives
from gitmem.cli.app import App
from gitmem.cli.arguments import Args
from gitmem.cli.output import few, finding_lines
from gitmem.health.access import ACCESS
from gitmem.health.status import HISTORY, StoreStatus, status_reader
from gitmem.hosts.script import project_top, recorded_agents, stopped_servers
from gitmem.llm.protocol import HOST, OFFLINE, WITHOUT_MODEL
from gitmem.platform.machine import timedelta
from gitmem.store.findings import MODEL, FailureLog
from gitmem.store.forbids import FILE as FORBIDS
from gitmem.store.jobs import Job, running
from gitmem.store.last_event import installed_files, last_event_since_install
from gitmem.store.layers import mode_words, private_store
from gitmem.store.store import LEFT_OUT, VECTORS, Store
from gitmem.sync.states import RemoteState
from gitmem.tell.forbidden import firings, rules_to_review
from gitmem.tell.usage_log import ASKED, ERROR, PROMPT, read_usage
from gitmem.text.sentences import bytes_of, count
from gitmem.text.terminal import plain
from gitmem.values import Value

if TYPE_CHECKING:
    from gitmem.llm.ledger import Spending
    from gitmem.search.vectors import Overview

_DAYS = 7
_BRANCH = "gitmem"  # as in gitmem.git


def run_status(args: Args, app: App) -> None:
    store = app.settled(read=False)
    with status_reader(store) as read_status:  # git works meanwhile
        project, home = project_top(app.folder(), app.home()), app.home()
        last_event_of = partial(last_event_since_install, store.private, home)
        agents, off = recorded_agents(project, home, app.environ, last_event_of)
        tools = stopped_servers(project, home, app.environ, partial(installed_files, store.private, home))
        used = _used(store)
        status = read_status()
    pending = len(pending_archives(store)) if status.archives else 0  # a summary made without a model, or none
    mode = mode_words(store, app.session())
    more = _More(agents, off, tools, *used, pending, _vectors(store), _models(store), mode, running(app.home()))
    has_rules = store.acceptance.is_accepted() and os.path.exists(os.path.join(store.private, FORBIDS))
    rules = len(rules_to_review(store)) if has_rules else 0
    more = more._replace(
        beside=_beside(store), rules=rules, left_out=_left_out(store), trouble=_trouble(store, more.models)
    )
    value = {**status._asdict(), **more._asdict(), "paused": mode.startswith("paused")}
    del value["beside"], value["trouble"]
    value["private"] = bool(value.pop("mode")) and not value["paused"]
    value["remotes"] = [state.as_value() for state in status.remotes]
    app.answer(value, "" if args.json else _screen(status, more, app, store.config.summary.provider))


class _More(Value):
    """The part of the status that comes from other rooms.

    `off` has sentences for each agent that runs no hooks, or not all, `tools` for each that will not start the server.
    `told`, `asked` and `answered` count shown texts, questions and answers of the last seven days.
    """

    agents: list[str]
    off: list[str]
    tools: list[str]
    told: int
    asked: int
    answered: int
    pending: int
    vectors: Overview | None
    models: Spending | None
    mode: str
    running: list[Job]
    rules: int = 0
    left_out: int = 0
    beside: str = ""
    trouble: str = ""  # why models could not even be asked


def _beside(store: Store) -> str:
    """Return where the other layer of a project's memory is, if some of it is private."""
    return "; more is private: gitmem --private status" if private_store(store) else ""


def _trouble(store: Store, models: Spending | None) -> str:
    """Return why no question could be asked since yesterday, "" if one was or none was due."""
    if models is None or models.questions:
        return ""
    since = store.context.clock() - timedelta(days=1)
    failed = [failure for failure in FailureLog(store.private).failures() if failure.command == MODEL]
    return failed[-1].message.partition(": ")[2] if failed and failed[-1].at >= since else ""


def _used(store: Store) -> tuple[int, int, int]:
    since = store.context.clock() - timedelta(days=_DAYS)
    notes = [note for note in read_usage(store.private, since).given if note.at >= since]
    # A user's own command has no session, and its answer costs no tokens.
    asked = [note for note in notes if note.occasion in ASKED]
    asked = [note for note in asked if note.session or note.tokens or note.occasion in (PROMPT, ERROR)]
    warned = sum(firing.at >= since for firing in firings(store.private, every=True))
    return warned + sum(note.tokens > 0 for note in notes), len(asked), sum(bool(note.ids) for note in asked)


def _used_words(more: _More) -> str:
    if not (more.told or more.asked):
        return "nothing was shown to an agent in the last seven days"
    times = "once" if more.told == 1 else f"{more.told:,} times"
    shown = [f"an agent was shown memory {times}"] * bool(more.told)
    questions = f"{more.asked:,} prompts, errors and searches" if more.asked > 1 else "1 prompt, error or search"
    found = f"an answer to {more.answered:,} of" if more.answered else "no answer to"
    answered = [f"memory had {found} {questions}"] * bool(more.asked)
    return f"in the last seven days {', and '.join(shown + answered)}"


def _left_out(store: Store) -> int:
    if not (store.acceptance.is_accepted() and os.path.exists(os.path.join(store.private, LEFT_OUT))):
        return 0
    from gitmem.learn.left_out import waiting_left_out  # late: it brings what learns facts

    return len(waiting_left_out(store))


def _vectors(store: Store) -> Overview | None:
    if not os.path.isdir(os.path.join(store.private, VECTORS)):
        return None
    from gitmem.search.vectors import overview  # late: it brings HTTP and SQLite

    return overview(store)


def _models(store: Store) -> Spending | None:
    if store.config.summary.provider in {"offline", "host"}:
        return None
    from gitmem.llm.ledger import spending  # late: it brings HTTP

    return spending(store)


def _screen(status: StoreStatus, more: _More, app: App, provider: str) -> str:
    last, knows = status.last_save, status.knows
    unread = any(finding.check == HISTORY for finding in status.attention)
    unsaved = "unknown" if unread else 'nothing yet; try: gitmem save "..."'
    saved = f"{last.at:%Y-%m-%d %H:%M}  {last.subject}" if last else unsaved
    percent = status.tokens * 100 // max(status.threshold, 1)
    known = (count(knows.sessions, "session"), count(knows.facts, "fact"), count(knows.issues, "open issue"))
    rows = [
        *zip(("recording", *[""] * len(more.off)), _recording(status, more, unread, app.read_only), strict=False),
        *[("tools", sentence) for sentence in more.tools],
        ("knows", ", ".join((*known, count(knows.patterns, "known error"))) + more.beside),
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
    failing = f"{provider}, but asking fails: {more.trouble} 'gitmem doctor' shows each try"
    rows.append(("models", failing if more.trouble else _model_words(more.models, provider)))
    rows += [("learns", WITHOUT_MODEL)] * (bool(more.trouble) or (provider == OFFLINE and not knows.facts))
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
    needed = {"", "tools", "review", "facts", "by hand"}
    needed |= {"recording"} if more.mode or more.off or not more.agents else set()
    lines = [
        app.styled("heading", f"{name:<12}") + (app.styled("warning", plain(value)) if name in needed else plain(value))
        for name, value in rows
    ]
    if status.attention:
        lines += ["", *finding_lines(status.attention, app)]
    return "\n".join(lines)


def _recording(status: StoreStatus, more: _More, unread: bool, read_only: bool) -> list[str]:
    """Return whether sessions are recorded, then a line for each agent whose sessions are not."""
    if any(finding.check == "trusted" for finding in status.attention):
        return ["nothing: this memory came from elsewhere; see below"]
    if read_only or any(finding.check == ACCESS for finding in status.attention):
        return ["nothing, as the environment says; see below" if read_only else "nothing; see below"]
    if more.mode:
        return [more.mode]
    agents = ", ".join(more.agents) or "off" + "; run 'gitmem install' to start recording" * (not more.off)
    if status.last_event:
        agents += f"; last event {status.last_event:%Y-%m-%d %H:%M}"
    elif (more.agents or more.off) and not unread:
        agents += "; no session on this machine yet"
    return [agents, *more.off]


def _waiting(status: StoreStatus, more: _More) -> Iterator[str]:
    if to_decide := len(status.review) + status.contradictions + more.rules:
        yield f"{count(to_decide, 'decision')} of yours ('gitmem review')"
    elif not more.left_out and any("gitmem review" in finding.remedy for finding in status.attention):
        yield "a decision of yours, see below"
    if more.left_out:
        yield f"{count(more.left_out, 'message')} that looked like a decision or rule, not taken ('gitmem review')"
    if status.waiting:
        yield f"{count(status.waiting, 'save')} not committed yet"
    if status.unfinished:
        yield f"{count(status.unfinished, 'event')}, saved when the turn ends"
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
    """Return a line about a background job on this machine, perhaps for another store."""
    waiting = f". {count(job.waiting, 'more store')} wait{'s' * (job.waiting == 1)} for it" if job.waiting else ""
    return f"{job.kind}, since {job.since[11:16]}, in the background ({job.store}){waiting}"


def _model_words(models: Spending | None, provider: str) -> str:
    """Return the provider of models with today's questions, tokens, dollars and seconds, or how to set one."""
    if provider == HOST:
        return "your agent reviews finished sessions itself: its start names those that wait"
    if models is None:
        return "none; to turn one on: gitmem config --user summary.provider agent"
    if not models.questions:
        return f"{models.provider}, not asked today"
    tokens = f"{models.tokens:,} tokens" + (f" of {models.most_tokens:,}" if models.most_tokens else "")
    dollars = f"${models.dollars:.4f}" + (f" of ${models.most_dollars:.2f}" if models.most_dollars else "")
    dollars += f" ({models.unpriced} of unknown price)" if models.unpriced else ""
    seconds = f"{models.seconds:,.0f} s" + (f" of {models.most_seconds:,}" if models.most_seconds else "")
    failed = f", {models.failures} failed" if models.failures else ""
    questions = count(models.questions, "question")
    return f"{models.provider}; today {questions}{failed}: {tokens}, {dollars}, {seconds}"
