"""`gitmem doctor`: check the store, and the hooks and servers in the settings of the agents on this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from gitmem.cli.app import App
from gitmem.cli.arguments import Args
from gitmem.cli.commands.agents import own_program, place_of
from gitmem.cli.output import finding_lines
from gitmem.cli.progress import Progress
from gitmem.errors import ExitCode
from gitmem.health.doctor import DEEP, FULL, OPENED
from gitmem.hosts.edits import edits_of
from gitmem.hosts.host import Host, InstallPlace, Scope, script_path
from gitmem.hosts.install import FileEdit, is_present, plan_edits
from gitmem.hosts.obstacles import Obstacle, obstacles
from gitmem.hosts.registry import NAMES, find_host, transcript_file
from gitmem.hosts.script import content, has_current_script, hook_obstacles, hooked_file, lost_hooks
from gitmem.hosts.settings import HOOKS, MCP, Edit
from gitmem.platform.machine import UTC, datetime, install_command, is_installed, local
from gitmem.store.findings import Finding, Level, examine
from gitmem.store.last_event import last_event_since_install, last_event_time, last_install_time
from gitmem.sync.clone import check_untrusted
from gitmem.text.sentences import count


def run_doctor(args: Args, app: App) -> int:
    store = app.open()
    check_untrusted(store, read=False)
    with Progress(app.err) as progress:
        checks = DEEP if args.deep else FULL
        findings = examine(store, checks if store.acceptance.is_accepted() else OPENED, progress.step)
        findings = [*findings, *_examine_hosts(app, store.private), *_examine_servers(app)]
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


def _examine_hosts(app: App, private: str) -> list[Finding]:
    """Check the hooks in the settings of each host that is on this machine."""
    findings = [finding for host in map(find_host, NAMES) if (finding := _examine_host(app, host, private))]
    if findings:
        return findings
    message = "No agent's sessions are recorded: no settings have gitmem's hooks."
    return [Finding("host", Level.NOTE, message, "'gitmem install' lists the agents that are here.")]


def _examine_host(app: App, host: Host, private: str) -> Finding | None:
    """Check the hooks in the settings of one host; None if they have none."""
    places = [place_of(app, scope) for scope in host.scopes]
    hooked = {place.scope: path for place in places if (path := hooked_file(host, place))}
    if not hooked:
        lost = next(iter(lost_hooks(host, places)), None)
        return Finding("host", Level.WARNING, f"{lost.message}.", lost.remedy) if lost else None
    details = tuple(hooked.values())
    last_event = last_event_since_install(private, app.home(), host.label)
    if broken := _broken_hooks(app, host, places, hooked, last_event=last_event):
        return broken
    if len(hooked) > 1:
        message = f"{host.title} calls gitmem {len(hooked)} times for each event: several settings have hooks."
        remedy = f"'gitmem uninstall {host.name} --{[*hooked][-1].value}' removes some. Nothing is saved twice."
        return Finding("host", Level.NOTE, message, remedy, details)
    if not last_event and (silent := _silent(app, host, places, hooked, private)):
        return silent
    return Finding("host", Level.OK, f"{host.title}'s sessions are recorded, by hooks in {details[0]}.")


def _silent(
    app: App, host: Host, places: Sequence[InstallPlace], hooked: Mapping[Scope, str], private: str
) -> Finding | None:
    """Return the finding that no event of a host arrived here since its installation, with the likely cause."""
    since = last_install_time(private, app.home(), host.label)
    if not since:
        return None
    day = local(datetime.fromtimestamp(since, UTC))
    files = [transcript_file(path) for path in (host.sessions(places[0]) if host.sessions else ())]
    begun = len({path for path in files if os.path.exists(path) and os.path.getmtime(path) > since})
    message = f"No event of {host.title} has arrived here since the install on {day:%Y-%m-%d %H:%M}"
    if before := last_event_time(private, (host.label,)):
        message += f" (the last one came on {local(datetime.fromtimestamp(before, UTC)):%Y-%m-%d %H:%M})"
    if begun:
        sessions = count(begun, "session")
        cause = f"{sessions} of it ran here since, so it does not run the hooks."
        remedy = "Start it anew; if the next session is not recorded either, its list of hooks may say why."
        return Finding("host", Level.WARNING, f"{message}, though {cause}", remedy, tuple(hooked.values()))
    if Scope.PROJECT not in hooked and Scope.LOCAL not in hooked:
        return None
    remedy = f"Start {host.title} anew in this folder: a session that was open before has no hooks."
    return Finding("host", Level.NOTE, f"{message}, nor has it a session here.", remedy, tuple(hooked.values()))


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
        message = f"{script_path(app.home())}, which the hooks read, is missing or of another version."
        return Finding("host", Level.WARNING, message, renew, details)
    for place in places if stop is None else ():
        for item in (item for item in edits_of(host, place) if item.part == HOOKS):
            if place.scope in hooked and _is_of_other_version(item):
                message = f"Another version of gitmem wrote the hooks in {item.path}."
                remedy = f"'gitmem install {host.name} --{place.scope.value}' renews them."
                return Finding("host", Level.WARNING, message, remedy)
    if stop := stop or next(iter(stops), None):
        remedy = stop.remedy if stop.asked else f"{stop.remedy} Until then nothing of its sessions is recorded."
        return Finding("host", Level.WARNING, f"{stop.message}.", remedy, details)
    return None


def _is_of_other_version(edit: Edit) -> bool:
    """Return whether another version of gitmem wrote the hooks."""
    if isinstance(edit, FileEdit):
        return is_present(edit) and content(edit.path) != edit.data
    return plan_edits(edit.path, [edit], None).changes


def _stopped_server(app: App, host: Host) -> Obstacle | None:
    """Return what prevents a host from starting the server, None if one of its settings starts it."""
    places = [place_of(app, scope) for scope in host.scopes]
    if host.events and not any(hooked_file(host, place) for place in places):
        return None  # the list belongs to another agent, which shares it
    listing = [
        place for place in places if any(edit.part == MCP and is_present(edit) for edit in edits_of(host, place))
    ]
    listed = [[obstacle for obstacle in obstacles(host, place) if obstacle.part == MCP] for place in listing]
    return listed[0][0] if listed and all(listed) else None


def _examine_servers(app: App) -> list[Finding]:
    """Check that the MCP server can run, if a host starts it."""
    findings = []
    seen: set[str] = set()  # lists, which two hosts may share
    for host in map(find_host, NAMES):
        items = [item for scope in host.scopes for item in edits_of(host, place_of(app, scope))]
        edits = (item for item in items if item.part == MCP)
        listings = [edit.path for edit in edits if edit.path not in seen and is_present(edit)]
        seen.update(listings)
        if listings and not is_installed("mcp"):
            message = f"{host.title} starts gitmem's MCP server, but the official SDK that it needs is missing."
            remedy = f"Run {install_command('mcp')}, or take the server out with 'gitmem uninstall {host.name}'."
            findings.append(Finding("mcp", Level.WARNING, message, remedy, tuple(listings)))
        elif listings and (stops := _stopped_server(app, host)):
            findings.append(Finding("mcp", Level.WARNING, f"{stops.message}.", stops.remedy, tuple(listings)))
        elif listings:
            message = f"{host.title} has the tools of the memory, by the MCP server in {listings[0]}."
            findings.append(Finding("mcp", Level.OK, message))
    return findings
