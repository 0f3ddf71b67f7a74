"""The memory of another project, at an address that was mistaken, is merged only if that is meant."""

import hashlib
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from gitmem.archive.clear import clear
from gitmem.archive.rotate import check, consolidate_due
from gitmem.document.ids import make_id
from gitmem.errors import ExitCode, RefusedError
from gitmem.history.undo import undo
from gitmem.platform.machine import Context
from gitmem.purge.purge import plan_purge, purge
from gitmem.store.init import Place, init_store
from gitmem.store.remotes import add_remote
from gitmem.store.transcripts import REF, put, read, tips
from gitmem.sync.guard import Accept
from gitmem.sync.transcripts import REMOTE_REF
from tests.conftest import RunsGit
from tests.world import NOON, Machine, converge, make_pair


@pytest.fixture
def stranger(tmp_path: Path, context: Context, bare_git: RunsGit, remote: Path) -> Machine:
    """A store of another project, made in the same second by the same user, with this project's remote."""
    root = tmp_path / "stranger"
    root.mkdir()
    made = init_store(str(root), context._replace(clock=lambda: NOON), Place.PROJECT).store
    add_remote(made, "origin", str(remote))
    return Machine(Path(made.root), "stranger", context)


def test_another_projects_memory_is_not_merged_unasked(machine, stranger, remote, bare_git):
    first = machine("laptop")
    first.save("of the first")
    first.sync()
    before, refs = stranger.tip, bare_git(remote, "for-each-ref")
    with pytest.raises(RefusedError, match="another project's") as caught:
        stranger.sync()
    assert caught.value.exit_code == ExitCode.REFUSED
    assert "--accept other-project" in caught.value.remedy
    assert (stranger.tip, bare_git(remote, "for-each-ref")) == (before, refs)
    stranger.save("of the stranger")
    stranger.sync(Accept.OTHER_PROJECT)
    sync_all(first, stranger, first, stranger)  # nobody is asked again
    assert first.tip == stranger.tip
    assert sorted(first.entries()) == sorted(first.ids | stranger.ids)


def test_a_purge_of_another_project_is_not_followed(machine, stranger):
    first = machine("laptop")
    first.save("the fish is swordfish-1234-blue")
    first.sync()
    purge(first.store, plan_purge(first.store, "swordfish-1234-blue"))
    first.sync()
    stranger.save("the fish is swordfish-1234-blue")
    with pytest.raises(RefusedError, match="another project's"):
        stranger.sync()
    assert "swordfish-1234-blue" in stranger.read("memory.md")


def test_a_store_without_a_commit_of_its_own_takes_any_memory(machine, stranger):
    first = machine("laptop")
    first.save("one")
    first.sync()
    stranger.git("update-ref", "HEAD", stranger.git("rev-list", "--max-parents=0", "HEAD"))
    stranger.git("reset", "-q", "--hard")
    assert stranger.sync().commit == first.tip


OPS = ("consolidate", "retain", "clear", "undo", "rotate", "migrate", "")
PROMPT, DECISION = "User Prompt", "Decision"


def entry(day: int, number: int, label: str, text: str) -> str:
    moment = NOON - timedelta(days=day, minutes=number)
    identifier = make_id(int(moment.timestamp() * 1000), hashlib.sha256(f"{day} {number}".encode()).digest())
    return f"- [{moment:%H:%M:%S}] **{label}**: {text} ^{identifier}\n"


def write_day(each: Machine, day: int) -> str:
    """Write the log of a day so long ago, with what only it says; returns its path."""
    date = f"{NOON - timedelta(days=day):%Y-%m-%d}"
    path = f"daily/{date[:4]}/{date[5:7]}/{date}.md"
    head = f"---\nid: day-{date}\nkind: daily\ncreated: {date}T00:00:00Z\ndate: {date}\n---\n# {date}\n\n"
    asked = [entry(day, one, PROMPT, f"On day {day}, please look at part {one} of the build.") for one in range(4)]
    decided = entry(day, 9, DECISION, f"On day {day} we decided for uv, number {day}.")
    hand = f"By hand on day {day}: the build machine was moved.\n"
    each.write(path, f"{head}## Timeline\n\n{''.join(asked)}\n## Decision\n\n{decided}\n## Notes\n\n{hand}")
    return path


EVE = ("-c", "user.name=Eve", "-c", "user.email=eve@example.org")


