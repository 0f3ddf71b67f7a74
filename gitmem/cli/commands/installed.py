"""The output of `gitmem install`: the agents of this machine, and what was installed and is still needed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence

from gitmem.cli.app import OWN, App
from gitmem.cli.commands.agents import found_hosts, place_of, short_path
from gitmem.config.read import read_config
from gitmem.errors import GitmemError
from gitmem.hosts.edits import edits_of
from gitmem.hosts.host import Host, Scope
from gitmem.hosts.install import is_present
from gitmem.hosts.obstacles import Obstacle, obstacles
from gitmem.hosts.plan import InstallPlan
from gitmem.hosts.registry import NAMES
from gitmem.hosts.script import hook_obstacles, hooked_file
from gitmem.hosts.settings import ALLOW, COMMANDS, HOOKS, MCP, PARTS, SUMMARIES
from gitmem.llm.protocol import HOST, OFFLINE
from gitmem.store.last_event import last_event_since_install
from gitmem.store.locate import find_store
from gitmem.text.sentences import count


def list_agents(app: App) -> None:
    """List the hosts of this machine."""
    lines, values = [], []
    for host in found_hosts(app):
        paths = {scope: hooked_file(host, place_of(app, scope)) for scope in host.scopes}
        state = next((f"recorded, by {path}" for path in paths.values() if path), "not recorded")
        places = [place_of(app, scope) for scope, path in paths.items() if path]
        if stops := hook_obstacles(host, places, last_event=_last_event(app, host)):
            state = "partly recorded" if stops[0].partly else f"not recorded{' yet' * stops[0].asked}"
            state += f": {stops[0].message}"
        state = state if host.events else "gets tools for the memory; its sessions cannot be recorded"
        parts = [part for part in PARTS if any(part == item.part for item in edits_of(host, place_of(app, Scope.USER)))]
        does = "renews it" if state.startswith("recorded") else f"brings {', '.join(parts)}"
        lines.append(f"{host.name:10} {host.title}: {state}; 'gitmem install {host.name}' {does}")
        values.append(
            {"host": host.name, "title": host.title, "hooks": [p for p in paths.values() if p], "parts": parts}
        )
    text = "\n".join(lines) or (
        f"None of the agents that gitmem knows is on this machine: {', '.join(NAMES)}.\n"
        "'gitmem install claude' installs all the same."
    )
    if lines:
        text += "\n\n'gitmem install --all' installs for all of them; --user for all your projects."
    app.answer(values, text, OWN)


def installed_text(app: App, plan: InstallPlan, parts: tuple[str, ...], *, works: bool) -> str:
    """Return the lines that report the installed parts of a host to the user; `works` if an event arrived."""
    title, hooks, lines = plan.host.title, short_path(app, plan.hooks), []
    event, found = _last_event(app, plan.host), obstacles(plan.host, plan.place)
    in_the_way = [item for item in found if (event <= item.since if item.part == HOOKS else item.part in parts)]
    if plan.hooks:
        change = next(change for part, change in plan.changes if part == HOOKS)
        lines.append(f"{title}'s hooks are in {hooks} already.")
        if change.changes:
            begun = f"{title}'s sessions are recorded from the next one on, by hooks in {hooks}."
            stopped = not works or any(obstacle.part == HOOKS for obstacle in in_the_way)
            lines = [f"{title}'s hooks are in {hooks}." if stopped else begun]
            lines += [plan.host.note] * bool(plan.host.note)
    elif HOOKS in parts and not plan.host.events:
        lines.append(plan.host.note)
    servers = (short_path(app, path) for path in _paths_of(plan, MCP))
    lines += [f"It gets the tools of the memory by the MCP server in {path}." for path in servers]
    is_new = any(change.changes for _, change in plan.changes)
    lines += _answers(in_the_way, is_new=is_new)
    if stops := [obstacle for obstacle in in_the_way if not obstacle.asked]:
        warning = " Nothing of its sessions is recorded until then." * any(obstacle.part == HOOKS for obstacle in stops)
        app.notices(tuple(dict.fromkeys(f"{obstacle.message}. {obstacle.remedy}{warning}" for obstacle in stops)))
    if is_new and ALLOW not in parts and asks_to_use_tools(plan, parts):
        remedy = f"'gitmem install {plan.host.name} --allow' lets it search without asking."
        asks = "asks you before its first search or save; where nobody can answer, it does neither."
        lines.append(f"{title} {asks} {remedy}")
    if is_new and (commands := _paths_of(plan, COMMANDS)):
        words = (os.path.splitext(os.path.basename(path))[0].removeprefix("gitmem-") for path in commands)
        names = " ".join(f"{plan.host.slash}{word}" for word in words)
        lines.append(f"You get the commands {names}.")
    if SUMMARIES in parts:
        lines.append(_on_summaries(app, plan))
    if plan.others:
        app.notices((f"Left as it is, since it is not gitmem's or was changed: {', '.join(plan.others)}",))
    return "\n".join(lines)


def _answers(in_the_way: Sequence[Obstacle], *, is_new: bool) -> Iterator[str]:
    """Yield the agent's questions at its next start and the answers to give; if not `is_new`, only the questions."""
    questions = dict.fromkeys(f"{obstacle.message}. {obstacle.remedy}" for obstacle in in_the_way if obstacle.asked)
    if questions and not is_new:
        those = "a question" if len(questions) == 1 else f"{len(questions)} questions"
        yield f"The agent waits for your answer to {those} at its start: 'gitmem doctor' shows which answer to give."
    else:
        yield from questions


