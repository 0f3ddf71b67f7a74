from __future__ import annotations

import pytest

KEYS = [
    *(
        "path",
        "start_line",
        "end_line",
        "heading",
        "layer",
        "field",
        "type",
        "tags",
        "date",
        "session",
        "author",
        "entry",
    ),
    *("score", "snippet", "tokens", "commit", "text", "weak", "status", "others", "own", "views"),
]


def test_hits_come_layer_by_layer_and_say_where_they_stand(filled):
    hits = filled.json("search", "zebra", "--by", "layer")

    assert [list(hit) for hit in hits] == [KEYS] * 4
    assert [hit["layer"] for hit in hits] == ["memory", "knowledge", "knowledge", "logs"]
    assert hits[0]["path"] == "memory.md"
    assert (hits[0]["type"], hits[0]["tags"]) == ("Decision", ["road"])
    assert "themes" in {hit["field"] for hit in hits}
    code, out, err = filled("search", "zebra", "--by", "layer")
    assert (code, err) == (0, "")
    titles = [line for line in out.splitlines() if line and line[0] != " " and ":" not in line]
    assert titles == ["memory.md", "summaries and facts", "archives and logs"]
    assert f"memory.md:{hits[0]['start_line']}" in out


def test_by_score_the_best_comes_first(filled):
    scores = [hit["score"] for hit in filled.json("search", "the", "zebra")]

    assert scores == sorted(scores, reverse=True)
    assert len(filled.json("search", "zebra", "-n", "2")) == 2


@pytest.mark.parametrize("command", ["search", "recall"])
def test_a_query_of_nothing_is_an_error(filled, command):
    code, out, err = filled(command, " ")
    assert (code, out) == (2, "")
    assert "The query is empty" in err


def test_nothing_found_is_an_empty_list_and_no_failure(filled):
    assert filled.json("search", "giraffe") == []
    assert filled("search", "giraffe") == (0, "", "gitmem: Nothing found. Try fewer words, --history or --deep.\n")


def test_it_says_how_many_hits_of_how_many_are_shown(filled):
    assert filled("search", "zebra", "-n", "2")[2] == "gitmem: 2 of 4 hits; -n shows more.\n"
    assert filled("search", "zebra", "-n", "4")[2] == ""
    assert filled("search", "zebra", "-n", "2", "--json")[2] == ""


def test_colour_is_for_terminals_and_control_characters_for_nobody(filled):
    (filled.root / "archive" / "x.md").write_text("# \x1b[2J\n\nescape \x1b[31m zebra\n")

    _, plain, _ = filled("search", "zebra")
    _, coloured, _ = filled("search", "zebra", terminal=True)

    assert "\x1b" not in plain
    assert "\x1b[1;33mzebra\x1b[0m" in coloured
    assert "\x1b[31m" not in coloured
    assert "\x1b[2J" not in coloured
    assert "\x1b" not in filled("get", "archive/x.md:1", terminal=True)[1]


def test_what_history_holds_can_be_found_and_printed(filled):
    path = filled.root / "archive" / "memory_20261101_000000.md"
    filled("check")
    filled("log")
    filled("save", "one")
    path.write_text("# Old\n\nnothing\n")
    filled("save", "two")
    assert filled.json("search", "zebra", "path:archive") == []

    (hit,) = filled.json("search", "--history", "zebra", "path:archive")

    assert filled("get", f"{hit['path']}:3-3", "--at", hit["commit"])[1] == "an old zebra\n"


def test_an_own_rule_that_contradicts_the_project_s_says_which_goes_before_it(gitmem):
    gitmem("init", "--user")
    gitmem("--user", "save", "Always use tabs for indentation.", "--type", "rule")
    rule = gitmem.json("save", "Always use spaces for indentation.", "--type", "rule")
    assert f"your own; in this project ^{rule['id']} goes before it" in gitmem("search", "indentation")[1]


def test_own_rules_and_preferences_are_found_after_the_project_s_and_marked(gitmem):
    gitmem("init", "--user")
    gitmem("--user", "save", "Zebra stripes go left", "--type", "preference")
    gitmem("--user", "save", "A zebra note that is nobody's business")
    gitmem("save", "The zebra crossing stays")
    first, second = gitmem.json("search", "zebra")
    assert (first["own"], second["own"]) == (False, True)
    assert second["path"].startswith("~/.gitmem/")
    assert "your own, in every project" in gitmem("search", "zebra")[1]
    assert "your own, in every project" in gitmem("recall", "zebra")[1]
    assert [hit["own"] for hit in gitmem.json("--user", "search", "stripes")] == [False]
    gitmem("--user", "facts", "retire", gitmem.json("--user", "facts", "list")[0]["id"])
    assert len(gitmem.json("search", "zebra")) == 1
