"""Which agents' settings have gitmem's hooks.

Tested through `tests/cli/commands/test_install.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.hosts.all import NAMES, find_host
from gitmem.hosts.host import Place, Scope
from gitmem.hosts.install import is_present
from gitmem.hosts.settings.edits import HOOKS, Edit
from gitmem.machine.beneath import read_regular

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitmem.hosts.host import Host
    from gitmem.hosts.settings.edits import Shipped

_MOST_BYTES = 100_000  # of a file that is looked into


def recorded_agents(project: str, home: str, environ: Mapping[str, str]) -> list[str]:
    """Return the titles of the agents whose sessions in a project are recorded, by its settings or the person's."""
    places = [Place(scope, project, home, environ) for scope in Scope]
    hosts = map(find_host, NAMES)
    return [
        one.title for one in hosts if any(place.scope in one.scopes and hooked_file(one, place) for place in places)
    ]


def hooked_file(host: Host, place: Place) -> str:
    """Return the path of the settings with gitmem's hooks, "" if they have none."""
    items = [item for item in host.edits(place) if item.part == HOOKS]
    return next((item.path for item in items if is_there(item)), "")


def is_there(item: Edit | Shipped) -> bool:
    """Return whether what an item installs is there; another's hook may have the name of its file."""
    return is_present(item) if isinstance(item, Edit) else b"gitmem" in content(item.path)


def content(path: str) -> bytes:
    """Return the beginning of a file, b"" if it cannot be read."""
    try:
        return read_regular(path, _MOST_BYTES) or b""
    except OSError:
        return b""
