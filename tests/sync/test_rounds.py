"""Several machines and a remote between them: what each saved is on all of them, whatever happens on the way."""

import itertools
from datetime import timedelta
from pathlib import Path

import pytest

from gitmem.errors import BusyError, ExitCode, GitmemError, RefusedError, StoreFormatError, UnreachableError
from gitmem.git.remote import Connection
from gitmem.platform.safe_open import MAX_FILE_BYTES
from gitmem.store import arrivals as incoming
from gitmem.store.remotes import add_remote, find_remote
from gitmem.store.transact import transact
from gitmem.sync.fetch import Chance, Synced, SyncStep
from gitmem.sync.guard import Accept
from tests.conftest import RunsGit
from tests.property.hostile import Objects, Said
from tests.world import Machine, converge


def test_both_machines_make_the_same_merge_commit(pair, tmp_path, bare_git):
    first, second = pair
    first.save("of the laptop")
    second.save("of the desktop")
    copies = []
    for each, other in (pair, pair[::-1]):  # each merges the other's memory, without a word between them
        bare = tmp_path / f"{each.name}.git"
        bare_git(tmp_path, "clone", "--quiet", "--bare", str(other.root), str(bare))
        each.git("remote", "set-url", "origin", str(bare))
        copies.append((each, bare))
    tips = {each.sync().commit for each, _ in copies}
    assert len(tips) == 1
    assert first.tip == second.tip
    assert first.git("log", "-1", "--format=%an <%ae> %cn %s") == (
        f"gitmem <gitmem@localhost> gitmem {first.git('log', '-1', '--format=%s')}"
    )
    assert "Gitmem-Op: merge" in first.git("log", "-1", "--format=%b")


@pytest.mark.parametrize("by_hand", [False, True])
@pytest.mark.few(1)
def test_what_is_saved_or_edited_while_it_is_synced_is_kept(pair, by_hand):
    first, second = pair
    first.save("one")
    first.sync()
    done = []

    def interrupt(step: str) -> None:
        if step == SyncStep.FILES and not done:
            if by_hand:
                second.write("memory.md", f"{second.read('memory.md')}\nmeanwhile\n")
            done.append(by_hand or second.save("meanwhile").id)

    second.save("two")
    second.sync(progress=interrupt)
    assert by_hand or done[0] in second.entries()
    converge(*pair)
    assert "meanwhile" in first.read("memory.md")


def _inbox(bare_git: RunsGit, remote: Path) -> list[str]:
    return bare_git(remote, "for-each-ref", "--format=%(refname)", "refs/gitmem/inbox").split()


def _beaten(first: Machine, second: Machine, **options: object) -> Synced:
    """Sync the second machine while the first one always pushes before it."""

    def interrupt(step: str) -> None:
        if step == SyncStep.PUSH:
            first.save("meanwhile")
            transact(first.store, lambda _: None, purpose="test")
            first.git("push", "--quiet", "origin", "HEAD:gitmem")

    return second.sync(progress=interrupt, **options)


@pytest.mark.slow
def test_a_commit_in_the_inbox_that_removes_much_stops_no_sync(pair, remote, bare_git):
    first, second = pair
    kept = {first.save(f"The oven of bakery {number} needs an hour.").id for number in range(9)}
    converge(*pair)
    empty = first.git("mktree", "--missing", stdin=b"").strip()
    removal = first.git("commit-tree", empty, "-p", "HEAD", "-m", "x").strip()
    first.git("push", "-q", str(remote), f"{removal}:refs/gitmem/inbox/evil-000000000001")
    done = second.sync()
    assert "would remove much" in " ".join(done.notices)
    two = second.save("two").id
    assert "would remove much" not in " ".join(second.sync().notices), "named once, then skipped"
    first.sync()
    assert {*kept, two} <= {*first.entries()}
    assert first.tip == second.tip
    assert _inbox(bare_git, remote), "it is left to a person"


