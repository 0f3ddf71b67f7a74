"""`gitmem save`: remember a text."""

from __future__ import annotations

import os

from gitmem.cli.app import OWN, App
from gitmem.cli.arguments import MOST_BYTES, Args, tags_of, text_of
from gitmem.cli.table import PARTS
from gitmem.document.entry import MemoryType, clean_text
from gitmem.errors import NotFoundError, RefusedError, UsageError, disk_errors
from gitmem.purge.unfinished import finish_purge
from gitmem.record.save import labelled, save_text
from gitmem.store.layers import store_for_session
from gitmem.store.store import Store

_AS_COMMAND = 2  # words: `save pause 1h` is no text, `save private customers pay later` is


def run_save(args: Args, app: App) -> None:
    tags = tags_of(args)
    if args.text and args.text[0] in PARTS["save"] and len(args.text) <= _AS_COMMAND:
        words = " ".join(args.text)
        remedy = f"The command is 'gitmem {words}'. To save these words: echo '{words}' | gitmem save"
        raise UsageError(f"'gitmem save {words}' may mean a command.", remedy)
    text = _text(args, app)
    if not clean_text(text):
        raise RefusedError(
            "There is nothing to save: the text is empty.", "Give it as an argument, a file or on stdin."
        )
    store = app.open()
    session = _named(store, args.session) or app.session()
    store = finish_purge(store_for_session(store, session))
    kind, text = labelled(MemoryType(args.type), text)
    with disk_errors("Nothing was saved"), app.waiting():
        saved = save_text(store, text, kind, tags, session=session, host="cli")
    app.notices(saved.notices)
    value: dict[str, object] = {"id": saved.id, "commit": saved.commit, "type": kind.value}
    value |= {"archive": saved.archive, "store": store.root, "redacted": saved.redacted}
    lines = [
        saved.known or f"Saved {kind.label.lower()} ^{saved.id}" + (f" in {saved.commit[:10]}" if saved.commit else "")
    ]
    lines[0] += app.undo_hint([saved.commit])
    if saved.archive:
        lines.insert(0, app.rotated(saved.archive))
    app.answer(value, "\n".join(lines), OWN)
    store.maintain_later()


def _named(store: Store, prefix: str | None) -> str:
    if not prefix:
        return ""
    from gitmem.history.sessions import named_session  # 10 ms, of the 60 of a save

    return named_session(store, prefix)


def _text(args: Args, app: App) -> str:
    words = " ".join(args.text)
    if args.file and words:
        raise UsageError("Both a text and a file were given.", "Give one of them.")
    if args.file:
        path = app.path(args.file)
        try:
            with open(path, "rb") as file:
                return text_of(file.read(MOST_BYTES), path)
        except OSError as error:
            raise NotFoundError(f"{path} cannot be read: {error.strerror}.", "Name another one.") from error
    if words and words != "-":
        return text_of(os.fsencode(words))
    return app.typed()