def commit(each: Machine, op: str = "", *, push: bool = True) -> None:
    """Commit all as somebody else with git, perhaps an attacker, and say that it is something else."""
    each.git("add", "-A")
    each.git(*EVE, "commit", "-q", "-m", f"Tidy\n\nGitmem-Op: {op}\n" if op else "Tidy")
    if push:
        each.git("push", "-q", "origin", "HEAD:gitmem")


def sync_all(*machines: Machine) -> None:
    for each in machines:
        each.sync()


def make_days(machine: Callable[[str], Machine]) -> tuple[Machine, Machine]:
    first, second = make_pair(machine)
    for day in range(10, 24):
        write_day(first, day)
    sync_all(first, second)
    return first, second


@pytest.fixture
def days(made_once: Callable[..., tuple[Machine, Machine]]) -> tuple[Machine, Machine]:
    """Two machines that hold the logs of some days."""
    return made_once(make_days, "laptop", "desktop")


def refused(each: Machine, match: str = "would remove much of this memory") -> None:
    """Check that a sync is refused, and touches nothing."""
    tip = each.tip
    with pytest.raises(RefusedError, match=match):
        each.sync()
    assert each.tip == tip
    each.sound()


@pytest.mark.parametrize("op", OPS)
@pytest.mark.few(1)
def test_days_that_go_nowhere_are_not_removed_unasked(days, op):
    eve, victim = days
    eve.git("rm", "-q", "-r", "daily")
    commit(eve, op)
    refused(victim)
    victim.sync(Accept.DELETIONS)
    assert not (victim.root / "daily").exists()


def test_a_consolidation_elsewhere_passes(days):
    first, second = days
    done = consolidate_due(first.store)
    assert len(done.done) >= 2
    sync_all(first, second)
    assert first.tip == second.tip
    assert not (second.root / "daily").exists()
    for commit_ in reversed([one.commit for one in done.done]):
        undo(first.store, revision=commit_)
    sync_all(first, second)
    assert (second.root / "daily").exists(), "and so does its undo"
    assert first.tip == second.tip


def test_a_consolidation_to_months_passes(pair):
    first, second = pair
    for day in range(60, 80):
        write_day(first, day)
    sync_all(first, second)
    consolidate_due(first.store)
    consolidate_due(first.store)
    assert (first.root / "monthly").exists()
    sync_all(first, second)
    assert first.tip == second.tip


@pytest.mark.few(1)
@pytest.mark.parametrize("what", ["no decisions", "nothing by hand", "no sentences", "other decisions"])
def test_a_week_that_does_not_hold_what_its_days_held_is_no_consolidation(days, what):
    eve, victim = days
    consolidate_due(eve.store)
    for path in (eve.root / "weekly").rglob("*.md"):
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        spoiled = {
            "no decisions": [line for line in lines if "**Decision**" not in line],
            "nothing by hand": [line for line in lines if "By hand on" not in line],
            "no sentences": [line for line in lines if not line.startswith("- ") or "**" in line],
            "other decisions": [line.replace("we decided for uv", "nobody minds what") for line in lines],
        }[what]
        assert spoiled != lines
        path.write_text("".join(spoiled), encoding="utf-8")
    commit(eve, "consolidate")
    refused(victim)


def test_what_is_not_over_is_not_consolidated(pair):
    eve, victim = pair
    victim.now = NOON - timedelta(days=10)
    for day in range(10, 14):
        write_day(eve, day)
    sync_all(eve, victim)
    consolidate_due(eve.store)
    eve.sync()
    path = "daily/2026/11/2026-11-11.md"
    assert (victim.root / path).exists()
    victim.now = NOON
    victim.sync()
    assert not (victim.root / path).exists()


def test_a_small_memory_is_not_emptied(pair):
    eve, victim = pair
    for number in range(3):
        victim.save(f"number {number} of the few things that are known")
    converge(*pair)
    for path in ("daily", "memory.md"):
        eve.git("rm", "-q", "-r", path)
    commit(eve)
    refused(victim)


FACT = (
    "---\nname: n{0}\ndescription: d\nid: d000000000{0}\nkind: decision\nstatus: active\n---\nUse tool {0} for this.\n"
)


