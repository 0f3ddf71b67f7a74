"""`gitmem status`, `doctor` and `maintain`: how the store is, and what keeps it well."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from gitmem.cli.terminal import Progress
from gitmem.errors import ExitCode
from gitmem.text.quantities import count
from gitmem.text.terminal import plain

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from gitmem.cli.door import Door
    from gitmem.memory.ask.ask import Spending
    from gitmem.search.vectors.fill import Overview
    from gitmem.store.health.status import Status
    from gitmem.store.sync.all import RemoteState
    from gitmem.store.upkeep.findings import Finding
    from gitmem.store.upkeep.maintenance import Maintenance

_KILO = 1000
_SHOWN = 5
# Of the levels of a finding: ANSI colours.
_COLOURS = {"ok": 32, "note": 36, "warning": 33, "problem": 31}


def configure_status(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem status`."""
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run_status(args: argparse.Namespace, door: Door) -> int:
    """Show on one screen what the store holds, what waits, and what needs you.

    What waits in the spool is committed first. What you edited by hand is listed and left to the next save.

    Examples:
      gitmem status
      gitmem status --json

    """
    from gitmem.memory.ask.ask import spending
    from gitmem.search.vectors.fill import overview
    from gitmem.store.health.status import read_status

    store = door.settled(args)
    status, vectors, models = read_status(store), overview(store), spending(store)
    value = {**asdict(status), "vectors": vectors._asdict(), "models": models._asdict()}
    value["remotes"] = [state.as_value() for state in status.remotes]
    if status.last_save:
        value["last_save"]["at"] = status.last_save.at.isoformat()
    door.answer(args, value, _screen(status, vectors, models, door))
    return ExitCode.OK


def _screen(status: Status, vectors: Overview, models: Spending, door: Door) -> str:
    last = status.last_save
    saved = f"{last.at:%Y-%m-%d %H:%M}  {last.subject}" if last else 'nothing yet; try: gitmem save "..."'
    percent = status.tokens * 100 // max(status.threshold, 1)
    days = count(status.days, "day") + (f", the last {status.newest_day}" if status.newest_day else "")
    waiting = count(status.waiting, "event") + (f", {status.aside} kept aside" if status.aside else "")
    rows = [
        ("store", status.store),
        ("branch", f"{status.branch}, {count(status.commits, 'commit')}"),
        ("last save", saved),
        ("memory.md", f"{status.tokens:,} of {status.threshold:,} tokens ({percent} %)"),
        ("archives", f"{status.archives:,}"),
        ("daily logs", days),
        ("spool", waiting if status.waiting or status.aside else "empty"),
        ("vectors", _vectors(vectors)),
        ("summaries", _models(models)),
    ]
    if status.unfinished:
        rows.append(("sessions", f"{count(status.unfinished, 'event')} of turns that go on"))
    rows += [("sync", _sync_words(state)) for state in status.remotes]
    if status.review:
        names = ", ".join(item.path for item in status.review[:_SHOWN]) + (
            ", ..." if len(status.review) > _SHOWN else ""
        )
        rows.append(("review", f"{count(len(status.review), 'document')} with two versions of something: {names}"))
    if status.edited:
        names = ", ".join(status.edited[:_SHOWN]) + (", ..." if len(status.edited) > _SHOWN else "")
        rows.append(("by hand", f"{names}: will be kept with the next save"))
    lines = [plain(f"{name:<12}{value}") for name, value in rows]
    if status.attention:
        lines += ["", *_listed(status.attention, door)]
    return "\n".join(lines)


def _vectors(vectors: Overview) -> str:
    if not vectors.model:
        return vectors.trouble or f"none ({vectors.reason})"
    return f"{vectors.vectors:,} by {vectors.provider} ({vectors.reason})"


def _sync_words(state: RemoteState) -> str:
    record = state.record
    when = f"synced {record.synced:%Y-%m-%d %H:%M}" if record and record.synced else "never synced"
    waiting = f", {count(state.waiting, 'commit')} to send" if state.waiting else ""
    failed = f"; failed: {record.failure}" if record and record.failure else ""
    return f"{state.name}: {when}{waiting}{failed}"


def _models(models: Spending) -> str:
    """Return who sums up, and what that came to today."""
    if not models.questions:
        return f"by {models.provider}" + (", asked nothing today" if models.provider not in {"offline", "host"} else "")
    tokens = f"{models.tokens:,} tokens" + (f" of {models.most_tokens:,}" if models.most_tokens else "")
    dollars = f"${models.dollars:.4f}" + (f" of ${models.most_dollars:.2f}" if models.most_dollars else "")
    dollars += f" ({models.unpriced} of unknown price)" if models.unpriced else ""
    seconds = f"{models.seconds:,.0f} s" + (f" of {models.most_seconds:,}" if models.most_seconds else "")
    failed = f", {models.failures} failed" if models.failures else ""
    asked = count(models.questions, "question")
    return f"by {models.provider}; today {asked}{failed}: {tokens}, {dollars}, {seconds}"


