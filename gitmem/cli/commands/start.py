"""Print the text that starts a session; a module of its own, as it is to load little more than the hook does."""

from __future__ import annotations

import argparse

from gitmem.cli.app import OWN, App
from gitmem.project.state import ProjectQuestions
from gitmem.sessions.start import start_parts, start_text
from gitmem.text.stems import estimate_tokens


def run_start(args: argparse.Namespace, app: App) -> None:
    store = app.settled(args)
    store.acceptance.check()
    with ProjectQuestions(app.folder(args), app.environ) as questions:
        shown = start_parts(store, (), questions.answer(), ())
    text = start_text(store, shown)
    value = {
        "text": text,
        "tokens": estimate_tokens(text),
        "budget": store.config.session.budget_tokens,
        "parts": [{"title": one.title, "tokens": one.tokens, "pieces": one.pieces, "of": one.of} for one in shown],
    }
    app.answer(args, value, text or "Nothing is remembered yet: a session would start without a word.", OWN)
