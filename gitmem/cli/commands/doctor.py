"""`gitmem doctor`: check the store, and the hooks and servers in the settings of the agents on this machine."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence

from gitmem.cli.app import App
from gitmem.cli.arguments import Args
from gitmem.cli.commands.agents import own_program, place_of
from gitmem.cli.output import finding_lines
from gitmem.cli.progress import Progress
from gitmem.errors import ExitCode, GitmemError
from gitmem.health.doctor import DEEP, FULL, OPENED
from gitmem.hosts.edits import edits_of
from gitmem.hosts.host import Host, InstallPlace, Scope, script_path
from gitmem.hosts.install import FileEdit, is_present
from gitmem.hosts.registry import NAMES, find_host, read_transcript, transcript_file
from gitmem.hosts.script import (
    content,
    has_current_script,
    hook_obstacles,
    hooked_file,
    lost_hooks,
    server_obstacles,
)
from gitmem.hosts.settings import HOOKS, MCP, Edit, HooksEdit
from gitmem.platform.machine import UTC, datetime, install_command, is_installed, local
from gitmem.store.findings import Finding, Level, examine
from gitmem.store.last_event import installed_files, last_event_since_install, last_event_time, last_install_time
from gitmem.store.layers import was_paused
from gitmem.store.spool import HookSpool
from gitmem.store.store import Store
from gitmem.sync.clone import check_untrusted
from gitmem.text.sentences import count, listed

_AT_ONCE = 5.0  # seconds in which the first event of a session arrives


def run_doctor(args: Args, app: App) -> int:
    store = app.open()
    check_untrusted(store, read=False)
    with Progress(app.err) as progress:
        checks = DEEP if args.deep else FULL
        findings = examine(store, checks if store.acceptance.is_accepted() else OPENED, progress.step)
        findings = [*findings, *_examine_hosts(app, store), *_examine_servers(app, store)]
    levels = [finding.level for finding in findings]
    problems, warnings = levels.count(Level.PROBLEM), levels.count(Level.WARNING)
    value = {"problems": problems, "warnings": warnings, "checks": findings}
    shown = [finding for finding in findings if finding.level != Level.OK]
    counted = [count(number, noun) for number, noun in ((problems, "problem"), (warnings, "warning")) if number]
    summary = " and ".join(counted) if counted else "No problem found"
    level = Level.PROBLEM if problems else Level.WARNING if warnings else Level.OK
    ending = f"{app.styled(level, summary)}; {count(levels.count(Level.OK), 'check')} passed."
    app.answer(value, "\n".join([*finding_lines(shown, app), *[""] * bool(shown), ending]))
    return ExitCode.FAILURE if problems else ExitCode.OK


def _examine_hosts(app: App, store: Store) -> list[Finding]:
    """Check the hooks in the settings of each host that is on this machine."""
    findings = [finding for host in map(find_host, NAMES) if (finding := _examine_host(app, host, store))]
    if findings:
        return findings
    message = "No agent's sessions are recorded: no settings have gitmem's hooks."
    return [Finding("host", Level.NOTE, message, "'gitmem install' lists the agents that are here.")]


def _examine_host(app: App, host: Host, store: Store) -> Finding | None:
    """Check the hooks in the settings of one host; None if they have none."""
    places = [place_of(app, scope) for scope in host.scopes]
    hooked = {place.scope: path for place in places if (path := hooked_file(host, place))}
    if not hooked:
        lost = next(iter(lost_hooks(host, places)), None)
        return Finding("host", Level.PROBLEM, f"{lost.message}.", lost.remedy) if lost else None
    details = tuple(hooked.values())
    last_event = last_event_since_install(store.private, app.home(), host.label)
    if broken := _broken_hooks(app, host, places, hooked, last_event=last_event):
        return broken
    if len(hooked) > 1:
        message = f"{host.title} calls gitmem {len(hooked)} times for each event: several settings have hooks."
        remedy = f"'gitmem uninstall {host.name} --{[*hooked][-1].value}' removes some. Nothing is saved twice."
        return Finding("host", Level.NOTE, message, remedy, details)
    if silent := _silent(app, host, places[0], hooked, store, last_event=last_event):
        return silent
    return Finding("host", Level.OK, f"{host.title}'s sessions are recorded, by hooks in {details[0]}.")


def _silent(
    app: App, host: Host, place: InstallPlace, hooked: Mapping[Scope, str], store: Store, *, last_event: float
) -> Finding | None:
    """Return the finding that no event of a host arrived since its installation, or of its newest sessions."""
    since = last_event or last_install_time(store.private, app.home(), host.label)
    if not since:
        return None
    unheard = _unheard(host, place, store, since)
    sessions, details = count(unheard, "session"), tuple(hooked.values())
    if last_event:
        message = f"{sessions} of {host.title} began here after its last event, at {_minute(last_event)}, unrecorded"
        remedy = "GITMEM_HOOKS=off or an option of the agent may have left the hooks out. To add what was said: "
        remedy += f"gitmem import --from {host.name}"
        return Finding("host", Level.WARNING, f"{message}.", remedy, details) if unheard else None
    message = f"No event of {host.title} has arrived here since the install on {_minute(since)}"
    if before := last_event_time(store.private, (host.label,)):
        message += f" (the last one came on {_minute(before)})"
    if unheard:
        remedy = "Start it anew; if the next session is not recorded either, its list of hooks may say why."
        return Finding("host", Level.WARNING, f"{message}, though {sessions} of it began since.", remedy, details)
    if Scope.PROJECT not in hooked and Scope.LOCAL not in hooked:
        return None
    remedy = f"Start {host.title} anew in this folder: a session that was open before has no hooks."
    return Finding("host", Level.NOTE, f"{message}, nor has a session of it begun here.", remedy, details)


def _minute(at: float) -> str:
    return f"{local(datetime.fromtimestamp(at, UTC)):%Y-%m-%d %H:%M}"


def _unheard(host: Host, place: InstallPlace, store: Store, since: float) -> int:
    """Return how many sessions of a host began after a time, without those that wait in the spool or were paused."""
    spool = HookSpool(store.private)
    with contextlib.suppress(OSError):  # events were committed meanwhile
        since = max([since, *(os.stat(os.path.join(spool.folder, name)).st_mtime for name in spool.names())])
    unheard = 0
    for path in host.sessions(place) if host.sessions else ():
        with contextlib.suppress(OSError, GitmemError):
            has_grown = os.path.getmtime(transcript_file(path)) > since
            first = next(read_transcript(path, name=host.name), None) if has_grown else None
            if first and first.at.timestamp() > since + _AT_ONCE and not first.sidechain:
                unheard += not was_paused(store, first.session)
    return unheard


def _broken_hooks(
    app: App, host: Host, places: Sequence[InstallPlace], hooked: Mapping[Scope, str], *, last_event: float
) -> Finding | None:
    """Return why the hooks of one host record nothing, or not everything; None if they do."""
    renew = f"'gitmem install {host.name} --{next(iter(hooked)).value}' renews them."
    details = tuple(hooked.values())
    stops = hook_obstacles(host, [place for place in places if place.scope in hooked], last_event=last_event)
    stop = next((obstacle for obstacle in stops if not obstacle.asked), None)
    if stop is None and not own_program(app):
        message = "'gitmem' is not on your PATH: hooks keep events, but only your next gitmem command saves them."
        remedy = "Add gitmem's folder to the PATH that your agent is started with."
        return Finding("host", Level.WARNING, message, remedy, details)
    if stop is None and not has_current_script(app.home()):
        message = f"Another version of gitmem wrote {script_path(app.home())}, which the hooks read."
        return Finding("host", Level.WARNING, message, renew, details)
    for place in places if stop is None else ():
        for item in (item for item in edits_of(host, place) if item.part == HOOKS):
            if place.scope in hooked and (outdated := _outdated(item)):
                message = f"Another version of gitmem wrote {outdated} in {item.path}."
                remedy = f"'gitmem install {host.name} --{place.scope.value}' renews them."
                return Finding("host", Level.WARNING, message, remedy)
    if stop := stop or next(iter(stops), None):
        is_said = stop.asked or stop.partly
        remedy = stop.remedy if is_said else f"{stop.remedy} Until then nothing of its sessions is recorded."
        return Finding("host", Level.WARNING, f"{stop.message}.", remedy, details)
    return None


def _outdated(edit: Edit) -> str:
    """Return what of the hooks another version of gitmem wrote, "" if nothing."""
    if isinstance(edit, HooksEdit):
        events = edit.outdated(content(edit.path).decode("utf-8", "surrogateescape"))
        return f"the hook{'s' * (len(events) > 1)} for {listed(events)}" if events else ""
    return "the hooks" if isinstance(edit, FileEdit) and is_present(edit) and content(edit.path) != edit.data else ""


def _examine_servers(app: App, store: Store) -> list[Finding]:
    """Check that the MCP server can run, if a host starts it."""
    findings = []
    seen: set[str] = set()  # lists, which two hosts may share
    for host in map(find_host, NAMES):
        places = [place_of(app, scope) for scope in host.scopes]
        edits = (item for place in places for item in edits_of(host, place) if item.part == MCP)
        listings = [edit.path for edit in edits if edit.path not in seen and is_present(edit)]
        seen.update(listings)
        stops = server_obstacles(host, places, installed_files(store.private, app.home(), host.label))
        if listings and not is_installed("mcp"):
            message = f"{host.title} starts gitmem's MCP server, but the official SDK that it needs is missing."
            remedy = f"Run {install_command('mcp')}, or take the server out with 'gitmem uninstall {host.name}'."
            findings.append(Finding("mcp", Level.WARNING, message, remedy, tuple(listings)))
        elif stops:
            findings.append(Finding("mcp", Level.WARNING, f"{stops[0].message}.", stops[0].remedy, tuple(listings)))
        elif listings:
            message = f"{host.title} has the tools of the memory, by the MCP server in {listings[0]}."
            findings.append(Finding("mcp", Level.OK, message))
    return findings
