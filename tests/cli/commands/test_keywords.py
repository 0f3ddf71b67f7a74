from __future__ import annotations

import json


def test_keywords_are_derived_from_what_there_is_now(filled):
    counts = {item["word"]: item["count"] for item in filled.json("keywords")}

    assert counts["zebra"] == 4
    assert "the" not in counts
    assert len(filled.json("keywords", "zebra")) == 4
    (filled.root / "archive" / "memory_20261101_000000.md").unlink()
    assert {item["word"]: item["count"] for item in filled.json("keywords", "-n", "0")}["zebra"] == 3


def test_the_ids_of_entries_are_no_keywords(gitmem):
    gitmem("save", "Argon for passwords")
    gitmem("save", "Argon for all of them")
    words = [word["word"] for word in json.loads(gitmem("keywords", "--json", "--limit", "0")[1])]
    assert sorted(words) == ["argon", "passwords"]


def test_a_word_with_digits_in_it_is_one_keyword(gitmem):
    gitmem("save", "Hash with argon2id on x86-64, as utf8_decode of py3 does- 2fa")
    words = {word["word"] for word in json.loads(gitmem("keywords", "--json", "--limit", "0")[1])}
    assert words == {"hash", "argon2id", "x86-64", "utf8_decode", "py3"}
