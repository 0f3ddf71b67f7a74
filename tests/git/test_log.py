from datetime import UTC, datetime, timedelta

import pytest

from gitmem.errors import GitFailedError
from gitmem.git.log import additions, commits, fork, log

KOREAN = "archive/메모 memory 하나.md"


def when(seconds: int) -> datetime:
    return datetime.fromtimestamp(1_700_000_000 + seconds, UTC)


def test_times_and_trailers_of_a_commit(git, commit):
    commit("Save\n\nGitmem-Op: save\nGitmem-Entry: a\nGitmem-Entry: b\n", at=60, committed=90)
    (found,) = log(git, "HEAD")
    assert (found.authored, found.committed, found.authored.utcoffset()) == (when(60), when(90), timedelta(hours=9))
    assert (found.values("gitmem-entry"), found.value("Gitmem-Session")) == (("a", "b"), None)


@pytest.mark.parametrize(
    "message, subject, trailers",
    [
        ("one\ntwo \x1b[31m\n\nA-Key: b: c = d\n", "one two \x1b[31m", (("A-Key", "b: c = d"),)),
        ("subject\n\nA-Key: folded\n over lines\n", "subject", (("A-Key", "folded over lines"),)),
        ("subject\n\nGitmem-Op: save\n\nlast paragraph of words\n", "subject", ()),
        ("Gitmem-Op: save\n", "Gitmem-Op: save", ()),
        ("\n", "", ()),
        ("subject\n\nA-Key:\n", "subject", (("A-Key", ""),)),
        ("subject\r\n\r\nA-Key: x\r\n", "subject", (("A-Key", "x"),)),
    ],
)
def test_message_cannot_pass_for_another_field(
    git, commit, message: str, subject: str, trailers: tuple[tuple[str, str], ...]
):
    commit("before")
    commit(message)
    commit("after")

    found = log(git, "HEAD")

    assert [c.subject.strip() for c in found] == ["after", subject, "before"]
    assert found[1].trailers == trailers


def raw_commit(bare_git, store, author: bytes, message: bytes) -> str:
    tree = bare_git(store, "rev-parse", "HEAD^{tree}").encode()
    content = b"tree %s\nauthor %s\ncommitter %s\n\n%s" % (tree, author, author, message)
    return bare_git(store, "hash-object", "-t", "commit", "-w", "--stdin", "--literally", stdin=content)


def test_commit_no_git_would_write(git, store, commit, bare_git):
    commit("sound")
    nul = raw_commit(bare_git, store, b"A <a> 5 +0000", b"sub\0ject\n\nGitmem-Op: save\n")
    old = raw_commit(bare_git, store, b"A <a> 99999999999999999 +9999", b"far away\n")
    none = raw_commit(bare_git, store, b"A <a>", b"no date\n")
    latin = raw_commit(bare_git, store, b"\xe9\xff <\xe9> 5 -1130", b"\xe9\n")

    found = commits(git, [nul, old, none, latin])

    assert set(found) == {nul, old, none, latin}
    assert found[nul].subject == "sub"
    assert found[nul].trailers == ()
    assert found[old].authored.year in {1970, 9999}
    assert found[none].authored.year == 1970
    assert found[latin].authored.utcoffset() == timedelta(hours=-11, minutes=-30)


def test_trailers_are_asked_for_and_seen_to(git, commit):
    saved = commit("Save a\n\nGitmem-Op: save\nGitmem-Session: 1b4e-1\n")
    other = commit("Save b\n\nGitmem-Op: save\nGitmem-Session: 1b4e-2\n")
    commit("Rotate\n\nGitmem-Op: rotate\nGitmem-Session: 1b4e-1\n")
    commit("Gitmem-Op: save Gitmem-Session: 1b4e-1")
    commit("A person quotes\n\nGitmem-Op: save\nGitmem-Session: 1b4e-1\n\nand goes on.\n")

    assert [c.oid for c in log(git, "HEAD", trailers={"Gitmem-Op": "save"})] == [other, saved]
    assert [c.oid for c in log(git, "HEAD", trailers={"Gitmem-Op": "save", "Gitmem-Session": "1b4e-1"})] == [saved]
    assert [c.oid for c in log(git, "HEAD", trailers={"Gitmem-Op": "save", "Gitmem-Session": "1b4e"})] == [other, saved]
    assert [c.oid for c in log(git, "HEAD", trailers={"Gitmem-Op": "save"}, limit=1)] == [other]
    assert [c.oid for c in log(git, "HEAD", trailers={"Gitmem-Session": "1b4e-1", "Gitmem-Op": "save"}, limit=1)] == [
        saved
    ]
    assert log(git, "HEAD", trailers={"Gitmem-Op": "sa.e"}) == []


