"""What lasts: facts, and what was learned from sessions (concepts, episodes, patterns, knowledge)."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

from gitmem.cli.app import OWN, App
from gitmem.cli.commands.show import (
    as_it_stands,
    episode_value,
    fact_state,
    fact_value,
    find_episode,
    pattern_value,
    show_episode,
    show_fact,
    show_pattern,
)
from gitmem.cli.output import table
from gitmem.document.document import Document
from gitmem.document.entry import MemoryType, clean_tag, clean_text
from gitmem.errors import RefusedError, UsageError
from gitmem.facts.edit import act_on, find_fact, retire
from gitmem.facts.fact import Fact, FactKind
from gitmem.facts.lines import Marks
from gitmem.history.authors import People, named
from gitmem.lessons.concepts import Concept, find_concept, known_concepts, merge, split
from gitmem.lessons.episode import Episode, ending, newest_episodes, similar
from gitmem.lessons.known_errors import counts, known_patterns
from gitmem.lessons.learn import known_knowledge, learn_project
from gitmem.lessons.outcome_counts import judge
from gitmem.lessons.project_knowledge import Knowledge, KnowledgeKind, command_lines, read_commands
from gitmem.lessons.usage_log import Count
from gitmem.sessions.outcome import Outcome
from gitmem.sessions.save import save_text
from gitmem.sessions.turns import TaskType
from gitmem.store.known_facts import known_facts, known_marks, standing_of
from gitmem.store.store import Store
from gitmem.text.sentences import count
from gitmem.text.terminal import fields, plain

_KINDS = ("decision", "preference", "rule", "solution", "core-logic", "pattern", "issue")


def run_facts(args: argparse.Namespace, app: App) -> None:
    act = {"list": _list, "add": _add}.get(args.action, _show_or_change)
    with app.waiting():
        act(app.settled(args), args, app)


def _show_or_change(store: Store, args: argparse.Namespace, app: App) -> None:
    known = find_fact(store, args.fact)
    if args.action == "show":
        show_fact(store, known, args, app)
        return
    before = {fact.id: fact for fact in known_facts(store)}
    text = str(getattr(args, "text", ""))
    commits = act_on(store, args.action, known, app.stdin.read() if (args.action, text) == ("edit", "-") else text)
    again = find_fact(store, known.id)
    value = {**fact_value(again), "commits": list(commits)}
    text = _told(store, before, again) if commits else f"{again.id} was {fact_state(again)} already."
    app.answer(args, value, text)


def _told(store: Store, before: Mapping[str, Fact], fact: Fact) -> str:
    """Return a report on the facts that an act changed."""
    now = known_facts(store)
    statuses = standing_of(store, now)
    lines = [f"{fact.id} is {fact_state(as_it_stands(fact, statuses))} now: {fact.description}"]
    if fact.description != before[fact.id].description:
        lines.append(f"  It said: {before[fact.id].description}")
    for other in (as_it_stands(one, statuses) for one in now):
        was = before.get(other.id)
        if was is not None and other.id != fact.id and other.status != was.status:
            lines.append(f"  {other.id} is {fact_state(other)} now: {other.description}")
    others = "; other machines after the next sync" if store.has_remotes() else ""
    lines.append(f"Sessions and searches go by this from now on{others}.")
    return plain("\n".join(lines))


def _add(store: Store, args: argparse.Namespace, app: App) -> None:
    text = app.stdin.read() if args.text == "-" else args.text
    if not clean_text(text):
        raise RefusedError("There is no fact to add: the text is empty.", "Give it as an argument or on stdin.")
    try:
        tags = tuple(clean_tag(tag) for tag in args.tag)
    except ValueError as error:
        raise RefusedError(f"The tag is refused: {error}.") from None
    store = store.for_session(app.session())
    saved = save_text(store, text, MemoryType(args.kind), tags, host="cli")
    app.notices(saved.notices)
    fact = find_fact(store, saved.id)
    value = {**fact_value(fact), "commits": [saved.commit] if saved.commit else []}
    app.answer(args, value, f"{fact.id} is {fact_state(fact)} now.", OWN)


def _list(store: Store, args: argparse.Namespace, app: App) -> None:
    every = known_facts(store)
    statuses = standing_of(store, every)
    facts = [as_it_stands(fact, statuses) for fact in every if args.all or statuses[fact.id].holds]
    facts = [fact for fact in facts if args.kind in (None, fact.kind)]
    facts = [fact for fact in facts if statuses[fact.id].stale or not args.stale]
    facts.sort(key=lambda fact: (_KINDS.index(fact.kind), fact.created, fact.id))
    people = People(store)
    authors = {fact.id: people.whose(fact.id) for fact in facts}
    text = (
        _table(facts, authors, known_marks(store))
        if facts
        else _nothing(args, len(every), in_git=store.code() is not None)
    )
    values = [{**fact_value(fact, statuses[fact.id]), "author": authors[fact.id] or None} for fact in facts]
    app.answer(args, values, text, "facts" if facts else "")


def _nothing(args: argparse.Namespace, known: int, *, in_git: bool) -> str:
    if args.stale:
        return (
            "No fact is stale."
            if in_git
            else "The project is not a git repository, so gitmem cannot tell which facts are stale."
        )
    if known and not args.all:
        return f"No fact{' of this kind' if args.kind else ''} holds now: --all lists those that ended."
    if args.kind:
        return f"There is no fact of the kind {args.kind}."
    return "No facts yet: `gitmem facts add` adds one, others are learned from sessions."


def _table(found: Sequence[Fact], authors: Mapping[str, str], marks: Marks) -> str:
    lines: list[str] = []
    kind = ""
    for fact in found:
        if fact.kind != kind:
            kind = fact.kind
            lines += ["", f"{kind}:"] if lines else [f"{kind}:"]
        note = f"  (by {authors[fact.id]})" if authors[fact.id] else ""
        words = ", ".join(filter(None, ("pinned" * fact.pinned, marks.mark(fact.id))))
        mark = f" [{words}]" if words else ""
        lines.append(f"  {fact.id}  {fact.created:%Y-%m-%d}  {fact.description}{mark}{note}")
    return plain("\n".join(lines))


def run_resolve(args: argparse.Namespace, app: App) -> None:
    store = app.settled(args)
    fact = find_fact(store, args.issue)
    if fact.kind != FactKind.ISSUE:
        raise RefusedError(f"{fact.id} is no issue, but a {fact.kind}.", f"'gitmem facts retire {fact.id}' ends it.")
    with app.waiting():
        commits = retire(store, fact, args.how) if fact.binds else ()
    value = {"id": fact.id, "status": "resolved", "commits": list(commits)}
    app.answer(args, value, f"{fact.id} is resolved{'' if commits else ' already'}.", OWN)


_DAY = 10  # characters of a moment that are its date


def run_learned(args: argparse.Namespace, app: App) -> None:
    store = app.settled(args)
    episodes, _ = newest_episodes(store, 0)
    numbers = {
        "episodes": len(episodes),
        "patterns": len(known_patterns(store)),
        "concepts": len(known_concepts(store)),
        "knowledge": len(_known(store)),
    }
    rows = [(name, f"{number:,}", f"gitmem {name}") for name, number in numbers.items()]
    app.answer(args, numbers, table(rows), OWN)


def run_concepts(args: argparse.Namespace, app: App) -> None:
    store = app.settled(args)
    if args.action == "list":
        concepts = sorted(known_concepts(store), key=lambda one: (one.exchanges[-1:], one.id))
        rows = [f"{one.id}  {one.updated[:_DAY]}  {len(one.exchanges):>4}  {one.name}" for one in concepts]
        text = plain("\n".join(rows)) or "No concepts yet: they are made when a session ends."
        app.answer(args, [_value(one) for one in concepts], text, "concepts" if concepts else "")
        return
    concept = find_concept(store, args.concept)
    if args.action == "show":
        body = named(store, Document.parse(store.read(concept.path) or b"").body, concept.path)
        text = plain(f"{body.rstrip()}\n\n{concept.id}, in {concept.path}")
        app.answer(args, {**_value(concept), "text": body}, text, f"concept {concept.id}")
        return
    if args.action == "merge":
        commits = merge(store, concept, find_concept(store, args.other))
    else:
        commits = split(store, concept, args.exchanges, args.name)
    again = find_concept(store, concept.id)
    size = count(len(again.exchanges), "exchange")
    text = f"{again.name} has {size} now." if commits else f"{again.name} is one concept already."
    app.answer(args, {**_value(again), "commits": list(commits)}, text)


def _value(concept: Concept) -> dict[str, object]:
    return fields(concept, "id name created updated keywords files exchanges path")


_LIMIT = 20


def run_episodes(args: argparse.Namespace, app: App) -> None:
    store = app.settled(args)
    all_counts = counts(store)
    if args.action == "list":
        found, more = newest_episodes(store, _LIMIT if args.limit is None else args.limit)
        text = "\n".join(_row(one) for one, _ in found) or "No episodes yet: they are made when a session ends."
        values = [episode_value(one, path, all_counts.get(one.id, Count())) for one, path in found]
        app.answer(args, values, plain(text), "episodes" if found else "")
        if more and args.limit is None and not args.json:
            app.notices((f"These are the newest {len(found)} episodes; -n 0 lists all.",))
        return
    if args.action == "find":
        _find(store, args, app)
        return
    if args.action == "show":
        show_episode(store, args.episode, args, app)
        return
    episode, path = find_episode(store, args.episode)
    helped = args.action == "good"
    commit = judge(store, episode.id, helped=helped)
    now, what = counts(store)[episode.id], "helped" if helped else "did not help"
    message = f"Noted that {episode.id} {what}: its usefulness is {now.usefulness:.2f}."
    app.answer(args, {**episode_value(episode, path, now), "commit": commit}, message, OWN)


def _find(store: Store, args: argparse.Namespace, app: App) -> None:
    """Print the episodes like a task, or with an error."""
    text, error = " ".join(args.text), app.read_output(args, args.error)
    given = bool(text.strip() or args.file or args.type or args.outcome)
    if not (given or error.strip()):
        raise UsageError("There is nothing to find.", "gitmem episodes find 'add retries', or --error FILE")
    kind, outcome = TaskType(args.type) if args.type else None, Outcome(args.outcome) if args.outcome else None
    found = similar(store, text, files=args.file, error=error, type=kind, outcome=outcome, limit=max(args.limit, 1))
    values = [
        {**episode_value(one.episode, one.path, one.count), "score": one.score, "likeness": one.likeness}
        for one in found
    ]
    app.answer(args, values, plain("\n".join(_row(one.episode) for one in found)), "episodes")
    if not found and not args.json:
        app.notices(("No episode matches.",))


def _row(episode: Episode) -> str:
    return f"{episode.id}  {episode.created:%Y-%m-%d}  {ending(episode):11}  {episode.task}"


def run_patterns(args: argparse.Namespace, app: App) -> None:
    store = app.settled(args)
    if args.action == "list":
        patterns = known_patterns(store)
        rows = []
        for pattern in patterns:
            mend, stale = f" → {best.text}" if (best := pattern.best()) else "", " (stale)" * pattern.stale
            rows.append(
                f"{pattern.id}  {pattern.updated:%Y-%m-%d}  {len(pattern.seen):>3}  {pattern.title}{mend}{stale}"
            )
        text = "\n".join(rows) or "No errors are known yet: they are learned when a session ends."
        app.answer(args, [pattern_value(one) for one in patterns], plain(text), "patterns" if patterns else "")
        return
    show_pattern(store, args.pattern, args, app)


def run_knowledge(args: argparse.Namespace, app: App) -> None:
    store = app.settled(args)
    if args.learn:
        learn_project(store)
    documents = [(known, lines) for known, lines in _known(store) if args.kind in (None, known.kind.value)]
    people = People(store)
    whose = {known.kind: people.whose("", known.kind.path) for known, _ in documents}
    texts = (_text(known, lines, whose[known.kind], sources=bool(args.kind)) for known, lines in documents)
    text = "\n\n".join(texts)
    empty = "Nothing is known yet. 'gitmem knowledge --learn' reads the project now."
    if args.learn:
        empty = "Nothing to learn was found: no manifest, no code, and no command that was run twice."
    values = [{**_knowledge_value(known, lines), "author": whose[known.kind] or None} for known, lines in documents]
    app.answer(args, values, plain(text or empty), "knowledge" if text else "")


def _known(store: Store) -> list[tuple[Knowledge, Sequence[str]]]:
    """Return what is known of the project, with its lines."""
    found = [
        (known, command_lines([*read_commands(data).values()], counted=True) or known.lines)
        if known.kind is KnowledgeKind.COMMANDS
        else (known, known.lines)
        for known, data in known_knowledge(store)
    ]
    return [(known, lines) for known, lines in found if lines]


def _knowledge_value(known: Knowledge, lines: Sequence[str]) -> dict[str, object]:
    return {
        "kind": known.kind.value,
        "lines": list(lines),
        **fields(known, "files sources confidence commit"),
        "updated": known.updated.isoformat() if known.updated else None,
        "path": known.kind.path,
    }


def _text(known: Knowledge, lines: Sequence[str], author: str, *, sources: bool) -> str:
    day = f", {known.updated:%Y-%m-%d}" if known.updated else ""
    by = f", by {author}" if author else ""
    text = [
        f"{known.kind.value.capitalize()} (confidence {known.confidence:.1f}{day}{by})",
        *(f"  {line}" for line in lines),
    ]
    if sources:
        learned = [*known.files, *known.sources]
        text += ["", *([f"Learned from: {' '.join(learned)}"] if learned else [])]
        text.append(f"In {known.kind.path}")
    return "\n".join(text)
