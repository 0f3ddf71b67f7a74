"""Show documents, entries, facts, sessions and commits by any of their names, and the reason for a line of code."""

from __future__ import annotations

import os
import re
import shlex
import unicodedata
from collections.abc import Mapping

from gitmem.cli import output
from gitmem.cli.app import App
from gitmem.cli.arguments import Args
from gitmem.cli.commands.learned import show_episode, show_pattern
from gitmem.cli.output import MINUTES, SHORT, place_lines
from gitmem.document.entry import find_entries
from gitmem.document.ids import ALPHABET, FACT_LETTERS, MEMORY, check_path, daily_path, is_fact_id, is_id, is_timed
from gitmem.errors import NotFoundError, RefusedError, UsageError
from gitmem.history.authors import AWAITS, Authors
from gitmem.history.marks import marked, place_marks
from gitmem.history.origin import find_entry
from gitmem.history.records import DAYS, date_span, difference, read_records, resolve
from gitmem.history.sessions import SessionSummary, find_session
from gitmem.model.episode import LETTER as EPISODE_LETTER
from gitmem.model.fact import Fact, day_of
from gitmem.model.pattern import LETTER as BUG_LETTER
from gitmem.model.validity import Status
from gitmem.record.fact_edits import find_fact, read_fact
from gitmem.search.hits import named
from gitmem.search.passages import before_removal, logged_requests, session_text
from gitmem.store.known_facts import facts_for
from gitmem.store.store import Store
from gitmem.tell.blamed_code import blaming_place
from gitmem.tell.forbidden import Decision, RuleCounts, decision_of, firings_by_rule, how_to_forbid
from gitmem.tell.reasons import as_text, as_value, reasons
from gitmem.tell.why import why_place, why_text
from gitmem.tell.written_code import code_left_of
from gitmem.text.sentences import count
from gitmem.text.terminal import fields, plain


def show_session(store: Store, session: SessionSummary, app: App) -> None:
    """Print a session, with the commits of the project that hold its code now."""
    text, gone = session_text(store, session)
    app.notices((gone,) if gone else ())
    body = text.rstrip("\n") or f"It has no file; its commits: gitmem log --session {session.id}"
    logged = logged_requests(store, session, text)
    entries = [*(place.entry.id for place in find_entries(text)), *(entry.id for entry in logged)]
    left, left_lines = code_left_of(store, entries)
    said = [
        f"- [{entry.day} {entry.time}] {' → '.join(filter(None, (entry.request, entry.answer)))} ^{entry.id}"
        for entry in logged
    ]
    said = ["", "In the days' logs alone:", *(marked(store, line) for line in said)] if said else []
    shown = plain("\n".join([_heading(session), *left_lines, "", body, *said]))
    value = {**session_value(session), "text": text, "logged": logged, "code": left}
    app.answer(value, shown, f"session {session.id}")


def session_value(session: SessionSummary) -> dict[str, object]:
    return {**fields(session, "id host machine author first last requests about commits"), "file": session.file or None}


def _heading(session: SessionSummary) -> str:
    span = f"{session.first:{MINUTES}} to {session.last:{MINUTES}}"
    who = " on ".join(filter(None, (f"by {session.author} with {session.host}", session.machine)))
    numbers = f"{count(session.requests, 'request')}, {count(session.commits, 'commit')}"
    return "\n".join(filter(None, (f"session {session.id}", ", ".join(filter(None, (span, who))), numbers)))


_FACT = re.compile(rf"\^?[{FACT_LETTERS}][{ALPHABET}]+")
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"


def run_show(args: Args, app: App) -> None:
    store, what = app.settled(), args.what
    name = _day_path(store, what) or what
    if is_fact_id(what.removeprefix("^")) and (fact := _fact(store, what)) is not None:
        show_fact(store, fact, app)
    elif what.startswith("^"):
        if not is_id(what[1:]):
            raise NotFoundError(
                f"{what} is not the id of an entry, which has 20 or 11 letters and digits.",
                "'gitmem log --long' shows the ids.",
            )
        _show_id(app, store, what[1:])
    elif (file := _readable(store, app, name) or _past_file(store, app, name, is_day=name != what)) is not None:
        path, data = file
        text = data.decode("utf-8", "replace")
        if ":" in what:
            output.answer_bytes(app, {"path": path, "text": text}, data, f"show {what}")
        else:
            now = named(store, text, path)
            app.answer({"path": path, "text": now}, plain(now).rstrip("\n"), path)
    elif name != what:
        raise NotFoundError(
            f"Nothing was saved on {name[-len('2026-11-21.md') : -len('.md')]}.",
            "'gitmem log' lists what was saved, and when.",
        )
    else:
        _show_named(args, app, store, what)


