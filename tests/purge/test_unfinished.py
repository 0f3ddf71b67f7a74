"""An interrupted purge: no transaction works around it, and each door finishes it where it opens a store."""

import pytest

from gitmem.errors import UnfinishedPurgeError
from gitmem.purge.unfinished import finish_purge
from gitmem.store.store import PURGING, Store
from gitmem.store.transact import transact
from tests.boxes import Box


def test_a_transaction_is_refused_until_it_is_finished(box: Box):
    box.write(f".git/gitmem/{PURGING}", b'{"v": 1, "stash": []}')
    with pytest.raises(UnfinishedPurgeError):
        transact(box.store, lambda _: True, purpose="test")
    transact(finish_purge(box.store), lambda _: True, purpose="test")


def test_a_store_that_may_not_be_written_is_left(box: Box):
    box.write(f".git/gitmem/{PURGING}", b'{"v": 1, "stash": []}')
    context = box.store.context._replace(environ={**box.store.context.environ, "GITMEM_READONLY": "1"})
    finish_purge(Store(box.store.root, context))
    assert (box.root / ".git" / "gitmem" / PURGING).exists()
