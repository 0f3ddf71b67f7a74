import json
import os
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitmem.errors import GitmemError
from gitmem.git.packing import known_files
from gitmem.health import doctor
from gitmem.health import document_checks as changed
from gitmem.health.doctor import CHECKS as QUICK
from gitmem.health.doctor import DEEP, FULL
from gitmem.health.document_checks import check_changed, check_conflicts, check_headers
from gitmem.health.status import StoreStatus, status_reader
from gitmem.platform.machine import Context
from gitmem.store.findings import SLOW, FailureLog, Level, LoggedFailure, examine
from gitmem.store.init import Place, init_store
from gitmem.store.store import MAX_PACKS
from gitmem.tell.usage_log import START, ShownText, record
from tests.copies import new_repository
from tests.own_settings import own_settings
from tests.world import World

SECRET = "ghp_" + "R4nd0mT0kenF0rTestsOnlyAbCdEfGhIjKlM"
posix = pytest.mark.skipif(sys.platform == "win32", reason="links and modes")


BEGAN = datetime.now(UTC)


def status_of(patient) -> StoreStatus:
    with status_reader(patient.store) as read_status:
        return read_status()


class Patient(World):
    """A store that something may be wrong with."""

    def examine(self, which=FULL):
        """Return what is not as it should be, by check; the tests' user has no name."""
        self.reopen()
        found = examine(self.store, which)
        return {
            finding.check: finding for finding in found if finding.level is not Level.OK and finding.check != "identity"
        }

    def only(self, check, level, which=FULL):
        found = self.examine(which)
        assert set(found) == {check}
        assert found[check].level is level
        assert found[check].message
        return found[check]


@pytest.fixture
def context(home, environ):
    return Context(environ, str(home), "host", lambda: datetime.now(UTC))


@pytest.fixture
def patient(tmp_path, context, bare_git, new_store):
    project = tmp_path / "project"
    project.mkdir()
    new_store(project, context, BEGAN)
    return Patient(project / ".gitmem", context).accept()


@pytest.fixture
def on_a_branch(tmp_path, context, bare_git):
    """A store on a branch of a project with a file of code."""
    new_repository(tmp_path, {"code.c": b"int main;"})
    return Patient(Path(init_store(str(tmp_path), context, Place.BRANCH).store.root), context).accept()


def test_a_healthy_store_has_nothing_wrong(patient):
    patient.save("one")
    found = examine(patient.store, DEEP)
    assert {finding.level for finding in found} == {Level.OK, Level.NOTE}
    assert {finding.check for finding in found if finding.level is Level.NOTE} == {"identity"}
    checked = {finding.check for finding in found}
    assert checked >= {"git", "python", "format", "branch", "objects", "lock", "access", "packing", "settings", "log"}
    assert checked >= {"headers", "conflicts", "secrets", "names", "waiting"}
    assert patient.git("status", "--porcelain") == ""


def test_a_healthy_store_on_a_branch_of_the_project_has_nothing_wrong(on_a_branch):
    on_a_branch.save("one")
    assert on_a_branch.examine(DEEP) == {}
    packing = next(finding for finding in examine(on_a_branch.store, FULL) if finding.check == "packing")
    assert "the project's" in packing.message


