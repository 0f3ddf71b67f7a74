"""Locate the files that ship with gitmem: templates for stores, hooks for hosts.

In the source tree, which an editable install uses, `hooks/` and `templates/` stand beside the package; a wheel
carries them inside it.

Tested through `tests/test_package.py`.
"""

from __future__ import annotations

import os

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def resource(*parts: str) -> str:
    """Return the absolute path of a shipped file or folder, as in `resource("templates", "memory.md")`.

    Raises:
        FileNotFoundError: the installation has no such file.

    """
    for root in (os.path.join(_PACKAGE, "_data"), os.path.dirname(_PACKAGE)):
        path = os.path.join(root, *parts)
        if os.path.exists(path):
            return path
    raise FileNotFoundError(f"gitmem was installed without {'/'.join(parts)}")


def read_resource(*parts: str) -> bytes:
    """Return the content of a shipped file."""
    with open(resource(*parts), "rb") as file:
        return file.read()
