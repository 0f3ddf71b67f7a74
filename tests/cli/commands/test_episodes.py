from __future__ import annotations

import json

from gitmem.cli.door import real_door
from gitmem.store.store import Store
from tests.cli.commands.turns import ended


def test_episodes_are_listed_shown_and_judged(gitmem, tmp_path):
    assert "No episodes yet" in gitmem("episodes", "list")[1]
    store = Store(str(tmp_path / ".gitmem"), real_door().context())
    ended(store, "Fix the parser of CRLF", files=("parser.py",), answer="Changed the parser to read CRLF ends.")
    [episode] = json.loads(gitmem("episodes", "list", "--json")[1])
    assert (episode["type"], episode["outcome"], episode["usefulness"]) == ("bug_fix", "success", 0.5)
    assert episode["task"] in gitmem("episodes", "list")[1]
    assert "## Solution" in gitmem("episodes", "show", episode["id"][:6])[1]
    assert "usefulness is 0.65" in gitmem("episodes", "good", episode["id"])[1]
    judged = json.loads(gitmem("episodes", "bad", episode["id"], "--json")[1])
    assert judged["usefulness"] == 0.455
    assert judged["commit"]
    assert gitmem("episodes", "show", "e0")[0] == 9