@pytest.mark.parametrize("which", [FULL, DEEP], ids=["full", "deep"])
def test_a_missing_object_is_a_problem(patient, which):
    patient.save("one")
    blob = patient.git("rev-parse", "HEAD:memory.md")
    patient.git("repack", "-adq")
    packs = list((patient.root / ".git" / "objects" / "pack").iterdir())
    pack = next(path for path in packs if path.suffix == ".pack").read_bytes()
    for path in packs:
        path.chmod(0o644)
        path.unlink()
    patient.git("unpack-objects", "-q", stdin=pack)
    (patient.root / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    finding = patient.examine(which)["objects"]
    assert finding.level is Level.PROBLEM
    assert any(blob in detail for detail in finding.details)


def test_a_damaged_object_is_found_by_reading_it(patient):
    patient.save("one")
    patient.git("repack", "-adq")
    pack = next((patient.root / ".git" / "objects" / "pack").glob("*.pack"))
    data = bytearray(pack.read_bytes())
    data[len(data) // 2] ^= 0xFF
    pack.chmod(0o644)
    pack.write_bytes(data)
    assert patient.examine(DEEP)["objects"].level is Level.PROBLEM


def test_a_missing_object_of_a_store_on_a_branch_is_a_problem_and_of_the_code_none(on_a_branch, tmp_path, bare_git):
    on_a_branch.save("one")
    for pack in (tmp_path / ".git" / "objects" / "pack").glob("*.pack"):
        data = pack.read_bytes()
        for file in pack.parent.glob(f"{pack.stem}.*"):
            file.unlink()
        bare_git(tmp_path, "unpack-objects", "-q", stdin=data)
    for revision, checks_found in (("main:code.c", set()), ("gitmem:FORMAT.md", {"objects"})):
        blob = bare_git(tmp_path, "rev-parse", revision)
        path = tmp_path / ".git" / "objects" / blob[:2] / blob[2:]
        path.chmod(0o644)
        path.unlink()
        assert set(on_a_branch.examine()) == checks_found


def test_who_holds_the_store_is_worth_a_note(patient):
    with patient.store.lock("a long sync").acquire(0):
        finding = patient.only("lock", Level.NOTE)
    assert "(a long sync)" in finding.message
    assert patient.examine() == {}


@posix
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write everywhere")
def test_a_store_that_cannot_be_written_is_a_problem(patient):
    os.chmod(patient.root, 0o500)
    try:
        assert patient.examine()["access"].level is Level.PROBLEM
    finally:
        os.chmod(patient.root, 0o700)


def test_a_full_disk_is_a_problem_that_the_status_names(world, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=100))
    found = world.ran("doctor")
    assert found.code == 1
    assert f"The disk of {world.root} is full." in found.out
    status = world.run("status").out
    assert "recording   nothing; see below" in status
    assert "is full." in status


def test_hooks_that_the_environment_switches_off_are_named(world):
    off = {"GITMEM_HOOKS": "off"}
    assert "GITMEM_HOOKS=off is set here" in world.run("doctor", environ=off).out
    assert "recording   nothing; see below" in world.run("status", environ=off).out


def test_many_packs_are_worth_a_note_where_they_are_not_packed_by_themselves(patient):
    def finding():
        return next(finding for finding in examine(patient.store, FULL) if finding.check == "packing")

    packs = patient.root / ".git" / "objects" / "pack"
    for number in range(MAX_PACKS + 1):
        (packs / f"pack-{number}.pack").touch()
    assert (finding().level, finding().remedy) == (Level.OK, "")
    for number in range(MAX_PACKS + 1, 3 * MAX_PACKS):
        (packs / f"pack-{number}.pack").touch()
    assert (finding().level, finding().remedy) == (Level.NOTE, "gitmem maintain"), "the packing does not come"


def test_secrets_are_counted_by_kind_and_file_and_never_shown(patient):
    patient.write("note.md", f"token {SECRET}\nand {SECRET[::-1]}\n")
    patient.write("deep/other.txt", f"export GITHUB_TOKEN={SECRET}\n")
    patient.write("binary.bin", b"\0" + SECRET.encode())
    patient.write("wide.txt", f"token {SECRET}\n".encode("utf-16"))
    finding = patient.examine()["secrets"]
    assert finding.level is Level.PROBLEM
    assert [detail.partition(":")[0] for detail in finding.details] == ["deep/other.txt", "note.md", "wide.txt"]
    assert SECRET not in json.dumps(finding.details)


def test_secrets_in_names_and_in_messages_of_a_user_s_commits_are_found(patient):
    patient.write(f"{SECRET}.md", "one\n")
    patient.git("add", "-A")
    patient.git("commit", "-qm", f"Use the token\n\npassword=hunter2x and {SECRET}")
    details = patient.examine()["secrets"].details
    commit = patient.git("rev-parse", "HEAD")[:10]
    kinds = details[0].rpartition(": ")[2]
    assert details == (
        f"the name of [REDACTED:github-token].md: {kinds}",
        f"the message of commit {commit}: {kinds}, 1 password",
    )
    assert SECRET not in json.dumps(details)


def test_what_is_allowed_is_no_secret(patient):
    patient.write("note.md", f"token {SECRET}\n")
    own_settings(patient.context, f"redaction:\n  allow: [{SECRET}]\n")
    assert "secrets" not in patient.examine()


def test_what_waits_in_the_spool_is_a_note_and_later_or_aside_a_warning(patient):
    patient.store.spool.deliver({"v": 1, "kind": "save"})
    assert "1 event not committed yet" in patient.only("waiting", Level.NOTE).message
    old = f"{time.time_ns() - 2 * 3600 * 10**9:020d}-1-00000000.json"
    (patient.root / ".git" / "gitmem" / "spool" / old).write_text("{}")
    finding = patient.only("waiting", Level.WARNING)
    assert finding.message == "2 events not committed yet, the oldest for 2 hours."
    patient.store.spool.remove([old])
    for name in patient.store.spool.names():
        patient.store.spool.put_aside(name)
    assert patient.only("aside", Level.WARNING).details == (name,)


def test_what_failed_in_the_last_days_is_a_warning_with_the_last_of_it(patient):
    journal = FailureLog(patient.store.private)
    now = datetime.now(UTC)
    journal.record(LoggedFailure(now - timedelta(days=8), "save", "long ago"))
    assert patient.examine() == {}
    for number in range(7):
        journal.record(
            LoggedFailure(now - timedelta(minutes=7 - number), "save", f"failure\nnumber {number}", "Traceback")
        )
    finding = patient.only("log", Level.WARNING)
    assert finding.message.startswith("7 failures")
    assert [detail.rpartition("failure ")[2] for detail in finding.details] == [f"number {n}" for n in range(2, 7)]
    assert journal.path in finding.remedy


def test_a_slow_start_is_past_after_some_quick_ones(patient):
    private, now = patient.store.private, datetime.now(UTC)
    slow = LoggedFailure(now - timedelta(hours=5), "hook claude", f"SessionStart {SLOW} 0.6 s")
    FailureLog(private).record(slow)
    for number in range(3):
        assert len(patient.only("log", Level.WARNING).details) == 1
        record(private, ShownText(now - timedelta(hours=4 - number), f"s-{number}", START, ("d-1",), 9))
    assert patient.examine() == {}
    FailureLog(private).record(slow._replace(at=now - timedelta(hours=1)))
    assert len(patient.only("log", Level.WARNING).details) == 1


def test_failures_of_one_message_are_one_line_with_their_number(patient):
    journal, now = FailureLog(patient.store.private), datetime.now(UTC)
    for number in range(5):
        journal.record(LoggedFailure(now - timedelta(minutes=9 - number), "model", "no program"))
    assert [detail.partition(" model: ")[2] for detail in patient.only("log", Level.WARNING).details] == [
        "no program (5 times)"
    ]


def test_a_model_whose_program_is_missing_is_a_warning(patient, tmp_path):
    own_settings(patient.context, "summary:\n  provider: agent\n")
    patient.context = patient.context._replace(environ={**patient.context.environ, "PATH": str(tmp_path)})
    finding = patient.examine()["model"]
    assert finding.level is Level.WARNING
    assert "claude" in finding.message
    assert "summary.provider offline" in finding.remedy


def test_a_check_that_fails_keeps_the_others_from_nothing(patient, monkeypatch):
    def check_the_weather(_):
        raise ZeroDivisionError("no\nweather")

    def check_git(_):
        raise GitmemError("There is no git on the PATH.", "Install it.")

    found = examine(patient.store, (check_the_weather, check_git, *QUICK))
    assert [(f.check, f.level, f.message) for f in found[:2]] == [
        ("the weather", Level.PROBLEM, "The check failed. ZeroDivisionError: no weather"),
        ("git", Level.PROBLEM, "There is no git on the PATH."),
    ]
    assert {one.check for one in found} >= {one.check for one in examine(patient.store, QUICK)}


def test_a_file_of_facts_that_is_no_fact_is_named_and_not_counted(patient):
    patient.write("facts/rule/no-friday.md", "Never deploy on a Friday.\n")
    patient.write("facts/rule/r0000000000-by-hand.md", "---\nid: r0000000000\nkind: rule\n---\nDeploy on Mondays.\n")
    patient.git("add", ".")
    patient.git("commit", "-qm", "by hand")
    assert status_of(patient).knows.facts == 1
    assert patient.examine(FULL)["facts"].details == ("facts/rule/no-friday.md",)


def test_status_of_a_store_without_a_commit(patient):
    patient.git("update-ref", "-d", "HEAD")
    status = status_of(patient)
    assert status.last_save is None
    assert "branch" in {finding.check for finding in status.attention}


def test_a_large_store_is_looked_at_bit_by_bit_and_deeply_at_once(patient, monkeypatch):
    for number in range(30):
        patient.write(f"knowledge/{number:02}.md", "---\nid: x\n---\nbody\n")
    patient.write("knowledge/29.md", "---\nid: [\n---\nbody\n")
    patient.git("add", "-A")
    patient.git("commit", "-qm", "mine")
    patient.save("so that the files follow")
    monkeypatch.setattr(doctor, "_AT_ONCE", 10)
    left = patient.examine()["files"].message
    assert "of this large store not looked at yet" in left
    assert left != patient.examine()["files"].message
    assert {"headers"} == patient.examine(DEEP).keys() == patient.examine().keys()


def test_of_large_packs_the_objects_of_the_newest_commits_are_looked_at(patient, monkeypatch):
    patient.save("one")
    monkeypatch.setattr(doctor, "_LARGE", 0)
    found = {finding.check: finding for finding in examine(patient.store, FULL)}["objects"]
    assert (found.level, found.message) == (Level.OK, "All objects of the newest 100 commits exist.")
    assert "--deep" in found.remedy
    blob = patient.git("rev-parse", "HEAD:memory.md").strip()
    for pack in (patient.root / ".git" / "objects" / "pack").glob("*"):
        pack.chmod(0o600)
        pack.unlink()
    assert patient.examine()["objects"].level is Level.PROBLEM
    assert blob


BROKEN = b"---\nid: [\n---\nbody\n"
MARKED = b"<<<<<<< ours\none\n=======\ntwo\n>>>>>>> theirs\n"
FINE = b"---\nid: x\n---\nbody\n"


def said(world: World) -> list:
    world.reopen()
    return list(check_changed(world.store, world.store.files.edited()).findings)


def all_that_is_wrong(world: World) -> list:
    paths = known_files(world.store.repository.git)
    return [check(world.store, paths).finding for check in (check_headers, check_conflicts)]


@pytest.fixture
def looked_at(monkeypatch) -> list[str]:
    """Collect the names of the documents that are read."""
    seen: list[str] = []
    real = changed.check_headers

    def watched(store, paths):
        seen.extend(paths)
        return real(store, paths)

    monkeypatch.setattr(changed, "check_headers", watched)
    return seen


def test_only_what_changed_is_looked_at(world, looked_at):
    world.commit({"facts/a.md": FINE, "facts/b.md": FINE})
    said(world)
    assert set(looked_at) == set(known_files(world.store.repository.git))
    looked_at.clear()
    said(world)
    assert looked_at == []
    world.commit({"facts/b.md": FINE + b"more\n"})
    world.write("by hand 한글.md", FINE)
    said(world)
    assert looked_at == ["by hand 한글.md", "facts/b.md"]


def test_a_new_clone_is_looked_at_bit_by_bit(world, looked_at, monkeypatch):
    files = {f"facts/{number:03}.md": FINE for number in range(50)} | {"facts/049.md": BROKEN, "facts/048.md": MARKED}
    world.commit(files | {"facts/047.md": FINE.replace(b"id: x", b"id: x\nreview: [Section]")})
    Path(world.store.private, "examined.json").unlink(missing_ok=True)
    counts, lefts, levels = [], [], []
    while True:
        looked_at.clear()
        looked = changed.check_changed(world.store, (), most=20)
        counts, lefts, levels = [*counts, len(looked_at)], [*lefts, looked.left], [one.level for one in looked.findings]
        if not looked.left:
            break
    assert max(counts) <= 20 + 2
    assert lefts == sorted(lefts, reverse=True)
    assert [level.value for level in levels] == ["problem", "problem"]
    assert [item.path for item in looked.review] == ["facts/047.md"]


def test_what_was_found_is_told_until_it_is_fixed(world):
    world.commit({"facts/a.md": BROKEN, "facts/b.md": MARKED, "facts/c.md": FINE})
    for _ in range(3):
        assert said(world) == all_that_is_wrong(world)
        assert [finding.level.value for finding in said(world)] == ["problem", "problem"]
        world.commit({"facts/c.md": FINE + b"more\n"})
    world.commit({"facts/a.md": FINE, "facts/b.md": FINE})
    assert [finding.level.value for finding in said(world)] == ["ok", "ok"]


@pytest.mark.parametrize(
    "record",
    [
        b"",
        b"{",
        b"[]",
        b'{"by": "0", "commit": "x", "again": []}',
        json.dumps({"by": changed.__version__, "commit": "0" * 40, "again": []}).encode(),
        json.dumps({"by": changed.__version__, "commit": "--output=x", "again": 3}).encode(),
        json.dumps({"by": changed.__version__, "commit": "--output=x", "again": ["../../x", "/etc/passwd"]}).encode(),
    ],
)
def test_a_record_that_is_no_use_is_none(world, record):
    world.commit({"facts/a.md": BROKEN})
    Path(world.store.private, "examined.json").write_bytes(record)
    assert said(world) == all_that_is_wrong(world)
    assert not list(world.root.glob("**/x"))


CONTENTS = st.sampled_from([BROKEN, MARKED, FINE, b"no header\n", b""])
EDITS = st.tuples(st.booleans(), st.sampled_from(["a.md", "b c.md", "facts/한글.md", "x.txt"]), CONTENTS)


@pytest.mark.slow
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(EDITS, min_size=1, max_size=6))
def test_it_is_what_a_look_at_all_says(world, edits):
    for committed, path, content in edits:
        if committed:
            world.commit({path: content})
        else:
            world.write(path, content)
        assert said(world) == all_that_is_wrong(world)


def test_a_document_with_another_id_than_its_name_is_named(patient):
    header = "---\nid: {}\nkind: rule\ndescription: Tabs\n---\nTabs\n"
    for name, identifier in (("r4f7k2m9q0x", "r1111111111"), ("r4f7k2m9q1x", "R4F7K2M9Q1X"), ("r4f7k2m9q2x", "x")):
        patient.write(f"facts/rule/{name}-x.md", header.format(identifier))
    patient.git("add", ".")
    patient.git("commit", "-qm", "by hand")
    finding = patient.examine(FULL)["facts"]
    assert finding.level == Level.WARNING
    assert len(finding.details) == 3
