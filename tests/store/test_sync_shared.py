"""A long job of a shared memory is done by one machine, which has what the others did and gives them what it does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.store.lease import alone
from gitmem.store.sync import on_one_machine
from tests.own_settings import own_settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.store.machines import Machine


def _share(machine: Callable[[str], Machine], auto: str) -> tuple[Machine, Machine]:
    pair = machine("laptop"), machine("desktop")
    own_settings(pair[0].context, f"sync:\n  auto: '{auto}'\n")
    for each in (*pair, pair[0]):
        each.sync()
    pair[0].store, pair[1].store = (type(each.store)(str(each.root), each.context) for each in pair)
    return pair


def test_the_one_that_does_it_has_what_the_other_saved_and_gives_what_it_does(
    machine: Callable[[str], Machine],
):
    first, second = _share(machine, "interval")
    saved = first.save("of the laptop")
    first.sync()
    with on_one_machine(second.store, "consolidate") as mine, on_one_machine(first.store, "consolidate") as also:
        assert (mine, also) == (True, False)
        assert saved in second.entries()
        done = second.save("what the job made")
    with on_one_machine(first.store, "consolidate") as mine:
        assert mine
        assert done in first.entries(), "so it is not done twice"


def test_with_syncing_off_nothing_is_asked_of_the_network(machine: Callable[[str], Machine]):
    first, second = _share(machine, "off")
    with alone(first.store, "consolidate") as mine, on_one_machine(second.store, "consolidate") as also:
        assert mine
        assert also
