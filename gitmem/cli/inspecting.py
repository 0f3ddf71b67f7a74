"""`gitmem maintain`."""

from __future__ import annotations

import threading
from dataclasses import asdict
from typing import TYPE_CHECKING, Self

from gitmem.errors import ExitCode

if TYPE_CHECKING:
    import argparse
    from typing import TextIO

    from gitmem.cli.door import Door
    from gitmem.store.maintenance import Maintenance

_PATIENCE = 1.0  # seconds before a person at a terminal is told what takes so long
_KILO = 1000


def configure_maintain(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem maintain`."""
    when = parser.add_mutually_exclusive_group()
    when.add_argument("--if-needed", action="store_true", help="do nothing unless it is worth it")
    when.add_argument(
        "--project", action="store_true", help="pack the project's own repository, which holds the memory's branch"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run_maintain(args: argparse.Namespace, door: Door) -> int:
    """Pack the store's repository, so that it stays small and quick; what it holds does not change.

    It may be interrupted at any time, and saves need not wait for it. In a store on a branch of the project's
    repository (gitmem init --branch) it does nothing, unless --project says that this repository may be packed.

    Examples:
      gitmem maintain
      gitmem maintain --if-needed

    """
    from gitmem.store.maintenance import maintain, needed

    store = door.settled(args)
    reason = ""
    if not store.own_repository and not args.project:
        reason = (
            f"The repository at {store.repository.layout.common_dir} is the project's, so packing it is left to git. "
            "'gitmem maintain --project' packs it all the same."
        )
    elif args.if_needed and not needed(store):
        reason = "Nothing to do: the repository is packed well enough."
    if reason:
        door.answer(args, {"done": False, "reason": reason}, reason)
        return ExitCode.OK
    with _Progress(door.err) as progress:
        done = maintain(store, progress.step)
    door.notices(done.notices)
    door.answer(args, {"done": True, **asdict(done)}, _words(done))
    return ExitCode.OK


class _Progress:
    """Tells a person at a terminal what is being done, once it has taken longer than they like to wait in silence."""

    def __init__(self, err: TextIO) -> None:
        self._err = err
        self._doing = ""
        self._talks = False
        self._timer = threading.Timer(_PATIENCE, self._talk)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        if self._err.isatty():
            self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def step(self, doing: str) -> None:
        """Note what is being done from now on."""
        self._doing = doing
        if self._talks:
            self._talk()

    def _talk(self) -> None:
        self._talks = True
        print(f"gitmem: {self._doing} …", file=self._err, flush=True)


def _words(done: Maintenance) -> str:
    before, after = done.before, done.after
    found = f"{_count(before.loose, 'loose object')} and {_count(before.packs, 'pack')}"
    packs = f"{_count(after.packs, 'pack')}: {_size(before.bytes)} before, {_size(after.bytes)} now."
    lines = [f"Packed {found} into {packs}"]
    if after.loose:
        lines.append(f"{_count(after.loose, 'loose object')} came meanwhile.")
    if done.removed:
        lines.append(f"Removed {_count(len(done.removed), 'file')} that killed processes had not finished.")
    return "\n".join(lines)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def _size(size: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if size < _KILO:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= _KILO
    return f"{size:.1f} GB"
