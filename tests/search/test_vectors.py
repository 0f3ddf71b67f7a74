"""Chunks, the cache of their vectors, and how it is filled."""

import math
import os
import random
import re
import sqlite3
import sys
import time
from array import array
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.errors import BusyError, GitmemError
from gitmem.llm import models
from gitmem.llm.models import LocalEmbedder
from gitmem.llm.protocol import ConnectionFailedError
from gitmem.search import vectors
from gitmem.search.cut import HEADING
from gitmem.search.files import FileVersion
from gitmem.search.troubles import is_unreported
from gitmem.search.units import CHUNK_BYTES, Units, chunks
from gitmem.search.vectors import Cache, ChunkedFile, fill, is_comparable, key_of
from gitmem.store.acceptance import NotAcceptedError
from gitmem.store.store import Store
from gitmem.text.words import estimate_tokens

ENTRY = "- [2026-11-20 09:00:00] **Note** #tag: {} ^01m7v7spn00wqb23tam1\n"
LINES = st.sampled_from(
    [
        *("", " ", "# Title", "## Sub ##", "#", "---", "id: x", "```", "plain words", "단어 몇 개 🌱", "\t tab", "..."),
        *("- item", "- [10:00:00] said", ENTRY.format("told").strip(), "  continued", "x. " * 700, "끝" * 1500, "\x00"),
    ]
)


def cut(text: str, path: str = "knowledge/a.md") -> list[str]:
    return [said for _, said in chunks(Units(path, text.encode("utf-8", "surrogatepass")))]


def test_entries_without_their_frames_and_sections_are_chunks_with_the_units_they_are_of():
    text = "# 2026-11-20\n\n" + ENTRY.format("one") + ENTRY.format("two") + "  more\n\n## After\n\nwords\n"
    found = chunks(Units("daily/2026/11/2026-11-20.md", text.encode()))
    assert [*found] == [(1, "one"), (2, "two\n  more"), (3, "## After\n\nwords")]


def test_a_long_section_is_cut_at_lines_and_each_part_has_its_heading():
    paragraph = "many words " * 40
    found = cut("# Big\n\n" + f"{paragraph}\n\n" * 12)
    assert len(found) > 2
    assert all(text.startswith(("# Big", "Big\n")) for text in found)
    assert all(estimate_tokens(text) <= 400 + estimate_tokens("Big\n") for text in found)
    assert len(cut("# One\n\n" + "word " * 400_000)) > 1000, "a line of megabytes"


def test_the_same_text_has_the_same_key_wherever_it_stands():
    one = cut(ENTRY.format("the same"), "memory.md")
    assert one == cut("# Log\n\n" + ENTRY.format("the same").replace("09:00", "10:11"), "daily/2026/11/2026-11-20.md")
    assert key_of(one[0]) != key_of("another")


@pytest.mark.parametrize("text", ["", "\n\n", "---\nid: a\n---\n", "***\n", "\ufeff"])
def test_what_says_nothing_has_no_chunks(text):
    assert cut(text) == []


@given(st.lists(LINES, max_size=25).map("\n".join) | st.text(max_size=6000))
def test_the_chunks_have_all_words_in_order_and_none_is_much_more_than_it_should_be(text):
    units = Units("daily/2026/11/2026-11-20.md", text.encode())
    found = [said for _, said in chunks(units)]
    assert all(len(said.encode()) <= 3 * CHUNK_BYTES for said in found)
    each = (units.unit(index) for index in range(len(units)))
    told = "\n".join(units.text_of(unit) for unit in each if unit.kind != HEADING)
    bare = re.sub(r"(?m)^- \[[^]]*\]( \*\*[^*]*\*\*)?( #\S+)*:?|\^[0-9a-z]{20}", " ", told)
    words = iter(re.findall(r"\w+", " ".join(found)))
    assert all(word in words for word in re.findall(r"\w+", bare) if len(word) < 30)


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


def test_nothing_there_is_nothing(cache, tmp_path):
    assert (cache.size(), cache.keys(), cache.files(), cache.cosines([1.0])) == ((0, 0), set(), {}, {})
    assert not cache.is_damaged()
    cache.remove()
    cache.remove_others()
    assert list(tmp_path.iterdir()) == []