@pytest.mark.parametrize("how", ["removed", "emptied", "replaced", "retired", "folder", "truncated"])
@pytest.mark.few(1)
def test_facts_do_not_go_though_they_are_little_among_much(pair, how):
    eve, victim = pair
    victim.write("knowledge/much.md", "".join(f"Line {number} of much that is known.\n" for number in range(3000)))
    paths = [f"facts/decision/d000000000{number}-n.md" for number in range(5)]
    for number, path in enumerate(paths):
        victim.write(path, FACT.format(number))
    sync_all(victim, eve)
    for path in paths:
        text = eve.read(path)
        head, _, body = text.rpartition("---\n")
        new = {
            "emptied": f"{head}---\n",
            "replaced": f"{head}---\nNothing is known of this one here.\n",
            "retired": text.replace("active", "retired"),
            "truncated": f"{head}---\n{body[:8]}\n",
        }.get(how, "")
        (eve.root / path).write_text(new) if new else (eve.root / path).unlink()
    if how == "folder":
        shutil.rmtree(eve.root / "facts")
        eve.write("facts", "a file in the way\n")
    commit(eve)
    refused(victim, match="would remove much of this memory")


def test_memory_that_is_replaced_in_place_is_noticed(pair):
    eve, victim = pair
    for number in range(8):
        victim.save(f"number {number} of the things that are known, each in some words")
    converge(*pair)
    for path in [eve.root / "memory.md", *(eve.root / "daily").rglob("*.md")]:
        path.write_text(path.read_text().replace("number", "nothing").replace("things", "stuff"))
    commit(eve)
    refused(victim)


def test_renamed_and_rotated_is_not_lost(days):
    first, second = days
    for number in range(15):
        first.save(" and ".join([f"number {number} of the things that are known, each in some words, in more"] * 4))
    first.write("knowledge/a.md", "".join(f"Line {number}.\n" for number in range(100)))
    sync_all(first, second, first, second)
    first.git("mv", "knowledge/a.md", "knowledge/b.md")
    commit(first, push=False)
    first.configure("rotation:\n  threshold_tokens: 400\n  carryover_tokens: 100\n")
    assert check(first.store)[0].archive
    sync_all(first, second)
    assert first.tip == second.tip
    assert list((second.root / "archive").iterdir())


def test_archives_go_as_the_settings_here_have_it_too(pair):
    first, second = pair
    for number in range(5):
        text = "".join(f"Line {line} of archive {number}.\n" for line in range(50))
        first.write(f"archive/memory_2026110{number + 1}_120000.md", text)
    sync_all(first, second)
    for path in sorted((first.root / "archive").iterdir())[:4]:
        path.unlink()
    commit(first, "retain")
    refused(second)
    second.configure("rotation:\n  max_archives: 1\n")
    second.sync()
    assert len(list((second.root / "archive").iterdir())) == 1


@pytest.mark.slow
@pytest.mark.parametrize("is_user", [True, False])
def test_what_is_cleared_elsewhere_is_asked_about_unless_the_user_cleared_it(days, is_user):
    first, second = days
    if not is_user:
        first.git("config", "user.email", "eve@example.org")
        first.reopen()
    assert clear(first.store, days=12).files
    first.sync()
    if not is_user:
        refused(second)
        second.sync(Accept.DELETIONS)
    sync_all(first, second, first, second)
    assert not (second.root / "daily/2026/11/2026-11-01.md").exists()


def test_what_a_program_emptied_is_asked_about_though_the_user_committed_it(days):
    first, second = days
    for path in (first.root / "daily").rglob("*.md"):
        path.write_text("", encoding="utf-8")
    first.sync()  # commits it as an edit by hand
    refused(second)


def test_an_undone_save_passes(pair):
    first, second = pair
    first.save("kept, of the laptop")
    first.save("said in error")
    converge(*pair)
    undo(first.store)
    sync_all(first, second)
    assert "said in error" not in second.read("memory.md")


def test_transcripts_are_not_emptied_unasked(pair):
    eve, victim = pair
    for number in range(3):
        put(victim.store, f"session-{number}", NOON, [f'{{"text": "line {line}"}}' for line in range(9)])
    victim.sync_transcripts()
    eve.sync_transcripts()
    tree = eve.git("mktree", stdin=b"")
    emptied = eve.git("commit-tree", tree, "-p", *tips(eve.store), "-m", "Gitmem-Op: transcript")
    eve.git("push", "-q", "origin", f"{emptied}:{next(iter(tips(eve.store))).replace(REF + '/', REMOTE_REF + '-')}")
    with pytest.raises(RefusedError, match="would remove much"):
        victim.sync_transcripts()
    assert read(victim.store, "session-1")
    victim.sync_transcripts(Accept.DELETIONS)
    assert read(victim.store, "session-1") is None