def _show_named(args: Args, app: App, store: Store, what: str) -> None:
    """Print the commit, entry (without `^`), fact or session (by an id's prefix) that a text names."""
    try:
        commit = resolve(store, what)
    except NotFoundError:
        if is_id(what):
            _show_id(app, store, what)
        elif (fact := _fact(store, what)) is not None:
            show_fact(store, fact, app)
        elif (session := _session(store, what)) is not None:
            show_session(store, session, app)
        else:
            remedy = f"{FILES} 'gitmem log' lists the commits."
            if what.isalnum():
                remedy = f"'gitmem search {what}' finds what was said about it. {remedy}"
            if re.search(r":[0-9]+(-[0-9]+)?$", what):  # as a search prints it
                remedy = f"'gitmem get {shlex.quote(what)}' prints what is at a line."
            if re.fullmatch(r"[0-9]{1,2}([./])[0-9]{1,2}\1[0-9]{4}", what):
                remedy = "A day is written as 2026-11-29."
            raise NotFoundError(f"{what!r} is neither a file of the store nor a commit.", remedy) from None
        return
    value: dict[str, object] = {}
    if args.json:
        value = output.commit_value(read_records(store, [commit])[commit])
        value |= output.difference_value(difference(store, None, commit))
    output.answer_bytes(app, value, store.repository.history.shown(commit), f"show {commit[:SHORT]}")


def _fact(store: Store, text: str) -> Fact | None:
    """Return the fact with this id, unambiguous prefix or sentence, None if there is none."""
    try:
        return find_fact(store, text) if _FACT.fullmatch(text) or " " in text else None
    except NotFoundError:
        return None


def _session(store: Store, text: str) -> SessionSummary | None:
    """Return the session with this id or unambiguous beginning of one, None if there is none."""
    try:
        return find_session(store, text)
    except NotFoundError:
        return None


def _day_path(store: Store, text: str) -> str:
    """Return the path of the daily log that a text names, "" if it names none."""
    span = date_span(store, text) if text in DAYS or re.fullmatch(_DAY, text) else None
    return daily_path(f"{span.first:%Y-%m-%d}") if span else ""


def _past_file(store: Store, app: App, text: str, *, is_day: bool) -> tuple[str, bytes] | None:
    """Return path and content of `REV:PATH`, or of a removed file; None if the text names neither."""
    if (is_day or (text.endswith(".md") and ":" not in text)) and (last := before_removal(store, text)):
        app.notices((last[1],))
        data = store.repository.read(last[0], text)
        return None if data is None else (text, data)
    revision, _, path = text.partition(":")
    try:
        data = store.repository.read(resolve(store, revision), path) if revision and path else None
    except NotFoundError:
        return None
    return None if data is None else (path, data)


def _show_id(app: App, store: Store, identifier: str) -> None:
    """Print the episode, the bug pattern or the entry of an id."""
    kind = "" if is_timed(identifier) else identifier[0]
    if kind in {EPISODE_LETTER, BUG_LETTER}:
        (show_episode if kind == EPISODE_LETTER else show_pattern)(store, identifier, app)
        return
    entry = find_entry(store, identifier)
    whose = Authors(store).others(identifier)
    words = marked(store, entry.entry.text, identifier)
    entry = entry._replace(entry=entry.entry._replace(text=words), text=marked(store, entry.text))
    lines = [entry.text.rstrip("\r\n"), "", *place_lines(entry), *([f"by      {whose}"] if whose else [])]
    left, left_lines = code_left_of(store, [identifier])
    app.answer(
        output.entry_value(entry) | ({"code": left} if left else {}), plain("\n".join([*lines, *left_lines])), "entry"
    )