def test_cosines_are_right_to_the_second_digit(cache, how):
    added = some(50)
    cache.add(added[:7])
    cache.add(added[7:])
    query = added[3][1]
    values = cache.cosines(query)
    assert cache.keys() == {*values} == {key for key, _ in added}
    for key, vector in added:
        assert values[key] == pytest.approx(cosine(query, vector), abs=0.01)
    assert max(values, key=values.__getitem__) == added[3][0]


def test_more_vectors_than_a_search_may_wait_for_take_numpy(how, monkeypatch):
    assert is_comparable(10, 48)
    monkeypatch.setattr("gitmem.search.vectors._MOST_LOOPED", 9 * 48)
    assert is_comparable(10, 48) == (how == "numpy")


def test_vectors_of_another_dimension_replace_all(cache):
    cache.add(some(5))
    cache.add(some(2, dimensions=7))
    assert cache.size() == (2, 7)


def test_who_reads_is_not_disturbed_by_who_writes(cache, monkeypatch):
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, timeout=0))
    added = some(30)
    for one in added:
        cache.add([one])
    with closing(sqlite3.connect(cache.path)) as database:
        rows = database.execute("SELECT * FROM blocks")
        first = rows.fetchone()
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            cache.tidy(set())
        assert len([first, *rows]) == 30
    cache.tidy(set())
    assert cache.size() == (0, 0)


def test_what_is_not_wanted_goes_once_it_is_half_of_all(cache, how):
    added = some(10)
    for one in added:
        cache.add([one])
    keys = [key for key, _ in added]
    before = cache.cosines(added[2][1])
    cache.tidy(keys[:5])
    assert cache.keys() == {*keys}
    cache.tidy(keys[:4])
    assert cache.cosines(added[2][1]) == pytest.approx({key: before[key] for key in keys[:4]})


def test_many_rows_are_joined_and_mean_the_same(cache, how, monkeypatch):
    monkeypatch.setattr("gitmem.search.vectors._MOST_ROWS", 8)
    monkeypatch.setattr("gitmem.search.vectors._BLOCK", 7)
    added = some(20)
    for one in added:
        cache.add([one])
    before = cache.cosines(added[2][1])
    cache.tidy({key for key, _ in added})
    assert cache.cosines(added[2][1]) == pytest.approx(before)
    with closing(sqlite3.connect(cache.path)) as database:
        assert [row for (row,) in database.execute("SELECT length(keys) / 16 FROM blocks")] == [7, 7, 6]


