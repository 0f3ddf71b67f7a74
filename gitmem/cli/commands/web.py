"""`gitmem web`: look at the memory in a browser, and correct it.

Tested through `tests/web/test_app.py`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gitmem.cli.arguments import count
from gitmem.errors import ExitCode, GitmemError, UsageError

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem web`."""
    parser.add_argument("--port", type=count, metavar="N", help="the port (default: a free one)")
    parser.add_argument("--read-only", action="store_true", help="show everything, change nothing")
    parser.add_argument("--open", action="store_true", help="open the browser")
    parser.add_argument("--export", metavar="FOLDER", help="write the pages as files into a new folder, and end")
    parser.add_argument("--json", action="store_true", help="print the address, or the written files, as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """Show the memory in a browser: the next session's start, facts and their lives, sessions, a search.

    There a person edits, retires, confirms and settles facts; each act is one commit, which the page can undo. It
    serves this machine only. The address that it prints is good once, for one browser. It needs the extra 'web',
    and says how to install it.

    With --json: {url}; with --export {folder, pages}.

    Examples:
      gitmem web --open
      gitmem web --read-only --port 8791
      gitmem web --export memory-pages

    """
    if args.export is not None and (args.port is not None or args.read_only or args.open):
        raise UsageError("--export goes without the other options.", "It starts no server.")
    try:
        from gitmem.web.app import serve
        from gitmem.web.export import export
    except ImportError as error:  # missing, or another version
        from gitmem.machine.installed import install_command

        remedy = f"Run {install_command('web')}"
        raise GitmemError(f"The viewer needs packages that are not installed: {error}.", remedy) from error

    if args.export is not None:
        folder = os.path.join(door.cwd, args.export)
        pages = export(door.settled(args), folder)
        door.answer(args, {"folder": folder, "pages": pages}, f"{pages} pages in {folder}: open index.html there.")
        return ExitCode.OK
    from gitmem.machine.loopback import LOOPBACK, listen, make_token

    door.settled(args)
    token = make_token()
    with listen(args.port or 0) as listening:
        url = f"http://{LOOPBACK}:{listening.getsockname()[1]}/?token={token}"
        door.answer(args, {"url": url}, f"{url}\nThe address is good once. Ctrl-C ends it.")
        door.out.flush()
        if args.open:
            import webbrowser

            webbrowser.open(url)
        serve(lambda: door.open(args), listening, token, read_only=args.read_only)
    return ExitCode.OK
