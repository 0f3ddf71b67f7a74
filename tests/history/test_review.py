"""Of two versions of the same words one stays, both, or what a user made of them; nothing else is touched."""

from collections.abc import Callable

import pytest

from gitmem.document.entry import MemoryType
from gitmem.errors import GitmemError, NotFoundError
from gitmem.history.review import Take, documents_to_review, resolve_review, review_since
from gitmem.store.known_facts import known_facts
from tests.world import Machine, converge

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


def test_what_the_user_edits_meanwhile_hides_no_document_to_review(pair: tuple[Machine, Machine]):
    first, _ = pair
    before, now = first.git("rev-list", "--max-count=1", "HEAD", "--", PATH), first.store.tip
    changes = first.store.repository.changes(f"{before.strip()}^", str(now))
    (first.root / PATH).write_text("# A\n\nNo field any more.\n")  # not committed
    assert [item.path for item in review_since(first.store, (), changes)] == [PATH]


@pytest.mark.slow
def test_the_lines_of_a_version_that_were_deleted_since_are_not_taken(pair: tuple[Machine, Machine]):
    first, _ = pair
    first.write(PATH, first.read(PATH).replace("It fails.\n", ""))
    with pytest.raises(GitmemError, match="changed since, in the same lines"):
        resolve_review(first.store, PATH, Take.THEIRS)


@pytest.mark.long
@pytest.mark.few(1)
def test_a_fact_is_told_by_the_words_that_stay_and_says_one_thing(machine: Callable[[str], Machine]):
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
    with pytest.raises(GitmemError, match="says one thing"):
        resolve_review(first.store, path, Take.BOTH)
    resolve_review(first.store, path, Take.THEIRS)
    assert "description: Use poetry.\n" in first.read(path)


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


@pytest.mark.slow
def test_many_documents_to_review_start_few_processes(machine: Callable[[str], Machine], git_starts: list[str]):
    first = machine("laptop")
    ids = ", ".join(f"d{number:010}" for number in range(3000))
    for number in range(40):
        first.write(f"knowledge/{number}.md", f"---\nreview: [{ids}]\n---\n# {number}\n")
    first.sync()
    git_starts.clear()
    assert len(documents_to_review(first.store)) == 40
    assert len(git_starts) <= 4


@pytest.mark.few(1)
def test_two_edits_of_a_fact_are_not_shown_as_one_sentence(machine: Callable[[str], Machine]):
    first, second = machine("laptop"), machine("desktop")
    first.save("Use uv.", MemoryType.DECISION)
    converge(first, second)
    fact = known_facts(first.store)[0].id
    second.run("facts", "edit", fact, "Use poetry.")
    first.run("facts", "edit", fact, "Use uv always.")  # the newer words: the merge describes the fact by them
    converge(first, second)
    for each in (first, second):
        (known,) = known_facts(each.store)
        assert known.description in {"Use uv always.", "Use poetry."}
        number = each.run("review").out.partition(".")[0]
        shown = each.run("review", number).out
        assert f"To decide: gitmem review {number} --take ours|theirs|edit" in shown
