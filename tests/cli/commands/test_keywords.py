from __future__ import annotations

import json
import re

from gitmem.search import keywords
from tests.cli.commands.project import ROOT


def test_keywords_are_derived_from_what_there_is_now(filled):
    counts = {item["word"]: item["count"] for item in filled.json("keywords")}

    assert counts["zebra"] == 2
    assert "the" not in counts
    assert len(filled.json("keywords", "zebra")) == 4
    (filled.root / "archive" / "memory_20261101_000000.md").unlink()
    for summary in (filled.root / "summaries").iterdir():
        summary.unlink()
    assert {item["word"]: item["count"] for item in filled.json("keywords", "-n", "0")}["zebra"] == 1


def test_the_ids_of_entries_are_no_keywords(gitmem):
    gitmem("save", "Argon for passwords")
    gitmem("save", "Argon for all of them")
    gitmem("save", "As ^xrr0fya7zzz has it")
    words = [word["word"] for word in json.loads(gitmem("keywords", "--json", "--limit", "0")[1])]
    assert sorted(words) == ["argon", "passwords"]
    assert gitmem.json("keywords", "zzz") == []


def test_of_many_files_some_of_each_folder_are_read(gitmem, monkeypatch):
    monkeypatch.setattr(keywords, "MOST_FILES", 20)
    for number in range(300):
        word = ("zebra", "horse", "camel")[number // 100]
        path = gitmem.root / "daily" / word / f"{number:03}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {number}\n\n{word}\n", encoding="utf-8")
    code, out, notice = gitmem("keywords")
    counts = {word: int(number) for number, word in map(str.split, out.splitlines())}
    assert (code, counts.keys()) == (0, {"zebra", "horse", "camel"})
    assert all(85 <= number <= 115 for number in counts.values())
    assert "estimated" in notice


def test_a_word_with_digits_in_it_is_one_keyword(gitmem):
    gitmem("save", "Hash with argon2id on x86-64, as utf8_decode of py3 does- 2fa")
    words = {word["word"] for word in json.loads(gitmem("keywords", "--json", "--limit", "0")[1])}
    assert words == {"hash", "argon2id", "x86-64", "utf8_decode", "py3"}


def test_labels_and_marks_of_secrets_are_no_keywords(gitmem):
    assert gitmem("replay", *(str(path) for path in sorted((ROOT / "templates" / "demo").glob("*.jsonl"))))[0] == 0
    words = {word["word"] for word in gitmem.json("keywords", "-n", "0")}
    labels = {"asked", "done", "files", "failed", "keywords", "outcome", "success", "partial", "answer", "noted"}
    assert not words & {
        *labels,
        "error",
        "redacted",
        "anthropic-key",
        "user",
        "prompt",
        "assistant",
        "response",
        "exchange",
    }
    assert not words & {"요청", "파일", "실패", "키워드", "결과", "성공", "일부"}
    assert not words & {"exchanges", "md"}, "links of concepts"
    assert {"argon2id", "jwt", "환불", "포트"} <= words


def test_what_a_rule_declares_as_its_keywords_counts_once_and_is_found(gitmem):
    gitmem("save", "Install with uv, not pip", "--type", "rule")
    (path,) = (gitmem.root / "facts" / "rule").iterdir()
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub("(?m)^keywords:.*", "keywords: [uv, lockfile]", text), encoding="utf-8")
    counts = {word["word"]: word["count"] for word in gitmem.json("keywords", "-n", "0")}
    assert counts == {"install": 1, "uv": 1, "pip": 1, "lockfile": 1}
    assert gitmem.json("keywords", "lockfile")


def test_a_number_with_its_counter_is_no_keyword(gitmem):
    gitmem("save", "연결을 5회로 제한한다, 회로는 없다")
    words = {word["word"] for word in gitmem.json("keywords", "-n", "0")}
    assert "회로" in words
    gitmem("save", "재시도는 3단계로 줄인다")
    assert "단계" not in {word["word"] for word in gitmem.json("keywords", "-n", "0")}


def test_a_memory_counts_once_however_many_documents_tell_it(gitmem):
    gitmem("save", "The walrus swims")
    for path in ("concepts/k4f7k2m9q0x-walrus.md", "summaries/memory_20261101_000000.summary.md"):
        (gitmem.root / path).parent.mkdir(exist_ok=True)
        (gitmem.root / path).write_text("# A\n\nThe walrus swims.\n", encoding="utf-8")
    (gitmem.root / "archive").mkdir(exist_ok=True)
    entry = next(line for line in (gitmem.root / "memory.md").read_text("utf-8").split("\n") if "walrus" in line)
    (gitmem.root / "archive" / "memory_20261101_000000.md").write_text(f"## Notes\n\n{entry}\n", encoding="utf-8")

    assert {word["word"]: word["count"] for word in gitmem.json("keywords", "-n", "0")}["walrus"] == 1
