"""Edits of facts' lines that were committed with plain git, pulled with plain git, or synced."""

import re

import pytest

from gitmem.git.fast_import import Writer
from gitmem.sync.guard import Accept
from tests.cli.commands.conftest import first, remote, run_in, second  # noqa: F401
from tests.store.people import User, make_people

SAID = "The cache is in memory."


@pytest.fixture
def made(request) -> tuple[User, User, str]:
    return make_people(("Ada", "Ada"), SAID, "decision", request)


@pytest.fixture
def people(made) -> tuple[User, User]:
    """Give one user's two clones, which both have a decision."""
    return made[:2]


@pytest.fixture
def decided(made) -> str:
    """Return the id of the decision."""
    return made[2]


def meet(*people: User) -> None:
    for user in (*people, *people):
        user.run("sync")
    assert len({user.git("rev-parse", "HEAD") for user in people}) == 1
    assert len({user.read("memory.md") for user in people}) == 1


@pytest.mark.slow
def test_lines_that_a_rotation_took_end_no_fact(people, decided):
    one, other = people
    one.run("config", "rotation.threshold_tokens", "1000")
    one.run("config", "rotation.carryover_tokens", "200")
    for number in range(60):
        one.run(
            "save", f"We decided that part {number} of the loader reads its own settings first.", "--type", "decision"
        )
    assert "more are facts" in one.read("memory.md")
    one.edit(lambda text: text + "\nmine\n")
    one.run("sync")
    other.git("pull", "-q")
    assert SAID in other.facts()
    assert len(other.facts()) == 61
    assert len(one.facts()) == 61


@pytest.mark.long
@pytest.mark.few(1)
@pytest.mark.parametrize("by", ["nobody", "pull", "sync"])
def test_a_fact_whose_file_was_edited_and_committed_with_git_is_told_by_its_new_words(people, decided, by):
    one, other = people
    (path,) = (one.root / "facts" / "decision").glob(f"{decided}*")
    head, mark, _ = path.read_text(encoding="utf-8").rpartition("---\n")
    path.write_text(f"{head}{mark}The cache is in Redis.\n\n**Why:** it is shared.\n", encoding="utf-8")
    one.commit_all("-m", "mine")
    if by != "nobody":
        one.git("push", "-q")
        other.git("pull", "-q") if by == "pull" else other.run("sync")
    told = one if by == "nobody" else other
    assert told.facts() == ["The cache is in Redis."]
    assert "in memory" not in told.told() + told.read("memory.md")
    meet(one, other)
    assert one.facts() == other.facts() == ["The cache is in Redis."]


@pytest.mark.long
@pytest.mark.few(1)
@pytest.mark.parametrize("by", ["git", "a command"])
def test_two_edits_of_one_line_of_which_git_committed_one_or_both_are_both_kept_by_a_sync(people, decided, by):
    one, other = people
    one.reword("The cache is in Redis.")
    if by == "git":
        other.reword("The cache is in Postgres.")
    else:
        one.git("push", "-q")
        other.run("facts", "edit", decided, "The cache is in Postgres.")
    meet(one, other)
    for user in people:
        assert "Redis" in user.told(decided)
        assert "Postgres" in user.told(decided)
        assert "Redis" in user.read("memory.md")
        assert "Postgres" in user.read("memory.md")
        assert "in memory" not in user.read("memory.md")
        assert len(user.review()) == 1
        assert user.review()[0].startswith("facts/decision/")


@pytest.mark.parametrize("rebase", ["--no-rebase", "--rebase"])
@pytest.mark.few(1)
def test_two_edits_of_one_line_that_were_committed_with_git_are_both_kept_by_a_pull(people, decided, rebase):
    one, other = people
    one.reword("The cache is in Redis.")
    one.git("push", "-q")
    other.reword("The cache is in Postgres.")
    other.git("pull", "-q", rebase, "--no-edit")
    assert "Redis" in other.told(decided)
    assert "Postgres" in other.told(decided)
    assert other.review() == ["memory.md"]
    meet(one, other)
    for user in people:
        assert "Redis" in user.read("memory.md")
        assert "Postgres" in user.read("memory.md")
        assert user.review() == ["memory.md"]


@pytest.mark.long
@pytest.mark.few(1)
@pytest.mark.parametrize("how", ["theirs", "edit"])
def test_what_a_pull_kept_twice_is_settled_by_review(people, decided, how):
    one, other = people
    one.reword("The cache is in Redis.")
    one.git("push", "-q")
    other.reword("The cache is in Postgres.")
    other.git("pull", "-q", "--no-rebase", "--no-edit")
    if how == "edit":  # both sides are joined by hand
        other.edit(lambda text: re.sub(r"\n  The cache is in \w+\.", "", text), commit=False)
    other.run("review", "memory.md", "--take", how)
    assert len(other.told(decided).splitlines()) == 1
    assert how == "edit" or other.told(decided) == "The cache is in Redis."
    assert other.review() == []
    meet(one, other)
    assert one.facts() == other.facts()


@pytest.mark.slow
def test_undo_says_how_to_part_with_a_wrong_remote(people, tmp_path, run_in, bare_git):  # noqa: F811
    one, _ = people
    one.run("sync")
    other = tmp_path / "another project"
    other.mkdir()
    run_in(other, "init")
    run_in(other, "save", "of another project", "--type", "decision")
    bare_git(tmp_path, "init", "-q", "--bare", "wrong.git")
    run_in(other, "remote", "add", str(tmp_path / "wrong.git"))
    run_in(other, "sync")
    theirs = bare_git(tmp_path / "wrong.git", "rev-parse", "gitmem")
    one.run("save", "mine before", "--type", "decision")
    one.run("remote", "add", "wrong", str(tmp_path / "wrong.git"))
    accept = ("--accept", "other-project") if "other-project" in [*Accept] else ()
    one.run("sync", "wrong", *accept)
    merge = one.git("log", "-1", "--merges", "--format=%H")
    one.run("save", "mine after", "--type", "decision")
    refused = one.ran("undo", merge).err
    one.run("remote", "remove", "wrong")
    for command in re.findall(r"'git ([^']*)'", refused)[1:]:
        one.git(*command.replace("URL", str(tmp_path / "wrong.git")).split())
    assert sorted(one.facts()) == [SAID, "mine after", "mine before"]
    assert "another project" not in one.read("memory.md")
    assert bare_git(tmp_path / "wrong.git", "rev-parse", "gitmem") == theirs
    one.run("sync")
    assert one.git("status", "--porcelain") == ""
    assert "another project" not in one.read("memory.md")


@pytest.mark.slow
def test_facts_that_were_pulled_are_read_without_asking_git_for_each(people, monkeypatch):
    one, other = people
    for number in range(12):
        one.run("facts", "add", f"The part {number} listens on port 90{number}.")
    one.run("sync")
    other.git("pull", "-q")
    asked = []
    ask = Writer._listed
    monkeypatch.setattr(Writer, "_listed", lambda writer, path: asked.append(path) or ask(writer, path))
    other.run("save", "Hello.")
    assert "listens on port 9011" in other.read("memory.md")
    assert [path for path in asked if path.startswith("facts/")] == []
