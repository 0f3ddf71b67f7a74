"""Write the pages as files that a browser opens from the disk, for reading only."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from hashlib import sha256
from urllib.parse import parse_qs

from gitmem.errors import GitmemError, RefusedError
from gitmem.platform.programs import read_resource
from gitmem.store.store import Store
from gitmem.web.app import FILES
from gitmem.web.history import WHOLE
from gitmem.web.render import MENU, page_of, to_html
from gitmem.web.view import Kept, View

_ITEMS = {"facts": "fact", "sessions": "session", "concepts": "concept"}
_SAFE = re.compile(r"[0-9A-Za-z_][0-9A-Za-z_.-]{0,99}")  # an id that is a file's name as it is
_LEFT_OUT = "search"  # it needs a server
_NOT_WRITTEN = (_LEFT_OUT, "commit", "transcript")  # a transcript is for the person, not for whom an export is shown


def export(store: Store, folder: str) -> int:
    """Write the pages into a new or empty folder; return how many.

    Raises:
        RefusedError: the folder holds something.

    """
    if os.path.lexists(folder) and (not os.path.isdir(folder) or os.listdir(folder)):
        raise RefusedError(f"{folder} is not an empty folder.", "Name a folder that does not exist yet.")
    kept, written = Kept(), 0
    for name in FILES:
        _write(folder, name, read_resource("templates", "web", name))
    for path, asked in _addresses(store, kept):
        try:
            template, page = page_of(View(store, asked, kept), path)
        except GitmemError:  # a file that is gone, or cannot be read
            continue
        name = _file(path, asked.get("after", ""))
        depth = name.count("/")
        text = to_html(template, page, u=lambda address, up="../" * depth: _link(address, up), static=True)
        _write(folder, name, text.encode("utf-8", "replace"))
        written += 1
    return written


def _addresses(store: Store, kept: Kept) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the path and query of each page; a long list goes on in further pages."""
    yield "", {}
    for name in MENU:
        if name == _LEFT_OUT:
            continue
        asked = {"show": "all"} if name == "facts" else {}
        while True:
            yield name, dict(asked)
            page = page_of(View(store, asked, kept), name)[1]
            for item in page.get(name, ()) if name in _ITEMS else ():
                if _SAFE.fullmatch(item["id"]):
                    yield f"{_ITEMS[name]}/{item['id']}", {WHOLE: "1"}
            if not page.get("next"):
                break
            asked["after"] = page["next"]


def _file(path: str, after: str = "") -> str:
    if after and not _SAFE.fullmatch(after):  # a session's id is what the commit of anybody says
        after = sha256(after.encode("utf-8", "replace")).hexdigest()
    return f"{path or 'index'}{f'/{after}' if after else ''}.html"


def _link(address: str, up: str) -> str:
    """Return the relative path from one file to another page's, "" for a page that is not written."""
    path, _, query = address.strip("/").partition("?")
    if path in FILES:
        return up + path
    first, _, item = path.partition("/")
    if first in _NOT_WRITTEN or path.endswith(".json") or (item and not _SAFE.fullmatch(item)):
        return ""
    return up + _file(path or "index", parse_qs(query).get("after", [""])[0])


def _write(folder: str, name: str, data: bytes) -> None:
    path = os.path.join(folder, *name.split("/"))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)
