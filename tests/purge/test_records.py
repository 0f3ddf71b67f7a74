"""Records of purges from elsewhere: what they may do unasked, what waits, and what stops nothing (docs/sync.md)."""

import contextlib
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from gitmem.errors import NotFoundError, RefusedError
from gitmem.health.doctor import CHECKS, check_purges
from gitmem.purge.erased import author_key
from gitmem.purge.purge import answer_purge, preview_purge, waiting_purges
from gitmem.purge.record import Fingerprint, PurgeRecord, make_record, sums_of
from gitmem.purge.records import read_state
from gitmem.store.findings import Level, examine
from gitmem.store.init import Place
from gitmem.sync.clone import clone_store
from gitmem.sync.fetch import Options
from gitmem.sync.guard import Accept
from tests.own_settings import own_settings
from tests.store.purges import SECRET, clean, files_with, purge
from tests.world import Machine, converge, make_pair

NOW = "2026-11-21T12:00:00+00:00"
SALT = b"0123456789abcdef"
BUILD = "knowledge/build.md"


def plant(each: Machine, *texts: str, number: int = 0, data: bytes | None = None, name: str = "") -> str:
    """Have a machine push the record of a purge that it does not carry out itself; returns the record's path.

    It is, or calls itself, one that the user listed: its purges are limited, too.
    """
    identifier = f"20261121-120000-{number:06x}"
    record = make_record(identifier, NOW, SALT, [text.encode() for text in texts])
    path = name or f"purged/{identifier}.json"
    (each.root / path).parent.mkdir(parents=True, exist_ok=True)
    (each.root / path).write_bytes(record.render() if data is None else data)
    each.git("add", "-A")
    message = f"Nothing to see\n\nGitmem-Machine: {each.name}"
    each.git("commit", "-q", "--author=gitmem <gitmem@localhost>", "-m", message)
    each.git("push", "-q", "origin", "HEAD:gitmem")
    return path


def put_record(each: Machine, number: int, texts: Sequence[bytes] = (), whose: Sequence[bytes] = ()) -> None:
    """Write a record whose sums are those of these texts and keys, and whose digests nothing has."""
    fingerprints, keys = (
        tuple(Fingerprint(len(text), sums_of(text), b"x" * 32) for text in found) for found in (texts, whose)
    )
    name = f"20261121-120000-{number:06x}"
    record = PurgeRecord(name, NOW, SALT[:-2] + number.to_bytes(2, "big"), fingerprints, keys)
    each.write(f"purged/{name}.json", record.render().decode())


def make_rich(machine: Callable[[str], Machine]) -> tuple[Machine, Machine]:
    first, second = make_pair(machine)
    for number in range(6):
        first.save(f"Decision {number}: the build runs in container {number}, since it is the same everywhere then.")
    first.write(BUILD, "# Build\n\n" + "".join(f"Step {number} of the build.\n" for number in range(80)))
    converge(first, second)
    return first, second


@pytest.fixture
def rich(made_once: Callable[..., tuple[Machine, Machine]]) -> tuple[Machine, Machine]:
    """Two machines with a memory of some size."""
    return made_once(make_rich, "laptop", "desktop")


@pytest.mark.parametrize(
    "texts",
    [
        ("memory.md", "Gitmem-Op", "gitmem@localhost", "## Recent Context"),
        ("2026-11-21", "kind: memory", "desktop", "# Build"),
        ("knowledge", "**Note**", "ada@example.org"),
    ],
)
@pytest.mark.few(1)
def test_what_gitmem_goes_by_is_not_purged_unasked(rich: tuple[Machine, Machine], texts: tuple[str, ...]):
    eve, victim = rich
    paths = [plant(eve, text, number=number) for number, text in enumerate(texts)]
    old = victim.tip
    done = victim.sync()
    assert victim.store.repository.is_ancestor(old, victim.tip), "no commit has another id"
    assert [one.path for one in waiting_purges(victim.store)] == paths
    assert [path for path in paths if not any(path in notice for notice in done.notices)] == []
    own = victim.save("goes on as before").id
    assert victim.sync().notices == (), "it is asked once"
    assert own in victim.entries()
    victim.sound()


