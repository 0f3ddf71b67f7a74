"""Documents as a command line names them, and episodes and bug patterns as JSON and as text."""

from __future__ import annotations

import os
import unicodedata
from typing import TYPE_CHECKING

from gitmem.document.ids import ARCHIVE, check_path, id_in
from gitmem.errors import NotFoundError, RefusedError
from gitmem.text.terminal import fields, plain

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.app import App
    from gitmem.lessons.counts import Count
    from gitmem.lessons.episode import Episode
    from gitmem.lessons.pattern import BugPattern
    from gitmem.store.store import Store

_SHORTEST = 4  # characters of an episode's id
FILES = "'gitmem at HEAD --list' lists the files."


def refuse_folder(store: Store, path: str) -> None:
    """Refuse a path that is a folder.

    Raises:
        NotFoundError: it is.

    """
    if os.path.isdir(os.path.join(store.root, path)):
        raise NotFoundError(f"{path} is a folder.", f"'gitmem at HEAD {path} --list' lists its files.")


def named_path(store: Store, args: argparse.Namespace, app: App, text: str) -> str:
    """Return a path relative to the store for one that is relative to the store, or to the current folder inside it.

    Raises:
        RefusedError: it leads out of the store, or gitmem would not write a file of this name.

    """
    here = os.path.normpath(os.path.abspath(app.folder(args)))
    full = os.path.normpath(os.path.join(here, text))
    inside = _below(store, full)
    if inside is None and os.path.isabs(text):
        raise RefusedError(f"{text} is not in the store at {store.root}.", "Name a file of the store.")
    # In the store's folder `archive`, `memory.md` is still the memory.
    if inside is None or (_below(store, here) is not None and not os.path.lexists(full)):
        inside = text
    # Names that gitmem writes are in this form; a keyboard or a file system may have given another.
    return check_path(unicodedata.normalize("NFC", inside.rstrip("/")))


def _below(store: Store, full: str) -> str | None:
    """Return an absolute path relative to the store: "" for the store itself, None outside of it."""
    for root in (store.root, os.path.realpath(store.root)):
        if full == root:
            return ""
        if full.startswith(root + os.sep):
            return full[len(root) + 1 :].replace(os.sep, "/")
    return None


def find_archive(store: Store, name: str | None) -> str:
    """Return the path of an archive named by its path, its name or its summary's; without a name the newest.

    Raises:
        NotFoundError: the work tree has none of that name, or no archive at all.

    """
    from gitmem.archives.archives import archive_summaries

    paths = [item.archive for item in archive_summaries(store)]
    if not paths:
        raise NotFoundError(
            "There is no archive yet.", "The first rotation makes one: 'gitmem status' shows how full memory.md is."
        )
    if name is None:
        return paths[-1]
    bare = name.replace("\\", "/").rpartition("/")[2].removesuffix(".md").removesuffix(".summary")
    path = f"{ARCHIVE}/{bare}.md"
    if path not in paths:
        raise NotFoundError(f"There is no archive {name[:100]!r}.", "'gitmem summary list' lists them.")
    return path


def show_episode(store: Store, prefix: str, args: argparse.Namespace, app: App) -> None:
    """Print the episode whose id begins with a text, with what its task took."""
    from gitmem.history.named import named
    from gitmem.lessons.counts import Count
    from gitmem.lessons.read import counts

    episode, path = find_episode(store, prefix)
    body = named(store, (store.read(path) or b"").decode("utf-8", "replace"), path)
    value = {**episode_value(episode, path, counts(store).get(episode.id, Count())), "text": body}
    app.answer(args, value, plain("\n\n".join(filter(None, (body.rstrip(), _took(episode), path)))), "episode")


