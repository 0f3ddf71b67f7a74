"""Stores: make, clone, accept, sync and back them up, and move facts and sessions between them."""

from __future__ import annotations

import os
import re

from gitmem.cli.app import OWN, App
from gitmem.cli.arguments import Args, chosen_place
from gitmem.cli.output import agreed, few, reversal
from gitmem.cli.progress import Progress
from gitmem.document.ids import MEMORY
from gitmem.errors import GitmemError, NotFoundError, StoreNotFoundError, UnreachableError, UsageError
from gitmem.git.address import check_url
from gitmem.git.bundle import is_bundle
from gitmem.git.remote import Connection
from gitmem.health.doctor import check_identity
from gitmem.history.export import export
from gitmem.platform.machine import now
from gitmem.platform.safe_open import decode_by_hand, read_small
from gitmem.purge.unfinished import finish_purge
from gitmem.record.fact_edits import compare_arrivals, find_fact, move
from gitmem.store import layers
from gitmem.store.findings import FailureLog, Level, LoggedFailure
from gitmem.store.init import add_scope, check_scope, init_store
from gitmem.store.jobs import Kind, exclusive_job
from gitmem.store.locate import find_project, find_store
from gitmem.store.remotes import (
    DEFAULT,
    absolute_address,
    add_remote,
    added_remotes,
    find_remote,
    is_address,
    remotes,
    remove_remote,
)
from gitmem.store.spool import HookSpool
from gitmem.store.store import READ_ONLY, REMOTE, Store
from gitmem.sync.clone import back_up, check_untrusted, clone_store, merge_backup, restore_into
from gitmem.sync.fetch import Options, Synced
from gitmem.sync.guard import Accept
from gitmem.sync.proposals import propose
from gitmem.sync.records import write_record
from gitmem.sync.removed import Removed, bring_back
from gitmem.sync.rounds import sync_in_background, sync_remote
from gitmem.sync.states import states
from gitmem.text.sentences import bytes_of, count
from gitmem.text.terminal import mask_urls, plain

_PUSHED = (
    "'git push --all' in the project pushes this branch, too.\n"
    "Raw transcripts are on no branch: only 'git push --mirror' pushes them."
)


def run_init(args: Args, app: App) -> None:
    if args.scope:
        check_scope(app.path(args.scope))  # before a store is made
    made = init_store(app.folder(), app.context(), chosen_place(args))
    store = made.store
    if made.connected:
        compare_arrivals(store)
    if made.new:
        _say_who_commits(store, app)
    branch = store.repository.branch().removeprefix("refs/heads/")
    scopes, apart = [*store.scopes], ""
    if args.scope:
        scope = add_scope(store, app.path(args.scope))
        scopes, apart = [*dict.fromkeys((*scopes, scope))], f"\nWhat is of {scope} is shown there and above."
    value = {"store": store.root, "branch": branch, "new": made.new, "scopes": scopes}
    verb = "Made a store" if made.new else "There already is a store"
    verb = "Connected the memory" if made.connected else verb
    save = f'gitmem {"--user " * args.user}save "Use uv, not pnpm" --type decision'
    text = f"{verb} at {store.root} (branch {branch}).{apart}\nTry: {save}"
    app.answer(value, text if store.has_separate_repository else f"{text}\n{_PUSHED}", OWN)


def run_clone(args: Args, app: App) -> None:
    app = app._replace(environ={**app.environ, READ_ONLY: "0"})  # a container may need a read-only copy
    start = app.path(args.project or "")
    url = absolute_address(args.url, app.folder())
    os.makedirs(start, exist_ok=True)
    with Progress(app.err) as progress:
        options = Options(progress=progress.step)
        if is_bundle(url):
            store = restore_into(start, app.context(), chosen_place(args), url, options)
        else:
            store = clone_store(start, app.context(), chosen_place(args), url, asks=app.can_ask(), options=options)
    app.notices(tuple(store.notices))
    compare_arrivals(store)
    _say_who_commits(store, app)
    value = {"store": store.root, "commit": store.tip}
    app.answer(value, plain(f"Cloned the memory to {store.root}."), OWN)
    _end_clone(store, app)


