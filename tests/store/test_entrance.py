"""What may enter a store is decided by one rule at every door: an edit by hand, a sync, a clone."""

import subprocess
from pathlib import Path

import pytest

from gitmem.document.entry import MemoryType
from gitmem.errors import RefusedError
from gitmem.record.fact_edits import find_fact, retire
from gitmem.store.entrance import original_of, unusable_name
from tests.cli.commands.conftest import gitmem, run  # noqa: F401
from tests.command_line import Runner
from tests.store.test_known_facts import told

ID = "r9ye7b8khcx"
FACT = f"facts/rule/{ID}-always-indent-by-tabs.md"
TRACKED = [FACT, "memory.md", "daily/2026/11/2026-11-28.md", "knowledge/notes.md"]


@pytest.mark.parametrize(
    "path, original",
    [
        (f"facts/rule/{ID}-always-indent-by-tabs.sync-conflict-20261128-163000-ABCDEFG.md", FACT),
        (f"facts/rule/{ID}-always-indent-by-tabs (conflicted copy 2026-11-28).md", FACT),
        (f"facts/rule/{ID}-always-indent-by-tabs (Kim's conflicted copy 2026-11-28).md", FACT),
        (f"facts/rule/{ID}-always-indent-by-tabs copy.md", FACT),
        (f"facts/rule/{ID}.md", FACT),
        (f"facts/decision/{ID}-always-indent-by-tabs.md", FACT),
        ("memory.sync-conflict-20261128-163000-ABCDEFG.md", "memory.md"),
        ("memory 2.md", "memory.md"),
        ("daily/2026/11/2026-11-28 (1).md", "daily/2026/11/2026-11-28.md"),
        (f"facts/rule/#{ID}-always-indent-by-tabs.md#", FACT),
        (f"facts/rule/~${ID}-always-indent-by-tabs.md", FACT),
        (f"facts/rule/.{ID}-always-indent-by-tabs.md.icloud", FACT),
        ("daily/2026/11/2026-11-28-LAPTOP.md", "daily/2026/11/2026-11-28.md"),
        ("memory-DESKTOP-4KQ2.md", "memory.md"),
        ("memory - Kopie (2).md", "memory.md"),
        ("memory.md.orig", "memory.md"),
        ("#memory.md#", "memory.md"),
        (".memory.md.icloud", "memory.md"),
        ("knowledge/notes.md.rej", "knowledge/notes.md"),
        ("facts/rule/._x.md", "facts/rule/._x.md"),
        ("facts/rule/4913", "facts/rule/4913"),
        ("knowledge/.nfs00000000012ab", "knowledge/.nfs00000000012ab"),
        (FACT, ""),
        ("facts/rule/r0000000001-another.md", ""),
        ("knowledge/notes 2.md", ""),
        ("knowledge/notes-API.md", ""),
        ("memory-notes.md", ""),
        ("TODO.md", ""),
        ("memory.edited-20261128-163000.md", ""),
        ("knowledge/conflict resolution (git).md", ""),
        ("daily/2026/11/2026-11-27.md", ""),
    ],
)
def test_a_copy_is_known_by_its_id_or_by_what_sync_services_call_it(path, original):
    def below(folder: str) -> list[str]:
        return [one for one in TRACKED if not folder or one.startswith(f"{folder}/")]

    assert original_of(path, below) == original


@pytest.mark.parametrize(
    "path", ["Icon\r", "Memory.md", "facts/a\tb.md", ".tmp/x", "Episodes/x.md", "episodes", "\x7f"]
)
def test_a_name_that_some_machine_cannot_have_is_unusable(path):
    assert unusable_name(path)
    assert not unusable_name("knowledge/a b.md")


def git_in(root: Path, *args: str) -> str:
    done = subprocess.run(["git", "-C", str(root), *args], check=True, capture_output=True, encoding="utf-8")
    return done.stdout


def out(gitmem: Runner, *words: str) -> str:  # noqa: F811
    return gitmem(*words)[1]


@pytest.fixture
def rule(gitmem: Runner) -> Path:  # noqa: F811
    out(gitmem, "save", "Always indent by tabs", "-t", "rule")
    return next((gitmem.root / "facts" / "rule").iterdir())


