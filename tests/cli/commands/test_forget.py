from __future__ import annotations

import json
from datetime import UTC, datetime

from gitmem.machine.context import Context
from gitmem.store.store import Store
from gitmem.store.transcripts.transcripts import put


def test_forget_asks_and_frees(gitmem, tmp_path, environ, home):
    context = Context(environ, str(home), "box", lambda: datetime.now(UTC))
    store = Store(str(tmp_path / ".gitmem"), context)
    for day in (1, 9):
        put(store, f"session-{day}", datetime(2026, 5, day, tzinfo=UTC), ["{}"])
    assert gitmem("forget", "--transcripts", "--before", "2026-05-05", "--dry-run")[1] == (
        "Would delete 1 transcript of 0.0 KB and keep 1.\n"
    )
    assert gitmem("forget", "--transcripts")[0] == 8
    assert "Nothing was deleted." in gitmem("forget", "--transcripts", answer="\n")[2]
    code, out, _ = gitmem("forget", "--transcripts", "--before", "2026-05-05", "--yes", "--json")
    assert (code, json.loads(out)["sessions"], json.loads(out)["kept"]) == (0, 1, 1)
    assert gitmem("forget")[0] == 2
    assert gitmem("forget", "--transcripts", "--before", "whenever")[0] == 2