def test_text_that_stands_only_in_history_does_not_vanish_unasked(rich: tuple[Machine, Machine]):
    eve, victim = rich
    words = [f"Lesson {number} {'that was learned the hard way and written down. ' * 12}.\n" for number in range(9)]
    victim.write("knowledge/old.md", "".join(words))
    converge(*rich)
    (victim.root / "knowledge" / "old.md").unlink()
    victim.sync()
    eve.sync(Accept.DELETIONS)
    plant(eve, *(word.strip() for word in words))
    victim.sync()
    assert len(waiting_purges(victim.store)) == 1
    assert words[5] in victim.git("log", "-p", "--format=")


@pytest.mark.slow
def test_much_does_not_go_bit_by_bit(rich: tuple[Machine, Machine]):
    eve, victim = rich
    words = [f"Lesson {number:02} " + "that was learned the hard way. " * 20 for number in range(60)]
    victim.write("knowledge/lessons.md", "\n".join(words))
    converge(*rich)
    for number in range(9):
        plant(eve, words[number], number=number)
        victim.sync()
        eve.git("fetch", "-q", "origin")
        eve.git("reset", "-q", "--hard", "origin/gitmem")
    left = victim.read("knowledge/lessons.md")
    assert sum(word.strip() in left for word in words) >= 60 - 6
    assert waiting_purges(victim.store)


def test_a_record_that_waited_for_its_text_is_judged_when_it_comes(rich: tuple[Machine, Machine]):
    eve, victim = rich
    plant(eve, "the release of the spring")
    victim.sync()
    assert waiting_purges(victim.store) == []
    for number in range(60):
        victim.write(f"knowledge/plan{number}.md", f"# Plan {number}\n\nFor the release of the spring.\n")
    victim.sync()
    assert "the release of the spring" in victim.read("knowledge/plan3.md")
    assert len(waiting_purges(victim.store)) == 1


@pytest.mark.slow
def test_a_record_that_sees_to_the_rest_is_not_held_up_by_one_that_waits(rich: tuple[Machine, Machine]):
    eve, victim = rich
    victim.save(f"The key is {SECRET}.")
    converge(*rich)
    plant(eve, "Gitmem-Op")
    victim.sync()
    eve.git("rm", "-q", "-r", "purged")
    eve.git("commit", "-q", "-m", "x")
    purge(eve.store, SECRET)
    eve.sync()
    victim.sync()
    clean(victim)


def test_what_is_no_record_is_named_and_stops_nothing(rich: tuple[Machine, Machine], remote: Path, tmp_path: Path):
    eve, victim = rich
    other = make_record("20261121-120000-ffffff", NOW, SALT, [b"Gitmem-Op"]).render()
    contents = [b"\xff{", b" " * 300_000, b"[" * 100_000, other]
    paths = {plant(eve, data=data, number=number) for number, data in enumerate(contents)}
    paths.add(plant(eve, "x" * 9, name="purged/README.md"))
    done = victim.sync()
    assert {path for path in paths if any(path in notice for notice in done.notices)} == paths
    warnings = [one for one in examine(victim.store, CHECKS) if one.level is Level.WARNING]
    assert {path for path in paths if any(path in one.details for one in warnings)} == paths
    victim.save("goes on")
    assert victim.sync().notices == ()
    victim.sound()
    (tmp_path / "fresh").mkdir()
    context = victim.context._replace(machine="fresh")
    store = clone_store(str(tmp_path / "fresh"), context, Place.PROJECT, str(remote), asks=False, options=Options())
    assert store.tip == victim.tip
    assert paths <= set(read_state(store.private).aside)


