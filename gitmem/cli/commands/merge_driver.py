"""`gitmem merge-driver`: merge a document for git."""

from __future__ import annotations

import argparse
import os

from gitmem.cli.app import App
from gitmem.errors import ExitCode
from gitmem.store.init import drive


def run_merge_driver(args: argparse.Namespace, app: App) -> int:
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
