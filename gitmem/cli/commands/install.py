"""`gitmem install`: write hooks, the MCP server, the skill and the slash commands into a host's settings."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence

from gitmem.cli.app import OWN, App, Args
from gitmem.cli.commands.agents import (
    by_path,
    chosen_hosts,
    chosen_scope,
    find_manifest,
    found_hosts,
    own_program,
    place_of,
    plan_excluded,
    report_changes,
    short_path,
)
from gitmem.config import read_config
from gitmem.errors import ExitCode, GitmemError, RefusedError, StoreNotFoundError, UsageError
from gitmem.hosts.edits import edits_of
from gitmem.hosts.host import Host, InstallPlace, Scope
from gitmem.hosts.install import FileEdit, InstallRecord, Manifest, SettingsChange, carry_out, is_present, plan_edits
from gitmem.hosts.obstacles import Obstacle, obstacles
from gitmem.hosts.script import (
    arrives,
    comes_back,
    hooked_file,
    lock_settings,
    made_settings,
    note_made,
    plan_script,
    project_top,
    put_script,
    stops_of,
)
from gitmem.hosts.settings import ALLOW, COMMANDS, HOOKS, MCP, PARTS, SKILL, SUMMARIES, TRUST, Edit
from gitmem.hosts.text_settings import TablesEdit
from gitmem.llm.protocol import HOST, JUDGED_TOKENS, OFFLINE, PROVIDER_OF, SMALL
from gitmem.platform.machine import install_command, is_installed
from gitmem.store.acceptance import private_folder
from gitmem.store.heard import has_arrived
from gitmem.store.init import Place as Where
from gitmem.store.init import init_store
from gitmem.store.locate import find_store, user_store
from gitmem.store.merge_driver import install_driver
from gitmem.store.settings import answer_for_models
from gitmem.store.spool import HookSpool
from gitmem.store.store import Store
from gitmem.text.sentences import listed
from gitmem.text.terminal import plain
from gitmem.values import Value

OFF = "GITMEM_HOOKS"
_EXCLUDE = "exclude"
_BRINGS = {
    HOOKS: "hooks, so that sessions are remembered",
    MCP: "the MCP server, for tools that search the memory and save to it",
    SKILL: "a skill: when to save, when to look, what needs review",
    COMMANDS: "slash commands",
    SUMMARIES: "a skill and an agent that sum up archives",
    TRUST: "that these hooks may run",
    ALLOW: "that the read-only tools need no permission",
    _EXCLUDE: "that git passes over what is yours alone",
}


_SCOPES = {
    Scope.PROJECT: "this project's, by settings in it, which your team shares",
    Scope.LOCAL: "this project's, by local settings, for me alone",
    Scope.USER: "those of all your projects that have a store, by your own settings",
}


class _Plan(Value):
    """The planned changes of one host's files, each with its part, and the manifest that records them.

    `others` are the paths where somebody else's file is in the way; `hooks` is the file with the hooks.
    """

    host: Host
    place: InstallPlace
    manifest: Manifest | None
    items: Sequence[Edit]
    changes: tuple[tuple[str, SettingsChange], ...]
    others: tuple[str, ...]
    hooks: str


def run_install(args: Args, app: App) -> int:
    hosts = chosen_hosts(args, app)
    if not hosts:
        _list(app)
        return ExitCode.OK
    parts = _parts(args)
    scope = chosen_scope(args)
    if scope is None:
        _found_store(args, app, hosts)  # before a question
        scope = _asked(app, hosts)
    hosts = _with_scope(args, app, hosts, scope)
    if scope is not Scope.USER:
        _prepare_store(args, app, hosts)
    plans = [_planned(args, app, host, scope, parts) for host in hosts]
    script = plan_script(app.home(), own_program(app))
    if not args.dry_run:
        if not _agreed(args, app, plans, script):
            app.say("Nothing was changed.")
            return ExitCode.OK
        plans = _written(args, app, plans, parts)
    working = [args.dry_run or _works(app, plan) for plan in plans]
    text = "\n".join(_told(app, plan, parts) for plan in plans)
    new = [plan.host.title for plan in plans if any(one.changes for part, one in plan.changes if part in {HOOKS, MCP})]
    text += f"\nNext: start {listed(new)} anew here. 'gitmem status' then tells what is remembered." * bool(new)
    changes = [(scope, change) for plan in plans for _, change in plan.changes]
    report_changes(args, app, hosts, [*changes, (Scope.USER, script)], text)
    return ExitCode.OK if all(working) else ExitCode.FAILURE


def _with_scope(args: Args, app: App, hosts: Sequence[Host], scope: Scope) -> list[Host]:
    """Return the hosts with settings of this kind; a host that was named must have them."""
    without = [host for host in hosts if scope not in host.scopes]
    kinds = ", ".join(f"--{kind.value}" for kind in without[0].scopes) if without else ""
    if without and (not args.all or len(without) == len(hosts)):
        raise UsageError(f"{without[0].title} has no settings of the kind --{scope.value}.", f"Take {kinds}.")
    for host in without:
        app.notices((f"{host.title} is left out: it has no settings of the kind --{scope.value}.",))
    return [host for host in hosts if host not in without]


def _warn(app: App, parts: tuple[str, ...]) -> None:
    """Warn if `gitmem` is not on the PATH, or the MCP server's SDK is not installed."""
    if not own_program(app):
        app.notices(
            ("'gitmem' is not on your PATH: the hooks keep events, but only a gitmem that they find saves them.",)
        )
    if not is_installed("mcp") and parts != (HOOKS,):
        needed = "The MCP server needs the official SDK, which is not installed."
        app.notices((f"{needed} Run: {install_command('mcp')}",))