@pytest.mark.slow
def test_what_many_left_becomes_one_merge_and_who_always_loses_waits_for_a_minute_at_most(machine, remote, bare_git):
    machines = [machine(name) for name in ("laptop", "desktop", "phone", "tablet")]
    first, last, *others = machines
    first.save("of all")
    first.sync()
    for other in (last, *others):
        other.sync()
    for other in others:
        other.save(f"of {other.name}")
    assert [_beaten(first, other).rounds for other in others] == [3, 1], (
        "the second sees that others had to leave theirs"
    )
    for seconds, told in ((0, False), (61, True)):
        others[0].now += timedelta(seconds=seconds)
        others[0].save("more")
        _beaten(first, others[0])
        assert ("of tablet" in others[0].read("memory.md")) is told
    steps: list[str] = []
    last.save("before")
    last.sync(chance=Chance(random=lambda: 1.0, sleep=lambda _: None), progress=steps.append)
    assert steps == [SyncStep.FETCH], "where several lie it mostly does not race"
    before = last.tip
    last.save("after")
    last.sync()
    assert not _inbox(bare_git, remote)
    assert last.git("rev-list", "--count", "--merges", f"{before}..HEAD") == "1", "several become one merge"
    converge(*machines)


@pytest.mark.slow
def test_others_that_are_always_quicker_are_not_raced_for_ever(pair, remote, bare_git):
    first, second = pair
    (remote / "hooks" / "update").write_text('#!/bin/sh\ncase "$1" in refs/gitmem/*) exit 1;; esac\n')
    (remote / "hooks" / "update").chmod(0o755)

    def interrupt(step: str) -> None:
        if step == SyncStep.PUSH:
            first.save("meanwhile")
            first.sync()

    second.save("one")
    pauses: list[float] = []
    times = itertools.count()
    chance = Chance(random=lambda: 1.0, sleep=pauses.append, clock=lambda: next(times) * 1.0)
    with pytest.raises(BusyError, match="first, 4 times"):
        second.sync(progress=interrupt, attempts=4, chance=chance)
    assert pauses == [3.0, 4.0, 8.0], (
        "up to a round's time, which doubles up to ten seconds; none where nothing follows"
    )
    second.sound()
    converge(*pair)


def test_no_lock_is_held_while_the_network_is_waited_for(pair):
    _, second = pair
    held = []

    def look(step: str) -> None:
        if step in {SyncStep.FETCH, SyncStep.MERGE, SyncStep.PUSH}:
            second.store.lock("test").acquire(0).release()
            held.append(step)

    second.save("one")
    second.sync(progress=look)
    assert held == [SyncStep.FETCH, SyncStep.PUSH]


def test_what_was_edited_by_hand_is_committed_also_without_a_remote(pair):
    first, _ = pair
    first.git("remote", "set-url", "origin", "http://127.0.0.1:9/x.git")
    first.write("knowledge/hand.md", "# By hand\n")
    with pytest.raises(UnreachableError):
        first.sync()
    assert first.git("show", "HEAD:knowledge/hand.md") == "# By hand"
    first.sound()


@pytest.mark.slow
def test_what_is_edited_while_git_fetches_is_kept(pair, monkeypatch):
    first, second = pair
    first.write("knowledge/shared.md", "# Shared\n")
    for one in (first, second, first):
        one.sync()
    first.write("knowledge/shared.md", "# Shared\n\nFrom the first.\n")
    first.sync()
    fetch, done = Connection.fetch, []

    def edited_after(connection: Connection, *args: object) -> str | None:
        fetched = fetch(connection, *args)
        if not done:
            done.append(True)
            second.store.files.look().edited()  # nothing yet
            second.write("knowledge/shared.md", "# Shared\n\nBy hand.\n")
        return fetched

    monkeypatch.setattr(Connection, "fetch", edited_after)
    second.sync()
    assert {"From the first.", "By hand."} <= {*second.read("knowledge/shared.md").splitlines()}
    converge(*pair)


def test_a_sync_starts_few_processes(pair, git_starts):
    first, second = pair
    converge(*pair)
    first.save("one")
    first.sync()
    second.save("two")
    git_starts.clear()
    second.sync()
    looking = ["diff-index", "ls-files"]
    merging = ["config", "cat-file", *looking, "fetch", "rev-list", "log", "fast-import", "push"]
    merging += ["update-index", "update-ref", "diff-tree"]
    assert sorted(set(git_starts) - {"ls-tree"}) == sorted(merging)
    # Besides `ls-tree` for the merge and for names beside those that came, `update-ref` for the fetched ref and the
    # branch, five pairs of trees that differ (the last is what is pushed), and two looks for commits of others.
    assert len(git_starts) <= len(merging) + 8
    second.sync()  # which sees what it pushed
    git_starts.clear()
    second.sync()  # nothing to do
    assert sorted(git_starts) == sorted(["cat-file", "config", "fetch", *looking])


