"""The script that all hooks of this machine run: written and tested on install, removed with its last user.

`users.json` beside it lists the settings that use it (docs/hosts.md, "What is written").
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess  # noqa: TID251  # starts the shell that a host would start
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from gitmem.errors import GitmemError, RefusedError
from gitmem.git.locking import writing_alone
from gitmem.hosts.edits import SERVER, edits_of
from gitmem.hosts.host import Host, InstallPlace, hook_script, is_current, script_path
from gitmem.hosts.install import (
    SettingsChange,
    carry_out,
    is_present,
    missing_folders,
    plan_edits,
    plan_file,
    remove_empty,
)
from gitmem.hosts.obstacles import Obstacle, obstacles
from gitmem.hosts.registry import NAMES, find_host
from gitmem.hosts.settings import HOOKS, MCP
from gitmem.platform.machine import find_program, own_command
from gitmem.platform.safe_open import drop_file, folders_around, read_json, read_small


def recorded_agents(
    project: str, home: str, environ: Mapping[str, str], last_event_of: Callable[[str], float]
) -> tuple[list[str], list[str]]:
    """Return the titles of agents whose sessions are recorded, and sentences for each whose hooks fail or are gone.

    An agent is in both if part of its sessions are recorded. `last_event_of` returns, by its label, the time of an
    agent's last event since its installation, 0 without one.
    """
    titles, off = [], []
    for host in map(find_host, NAMES):
        places = [InstallPlace(scope, project, home, environ) for scope in host.scopes]
        hooked = [place for place in places if hooked_file(host, place)]
        if not hooked:
            off += [f"{lost.message}. {lost.remedy}" for lost in lost_hooks(host, places)[:1]]
            continue
        last_event = last_event_of(host.label)
        stops = hook_obstacles(host, hooked, last_event=last_event)
        off += [f"{stop.message}. {stop.remedy}" for stop in stops[:1]]
        titles += [host.title] * (not stops or bool(stops[0].partly and last_event))
    return titles, off


def hook_obstacles(host: Host, hooked: Sequence[InstallPlace], *, last_event: float) -> list[Obstacle]:
    """Return what prevents all of a host's installed hooks from running; nothing if those of one place run.

    Obstacles are left out that an event at the time `last_event` refutes, but the script must exist.
    """
    script = script_path(hooked[0].home) if hooked else ""
    if script and not os.path.exists(script):
        return [
            Obstacle(HOOKS, f"{script}, which the hooks read, is missing", f"'gitmem install {host.name}' renews it.")
        ]
    stops = [
        [item for item in obstacles(host, place) if item.part == HOOKS and last_event <= item.since] for place in hooked
    ]
    return stops[0] if stops and all(stops) else []


def stopped_servers(
    project: str, home: str, environ: Mapping[str, str], written_of: Callable[[str], Collection[str]]
) -> list[str]:
    """Return sentences on agents that will not start the installed server, unless they will ask the user about it."""
    stopped = []
    for host in map(find_host, NAMES):
        places = [InstallPlace(scope, project, home, environ) for scope in host.scopes]
        stops = server_obstacles(host, places, written_of(host.label))[:1]
        stopped += [f"{stop.message}. {stop.remedy}" for stop in stops if not stop.asked]
    return stopped


def server_obstacles(host: Host, places: Sequence[InstallPlace], written: Collection[str]) -> list[Obstacle]:
    """Return what prevents a host from starting the installed server; nothing if one of its settings starts it.

    `written` are the files that gitmem wrote, by its records: of a file for servers alone they tell that one is gone.
    """
    if host.events and not any(hooked_file(host, place) for place in places):
        return []  # the list belongs to another agent, which shares it
    stops = []
    for place in places:
        edits = edits_of(host, place)
        listing = [edit for edit in edits if edit.part == MCP]
        others = {edit.path for edit in edits if edit.part != MCP}
        if any(map(is_present, listing)):
            stops.append([item for item in obstacles(host, place) if item.part == MCP])
        elif gone := [edit.path for edit in listing if edit.path in written and edit.path not in others]:
            message = f"{host.title} has no tools of the memory any more: the server {SERVER} is gone from {gone[0]}"
            remedy = f"'gitmem install {host.name} --{place.scope.value}' writes it again."
            stops.append([Obstacle(MCP, message, remedy)])
    return stops[0] if stops and all(stops) else []


def hooked_file(host: Host, place: InstallPlace) -> str:
    """Return the path of the settings with gitmem's hooks, "" if they have none."""
    items = [item for item in edits_of(host, place) if item.part == HOOKS]
    return next((item.path for item in items if is_present(item)), "")


