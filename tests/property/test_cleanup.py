"""A cleanup removes what the design says, in one commit, and an undo brings back the same bytes."""

import os
import shutil
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitmem.history.undo import undo
from gitmem.model.episode import Episode, episode_path, render_episode
from gitmem.model.error import ErrorSignature
from gitmem.model.outcome import Outcome
from gitmem.model.pattern import BugPattern, Case, render_pattern
from gitmem.model.request import TaskType
from gitmem.platform.machine import Context
from gitmem.store.init import Place, init_store
from gitmem.tell.cleanup import clean_up
from gitmem.tell.usage_log import with_shown
from tests.world import World

NOW = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
ALPHA, BEGINS, USELESS, RETRIEVALS, MAX_AGE_DAYS, UNUSED_DAYS, MIN_USAGE_COUNT = 0.3, 0.5, 0.3, 2, 180, 90, 2
verdicts = st.lists(st.sampled_from((None, 0.0, 0.0, 1.0)), max_size=2)
said = st.lists(st.sampled_from((0.0, 0.0, 0.0, 1.0)), max_size=3)
episodes = st.lists(st.tuples(st.sampled_from((1, 180, 181, 400)), verdicts, said), min_size=4, max_size=9)
patterns = st.lists(st.tuples(st.sampled_from((1, 90, 91, 400)), st.integers(1, 2), verdicts), min_size=4, max_size=9)


def usefulness(given_verdicts: list[float | None]) -> float:
    average = BEGINS
    for verdict in given_verdicts:
        average = average if verdict is None else ALPHA * verdict + (1 - ALPHA) * average
    return average


class Kept(World):
    """A store with episodes and patterns of some ages, and the paths that a cleanup is to remove."""

    def __init__(self, folder: Path) -> None:
        environ = {**os.environ, "XDG_CONFIG_HOME": "", "APPDATA": ""}
        context = Context(environ, str(folder / "home"), "desk", lambda: NOW)
        (folder / "project").mkdir()
        super().__init__(init_store(str(folder / "project"), context, Place.PROJECT).store.root, context)
        self.git("config", "user.name", "Ada")
        self.git("config", "user.email", "ada@example.org")  # only the user's own counts rate
        self.reopen()
        self.told: dict[str, dict[str, float | None]] = {}
        self.useless: set[str] = set()

    def tell(self, identifier: str, rows: list[float | None], mark: str = "") -> None:
        times = [f"2026-{6 if mark else 5}-{number + 1:02}T00:00:00+00:00{mark}" for number in range(len(rows))]
        self.told.setdefault(identifier, {}).update(zip(times, rows, strict=True))

    def episode(self, number: int, days: int, told: list[float | None], judged: list[float]) -> None:
        at = NOW - timedelta(days=days)
        made = Episode(f"e{number}4f7k2m9q0", "s", "h", at, at, TaskType.TEST, f"Task {number}", Outcome.FAILED, ())
        path = episode_path(made)
        self.write(path, render_episode(made))
        self.tell(made.id, told)
        self.tell(made.id, [*judged], "!")
        if days > MAX_AGE_DAYS and usefulness([*told, *judged]) < USELESS and len(told) < RETRIEVALS:
            self.useless.add(path)

    def pattern(self, number: int, days: int, seen: int, told: list[float | None]) -> None:
        at, ids = NOW - timedelta(days=days), tuple(f"x{number}{one}" for one in range(seen))
        made = BugPattern(
            f"b{number}4f7k2m9q0", ErrorSignature("KeyError", f"part {number}"), at, at, tuple(map(Case, ids))
        )
        self.write(made.path, render_pattern(made))
        self.tell(made.id, told)
        if days > UNUSED_DAYS and seen + len(told) < MIN_USAGE_COUNT:
            self.useless.add(made.path)


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(episodes, patterns)
@pytest.mark.slow
def test_a_cleanup_removes_what_is_of_no_use_and_an_undo_restores_it(done, errors):
    folder = Path(tempfile.mkdtemp(prefix="gitmem-cleanup-"))
    try:
        kept = Kept(folder)
        for number, episode in enumerate(done):
            kept.episode(number, *episode)
        for number, pattern in enumerate(errors):
            kept.pattern(number, *pattern)
        kept.write("counts/world.json", with_shown(b"", kept.told))
        kept.git("add", "-A")
        kept.git("commit", "-qm", "Learned")
        before, commits = kept.files(), int(kept.git("rev-list", "--count", "HEAD"))
        planned = clean_up(kept.store, dry_run=True)
        assert {*planned.episodes, *planned.patterns} == kept.useless
        assert kept.files() == before
        for number in (1, 2):  # again after the undo
            cleaned = clean_up(kept.store)
            assert {*cleaned.episodes, *cleaned.patterns} == kept.useless
            assert kept.files() == {path: data for path, data in before.items() if path not in kept.useless}
            assert int(kept.git("rev-list", "--count", "HEAD")) == commits + (2 * number - 1) * bool(kept.useless)
            assert clean_up(kept.store).commit is None
            if cleaned.commit is not None:
                undo(kept.store, revision=cleaned.commit)
            assert kept.files() == before
            assert kept.status() == ""
    finally:
        shutil.rmtree(folder)