def test_dates_are_those_of_what_happened_in_any_order(git, commit):
    late = commit("clock ahead", at=1000, committed=1)
    early = commit("clock behind", at=10, committed=2)
    middle = commit("in between", at=500, committed=3)

    assert [c.oid for c in log(git, "HEAD", since=when(500))] == [middle, late]
    assert [c.oid for c in log(git, "HEAD", until=when(500))] == [middle, early]
    assert [c.oid for c in log(git, "HEAD", since=when(10), until=when(10))] == [early]
    assert [c.oid for c in log(git, "HEAD", since=when(500), limit=1)] == [middle]
    assert [c.oid for c in log(git, "HEAD", until=when(10), limit=1)] == [early]


def test_paths_are_names_and_no_patterns(git, commit):
    korean = commit("one", {KOREAN: "1\n"})
    star = commit("two", {"a*.md": "2\n", "ab.md": "2\n"})
    commit("three", {"ab.md": "3\n"})

    assert [c.oid for c in log(git, "HEAD", paths=[KOREAN])] == [korean]
    assert [c.oid for c in log(git, "HEAD", paths=["archive"])] == [korean]
    assert [c.oid for c in log(git, "HEAD", paths=["a*.md"])] == [star]
    assert log(git, "HEAD", paths=[":(glob)**"]) == []


def test_revision_is_never_an_option(git, commit, store):
    commit("one")

    with pytest.raises(GitFailedError):
        log(git, "--output=written")
    assert not (store / "written").exists()


def test_additions_are_the_first_and_every_later_one(git, commit, store, bare_git):
    first = commit("add", {KOREAN: "1\n", "archive/b.md": "b\n", "elsewhere.md": "e\n"})
    commit(":odd subject", {"archive/b.md": None})
    again = commit("add again", {"archive/b.md": "b2\n"})
    commit("change", {KOREAN: "2\n"})

    found = additions(git, ["HEAD"], "archive")

    # As git has it: the newest first, the paths of a commit in order.
    assert [(a.commit.oid, a.path) for a in found] == [
        (again, "archive/b.md"),
        (first, "archive/b.md"),
        (first, KOREAN),
    ]
    assert bare_git(store, "cat-file", "-p", found[2].oid) == "1"


def test_additions_on_a_branch_whose_files_a_merge_dropped(git, commit, store, bare_git):
    commit("base", {"memory.md": "m\n"})
    bare_git(store, "switch", "-qc", "side")
    added = commit("add", {"archive/a.md": "a\n"})
    commit("retain", {"archive/a.md": None})
    bare_git(store, "switch", "-q", "-")
    commit("other", {"memory.md": "n\n"})
    bare_git(store, "merge", "-q", "-m", "merge", "side")

    assert [(a.commit.oid, a.path) for a in additions(git, ["HEAD"], "archive")] == [(added, "archive/a.md")]


# How two commits stand to each other


def test_a_fork_of_crossed_histories_has_all_bases_and_no_others(git, store, commit, bare_git):
    root = commit("root", {"r": "1"})
    one = commit("one", {"a": "1"})
    bare_git(store, "checkout", "-q", "-b", "other", root)
    two = commit("two", {"b": "1"})
    bare_git(store, "merge", "-q", "--no-edit", one)
    right = bare_git(store, "rev-parse", "HEAD")
    bare_git(store, "checkout", "-q", "-b", "third", one)
    bare_git(store, "merge", "-q", "--no-edit", two)
    assert fork(git, commit("left", {"c": "1"}), right).bases == tuple(sorted((one, two)))


def test_a_fork_without_anything_shared_has_no_bases(git, store, commit, bare_git):
    one = commit("one", {"a": "1"})
    bare_git(store, "checkout", "-q", "--orphan", "other")
    two = commit("two", {"b": "1"})
    both = fork(git, one, two)
    assert both.bases == ()
    assert [set(alone) for alone in both.alone] == [{one}, {two}]
