import os
from datetime import timedelta, timezone

import pytest

from gitmem.importers import read as foreign
from gitmem.importers.read import kind_of, read_source
from gitmem.importers.sources import SourceKind
from gitmem.platform.safe_open import HANDLES
from tests.platform.test_safe_open import Swap

SEOUL = timezone(timedelta(hours=9))


def make(folder, *names: str):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name, encoding="utf-8")
    return folder


def whys(read) -> dict[str, str]:
    return {item.source: item.why for item in read[1]}


def test_files_are_read_in_order_with_their_times_in_the_zone(tmp_path):
    make(tmp_path, "b.md", "a/한글.md", "memory.md")
    os.utime(tmp_path / "b.md", (1_700_000_000.9, 1_700_000_000.9))
    read = read_source(str(tmp_path), SEOUL)
    assert [file.path for file in read[0]] == ["a/한글.md", "b.md", "memory.md"]
    assert read[0][0].data.decode() == "a/한글.md"
    assert read[0][1].modified.isoformat() == "2023-11-15T07:13:20+09:00"
    assert read[1] == []


def test_there_is_an_end_to_what_is_taken(tmp_path, monkeypatch):
    make(tmp_path, "a.md", "b.md", "c.md")
    monkeypatch.setattr(foreign, "MAX_FILES", 2)
    read = read_source(str(tmp_path), SEOUL)
    assert [file.path for file in read[0]] == ["a.md", "b.md"]
    assert whys(read) == {"c.md": "there are more files than gitmem takes from one source"}
    monkeypatch.setattr(foreign, "MAX_FILE", 3)
    assert whys(read_source(str(tmp_path), SEOUL))["a.md"] == "it has 4 bytes, more than gitmem takes from one file"
    assert read_source(str(tmp_path / "nowhere"), SEOUL) == ([], [])


@pytest.mark.parametrize(
    "folder, names, kind",
    [
        ("m", ["memory.md"], SourceKind.ROTATION),
        ("m", ["memory_20260113_112700.md"], SourceKind.ROTATION),
        ("m", ["logbook.md"], SourceKind.ROTATION),
        ("m", ["facts.json", "index.json", "memory.md"], SourceKind.KEEPER),
        ("memory-keeper/projects/x", ["memory.md"], SourceKind.KEEPER),
        ("m", ["MEMORY.md", "2026-01-28.md"], SourceKind.JIKIME),
        (".jikime/memory", ["2026-01-28.md"], SourceKind.JIKIME),
        ("m", ["readme.md"], None),
        ("m", [], None),
    ],
)
def test_whose_memory_it_is(tmp_path, folder, names, kind):
    assert kind_of(str(make(tmp_path / folder, *names))) is kind


@pytest.mark.skipif(not HANDLES, reason="the system opens nothing relative to a folder")
def test_a_folder_that_becomes_a_link_while_it_is_read_is_not_followed(tmp_path):
    source, outside = tmp_path / "source", tmp_path / "outside"
    for folder, text in ((source / "sessions", "inside"), (outside, "outside")):
        folder.mkdir(parents=True)
        (folder / "a.md").write_text(text)
    (source / "memory.md").write_text("inside")
    number, happened = 0, True
    while happened:
        number += 1
        with pytest.MonkeyPatch.context() as patch:
            swap = Swap(patch, source / "sessions", outside, number)
            found = read_source(str(source), SEOUL)
        assert all(file.data == b"inside" for file in found[0]), f"read at call {number}"
        happened = swap.happened
        if happened:
            (source / "sessions").unlink()
            (source / "sessions-was").rename(source / "sessions")
    assert number > 3
