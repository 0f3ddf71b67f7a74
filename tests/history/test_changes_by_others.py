"""What others make of a user's rules, preferences and decisions waits for the user, and is told until then."""

from __future__ import annotations

import pytest

from tests.cli.commands.conftest import first, remote, run_in, second  # noqa: F401
from tests.command_line import Ran
from tests.store.people import User, make_people

RULE = "Never push to main without a review."
TURNED = "Always push to main without a review."


@pytest.fixture
def made(request) -> tuple[User, User, str]:
    return make_people(("Ada", "Mallory"), RULE, "rule", request)


@pytest.fixture
def people(made) -> tuple[User, User]:
    """Give two people whose clones both have a rule of the first."""
    return made[:2]


@pytest.fixture
def rule(made) -> str:
    return made[2]


def sync(*people: User) -> Ran:
    for user in people:
        said = user.run("sync")
    return said


@pytest.mark.parametrize(
    "act, word",
    [
        (lambda user, rule: user.run("facts", "edit", rule, TURNED), "changed"),
        (lambda user, rule: user.run("facts", "retire", rule), "retired"),
        (
            lambda user, rule: user.run("facts", "supersede", rule, user.remember(TURNED, "--type", "rule")["id"]),
            "superseded",
        ),
        (lambda user, rule: user.git("rm", "-q", f"facts/rule/{rule}*") or user.commit_all("-m", "x"), "removed"),
    ],
)
@pytest.mark.few(1)
def test_a_rule_that_another_author_changed_waits_and_is_told(people, rule, act, word):
    ada, mallory = people
    act(mallory, rule)
    said = sync(mallory, ada)
    assert f"{word} by Mallory on " in said.err
    [change] = ada.waiting()
    assert change.startswith(f"{word} by Mallory on ")
    assert change.endswith(f", before: {RULE}")
    assert (f"\n  now: {TURNED}\n" in ada.run("review").out) is (word == "changed")
    for text in (ada.told(), ada.run("status").out, ada.run("doctor").out):
        assert f"{word} by Mallory on " in text
        assert f"before: {RULE}" in text
    if word != "removed":
        memory = ada.run("facts", "show", rule, "--json").json["places"][0]["path"]
        for door in (
            ("show", memory),
            ("get", memory),
            ("search", "push", "main", "review"),
            ("recall", "push to main"),
        ):
            assert f"{word} by Mallory on " in ada.run(*door).out, door
    assert mallory.waiting() == []
    assert "by Ada" not in mallory.told().replace("(by Ada", "")


@pytest.mark.slow
def test_a_line_that_another_author_edited_with_plain_git_waits(people, rule):
    ada, mallory = people
    for change in (TURNED, "Push whatever you like."):
        path = mallory.root / "memory.md"
        path.write_text(path.read_text().replace(RULE, change).replace(TURNED, change))
        mallory.commit_all("-m", "x")
        mallory.git("push", "-q", "origin", "gitmem")
        if change is TURNED:
            ada.run("sync")
            mallory.git("pull", "-q", "--no-rebase")
        else:
            ada.waiting()
            ada.git("pull", "-q", "--no-rebase")
        [said] = ada.waiting()
        assert said.startswith("changed by Mallory on ")
        assert said.endswith(RULE)
        assert "changed by Mallory on " in ada.told()


def test_a_change_in_a_merge_waits(people, rule):
    ada, mallory = people
    mallory.git("switch", "-q", "-c", "side")
    mallory.commit_all("--allow-empty", "-m", "x")
    mallory.git("switch", "-q", "gitmem")
    mallory.run("save", "a note")
    mallory.git("merge", "-q", "--no-commit", "--no-ff", "side")
    [path] = (mallory.root / "facts" / "rule").glob(f"{rule}*")
    path.write_text(path.read_text().replace(RULE, TURNED))
    mallory.commit_all("-m", "Merge")
    mallory.git("push", "-q", "origin", "gitmem")
    ada.run("sync")
    [said] = ada.waiting()
    assert "by Mallory on " in said


@pytest.mark.parametrize("name", ["-always.md", ".md", "-a.md"])  # longer or shorter than the rule's own
@pytest.mark.parametrize("kind", ["rule", "decision"])
@pytest.mark.parametrize("keeps", [True, False])
@pytest.mark.few(1)
def test_a_second_file_with_the_id_of_a_rule_replaces_it_nowhere(people, rule, name, kind, keeps):
    ada, mallory = people
    [path] = (mallory.root / "facts" / "rule").iterdir()
    twin = mallory.root / "facts" / kind / f"{path.name[:11]}{name}"
    twin.parent.mkdir(exist_ok=True)
    twin.write_text(path.read_text().replace(RULE, TURNED).replace("kind: rule", f"kind: {kind}"))
    if not keeps:
        path.unlink()
    mallory.git("add", "-A")
    mallory.commit_all("-m", "More")
    mallory.git("push", "-q", "origin", "HEAD:gitmem")
    said = sync(ada).err
    if ada.waiting():
        assert "changed by Mallory" in ada.told()
        assert f"before: {RULE}" in ada.told()
        assert ada.run("review", rule, "--take", "ours").code == 0
    else:
        assert "was left out" in said
    assert ada.waiting() == []
    assert RULE in ada.run("show").out
    assert TURNED not in ada.run("show").out + ada.told()
    assert len([*(ada.root / "facts").rglob(f"{path.name[:11]}*.md")]) == 1