def test_a_copy_beside_a_fact_is_named_and_never_wins(gitmem, rule):  # noqa: F811
    copy = rule.with_name(f"{rule.stem}.sync-conflict-20261128-163000-ABCDEFG.md")
    copy.write_text(rule.read_text().replace("tabs", "eight blanks"))
    rule.with_name("4913").write_text("")
    out(gitmem, "save", "a note")
    assert copy.name not in git_in(gitmem.root, "ls-files")
    assert "tabs" in told(gitmem)
    assert "blanks" not in told(gitmem) + out(gitmem, "search", "indent blanks")
    assert copy.name in out(gitmem, "doctor")
    assert "eight blanks" in out(gitmem, "review", copy.relative_to(gitmem.root).as_posix())
    out(gitmem, "facts", "retire", copy.relative_to(gitmem.root).as_posix())
    assert not copy.exists()
    identifier = rule.name.partition("-")[0]
    out(gitmem, "facts", "retire", identifier)
    assert "tabs" not in out(gitmem, "facts", "list")


def test_a_copy_that_was_committed_never_wins_over_the_first(gitmem, rule):  # noqa: F811
    copy = rule.with_name(f"{rule.stem} 2.md")
    copy.write_text(rule.read_text().replace("tabs", "eight blanks"))
    git_in(gitmem.root, "add", "-A")
    git_in(gitmem.root, "-c", "user.name=Kim", "-c", "user.email=kim@example.org", "commit", "-qm", "By hand")
    assert out(gitmem, "facts", "list").count("indent") == 1
    assert "eight blanks" not in told(gitmem)
    assert copy.name in out(gitmem, "doctor")
    out(gitmem, "review", copy.relative_to(gitmem.root).as_posix(), "--take", "theirs")
    assert "eight blanks" in out(gitmem, "facts", "list")
    assert not copy.exists()


@pytest.mark.few(1)
@pytest.mark.parametrize("how", ["without its fence", "behind another header", "empty", "utf-16", "twice"])
def test_a_broken_fact_is_not_committed_and_its_last_version_is_shown(gitmem, rule, how):  # noqa: F811
    text = rule.read_text()
    broken = {
        "without its fence": text.removeprefix("---\n"),
        "behind another header": f"---\npermalink: x\n---\n\n{text}",
        "empty": "",
        "utf-16": "\ufeff" + text,
        "twice": text + text.replace("tabs", "nothing"),
    }[how]
    rule.write_bytes(broken.encode("utf-16-le" if how == "utf-16" else "utf-8"))
    written, tip = (
        rule.read_bytes(),
        git_in(gitmem.root, "rev-parse", f"HEAD:{rule.relative_to(gitmem.root).as_posix()}"),
    )
    out(gitmem, "save", "a note")
    assert git_in(gitmem.root, "rev-parse", f"HEAD:{rule.relative_to(gitmem.root).as_posix()}") == tip
    assert rule.read_bytes() == written
    shown = told(gitmem)
    assert "Always indent by tabs" in shown
    assert "Always indent by tabs" in out(gitmem, "search", "always indent by metadata")
    assert "metadata:" not in shown + (gitmem.root / "memory.md").read_text()
    assert f"{rule.name}, line 1" in out(gitmem, "doctor")
    out(gitmem, "facts", "retire", rule.name.partition("-")[0])
    assert "indent" not in out(gitmem, "facts", "list")


def test_a_broken_fact_that_plain_git_committed_is_shown_as_it_was(gitmem, rule):  # noqa: F811
    rule.write_text("Always indent by nothing, and no header\n")
    git_in(gitmem.root, "-c", "user.name=Kim", "-c", "user.email=kim@example.org", "commit", "-qam", "By hand")
    assert "Always indent by tabs" in told(gitmem)
    assert "by nothing" not in told(gitmem) + out(gitmem, "facts", "list") + out(gitmem, "search", "indent by nothing")


def test_a_file_among_the_facts_that_never_was_one_is_no_hit(gitmem, rule):  # noqa: F811
    rule.with_name("plain.md").write_text("Always indent by nothing, and no header\n")
    out(gitmem, "save", "a note")
    assert "by nothing" not in out(gitmem, "search", "indent by nothing") + told(gitmem)


def test_a_broken_fact_is_not_in_the_way_of_a_sync(pair):
    first, second = pair
    identifier = first.save("Always indent by tabs", MemoryType.RULE).id
    first.sync()
    second.sync()
    [rule] = (second.root / "facts" / "rule").iterdir()
    rule.write_text(rule.read_text().removeprefix("---\n"))
    retire(first.store, find_fact(first.store, identifier), "")
    first.sync()
    done = second.sync()
    assert any("yours is kept" in notice for notice in done.notices)
    assert "status: retired" in rule.read_text()
    assert first.tip == second.tip


