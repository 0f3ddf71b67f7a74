from __future__ import annotations

import json
from pathlib import Path


def listed(gitmem, *options: str) -> list[dict]:
    code, out, err = gitmem("facts", "list", "--json", *options)
    assert (code, err) == (0, "")
    return json.loads(out)


def test_the_agents_own_memory_is_adopted(gitmem, home, tmp_path):
    assert gitmem("adopt")[0] == 9
    named = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in str(tmp_path))
    folder = Path(home, ".claude", "projects", named, "memory")
    folder.mkdir(parents=True)
    (folder / "fly.md").write_text("---\ndescription: Deploys go by Fly\n---\nBy Fly.\n")
    value = json.loads(gitmem("adopt", "--json")[1])
    assert (len(value["new"]), value["folder"]) == (1, str(folder))
    (folder / "uv.md").write_text("---\ndescription: Builds go by uv\n---\nBy uv.\n")
    assert gitmem("hook", "claude", "--drain")[0] == 0
    assert {fact["description"] for fact in listed(gitmem)} == {"Deploys go by Fly", "Builds go by uv"}
    Path(home, ".claude", "settings.json").write_text(json.dumps({"autoMemoryDirectory": "~/kept"}))
    Path(home, "kept").mkdir()
    assert json.loads(gitmem("adopt", "--json")[1])["folder"] == str(home / "kept")
