"""Of two versions of the same words one stays, both, or what a person made of them; nothing else is touched."""

from collections.abc import Callable

import pytest

from gitmem.document.entry import MemoryType
from gitmem.errors import GitmemError, NotFoundError
from gitmem.history.review import Take, documents_to_review, resolve_review, sides_of
from gitmem.history.undo import undo
from gitmem.store.store import Store
from tests.store.machines import Machine, converge

PATH = "knowledge/a.md"
BASE = "# A\n\nIt builds.\n\n## Other\n\nSame.\n"


def make_divided(machine: Callable[[str], Machine]) -> tuple[Machine, Machine]:
    first, second = machine("laptop"), machine("desktop")
    first.write(PATH, BASE)
    converge(first, second)
    first.write(PATH, BASE.replace("builds.", "builds fast.").replace("Same.", "Same.\nMore of the laptop."))
    second.write(PATH, BASE.replace("builds.", "fails.").replace("# A", "# A\n\nNew of the desktop.", 1))
    converge(first, second)
    assert [item.path for item in documents_to_review(first.store)] == [PATH]
    return first, second


@pytest.fixture
def pair(made_once: Callable[..., tuple[Machine, Machine]]) -> tuple[Machine, Machine]:
    """Two machines that changed the same line, and each another one."""
    return made_once(make_divided, "laptop", "desktop")


@pytest.mark.parametrize("take, stays, goes", [("ours", "fast", "fails"), ("theirs", "fails", "fast")])
@pytest.mark.few(1)
def test_one_side_is_taken(pair: tuple[Machine, Machine], take: str, stays: str, goes: str):
    first, second = pair
    assert sides_of(first.store, PATH).our_machines == ("laptop",)
    assert sides_of(second.store, PATH).our_machines == ("desktop",)
    commit = resolve_review(first.store, PATH, Take(take))
    text = first.read(PATH)
    assert stays in text
    assert goes not in text
    assert "review:" not in text
    assert "More of the laptop." in text, "what is in no conflict stays"
    assert documents_to_review(first.store) == []
    body = first.git("log", "-1", "--format=%B", commit)
    assert "Gitmem-Op: review" in body
    assert f"Gitmem-Took: {take}" in body
    converge(*pair)
    assert documents_to_review(second.store) == []
    undo(first.store, revision=commit)
    assert goes in first.read(PATH)


def test_sides_are_commits_though_both_machines_bear_one_name(pair: tuple[Machine, Machine]):
    for one, own, other in zip(pair, ("fast", "fails"), ("fails", "fast"), strict=True):
        one.store = Store(str(one.root), one.context._replace(machine="laptop"))
        resolve_review(one.store, PATH, Take.OURS)
        assert own in one.read(PATH)
        assert other not in one.read(PATH)


@pytest.mark.parametrize("take", [Take.BOTH, Take.EDIT])
def test_both_stay_or_what_a_person_made_of_them(pair: tuple[Machine, Machine], take: Take):
    first, _ = pair
    if take is Take.EDIT:
        first.write(PATH, first.read(PATH).replace("It builds fast.\n", "").replace("fails", "works by now"))
    resolve_review(first.store, PATH, take)
    text = first.read(PATH)
    assert ("works by now" in text) == (take is Take.EDIT)
    assert ("fast" in text) == (take is Take.BOTH)
    assert documents_to_review(first.store) == []
    converge(*pair)


def test_what_was_added_since_stays(pair: tuple[Machine, Machine]):
    first, _ = pair
    first.write(PATH, f"{first.read(PATH)}\n## Later\n\nAdded.\n")
    resolve_review(first.store, PATH, Take.OURS)
    assert "Added." in first.read(PATH)
    assert "fails" not in first.read(PATH)


def test_the_lines_of_a_version_that_were_deleted_since_are_not_taken(pair: tuple[Machine, Machine]):
    first, _ = pair
    first.write(PATH, first.read(PATH).replace("It fails.\n", ""))
    with pytest.raises(GitmemError, match="changed since, in the same lines"):
        resolve_review(first.store, PATH, Take.THEIRS)


@pytest.mark.parametrize("take, told", [("theirs", "Use poetry."), ("both", "Use poetry. Use uv always.")])
def test_a_fact_is_told_by_the_words_that_stay(machine: Callable[[str], Machine], take: str, told: str):
    first, second = machine("laptop"), machine("desktop")
    first.save("Use uv.", MemoryType.DECISION)
    first.sync()
    second.sync()
    (path,) = (str(one.relative_to(first.root)) for one in first.root.glob("facts/decision/*"))
    for one, words in ((first, "Use uv always."), (second, "Use poetry.")):
        head, mark, _ = one.read(path).rpartition("---\n")
        one.write(path, f"{head}{mark}{words}\n")
        one.sync()
    first.sync()
    resolve_review(first.store, path, Take(take))
    assert f"description: {told}\n" in first.read(path)


@pytest.mark.parametrize("take, left", [("ours", "of the laptop"), ("theirs", "of the desktop"), ("both", "")])
@pytest.mark.few(1)
def test_a_file_beside_another(machine: Callable[[str], Machine], take: str, left: str):
    first, second = machine("laptop"), machine("desktop")
    first.write("notes.txt", "same\n")
    converge(first, second)
    first.write("notes.txt", "of the laptop\n")
    second.write("notes.txt", "of the desktop\n")
    converge(first, second)
    (waiting,) = documents_to_review(first.store)
    resolve_review(first.store, "notes.txt", Take(take))
    assert not (first.root / waiting.path).exists()
    texts = [path.read_text() for path in first.root.glob("notes*")]
    assert texts == [f"{left}\n"] if left else sorted(texts) == ["of the desktop\n", "of the laptop\n"]
    assert documents_to_review(first.store) == []


def test_what_holds_no_two_versions_is_not_reviewed(pair: tuple[Machine, Machine]):
    with pytest.raises(NotFoundError, match="holds no two versions"):
        resolve_review(pair[0].store, "memory.md", Take.OURS)


def test_facts_that_contradict_each_other_are_not_a_matter_of_machines(machine: Callable[[str], Machine]):
    first = machine("laptop")
    path = "facts/decision/d4f7k2m9q0x-use-uv.md"
    first.write(path, "---\nid: d4f7k2m9q0x\nkind: decision\nreview: [d5f7k2m9q0x]\n---\nUse uv.\n")
    first.sync()
    with pytest.raises(GitmemError, match="contradicts d5f7k2m9q0x"):
        resolve_review(first.store, path, Take.OURS)


def test_many_documents_to_review_start_few_processes(machine: Callable[[str], Machine], git_starts: list[str]):
    first = machine("laptop")
    ids = ", ".join(f"d{number:010}" for number in range(3000))
    for number in range(40):
        first.write(f"knowledge/{number}.md", f"---\nreview: [{ids}]\n---\n# {number}\n")
    first.sync()
    git_starts.clear()
    assert len(documents_to_review(first.store)) == 40
    assert len(git_starts) <= 4
