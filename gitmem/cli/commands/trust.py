"""`gitmem config trust` and `untrust`: the person's word on what a store's tracked settings say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.cli.consent import agreed
from gitmem.config import value_of
from gitmem.errors import ExitCode, RefusedError
from gitmem.model.document.scalars import flow
from gitmem.store.config.agree import agree, withdraw
from gitmem.store.config.personal import personal_folder, read_agreed
from gitmem.store.setup.settings import check_key
from gitmem.text.quantities import count

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from gitmem.cli.door import Door
    from gitmem.config import Config, Untrusted

WORDS = ("trust", "untrust")


def run(args: argparse.Namespace, door: Door) -> int:
    """Show what a store's tracked settings ask for, and record or forget the person's yes."""
    if args.value is not None:
        check_key(args.value)
    return _trust(args, door) if args.key == "trust" else _untrust(args, door)


def _trust(args: argparse.Namespace, door: Door) -> int:
    store = door.settled(args)
    asked = [item for item in store.config.untrusted if args.value in {None, item.key}]
    if not asked:
        door.answer(args, {"store": store.root, "trusted": []}, "Nothing waits to be trusted.")
        return ExitCode.OK
    would = f"{count(len(asked), 'setting')} of {asked[0].file} would count, for this store and on this machine"
    # Who says --yes sees what for, too: another value may have come since they looked.
    door.notices((f"{would}:\n{_lines(store.config, asked)}",))
    remedy = "Say --yes if these are the values you want."
    if args.yes or agreed(door, would, "", "Do you want these values?", remedy):
        agree(store.context, store.root, asked)
    else:
        asked = []
    values = [{"key": item.key, "value": item.value, "file": item.file} for item in asked]
    said = f"{count(len(asked), 'setting')} trusted." if asked else "Nothing was changed."
    door.answer(args, {"store": store.root, "trusted": values}, said)
    return ExitCode.OK


def _untrust(args: argparse.Namespace, door: Door) -> int:
    store = door.settled(args)
    known = read_agreed(personal_folder(store.context.environ, store.context.home), store.root)
    keys = sorted(key for key in known if args.value in {None, key})
    if args.value is not None and not keys:
        raise RefusedError(f"{args.value} is not trusted for this store.", "'gitmem config' shows what is in force.")
    withdraw(store.context, store.root, keys)
    names = ", ".join(keys)
    door.answer(
        args, {"store": store.root, "untrusted": keys}, f"Not trusted any more: {names}." if keys else "None was."
    )
    return ExitCode.OK


def _lines(config: Config, asked: Sequence[Untrusted]) -> str:
    """Return the exact values, a line each, with what is in force without them."""
    return "\n".join(
        f"  {item.key}: {_exactly(item.value)}  (now {_exactly(value_of(config, item.key))})" for item in asked
    )


def _exactly(value: object) -> str:
    """Return a value as YAML in which every character can be seen: an invisible one could make it another value."""
    text = flow(list(value) if isinstance(value, tuple) else value)
    return "".join(one if one.isprintable() else f"\\u{ord(one):04x}" for one in text)