@pytest.mark.parametrize("damage", [b"x", b"SQLite format 3\0" + b"\xff" * 500, bytes(5000), "torn", "version"])
def test_a_damaged_file_counts_as_none_and_is_known(cache, damage):
    cache.add(some(500))
    whole = Path(cache.path).read_bytes()
    if damage == "version":
        with closing(sqlite3.connect(cache.path)) as database:
            database.execute("PRAGMA user_version = 2")
    else:
        Path(cache.path).write_bytes(damage if isinstance(damage, bytes) else whole[: len(whole) // 2])
    assert cache.is_damaged()
    assert len(cache.keys()) <= 500
    assert len(cache.cosines(some(1)[0][1])) <= 500
    cache.remove()
    cache.add(some(3))
    assert (cache.size(), cache.is_damaged()) == ((3, 48), False)


def test_the_chunks_of_files_are_those_that_were_written(cache):
    files = [
        ChunkedFile(FileVersion("a b.md", 3, 4, 5), [0, 0, 2], [bytes(16), b"x" * 16, bytes(16)]),
        ChunkedFile(FileVersion("이름\n.md", 1 << 40, 1 << 62, 0), [], []),
        ChunkedFile(FileVersion("odd\udcff.md", 1, 2, 3), [1], [b"y" * 16]),
    ]
    cache.put_files(files[:1])
    cache.put_files(files)
    found = cache.files()
    assert {path: (one.file, list(one.units), list(one.keys)) for path, one in found.items()} == {
        one.file.path: (one.file, list(one.units), list(one.keys)) for one in files
    }


def test_another_release_cuts_the_files_anew_and_keeps_their_vectors(cache, monkeypatch):
    cache.add(some(3))
    cache.put_files([ChunkedFile(FileVersion("a.md", 3, 4, 5), [0], [bytes(16)])])
    monkeypatch.setattr(vectors, "__version__", "9.9")
    assert (cache.files(), len(cache.keys())) == ({}, 3)


def test_models_have_files_of_their_own_and_only_those_used_last_are_kept(tmp_path):
    names = ["one", "One", "two/three", "two-three"]
    caches = [Cache(str(tmp_path), "openai", name) for name in names]
    assert len({cache.stem for cache in caches}) == 4
    for age, cache in enumerate(caches):
        cache.add(some(1))
        os.utime(cache.path, (1000 + age, 1000 + age))
    caches[0].remove_others()
    assert [cache.size()[0] for cache in caches] == [1, 0, 0, 1]
    assert len(os.listdir(caches[0].folder)) == 2


def test_trouble_is_news_once_an_hour(tmp_path):
    private = str(tmp_path)
    assert not is_unreported(private, "search", "")
    assert is_unreported(private, "search", "it is down")
    assert not is_unreported(private, "search", "it is down")
    assert is_unreported(private, "search", "it is up but wrong")
    assert not is_unreported(private, "search", "")
    assert is_unreported(private, "search", "it is up but wrong")
    trouble = tmp_path / "vectors" / "search.trouble"
    os.utime(trouble, (1000, 1000))
    assert is_unreported(private, "search", "it is up but wrong")


class Counting:
    """An embedder that notes what it is asked to embed; fails from a certain text on."""

    name, model, remote = "openai", "counting", False
    price, calibration = 0.5, None
    batch, batch_bytes = 3, 10_000

    def __init__(self) -> None:
        self.tokens = 0
        self.asked: list[list[str]] = []
        self.broken_after = 10**9
        self.meanwhile = lambda: None

    def embed_documents(self, texts, deadline):
        assert deadline > time.monotonic()
        if sum(map(len, self.asked)) >= self.broken_after:
            raise ConnectionFailedError("It is down.", "Start it.")
        self.asked.append(list(texts))
        self.tokens += len(texts)
        self.meanwhile()
        return [array("f", [1.0, 0.0, len(text) / 1000]) for text in texts]

    def embed_query(self, text, deadline):
        return self.embed_documents([text], deadline)[0]

    @property
    def texts(self) -> list[str]:
        return [text for batch in self.asked for text in batch]


@pytest.fixture
def embedder() -> Counting:
    return Counting()


@pytest.fixture
def many(shelf):
    for number in range(8):
        shelf.write(f"knowledge/part-{number}.md", f"# Part {number}\n\ntext of {number}\n")
    return shelf


def test_all_is_embedded_once_and_the_store_is_clean_after_it(many, embedder, bare_git):
    told = []
    before = bare_git(many.root, "status", "--porcelain")
    first = fill(many.store, embedder, seconds=60, progress=lambda done, total: told.append((done, total)))
    assert bare_git(many.root, "status", "--porcelain") == before
    assert told == sorted(told)
    assert told[-1] == (first.chunks, first.chunks)
    assert first.embedded == first.chunks == len(embedder.texts) == len(set(embedder.texts))
    assert (first.left, first.problem, first.tokens) == (0, "", first.chunks)
    assert first.cost == pytest.approx(first.chunks * 0.5e-6)
    again = fill(many.store, Counting(), seconds=60)
    assert (again.embedded, again.left, again.chunks) == (0, 0, first.chunks)


def test_no_text_of_a_store_that_nobody_accepted_is_embedded(many, embedder):
    for path in Path(many.store.context.home, ".local", "share", "gitmem", "stores").rglob("accepted"):
        path.unlink()
    with pytest.raises(NotAcceptedError):
        fill(Store(many.store.root, many.store.context), embedder, seconds=60)
    assert embedder.asked == []


def test_only_what_changed_is_embedded_and_the_newest_first(many, embedder):
    fill(many.store, Counting(), seconds=60)
    many.write("knowledge/part-3.md", "# Part 3\n\ntext of 3\n\n## More\n\nnew\n")
    (many.root / "knowledge" / "part-5.md").unlink()
    filled = fill(many.store, embedder, seconds=60)
    assert embedder.texts == ["## More\n\nnew"]
    assert filled.left == 0


def test_batches_are_bounded_in_number_and_size(many, embedder):
    embedder.batch_bytes = 40
    many.write("knowledge/long.md", "# Long\n\n" + "word " * 300)
    fill(many.store, embedder, seconds=60)
    assert all(len(batch) <= 3 for batch in embedder.asked)
    assert all(len(batch) == 1 or sum(map(len, batch)) <= 40 for batch in embedder.asked)


def test_what_was_embedded_before_a_failure_stays(many, embedder):
    embedder.broken_after = 4
    first = fill(many.store, embedder, seconds=60)
    assert first.problem == "It is down. Start it."
    assert 0 < first.embedded < first.chunks
    assert first.left == first.chunks - first.embedded
    second = Counting()
    assert fill(many.store, second, seconds=60).left == 0
    assert not set(second.texts) & set(embedder.texts)


def test_it_ends_when_its_time_is_over(many, embedder):
    filled = fill(many.store, embedder, seconds=0)
    assert (filled.embedded, filled.left) == (0, filled.chunks)
    assert "over" in filled.problem


def test_afresh_forgets_all(many, embedder):
    fill(many.store, Counting(), seconds=60)
    assert fill(many.store, embedder, seconds=60, afresh=True).embedded == len(embedder.texts) > 5


def test_one_at_a_time(many, embedder):
    others = []

    def another() -> None:
        with pytest.raises(BusyError, match="being made"):
            fill(many.store, Counting(), seconds=60)
        others.append(1)

    embedder.meanwhile = another
    assert fill(many.store, embedder, seconds=60).left == 0
    assert others


def test_a_full_cache_keeps_the_newest(many, embedder, monkeypatch):
    monkeypatch.setattr(vectors, "MOST_BYTES", 100)
    filled = fill(many.store, embedder, seconds=60)
    assert filled.left > 0
    assert "full" in filled.problem
    cache = Cache(many.store.private, embedder.name, embedder.model)
    assert 0 < cache.size()[0] * (16 + 3) <= 100


def test_a_file_that_changes_meanwhile_fills_no_cache(many, embedder):
    def change() -> None:
        (many.root / "knowledge" / "part-0.md").write_text("# Other\n\nWords that nobody saw yet.\n")

    embedder.meanwhile = change
    filled = fill(many.store, embedder, seconds=60)
    assert filled.left > 0
    assert "full" not in filled.problem
    assert "changed" in filled.problem


def test_what_is_gone_from_the_files_goes_from_the_cache(many, embedder):
    fill(many.store, embedder, seconds=60)
    for number in range(7):
        (many.root / "knowledge" / f"part-{number}.md").unlink()
    filled = fill(many.store, embedder, seconds=60)
    cache = Cache(many.store.private, embedder.name, embedder.model)
    assert cache.size()[0] == filled.chunks < 5
    assert {key for one in cache.files().values() for key in one.keys} == cache.keys()


def test_a_cache_that_was_spoilt_is_made_good(many, embedder):
    first = fill(many.store, Counting(), seconds=60)
    path = Path(Cache(many.store.private, embedder.name, embedder.model).path)
    path.write_bytes(path.read_bytes()[:5000])
    assert fill(many.store, embedder, seconds=60).embedded == first.chunks


def test_a_cache_that_cannot_be_written_is_an_error_that_says_so(many, embedder, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device", "x.vec")

    monkeypatch.setattr(Cache, "add", full)
    with pytest.raises(GitmemError, match="No space left"):
        fill(many.store, embedder, seconds=60)


def test_a_machine_so_busy_that_each_text_takes_a_minute_makes_all_vectors(shelf, monkeypatch):
    class Slow:
        seconds = 0.0

        def monotonic(self):
            return self.seconds

        def passage(self, _text):
            self.seconds += 60
            return self

        def astype(self, _type):
            return array("f", [1.0, 0.0])

    slow = Slow()
    for module in (models, vectors):
        monkeypatch.setattr(module, "time", slow)
    monkeypatch.setattr(models, "_model", [slow])
    shelf.write("knowledge/a.md", "# A\n\none\n\n# B\n\ntwo\n\n# C\n\nthree\n")
    filled = fill(shelf.store, LocalEmbedder(), seconds=3600)
    assert filled.embedded >= 3
    assert (filled.left, filled.problem) == (0, "")