KIM = ("-c", "user.name=Kim", "-c", "user.email=kim@example.org")
BY_HAND = (*KIM, "commit", "-qm", "By hand")
TWINS = [
    ("Notes.md", "notes.md"),
    ("caf\u00e9.md", "cafe\u0301.md"),
    ("knowledge/Stra\u00dfe.md", "knowledge/STRASSE.md"),
]


@pytest.mark.parametrize("first, second", TWINS)
def test_of_two_names_that_some_system_takes_for_one_only_one_is_committed(gitmem, first, second):  # noqa: F811
    for name in (first, second):
        (gitmem.root / name).parent.mkdir(exist_ok=True)
        (gitmem.root / name).write_text(f"what {name} says\n")
    complaint = gitmem("save", "a note")[2]
    tracked = git_in(gitmem.root, "ls-files", "-z").split("\0")
    assert len({first, second}.intersection(tracked)) == 1
    assert "which on some file systems is the same as" in complaint


def test_a_file_that_grew_beyond_what_a_sync_takes_is_not_committed(gitmem):  # noqa: F811
    before = git_in(gitmem.root, "rev-parse", "HEAD:config.yaml")
    with (gitmem.root / "config.yaml").open("a") as file:
        file.write("# x\n" * 1_000_000)
    assert "more than gitmem allows for it" in gitmem("save", "a note")[2]
    assert git_in(gitmem.root, "rev-parse", "HEAD:config.yaml") == before


@pytest.mark.few(1)
@pytest.mark.parametrize("first, second", TWINS)
def test_twins_of_a_remote_become_one_file_with_both_texts_and_the_rest_arrives(pair, first, second):
    ours, theirs = pair
    ours.sync()
    theirs.sync()
    for name in (first, second):
        path = ours.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"what {name} says\n")
        git_in(ours.root, "add", "-A")
        git_in(ours.root, *BY_HAND)
        git_in(ours.root, "push", "-q", "origin", "gitmem")
    identifier = theirs.save("meanwhile", MemoryType.NOTE).id
    done = theirs.sync()
    kept = min(first, second)
    assert [path for path in (first, second) if (theirs.root / path).exists()] == [kept]
    assert all(f"what {name} says" in (theirs.root / kept).read_text() for name in (first, second))
    assert any("which has both texts" in notice for notice in done.notices)
    ours.sync()
    assert ours.tip == theirs.tip
    assert identifier in git_in(ours.root, "grep", "-h", identifier)


@pytest.mark.few(1)
@pytest.mark.parametrize("what", ["a link", "Icon\r", "much"])
def test_what_others_would_refuse_is_not_pushed(pair, what):
    ours, theirs = pair
    if what == "a link":
        (ours.root / "link.md").symlink_to("memory.md")
    elif what == "much":
        (ours.root / "config.yaml").write_text("# x\n" * 1_000_000)
    else:
        (ours.root / what).write_text("x")
    git_in(ours.root, "add", "-A")
    git_in(ours.root, *BY_HAND)
    said = theirs.save("meanwhile", MemoryType.NOTE).id
    theirs.sync()
    with pytest.raises(RefusedError, match="Nothing was pushed"):
        ours.sync()
    assert said in git_in(ours.root, "grep", "-h", said)  # what others sent is here
    git_in(ours.root, *KIM, "revert", "--no-edit", git_in(ours.root, "log", "--format=%H", "--grep=By hand").strip())
    ours.sync()
    theirs.sync()
    assert ours.tip == theirs.tip


@pytest.mark.parametrize("command", ["clone", "restore"])
def test_a_new_copy_of_a_memory_says_what_it_leaves_out(gitmem, tmp_path, command):  # noqa: F811
    for name in ("Icon\r", "Notes.md", "notes.md"):
        (gitmem.root / name).write_text(f"what {name} says\n")
    git_in(gitmem.root, "add", "-A")
    git_in(gitmem.root, *BY_HAND)
    git_in(gitmem.root, "bundle", "create", "-q", str(tmp_path / "a.bundle"), "gitmem")
    (tmp_path / "new").mkdir()
    git_in(tmp_path / "new", "init", "-q")
    code, _, complaint = gitmem(command, str(tmp_path / "a.bundle"), cwd=tmp_path / "new")
    assert code == 0, complaint
    assert "'Icon\\r' of" in complaint
    assert "'notes.md' of" in complaint
    assert "what notes.md says" in (tmp_path / "new/.gitmem/Notes.md").read_text()