@pytest.mark.slow
def test_the_record_of_a_purge_is_not_removed_unasked(days):
    from tests.store.purges import purge

    first, second = days
    first.save("The key is tok_swordfish-4242/Q7, says Ada.")
    sync_all(first, second, first, second)
    purge(first.store, "tok_swordfish-4242/Q7")
    sync_all(first, second, first, second)
    first.git("rm", "-q", "-r", "purged")
    commit(first)
    refused(second, "the record of a purge")


def with_notes(machine: Callable[[str], Machine], count: int) -> tuple[Machine, Machine, list[Path]]:
    """Return two machines with so many notes, and the files of the second."""
    first, second = make_pair(machine)
    for number in range(count):
        first.write(
            f"knowledge/{number}.md", f"# Note {number}\n\nWhat is said in note {number}, and nowhere else.\n" * 3
        )
    sync_all(first, second)
    return first, second, sorted((second.root / "knowledge").iterdir())


@pytest.mark.slow
def test_small_losses_of_several_syncs_add_up(machine):
    """Ten of thirty percent left three of eighty files."""
    first, second, files = with_notes(machine, 80)
    for path in files[:24]:
        path.unlink()
    commit(second)
    first.sync()
    for path in files[24:41]:
        path.unlink()
    commit(second)
    refused(first, "with what 1 sync of the last 30 days removed: together")
    assert len(list((first.root / "knowledge").iterdir())) == 56
    first.sync(Accept.DELETIONS)
    assert len(list((first.root / "knowledge").iterdir())) == 39
    files[41].unlink()
    commit(second)
    first.sync()


@pytest.mark.slow
def test_losses_of_long_ago_do_not_count(machine):
    first, second, files = with_notes(machine, 20)
    for start in range(0, 12, 4):
        for path in files[start : start + 4]:
            path.unlink()
        commit(second)
        first.sync()
        first.now += timedelta(days=31)


@pytest.mark.slow
@pytest.mark.parametrize("lines", [1, 2])
def test_a_memory_of_a_line_is_not_emptied_unasked(machine, lines):
    first, second = make_pair(machine)
    first.write("knowledge/a.md", "# A\n\n" + "".join(f"Line {number}.\n\n" for number in range(lines)))
    sync_all(first, second)
    for name in ("knowledge", "daily", "facts"):
        shutil.rmtree(second.root / name, ignore_errors=True)
    memory = second.root / "memory.md"
    memory.write_text("".join(line for line in memory.read_text().splitlines(keepends=True) if "**" not in line))
    commit(second)
    refused(first)


@pytest.mark.slow
def test_losses_of_a_few_bytes_a_sync_add_up(machine):
    first, second = make_pair(machine)
    lines = "".join(f"Line {line} of the only note.\n" for line in range(90))
    first.write("knowledge/a.md", f"# Note\n\n{lines}")
    sync_all(first, second)
    path = second.root / "knowledge" / "a.md"
    for _ in range(4):  # less than 512 bytes each, and less than half of the file
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:-11]))
        commit(second)
        if path.read_text().count("Line") > 60:
            first.sync()
    refused(first, "syncs of the last 30 days removed")
    first.sync(Accept.DELETIONS)


@pytest.mark.slow
def test_small_trims_of_many_documents_add_up(machine):
    first, second = make_pair(machine)
    for number in range(12):
        lines = "".join(f"Line {line} of note {number}, and of no other.\n" for line in range(20))
        first.write(f"knowledge/{number}.md", f"# Note {number}\n\n{lines}")
    sync_all(first, second)

    def trim(count: int, *, instead: str = "") -> None:
        for path in (second.root / "knowledge").iterdir():
            kept = path.read_text().splitlines(keepends=True)[:-count]
            path.write_text("".join(kept) + (f"{path.name} {instead}" * count if instead else ""))
        commit(second)

    trim(5)
    first.sync()
    trim(4)
    refused(first, "with what 1 sync of the last 30 days removed: together")
    first.sync(Accept.DELETIONS)
    for word in "ab":
        trim(3, instead=f"holds another line for this {word}.\n")
        first.sync()