def _say_who_commits(store: Store, app: App) -> None:
    """Say by which commands git learns the user's name, where it knows none."""
    unknown = (finding for finding in check_identity(store) if finding.level is not Level.OK)
    app.notices(tuple(f"{finding.message} {finding.remedy}" for finding in unknown))


def _end_clone(store: Store, app: App) -> None:
    """Record that a clone is complete, after that was printed: a user without an answer repeats the command."""
    app.out.flush()
    store.acceptance.end_clone()


POINTER = ".gitmem-remote"


def run_join(args: Args, app: App) -> None:
    start = app.folder()
    nearest = find_store(start, app.home())
    if nearest is not None:
        store = app.open()
        app.answer({"store": store.root, "commit": store.tip}, plain(f"There is a store already: {store.root}."), OWN)
        return
    url = app.environ.get(REMOTE, "").strip()
    if not url:
        data = read_small(os.path.join(find_project(start, app.home()).root, POINTER), follow=False) or b""
        lines = (line.strip() for line in decode_by_hand(data).splitlines())
        url = next((line for line in lines if line and not line.startswith("#")), "")
        if not url:
            raise NotFoundError(f"The project names no memory in {POINTER}.", "'gitmem clone URL' takes the address.")
        check_url(url)
        would = f"This would clone the memory at {mask_urls(plain(url))}, which the project names"
        if not agreed(app, would, f"{would}\nDo you trust it?", "Repeat it with --yes.", yes=args.yes):
            return
    own = Args(**{**vars(args), "url": url, "project": None})
    run_clone(own, app._replace(args=own))


def run_trust(_: Args, app: App) -> None:
    store = app.open()
    check_untrusted(store)
    known = remotes(store)
    shown = [f"{remote.name} ({remote.shown})" for remote in known]
    value = {"store": store.root, "remotes": [{"name": remote.name, "url": remote.shown} for remote in known]}
    if not (store.acceptance.is_accepted() and added_remotes(store) == known):
        would = f"This would record your sessions in {store.root}" + ", and send them to its remotes" * bool(known)
        syncs = f"and sent to {count(len(shown), 'remote')}: {', '.join(shown)}" if shown else "and sent nowhere"
        preview = (
            f"The memory at {store.root} came from elsewhere.\n"
            f"If you say yes, sessions are shown what it holds; they are recorded in it, {syncs}.\n"
        )
        question, remedy = f"{plain(preview)}Do you trust it?", "Run it in a terminal."
        if not agreed(app, plain(would), question, remedy, nothing="Nothing was changed."):
            return
        if not store.acceptance.is_accepted():
            store.acceptance.set_aside()
        store.acceptance.accept(tuple(url for remote in known for url in (remote.url, remote.push_url)))
        HookSpool(store.private).make()
        compare_arrivals(store)
    app.answer(value, plain(f"Sessions may be recorded in {store.root} now, and are shown what it holds."), OWN)


def run_remote(args: Args, app: App) -> None:
    store = app.open()
    if args.action == "add":
        name, url = _name_and_url(args.words, app.folder(), is_separate=store.has_separate_repository)
        remote = add_remote(store, name, url)
        value = {"name": remote.name, "url": remote.shown}
        text = plain(f"The memory has the remote {remote.name} ({remote.shown}) now.")
        app.answer(value, f"{text}\nNext: 'gitmem {'--user ' * args.user}sync' tries it.", OWN)
        return
    if args.action == "remove":
        if len(args.words) != 1:
            raise UsageError("Name the remote to remove.", "'gitmem remote list' lists them.")
        remove_remote(store, args.words[0])
        write_record(store.private, args.words[0], None)
        app.answer({"removed": args.words[0]}, plain(f"Memory is not synced with {args.words[0]} any more."), OWN)
        return
    if args.words:
        raise UsageError("'gitmem remote list' takes no further words.", "To add one: gitmem remote add [NAME] URL")
    remotes = states(store)
    text = "\n".join(plain(f"{state.name}  {state.url}") for state in remotes)
    none = "No remote yet: 'gitmem remote add URL' adds one."
    app.answer([remote.as_value() for remote in remotes], text or none, None if remotes else OWN)