def configure_doctor(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem doctor`."""
    parser.add_argument("--deep", action="store_true", help="read every object of the repository, too")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run_doctor(args: argparse.Namespace, door: Door) -> int:
    """Check the store and say how to mend what is wrong; it mends nothing by itself. Ends with 1 if there is a problem.

    Examples:
      gitmem doctor
      gitmem doctor --deep
      gitmem doctor --json

    """
    from gitmem.cli.commands.install import examine_host, examine_server
    from gitmem.store.health.doctor import DEEP, FULL, examine
    from gitmem.store.upkeep.findings import Level

    store = door.open(args)
    with Progress(door.err) as progress:
        found = examine(store, DEEP if args.deep else FULL, progress.step)
        found = [*found, examine_host(args, door), *examine_server(args, door)]
    levels = [finding.level for finding in found]
    problems, warnings = levels.count(Level.PROBLEM), levels.count(Level.WARNING)
    value = {"problems": problems, "warnings": warnings, "checks": [asdict(finding) for finding in found]}
    counted = [count(number, what) for number, what in ((problems, "problem"), (warnings, "warning")) if number]
    summary = " and ".join(counted) if counted else "No problem found"
    door.answer(args, value, "\n".join([*_listed(found, door), "", f"{summary}."]))
    return ExitCode.FAILURE if problems else ExitCode.OK


def _listed(found: Sequence[Finding], door: Door) -> list[str]:
    """Return findings as lines: what was found, the places and the remedy below it."""
    lines = []
    for finding in found:
        lines.append(f"{_painted(finding.level, door)}  {finding.check:<12}{plain(finding.message)}")
        lines += [f"{'':<23}{plain(detail)}" for detail in finding.details]
        if finding.remedy:
            lines.append(f"{'':<21}> {plain(finding.remedy)}")
    return lines


def _painted(level: str, door: Door) -> str:
    return f"\033[{_COLOURS[level]}m{level:<7}\033[0m" if door.colour() else f"{level:<7}"


def configure_maintain(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem maintain`."""
    when = parser.add_mutually_exclusive_group()
    when.add_argument("--if-needed", action="store_true", help="do nothing unless it is worth it")
    when.add_argument(
        "--project", action="store_true", help="pack the project's own repository, which holds the memory's branch"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run_maintain(args: argparse.Namespace, door: Door) -> int:
    """Pack the store's repository, so that it stays small and quick; what it holds does not change.

    It may be interrupted at any time, and saves need not wait for it. In a store on a branch of the project's
    repository (gitmem init --branch) it does nothing, unless --project says that this repository may be packed.

    Examples:
      gitmem maintain
      gitmem maintain --if-needed

    """
    from gitmem.store.upkeep.maintenance import maintain, needed
    from gitmem.store.upkeep.project_packs import join_listed

    store = door.settled(args)
    reason = ""
    if not store.own_repository and not args.project:
        join_listed(store)
        reason = (
            f"The repository at {store.repository.layout.common_dir} is the project's, so packing it is left to git, "
            "but for gitmem's own packs. "
            "'gitmem maintain --project' packs it all the same."
        )
    elif args.if_needed and not needed(store):
        reason = "Nothing to do: the repository is packed well enough."
    if reason:
        door.answer(args, {"done": False, "reason": reason}, reason)
        return ExitCode.OK
    with Progress(door.err) as progress:
        done = maintain(store, progress.step)
    door.notices(done.notices)
    door.answer(args, {"done": True, **asdict(done)}, _words(done))
    return ExitCode.OK


def _words(done: Maintenance) -> str:
    before, after = done.before, done.after
    found = f"{count(before.loose, 'loose object')} and {count(before.packs, 'pack')}"
    packs = f"{count(after.packs, 'pack')}: {_size(before.bytes)} before, {_size(after.bytes)} now."
    lines = [f"Packed {found} into {packs}"]
    if after.loose:
        lines.append(f"{count(after.loose, 'loose object')} came meanwhile.")
    if done.removed:
        lines.append(f"Removed {count(len(done.removed), 'file')} that killed processes had not finished.")
    return "\n".join(lines)


def _size(size: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if size < _KILO:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= _KILO
    return f"{size:.1f} GB"
