def test_the_text_a_session_starts_with_and_what_its_parts_cost(gitmem):
    assert gitmem("start")[1].startswith("Nothing is remembered yet")
    gitmem("facts", "add", "Use uv, not pnpm.\n\n**Why:** its lock file is faster.", "--kind", "rule")
    code, out, err = gitmem("start")
    assert (code, err) == (0, "")
    assert "- Use uv, not pnpm. Why: its lock file is faster. (rule, " in out
    value = gitmem.json("start")
    assert value["text"] == out.rstrip("\n")
    [facts] = [part for part in value["parts"] if part["title"] == "What holds"]
    assert (facts["pieces"], facts["of"]) == (1, 1)
    assert sum(part["tokens"] for part in value["parts"]) < value["tokens"] <= value["budget"]
