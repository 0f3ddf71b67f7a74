from __future__ import annotations

import json


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
