"""`gitmem status`: show the state of the store on one screen."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from gitmem.cli.findings import finding_lines
from gitmem.errors import ExitCode
from gitmem.text.quantities import count
from gitmem.text.terminal import plain

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door
    from gitmem.memory.ask.ask import Spending
    from gitmem.search.vectors.fill import Overview
    from gitmem.store.health.status import Known, StoreStatus
    from gitmem.store.store import Store
    from gitmem.store.sync.all import RemoteState

_SHOWN = 5


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem status`."""
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """Show on one screen whether sessions are recorded, the size and use of the memory, and open tasks for you.

    Events that wait in the spool are committed first. Files that you edited are listed; the next save commits them.

    With --json: {store, branch, commits, last_save, tokens, threshold, archives, days, newest_day, waiting, unfinished,
    aside, edited, remotes, review, contradictions, attention, knows: {sessions, facts, issues, errors}, vectors,
    models, pending, agents, told}. agents are those whose sessions are recorded here, told is how often agents were
    told something in the last seven days.

    Examples:
      gitmem status
      gitmem status --json

    """
    from gitmem.memory.ask.ask import spending
    from gitmem.memory.summaries.offline import pending_archives
    from gitmem.search.vectors.fill import overview
    from gitmem.store.health.status import read_status

    store = door.settled(args)
    status, vectors, models = read_status(store), overview(store), spending(store)
    pending = len(pending_archives(store))
    value = {**asdict(status), "vectors": vectors._asdict(), "models": models._asdict(), "pending": pending}
    agents, told = _recorded(args, door), _told(store)
    value |= {"agents": agents, "told": told}
    value["remotes"] = [state.as_value() for state in status.remotes]
    if status.last_save:
        value["last_save"]["at"] = status.last_save.at.isoformat()
    door.answer(
        args, value, _screen(status, _first(status.knows, agents, told), vectors, _summaries(models, pending), door)
    )
    return ExitCode.OK


def _recorded(args: argparse.Namespace, door: Door) -> list[str]:
    """Return the agents whose settings have gitmem's hooks."""
    from gitmem.cli.host import hooked_file, place_of
    from gitmem.hosts.all import NAMES, find_host

    hosts = map(find_host, NAMES)
    return [
        host.title for host in hosts if any(hooked_file(host, place_of(args, door, scope)) for scope in host.scopes)
    ]


def _told(store: Store) -> int:
    """Return how often agents were told something in the last seven days."""
    from datetime import timedelta

    from gitmem.memory.guide.given import all_given

    since = store.context.clock() - timedelta(days=7)
    return sum(given.at >= since for given in all_given(store.private))


def _first(knows: Known, agents: list[str], told: int) -> list[tuple[str, str]]:
    """Return the first rows of the screen: recorded agents, number of memories, how often agents were told some."""
    known = (count(knows.sessions, "session"), count(knows.facts, "fact"), count(knows.issues, "open issue"))
    return [
        ("recording", ", ".join(agents) if agents else "no agent; 'gitmem install' has its sessions remembered"),
        ("knows", ", ".join((*known, count(knows.errors, "error")))),
        ("told", f"{count(told, 'time')} in the last seven days"),
    ]


def _screen(status: StoreStatus, first: list[tuple[str, str]], vectors: Overview, summaries: str, door: Door) -> str:
    last = status.last_save
    saved = f"{last.at:%Y-%m-%d %H:%M}  {last.subject}" if last else 'nothing yet; try: gitmem save "..."'
    percent = status.tokens * 100 // max(status.threshold, 1)
    days = count(status.days, "day") + (f", the last {status.newest_day}" if status.newest_day else "")
    waiting = count(status.waiting, "event") + (f", {status.aside} kept aside" if status.aside else "")
    rows = [
        *first,
        ("store", status.store),
        ("branch", f"{status.branch}, {count(status.commits, 'commit')}"),
        ("last save", saved),
        ("memory.md", f"{status.tokens:,} of {status.threshold:,} tokens ({percent} %)"),
        ("archives", f"{status.archives:,}"),
        ("daily logs", days),
        ("waiting", waiting if status.waiting or status.aside else "nothing"),
        ("vectors", _vectors(vectors)),
        ("summaries", summaries),
    ]
    if status.unfinished:
        rows.append(("sessions", f"{count(status.unfinished, 'event')} of turns that go on"))
    rows += [("sync", _sync_words(state)) for state in status.remotes]
    if status.review:
        names = ", ".join(item.path for item in status.review[:_SHOWN]) + (
            ", ..." if len(status.review) > _SHOWN else ""
        )
        rows.append(("review", f"{count(len(status.review), 'document')} with two versions: {names}"))
    if status.contradictions:
        pairs = count(status.contradictions, "contradiction")
        rows.append(("facts", f"{pairs} to decide: 'gitmem review' shows both sentences"))
    if status.edited:
        names = ", ".join(status.edited[:_SHOWN]) + (", ..." if len(status.edited) > _SHOWN else "")
        rows.append(("by hand", f"{names}: the next save commits this"))
    lines = [plain(f"{name:<12}{value}") for name, value in rows]
    if status.attention:
        lines += ["", *finding_lines(status.attention, door)]
    return "\n".join(lines)


def _vectors(vectors: Overview) -> str:
    if not vectors.model:
        return vectors.trouble or f"off ({vectors.reason})"
    return (
        f"{vectors.vectors:,} from {vectors.provider} ({vectors.reason})"
        if vectors.vectors
        else "none yet (run 'gitmem reindex')"
    )


def _sync_words(state: RemoteState) -> str:
    record = state.record
    when = f"synced {record.synced:%Y-%m-%d %H:%M}" if record and record.synced else "never synced"
    waiting = f", {count(state.waiting, 'commit')} to send" if state.waiting else ""
    failed = f"; failed: {record.failure}" if record and record.failure else ""
    return f"{state.name}: {when}{waiting}{failed}"


def _summaries(models: Spending, pending: int) -> str:
    """Return the provider of summaries, and the number of archives with an extractive one or none."""
    waiting = f"; {pending} pending, made without a model: 'gitmem summary pending'" if pending else ""
    return _models(models) + waiting


def _models(models: Spending) -> str:
    """Return the provider of summaries, and its questions, tokens, dollars and seconds of today."""
    if not models.questions:
        return models.provider + (", not asked today" if models.provider not in {"offline", "host"} else "")
    tokens = f"{models.tokens:,} tokens" + (f" of {models.most_tokens:,}" if models.most_tokens else "")
    dollars = f"${models.dollars:.4f}" + (f" of ${models.most_dollars:.2f}" if models.most_dollars else "")
    dollars += f" ({models.unpriced} of unknown price)" if models.unpriced else ""
    seconds = f"{models.seconds:,.0f} s" + (f" of {models.most_seconds:,}" if models.most_seconds else "")
    failed = f", {models.failures} failed" if models.failures else ""
    asked = count(models.questions, "question")
    return f"{models.provider}; today {asked}{failed}: {tokens}, {dollars}, {seconds}"
