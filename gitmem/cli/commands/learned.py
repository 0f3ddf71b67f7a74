"""Show what was learned from sessions (concepts, episodes, patterns, knowledge), advice, and the current task."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from gitmem.cli.app import OWN, App
from gitmem.cli.arguments import Args
from gitmem.cli.output import table
from gitmem.document.document import Document
from gitmem.document.ids import find_named, id_in
from gitmem.errors import NotFoundError, UsageError
from gitmem.history.authors import Authors
from gitmem.history.sessions import named_session
from gitmem.learn.concepts import find_concept
from gitmem.learn.lessons import known_knowledge, learn_project
from gitmem.model.concept import Concept
from gitmem.model.episode import Episode, ending
from gitmem.model.events import PLACE
from gitmem.model.outcome import Outcome
from gitmem.model.pattern import BugPattern
from gitmem.model.project_knowledge import Knowledge, KnowledgeKind, command_lines, read_commands
from gitmem.model.request import TaskType
from gitmem.model.working import WorkingMemory
from gitmem.record.working_memory import brief, change_working, find_working, requested_change
from gitmem.search.hits import named
from gitmem.store.learned import episode_paths, known_concepts, known_patterns, newest_episodes, read_episode
from gitmem.store.store import Store
from gitmem.tell.guide import as_text, guide
from gitmem.tell.known_errors import counts
from gitmem.tell.outcome_counts import judge
from gitmem.tell.similar_episodes import similar
from gitmem.tell.usage_log import Count
from gitmem.text.sentences import age, count
from gitmem.text.terminal import fields, plain


def show_episode(store: Store, prefix: str, app: App) -> None:
    """Print the episode whose id begins with a text, with the time and tokens of its task."""
    episode, path = find_episode(store, prefix)
    body = named(store, (store.read(path) or b"").decode("utf-8", "replace"), path)
    value = {**episode_value(episode, path, counts(store).get(episode.id, Count())), "text": body}
    app.answer(value, plain("\n\n".join(filter(None, (body.rstrip(), _took(episode), path)))), "episode")


def find_episode(store: Store, prefix: str) -> tuple[Episode, str]:
    """Return the only episode whose id begins with a text, and its path; raises NotFoundError."""
    paths = {id_in(path): path for path in episode_paths(store)}  # a plain git merge may leave two files of one episode
    path = paths[_named(prefix, paths, "episode", "'gitmem episodes list' lists them with their ids.")]
    episode = read_episode(store, path)
    if episode is None:
        raise NotFoundError(f"{path} cannot be read as an episode.", "'gitmem doctor' names the line that is wrong.")
    return episode, path


def _named(prefix: str, ids: Iterable[str], noun: str, remedy: str) -> str:
    """Return the only id that begins with a text; raises NotFoundError."""
    return find_named(prefix.strip().removeprefix("^").casefold(), ((key, key) for key in ids), noun, remedy)


def show_pattern(store: Store, prefix: str, app: App) -> None:
    """Print the bug pattern whose id begins with a text."""
    patterns = {pattern.id: pattern for pattern in known_patterns(store)}
    pattern = patterns[_named(prefix, patterns, "pattern", "'gitmem patterns list' lists them with their ids.")]
    text = named(store, "\n".join(_pattern_lines(pattern)), pattern.path)
    app.answer(pattern_value(pattern), plain(text), "pattern")


def episode_value(episode: Episode, path: str, count: Count) -> dict[str, object]:
    """Return an episode as JSON with stable keys."""
    return {
        **fields(episode, "id task type"),
        "outcome": episode.outcome.value if episode.outcome else "",
        **fields(episode, "created files exchanges seconds tokens mended_in"),
        "told": count.retrieved,
        "usefulness": round(count.usefulness, 4),
        "path": path,
    }


def pattern_value(pattern: BugPattern) -> dict[str, object]:
    """Return a bug pattern as JSON with stable keys."""
    solutions = [
        {**solution._asdict(), "success_rate": solution.success_rate, "confidence": solution.confidence}
        for solution in pattern.solutions
    ]
    return {
        "id": pattern.id,
        "error": fields(pattern.error, "type message"),
        **fields(pattern, "created updated seen commands files causes"),
        "cases": pattern.cases,
        "solutions": solutions,
        **fields(pattern, "stale path"),
    }


def _took(episode: Episode) -> str:
    """Return the time and tokens of a task in words, "" if neither is known."""
    took = [age(episode.seconds)] if episode.seconds else []
    took += [count(episode.tokens, "token")] if episode.tokens else []
    fixed = f"; its errors were fixed within {age(episode.mended_in)}" if episode.mended_in else ""
    return f"Took {' and '.join(took)}{fixed}." if took else ""


def _pattern_lines(pattern: BugPattern) -> list[str]:
    lines = [pattern.title, ""]
    lines.append(f"Seen in {count(len(pattern.seen), 'exchange')}, last on {pattern.updated:%Y-%m-%d}.")
    lines += [f"Files: {', '.join(pattern.files)}"] if pattern.files else []
    lines += ["The files have changed a lot since."] if pattern.stale else []
    for case in reversed(pattern.cases):
        lines += ["", f"{case.at:%Y-%m-%d %H:%M} {case.exchange}" + (f": `{case.command}` failed" * bool(case.command))]
        lines += [f"  Cause: {case.cause}"] * bool(case.cause)
        lines += [f"  {change if change.startswith(PLACE) else f'`{change}`'}" for change in case.changed]
        took = f" after {age(case.seconds)}" if case.seconds else ""
        lines += [f"  then worked{took}: `{case.worked}`"] * bool(case.worked)
        lines += [f"  Fixed by: {case.fix}"] * bool(case.fix)
    return [*lines, "", f"{pattern.id}, in {pattern.path}"]


_DAY = 10  # characters of a moment that are its date


def run_learned(_: Args, app: App) -> None:
    store = app.settled()
    episodes = newest_episodes(store, 0)[0]
    numbers = {
        "episodes": len(episodes),
        "patterns": len(known_patterns(store)),
        "concepts": len(known_concepts(store)),
        "knowledge": len(_known(store)),
    }
    rows = [(name, f"{number:,}", f"gitmem {name}") for name, number in numbers.items()]
    app.answer(numbers, table(rows), OWN)


def run_concepts(args: Args, app: App) -> None:
    store = app.settled()
    if args.action == "list":
        concepts = sorted(known_concepts(store), key=lambda concept: (concept.exchanges[-1:], concept.id))
        rows = [
            f"{concept.id}  {concept.updated[:_DAY]}  {len(concept.exchanges):>4}  {concept.name}"
            for concept in concepts
        ]
        text = plain("\n".join(rows)) or "No concepts yet: they are made when a session ends."
        app.answer([_value(concept) for concept in concepts], text, "concepts" if concepts else "")
        return
    concept = find_concept(store, args.concept)
    body = named(store, Document.parse(store.read(concept.path) or b"").body, concept.path)
    text = plain(f"{body.rstrip()}\n\n{concept.id}, in {concept.path}")
    app.answer({**_value(concept), "text": body}, text, f"concept {concept.id}")


def _value(concept: Concept) -> dict[str, object]:
    return fields(concept, "id name created updated keywords files exchanges path")


_LIMIT = 20


def run_episodes(args: Args, app: App) -> None:
    store = app.settled()
    all_counts = counts(store)
    if args.action == "list":
        episodes, more = newest_episodes(store, _LIMIT if args.limit is None else args.limit)
        text = (
            "\n".join(_row(episode) for episode, _ in episodes) or "No episodes yet: they are made when a session ends."
        )
        values = [episode_value(episode, path, all_counts.get(episode.id, Count())) for episode, path in episodes]
        aside = f"These are the newest {len(episodes)} episodes; -n 0 lists all." if more and args.limit is None else ""
        app.answer(values, plain(text), "episodes" if episodes else "", aside=(aside,))
        return
    if args.action == "find":
        _find(store, args, app)
        return
    if args.action == "show":
        show_episode(store, args.episode, app)
        return
    episode, path = find_episode(store, args.episode)
    helped = args.action == "good"
    commit = judge(store, episode.id, helped=helped)
    now, what = counts(store)[episode.id], "helped" if helped else "did not help"
    message = f"Noted that {episode.id} {what}: its usefulness is {now.usefulness:.2f}."
    app.answer({**episode_value(episode, path, now), "commit": commit}, message, OWN)


def _find(store: Store, args: Args, app: App) -> None:
    """Print the episodes similar to a task, or with an error."""
    text, error = " ".join(args.text), app.read_output(args.error)
    is_filtered = bool(text.strip() or args.file or args.type or args.outcome)
    if not (is_filtered or error.strip()):
        raise UsageError("There is nothing to find.", "gitmem episodes find 'add retries', or --error FILE")
    kind, outcome = TaskType(args.type) if args.type else None, Outcome(args.outcome) if args.outcome else None
    episodes = similar(store, text, files=args.file, error=error, type=kind, outcome=outcome, limit=max(args.limit, 1))
    values = [
        episode_value(episode.episode, episode.path, episode.count) | fields(episode, "score likeness")
        for episode in episodes
    ]
    text, aside = "\n".join(_row(episode.episode) for episode in episodes), "" if episodes else "No episode matches."
    app.answer(values, plain(text), "episodes", aside=(aside,))


def _row(episode: Episode) -> str:
    return f"{episode.id}  {episode.created:%Y-%m-%d}  {ending(episode):11}  {episode.task}"


def run_patterns(args: Args, app: App) -> None:
    store = app.settled()
    if args.action == "list":
        patterns = known_patterns(store)
        rows = []
        for pattern in patterns:
            fix, stale = f" → {best.text}" if (best := pattern.best()) else "", " (stale)" * pattern.stale
            rows.append(
                f"{pattern.id}  {pattern.updated:%Y-%m-%d}  {len(pattern.seen):>3}  {pattern.title}{fix}{stale}"
            )
        text = "\n".join(rows) or "No errors are known yet: they are learned when a session ends."
        app.answer([pattern_value(pattern) for pattern in patterns], plain(text), "patterns" if patterns else "")
        return
    show_pattern(store, args.pattern, app)


def run_knowledge(args: Args, app: App) -> None:
    store = app.settled()
    if args.learn:
        learn_project(store)
    documents = [(known, lines) for known, lines in _known(store) if args.kind in (None, known.kind.value)]
    authors = Authors(store)
    whose = {known.kind: authors.others("", known.kind.path) for known, _ in documents}
    texts = (_text(known, lines, whose[known.kind], sources=bool(args.kind)) for known, lines in documents)
    text = "\n\n".join(texts)
    empty = "Nothing is known yet. 'gitmem knowledge --learn' reads the project now."
    if args.learn:
        empty = "Nothing to learn was found: no manifest, no code, and no command that was run twice."
    values = [{**_knowledge_value(known, lines), "author": whose[known.kind] or None} for known, lines in documents]
    app.answer(values, plain(text or empty), "knowledge" if text else "")


def _known(store: Store) -> list[tuple[Knowledge, Sequence[str]]]:
    """Return what is known of the project, with its lines."""
    matches = [
        (known, command_lines([*read_commands(data).values()], counted=True) or known.lines)
        if known.kind is KnowledgeKind.COMMANDS
        else (known, known.lines)
        for known, data in known_knowledge(store)
    ]
    return [(known, lines) for known, lines in matches if lines]


def _knowledge_value(known: Knowledge, lines: Sequence[str]) -> dict[str, object]:
    return {
        "kind": known.kind.value,
        "lines": lines,
        **fields(known, "files sources confidence commit updated"),
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


def run_guide(args: Args, app: App) -> None:
    task, error = " ".join(args.task), app.read_output(args.error)
    if not (task.strip() or error.strip()):
        raise UsageError("There is no task and no error.", "gitmem guide 'add retries', or gitmem guide --error FILE")
    store = app.settled()
    guidance = guide(store, task, error=error, session=named_session(store, args.session))
    aside = "" if guidance.lines else "No memory clearly matches."
    app.answer(guidance, plain(as_text(guidance, user=not app.for_agent())), "guide", aside=(aside,))


_REF_NAME = "cli"  # the session of a user who begins a task without an agent


def run_task(args: Args, app: App) -> None:
    store = app.settled()
    try:
        session = find_working(store, args.session).session
    except NotFoundError:
        if args.act != "start":
            raise
        session = args.session or _REF_NAME
    if args.act == "show":
        memory = find_working(store, session)
    else:
        memory = change_working(store, session, _change(args, app.context().clock().isoformat()))
    text = f"Session {memory.session}\n{brief(memory) or 'Nothing yet.'}"
    app.answer({**memory._asdict(), "pending": memory.pending}, plain(text), "task")


def _change(args: Args, at: str) -> Callable[[WorkingMemory], WorkingMemory]:
    """Return the change that the command line asks for."""
    act, text = args.act, " ".join(args.text)
    if act not in {"complete", "abandon"} and not text.strip():
        raise UsageError(f"'gitmem task {act}' needs a text.", "'gitmem task --help' shows examples.")
    return requested_change(
        act, text, at, steps=args.text, sure=args.confidence, why=args.why, lists="'gitmem task' lists them."
    )
