import pytest

from gitmem.history.origin import versions

PATH = "knowledge/두 번째 notes.md"


def told(box, lines, limit=10, path=PATH) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    return [(one.origin.subject, one.before, one.after) for one in versions(box.store, path, lines, limit)]


@pytest.fixture
def changed(box):
    box.put({PATH: b"first\nuse npm\nlast\n"}, subject="one")
    box.put({"other.md": b"other\n"}, subject="elsewhere")
    box.put({PATH: b"above\nfirst\nuse pnpm \xed\x95\x9c\nlast\n"}, subject="two")
    box.put({PATH: b"above\nfirst\nuse uv\nlast\n"}, subject="three")
    return box


def test_each_commit_that_changed_a_line_with_both_sides(changed):
    assert told(changed, (3, 3)) == [
        ("three", ("use pnpm 한",), ("use uv",)),
        ("two", ("use npm",), ("use pnpm 한",)),
        ("one", (), ("use npm",)),
    ]
    assert [subject for subject, _, _ in told(changed, (3, 3), limit=1)] == ["three"]
    assert told(changed, (4, 4)) == [("one", (), ("last",))]
    assert [subject for subject, _, _ in told(changed, (2, 3))] == ["three", "two", "one"]


def test_lines_of_the_work_tree_are_found_in_the_last_commit(changed):
    path = changed.root / PATH
    path.write_bytes(b"new\n" + path.read_bytes())
    assert told(changed, (5, 5)) == [("one", (), ("last",))]
    assert told(changed, (1, 1)) == []
    path.write_bytes(path.read_bytes().replace(b"use uv", b"use nothing"))
    assert told(changed, (4, 4))[0] == ("three", ("use pnpm 한",), ("use uv",))
    assert [subject for subject, _, _ in told(changed, (1, 5))] == ["three", "two", "one"]


def test_a_file_that_is_in_no_commit_has_no_versions(changed):
    (changed.root / "new.md").write_text("new\n")
    assert told(changed, (1, 1), path="new.md") == []


def test_a_nul_in_a_file_parts_no_commit_from_its_own(box):
    box.put({PATH: b"a\0" + b"1" * 40 + b"\0b\nline\n"}, subject="odd")
    box.put({PATH: b"a\0" + b"2" * 40 + b"\0b\nline\n"}, subject="odder")
    assert [subject for subject, _, _ in told(box, (1, 2))] == ["odder", "odd"]


def test_line_ends_of_windows_are_no_part_of_a_line(box):
    box.put({PATH: b"first\r\nuse npm\r\n"}, subject="one")
    box.put({PATH: b"first\r\nuse uv\r\n"}, subject="two")
    assert told(box, (2, 2)) == [("two", ("use npm",), ("use uv",)), ("one", (), ("use npm",))]