def _readable(store: Store, app: App, text: str) -> tuple[str, bytes] | None:
    """Return path and content of the file of the work tree that `text` names, None if there is none."""
    try:
        path = named_path(store, app, text)
    except RefusedError:
        if ("/" in text or os.path.isabs(text)) and ":" not in text:
            raise
        return None  # `HEAD~2` is no name for a file, either
    refuse_folder(store, path)
    data = store.read(path)
    return None if data is None else (path, data)


def run_at(args: Args, app: App) -> None:
    store = app.settled()
    commit = resolve(store, args.when)
    about: dict[str, object] = {"commit": commit, "date": read_records(store, [commit])[commit].committed}
    path = named_path(store, app, args.path) if args.path else None
    files = store.repository.files(commit, *([path] if path else [])) if args.list else ()
    if files:
        listed = [{"path": file.path, "bytes": file.size} for file in files]
        app.answer(about | {"files": listed}, plain("\n".join(file.path for file in files)))
        return
    path = path or MEMORY
    data = None if args.list else store.repository.read(commit, path)
    if data is None:
        raise NotFoundError(
            f"There was no {path} at {args.when}.", f"'gitmem at {commit[:SHORT]} --list' lists the files."
        )
    value = about | {"path": path, "text": data.decode("utf-8", "replace")}
    output.answer_bytes(app, value, data, f"show {commit[:SHORT]}:{path}")


FILES = "'gitmem at HEAD --list' lists the files."


def refuse_folder(store: Store, path: str) -> None:
    """Raise NotFoundError if a path is a folder."""
    if os.path.isdir(os.path.join(store.documents, path)):
        raise NotFoundError(f"{path} is a folder.", f"'gitmem at HEAD {path} --list' lists its files.")


def named_path(store: Store, app: App, text: str) -> str:
    """Return the path in the store for one relative to it or to the current folder in it; raises RefusedError."""
    here = app.path("")
    full = os.path.normpath(os.path.join(here, text))
    inside = _below(store, full)
    if inside is None and os.path.isabs(text):
        raise RefusedError(f"{text} is not in the store at {store.root}.", "Name a file of the store.")
    # In the store's folder `archive`, `memory.md` still means the memory.
    if inside is None or (_below(store, here) is not None and not os.path.lexists(full)):
        inside = text
    # gitmem writes names in this form; a keyboard or a file system may use another.
    return check_path(unicodedata.normalize("NFC", inside.rstrip("/")))


def _below(store: Store, full: str) -> str | None:
    """Return an absolute path relative to the store: "" for the store itself, None outside of it."""
    for root in (store.root, os.path.realpath(store.root)):
        if full == root:
            return ""
        if full.startswith(root + os.sep):
            return full[len(root) + 1 :].replace(os.sep, "/")
    return None


def show_fact(store: Store, known: Fact, app: App) -> None:
    """Print a fact with its origin, the facts it supersedes, and the places of its line."""
    fact = read_fact(store, known)
    text = marked(store, fact.text, fact.id)
    facts = {fact.id: fact for fact in facts_for(store, {known.id})}
    statuses = place_marks(store, [*facts.values()]).statuses
    known, status = as_it_stands(known, statuses), statuses[known.id]
    value = {**fact_value(known, status), "text": text, "origin": dict(fact.origin)}
    value |= fields(fact, "supersedes keywords forbids enforce")
    try:
        entry = find_entry(store, known.id)
    except NotFoundError:  # it has no line
        entry = None
    authors, is_broken = Authors(store), bool(fact.source) and fact.source != store.read(known.path)
    origin, whose = authors.origin(known.id), authors.others(known.id)
    value |= {"author": origin.author if origin else None, **fields(status, "standing successor?")}
    value["places"] = entry.places if entry else ()
    about = (
        ("kind", known.kind.word),
        ("status", fact_state(known, status)),
        ("in force", _standing(status, facts)),
        ("since", day_of(known.created)),
        ("came", str(origin or "")),
        ("whose", whose if origin and whose != origin.author else ""),
        ("confidence", "" if known.confidence is None else f"{known.confidence:g}"),
        ("origin", ", ".join(f"{key} {value}" for key, value in fact.origin.items())),
        ("said in", ", ".join(known.sources)),
        ("files", ", ".join(known.files)),
        ("as of", known.commit or ""),
        ("branch", known.branch),
        ("scope", ", ".join(known.scope)),
        ("supersedes", ", ".join(fact.supersedes)),
        ("forbids", ", ".join(f"`{literal}`" for literal in known.forbids) or _not_forbidden(known)),
        ("at calls", _at_calls(store, known, authors)),
        ("file", known.path + ", which cannot be read: this is what was committed last" * is_broken),
    )
    lines = [text, "", *(f"{name + ':':<12}{value}" for name, value in about if value)]
    lines += ["", *place_lines(entry)] if entry else []
    app.answer(value, plain("\n".join(lines)), "fact")


