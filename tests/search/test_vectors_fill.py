import time
from array import array
from pathlib import Path

import pytest

from gitmem.errors import BusyError, GitmemError
from gitmem.llm import models
from gitmem.llm.models import LocalEmbedder
from gitmem.llm.protocol import ConnectionFailedError
from gitmem.search import vectors as filling
from gitmem.search.vectors import Cache, fill
from gitmem.store.locate import NotAcceptedError
from gitmem.store.store import Store


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
        shelf.put(f"knowledge/part-{number}.md", f"# Part {number}\n\ntext of {number}\n")
    return shelf


def test_all_is_embedded_once(many, embedder):
    first = fill(many.store, embedder, seconds=60)
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


def test_what_is_in_two_places_is_embedded_once(shelf, embedder):
    entry = "- [2026-11-20 09:00:00] **Note**: the very same ^01m7v7spn00wqb23tam1\n"
    shelf.put("daily/2026/11/2026-11-20.md", f"# 2026-11-20\n\n{entry}")
    shelf.put("archive/memory_20261120_000000.md", f"# Old\n\n{entry}")
    fill(shelf.store, embedder, seconds=60)
    assert embedder.texts.count("the very same") == 1


def test_only_what_changed_is_embedded_and_the_newest_first(many, embedder):
    fill(many.store, Counting(), seconds=60)
    many.put("knowledge/part-3.md", "# Part 3\n\ntext of 3\n\n## More\n\nnew\n")
    (many.root / "knowledge" / "part-5.md").unlink()
    filled = fill(many.store, embedder, seconds=60)
    assert embedder.texts == ["## More\n\nnew"]
    assert filled.left == 0


def test_batches_are_bounded_in_number_and_size(many, embedder):
    embedder.batch_bytes = 40
    many.put("knowledge/long.md", "# Long\n\n" + "word " * 300)
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
    monkeypatch.setattr(filling, "MOST_BYTES", 100)
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


def test_what_may_come_back_stays_until_it_is_half_of_all(many, embedder):
    fill(many.store, Counting(), seconds=60)
    (many.root / "knowledge" / "part-3.md").unlink()
    fill(many.store, embedder, seconds=60)
    many.put("knowledge/part-3.md", "# Part 3\n\ntext of 3\n")
    fill(many.store, embedder, seconds=60)
    assert embedder.texts == []


def test_a_cache_that_was_spoilt_is_made_good(many, embedder):
    first = fill(many.store, Counting(), seconds=60)
    path = Path(Cache(many.store.private, embedder.name, embedder.model).path)
    path.write_bytes(path.read_bytes()[:5000])
    assert fill(many.store, embedder, seconds=60).embedded == first.chunks


def test_a_store_is_clean_after_it(many, embedder, bare_git):
    before = bare_git(many.root, "status", "--porcelain")
    fill(many.store, embedder, seconds=60)
    assert bare_git(many.root, "status", "--porcelain") == before


def test_a_cache_that_cannot_be_written_is_an_error_that_says_so(many, embedder, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device", "x.vec")

    monkeypatch.setattr(Cache, "add", full)
    with pytest.raises(GitmemError, match="No space left"):
        fill(many.store, embedder, seconds=60)


def test_progress_is_told(many, embedder):
    told = []
    filled = fill(many.store, embedder, seconds=60, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (filled.chunks, filled.chunks)
    assert told == sorted(told)


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
    for module in (models, filling):
        monkeypatch.setattr(module, "time", slow)
    monkeypatch.setattr(models, "_model", [slow])
    shelf.put("knowledge/a.md", "# A\n\none\n\n# B\n\ntwo\n\n# C\n\nthree\n")
    filled = fill(shelf.store, LocalEmbedder(), seconds=3600)
    assert filled.embedded >= 3
    assert (filled.left, filled.problem) == (0, "")
