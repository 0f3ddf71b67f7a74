"""`gitmem path`."""

from __future__ import annotations

import os

from gitmem.cli.app import OWN, App
from gitmem.cli.arguments import Args


def run_path(_: Args, app: App) -> None:
    store = app.find()
    app.answer({"store": store, "memory": os.path.join(store, "memory.md")}, store, OWN)
