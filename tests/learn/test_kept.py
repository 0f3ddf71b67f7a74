"""What was learned is undone, purged, backed up and restored like all memory: `episodes/`, `patterns/`, `counts/`."""

from datetime import timedelta
from pathlib import Path

import pytest

from gitmem.learn.end import replay
from gitmem.platform.machine import Context
from gitmem.store.init import Place
from gitmem.store.learned import known_patterns, read_episode
from gitmem.store.store import Store
from gitmem.sync.clone import back_up, merge_backup, restore_into
from gitmem.sync.fetch import Options
from gitmem.tell.known_errors import counts
from gitmem.tell.outcome_counts import judge
from tests.store.purges import objects_with, purge

FOLDERS = ("episodes", "patterns", "counts")


def learned(store: Store) -> dict[str, bytes]:
    """Return the files of what was learned."""
    root = Path(store.root)
    paths = (path for folder in FOLDERS for path in root.glob(f"{folder}/**/*") if path.is_file())
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in paths}


@pytest.fixture
def taught(world, recorder):
    """Give a store with an episode, a bug pattern and a count."""
    recorder.turn(4, "Rename the swordfish reader", "We decided to call it swordfish_source, as it reads blocks.")
    replay(world.store, recorder.write())
    judge(world.store, known_patterns(world.store)[0].id, helped=True)
    assert {path.partition("/")[0] for path in learned(world.store)} == set(FOLDERS)
    return world


def test_a_purge_takes_a_text_out_of_episodes_and_patterns_and_their_history(taught):
    assert any(b"swordfish" in data for path, data in learned(taught.store).items() if path.startswith("episodes/"))
    purge(taught.store, "swordfish")
    store = Store(taught.store.root, taught.store.context)
    assert not any(b"swordfish" in data for data in learned(store).values())
    assert objects_with(Path(store.root), "swordfish") == []
    paths = [path for path in learned(store) if path.startswith("episodes/")]
    assert paths
    assert all(read_episode(store, path) for path in paths)
    assert known_patterns(store)


def test_a_backup_restores_what_was_learned_into_an_empty_place_and_by_a_merge(taught, tmp_path, environ, bare_git):
    file = str(tmp_path / "memory.bundle")
    back_up(taught.store, file, transcripts=False)
    (tmp_path / "other").mkdir()
    context = Context(environ, str(tmp_path / "home"), "other-machine", taught.clock)
    restored = restore_into(str(tmp_path / "other"), context, Place.PROJECT, file, Options())
    assert learned(restored) == learned(taught.store)
    pattern = known_patterns(restored)[0].id
    taught.clock.now += timedelta(minutes=1)
    judge(restored, pattern, helped=True)
    merge_backup(restored, file, Options())
    assert len([path for path in learned(restored) if path.startswith("counts/")]) == 2
    assert counts(restored)[pattern].usefulness == pytest.approx(0.3 + 0.7 * 0.65)
    assert bare_git(Path(restored.root), "status", "--porcelain") == ""
