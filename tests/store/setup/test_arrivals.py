"""The table of what comes from a remote is the one of the format page, and it is what a sync goes by."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gitmem.errors import RefusedError
from gitmem.store.setup.arrivals import ARRIVALS, arrival
from gitmem.store.setup.init import Place
from gitmem.store.sync.clone import clone_store
from gitmem.store.sync.retry import Options
from tests.property.hostile import Objects, Said

PAGE = Path(__file__).resolve().parents[3] / "docs" / "format.md"
SIZES = {"64 KiB": 64 << 10, "100 MiB": 100 << 20}


def test_the_table_is_that_of_the_format_page():
    trust = PAGE.read_text(encoding="utf-8").partition("\n## Trust\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(.+?)` \| (\d+ [KM]iB) \| (.+) \|$", trust, re.MULTILINE)
    assert [(pattern, SIZES[size], can) for pattern, size, can in rows] == [tuple(row) for row in ARRIVALS]


@pytest.mark.parametrize(
    "path, pattern",
    [
        ("memory.md", "memory.md"),
        ("daily/2026/11/2026-11-21.md", "*.md"),
        ("purged/x.json", "purged/*.json"),
        ("notes/config.yaml", "*"),
        ("knowledge/.gitattributes", "*.gitattributes"),
        ("gitmem.py", "*"),
        ("Memory.md", "*.md"),
    ],
)
def test_the_first_row_that_fits_counts(path, pattern):
    assert arrival(path).pattern == pattern


@pytest.mark.parametrize("name", ["config.yaml", ".gitattributes", ".gitignore", "FORMAT.md"])
def test_what_is_read_as_more_than_text_is_small(name, context, tmp_path, bare_git):
    bare_git(tmp_path, "init", "-q", "--bare", "remote.git")
    objects = Objects(tmp_path / "remote.git")
    files = {"FORMAT.md": b"---\nversion: 2\n---\n", name: b"---\nversion: 1\n---\n" + b"#\n" * 40_000}
    tree = {(path.encode(),): (b"100644", objects.write("blob", data)) for path, data in files.items()}
    objects.point("refs/heads/gitmem", objects.commit(objects.tree(tree), [], Said()))
    (tmp_path / "project").mkdir()
    remote = str(tmp_path / "remote.git")
    options = Options(("other-project",))
    with pytest.raises(RefusedError, match="more than gitmem allows for it"):
        clone_store(str(tmp_path / "project"), context, Place.PROJECT, remote, asks=False, options=options)