def _name_and_url(words: list[str], cwd: str, *, is_separate: bool) -> tuple[str, str | None]:
    """Return the name and the URL of a remote to add; None for the project's own remote of that name.

    A store whose repository `is_separate` has no remotes of the project's, so a single word is a path.
    """
    if len(words) > 2:  # noqa: PLR2004
        raise UsageError("A remote has a name and a URL.", "Write: gitmem remote add [NAME] URL")
    if not words:
        return DEFAULT, None
    if not all(words):
        raise UsageError("The URL of the remote is empty.", "Write: gitmem remote add [NAME] URL")
    if len(words) == 1 and not is_address(words[0]):
        if words[0] == DEFAULT or not is_separate:
            return words[0], None
        if not os.path.isdir(os.path.join(cwd, words[0])):
            raise NotFoundError(f"There is no repository at {words[0]}.", "Write: gitmem remote add [NAME] URL")
    return (words[0] if len(words) > 1 else DEFAULT), absolute_address(words[-1], cwd)


_UNITS = {"m": 60, "h": 3600, "d": 86_400}


def run_private(args: Args, app: App) -> None:
    store, session = app.open(), app.session()
    store.acceptance.check()
    if args.state:
        layers.set_private(store, session, on=args.state == "on")
    is_on = layers.is_private(store, session, store.folder)
    whose = "This session" if session else "Each session of this project"
    text = f"{whose} is {'private: it is kept on this machine alone' if is_on else 'recorded in the project memory'}."
    app.answer({"session": session or None, "private": is_on}, text, OWN)


def run_pause(args: Args, app: App) -> None:
    match = re.fullmatch(r"([1-9][0-9]{0,5})([mhd])", args.time or "")
    if args.time is not None and not match:
        raise UsageError(f"{args.time!r} is no time.", "Give minutes, hours or days: 30m, 1h, 2d.")
    store = app.settled()
    store.acceptance.check()
    layers.pause(store, int(match[1]) * _UNITS[match[2]] if match else None)
    until = f"for {args.time}, or until 'gitmem resume'" if match else "until 'gitmem resume'"
    app.answer({"paused": True}, f"Nothing is recorded {until}.", OWN)


def run_resume(_: Args, app: App) -> None:
    ended = layers.resume(app.open())
    app.answer({"paused": False}, "Sessions are recorded again." if ended else "There was no pause.", OWN)


def run_promote(args: Args, app: App) -> None:
    args.private = False
    store = app.settled()
    private = layers.private_store(store)
    if private is None:
        raise NotFoundError("This project has nothing that is private.", "'gitmem --private facts add' adds a fact.")
    _move(args, app, private, store, "in the project's memory")


def run_demote(args: Args, app: App) -> None:
    args.private = False
    store = app.settled()
    _move(args, app, store, finish_purge(layers.store_for_session(store, "", private=True)), "private")


def _move(args: Args, app: App, source: Store, target: Store, where: str) -> None:
    fact = find_fact(source, args.fact)
    value = {"id": fact.id, "commits": move(source, fact, target)}
    back = "" if app.for_agent() else f" (undo: gitmem {'demote' if source.is_private else 'promote'} {fact.id})"
    app.answer(value, plain(f"{fact.id} is {where} now: {fact.description}{back}"))


def run_sync(args: Args, app: App) -> None:
    store = app.settled()
    if args.background:
        with exclusive_job(store, Kind.SYNC) as is_free:
            if is_free:
                _sync_behind(store)
        return
    chosen = [find_remote(store, args.remote)] if args.remote else remotes(store) or [find_remote(store, None)]
    with Progress(app.err) as progress:
        options = Options(tuple(map(Accept, args.accept)), progress.step)
        done, failed = list[Synced](), list[GitmemError]()
        for remote in chosen:  # an unreachable remote does not delay the others
            try:
                done.append(sync_remote(store, remote, options, asks=app.can_ask()))
                if compare_arrivals(store):
                    sync_remote(store, remote, options, asks=app.can_ask())
            except GitmemError as error:
                failed.append(error)
    app.notices((*(notice for result in done for notice in result.notices), *(error.sentences for error in failed[1:])))
    source = None if any(result.review for result in done) else OWN  # names of documents
    if done:
        app.answer(done[0] if len(chosen) == 1 else done, "\n".join(map(_words, done)), source)
    if failed:
        raise failed[0]
    store.maintain_later()


