import math
import os
import random
import re
import struct
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.search.files import FileVersion
from gitmem.search.units import Units
from gitmem.text.stems import estimate_tokens
from gitmem.vectors import cache as module
from gitmem.vectors.cache import BYTES, NO_ROW, Cache, Mapped, chunks, cosines, is_comparable, is_news

ENTRY = "- [2026-11-20 09:00:00] **Note** #tag: {} ^01m7v7spn00wqb23tam1\n"
LINES = st.sampled_from(
    [
        *(
            "",
            " ",
            "# Title",
            "## Sub ##",
            "#",
            "---",
            "id: x",
            "```",
            "plain words",
            "단어 몇 개 🌱",
            "\t tab",
            "a" * 900,
        ),
        *(
            "- item",
            "- [10:00:00] said",
            ENTRY.format("told").strip(),
            "  continued",
            "x. " * 700,
            "끝" * 1500,
            "...",
            "\x00",
        ),
    ]
)


def cut(text: str, path: str = "knowledge/a.md"):
    return chunks(Units(path, text.encode("utf-8", "surrogatepass")))


def test_entries_and_sections_are_chunks_with_their_lines():
    text = "# 2026-11-20\n\n" + ENTRY.format("one") + ENTRY.format("two") + "  more\n\n## After\n\nwords\n"
    assert [(chunk.start, chunk.end, chunk.text) for chunk in cut(text, "daily/2026/11/2026-11-20.md")] == [
        (1, 3, "one"),
        (4, 5, "two\n  more"),
        (7, 9, "## After\n\nwords"),
    ]


def test_an_entry_is_embedded_without_what_every_entry_has():
    (chunk,) = cut(ENTRY.format("use uv"), "memory.md")
    assert chunk.text == "use uv"


def test_a_long_section_is_cut_at_lines_and_each_part_has_its_heading():
    paragraph = "many words " * 40
    found = cut("# Big\n\n" + f"{paragraph}\n\n" * 12)
    assert len(found) > 2
    assert all(chunk.text.startswith(("# Big", "Big\n")) for chunk in found)
    assert all(estimate_tokens(chunk.text) <= 400 + estimate_tokens("Big\n") for chunk in found)


def test_a_line_of_megabytes_is_many_chunks_of_one_line():
    found = cut("# One\n\n" + "word " * 400_000)
    assert {(chunk.start, chunk.end) for chunk in found[1:]} == {(3, 3)}
    assert len(found) > 1000


def test_the_same_text_has_the_same_key_wherever_it_stands():
    one = cut(ENTRY.format("the same"), "memory.md")
    other = cut("# Log\n\n" + ENTRY.format("the same").replace("09:00:00", "10:11:12"), "daily/2026/11/2026-11-20.md")
    assert one[0].key() == other[0].key()
    assert one[0].key() != cut(ENTRY.format("another"), "memory.md")[0].key()


@pytest.mark.parametrize("text", ["", "\n\n", "---\nid: a\n---\n", "***\n", "\ufeff"])
def test_what_says_nothing_has_no_chunks(text):
    assert cut(text) == []


@given(st.lists(LINES, max_size=25), st.sampled_from(["knowledge/a.md", "daily/2026/11/2026-11-20.md"]))
def test_the_lines_of_the_chunks_cover_the_text_in_order(lines, path):
    units = Units(path, "\n".join(lines).encode())
    found = chunks(units)
    covered = set()
    last = (0, 0)
    for chunk in found:
        assert 1 <= chunk.start <= chunk.end <= len(lines)
        assert (chunk.start, chunk.index) >= last or chunk.index == last[1]
        last = (chunk.start, chunk.index)
        covered |= set(range(chunk.start, chunk.end + 1))
    for index in range(len(units)):
        start, end = units.lines(units.unit(index))
        for number in range(start, end + 1):
            if re.search(
                r"\w", re.sub(r"\^[0-9a-z]{20}$|^- \[[^]]*\]( \*\*[^*]*\*\*)?( #\S+)*:?", "", lines[number - 1])
            ):
                assert number in covered, (number, lines[number - 1], found)