def lost_hooks(host: Host, places: Sequence[InstallPlace]) -> list[Obstacle]:
    """Return for each settings file of a host that lost its hooks, by the record of their script, what is wrong."""
    lost = []
    for place in places:
        users = _listed(place.home, "files")
        for item in (item for item in edits_of(host, place) if item.part == HOOKS and item.path in users):
            command = f"'gitmem install {host.name} --{place.scope.value}' writes them again."
            try:
                changes = plan_edits(item.path, [item], None).changes
            except GitmemError as error:
                message = f"{host.title} is not recorded any more: {error.message.removesuffix('.')}"
                lost.append(Obstacle(HOOKS, message, f"Correct that file; if its hooks are gone then, {command}"))
            else:
                message = f"{host.title} is not recorded any more: the hooks are gone from {item.path}"
                lost += [Obstacle(HOOKS, message, command)] * changes
    return lost


def content(path: str) -> bytes:
    """Return the beginning of a file, b"" if it cannot be read."""
    return read_small(path) or b""


def is_project(folder: str) -> bool:
    """Return whether a folder has a repository or a store."""
    return any(os.path.lexists(os.path.join(folder, name)) for name in (".git", ".gitmem"))


def project_top(start: str, home: str) -> str:
    """Return the top of the work tree around a folder, where the host is started; the home is its own project."""
    start, home = os.path.realpath(start), os.path.realpath(home)
    around = (folder for folder in folders_around(start) if is_project(folder) and not folder == home != start)
    return next((folder for folder in around if os.path.basename(folder) != ".gitmem"), start)


_USERS = "users.json"
_BEGINS = b"# gitmem hook script"


@contextlib.contextmanager
def lock_settings(home: str) -> Iterator[set[str]]:
    """Let one gitmem at a time write agents' settings and their records; yield a set for the folders that it makes.

    Folders that end up empty are removed. If no lock can be made, as in a read-only home, go on without. Raises
    BusyError if another gitmem is writing them.
    """
    path = script_path(home)
    made, folder = set(missing_folders(path)), os.path.dirname(path)
    folders: set[str] = set()
    try:
        with writing_alone(folder, "the settings of agents"):
            folders |= _listed(home, "folders") | made
            yield folders
    finally:
        remove_empty(folders)


def plan_script(home: str, program: str) -> SettingsChange:
    """Plan to write the script, which starts `program` if the PATH has none; raises RefusedError."""
    change = plan_file(script_path(home), hook_script(program))
    if change.before and not change.before.startswith(_BEGINS):
        raise RefusedError(f"{change.path} is not gitmem's.", "Move it away, then install again.")
    return change


def put_script(change: SettingsChange, home: str, settings: str, folders: set[str]) -> None:
    """Write the script, and record the settings that need it and the folders made for it."""
    _write_users(home, {*_listed(home, "files"), settings}, folders, created_settings(home))
    carry_out(change)


def record_created(home: str, changes: Collection[SettingsChange], folders: set[str]) -> None:
    """Record which settings files gitmem created, for other hosts, and for when the manifest goes with the memory."""
    known = created_settings(home)
    made = known.difference(change.path for change in changes)
    made.update(change.path for change in changes if change.record and change.record.created)
    if made != known:
        _write_users(home, _listed(home, "files"), folders, made)


def created_settings(home: str) -> set[str]:
    """Return the settings files that gitmem created and no user did."""
    return _listed(home, "made")


def drop_script(home: str, taken: Collection[str], *, dry_run: bool) -> list[SettingsChange]:
    """Record that these settings no longer use gitmem; remove the script or record once unused, and return that."""
    users, made = _listed(home, "files"), created_settings(home)
    if not users.union(made).intersection(taken):
        return []
    left, still = ({path for path in paths.difference(taken) if b"gitmem" in content(path)} for paths in (users, made))
    record, *script = plan_removal(home)
    changes = [record] * (not left and not still) + script * (not left)
    if not dry_run:
        if left or still:
            _write_users(home, left, _listed(home, "folders"), still)
        for change in changes:
            carry_out(change)
    return changes


def plan_removal(home: str) -> list[SettingsChange]:
    """Plan to remove the script and the record beside it."""
    users, script = plan_file(_users_path(home), None), plan_file(script_path(home), None)
    return [users] * bool(users.before) + [script] * (script.before or b"").startswith(_BEGINS)


def settings_with_hooks(home: str) -> list[str]:
    """Return the recorded settings that need the script."""
    return sorted(path for path in _listed(home, "files") if b"gitmem" in content(path))


def has_current_script(home: str) -> bool:
    """Return whether this version's script is in its place."""
    return is_current(content(script_path(home)).decode("utf-8", "surrogateescape"))


