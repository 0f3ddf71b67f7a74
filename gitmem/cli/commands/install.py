"""`gitmem install`: write hooks, the MCP server, the skill and the slash commands into a host's settings."""

from __future__ import annotations

import os
from collections.abc import Sequence

from gitmem.cli.app import App
from gitmem.cli.arguments import Args
from gitmem.cli.commands.agents import (
    chosen_hosts,
    chosen_scope,
    find_manifest,
    own_program,
    place_of,
    report_changes,
    short_path,
)
from gitmem.cli.commands.installed import asks_to_use_tools, earlier_sessions, installed_text, list_agents
from gitmem.config.read import personal_folder, read_config
from gitmem.document.ids import CONFIG
from gitmem.errors import ExitCode, StoreNotFoundError, UsageError
from gitmem.git.layout import STORE_FOLDER
from gitmem.hosts.host import Host, Scope
from gitmem.hosts.install import SettingsChange, carry_out
from gitmem.hosts.plan import EXCLUDE, InstallPlan, diff_of, plan_install
from gitmem.hosts.script import (
    event_reaches_spool,
    lock_settings,
    plan_script,
    put_script,
    record_created,
    turn_roundtrip_works,
)
from gitmem.hosts.settings import ALLOW, COMMANDS, HOOKS, MCP, PARTS, SKILL, SUMMARIES, TRUST
from gitmem.llm.protocol import HOST, JUDGED_TOKENS, OFFLINE, PROVIDER_OF, SMALL, TURN_ON, WITHOUT_MODEL
from gitmem.platform.machine import install_command, is_installed
from gitmem.store.acceptance import private_folder
from gitmem.store.init import Place as Where
from gitmem.store.init import init_store, plan_unexclude
from gitmem.store.locate import find_project, find_store, user_store
from gitmem.store.merge_driver import install_driver
from gitmem.store.settings import answer_for_models
from gitmem.store.spool import HookSpool
from gitmem.store.store import Store
from gitmem.text.sentences import listed
from gitmem.text.terminal import plain

OFF = "GITMEM_HOOKS"
_BRINGS = {
    HOOKS: "hooks, which record sessions",
    MCP: "the MCP server, with tools to search the memory and to save",
    SKILL: "skills: when to save, search and review",
    COMMANDS: "slash commands",
    SUMMARIES: "a skill and an agent that summarize archives",
    TRUST: "trust in these hooks",
    ALLOW: "the read-only tools are allowed",
    EXCLUDE: "what git ignores, as it is yours alone",
}
_RECORD = "the record of this, for 'gitmem uninstall'"
_SCRIPT = "the script that the hooks run, and the list of settings that use it"
_SCOPES = {
    Scope.PROJECT: "this project's, by settings that your team shares",
    Scope.LOCAL: "this project's, by settings for you alone",
    Scope.USER: "those of all your projects that have a store, by your own settings",
}


def run_install(args: Args, app: App) -> int:
    hosts = chosen_hosts(args, app)
    if not hosts:
        list_agents(app)
        return ExitCode.OK
    parts = _parts(args)
    scope = chosen_scope(args)
    if scope is not Scope.USER and not _offered_store(args, app, hosts):
        return ExitCode.OK
    if scope is None:
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
    text = _report(args, app, parts, [*zip(plans, working, strict=True)], script)
    changes = [*((scope, change) for plan in plans for _, change in plan.changes), (Scope.USER, script)]
    if args.dry_run:
        text = plain(diff_of(change for _, change in changes).rstrip("\n")) or text
    report_changes(args, app, hosts, changes, text)
    return ExitCode.OK if all(working) else ExitCode.FAILURE


def _report(
    args: Args, app: App, parts: tuple[str, ...], done: Sequence[tuple[InstallPlan, bool]], script: SettingsChange
) -> str:
    """Return what was installed for each host and where, and the next steps if it works."""
    plans = [plan for plan, _ in done]
    lines = [f"In {plans[0].place.project}:"] * (plans[0].place.scope is not Scope.USER)
    lines += [installed_text(app, plan, parts, works=works) for plan, works in done]
    new = [
        plan.host.title for plan in plans if any(edit.changes for part, edit in plan.changes if part in {HOOKS, MCP})
    ]
    lines += earlier_sessions(app, plans, new)
    if new and not (args.dry_run or args.yes or args.no_judge or _asks(args, app)):
        provider = read_config(app.environ, app.home(), None).summary.provider
        lines += [f"No model is asked: {WITHOUT_MODEL}. {TURN_ON[0].upper()}{TURN_ON[1:]}"] * (provider == OFFLINE)
    if places := _places(app, plans, script).values():
        named = [plan.host.name for plan in plans] if len(plans) == 1 else ["--all"]
        named += ["--user"] * (plans[0].place.scope is Scope.USER)
        taken = f"To take it back: gitmem uninstall {' '.join(named)}"
        lines.append(taken if _asks(args, app) else f"Written: {', '.join(places)}. {taken}")
        if plans[0].place.scope is not Scope.USER and plan_unexclude(app.folder(), app.home()):
            made = "The memory is in .gitmem/, which git ignores by a line of .git/info/exclude"
            lines.append(f"{made}: 'gitmem uninstall --everything' says how to delete both.")
    if new and all(works for _, works in done):
        lines.append(f"Next: start {listed(new)} anew here. 'gitmem status' then says what is recorded.")
    return "\n".join(lines)