def _not_forbidden(fact: Fact) -> str:
    """For a fact that forbids in words alone, return that it stops no tool call and how it could; "" for others."""
    how = how_to_forbid(fact)
    return f"no command yet; to warn the agent of one: {how}" if how else ""


_AT_CALLS = {Decision.TELL: "warns once a session", Decision.ASK: "asks you each time", Decision.DENY: "refuses them"}


def _at_calls(store: Store, rule: Fact, authors: Authors) -> str:
    """Return what a rule does at the calls it forbids, and how often it did here, "" if it forbids nothing."""
    if not rule.forbids or authors.awaits(rule):
        return AWAITS if rule.forbids else ""
    number = firings_by_rule(store.private).get(rule.id, RuleCounts())
    ignored = f", ignored {count(number.ignored, 'time')}" * bool(number.fired)
    return f"{_AT_CALLS[decision_of(rule)]}; {count(number.fired, 'time')} so far on this machine{ignored}"


def _standing(status: Status, facts: Mapping[str, Fact]) -> str:
    """Return whether a fact is in force, with its successor or the facts that contradict it."""
    others = (status.successor,) if status.successor else status.disputes
    named = "; ".join(f"{name} {facts[name].description}" for name in others)
    place = f", {status.place}" if status.place else ""
    if status.is_in_force:
        return f"yes, but it contradicts {named}{place}" if named else f"yes{place}"
    since = f" since {status.since:%Y-%m-%d}" if status.since else ""
    return f"no, {status.standing}{since}{f', by {named}' if named else ''}{place}"


def fact_value(fact: Fact, status: Status | None = None) -> dict[str, object]:
    """Return a fact for JSON; `stale` lists its changed files, `place` says where it applies, as its mark."""
    return {
        **fields(fact, "id kind status description created updated confidence sources files commit? branch? scope"),
        "stale": status.stale if status else (),
        "place": str(status.place) if status and status.place else None,
        **fields(fact, "review superseded_by? path"),
    }


def as_it_stands(fact: Fact, statuses: Mapping[str, Status]) -> Fact:
    """Return a fact without settled contradictions that are still in its file."""
    return fact._replace(review=statuses[fact.id].disputes) if fact.id in statuses else fact


def fact_state(fact: Fact, status: Status | None = None) -> str:
    """Return the state of a fact in words."""
    words = "in force" if fact.status == "active" else fact.status
    words += f" by {fact.superseded_by}" if fact.superseded_by else ""
    words += f", contradicts {', '.join(fact.review)}" if fact.review else ""
    words += ", pinned" * fact.pinned
    return f"{words}, {status.place}" if status and status.place else words


def run_why(args: Args, app: App) -> None:
    store = app.settled()
    code = store.code()
    if code is None:
        raise NotFoundError(
            "This project has no git repository, so nothing says who wrote a line.",
            "'gitmem search' looks for words instead.",
        )
    if args.text is not None and args.where:
        raise UsageError("gitmem why takes a place or -S TEXT, not both.", "'gitmem why --help' shows how.")
    if not args.text and not args.where:
        raise UsageError("gitmem why takes PATH:LINE, a path, a commit, or -S TEXT.", "'gitmem why --help' shows how.")
    blaming = blaming_place(code, args.where, app.path) if args.where else None
    # Import while git works: both take most of this command's time.

    whys = why_place(store, code, args.where, blaming) if args.where else why_text(store, code, args.text)
    shown = reasons(store, whys)
    app.answer([as_value(store, reason) for reason in shown], as_text(store, shown), "why")
