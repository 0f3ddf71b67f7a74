import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.command_line import ROOT
from tests.copies import run_git


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


def test_a_replay_shows_a_terminal_how_far_it_is(gitmem, tmp_path):
    for number in range(4):
        line = {"type": "user", "sessionId": f"s{number}", "timestamp": "2026-01-01T00:00:00Z"}
        line["message"] = {"role": "user", "content": "Please look at the parser."}
        (tmp_path / f"{number}\x1b[2J.jsonl").write_text(json.dumps(line))
    names = sorted(str(path) for path in tmp_path.glob("*.jsonl"))
    _, _, shown = gitmem("replay", *names, terminal=True)
    assert "[############            ] 2/4 2" in shown
    assert "\x1b" not in shown
    code, out, err = gitmem("replay", *names)
    assert code == 0
    assert "4/4" not in out + err


def test_the_last_save_of_a_replay_is_now(gitmem):
    assert gitmem("replay", *(str(path) for path in sorted((ROOT / "tests" / "data" / "demo").glob("*.jsonl"))))[0] == 0
    at = datetime.fromisoformat(gitmem.json("status")["last_save"]["at"])
    assert abs(at - datetime.now(UTC)) < timedelta(hours=1)


def test_a_second_import_adds_nothing_and_a_dry_run_names_what_is_new(gitmem, tmp_path):
    def commits() -> str:
        return run_git(tmp_path / ".gitmem", "rev-list", "--all", "--count")

    demo = sorted((ROOT / "tests" / "data" / "demo").glob("*.jsonl"))
    folder = tmp_path / "transcripts"
    folder.mkdir()
    for path in demo[:-1]:
        (folder / path.name).write_bytes(path.read_bytes())
    before = commits()
    planned = gitmem.json("import", str(folder), "--dry-run")
    assert (len(planned["files"]), commits()) == (len(demo) - 1, before)
    first = gitmem.json("import", str(folder))
    assert first["saved"] == planned["turns"]
    after = commits()
    assert "0 transcripts would be imported (0 turns)" in gitmem("import", str(folder), "--dry-run")[1]
    assert (gitmem.json("import", str(folder))["saved"], commits()) == (0, after)
    (folder / demo[-1].name).write_bytes(demo[-1].read_bytes())
    assert gitmem.json("import", str(folder), "--dry-run")["files"] == [str(folder / demo[-1].name)]
