from __future__ import annotations


def save(memory, text: str, **metadata) -> None:
    assert not memory.call("memory_save", type="decision", content=text, metadata=metadata).is_error


def line_of(memory, word: str) -> int:
    lines = (memory.root / "memory.md").read_text(encoding="utf-8").split("\n")
    return next(number for number, line in enumerate(lines, 1) if word in line)


def test_who_learned_a_line_when_and_in_which_session(memory):
    save(memory, "We use uv", session="1b4e51f0")
    text = memory.read("memory_history", path="memory.md", start_line=line_of(memory, "We use uv"))
    assert "Learned 2026-11-21 12:00 by mcp, session 1b4e51f0, commit " in text
    assert "(Save decision: We use uv)" in text
    assert "There are no earlier versions." in text


def test_what_a_line_was_before(memory):
    save(memory, "We use npm")
    for old, new in (("npm", "pnpm!"), ("pnpm!", "uv")):
        path = memory.root / "memory.md"
        path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
        save(memory, f"note about {new}")
    number = line_of(memory, "We use uv")
    text = memory.read("memory_history", path="memory.md", start_line=number, end_line=number)
    assert text.index("Learned") < text.index("We use uv")
    first, second = (
        text.index("Before that:\n- - [2026-11-21 12:00:00] **Decision**: We use pnpm!"),
        text.index("We use npm"),
    )
    assert first < second
    assert text.count("Before that:") == 2
    limited = memory.read("memory_history", path="memory.md", start_line=number, limit=1)
    assert "We use npm" not in limited
    assert "There are older versions" in limited


def test_a_hand_edit_that_is_not_committed_is_told_with_what_it_was(memory):
    save(memory, "We use npm")
    path = memory.root / "memory.md"
    number = line_of(memory, "We use npm")
    path.write_text("a line above\n" + path.read_text(encoding="utf-8").replace("npm", "uv"), encoding="utf-8")
    text = memory.read("memory_history", path="memory.md", start_line=number + 1, end_line=number + 1)
    assert "Edited by hand just now" in text
    assert "We use uv" in text
    above = memory.read("memory_history", path="memory.md", start_line=1, end_line=1)
    assert "There are no earlier versions" in above
    memory.put("knowledge/new.md", "only here\n")
    assert "Edited by hand" in memory.read("memory_history", path="knowledge/new.md", start_line=1)


def test_a_long_version_is_shortened_and_can_be_got(memory):
    memory.put("knowledge/long.md", "".join(f"old {number}\n" for number in range(50)))
    save(memory, "one")
    memory.put("knowledge/long.md", "new\n")
    save(memory, "two")
    text = memory.read("memory_history", path="knowledge/long.md", start_line=1)
    assert text.count("- old ") == 20
    revision = text.partition("30 more lines: memory_get(..., at='")[2].partition("'")[0]
    assert "old 49" in memory.read("memory_get", path="knowledge/long.md", at=revision)


def test_long_ranges_are_told_in_parts(memory):
    memory.put("knowledge/long.md", "".join(f"line {number}\n" for number in range(1, 301)))
    text = memory.read("memory_history", path="knowledge/long.md", start_line=1, end_line=300)
    assert "[knowledge/long.md:1-60]" in text
    assert "Next: memory_history('knowledge/long.md', 61, 300)" in text


def test_an_entry_of_an_archive_leads_to_the_save_that_wrote_it(memory):
    memory.put("config.yaml", "rotation:\n  threshold_tokens: 1000\n  carryover_tokens: 100\n")
    save(memory, "The very first", session="aaaa1111")
    for number in range(12):
        memory.call("memory_save", type="note", content=f"filler {number} " + "x" * 400)
    (archive, *_) = sorted((memory.root / "archive").iterdir())
    number = next(n for n, line in enumerate(archive.read_text().split("\n"), 1) if "The very first" in line)
    text = memory.read("memory_history", path=f"archive/{archive.name}", start_line=number)
    assert "session aaaa1111" in text