def _sync_behind(store: Store) -> None:
    """Sync in the background of a hook; log failures except being offline."""
    errors = [*sync_in_background(store, Options())]
    compare_arrivals(store)
    for error in errors:
        if not isinstance(error, UnreachableError):
            FailureLog(store.private).record(LoggedFailure(now(), "sync", error.sentences))


def _words(done: Synced) -> str:
    came, went = (count(number, "commit") if number else "nothing" for number in (done.came, done.went))
    text = f"Synced with {done.remote}: received {came}, sent {went}"
    if done.review:
        return plain(f"{text}; {count(len(done.review), 'document')} to review: {few(done.review)}.")
    return plain(f"{text}.")


def run_propose(args: Args, app: App) -> None:
    store = app.settled()
    store.check_writes()
    remote = find_remote(store, args.remote)
    environ = store.context.environ
    connection = Connection(store.repository.layout, environ, own=store.has_separate_repository, asks=app.can_ask())
    with Progress(app.err) as progress:
        options = Options(progress=progress.step)
        done = propose(store, remote, connection, options, ids=args.ids, name=args.name)
    text = f"Proposed {count(len(done.paths), 'fact')} on the branch {done.branch} of {done.remote}."
    app.answer(done, plain("\n".join((text, *(f"  {path}" for path in done.paths)))))


def run_export(args: Args, app: App) -> None:
    for line in export(app.settled(), args.since):
        print(line, file=app.out)


_NOUNS = {"sessions": "session", "facts": "fact", "episodes": "task", "patterns": "known error"}


def run_backup(args: Args, app: App) -> None:
    store = app.settled()
    file = app.path(args.file)
    with Progress(app.err, "writing the memory to one file, and reading it back"):
        done = back_up(store, file, transcripts=args.transcripts)
    counts = [count(done.records[name], noun) for name, noun in _NOUNS.items()]
    if ended := done.records["ended"]:
        counts[1] += f" (and {ended} no longer in force)"
    text = f"Backed up to {done.file} ({bytes_of(done.bytes)}), read back and found whole: {', '.join(counts)}."
    if layers.private_store(store):
        text += "\nWhat is private is not in it: gitmem --private backup FILE"
    app.answer(done, plain(text), OWN)


def run_restore(args: Args, app: App) -> None:
    done, removed, file = None, Removed("", (), ()), app.path(args.file)
    with Progress(app.err) as progress:
        options = Options(tuple(map(Accept, args.accept)), progress.step)
        try:
            store = app.settled()
        except StoreNotFoundError:
            store = restore_into(app.folder(), app.context(), chosen_place(args), file, options)
            app.notices(tuple(store.notices))
            text = f"Restored the memory to {store.root}.\nTo empty it again: gitmem clear all"
        else:
            done, removed = merge_backup(store, file, options)
            app.notices(done.notices)
            text = f"Merged {count(done.came, 'commit')} of the backup." if done.came else "The backup has nothing new."
            if done.came:
                text += "\nTo reverse one of them: 'gitmem log' names it, 'gitmem undo COMMIT' undoes it."
    commit = done.commit if done else store.tip
    if len(removed):
        commit, more = _brought_back(store, removed, args, app)
        text += more
    compare_arrivals(store)
    value = {"store": store.root, "commit": commit, "came": done.came if done else None}
    app.answer({**value, "review": done.review if done else ()}, plain(text), OWN)
    _end_clone(store, app)


def _brought_back(store: Store, removed: Removed, args: Args, app: App) -> tuple[str | None, str]:
    """Restore what was removed since a backup, if the user agrees; return the commit, and what to print."""
    lines = count(len(removed.entries), "line")
    words = f"It has {count(len(removed.files), 'file')} and {lines} of {MEMORY} that were removed here since"
    if not args.yes and not app.can_ask():
        return store.tip, f"\n{words}; --yes brings them back."
    if not agreed(app, words, f"{words}.\nBring them back?", yes=args.yes):
        return store.tip, "\nWhat was removed here since stays removed."
    commit = bring_back(store, removed) or store.tip or ""
    return commit, f"\nBrought back what was removed here since.\n{reversal(commit)}"