def _with_scope(args: Args, app: App, hosts: Sequence[Host], scope: Scope) -> list[Host]:
    """Return the hosts with settings of this scope; raise if a named host has none."""
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


def _parts(args: Args) -> tuple[str, ...]:
    """Return the parts to install."""
    if args.only is None:
        parts = tuple(part for part in PARTS if part != MCP or is_installed("mcp"))
    else:
        parts = tuple(part.strip() for part in args.only.split(",") if part.strip())
        if unknown := [part for part in parts if part not in PARTS]:
            raise UsageError(f"There is no part {unknown[0]}.", f"The parts are {', '.join(PARTS)}.")
    return (*parts, *[SUMMARIES] * args.summaries, *[ALLOW] * args.allow)


def _planned(args: Args, app: App, host: Host, scope: Scope, parts: tuple[str, ...]) -> InstallPlan:
    place = place_of(app, scope)
    common_dir = find_project(place.project, place.home).common_dir
    return plan_install(host, place, parts, find_manifest(app, scope, host), common_dir, trust=args.trust)


def _agreed(args: Args, app: App, plans: Sequence[InstallPlan], script: SettingsChange) -> bool:
    """Show the planned files at a terminal and ask for consent; elsewhere return True."""
    if not _asks(args, app):
        return True
    lines = [f"  {place}: {brings}" for brings, place in _places(app, plans, script).items()]
    app.say(plain("\n".join(["gitmem will write:", *lines])))
    return app.ask("Go on?", usual=True) is not False


def _places(app: App, plans: Sequence[InstallPlan], script: SettingsChange) -> dict[str, str]:
    """Return the places that the plans write to, by part."""
    files: dict[str, list[str]] = {}
    for plan in plans:
        for part, change in plan.changes:
            if change.changes:
                files.setdefault(_BRINGS[part], []).append(short_path(app, change.path))
                if plan.manifest and plan.place.scope is Scope.USER:  # a project's manifest is in its store
                    files[_RECORD] = [short_path(app, os.path.join(os.path.dirname(plan.manifest.path), ""))]
    if files or script.changes:
        files[_SCRIPT] = [short_path(app, os.path.join(os.path.dirname(script.path), ""))]
    return {brings: _written_to(paths) for brings, paths in files.items()}


def _written_to(paths: Sequence[str]) -> str:
    """Return the path of one file, or the folder and the number of several."""
    folder = os.path.commonpath(paths) if len(paths) > 1 else ""
    return f"{folder}{os.sep} ({len(paths)} files)" if folder else ", ".join(paths)


def _asks(args: Args, app: App) -> bool:
    return not (args.yes or args.json) and app.can_ask()


def _written(args: Args, app: App, plans: Sequence[InstallPlan], parts: tuple[str, ...]) -> list[InstallPlan]:
    """Write the planned files, ask what else the user wants, and return the plans as carried out."""
    parts += (ALLOW,) * _allows(args, app, plans, parts)
    # Plan each again, as the previous one may have written the same file: the script, or AGENTS.md.
    hosts = [plan.host for plan in plans]
    with lock_settings(app.home()) as folders:
        done = [_carry_out(_planned(args, app, plan.host, plan.place.scope, parts), app, folders) for plan in plans]
    _warn(app, parts)
    _offer_model(args, app, hosts)
    return done


def _allows(args: Args, app: App, plans: Sequence[InstallPlan], parts: tuple[str, ...]) -> bool:
    """Ask at a terminal whether to allow the read-only tools, unless an option decides."""
    asks = ALLOW not in parts and _asks(args, app) and any(asks_to_use_tools(plan, parts) for plan in plans)
    return asks and bool(app.ask("Allow the tools that only read the memory, without being asked each time?"))


def _offer_model(args: Args, app: App, hosts: Sequence[Host]) -> None:
    """Ask whether the agent's model may judge sessions, unless a provider or an option is set; store the answer."""
    context = app.context()
    config = read_config(context.environ, context.home, None)
    if any(origin.key == "summary.provider" for origin in config.origins):
        return
    provider = next((PROVIDER_OF[host.name] for host in hosts if host.name in PROVIDER_OF), HOST)
    names = " and ".join(host.title for host in hosts if PROVIDER_OF.get(host.name, HOST) == provider)
    agreed = False if args.no_judge else True if args.yes else None
    judged_by = _judged_by(provider, names)
    if asks := agreed is None and _asks(args, app):
        agreed = app.ask(f"{_JUDGE_WHAT} {judged_by}\n{_MAY_JUDGE}", usual=True)
    if agreed is not None:  # the end of the input is no consent; a no is stored, too, so that it is asked only once
        answer_for_models(context, provider if agreed else OFFLINE)
        notice = f"A model reviews finished sessions{f'. {judged_by}' * (not asks)}"
        notice = notice if agreed else f"No model is asked: {WITHOUT_MODEL}"
        path = short_path(app, os.path.join(personal_folder(context.environ, context.home), CONFIG))
        app.notices((f"{notice}. Your answer is in {path}.",))


