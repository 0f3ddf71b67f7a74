"""Commands for other programs: the text of a session's start, a status line, git's merge driver."""

from __future__ import annotations

import os

from gitmem.cli.app import OWN, App
from gitmem.cli.arguments import Args
from gitmem.cli.recall_hooks import tell_sign
from gitmem.errors import ExitCode
from gitmem.project.code import ProjectQuestions
from gitmem.store.merge_driver import drive
from gitmem.tell.start import start_parts, start_text
from gitmem.text.words import estimate_tokens

_FEWEST = 150  # tokens of a start, 80 of them for its first and last lines


def run_statusline(_: Args, app: App) -> None:
    tell_sign(app.folder())


def run_start(_: Args, app: App) -> None:
    store = app.settled()
    store.acceptance.check()
    with ProjectQuestions(app.folder(), app.environ) as questions:
        shown = start_parts(store, (), questions.answer(), ())
    text = start_text(store, shown)
    budget = store.config.session.budget_tokens
    value = {"text": text, "tokens": estimate_tokens(text), "budget": budget}
    value["parts"] = [
        {"title": part.title, "tokens": part.tokens, "pieces": part.pieces, "of": part.of} for part in shown
    ]
    none = f"session.budget_tokens is {budget}, too few for a text" if budget < _FEWEST else "Nothing is remembered yet"
    app.answer(value, text or f"{none}: a session would start without a word.", OWN)


def run_merge_driver(args: Args, app: App) -> int:
    base, ours, theirs = (os.path.join(app.folder(), name) for name in (args.base, args.ours, args.theirs))
    texts = []
    for path in (base, ours, theirs):
        with open(path, "rb") as file:
            texts.append(file.read())
    merged = drive(args.path, *texts)
    if merged is None:
        return ExitCode.FAILURE
    with open(ours, "wb") as out:
        out.write(merged)
    return ExitCode.OK


def run_path(_: Args, app: App) -> None:
    store = app.find()
    app.answer({"store": store, "memory": os.path.join(store, "memory.md")}, store, OWN)