def _last_event(app: App, host: Host) -> float:
    """Return when an agent's last event since its installation arrived in the store, 0 if none did."""
    with contextlib.suppress(GitmemError):
        return last_event_since_install(app.open().private, app.home(), host.label)
    return 0.0


def _on_summaries(app: App, plan: InstallPlan) -> str:
    """Return the line on how to have the skill summarize archives."""
    if not _paths_of(plan, SUMMARIES):
        return f"{plan.host.title} gets no skill that summarizes archives: only Claude Code does."
    is_for_all = plan.place.scope is Scope.USER
    root = None if is_for_all else find_store(plan.place.project, app.home())
    provider = read_config(app.environ, app.home(), root).summary.provider
    command = f"gitmem config {'--user ' * is_for_all}summary.provider host"
    if provider in {OFFLINE, HOST}:
        line = "With the hooks a session's start names archives for the skill memory-rotate to summarize"
        return f"{line}." if provider == HOST else f"{line}, once you run: {command}"
    return (
        f"Archives are summarized by {provider}, as your settings say. For the skill memory-rotate to do it, "
        f"and no model to review sessions, run: {command}"
    )


def _paths_of(plan: InstallPlan, part: str) -> list[str]:
    return [item.path for item in plan.items if item.part == part]


def asks_to_use_tools(plan: InstallPlan, parts: tuple[str, ...]) -> bool:
    """Return whether the host would ask before it uses the installed tools."""
    edits = [item for item in edits_of(plan.host, plan.place) if item.part == ALLOW]
    return MCP in parts and any(not is_present(edit) for edit in edits)


def earlier_sessions(app: App, plans: Sequence[InstallPlan], new: Sequence[str]) -> Iterator[str]:
    """Yield for each newly installed agent its number of sessions of this project, and the command to import them."""
    for host, place in ((plan.host, plan.place) for plan in plans if plan.host.title in new):
        if host.sessions and find_store(place.project, app.home()) and (number := len(host.sessions(place))):
            yield (
                f"{count(number, 'earlier session')} of {host.title} in this project: "
                f"'gitmem import --from {host.name}' adds {'it' if number == 1 else 'them'} to the memory."
            )