def test_a_remote_that_takes_nothing_still_gives(pair, remote):
    first, second = pair
    one = first.save("one").id
    first.sync()
    hook = remote / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho no more today >&2\nexit 1\n")
    hook.chmod(0o755)
    second.save("two")
    with pytest.raises(GitmemError, match="did not take"):
        second.sync()
    assert one in second.entries()
    second.sound()
    hook.unlink()
    converge(*pair)


def test_a_remote_that_was_emptied_stops_the_sync_and_says_so(pair, remote, bare_git):
    first, _second = pair
    first.save("one")
    first.sync()
    tip = first.tip
    bare_git(remote, "update-ref", "-d", "refs/heads/gitmem")
    with pytest.raises(RefusedError, match="holds no memory any more"):
        first.sync()
    assert first.tip == tip
    assert first.git("for-each-ref", "--format=%(objectname)", "refs/gitmem/backup") == tip
    assert bare_git(remote, "for-each-ref") == ""
    first.sync(Accept.REWRITTEN)
    assert bare_git(remote, "rev-parse", "refs/heads/gitmem") == tip
    converge(*pair)


def test_a_branch_that_is_no_memory_is_refused(machine, remote, bare_git):
    first = machine("laptop")
    tree = bare_git(remote, "hash-object", "-w", "-t", "tree", "--stdin", stdin=b"")
    bare_git(remote, "update-ref", "refs/heads/gitmem", bare_git(remote, "commit-tree", "-m", "Something", tree))
    with pytest.raises(RefusedError, match="is not a memory"):
        first.sync()
    with pytest.raises(RefusedError, match="is not a memory"):
        first.sync(Accept.OTHER_PROJECT)


def test_a_newer_format_is_not_touched(pair):
    first, second = pair
    text = first.read("FORMAT.md")
    first.write("FORMAT.md", text.replace("version: 2", "version: 3"))
    first.git("commit", "-qam", "Upgrade")
    first.git("push", "-q", "origin", "gitmem")
    second.save("one")
    tip = second.tip
    with pytest.raises(StoreFormatError, match="has format version 3") as caught:
        second.sync()
    assert caught.value.exit_code == ExitCode.STORE_FORMAT
    assert second.tip == tip
    second.sound()


HOSTILE = {
    "a link": ("120000", "knowledge/link.md", "a link or a submodule"),
    "a link for a folder": ("120000", "facts", "a link or a submodule"),
    "a submodule": ("160000", "module", "a link or a submodule"),
    "git's folder in other letters": ("100644", "x/.GIT/config", "finds it unsafe"),
    "git's folder as Windows names it": ("100644", "git~1", "finds it unsafe"),
}


@pytest.mark.parametrize("what", HOSTILE)
@pytest.mark.few(2)
def test_what_could_leave_the_store_is_refused(pair, remote, bare_git, what):
    _, second = pair
    mode, path, why = HOSTILE[what]
    blob = bare_git(remote, "hash-object", "-w", "--stdin", stdin=b"/etc/passwd")
    oid = bare_git(remote, "rev-parse", "gitmem") if mode == "160000" else blob
    tree = _planted(remote, bare_git, path, mode, oid)
    commit = bare_git(remote, "commit-tree", "-p", "gitmem", "-m", "Harmless", tree)
    bare_git(remote, "update-ref", "refs/heads/gitmem", commit)
    tip = second.tip
    with pytest.raises(RefusedError, match=why):
        second.sync()
    assert second.tip == tip
    second.sound()


def _planted(remote: Path, bare_git: RunsGit, path: str, mode: str, oid: str) -> str:
    """Return the remote's tree with one more entry that no git would add to an index."""
    *folders, name = path.split("/")
    kind = "commit" if mode == "160000" else "blob"
    entry = f"{mode} {kind} {oid}\t{name}"
    for folder in reversed(folders):
        entry = f"040000 tree {bare_git(remote, 'mktree', '--missing', stdin=entry.encode())}\t{folder}"
    listed = bare_git(remote, "ls-tree", "gitmem")
    return bare_git(remote, "mktree", "--missing", stdin=f"{listed}\n{entry}\n".encode())


