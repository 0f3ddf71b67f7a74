from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitmem.memory.headers import FOLDER, read_headers


def put(desk, name: str, text: str) -> Path:
    path = Path(desk.store.root, "facts", name)
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def said(data: bytes, path: str) -> tuple[tuple[str, ...], list[object]] | None:
    text = data.decode("utf-8", "replace")
    return ((path, "a\tb"), [text, ("한", "글")]) if text.startswith("said") else None


def headers(desk, **more) -> list[tuple[tuple[str, ...], list[object]]]:
    return [(header.key, header.load()) for header in read_headers(desk.store, "facts", said, **more)]


def test_what_is_remembered_is_what_was_read(desk):
    put(desk, "한글 b.md", "said\twith a tab\nand a line")
    put(desk, "a.md", "said")
    put(desk, "other.md", "another thing")
    wanted = [
        (("facts/a.md", "a b"), ["said", ("한", "글")]),
        (("facts/한글 b.md", "a b"), ["said\twith a tab\nand a line", ("한", "글")]),
    ]
    assert headers(desk) == wanted
    assert headers(desk, trusting=True) == wanted
    put(desk, "a.md", "said again")
    assert headers(desk)[0][1][0] == "said again"


@pytest.mark.parametrize("damage", [b"", b"2\nfacts/a.md\t1\t2\t", b"1\nx\n", b"\xff\xfe"])
def test_a_damaged_cache_is_made_anew(desk, damage):
    put(desk, "a.md", "said")
    assert len(headers(desk)) == 1
    (Path(desk.store.private) / FOLDER / "facts.tsv").write_bytes(damage)
    assert len(headers(desk)) == 1


def test_what_cannot_be_read_now_is_read_the_next_time(desk, monkeypatch):
    put(desk, "a.md", "said")

    def fail(path: str) -> bytes:
        raise OSError(os.strerror(24), path)

    with monkeypatch.context() as patch:
        patch.setattr(type(desk.store), "read", lambda _, path: fail(path))
        assert headers(desk) == []
    assert len(headers(desk)) == 1


def test_at_most_so_many_are_read_that_are_not_known(desk):
    for number in range(5):
        put(desk, f"{number}.md", "said")
    assert [len(headers(desk, most=2)) for _ in range(4)] == [2, 4, 5, 5]


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="this system has no links")
def test_links_are_not_followed(desk, tmp_path):
    (tmp_path / "outside.md").write_text("said")
    put(desk, "a.md", "said")
    os.symlink(tmp_path / "outside.md", Path(desk.store.root, "facts", "b.md"))
    assert len(headers(desk)) == 1