def find_episode(store: Store, prefix: str) -> tuple[Episode, str]:
    """Return the episode whose id begins with a text, and its path.

    Raises:
        NotFoundError: there is none, or there are several.

    """
    from gitmem.lessons.read import episode_paths, read_episode

    wanted = prefix.strip().removeprefix("^").casefold()
    paths = [path for path in episode_paths(store) if id_in(path).startswith(wanted)]
    ids = {*map(id_in, paths)}  # a plain git merge may have left two files of one
    episode = read_episode(store, paths[0]) if len(ids) == 1 and len(wanted) >= _SHORTEST else None
    if episode is None:
        reason = "More than one episode begins" if len(ids) > 1 else "There is no episode that begins"
        raise NotFoundError(f"{reason} with {prefix[:80]!r}.", "'gitmem episodes list' lists them with their ids.")
    return episode, paths[0]


def show_pattern(store: Store, prefix: str, args: argparse.Namespace, app: App) -> None:
    """Print the bug pattern whose id begins with a text, with the time until it was mended.

    Raises:
        NotFoundError: there is none, or there are several.

    """
    from statistics import mean

    from gitmem.history.named import named
    from gitmem.lessons.read import episode_paths, known_patterns, read_episode

    found = known_patterns(store)
    these = [one for one in found if one.id.startswith(prefix.strip().removeprefix("^").casefold())]
    if len(these) != 1:
        raise NotFoundError(
            f"There is {'more than one' if these else 'no'} pattern {prefix[:80]!r}.",
            "'gitmem patterns list' lists them with their ids.",
        )
    pattern = these[0]
    paths = (path for path in episode_paths(store) if id_in(path) in pattern.episodes)
    times = [one.mended_in for path in paths if (one := read_episode(store, path)) and one.mended_in]
    seconds = mean(times) if times else None
    value = {**pattern_value(pattern), "mended_in": seconds}
    text = named(store, "\n".join(_pattern_lines(pattern, seconds)), pattern.path)
    app.answer(args, value, plain(text), "pattern")


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
        {**one._asdict(), "success_rate": one.success_rate, "confidence": one.confidence} for one in pattern.solutions
    ]
    error = pattern.error
    return {
        "id": pattern.id,
        "error": {"type": error.type, "message": error.message, "frames": error.frames},
        **fields(pattern, "created updated seen commands files"),
        "causes": [one._asdict() for one in pattern.causes],
        "solutions": solutions,
        "stale": pattern.stale,
        "path": pattern.path,
    }


def _took(episode: Episode) -> str:
    """Return what a task took in words, "" if nothing is known."""
    from gitmem.text.sentences import age, count

    took = [age(episode.seconds)] if episode.seconds else []
    took += [count(episode.tokens, "token")] if episode.tokens else []
    mended = f"; its errors were mended within {age(episode.mended_in)}" if episode.mended_in else ""
    return f"Took {' and '.join(took)}{mended}." if took else ""


def _pattern_lines(pattern: BugPattern, seconds: float | None) -> list[str]:
    from gitmem.text.sentences import age, count

    lines = [pattern.title, ""]
    lines.append(f"Seen in {count(len(pattern.seen), 'exchange')}, last on {pattern.updated:%Y-%m-%d}.")
    lines += [f"Came with: {', '.join(pattern.commands)}"] if pattern.commands else []
    lines += [f"Files: {', '.join(pattern.files)}"] if pattern.files else []
    lines += [f"Cause: {one.text} ({' '.join(one.said)})" for one in pattern.causes]
    lines += ["The files have changed a lot since."] if pattern.stale else []
    lines += [f"Mended within {age(seconds)} on average."] if seconds else []
    for one in sorted(pattern.solutions, key=lambda one: -one.confidence):
        tried = len(one.worked) + len(one.failed)
        after = f" when {', '.join(one.commands)} failed" if one.commands else ""
        ids = " ".join(one.worked or one.failed)
        lines += ["", f"{one.text}", f"  worked in {len(one.worked)} of {tried}{after}: {ids}"]
    return [*lines, "", f"{pattern.id}, in {pattern.path}"]