@pytest.mark.parametrize(
    "line, before",
    [
        ("scope: [docs]", "(scope: none)"),
        ("forbids: [git push]", "(forbids: none)"),
        ("enforce: deny", "(enforce: none)"),
        ("until: 2020-01-01", "(until: none)"),
        ("pinned: true", "(pinned: none)"),
        ("created: 2001-01-01T00:00:00+00:00", ""),
        ("description: Push to main.", ""),
        ("**Why:** The reviewers are gone.", "(now also: **Why:** The reviewers are gone.)"),
    ],
)
@pytest.mark.few(1)
def test_a_change_of_any_field_that_is_shown_waits(people, rule, line, before):
    ada, mallory = people
    [path] = (mallory.root / "facts" / "rule").iterdir()
    text = path.read_text(encoding="utf-8")
    key = line.partition(":")[0]
    lines = [one for one in text.splitlines() if not one.startswith(f"{key}:")]
    lines = [*lines, "", line] if key.startswith("*") else [*lines[:-2], line, *lines[-2:]]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    mallory.commit_all("-m", "Fields")
    mallory.git("push", "-q", "origin", "HEAD:gitmem")
    sync(ada)
    [said] = ada.waiting()
    assert said.endswith(f"before: {RULE} {before}".rstrip())
    assert "changed by Mallory" in ada.told()
    assert f"before: {RULE}" in ada.told()
    assert ada.run("review", "1", "--take", "ours").code == 0
    assert ada.waiting() == []
    shown = ada.run("facts", "show", rule).out
    assert line not in shown
    assert "Push to main." not in shown


def edit_file(user: User, rule: str, text: str) -> None:
    """Change what the rule's file says, whatever that is now."""
    [path] = (user.root / "facts" / "rule").glob(f"{rule}*")
    head, mark, _ = path.read_text(encoding="utf-8").rpartition("---\n")
    path.write_text(f"{head}{mark}{text}\n", encoding="utf-8")


def test_a_text_that_another_author_changed_with_plain_git_below_an_old_description_waits(people, rule):
    ada, mallory = people
    edit_file(mallory, rule, TURNED)
    mallory.commit_all("-am", "Text")
    mallory.git("push", "-q", "origin", "HEAD:gitmem")
    assert "changed by Mallory" in sync(ada).err
    [said] = ada.waiting()
    assert said.endswith(f"before: {RULE}")


def test_what_another_author_said_before_is_told_with_the_name(people):
    ada, mallory = people
    text = "---\nname: x\nid: r4f7k2m9q0x\nkind: rule\nstatus: active\ncreated: 2020-01-01T00:00:00+00:00\n---\n%s\n"
    path = mallory.root / "facts" / "rule" / "r4f7k2m9q0x-x.md"
    path.write_text(text % TURNED, encoding="utf-8")
    mallory.git("add", "-A")
    mallory.commit_all("-m", "A rule")
    mallory.git("push", "-q", "origin", "HEAD:gitmem")
    sync(ada)
    assert f"it contradicts: {TURNED} (by Mallory, 2020-01-01)" in ada.told()


@pytest.mark.slow
def test_what_the_user_changed_on_two_machines_was_changed_by_nobody_else(people, rule, tmp_path):
    ada, _ = people
    other = ada.on(tmp_path / "notebook")
    other.waiting()
    edit_file(ada, rule, "Never push to main before a review.")
    edit_file(other, rule, "Never push to main after work.")
    assert "of yours was" not in sync(ada, other).err
    assert other.waiting() == []
    [document] = other.run("review", "--json").json
    assert len(document["ours"]) == len(document["theirs"]) == 1


@pytest.mark.slow
@pytest.mark.parametrize("ends", [True, False])
def test_what_the_user_had_is_what_the_user_said_last(people, rule, ends):
    ada, mallory = people
    own = "Never push to main before a review."
    edit_file(mallory, rule, TURNED)
    edit_file(ada, rule, own)
    sync(mallory, ada)
    [item] = ada.run("review", "--json").json  # its two versions, and no change of Mallory's beside them
    assert rule in item["path"]
    assert not ada.waiting()
    if ends:
        sync(mallory)
        edit_file(mallory, rule, own)
        sync(mallory, ada)
    else:
        ada.run("review", "1", "--take", "ours")
    assert not ada.waiting()
    assert len(ada.run("review", "--json").json) == ends  # Mallory's edit decides nothing for Ada
    assert ada.run("facts", "list", "--json").json[0]["description"] == own


def test_for_own_saves_alone_no_version_of_a_fact_is_read(people, rule, monkeypatch):
    """A page of the viewer looks after each save."""
    ada, _ = people
    sync(ada)
    assert not ada.waiting()
    ada.run("facts", "edit", rule, TURNED)
    monkeypatch.setattr("gitmem.history.changes_by_others._waits", None)
    assert ada.waiting() == []