_MAY_JUDGE = "May a model review each finished session, once, in all your projects?"
_JUDGE_WHAT = (
    "When a session is over, a model can read it once and note its decisions, fixes and open issues. Without a model, "
    "only what you save or mark is noted, as in 'Decision: …'."
)


def _judged_by(provider: str, names: str) -> str:
    """Return who reads a finished session, at what cost, and how to turn that off."""
    how = f"The session, without known secrets, goes to {'a small' if provider in SMALL else 'the'} model of {names}"
    how = f"{how}, as your prompts do, and to nobody else"
    how = f"{names} reads it itself, when its next session starts" if provider == HOST else how
    off = "To turn it off: gitmem config --user summary.provider offline"
    return f"{how}. This takes about {JUDGED_TOKENS:,} tokens a session. {off}"


def _carry_out(plan: InstallPlan, app: App, folders: set[str]) -> InstallPlan:
    if plan.hooks:
        put_script(plan_script(app.home(), own_program(app)), app.home(), plan.hooks, folders)
    record_created(app.home(), [change for _, change in plan.changes], folders)
    for _, change in plan.changes:
        carry_out(change, plan.manifest)
    return plan


def _works(app: App, plan: InstallPlan) -> bool:
    """Run a hook as the host would and report if its event does not arrive; for a user's settings, run a whole turn."""
    if not plan.hooks or app.environ.get(OFF) == "off":
        return True
    root = find_store(plan.place.project, app.home())
    if root is None or root == user_store(app.home()):  # hooks for all projects, installed outside of one
        return True
    store = Store(root, app.context())
    if store.read_only:  # no event should arrive
        return True
    if not store.acceptance.is_accepted():
        app.notices(("Nothing is recorded here until you say yes to this memory: gitmem trust",))
        return False
    spool = HookSpool(private_folder(root, app.environ)).folder
    problem = "and its event did not arrive" * (
        event_reaches_spool(plan.host, plan.place.project, spool, app.environ) is False
    )
    if not problem and app.can_ask() and os.name == "posix":
        back = turn_roundtrip_works(plan.host, app.environ, app.home())
        problem = "and its turn did not become a commit" * (back is False)
        if back:
            notice = "a turn through these hooks became a commit that a search finds"
            app.notices((f"Tested in a temporary store: {notice}.",))
    if problem:
        notice = f"A hook was run as {plan.host.title} runs it, {problem}. 'gitmem doctor' may say why."
        app.notices((notice,))
    return not problem


def _asked(app: App, hosts: Sequence[Host]) -> Scope:
    """Return the scope that a user at a terminal chooses, by default theirs alone; else the project's."""
    if not app.can_ask():
        return Scope.PROJECT
    offered = [scope for scope in Scope if any(scope in host.scopes for host in hosts)]
    alone = Scope.LOCAL if Scope.LOCAL in offered else Scope.USER
    listed = [f"  {scope.value[0]}  {_SCOPES[scope]}{' (default)' * (scope is alone)}" for scope in offered]
    app.say("\n".join(["Which sessions are to be recorded?", *listed]))
    letters = "/".join(scope.value[0] for scope in offered)
    print(f"[{letters}] ", end="", file=app.err, flush=True)
    answer = app.stdin.readline().strip().lower()[:1]
    scopes = [scope for scope in offered if scope.value.startswith(answer or alone.value)]
    if not scopes:
        raise UsageError(f"The answer was none of {letters}.", "Nothing was changed.")
    return scopes[0]


def _offered_store(args: Args, app: App, hosts: Sequence[Host]) -> bool:
    """Offer at a terminal to make a project's missing store, else raise StoreNotFoundError; False after a no."""
    try:
        _found_store(args, app, hosts)
    except StoreNotFoundError as error:
        if args.dry_run or not _asks(args, app):
            raise
        where = os.path.join(find_project(app.folder(), app.home()).root, STORE_FOLDER)
        args.init = app.ask(f"{error.message} Make one at {plain(where)}?", usual=True)
        if not args.init:
            app.say("Nothing was changed.")
        return bool(args.init)
    return True


def _found_store(args: Args, app: App, hosts: Sequence[Host]) -> Store | None:
    """Return the project's store, None if --init will make it."""
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
        is_excluded = plan_unexclude(app.folder(), app.home()) is not None
        app.say(f"Made a store at {store.root}{', which git ignores by .git/info/exclude' * is_excluded}.")
    if not args.dry_run:
        HookSpool(store.private).make()
        install_driver(store)
