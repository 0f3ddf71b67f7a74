"""Quote paths for `git fast-import`. Tested through `tests/git/commit/test_fast_import.py`."""

from __future__ import annotations

import os

from gitmem.errors import RefusedError

_UNQUOTED = frozenset(range(256)) - frozenset(range(0x21)) - frozenset(b'"\x7f')
_VERBATIM = _UNQUOTED - frozenset(b"\\")


def quote_path(path: str) -> bytes:
    """Return a path for fast-import, in C quotes if necessary.

    Raises:
        RefusedError: it is no valid file name.

    """
    raw = os.fsencode(path)
    if not raw or 0 in raw:
        raise RefusedError(f"No file can be called {path!a}.")
    if _UNQUOTED.issuperset(raw):
        return raw
    return b'"%s"' % b"".join(b"%c" % byte if byte in _VERBATIM else b"\\%03o" % byte for byte in raw)
