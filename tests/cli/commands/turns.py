"""Sessions of an agent, put into a store as hooks would."""

from datetime import UTC, datetime, timedelta

from gitmem.learn.concepts import group
from gitmem.learn.episodes import save_episodes
from gitmem.learn.facts import learn
from gitmem.model.turns import Turn
from gitmem.record.exchanges import save_exchanges
from gitmem.store.store import Store


def ended(
    store: Store,
    *prompts: str,
    files: tuple[str, ...] = (),
    answer: str = "Changed what was asked for.",
    session: str = "s-1",
    days: int = 0,
) -> None:
    """Save a session of these requests, some days from now, and learn facts, concepts and episodes from it."""
    at = datetime.now(UTC) + timedelta(seconds=2, days=days)
    turns = [
        Turn(session, "claude-code", f"t{number}", at + timedelta(seconds=number), at, prompt, answer, files, tools=1)
        for number, prompt in enumerate(prompts)
    ]
    turns = [turn._replace(closed=True, ended=turn.started) for turn in turns]
    save_exchanges(store, session, "claude-code", turns)
    learn(store, session, "claude-code", turns)
    group(store, session, "claude-code", turns)
    save_episodes(store, session, "claude-code", turns)
