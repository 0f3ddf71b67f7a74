from __future__ import annotations


def test_a_small_memory_stays(gitmem):
    checked = gitmem.json("check")
    assert set(checked) == {"tokens", "threshold", "archive", "dropped"}
    assert (checked["archive"], checked["dropped"]) == (None, [])
    assert gitmem("check")[1].startswith("Nothing to do: memory.md has ")


def test_a_full_memory_becomes_an_archive(gitmem, rotated):
    assert "The loader reads part 0 " in (gitmem.root / rotated).read_text(encoding="utf-8")
    assert gitmem.json("check")["archive"] is None


def test_check_prints_the_request_for_a_summary(gitmem, environ):
    gitmem("config", "rotation.carryover_tokens", "200")
    gitmem("config", "rotation.threshold_tokens", "2000")
    with (gitmem.root / "memory.md").open("a", encoding="utf-8") as file:
        file.writelines(f"- The loader reads part {number} of its settings in layers.\n" for number in range(200))
    assert "[GITMEM_ROTATE] file=archive/memory_" in gitmem("check")[1]


def test_a_person_is_told_of_a_rotation_in_words(gitmem):
    gitmem("config", "rotation.carryover_tokens", "200")
    gitmem("config", "rotation.threshold_tokens", "2000")
    for command in (("check",), ("save", "more")):
        with (gitmem.root / "memory.md").open("a", encoding="utf-8") as file:
            file.writelines(f"- The loader reads part {number} of its settings in layers.\n" for number in range(200))
        out = gitmem(*command, terminal=True)[1]
        assert "GITMEM_ROTATE" not in out
        assert "memory.md was full: all it held is in archive/memory_" in out
