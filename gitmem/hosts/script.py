"""The script behind all hooks of this machine: written at install, removed with the last settings that need it.

Which settings need it stands beside it in `users.json` (docs/format.md, "Hosts").

Tested through `tests/cli/commands/test_install.py`.
"""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import replace

from gitmem.errors import RefusedError
from gitmem.hosts.found import content
from gitmem.hosts.install import Change, carry_out, plan_whole
from gitmem.hosts.shim import is_current, script, script_path

_USERS = "users.json"
_BEGINS = b"# gitmem hook script"


def plan_script(home: str, program: str) -> Change:
    """Plan to write the script; `program` is the gitmem that it starts where the PATH has none.

    Raises:
        RefusedError: another's file is in its place, or it cannot be read.

    """
    change = plan_whole(script_path(home), script(program))
    if change.before and not change.before.startswith(_BEGINS):
        raise RefusedError(f"{change.path} is not gitmem's.", "Move it away, then install again.")
    return change


def put_script(change: Change, home: str, settings: str) -> None:
    """Write the script, and note the settings that need it.

    Raises:
        NotSavedError: it could not be written.

    """
    carry_out(change, None)
    users, folders = _users(home)
    _write_users(home, {*users, settings}, folders or change.folders)


def drop_script(home: str, settings: str) -> None:
    """Note that these settings need the script no longer, and remove it with the last ones."""
    users, folders = _users(home)
    if settings not in users:
        return
    left = {path for path in users - {settings} if _needs(path)}
    if left:
        _write_users(home, left, folders)
        return
    for change in plan_removal(home):
        carry_out(change, None)


def plan_removal(home: str) -> list[Change]:
    """Plan to remove the script and the record beside it, and the folders made for them."""
    users, script = plan_whole(_users_path(home), b""), plan_whole(script_path(home), b"")
    found = [users] if users.before else []
    found += [script] if script.before and script.before.startswith(_BEGINS) else []
    folders = _users(home)[1]
    return [replace(change, after=None, folders=folders) for change in found]


def settings_with_hooks(home: str) -> list[str]:
    """Return the recorded settings that need the script."""
    return sorted(path for path in _users(home)[0] if _needs(path))


def has_current_script(home: str) -> bool:
    """Return whether this version's script is in its place."""
    try:
        with open(script_path(home), encoding="utf-8", errors="surrogateescape") as file:
            return is_current(file.read())
    except OSError:
        return False


def _needs(path: str) -> bool:
    return b"gitmem" in content(path)


def _users_path(home: str) -> str:
    return os.path.join(os.path.dirname(script_path(home)), _USERS)


def _users(home: str) -> tuple[set[str], tuple[str, ...]]:
    """Return the settings that need the script, and the folders made for it; none if the record is unreadable."""
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError, RecursionError):
        with open(_users_path(home), encoding="utf-8", errors="surrogateescape") as file:
            value = json.load(file)
        return set(map(str, value["files"])), tuple(map(str, value["folders"]))
    return set(), ()


def _write_users(home: str, users: set[str], folders: tuple[str, ...]) -> None:
    text = json.dumps({"v": 1, "folders": folders, "files": sorted(users)}, ensure_ascii=False, indent=1)
    carry_out(plan_whole(_users_path(home), text.encode("utf-8", "surrogateescape")), None)
