"""`gitmem install`: write hooks and the MCP server into a host's settings."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gitmem.cli.host import (
    add_host_arguments,
    agent_files,
    chosen_scope,
    find_manifest,
    is_on_path,
    project_top,
    report_changes,
    servers_file,
    settings_file,
)
from gitmem.errors import ExitCode, RefusedError, StoreNotFoundError, UsageError
from gitmem.hosts import claude_code
from gitmem.hosts.claude_code import Scope
from gitmem.hosts.install import (
    Change,
    carry_out,
    plan_install,
    plan_put,
    plan_register,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Collection

    from gitmem.cli.door import Door


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem install`."""
    add_host_arguments(parser)
    parser.add_argument("--init", action="store_true", help="make a store for the project if there is none")
    parser.add_argument("--mcp", action="store_true", help="give the agent the tools of the MCP server, too")
    parser.add_argument("--summaries", action="store_true", help="have the agent sum up what was rotated away")


def run(args: argparse.Namespace, door: Door) -> int:
    """Have an agent's sessions remembered: hooks in its settings tell gitmem what happens in them.

    At a terminal it asks whose sessions; elsewhere, without an option, it takes the project's settings. Everything else
    in the file stays, comments too. Installing again renews older hooks. GITMEM_HOOKS=off in the environment switches
    hooks off for a session.

    With --mcp the agent also gets the tools of 'gitmem mcp': the server goes into .mcp.json, or with --local and --user
    into your own ~/.claude.json.

    With --summaries a skill and an agent go beside the settings, with which a session sums up archives on a small
    model. It is asked to once you run 'gitmem config --user summary.provider host'.

    With --json: {host, dry_run, files: [{scope, file, changed, removed}], diff}; diff with --dry-run only.

    Examples:
      gitmem install claude --init     a store and the hooks, for this project
      gitmem install claude --mcp      the hooks, and tools to search the memory and save to it
      gitmem install claude --summaries
      gitmem install claude --local    the same in a file that your team does not get
      gitmem install claude --user     for all your projects that have a store
      gitmem install claude --dry-run

    """
    scope = chosen_scope(args) or _asked(door)
    if scope is not Scope.USER:
        _prepare_store(args, door)
    manifest = find_manifest(args, door, scope)
    path = settings_file(args, door, scope)
    records = manifest.records() if manifest else {}
    hooks = plan_install(path, claude_code.hooks(), records.get(path))
    listing, place = servers_file(args, door, scope)
    servers = [plan_register(listing, place, claude_code.server(), records.get(listing))] if args.mcp else []
    ours = agent_files(args, door, scope) if args.summaries else {}
    files = [plan_put(path, data, records.get(path)) for path, data in ours.items()]
    for change in (hooks, *servers, *files):
        _check_inside(change.path, project_top(door.folder(args)))
    for change in (hooks, *servers, *files):
        if not args.dry_run:
            carry_out(change, manifest)
    if not is_on_path(door):
        door.notices(
            ("'gitmem' is not on your PATH: the hooks keep events, but only a gitmem that they find saves them.",)
        )
    text = f"{claude_code.TITLE}'s hooks are in {path} already."
    if hooks.changes:
        text = f"{claude_code.TITLE}'s sessions are remembered from the next one on, by hooks in {path}."
    text = "\n".join((text, *(_registered(change, scope, door) for change in servers)))
    text += _skilled(files, ours.values(), door)
    report_changes(args, door, [(scope, change) for change in (hooks, *servers, *files)], text)
    return ExitCode.OK


def _check_inside(path: str, top: str) -> None:
    """Refuse a project's file that is a link out of the project: the file it leads to may count for other projects.

    Raises:
        RefusedError: it is such a link.

    """
    inside = os.path.join(top, "")
    if path.startswith(inside) and not os.path.realpath(path).startswith(os.path.join(os.path.realpath(top), "")):
        raise RefusedError(
            f"{path} leads out of the project, to {os.path.realpath(path)}.",
            "Remove the link, or install for all projects: 'gitmem install claude --user'.",
        )


def _registered(change: Change, scope: Scope, door: Door) -> str:
    """Return the line about the MCP server."""
    from gitmem.cli.sdk import NEEDS_EXTRA, has_sdk

    if not has_sdk():
        door.notices((NEEDS_EXTRA,))
    if not change.changes:
        return f"The MCP server is in {change.path} already."
    asks = f" {claude_code.TITLE} asks you once whether to start it." if scope is Scope.PROJECT else ""
    return f"It gets the tools of the memory by the MCP server in {change.path}.{asks}"


def _skilled(files: list[Change], shipped: Collection[bytes], door: Door) -> str:
    """Return the line about the skill and the agent that sum up."""
    other = [change.path for change in files if change.after not in shipped]
    if other:
        door.notices((f"{', '.join(other)} is not gitmem's file and stays as it is.",))
    line = "For summaries by the skill memory-rotate, run: gitmem config --user summary.provider host"
    return f"\n{line}" if files else ""


def _asked(door: Door) -> Scope:
    """Return the scope a person at a terminal chooses; the project where nobody is there."""
    if not door.can_ask():
        return Scope.PROJECT
    print("Whose sessions are to be remembered?", file=door.err)
    print("  p  this project's, by .claude/settings.json, which your team shares (default)", file=door.err)
    print("  l  this project's, by .claude/settings.local.json, for you alone", file=door.err)
    print("  u  those of all your projects that have a store, by your own settings", file=door.err)
    print("[p/l/u] ", end="", file=door.err, flush=True)
    answer = door.stdin.readline().strip().lower()[:1]
    found = [scope for scope in Scope if scope.value.startswith(answer or "p")]
    if not found:
        raise UsageError("The answer was none of p, l and u.", "Nothing was changed.")
    return found[0]


def _prepare_store(args: argparse.Namespace, door: Door) -> None:
    """Make what the hooks need: the spool of the store, and with --init the store."""
    from gitmem.store.setup.init import Place, init_store
    from gitmem.store.setup.merge_driver import install_driver
    from gitmem.store.spool.hooks import HookSpool

    try:
        store = door.open(args)
    except StoreNotFoundError as error:
        if not args.init:
            remedy = "'gitmem install claude --init' makes one and installs the hooks."
            raise StoreNotFoundError(error.message, remedy) from None
        if args.dry_run:
            return
        store = init_store(door.folder(args), door.context(), Place.PROJECT).store
        print(f"Made a store at {store.root}.", file=door.err)
    if not args.dry_run:
        HookSpool(store.private).make()
        install_driver(store)
