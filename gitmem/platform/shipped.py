"""How this gitmem was installed: by pip, uv or pipx, from an index, a folder or a repository, for hints that work."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distribution
from urllib.parse import urlsplit
from urllib.request import url2pathname

from gitmem.values import Value

_NAME = "gitmem-store"
_GONE = "/path/to/a/clone"  # stands for a folder that was installed from and is gone
_EXTRA = re.compile(r"([\w.-]+)[^;]*;.*\bextra == ['\"](\w+)['\"]")


class Installed(Value):
    """Where gitmem is installed, by which installer, from which source ("": an index), and with which extras."""

    prefix: str
    python: str
    installer: str
    source: str
    editable: bool
    extras: tuple[str, ...]

    def command(self, extra: str = "") -> str:
        """Return the command that installs gitmem again, with one more extra, or else upgraded."""
        tool = "uv tool" if self._has("uv-receipt.toml") else "pipx" if self._has("pipx_metadata.json") else ""
        if tool and not extra:
            return f"{tool} upgrade {_NAME}"
        extras = ",".join(sorted({*self.extras, extra} - {""}))
        bracket = f"[{extras}]" if extras else ""
        repository = self.source.startswith("git+")
        what = f"{_NAME}{bracket} @ {self.source}" if repository else f"{self.source or _NAME}{bracket}"
        by_pip = f"{shlex.quote(self.python)} -m pip install"
        by_uv = f"uv pip install --python {shlex.quote(self.python)}"
        by_tool = {"uv tool": "uv tool install", "pipx": "pipx install --force"}
        install = by_tool.get(tool) or (by_uv if self.installer == "uv" else by_pip)
        options = " --upgrade" * (not extra) + " --editable" * self.editable
        return f"{install}{options} {shlex.quote(what)}"

    def _has(self, name: str) -> bool:
        return os.path.exists(os.path.join(self.prefix, name))


def install_command(extra: str = "") -> str:
    """Return the command by which the person's installer adds an extra to this gitmem, or without one upgrades it."""
    try:
        about = distribution(_NAME)
    except PackageNotFoundError:
        return Installed(sys.prefix, sys.executable, "", "", editable=False, extras=()).command(extra)
    source, editable = _source(about.read_text("direct_url.json") or "{}")
    installer = (about.read_text("INSTALLER") or "").strip()
    extras = _extras(about.requires or ())
    return Installed(sys.prefix, sys.executable, installer, source, editable=editable, extras=extras).command(extra)


def _source(direct_url: str) -> tuple[str, bool]:
    """Return the source in a `direct_url.json` as an installer reads it, and whether it is installed as editable."""
    given = json.loads(direct_url)
    url = str(given.get("url", ""))
    if "vcs_info" in given:
        return f"{given['vcs_info'].get('vcs', 'git')}+{url}", False
    if not url.startswith("file:"):
        return url, False
    path = url2pathname(urlsplit(url).path)
    editable = bool(given.get("dir_info", {}).get("editable"))
    return (path, editable) if os.path.exists(path) else (_GONE, False)


def _extras(requires: Iterable[str]) -> tuple[str, ...]:
    """Return the extras whose packages are all installed, which a new installation would drop."""
    found: dict[str, bool] = {}
    for requirement in requires:
        if match := _EXTRA.match(requirement):
            name, extra = match.groups()
            try:
                found[extra] = found.get(extra, True) and bool(distribution(name))
            except PackageNotFoundError:
                found[extra] = False
    return tuple(extra for extra, complete in found.items() if complete and extra != "dev")
