import itertools
import os
import shutil
import subprocess
import time
from datetime import UTC, datetime

import pytest

from gitmem.document.event import Save
from gitmem.document.ids import make_id
from gitmem.errors import BusyError, GitmemError
from gitmem.platform.machine import Context
from gitmem.record.save import save
from gitmem.store.init import Place, init_store
from gitmem.store.maintenance import ABANDONED_SECONDS, is_due, maintain
from gitmem.store.store import MAX_PACKS
from gitmem.store.transact import transact
from tests.own_settings import own_file
from tests.world import World

STEPS = 3


def context():
    return Context(dict(os.environ), os.environ["HOME"], "host", lambda: datetime.now(UTC))


def remember(store, text):
    at = datetime.now(UTC)
    saved = save(store, Save(make_id(int(at.timestamp() * 1000), os.urandom(7)), at, text))
    assert saved.commit
    return saved


class Grown(World):
    """A store of some age."""

    @property
    def objects(self):
        return self.root / ".git" / "objects"

    def ids(self):
        return set(self.git("cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split())

    def packs(self):
        return sorted(self.objects.glob("pack/*.pack"))

    def loose(self):
        return [path for path in self.objects.glob("??/*") if len(path.parent.name) == 2]


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """Make a store with more packs than one should have: made once, copied for each test."""
    project = tmp_path_factory.mktemp("template")
    store = init_store(str(project), context(), Place.PROJECT).store
    for number in range(MAX_PACKS):
        remember(store, f"text number {number}, " + "and so on " * 20)
    return project / ".gitmem"


@pytest.fixture
def grown(template, tmp_path, bare_git):
    shutil.copytree(template, tmp_path / ".gitmem")
    grown = Grown(tmp_path / ".gitmem", context()).accept()
    grown.git("update-index", "-q", "--refresh")
    return grown


@pytest.mark.slow
def test_all_packs_and_loose_objects_become_one_pack_and_nothing_goes(grown):
    grown.git("hash-object", "-w", "FORMAT.md")
    unreachable = grown.git("commit-tree", "HEAD^{tree}", "-m", "nobody points to me")
    ids = grown.ids()
    history = grown.git("log", "--format=%H %s")
    done = maintain(grown.reopen())
    assert (done.before.loose, done.before.packs) == (3, MAX_PACKS + 1)
    assert (done.after.loose, done.after.packs) == (0, 1)
    assert (len(grown.packs()), grown.loose()) == (1, [])
    assert done.after.bytes < done.before.bytes / 3
    assert grown.ids() == ids
    assert unreachable in ids
    assert grown.git("log", "--format=%H %s") == history
    grown.sound()


def test_it_is_due_with_many_packs_and_not_afterwards(grown):
    store = grown.reopen()
    assert is_due(store)
    maintain(store)
    assert not is_due(store)


@pytest.mark.slow
def test_it_is_due_with_many_loose_objects(grown):
    store = grown.reopen()
    maintain(store)
    names = "".join(f"blob\ndata {len(str(n))}\n{n}\n" for n in range(3000))
    run = ["git", "-c", "fastimport.unpackLimit=100000", "fast-import", "--quiet"]
    subprocess.run(run, cwd=grown.root, input=names.encode(), check=True)
    assert is_due(store)
    ids = grown.ids()
    maintain(store)
    assert not is_due(store)
    assert (grown.loose(), grown.ids()) == ([], ids)


def test_the_repository_of_a_project_is_never_due(tmp_path, bare_git):
    bare_git(tmp_path, "init", "-q")
    store = init_store(str(tmp_path), context(), Place.BRANCH).store
    for number in range(MAX_PACKS + 1):
        (tmp_path / ".git" / "objects" / "pack" / f"pack-{number}.pack").touch()
    assert not is_due(store)


def test_a_second_one_at_the_same_time_is_sent_away(grown):
    store = grown.reopen()
    met = []

    def step(_):
        with pytest.raises(BusyError, match=r"held by process .*maintain"):
            maintain(grown.reopen())
        met.append(True)

    maintain(store, step)
    assert len(met) == STEPS
    maintain(store)


def test_where_the_lock_is_a_ref_it_is_the_one_of_the_store(home, grown):
    own_file(os.environ, os.environ["HOME"]).write_text("lock:\n  kind: ref\n  wait_seconds: 0\n")
    store = grown.reopen()
    refused = []

    def step(doing):
        if doing == "joining packs":
            with pytest.raises(BusyError, match="maintain"):
                transact(store, lambda _: None, purpose="save")
            refused.append(True)

    maintain(store, step)
    assert refused
    remember(grown.reopen(), "and now it works")
    grown.sound()


def test_a_store_that_cannot_be_written_is_said_in_words(grown):
    (grown.root / ".git" / "gitmem" / "maintenance").write_text("no folder")
    with pytest.raises(GitmemError, match=r"The store could not be packed: .*maintenance"):
        maintain(grown.reopen())


def age(path, seconds):
    then = time.time() - seconds
    os.utime(path, (then, then), follow_symlinks=False)


UNFINISHED = (
    "objects/pack/tmp_pack_aB3dEf",
    "objects/pack/.tmp-4711-pack-0123456789012345678901234567890123456789.pack",
    "objects/pack/tmp_idx_aB3dEf",
    "objects/07/tmp_obj_aB3dEf",
    "objects/info/commit-graphs/tmp_graph_aB3dEf",
    "fast_import_crash_4711",
    "index.gitmem",
)


def test_what_killed_processes_left_goes_when_it_is_a_day_old(grown):
    for number, name in itertools.product(range(2), UNFINISHED):
        path = grown.root / ".git" / f"{name}{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"half of it")
        age(path, ABANDONED_SECONDS + 60 if number else 60)
    done = maintain(grown.reopen())
    git_dir = grown.root / ".git"
    assert sorted(done.removed) == sorted(str(git_dir / f"{name}1") for name in UNFINISHED)
    assert all((git_dir / f"{name}0").exists() for name in UNFINISHED)
    assert not any((git_dir / f"{name}1").exists() for name in UNFINISHED)


def test_a_commit_graph_that_cannot_be_written_is_no_failure(grown):
    lock = grown.objects / "info" / "commit-graphs" / "commit-graph-chain.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    assert any("commit graph" in notice for notice in maintain(grown.reopen()).notices)
    age(lock, ABANDONED_SECONDS + 60)
    done = maintain(grown.reopen())
    assert (done.notices, done.removed) == ((), (str(lock),))
    grown.git("commit-graph", "verify")
