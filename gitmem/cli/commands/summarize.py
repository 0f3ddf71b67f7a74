"""`gitmem summarize`: have a model sum up archives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.cli.document import find_archive
from gitmem.errors import ExitCode

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem summarize`."""
    parser.add_argument(
        "archives", nargs="*", metavar="ARCHIVE", help="names or paths, also of archives that have a summary"
    )
    parser.add_argument(
        "--pending", action="store_true", help="all archives without a summary, or with an offline one (default)"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """Have the model that your settings name summarize archives.

    Nothing is sent anywhere unless 'summary.provider' in your own settings names a model: 'agent' asks Claude Code on
    this machine, 'anthropic' and 'openai' ask their servers or compatible ones ('summary.base_url'). The text is
    redacted and fenced first. If the model fails, the archive keeps its offline summary. With 'host' the agent itself
    does it, by the skill that 'gitmem install claude --summaries' installs. With the hooks installed, this happens by
    itself.

    With --json: [{archive, method, why, commit}]; 'why' says why a summary is still the offline one.

    Examples:
      gitmem config --user summary.provider agent
      gitmem summarize
      gitmem summarize memory_20260113_112700

    """
    from gitmem.memory.summaries.archives import pending_archives
    from gitmem.memory.summaries.model import improve

    store = door.settled(args)
    named = [find_archive(store, name) for name in args.archives]
    done = []
    for archive in named or pending_archives(store):
        if door.err.isatty():
            print(f"gitmem: {archive} …", file=door.err, flush=True)
        done.append(improve(store, archive, over=bool(named)))
    from gitmem.text.terminal import plain

    lines = [f"{one.archive}  {one.method or 'none'}" + (f": {one.why}" if one.why else "") for one in done]
    value = [one._asdict() for one in done]
    door.answer(args, value, plain("\n".join(lines)) or "No summary is pending.")
    return ExitCode.FAILURE if any(one.why for one in done) else ExitCode.OK