@pytest.mark.parametrize("folder", [b"knowledge", b"purged"])
@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.few(2)
def test_a_tree_without_end_is_not_looked_through(pair, remote, folder, hidden):
    first, _ = pair
    objects = Objects(remote)
    own = {(b"FORMAT.md",): (b"100644", objects.write("blob", b"---\nversion: 2\n---\n"))}
    bomb = objects.tree({**own, (folder,): (b"40000", objects.endless(10, 10))})
    commit = objects.commit(bomb, [first.tip], Said())
    if hidden:  # in the middle of history
        commit = objects.commit(objects.tree(own), [commit], Said())
    objects.point("refs/heads/gitmem", commit)
    with pytest.raises(RefusedError, match=r"a commit with 10,000,000,00. files"):
        first.sync()
    first.save("and on")
    assert not first.git("for-each-ref", "refs/gitmem/fetched")
    first.sound()


@pytest.mark.parametrize("kind", ["blob", "tree", "tag"])
def test_a_branch_that_is_no_commit_is_refused(pair, remote, kind):
    first, _ = pair
    objects = Objects(remote)
    blob = objects.write("blob", b"x")
    made = {"blob": blob, "tree": objects.tree({(b"x",): (b"100644", blob)}), "tag": objects.tag(first.tip, "commit")}
    objects.point("refs/heads/gitmem", made[kind])
    with pytest.raises(RefusedError, match="something else than commits"):
        first.sync()
    first.sound()


def test_more_than_comes_at_once_is_refused(pair, monkeypatch):
    """One large blob under many names takes no room on the remote, and all the room there is here."""
    first, second = pair
    for number in range(3):
        second.write(f"knowledge/{number}.md", "x" * 4_000)
    second.sync()
    monkeypatch.setattr(incoming, "MOST_BYTES", 10_000)
    with pytest.raises(RefusedError, match="more than one sync takes"):
        first.sync()
    first.sound()


@pytest.mark.slow
def test_a_file_that_is_too_large_is_refused_though_a_later_commit_removes_it(pair, remote, bare_git):
    """A gigabyte of zeros is a megabyte on the way; a purge or doctor would read it whole."""
    _, second = pair
    blob = bare_git(remote, "hash-object", "-w", "--stdin", stdin=bytes(MAX_FILE_BYTES + 1)).strip()
    listed = bare_git(remote, "ls-tree", "gitmem")
    large = bare_git(remote, "mktree", stdin=f"{listed}\n100644 blob {blob}\ta.md\n".encode()).strip()
    tip = "gitmem"
    for tree in (large, "gitmem^{tree}"):
        tip = bare_git(remote, "commit-tree", "-p", tip, "-m", "Harmless", tree).strip()
    bare_git(remote, "update-ref", "refs/heads/gitmem", tip)
    with pytest.raises(RefusedError, match="a file of more than"):
        second.sync()


UNUSABLE = {
    "gitmem's temporary files": (".tmp/x", "its own temporary files"),
    "a control character": ("a\x1b[31m.md", "control characters"),
    "a file for a folder of gitmem's": ("episodes", "gitmem needs for its own"),
    "a folder of gitmem's in other letters": ("Episodes/x.md", "gitmem needs for its own"),
    "the memory in other letters": ("Memory.md", "gitmem needs for its own"),
    "the settings in other letters": ("CONFIG.yaml", "gitmem needs for its own"),
}


@pytest.mark.long
@pytest.mark.few(1)
@pytest.mark.parametrize("what", UNUSABLE)
def test_of_a_remote_with_a_name_that_no_store_can_have_the_rest_is_taken(pair, remote, bare_git, what):
    first, second = pair
    first.save("what the first machine saved")
    first.sync()
    path, words = UNUSABLE[what]
    tree = _planted(remote, bare_git, path, "100644", bare_git(remote, "hash-object", "-w", "--stdin", stdin=b"x"))
    commit = bare_git(remote, "commit-tree", "-p", "gitmem", "-m", "Harmless", tree)
    bare_git(remote, "update-ref", "refs/heads/gitmem", commit)
    second.save("what the second machine saved")
    done = second.sync()
    assert any(words in notice and commit[:10] in notice for notice in done.notices)
    assert "what the first machine saved" in second.read("memory.md")
    first.sync()
    assert first.tip == second.tip == bare_git(remote, "rev-parse", "gitmem")
    assert path not in first.git("ls-tree", "-rz", "--name-only", "HEAD")
    assert second.sync().notices == ()
    second.sound()


