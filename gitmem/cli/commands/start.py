"""`gitmem start`: print the text that the agent's next session starts with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.errors import ExitCode

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem start`."""
    parser.add_argument("--json", action="store_true", help="print the result as JSON, with what each part costs")


def run(args: argparse.Namespace, door: Door) -> int:
    """Print the text that starts the agent's next session: current facts, open issues, recent work.

    It has at most session.budget_tokens tokens, of which each part has a share.

    With --json: {text, tokens, budget, parts: [{title, tokens, pieces, of}]}, pieces being how many of its pieces a
    part tells.

    Examples:
      gitmem start
      gitmem start --json

    """
    from gitmem.cli.fact import project_folder
    from gitmem.memory.start.start import start_parts, start_text
    from gitmem.project.state import ProjectQuestions
    from gitmem.text.tokens import estimate_tokens

    store = door.settled(args)
    with ProjectQuestions(project_folder(store, args, door), door.environ) as questions:
        shown = start_parts(store, (), questions.answer(), ())
    text = start_text(store, shown)
    value = {
        "text": text,
        "tokens": estimate_tokens(text),
        "budget": store.config.session.budget_tokens,
        "parts": [{"title": one.title, "tokens": one.tokens, "pieces": one.pieces, "of": one.of} for one in shown],
    }
    door.answer(args, value, text or "Nothing is remembered yet: a session would start without a word.")
    return ExitCode.OK
