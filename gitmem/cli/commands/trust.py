"""`gitmem trust`: say yes to a store that came from elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.cli.terminal import agreed
from gitmem.errors import ExitCode
from gitmem.text.quantities import count
from gitmem.text.terminal import plain

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from gitmem.cli.door import Door


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem trust`."""
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """Say yes to a store that came with a project, such as in an archive or a shared folder, and to its remotes.

    Until then nothing is recorded there or sent from there, and no session is told what it holds. Stores that 'gitmem
    init' or 'gitmem clone' made on this machine need no yes, nor do remotes that 'gitmem remote add' added; one that
    came into the store's configuration in another way is synced with by itself after this yes. It is asked at a
    terminal, since it is yours to say and not an agent's.

    With --json: {store, remotes}.

    Examples:
      gitmem trust

    """
    from gitmem.store.setup.remotes import added_remotes, remotes
    from gitmem.store.spool.hooks import HookSpool

    store = door.open(args)
    known = remotes(store)
    shown = [f"{one.name} ({one.shown})" for one in known]
    value = {"store": store.root, "remotes": [{"name": one.name, "url": one.shown} for one in known]}
    if not (store.acceptance.given() and added_remotes(store) == known):
        would = f"This would record your sessions in {store.root}" + ", and send them to its remotes" * bool(known)
        if not agreed(door, plain(would), _preview(store.root, shown), "Do you trust it?", "Run it in a terminal."):
            print("Nothing was changed.", file=door.err)
            return ExitCode.OK
        store.acceptance.give(tuple(url for one in known for url in (one.url, one.push_url)))
        HookSpool(store.private).make()
    door.answer(args, value, plain(f"Sessions are recorded in {store.root}."))
    return ExitCode.OK


def _preview(root: str, known: Sequence[str]) -> str:
    syncs = f"and sent to {count(len(known), 'remote')}: {', '.join(known)}" if known else "and sent nowhere"
    return plain(
        f"The memory at {root} came from elsewhere.\n"
        f"With your yes sessions are told what it holds, recorded in it, {syncs}."
    )