@pytest.mark.slow
def test_a_thousand_records_cost_few_digests(rich: tuple[Machine, Machine], monkeypatch: pytest.MonkeyPatch):
    eve, victim = rich
    memory = eve.read("memory.md").encode()
    for number in range(1000):
        put_record(eve, number, texts=[memory[number % 400 : number % 400 + 10 + number % 7]])
    path = plant(eve, "nothing of the kind", number=2000)
    digests: list[bytes] = []
    monkeypatch.setattr("gitmem.purge.record.digest_of", lambda text, _: digests.append(text) or b"")
    done = victim.sync()
    assert len(digests) < 400
    assert len(done.notices) < 10
    assert (victim.root / path).exists()
    digests.clear()
    victim.save("goes on")
    victim.sync()
    assert len(digests) < 100


@pytest.mark.slow
def test_many_records_of_an_author_cost_few_digests_and_processes(
    rich: tuple[Machine, Machine], monkeypatch: pytest.MonkeyPatch, git_starts: list[str]
):
    """Half of them are pushed under the user's own name, so that a signature is looked for."""
    eve, victim = rich
    for number in range(250):
        put_record(eve, number, whose=[author_key("gitmem@localhost")])  # whose saves these are
        if number % 125 == 124:
            eve.git("add", "-A")
            name = "x" if number < 125 else victim.store.identity().result().email
            eve.git("-c", f"user.email={name}", "commit", "-qm", "x")
    eve.git("push", "-q", "origin", "HEAD:gitmem")
    digests: list[bytes] = []
    git_starts.clear()
    for module in ("gitmem.purge.record", "gitmem.purge.erased"):
        monkeypatch.setattr(f"{module}.digest_of", lambda text, _: digests.append(text) or b"")
    done = victim.sync()
    assert len(digests) < 100
    assert len(git_starts) < 50
    assert len(done.notices) < 10
    digests.clear()
    victim.save("goes on")
    victim.sync()
    assert len(digests) < 25


def test_a_purge_that_was_refused_is_not_asked_about_again(rich: tuple[Machine, Machine]):
    eve, victim = rich
    path = plant(eve, "of the build")
    victim.sync()
    answer_purge(victim.store, path, yes=False)
    victim.save("more")
    assert victim.sync().notices == ()
    assert waiting_purges(victim.store) == []
    assert "of the build" in victim.read(BUILD)
    victim.sync(Accept.PURGE)
    assert "of the build" in victim.read(BUILD), "what was refused once is not accepted with all others"
    assert (victim.root / path).exists(), "the record stays for other machines"


@pytest.mark.slow
def test_a_purge_that_was_refused_is_accepted_later_by_the_command_that_the_sync_names(rich: tuple[Machine, Machine]):
    eve, victim = rich
    path = plant(eve, "of the build")
    victim.sync()
    answer_purge(victim.store, path, yes=False)
    victim.save("goes on")
    eve.sync()
    answer_purge(eve.store, path, yes=True)
    eve.sync()
    with pytest.raises(RefusedError) as refused:
        victim.sync()
    assert f"'gitmem review {path} --take theirs', then 'gitmem sync'" in refused.value.remedy
    assert files_with(victim.root, "of the build")
    assert preview_purge(victim.store, path).why == "you refused it on this machine"
    answer_purge(victim.store, path, yes=True)
    converge(eve, victim)
    for one in rich:
        assert files_with(one.root, "of the build") == []
        assert "goes on" in one.read("memory.md")
        one.sound()
    with pytest.raises(NotFoundError):
        preview_purge(victim.store, path)


