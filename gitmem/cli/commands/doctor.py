"""`gitmem doctor`: check the store, and whether a host's sessions reach it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from gitmem.cli.findings import finding_lines
from gitmem.cli.host import is_on_path, servers_file, settings_file
from gitmem.cli.terminal import Progress
from gitmem.errors import ExitCode
from gitmem.hosts import claude_code
from gitmem.hosts.claude_code import Scope
from gitmem.hosts.install import hooked_events, is_registered, plan_install
from gitmem.store.upkeep.findings import Finding, Level
from gitmem.text.quantities import count

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem doctor`."""
    parser.add_argument("--deep", action="store_true", help="read every object of the repository, too")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """Check the store and say how to mend what is wrong. It changes nothing. The exit code is 1 if there is a problem.

    With --json: {problems, warnings, checks: [{check, level, message, remedy, details}]}; a level is ok, note, warning
    or problem.

    Examples:
      gitmem doctor
      gitmem doctor --deep
      gitmem doctor --json

    """
    from gitmem.store.health.doctor import DEEP, FULL, examine

    store = door.open(args)
    with Progress(door.err) as progress:
        found = examine(store, DEEP if args.deep else FULL, progress.step)
        found = [*found, _examine_host(args, door), *_examine_server(args, door)]
    levels = [finding.level for finding in found]
    problems, warnings = levels.count(Level.PROBLEM), levels.count(Level.WARNING)
    value = {"problems": problems, "warnings": warnings, "checks": [asdict(finding) for finding in found]}
    counted = [count(number, what) for number, what in ((problems, "problem"), (warnings, "warning")) if number]
    summary = " and ".join(counted) if counted else "No problem found"
    door.answer(args, value, "\n".join([*finding_lines(found, door), "", f"{summary}."]))
    return ExitCode.FAILURE if problems else ExitCode.OK


def _examine_host(args: argparse.Namespace, door: Door) -> Finding:
    """Check the hooks in the host's settings."""
    files = {scope: settings_file(args, door, scope) for scope in Scope}
    hooked = {scope: path for scope, path in files.items() if hooked_events(path)}
    details = tuple(hooked.values())
    if not hooked:
        message = f"{claude_code.TITLE}'s sessions are not remembered: its settings have no hooks of gitmem's."
        return Finding("host", Level.NOTE, message, "'gitmem install claude' writes them.")
    if not is_on_path(door):
        message = "'gitmem' is not on your PATH: hooks keep events, but only your next gitmem command saves them."
        remedy = "Add gitmem's folder to the PATH that your agent is started with."
        return Finding("host", Level.WARNING, message, remedy, details)
    for scope, path in hooked.items():
        if plan_install(path, claude_code.hooks(), None).changes:
            message = f"Another version of gitmem wrote the hooks in {path}."
            return Finding("host", Level.WARNING, message, f"'gitmem install claude --{scope.value}' renews them.")
    if len(hooked) > 1:
        message = f"{claude_code.TITLE} calls gitmem {len(hooked)} times for each event: several settings have hooks."
        remedy = f"'gitmem uninstall claude --{[*hooked][-1].value}' removes some. Nothing is saved twice."
        return Finding("host", Level.NOTE, message, remedy, details)
    return Finding("host", Level.OK, f"{claude_code.TITLE}'s sessions are remembered, by hooks in {details[0]}.")


def _examine_server(args: argparse.Namespace, door: Door) -> list[Finding]:
    """Check that the MCP server can run, if the host starts it."""
    from gitmem.cli.sdk import EXTRA, has_sdk

    listings = [
        path for path, place in (servers_file(args, door, scope) for scope in Scope) if is_registered(path, place)
    ]
    if not listings:
        return []
    if not has_sdk():
        message = f"{claude_code.TITLE} starts gitmem's MCP server, but the official SDK that it needs is missing."
        remedy = f"Run {EXTRA}, or take the server out with 'gitmem uninstall claude'."
        return [Finding("mcp", Level.WARNING, message, remedy, tuple(listings))]
    message = f"{claude_code.TITLE} has the tools of the memory, by the MCP server in {listings[0]}."
    return [Finding("mcp", Level.OK, message)]
