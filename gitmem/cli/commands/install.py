"""`gitmem install` and `uninstall`: hooks and the MCP server into the settings of a host, and out of them again."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gitmem.errors import ExitCode, RefusedError, StoreNotFoundError, UsageError
from gitmem.hosts import claude_code
from gitmem.hosts.claude_code import Scope
from gitmem.hosts.install import (
    Change,
    Manifest,
    carry_out,
    hooked_events,
    is_registered,
    plan_install,
    plan_put,
    plan_register,
    plan_take,
    plan_uninstall,
    plan_unregister,
)
from gitmem.machine.programs import SCRIPTS_TOO, find_program
from gitmem.store.upkeep.findings import Finding, Level
from gitmem.text.terminal import plain

if TYPE_CHECKING:
    import argparse
    from collections.abc import Collection

    from gitmem.cli.door import Door

_MANIFEST = "claude-code.json"


def configure_install(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem install`."""
    _configure(parser)
    parser.add_argument("--init", action="store_true", help="make a store for the project if there is none")
    parser.add_argument("--mcp", action="store_true", help="give the agent the tools of the MCP server, too")
    parser.add_argument("--summaries", action="store_true", help="have the agent sum up what was rotated away")


def configure_uninstall(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem uninstall`."""
    _configure(parser)


def _configure(parser: argparse.ArgumentParser) -> None:
    import argparse

    parser.add_argument("host", choices=[claude_code.NAME], help="the program that is to remember")
    scope = parser.add_mutually_exclusive_group()
    scope.add_argument("--project", action="store_true", help=".claude/settings.json, which a team shares (default)")
    scope.add_argument("--local", action="store_true", help=".claude/settings.local.json: this project, only you")
    # No default, so that `gitmem --user install claude` says the same.
    scope.add_argument(
        "--user", action="store_true", default=argparse.SUPPRESS, help="~/.claude/settings.json: all projects"
    )
    parser.add_argument("-n", "--dry-run", action="store_true", help="print what would change, and change nothing")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run_install(args: argparse.Namespace, door: Door) -> int:
    """Have a host tell gitmem what happens in its sessions, by hooks in its settings.

    Without a flag it asks on a terminal, and takes the project's settings elsewhere. What is in the file stays as it
    is, comments too; installing again brings older hooks up to date. GITMEM_HOOKS=off in the environment switches
    hooks off for a session.

    With --mcp the agent also gets the tools of 'gitmem mcp': the server goes into .mcp.json, or with --local and
    --user into your own ~/.claude.json, so that its tools are there at once and need not be searched for.

    With --summaries a skill and an agent go beside the settings, by which a session sums up archives of the memory on a
    small model; they are offered work once 'gitmem config --user summary.provider host' says so.

    Examples:
      gitmem install claude --init     a store and the hooks, for this project
      gitmem install claude --mcp      the hooks, and tools to search the memory and save to it
      gitmem install claude --summaries
      gitmem install claude --local    the same without a file that your team gets to see
      gitmem install claude --user     for all your projects that have a store
      gitmem install claude --dry-run

    """
    scope = _scope(args) or _asked(door)
    if scope is not Scope.USER:
        _prepare_store(args, door)
    manifest = _manifest(args, door, scope)
    path = _settings_file(args, door, scope)
    records = manifest.records() if manifest else {}
    hooks = plan_install(path, claude_code.hooks(), records.get(path))
    listing, place = _servers_file(args, door, scope)
    servers = [plan_register(listing, place, claude_code.server(), records.get(listing))] if args.mcp else []
    ours = _agent_files(args, door, scope) if args.summaries else {}
    files = [plan_put(path, data, records.get(path)) for path, data in ours.items()]
    for change in (hooks, *servers, *files):
        _check_inside(change.path, _top(door.folder(args)))
    for change in (hooks, *servers, *files):
        if not args.dry_run:
            carry_out(change, manifest)
    if not _on_path(door):
        door.notices(("'gitmem' is not on your PATH. The hooks keep events, but only a gitmem they find saves them.",))
    text = f"There is nothing to do: {claude_code.TITLE}'s hooks are in {path}."
    if hooks.changes:
        text = f"{claude_code.TITLE} remembers from its next session on, by hooks in {path}."
    text = "\n".join((text, *(_registered(change, scope, door) for change in servers)))
    text += _skilled(files, ours.values(), door)
    _report(args, door, [(scope, change) for change in (hooks, *servers, *files)], text)
    return ExitCode.OK


def _check_inside(path: str, top: str) -> None:
    """Refuse a file of a project's that is a link out of it: what that leads to may count for more than the project."""
    inside = os.path.join(top, "")
    if path.startswith(inside) and not os.path.realpath(path).startswith(os.path.join(os.path.realpath(top), "")):
        raise RefusedError(
            f"{path} leads out of the project, to {os.path.realpath(path)}.",
            "Remove the link, or install what counts for all projects: 'gitmem install claude --user'.",
        )


def _registered(change: Change, scope: Scope, door: Door) -> str:
    """Return what is said of the MCP server."""
    from gitmem.cli.commands.mcp import NEEDS_EXTRA, has_sdk

    if not has_sdk():
        door.notices((NEEDS_EXTRA,))
    if not change.changes:
        return f"Its MCP server is in {change.path} already."
    asks = " It asks once whether to start it." if scope is Scope.PROJECT else ""
    return f"It has the tools of the memory, too, by the MCP server in {change.path}.{asks}"


def _skilled(files: list[Change], shipped: Collection[bytes], door: Door) -> str:
    """Return what is said of the skill and the agent that sum up."""
    other = [change.path for change in files if change.after not in shipped]
    if other:
        door.notices((f"There is another file at {', '.join(other)}, which stays as it is.",))
    says = "It sums up archives by the skill memory-rotate, once 'gitmem config --user summary.provider host' says so."
    return f"\n{says}" if files else ""


def run_uninstall(args: argparse.Namespace, door: Door) -> int:
    """Take gitmem's hooks and MCP server out of a host's settings: exactly what was put in, and the store stays.

    Without a flag all of the project's settings are looked at, the shared and the local ones.

    Examples:
      gitmem uninstall claude
      gitmem uninstall claude --user
      gitmem uninstall claude --dry-run

    """
    chosen = _scope(args)
    hooks: list[tuple[Scope, Change]] = []
    servers: list[tuple[Scope, Change]] = []
    files: list[tuple[Scope, Change]] = []
    for scope in (chosen,) if chosen else (Scope.PROJECT, Scope.LOCAL):
        path, manifest = _settings_file(args, door, scope), _manifest(args, door, scope)
        files += [(scope, change) for change in _take_files(args, door, scope, manifest)]
        records = manifest.records() if manifest else {}
        hooks.append((scope, plan_uninstall(path, records.get(path))))
        listing, place = _servers_file(args, door, scope)
        if listing in records or is_registered(listing, place):
            servers.append((scope, plan_unregister(listing, place, records.get(listing))))
        for change in (hooks[-1][1], *(gone for its, gone in servers if its is scope)):
            if not args.dry_run:
                carry_out(change, manifest)
    driver = [] if args.dry_run or chosen is Scope.USER else _driver_taken(args, door)
    text = "\n".join((*_taken("hooks", hooks), *_taken("MCP server", servers), *driver))
    text = "\n".join((*filter(None, [text]), *(f"Took {change.path} away." for _, change in files if change.changes)))
    if not text:
        text = f"There is nothing to do: no hooks of gitmem's in {' or '.join(change.path for _, change in hooks)}."
        user = _settings_file(args, door, Scope.USER)
        if chosen is None and hooked_events(user):
            text += f"\nThere are some in {user}: 'gitmem uninstall claude --user'."
    _report(args, door, [*hooks, *servers, *files], text)
    return ExitCode.OK


def _driver_taken(args: argparse.Namespace, door: Door) -> list[str]:
    """Take the merge driver out of the store's own configuration; 'gitmem init' brings it back."""
    from gitmem.store.setup.merge_driver import uninstall_driver

    try:
        store = door.open(args)
    except StoreNotFoundError:
        return []
    return [f"Took gitmem's merge driver out of {store.root}."] if uninstall_driver(store) else []


def _take_files(args: argparse.Namespace, door: Door, scope: Scope, manifest: Manifest | None) -> list[Change]:
    """Take away the files that were put beside the settings, before the hooks, whose folder they are in."""
    records = manifest.records() if manifest else {}
    changes = [plan_take(path, records[path]) for path in _agent_files(args, door, scope) if path in records]
    for change in changes:
        if not args.dry_run:
            carry_out(change, manifest)
    changed = [change.path for change in changes if change.before is not None and not change.changes]
    door.notices(tuple(f"{path} was changed since, and stays." for path in changed))
    return changes


def _taken(what: str, changes: list[tuple[Scope, Change]]) -> list[str]:
    done = [change for _, change in changes if change.changes]
    return [
        f"Took gitmem's {what} out of {change.path}"
        + ("." if change.after is not None else ", and the file with them.")
        for change in done
    ]


def examine_host(args: argparse.Namespace, door: Door) -> Finding:
    """Say for `gitmem doctor` whether the host's sessions are remembered."""
    files = {scope: _settings_file(args, door, scope) for scope in Scope}
    hooked = {scope: path for scope, path in files.items() if hooked_events(path)}
    details = tuple(hooked.values())
    if not hooked:
        message = f"{claude_code.TITLE}'s sessions are not remembered: its settings have no hooks of gitmem's."
        return Finding("host", Level.NOTE, message, "'gitmem install claude' writes them.")
    if not _on_path(door):
        message = "'gitmem' is not on your PATH, so that what the hooks keep is saved at the next gitmem command only."
        return Finding(
            "host", Level.WARNING, message, "Add its folder to the PATH your agent is started with.", details
        )
    for scope, path in hooked.items():
        if plan_install(path, claude_code.hooks(), None).changes:
            message = f"The hooks in {path} are not those of this gitmem."
            return Finding("host", Level.WARNING, message, f"'gitmem install claude --{scope.value}' renews them.")
    if len(hooked) > 1:
        message = f"{claude_code.TITLE} has hooks of gitmem's in several settings, and tells of everything as often."
        remedy = f"'gitmem uninstall claude --{[*hooked][-1].value}' takes some out. Nothing is saved twice."
        return Finding("host", Level.NOTE, message, remedy, details)
    return Finding("host", Level.OK, f"{claude_code.TITLE}'s sessions are remembered, by hooks in {details[0]}.")


def examine_server(args: argparse.Namespace, door: Door) -> list[Finding]:
    """Say for `gitmem doctor` whether the MCP server that the host starts can run; nothing where it starts none."""
    from gitmem.cli.commands.mcp import EXTRA, has_sdk

    listings = [
        path for path, place in (_servers_file(args, door, scope) for scope in Scope) if is_registered(path, place)
    ]
    if not listings:
        return []
    if not has_sdk():
        message = f"{claude_code.TITLE} starts gitmem's MCP server, which needs the official SDK, and that is missing."
        remedy = f"{EXTRA} brings it; 'gitmem uninstall claude' takes the server out of the list."
        return [Finding("mcp", Level.WARNING, message, remedy, tuple(listings))]
    told = f"{claude_code.TITLE} has the tools of the memory, by the MCP server in {listings[0]}."
    return [Finding("mcp", Level.OK, told)]


def _on_path(door: Door) -> bool:
    return find_program("gitmem", door.environ, SCRIPTS_TOO) is not None


def _scope(args: argparse.Namespace) -> Scope | None:
    if args.project and args.user:  # `gitmem --user install claude --project`
        raise UsageError("--user and --project exclude each other.")
    return next((scope for scope in Scope if getattr(args, scope.value)), None)


def _asked(door: Door) -> Scope:
    """Return what a person at a terminal wants; the project elsewhere."""
    if not (door.stdin.isatty() and door.err.isatty()):
        return Scope.PROJECT
    print("Whose sessions are to be remembered?", file=door.err)
    print("  p  this project's, by .claude/settings.json, which your team shares (default)", file=door.err)
    print("  l  this project's, by .claude/settings.local.json, for you alone", file=door.err)
    print("  u  those of all your projects that have a store, by your own settings", file=door.err)
    print("[p/l/u] ", end="", file=door.err, flush=True)
    answer = door.stdin.readline().strip().lower()[:1]
    found = [scope for scope in Scope if scope.value.startswith(answer or "p")]
    if not found:
        raise UsageError("Nothing was changed: the answer was none of p, l and u.")
    return found[0]


def _prepare_store(args: argparse.Namespace, door: Door) -> None:
    """See that there is a store, and the folder in it that the hooks deliver to."""
    from gitmem.store.setup.init import Place, init_store
    from gitmem.store.setup.merge_driver import install_driver
    from gitmem.store.spool.hooks import HookSpool

    try:
        store = door.open(args)
    except StoreNotFoundError as error:
        if not args.init:
            remedy = "'gitmem init' makes one, 'gitmem install claude --init' does both."
            raise StoreNotFoundError(error.message, remedy) from None
        if args.dry_run:
            return
        store = init_store(door.folder(args), door.context(), Place.PROJECT).store
        print(f"Made a store at {store.root}.", file=door.err)
    if not args.dry_run:
        HookSpool(store.private).make()
        install_driver(store)


def _manifest(args: argparse.Namespace, door: Door, scope: Scope) -> Manifest | None:
    """Return where it is recorded what was written: with the project's store, or with what is the person's."""
    from gitmem.store.locate import HOME_HOSTS, user_store

    if scope is Scope.USER:
        from gitmem.store.setup.incoming import check_hosts_untracked

        root = user_store(door.home())
        check_hosts_untracked(root, door.environ)
        return Manifest(os.path.join(root, HOME_HOSTS, _MANIFEST))
    try:
        return Manifest(os.path.join(door.open(args).private, HOME_HOSTS, _MANIFEST))
    except StoreNotFoundError:
        return None


def _settings_file(args: argparse.Namespace, door: Door, scope: Scope) -> str:
    return claude_code.settings_file(scope, _top(door.folder(args)), door.home(), door.environ)


def _servers_file(args: argparse.Namespace, door: Door, scope: Scope) -> tuple[str, tuple[str, ...]]:
    return claude_code.servers_file(scope, _top(door.folder(args)), door.home(), door.environ)


def _agent_files(args: argparse.Namespace, door: Door, scope: Scope) -> dict[str, bytes]:
    return claude_code.agent_files(scope, _top(door.folder(args)), door.home(), door.environ)


def _top(start: str) -> str:
    """Return the top of the work tree around a folder, which is where a host is started; a linked one has its own."""
    folder = os.path.realpath(start)
    while os.path.basename(folder) == ".gitmem" or not any(
        os.path.lexists(os.path.join(folder, name)) for name in (".git", ".gitmem")
    ):
        above = os.path.dirname(folder)
        if above == folder:
            return os.path.realpath(start)
        folder = above
    return folder


def _report(args: argparse.Namespace, door: Door, changes: list[tuple[Scope, Change]], text: str) -> None:
    values = [
        {
            "scope": scope.value,
            "file": change.path,
            "changed": change.changes,
            "removed": change.before is not None and change.after is None,
        }
        for scope, change in changes
    ]
    value = {"host": claude_code.NAME, "dry_run": args.dry_run, "files": values}
    if args.dry_run:
        value["diff"] = "".join(_diff(change) for _, change in changes)
        text = plain(str(value["diff"]).rstrip("\n")) or text
    door.answer(args, value, text)


def _diff(change: Change) -> str:
    from difflib import unified_diff

    before, after = (
        (data or b"").decode("utf-8", "replace").splitlines(keepends=True) for data in (change.before, change.after)
    )
    old, new = (change.path if data is not None else os.devnull for data in (change.before, change.after))
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for line in unified_diff(before, after, old, new)
    )