def _list(app: App) -> None:
    """List the hosts of this machine."""
    lines, values = [], []
    for host in found_hosts(app):
        paths = {scope: hooked_file(host, place_of(app, scope)) for scope in host.scopes}
        state = next((f"remembered, by {path}" for path in paths.values() if path), "not remembered")
        places = [place_of(app, scope) for scope, path in paths.items() if path]
        if stops := stops_of(host, places, arrived=_has_arrived(app, host)):
            state = f"not remembered{' yet' * stops[0].asked}: {stops[0].message}"
        state = state if host.events else "gets tools for the memory, its sessions are not captured"
        parts = [part for part in PARTS if any(part == item.part for item in edits_of(host, place_of(app, Scope.USER)))]
        lines.append(f"{host.name:10} {host.title}: {state}; 'gitmem install {host.name}' brings {', '.join(parts)}")
        values.append(
            {"host": host.name, "title": host.title, "hooks": [p for p in paths.values() if p], "parts": parts}
        )
    text = "\n".join(lines) or (
        "No agent that gitmem knows is on this machine; 'gitmem install claude' installs all the same."
    )
    if lines:
        text += "\n\n'gitmem install --all' installs for all of them; --user for all your projects."
    app.answer(values, text, OWN)


def _parts(args: Args) -> tuple[str, ...]:
    """Return the parts to install."""
    if args.only is None:
        parts = tuple(part for part in PARTS if part != MCP or is_installed("mcp"))
    else:
        parts = tuple(part.strip() for part in args.only.split(",") if part.strip())
        if unknown := [part for part in parts if part not in PARTS]:
            raise UsageError(f"There is no part {unknown[0]}.", f"The parts are {', '.join(PARTS)}.")
    return (*parts, *[SUMMARIES] * args.summaries, *[ALLOW] * args.allow)


def _planned(args: Args, app: App, host: Host, scope: Scope, parts: tuple[str, ...]) -> _Plan:
    """Plan the files of one host, none of which may be a link out of the project."""
    place = place_of(app, scope)
    manifest = find_manifest(app, scope, host)
    records = manifest.records() if manifest else {}
    items, made = _items(host, place, parts, records, trust=args.trust), made_settings(app.home())
    changes, others = [], []
    for path, edits in by_path(items).items():
        change = plan_edits(path, edits, records.get(path), made)
        changes.append((edits[0].part, change))
        others += [path] * (isinstance(edits[0], FileEdit) and change.after != edits[0].data)
    top = project_top(app.folder())
    for _, change in changes:  # a link's target may count for other projects
        real = os.path.realpath(change.path)
        if change.path.startswith(os.path.join(top, "")) and not real.startswith(
            os.path.join(os.path.realpath(top), "")
        ):
            remedy = "Remove the link, or install for all your projects, with --user."
            raise RefusedError(f"{change.path} leads out of the project, to {real}.", remedy)
    changes.sort(key=lambda change: change[0] != HOOKS)
    if (passed_over := plan_excluded(place, items, installs=True)) is not None:
        changes.append((_EXCLUDE, passed_over))
    hooks = next((item.path for item in items if item.part == HOOKS), "")
    return _Plan(host, place, manifest, items, tuple(changes), tuple(others), hooks)


