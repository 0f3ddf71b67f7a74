from __future__ import annotations

import json


def test_a_young_store_has_nothing_to_clean_up(gitmem):
    assert gitmem("cleanup")[1] == "There is nothing to clean up.\n"
    assert json.loads(gitmem("cleanup", "--dry-run", "--json")[1]) == {"episodes": [], "patterns": [], "commit": None}