def _users_path(home: str) -> str:
    return os.path.join(os.path.dirname(script_path(home)), _USERS)


def _listed(home: str, key: str) -> set[str]:
    """Return the paths that the record has under a key; none if it is unreadable."""
    with contextlib.suppress(TypeError, KeyError):
        return set(map(str, read_json(_users_path(home))[key]))
    return set()


def _write_users(home: str, users: set[str], folders: set[str], made: set[str]) -> None:
    value = {"v": 1, "folders": sorted(folders), "files": sorted(users), "made": sorted(made)}
    text = json.dumps(value, indent=1)
    carry_out(plan_file(_users_path(home), text.encode()))


_EVENT = "PostToolUse"
_SECONDS, _ATTEMPTS = 10, 3
_SESSION = "gitmem-install-check"
_PATIENCE = 30  # seconds for a command of the test
_SWEEPS = 20
_WORD = "wombat"
_ANSWER = f"The {_WORD} is a marsupial."
# The payloads of a test session by gitmem's event name, each with the keys of all hosts.
_TURN: dict[str, dict[str, object]] = {
    "UserPromptSubmit": {**dict.fromkeys(("prompt", "submitted_prompt"), f"Which animal is the {_WORD}?")},
    "Stop": {**dict.fromkeys(("last_assistant_message", "prompt_response", "text"), _ANSWER)},
}


def event_reaches_spool(host: Host, project: str, spool: str, environ: Mapping[str, str]) -> bool | None:
    """Return whether a test event of this host reaches the spool, and remove it there; None without a shell."""
    line = next((line for event, line in host.commands().items() if host.events[event].partition(".")[0] == _EVENT), "")
    shell = find_program("bash", environ) if sys.platform == "win32" else "/bin/sh"
    if not line or shell is None:
        return None

    payload = json.dumps({"hook_event_name": "Check", "session_id": _SESSION, "cwd": project}).encode()
    for _ in range(_ATTEMPTS):  # background work of another event may take it out first
        try:
            done = subprocess.run(
                [shell, "-c", line], cwd=project, env=dict(environ), input=payload, capture_output=True,
                timeout=_SECONDS, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired):
            return False
        # The file has the event of the script's line, or in rarer layouts that of the payload.
        names = os.listdir(spool) if os.path.isdir(spool) else []
        paths = [os.path.join(spool, name) for name in names if content(os.path.join(spool, name)) == payload]
        for path in paths:
            drop_file(path)
        if paths or done.returncode:
            return not done.returncode
    return False


def turn_roundtrip_works(host: Host, environ: Mapping[str, str], home: str) -> bool | None:
    """Return whether a turn passed to the host's lines becomes a commit that a search finds, in a temporary store.

    None for a host such as Cline, whose prompts are read from a session file, which the test does not have.
    """
    if not {*_TURN} <= {name.partition(".")[0] for name in host.events.values()}:
        return None

    own = tempfile.mkdtemp(prefix="gitmem-")
    try:
        return _roundtrip_works_in(own, host, environ, home)
    finally:
        gone = 0
        for _ in range(_SWEEPS):  # background processes of the lines may still write
            gone = 0 if os.path.exists(own) else gone + 1
            if gone > 1:
                break
            shutil.rmtree(own, ignore_errors=True)
            time.sleep(0.4)


def _roundtrip_works_in(own: str, host: Host, environ: Mapping[str, str], home: str) -> bool:
    lines = {host.events[event].partition(".")[0]: (event, line) for event, line in host.commands().items()}
    project = os.path.join(own, "project")
    os.makedirs(os.path.dirname(script_path(own)))
    os.makedirs(project)
    shutil.copyfile(script_path(home), script_path(own))
    names = {name: value for name, value in environ.items() if not name.startswith(("XDG_", "CLAUDE_"))}
    calls = [(own_command("init"), b"")]
    about: dict[str, object] = {"cwd": project, "workspaceRoots": [project], "prompt_id": "1"}
    about |= dict.fromkeys(("session_id", "conversation_id", "taskId"), _SESSION)
    for name, said in _TURN.items():
        event, line = lines[name]
        payload = {"hook_event_name": event} | about | said
        calls.append((("/bin/sh", "-c", line), json.dumps(payload).encode()))
    calls.append((own_command("search", _WORD), b""))
    try:
        for words, stdin_data in calls:
            done = subprocess.run(
                words, cwd=project, env=names | {"HOME": own}, input=stdin_data, capture_output=True, timeout=_PATIENCE,
                check=False,
            )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and _WORD.encode() in done.stdout