def _items(
    host: Host, place: InstallPlace, parts: tuple[str, ...], records: Mapping[str, InstallRecord], *, trust: bool
) -> list[Edit]:
    """Return the items to install, with `trust` also the entry that makes the host trust the planned hooks."""
    every = edits_of(host, place)
    items = [item for item in every if item.part in parts]
    hooks = next((item for item in items if item.part == HOOKS), None)
    if trust and host.trust and hooks:
        planned = plan_edits(hooks.path, [hooks], records.get(hooks.path))
        path = next(item.path for item in every if item.part == TRUST)
        tables = host.trust(hooks.path, (planned.after or b"").decode("utf-8", "surrogateescape"))
        items.append(TablesEdit(path, tables, TRUST))
    return items


def _agreed(args: Args, app: App, plans: Sequence[_Plan], script: SettingsChange) -> bool:
    """Show the planned files at a terminal and ask for consent; elsewhere return True."""
    if not _asks(args, app):
        return True
    changes = [(_BRINGS[part], change) for plan in plans for part, change in plan.changes]
    changes.append(("the script that the hooks read", script))
    files = [f"  {short_path(app, change.path)}: {brings}" for brings, change in changes if change.changes]
    app.say(plain("\n".join(["gitmem will write:", *files])))
    return app.ask("Go on?", usual=True) is not False


def _asks(args: Args, app: App) -> bool:
    return not (args.yes or args.json) and app.can_ask()


def _written(args: Args, app: App, plans: Sequence[_Plan], parts: tuple[str, ...]) -> list[_Plan]:
    """Write the planned files, ask what else the user wants, and return the plans as carried out."""
    parts += (ALLOW,) * _allows(args, app, plans, parts)
    # Each is planned anew, as the one before may have written the same file: the script, or AGENTS.md.
    hosts = [plan.host for plan in plans]
    with lock_settings(app.home()) as folders:
        done = [_carry_out(_planned(args, app, plan.host, plan.place.scope, parts), app, folders) for plan in plans]
    _warn(app, parts)
    _offer_model(args, app, hosts)
    return done


def _allows(args: Args, app: App, plans: Sequence[_Plan], parts: tuple[str, ...]) -> bool:
    """Ask at a terminal whether the tools that only read may be used unasked, unless that is known."""
    asks = ALLOW not in parts and _asks(args, app) and any(_allowing(plan, parts) for plan in plans)
    return asks and bool(app.ask("May the tools that only read the memory be used without a question each?"))


def _offer_model(args: Args, app: App, hosts: Sequence[Host]) -> None:
    """Ask whether the agent's own model may judge sessions, where nobody set a provider yet; the answer is kept.

    `--yes` says yes, `--no-judge` no. Without a terminal and without `--yes` it stays off, as `gitmem status` says.
    """
    context = app.context()
    config = read_config(context.environ, context.home, None)
    if any(origin.key == "summary.provider" for origin in config.origins):
        return
    provider = next((PROVIDER_OF[host.name] for host in hosts if host.name in PROVIDER_OF), HOST)
    names = " and ".join(host.title for host in hosts if PROVIDER_OF.get(host.name, HOST) == provider)
    agreed = False if args.no_judge else True if args.yes else None
    if agreed is None and _asks(args, app):
        agreed = app.ask(f"{_JUDGE_WHAT} {_judged_by(provider, names)}", usual=True)
    elif agreed:
        app.notices((f"A model judges finished sessions. {_judged_by(provider, names)}",))
    if agreed is not None:  # the end of the input is no consent; a no is kept, too, so that nobody is asked again
        answer_for_models(context, provider if agreed else OFFLINE)


