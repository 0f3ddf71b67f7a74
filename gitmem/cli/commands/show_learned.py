"""Show an episode or a bug pattern."""

from __future__ import annotations

from gitmem.cli.app import App
from gitmem.document.ids import id_in
from gitmem.errors import NotFoundError
from gitmem.model.edits import PLACE
from gitmem.model.episode import Episode
from gitmem.model.pattern import BugPattern
from gitmem.search.hits import named
from gitmem.store.episodes import episode_paths, read_episode
from gitmem.store.known_patterns import known_patterns
from gitmem.store.store import Store
from gitmem.tell.known_errors import counts
from gitmem.tell.usage_log import Count
from gitmem.text.sentences import age, count
from gitmem.text.terminal import fields, plain

_SHORTEST = 4  # characters of an episode's id


def show_episode(store: Store, prefix: str, app: App) -> None:
    """Print the episode whose id begins with a text, with what its task took."""
    episode, path = find_episode(store, prefix)
    body = named(store, (store.read(path) or b"").decode("utf-8", "replace"), path)
    value = {**episode_value(episode, path, counts(store).get(episode.id, Count())), "text": body}
    app.answer(value, plain("\n\n".join(filter(None, (body.rstrip(), _took(episode), path)))), "episode")


def find_episode(store: Store, prefix: str) -> tuple[Episode, str]:
    """Return the episode whose id begins with a text, and its path.

    Raises NotFoundError if there is none, or there are several.
    """
    wanted = prefix.strip().removeprefix("^").casefold()
    paths = [path for path in episode_paths(store) if id_in(path).startswith(wanted)]
    ids = {*map(id_in, paths)}  # a plain git merge may leave two files of one episode
    episode = read_episode(store, paths[0]) if len(ids) == 1 and len(wanted) >= _SHORTEST else None
    if episode is None:
        reason = "More than one episode begins" if len(ids) > 1 else "There is no episode that begins"
        raise NotFoundError(f"{reason} with {prefix[:80]!r}.", "'gitmem episodes list' lists them with their ids.")
    return episode, paths[0]


def show_pattern(store: Store, prefix: str, app: App) -> None:
    """Print the bug pattern whose id begins with a text."""
    patterns = known_patterns(store)
    these = [one for one in patterns if one.id.startswith(prefix.strip().removeprefix("^").casefold())]
    if len(these) != 1:
        raise NotFoundError(
            f"There is {'more than one' if these else 'no'} pattern {prefix[:80]!r}.",
            "'gitmem patterns list' lists them with their ids.",
        )
    pattern = these[0]
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
        "cases": [fields(case, "exchange at command changed worked fix cause seconds") for case in pattern.cases],
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