@given(st.text(max_size=6000))
def test_no_chunk_is_much_more_than_it_should_be(text):
    for chunk in cut(text):
        assert len(chunk.text.encode()) <= 3 * BYTES


FORMAT_1 = b"gitmem-v" + struct.pack("<IIII8s", 1, 2, 0, 0, b"12345678") + bytes(8)


def unit(numbers):
    length = math.sqrt(sum(number * number for number in numbers))
    return [number / length for number in numbers]


def some(count: int, dimensions: int = 48, seed: int = 1):
    """Return keys and vectors that lie close together, as those of real models do."""
    dice = random.Random(seed)
    return [
        (number.to_bytes(16, "big"), unit([1 + dice.gauss(0, 0.7) for _ in range(dimensions)]))
        for number in range(count)
    ]


def cosine(one, other) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


@pytest.fixture
def cache(tmp_path) -> Cache:
    return Cache(str(tmp_path), "openai", "some/Model: large")


@pytest.fixture(params=["numpy", "plain"])
def how(request, monkeypatch):
    """Compare with numpy and without."""
    if request.param == "numpy":
        pytest.importorskip("numpy")
    else:
        monkeypatch.setitem(sys.modules, "numpy", None)
    return request.param


def path_of(cache: Cache, suffix: str) -> str:
    return os.path.join(cache.folder, f"{cache.stem}{suffix}")


def test_what_was_added_is_there_by_its_key(cache):
    added = some(20)
    cache.add(added[:7])
    cache.add(added[7:])
    there = cache.open()
    assert there.rows() == {key: row for row, (key, _) in enumerate(added)}
    for row, (_, vector) in enumerate(added):
        assert cosine(there.vector(row), vector) > 0.99


def test_nothing_there_is_nothing(cache, tmp_path):
    assert cache.open() is None
    assert cache.read_map(b"12345678") == {}
    assert not cache.tidy(lambda _: True)
    cache.remove()
    cache.remove_others()
    assert list(tmp_path.iterdir()) == []


def test_cosines_are_right_to_the_second_digit(cache, how):
    added = some(50)
    cache.add(added)
    query = added[3][1]
    there = cache.open()
    assert cosines(there, query, []) == []
    values = cosines(there, query, range(50))
    for row, value in enumerate(values):
        assert value == pytest.approx(cosine(query, added[row][1]), abs=0.01)
    assert max(range(50), key=values.__getitem__) == 3
    assert cosines(there, query, [9, 3]) == pytest.approx([values[9], values[3]], abs=1e-6)