_JUDGE_WHAT = (
    "May a model judge each finished session, once? It notes what was decided, what no longer holds, fixes, open "
    "issues and what each request came to; without it, only what is said or saved in so many words is kept."
)


def _judged_by(provider: str, names: str) -> str:
    """Return who is told what about a finished session, at what cost, and how to turn that off."""
    how = f"The redacted record goes to the model that {names} uses anyway and to nobody else"
    how = f"{how}, a small one" if provider in SMALL else how
    how = f"{names} answers by itself: a start names the sessions that wait" if provider == HOST else how
    return f"{how}; about {JUDGED_TOKENS:,} tokens a session. Off: gitmem config --user summary.provider offline"


def _allowing(plan: _Plan, parts: tuple[str, ...]) -> bool:
    """Return whether the host would ask before it uses the installed tools."""
    edits = [item for item in edits_of(plan.host, plan.place) if item.part == ALLOW]
    return MCP in parts and any(not is_present(edit) for edit in edits)


def _carry_out(plan: _Plan, app: App, folders: set[str]) -> _Plan:
    if plan.hooks:
        put_script(plan_script(app.home(), own_program(app)), app.home(), plan.hooks, folders)
    note_made(app.home(), [change for _, change in plan.changes], folders)
    for _, change in plan.changes:
        carry_out(change, plan.manifest)
    return plan


def _told(app: App, plan: _Plan, parts: tuple[str, ...]) -> str:
    """Return the lines that report the installed parts of a host to the user."""
    title, hooks, lines = plan.host.title, short_path(app, plan.hooks), []
    in_the_way = [one for one in obstacles(plan.host, plan.place) if one.part in {HOOKS, *parts}]
    if plan.hooks:
        change = next(change for part, change in plan.changes if part == HOOKS)
        lines.append(f"{title}'s hooks are in {hooks} already.")
        if change.changes:
            begun = f"{title}'s sessions are remembered from the next one on, by hooks in {hooks}."
            stopped = any(one.part == HOOKS for one in in_the_way)
            lines = [f"{title}'s hooks are in {hooks}." if stopped else begun]
            lines += [plan.host.note] * bool(plan.host.note)
    elif HOOKS in parts and not plan.host.events:
        lines.append(plan.host.note)
    servers = (short_path(app, path) for path in _paths_of(plan, MCP))
    lines += [f"It gets the tools of the memory by the MCP server in {path}." for path in servers]
    lines += _answers(in_the_way)
    if stops := [one for one in in_the_way if not one.asked]:
        said = " Nothing of its sessions is recorded until then." * any(one.part == HOOKS for one in stops)
        app.notices(tuple(dict.fromkeys(f"{one.message}. {one.remedy}{said}" for one in stops)))
    if ALLOW not in parts and _allowing(plan, parts):
        remedy = f"'gitmem install {plan.host.name} --allow' allows the read-only tools."
        lines.append(f"{title} asks before the first use of each tool, and refuses it in -p; {remedy}")
    if commands := _paths_of(plan, COMMANDS):
        words = (os.path.splitext(os.path.basename(path))[0].removeprefix("gitmem-") for path in commands)
        names = " ".join(f"{plan.host.slash}{word}" for word in words)
        lines.append(f"You get the commands {names}.")
    if SUMMARIES in parts:
        lines.append(_on_summaries(app, plan))
    if plan.others:
        app.notices((f"Left as it is, since it is not gitmem's or was changed: {', '.join(plan.others)}",))
    return "\n".join(lines)


def _answers(in_the_way: Sequence[Obstacle]) -> Iterator[str]:
    """Yield what the agent will ask at its next start, and which answer to give."""
    yield from dict.fromkeys(f"{one.message}. {one.remedy}" for one in in_the_way if one.asked)


def _has_arrived(app: App, host: Host) -> bool:
    """Return whether an event of an agent has come to the store here since its installation."""
    with contextlib.suppress(GitmemError):
        return has_arrived(app.open().private, app.home(), host.label)
    return False


