"""Read data files: what people can read and correct without reading code (gitmem/data)."""

from __future__ import annotations

import os
import re
from functools import cache

_FOLDER = os.path.join(os.path.dirname(os.path.dirname(__file__)), "data")


@cache
def rows(name: str) -> tuple[tuple[str, ...], ...]:
    """Return the rows of a file such as `effects.tsv`, without comments and empty lines."""
    with open(os.path.join(_FOLDER, name), encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in file]
    return tuple(tuple(line.split("\t")) for line in lines if line and not line.startswith(("#", "kind\t")))


@cache
def languages(name: str) -> tuple[str, ...]:
    """Return the files of this name of all languages, each a folder."""
    found = (f"{folder}/{name}" for folder in sorted(os.listdir(_FOLDER)))
    return tuple(path for path in found if os.path.isfile(os.path.join(_FOLDER, path)))


@cache
def matcher(name: str, kind: str) -> re.Pattern[str]:
    """Return the form that has one of the forms of a kind, in any language."""
    forms = (row[1] for path in languages(name) for row in rows(path) if row[0] == kind)
    return re.compile("|".join(forms), re.IGNORECASE)