def test_records_of_the_transcripts_branch_count_for_nothing(rich: tuple[Machine, Machine]):
    eve, victim = rich
    from gitmem.sync.transcripts import REMOTE_REF

    record = make_record("20261121-120000-000000", NOW, SALT, [b"in container 3"])
    blob = eve.git("hash-object", "-w", "--stdin", stdin=record.render())
    tree = eve.git("mktree", stdin=f"100644 blob {blob}\t20261121-120000-000000.json\n".encode())
    tree = eve.git("mktree", stdin=f"040000 tree {tree}\tpurged\n".encode())
    commit = eve.git("-c", "user.name=E", "-c", "user.email=e@x.y", "commit-tree", tree, "-m", "x")
    eve.git("push", "-q", "origin", f"{commit}:{REMOTE_REF}-0123456789ab")
    with pytest.raises(RefusedError):
        victim.sync_transcripts()
    victim.sync()
    assert "in container 3" in victim.read("memory.md")


@pytest.mark.parametrize("how", ["not listed", "another author", "gitmem"])
@pytest.mark.few(1)
def test_a_purge_that_is_not_of_the_users_own_machine_asks(pair: tuple[Machine, Machine], how: str):
    first, second = pair
    first.save(f"Deploys use {SECRET} on the build machine, and nobody is to know that of us.")
    converge(*pair)
    if how == "another author":
        first.git("config", "user.name", "Mallory")
        first.git("config", "user.email", "mallory@example.org")
    elif how == "gitmem":  # which anybody may call themselves
        second.git("config", "user.name", "Ada")
        second.git("config", "user.email", "ada@example.org")
    else:
        own_settings(second.context, "purge:\n  machines: [desktop]\n")
    for each in pair:
        each.reopen()
    purge(first.store, SECRET)
    first.sync()
    with pytest.raises(RefusedError, match="has another history now, perhaps since another machine purged"):
        second.sync()
    [waiting] = waiting_purges(second.store)
    assert "which purge.machines does not list" in waiting.why
    assert SECRET in second.read("memory.md")
    answer_purge(second.store, waiting.path, yes=True)
    second.sync()
    clean(*pair)


@pytest.mark.parametrize("how", ["in a merge", "in place of another"])
@pytest.mark.few(1)
def test_a_purge_whose_commit_hides_asks(pair: tuple[Machine, Machine], how: str):
    """A record that no commit seems to have added, or that another one stood in before, is not the user's."""
    first, second = pair
    first.save("Deploys use the green button, and the red one is for an emergency of the whole team.")
    first.save(f"The key {SECRET} is nobody's.")
    converge(*pair)
    purge(first.store, SECRET)
    converge(*pair)
    [path] = [one.name for one in (first.root / "purged").glob("*.json")]
    name = path if how == "in place of another" else "20261121-120000-dddddd.json"
    record = make_record(name.removesuffix(".json"), NOW, SALT, [b"the green button"])
    (first.root / "purged" / name).write_bytes(record.render())
    first.git("add", "-A")
    tree = first.git("write-tree")
    parents = ["-p", "HEAD", *(("-p", "HEAD~1") if how == "in a merge" else ())]
    mallory = ("-c", "user.name=Mallory", "-c", "user.email=mallory@example.org")
    commit = first.git(*mallory, "commit-tree", tree, *parents, "-m", "Nothing to see")
    first.git("push", "-q", "origin", f"{commit}:gitmem")
    with contextlib.suppress(RefusedError):  # of a record that was changed
        second.sync()
    assert "the green button" in second.read("memory.md")


@pytest.mark.slow
def test_what_a_purge_of_ones_own_machine_removed_is_in_log_and_status(pair: tuple[Machine, Machine]):
    first, second = pair
    first.save(f"Deploys use {SECRET} on the build machine, and nobody is to know that of us.")
    converge(*pair)
    purge(first.store, SECRET)
    converge(*pair)
    clean(*pair)
    [note] = [one for one in check_purges(second.store) if one.level is Level.NOTE]
    assert re.search(r"bytes, in \d+ files of today \(purged/", note.details[0])
    assert not [one for one in check_purges(first.store) if one.level is Level.NOTE]
    for each in pair:
        assert re.search(r"^Purge 1 text from \d+ files$", each.git("log", "--format=%s"), re.MULTILINE)
