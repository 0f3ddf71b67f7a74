"""Read arguments that several commands share: a date, a text, tags, a place."""

from __future__ import annotations

from gitmem.errors import RefusedError, UsageError
from gitmem.values import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from gitmem.history.records import DateSpan
    from gitmem.store.init import Place
    from gitmem.store.store import Store


def read_date(store: Store, text: str | None, option: str) -> DateSpan | None:
    """Return the time span that an option's value names, or None without a value; raises UsageError."""
    from gitmem.history.records import FORMS, parse_date

    if text is None:
        return None
    try:
        span = parse_date(text, store.context.clock())
    except ValueError as error:
        raise UsageError(f"{option} {text!r}: {error}.", f"Write a date as {FORMS}.") from None
    if span is None:
        raise UsageError(f"{option} {text!r} is no date.", f"Write a date as {FORMS}.")
    return span


MAX_TEXT = 50 * 1024 * 1024  # characters
MOST_BYTES = 4 * MAX_TEXT + 1  # UTF-8 has at most four bytes per character, so text cut here is refused as too long


def text_of(data: bytes, name: str = "The text") -> str:
    """Return a text to save. Raises RefusedError if it is too long or not UTF-8."""
    text = data.decode("utf-8", "replace")
    if len(text) > MAX_TEXT:
        raise RefusedError(f"{name} has more than {MAX_TEXT:,} characters.", "Save the part that matters.")
    if b"\0" in data:
        raise RefusedError(f"{name} is no text: it has a NUL byte, as pictures and programs have.", "Give a text.")
    if text.encode() != data:
        raise RefusedError(f"{name} is not UTF-8.", "Convert it, as 'iconv -f LATIN1 -t UTF-8' does.")
    return text


def tags_of(args: Args) -> tuple[str, ...]:
    """Return the tags that options give. Raises RefusedError if one is not valid."""
    from gitmem.document.entry import clean_tag

    try:
        return tuple(map(clean_tag, args.tag))
    except ValueError as error:
        remedy = "Give each tag by an option: --tag build --tag ci."
        raise RefusedError(f"The tag is refused: {error}.", remedy) from None


def chosen_place(args: Args) -> Place:
    """Return where a new store goes: in the project unless an option names another place."""
    from gitmem.store.init import Place

    places = (Place.BRANCH, Place.HOME, Place.USER)
    return next((place for place in places if getattr(args, place.value)), Place.PROJECT)


class Args:
    """The values of a command line's arguments, by name."""

    def __init__(self, **said: Any) -> None:
        vars(self).update(said)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: object) -> None: ...