def test_names_that_one_file_system_takes_for_one_become_one(pair, remote, bare_git):
    _, second = pair
    blob = bare_git(remote, "hash-object", "-w", "--stdin", stdin=b"x")
    listed = bare_git(remote, "ls-tree", "gitmem")
    more = f"100644 blob {blob}\ta.md\n100644 blob {blob}\tA.md\n"
    tree = bare_git(remote, "mktree", stdin=f"{listed}\n{more}".encode())
    commit = bare_git(remote, "commit-tree", "-p", "gitmem", "-m", "Harmless", tree)
    bare_git(remote, "update-ref", "refs/heads/gitmem", commit)
    assert any("on some file systems is the same as" in notice for notice in second.sync().notices)
    assert ((second.root / "A.md").read_text(), (second.root / "a.md").exists()) == ("x", False)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "here, there",
    [
        ("notes/Topic.md", "notes/topic.md"),
        ("notes/Topic.md", "Notes/other.md"),
        ("notes/topic/x.md", "notes/Topic"),
        ("notes/Topic.md", "notes/Topic.md/x.md"),
    ],
)
def test_new_names_that_one_file_system_takes_for_one_are_told_apart(pair, here, there):
    first, second = pair
    first.write(here, "# Mine\n")
    first.sync()
    second.write(there, "# Theirs\n")
    second.sync()
    first.sync()
    assert first.tip == second.tip
    paths = first.git("ls-files").splitlines()
    said = "".join(first.read(path) for path in paths)
    assert (said.count("# Mine"), said.count("# Theirs")) == (1, 1)
    names = {"/".join(path.split("/")[:depth]) for path in paths for depth in range(1, path.count("/") + 2)}
    assert len({name.casefold() for name in names}) == len(names)


def test_what_a_user_pulls_and_pushes_with_git_is_fine(pair):
    first, second = pair
    first.save("one")
    first.git("push", "-q")
    second.save("two")
    second.git("fetch", "-q")
    assert "behind 1" in second.git("status", "-sb")
    second.sync()
    assert second.git("status", "-sb") == "## gitmem...origin/gitmem"
    first.git("pull", "-q")
    converge(*pair)


def test_histories_that_crossed_are_merged_once(pair, bare_git, tmp_path):
    """Two machines merge each other's commits and go on, each with a remote of its own; then they meet."""
    first, second = pair
    own = {}
    for each in pair:
        each.write(f"knowledge/{each.name}.md", f"# {each.name}\n")
        own[each.name] = tmp_path / f"own of {each.name}.git"
        transact(each.store, lambda _: None, purpose="test", scan=True)
        bare_git(tmp_path, "clone", "-q", "--bare", str(each.root), str(own[each.name]))
    for each, other in (pair, pair[::-1]):
        each.git("fetch", "-q", str(own[other.name]), "gitmem")
        # As a user's git does it: another commit on each side, of the same two parents.
        each.git("merge", "-q", "--no-ff", "-m", f"By {each.name}", "FETCH_HEAD")
        each.save(f"again of {each.name}")
    for each in pair:
        each.sync()
    for each in pair:
        each.sync()
    assert first.tip == second.tip
    assert first.ids | second.ids <= set(first.entries())


def test_a_crash_before_the_commits_of_a_user_elsewhere_are_in_the_files_takes_nothing_back(pair, crashing):
    """What another machine committed as an edit by hand is not in this work tree, though the branch has it."""
    first, second = pair
    first.write("memory.md", first.read("memory.md") + "\nBy hand, elsewhere.\n")
    first.sync()
    with crashing("no file is written"):
        second.sync()
    second.reopen()
    converge(*pair)
    assert "By hand, elsewhere." in second.read("memory.md")


def test_passwords_in_urls_are_not_said(machine):
    first = machine("laptop", url="http://ada:s3cr3t-pass@127.0.0.1:9/x.git?token=abc123")
    remote = find_remote(first.store, None)
    assert "s3cr3t" not in remote.shown
    assert "abc123" not in remote.shown
    with pytest.raises(UnreachableError) as caught:
        first.sync()
    assert "s3cr3t" not in f"{caught.value} {caught.value.remedy} {caught.value.__cause__} {caught.value.__cause__!r}"
    assert "abc123" not in f"{caught.value} {caught.value.remedy} {caught.value.__cause__}"


@pytest.mark.parametrize("url", ["ext::sh -c 'touch /tmp/x'", "--upload-pack=x", "fd::17", "foo://x", "", "a\nb"])
def test_what_is_no_url_is_refused(pair, url):
    with pytest.raises(RefusedError):
        add_remote(pair[0].store, "other", url)
