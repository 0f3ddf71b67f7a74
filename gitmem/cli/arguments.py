"""Arguments that several commands take.

Tested through `tests/cli/test_main.py`.
"""

from __future__ import annotations

import argparse

from gitmem.errors import UsageError

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from gitmem.store.history.dates import DateSpan
    from gitmem.store.setup.init import Place
    from gitmem.store.store import Store


def count(text: str) -> int:
    """Return the number in an argument; argparse puts this function's name into its complaint."""
    number = int(text)
    if number < 0:
        raise ValueError(text)
    return number


def read_date(store: Store, text: str | None, option: str) -> DateSpan | None:
    """Return the time span that an option's value names, or None without a value.

    Raises:
        UsageError: the value is no date.

    """
    from gitmem.store.history.dates import FORMS, parse_date

    if text is None:
        return None
    try:
        span = parse_date(text, store.context.clock())
    except ValueError as error:
        raise UsageError(f"{option} {text!r}: {error}.", f"Write a date as {FORMS}.") from None
    if span is None:
        raise UsageError(f"{option} {text!r} is no date.", f"Write a date as {FORMS}.")
    return span


def add_places(parser: argparse.ArgumentParser) -> None:
    """Add the options for the place of a new store."""
    place = parser.add_mutually_exclusive_group()
    place.add_argument(
        "--branch", action="store_true", help="keep it on the orphan branch 'gitmem' of the project's repository"
    )
    place.add_argument("--home", action="store_true", help="keep it under ~/.gitmem/projects, not in the project")
    # No default, so that `gitmem --user init` means the same as `gitmem init --user`.
    place.add_argument("--user", action="store_true", default=argparse.SUPPRESS, help="make your own store, ~/.gitmem")


def chosen_place(args: argparse.Namespace) -> Place:
    """Return where a new store goes: in the project unless an option names another place."""
    from gitmem.store.setup.init import Place

    places = (Place.BRANCH, Place.HOME, Place.USER)
    return next((place for place in places if getattr(args, place.value)), Place.PROJECT)