def test_numpy_compares_many_vectors_block_by_block(cache, how, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", 7)
    added = some(50)
    cache.add(added)
    values = cosines(cache.open(), added[3][1], range(50))
    assert values == pytest.approx([cosine(added[3][1], vector) for _, vector in added], abs=0.01)


def test_more_vectors_than_a_search_may_wait_for_take_numpy(cache, how, monkeypatch):
    cache.add(some(10))
    assert is_comparable(cache.open())
    monkeypatch.setattr(module, "_MOST_LOOPED", 9 * 48)
    assert is_comparable(cache.open()) == (how == "numpy")


def test_a_torn_record_is_none_and_what_is_added_after_it_is_whole(cache, how):
    added = some(6)
    cache.add(added[:3])
    path = path_of(cache, ".vec")
    whole = os.path.getsize(path)
    with open(path, "ab") as file:
        file.write(b"\xff" * 40)
    assert cache.open().count == 3
    cache.add(added[3:4])
    assert (os.path.getsize(path) - whole) == cache.open().record_size
    with open(path, "r+b") as file:
        file.seek(whole - 30)
        file.write(b"\0" * 30)
    there = cache.open()
    assert set(there.rows()) == {added[0][0], added[1][0], added[3][0]}
    assert cosines(there, added[2][1], [2]) == [-1.0]


def test_zeros_that_a_power_cut_leaves_are_no_vectors(cache, how):
    cache.add(some(2))
    with open(path_of(cache, ".vec"), "ab") as file:
        file.write(bytes(2 * cache.open().record_size))
    there = cache.open()
    assert there.count == 4
    assert len(there.rows()) == 2
    assert cosines(there, some(1)[0][1], [2, 3]) == [-1.0, -1.0]


@pytest.mark.parametrize("damage", [b"", b"x", b"gitmem-v", b"gitmem-v" + b"\xff" * 500, bytes(5000), FORMAT_1])
def test_a_file_that_is_none_is_not_used_and_begun_anew(cache, damage):
    cache.add(some(2))
    with open(path_of(cache, ".vec"), "wb") as file:
        file.write(damage)
    assert cache.open() is None
    cache.add(some(3))
    assert cache.open().count == 3


def test_vectors_of_another_dimension_begin_anew(cache):
    cache.add(some(5))
    before = cache.open().number
    cache.add(some(2, dimensions=7))
    there = cache.open()
    assert (there.count, there.dimensions) == (2, 7)
    assert there.number != before


def test_who_reads_is_not_disturbed_by_who_writes(cache):
    cache.add(some(5))
    there = cache.open()
    cache.add(some(9)[5:])
    cache.tidy(lambda key: key < some(2)[1][0])
    assert there.count == 5
    assert cosine(there.vector(4), some(5)[4][1]) > 0.99


def test_what_is_not_wanted_goes_once_it_is_half_of_all(cache):
    added = some(10)
    cache.add(added)
    number = cache.open().number
    keys = [key for key, _ in added]
    assert not cache.tidy(keys[:5].__contains__)
    assert cache.tidy(keys[:4].__contains__)
    there = cache.open()
    assert set(there.rows()) == set(keys[:4])
    assert there.number != number
    assert cosine(there.vector(2), added[2][1]) > 0.999
    assert cache.tidy(lambda _: False)
    assert cache.open() is None


FILES = [
    Mapped(FileVersion("a b.md", 3, 4, 5), [0, 0, 2], [7, NO_ROW, 9]),
    Mapped(FileVersion("이름\n.md", 1 << 40, 1 << 62, 0), [], []),
    Mapped(FileVersion("odd\udcff.md", 1, 2, 3), [1], [0]),
]


def test_the_map_says_what_was_written(cache):
    cache.add(some(1))
    number = cache.open().number
    cache.write_map(number, FILES)
    found = cache.read_map(number)
    assert {path: (one.file, list(one.units), list(one.rows)) for path, one in found.items()} == {
        one.file.path: (one.file, list(one.units), list(one.rows)) for one in FILES
    }
    assert cache.read_map(b"another!") == {}


@pytest.mark.parametrize("keep", [0, 10, -1, -8])
def test_a_damaged_map_is_none(cache, keep):
    cache.add(some(1))
    number = cache.open().number
    cache.write_map(number, FILES)
    path = path_of(cache, ".map")
    with open(path, "rb") as file:
        data = file.read()
    with open(path, "wb") as file:
        file.write(data[:keep])
    assert cache.read_map(number) == {}


def test_models_have_files_of_their_own_and_only_those_used_last_are_kept(tmp_path):
    names = ["one", "One", "two/three", "two-three"]
    caches = [Cache(str(tmp_path), "openai", name) for name in names]
    assert len({cache.stem for cache in caches}) == 4
    for age, cache in enumerate(caches):
        cache.add(some(1))
        cache.write_map(cache.open().number, [])
        os.utime(path_of(cache, ".vec"), (1000 + age, 1000 + age))
    caches[0].remove_others()
    assert [cache.open() is not None for cache in caches] == [True, False, False, True]
    assert sorted(os.path.splitext(name)[1] for name in os.listdir(caches[0].folder)) == [
        ".map",
        ".map",
        ".vec",
        ".vec",
    ]


def test_trouble_is_news_once_an_hour(tmp_path):
    private = str(tmp_path)
    assert not is_news(private, "search", "")
    assert is_news(private, "search", "it is down")
    assert not is_news(private, "search", "it is down")
    assert is_news(private, "search", "it is up but wrong")
    assert not is_news(private, "search", "")
    assert is_news(private, "search", "it is up but wrong")
    trouble = tmp_path / "vectors" / "search.trouble"
    os.utime(trouble, (1000, 1000))
    assert is_news(private, "search", "it is up but wrong")
