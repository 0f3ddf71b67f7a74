"""`gitmem doctor`: check the store, and the hooks and servers in the settings of the agents on this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gitmem.cli.app import App, Args
from gitmem.cli.commands.agents import own_program, place_of
from gitmem.cli.output import finding_lines
from gitmem.cli.progress import Progress
from gitmem.errors import ExitCode
from gitmem.health.doctor import DEEP, FULL, OPENED
from gitmem.hosts.edits import edits_of
from gitmem.hosts.host import NAMES, Host, InstallPlace, Scope, find_host, script_path
from gitmem.hosts.install import FileEdit, is_present, plan_edits
from gitmem.hosts.script import content, has_current_script, hooked_file, switched_off
from gitmem.hosts.settings import HOOKS, MCP, Edit
from gitmem.platform.machine import install_command, is_installed
from gitmem.store.findings import Finding, Level, examine
from gitmem.sync.clone import check_opened
from gitmem.text.sentences import count


def run_doctor(args: Args, app: App) -> int:
    store = app.open()
    check_opened(store, read=False)
    with Progress(app.err) as progress:
        checks = DEEP if args.deep else FULL
        findings = examine(store, checks if store.acceptance.given() else OPENED, progress.step)
        findings = [*findings, *_examine_hosts(app), *_examine_servers(app)]
    levels = [finding.level for finding in findings]
    problems, warnings = levels.count(Level.PROBLEM), levels.count(Level.WARNING)
    value = {"problems": problems, "warnings": warnings, "checks": [finding._asdict() for finding in findings]}
    shown = [finding for finding in findings if args.verbose or finding.level != Level.OK]
    counted = [count(number, what) for number, what in ((problems, "problem"), (warnings, "warning")) if number]
    summary = " and ".join(counted) if counted else "No problem found"
    level = Level.PROBLEM if problems else Level.WARNING if warnings else Level.OK
    ending = f"{app.styled(level, summary)}; {count(levels.count(Level.OK), 'check')} passed."
    app.answer(value, "\n".join([*finding_lines(shown, app), *[""] * bool(shown), ending]))
    return ExitCode.FAILURE if problems else ExitCode.OK


def _examine_hosts(app: App) -> list[Finding]:
    """Check the hooks in the settings of each host that is on this machine."""
    findings = [finding for host in map(find_host, NAMES) if (finding := _examine_host(app, host))]
    if findings:
        return findings
    message = "No agent's sessions are remembered: no settings have gitmem's hooks."
    return [Finding("host", Level.NOTE, message, "'gitmem install' lists the agents that are here.")]


def _examine_host(app: App, host: Host) -> Finding | None:
    """Check the hooks in the settings of one host; None if they have none."""
    places = [place_of(app, scope) for scope in host.scopes]
    hooked = {place.scope: path for place in places if (path := hooked_file(host, place))}
    if not hooked:
        return None
    details = tuple(hooked.values())
    if broken := _broken_hooks(app, host, places, hooked):
        return broken
    if len(hooked) > 1:
        message = f"{host.title} calls gitmem {len(hooked)} times for each event: several settings have hooks."
        remedy = f"'gitmem uninstall {host.name} --{[*hooked][-1].value}' removes some. Nothing is saved twice."
        return Finding("host", Level.NOTE, message, remedy, details)
    return Finding("host", Level.OK, f"{host.title}'s sessions are remembered, by hooks in {details[0]}.")


def _broken_hooks(app: App, host: Host, places: Sequence[InstallPlace], hooked: Mapping[Scope, str]) -> Finding | None:
    """Return why the hooks of one host record nothing, or not all; None if they do."""
    renew = f"'gitmem install {host.name} --{next(iter(hooked)).value}' renews them."
    details = tuple(hooked.values())
    if off := switched_off(host, places[0]):
        remedy = "Take that setting out, or nothing of its sessions is recorded."
        return Finding("host", Level.WARNING, f"{off}.", remedy, details)
    if not own_program(app):
        message = "'gitmem' is not on your PATH: hooks keep events, but only your next gitmem command saves them."
        remedy = "Add gitmem's folder to the PATH that your agent is started with."
        return Finding("host", Level.WARNING, message, remedy, details)
    if not has_current_script(app.home()):
        message = f"{script_path(app.home())}, which the hooks read, is missing or of another version."
        return Finding("host", Level.WARNING, message, renew, details)
    for place in places:
        for item in (item for item in edits_of(host, place) if item.part == HOOKS):
            if place.scope in hooked and _is_of_other_version(item):
                message = f"Another version of gitmem wrote the hooks in {item.path}."
                remedy = f"'gitmem install {host.name} --{place.scope.value}' renews them."
                return Finding("host", Level.WARNING, message, remedy)
    return None


def _is_of_other_version(edit: Edit) -> bool:
    """Return whether another version of gitmem wrote the hooks."""
    if isinstance(edit, FileEdit):
        return is_present(edit) and content(edit.path) != edit.data
    return plan_edits(edit.path, [edit], None).changes


def _examine_servers(app: App) -> list[Finding]:
    """Check that the MCP server can run, if a host starts it."""
    findings = []
    told: set[str] = set()  # lists, which two hosts may share
    for host in map(find_host, NAMES):
        items = [item for scope in host.scopes for item in edits_of(host, place_of(app, scope))]
        edits = (item for item in items if item.part == MCP)
        listings = [edit.path for edit in edits if edit.path not in told and is_present(edit)]
        told.update(listings)
        if listings and not is_installed("mcp"):
            message = f"{host.title} starts gitmem's MCP server, but the official SDK that it needs is missing."
            remedy = f"Run {install_command('mcp')}, or take the server out with 'gitmem uninstall {host.name}'."
            findings.append(Finding("mcp", Level.WARNING, message, remedy, tuple(listings)))
        elif listings:
            message = f"{host.title} has the tools of the memory, by the MCP server in {listings[0]}."
            findings.append(Finding("mcp", Level.OK, message))
    return findings
