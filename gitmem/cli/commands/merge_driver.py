"""`gitmem merge-driver`: merge a document for git."""

from __future__ import annotations

import argparse
import os

from gitmem.cli.app import App
from gitmem.errors import ExitCode
from gitmem.store.init import drive


def configure_merge_driver(parser: argparse.ArgumentParser) -> None:
    for name in ("base", "ours", "theirs"):
        parser.add_argument(name, help="the file git has put this version into")
    parser.add_argument("path", help="its path in the store")


def run_merge_driver(args: argparse.Namespace, app: App) -> int:
    """Merge one document for git, which calls this: see merge.gitmem.driver in a store's git configuration.

    Examples:
      gitmem merge-driver %O %A %B %P

    """
    texts = []
    for name in (args.base, args.ours, args.theirs):
        with open(os.path.join(app.folder(args), name), "rb") as file:
            texts.append(file.read())
    merged = drive(args.path, *texts)
    if merged is None:
        return ExitCode.FAILURE
    with open(os.path.join(app.folder(args), args.ours), "wb") as file:
        file.write(merged)
    return ExitCode.OK