def _on_summaries(app: App, plan: _Plan) -> str:
    """Return the line that says how to have the skill sum up archives."""
    if not _paths_of(plan, SUMMARIES):
        return f"{plan.host.title} gets no skill that sums up archives: only Claude Code does."
    is_for_all = plan.place.scope is Scope.USER
    root = None if is_for_all else find_store(plan.place.project, app.home())
    provider = read_config(app.environ, app.home(), root).summary.provider
    command = f"gitmem config {'--user ' * is_for_all}summary.provider host"
    if provider in {OFFLINE, HOST}:
        told = "With the hooks a session's start names archives for the skill memory-rotate to sum up"
        return f"{told}." if provider == HOST else f"{told}, once you run: {command}"
    return (
        f"Archives are summed up by {provider}, as your settings say. For the skill memory-rotate to do it, "
        f"and no model to judge sessions, run: {command}"
    )


def _paths_of(plan: _Plan, part: str) -> list[str]:
    return [item.path for item in plan.items if item.part == part]


def _works(app: App, plan: _Plan) -> bool:
    """Run a hook as the host would and say so if its event does not arrive; for a user, a whole turn."""
    if not plan.hooks or app.environ.get(OFF) == "off":
        return True
    root = find_store(plan.place.project, app.home())
    if root is None or root == user_store(app.home()):  # hooks for all projects, installed outside of one
        return True
    store = Store(root, app.context())
    if store.read_only:  # an event is to arrive nowhere
        return True
    if not store.acceptance.given():
        app.notices(("Nothing is recorded here until you say yes to this memory: gitmem trust",))
        return False
    spool = HookSpool(private_folder(root, app.environ)).folder
    problem = "and its event did not arrive" * (arrives(plan.host, plan.place.project, spool, app.environ) is False)
    if not problem and app.can_ask() and os.name == "posix":
        back = comes_back(plan.host, app.environ, app.home())
        problem = "and its turn did not become a commit" * (back is False)
        if back:
            said = "a turn, given to the lines in the settings, became a commit that a search finds"
            app.notices((f"Tested, in a store that is gone again: {said}.",))
    if problem:
        said = f"A hook was run as {plan.host.title} runs it, {problem}. 'gitmem doctor' may say why."
        app.notices((said,))
    return not problem


def _asked(app: App, hosts: Sequence[Host]) -> Scope:
    """Return the scope that a user at a terminal chooses, by default theirs alone; else the project's."""
    if not app.can_ask():
        return Scope.PROJECT
    offered = [scope for scope in Scope if any(scope in host.scopes for host in hosts)]
    alone = Scope.LOCAL if Scope.LOCAL in offered else Scope.USER
    listed = [f"  {scope.value[0]}  {_SCOPES[scope]}{' (default)' * (scope is alone)}" for scope in offered]
    app.say("\n".join(["Whose sessions are to be remembered?", *listed]))
    letters = "/".join(scope.value[0] for scope in offered)
    print(f"[{letters}] ", end="", file=app.err, flush=True)
    answer = app.stdin.readline().strip().lower()[:1]
    scopes = [scope for scope in offered if scope.value.startswith(answer or alone.value)]
    if not scopes:
        raise UsageError(f"The answer was none of {letters}.", "Nothing was changed.")
    return scopes[0]


def _found_store(args: Args, app: App, hosts: Sequence[Host]) -> Store | None:
    """Return the project's store, None where --init is to make it."""
    try:
        return app.open()
    except StoreNotFoundError as error:
        if args.init:
            return None
        remedy = f"'gitmem install {args.host or '--all'} --init' makes one and installs the hooks."
        remedy += " With --user it installs for all your projects." * any(Scope.USER in host.scopes for host in hosts)
        raise StoreNotFoundError(error.message, remedy) from None


def _prepare_store(args: Args, app: App, hosts: Sequence[Host]) -> None:
    """Make the spool and the merge driver of the store, and with --init the store."""
    store = _found_store(args, app, hosts)
    if store is None:
        if args.dry_run:
            return
        store = init_store(app.folder(), app.context(), Where.PROJECT).store
        app.say(f"Made a store at {store.root}.")
    if not args.dry_run:
        HookSpool(store.private).make()
        install_driver(store)
