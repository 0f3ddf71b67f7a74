"""An interrupted purge: no transaction works around it, and each door finishes it where it opens a store."""

import pytest

from gitmem.errors import UnfinishedPurgeError
from gitmem.purge.unfinished import finish_purge
from gitmem.store.store import PURGING, Store
from gitmem.store.transact import transact
from tests.world import World


def test_a_transaction_is_refused_until_it_is_finished(world: World):
    world.write(f".git/gitmem/{PURGING}", b'{"v": 1, "stash": []}')
    with pytest.raises(UnfinishedPurgeError):
        transact(world.store, lambda _: True, purpose="test")
    transact(finish_purge(world.store), lambda _: True, purpose="test")


def test_a_store_that_may_not_be_written_is_left(world: World):
    world.write(f".git/gitmem/{PURGING}", b'{"v": 1, "stash": []}')
    context = world.store.context._replace(environ={**world.store.context.environ, "GITMEM_READONLY": "1"})
    finish_purge(Store(world.store.root, context))
    assert (world.root / ".git" / "gitmem" / PURGING).exists()
