"""The files of a host's that `install`, `uninstall` and `doctor` read and write, and the options that choose them.

Tested through `tests/cli/commands/test_install.py`.
"""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from gitmem.errors import StoreNotFoundError, UsageError
from gitmem.hosts import claude_code
from gitmem.hosts.claude_code import Scope
from gitmem.hosts.install import Manifest
from gitmem.machine.programs import SCRIPTS_TOO, find_program
from gitmem.text.terminal import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitmem.cli.door import Door
    from gitmem.hosts.install import Change

_MANIFEST = "claude-code.json"


def add_host_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `install` and `uninstall`."""
    parser.add_argument("host", choices=[claude_code.NAME], help="the agent: Claude Code")
    scope = parser.add_mutually_exclusive_group()
    scope.add_argument("--project", action="store_true", help=".claude/settings.json, which a team shares (default)")
    scope.add_argument("--local", action="store_true", help=".claude/settings.local.json: this project, only you")
    # No default, so that `gitmem --user install claude` means the same.
    scope.add_argument(
        "--user", action="store_true", default=argparse.SUPPRESS, help="~/.claude/settings.json: all projects"
    )
    parser.add_argument("-n", "--dry-run", action="store_true", help="print what would change, and change nothing")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def is_on_path(door: Door) -> bool:
    """Say whether a hook would find `gitmem`."""
    return find_program("gitmem", door.environ, SCRIPTS_TOO) is not None


def chosen_scope(args: argparse.Namespace) -> Scope | None:
    """Return the scope that an option names, or None."""
    if args.project and args.user:  # `gitmem --user install claude --project`
        raise UsageError("--user and --project exclude each other.", "Give one of them.")
    return next((scope for scope in Scope if getattr(args, scope.value)), None)


def find_manifest(args: argparse.Namespace, door: Door, scope: Scope) -> Manifest | None:
    """Return the record of what gitmem wrote: in the user's store for their settings, else in the project's, if any."""
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


def settings_file(args: argparse.Namespace, door: Door, scope: Scope) -> str:
    """Return the path of the settings that hold the hooks."""
    return claude_code.settings_file(scope, project_top(door.folder(args)), door.home(), door.environ)


def servers_file(args: argparse.Namespace, door: Door, scope: Scope) -> tuple[str, tuple[str, ...]]:
    """Return the path of the list of MCP servers, and the keys that lead to gitmem's."""
    return claude_code.servers_file(scope, project_top(door.folder(args)), door.home(), door.environ)


def agent_files(args: argparse.Namespace, door: Door, scope: Scope) -> dict[str, bytes]:
    """Return, by path, the skill and the agent that sum up archives."""
    return claude_code.agent_files(scope, project_top(door.folder(args)), door.home(), door.environ)


def project_top(start: str) -> str:
    """Return the top of the work tree around a folder, where the host is started."""
    folder = os.path.realpath(start)
    while os.path.basename(folder) == ".gitmem" or not any(
        os.path.lexists(os.path.join(folder, name)) for name in (".git", ".gitmem")
    ):
        above = os.path.dirname(folder)
        if above == folder:
            return os.path.realpath(start)
        folder = above
    return folder


def report_changes(args: argparse.Namespace, door: Door, changes: Sequence[tuple[Scope, Change]], text: str) -> None:
    """Print what was changed: `text`, or with --dry-run the diff of each file."""
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
