from __future__ import annotations

import json

import pytest

from gitmem.cli.door import real_door
from gitmem.store.store import Store
from tests.cli.commands.turns import ended


@pytest.fixture
def store(gitmem, tmp_path) -> Store:
    return Store(str(tmp_path / ".gitmem"), real_door().context())


def test_concepts_are_listed_shown_merged_and_split(gitmem, store):
    ended(store, "Make the parser read CRLF", files=("parser.py",), answer="Changed the parser to read CRLF ends.")
    [concept] = json.loads(gitmem("concepts", "list", "--json")[1])
    assert concept["files"] == ["parser.py"]
    assert concept["name"] in gitmem("concepts", "list")[1]
    assert "## Exchanges" in gitmem("concepts", "show", "parser")[1]
    assert gitmem("concepts", "merge", "parser", "parser")[1] == "parser.py: CRLF, ends is one concept already.\n"
    assert gitmem("concepts", "split", "parser", concept["exchanges"][0], "--name", "x")[0] == 8
