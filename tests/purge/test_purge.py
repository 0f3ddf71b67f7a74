"""A purge reaches every place of a store, touches nothing else, and refuses what would break it."""

import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitmem.errors import GitmemError, RefusedError
from gitmem.git.packing import every_object
from gitmem.history.undo import undo
from gitmem.platform.machine import Context
from gitmem.purge.purge import plan_purge
from gitmem.purge.purge import purge as carry_out
from gitmem.store.init import Place, init_store
from gitmem.store.transcripts import put, read
from tests.boxes import Box
from tests.conftest import RunsGit
from tests.store.purges import files_with, objects_with, purge

SECRET = "hunter2-Staging"
OTHER = b"Nothing of interest.\n"


def _nowhere(box: Box, text: str = SECRET) -> None:
    assert objects_with(box.root, text) == files_with(box.root, text) == []


def test_every_place_of_a_store_is_reached(box: Box):
    box.put({"knowledge/a.md": OTHER})
    untouched = box.tip()
    box.put({"knowledge/b.md": f"It is {SECRET}.\n".encode()}, subject=f"put {SECRET}")
    box.put({"knowledge/hunter2-staging.md": OTHER})
    box.git("branch", "mine")
    box.git("tag", "-a", "-m", f"tagged {SECRET}", "v1")
    box.write("knowledge/a.md", f"stashed {SECRET}\n".encode())
    box.git("stash", "push", "-q", "-m", "first")
    box.git("update-ref", "refs/gitmem/backup/origin/abc", "HEAD")
    put(box.store, "session", datetime(2026, 1, 1, tzinfo=UTC), ['{"text": "said %s"}' % SECRET])  # noqa: UP031
    aside = Path(box.store.spool.folder) / "aside"
    aside.mkdir(parents=True)
    (aside / "x.json").write_text(f"part of {SECRET}")
    box.git("commit", "-q", "--allow-empty", "-m", f"dropped {SECRET}")
    box.git("reset", "-q", "--hard", "HEAD~1")
    done = purge(box.store, SECRET)
    _nowhere(box)
    _nowhere(box, "hunter2-staging")
    assert done.objects > 0
    assert box.git("merge-base", "--is-ancestor", untouched, "HEAD") == ""
    assert box.tree()["knowledge/b.md"] == b"It is (purged).\n"
    assert (read(box.store, "session") or [""])[0] == '{"text": "said (purged)"}'
    assert "(purged)" in box.git("stash", "show", "-p")
    assert "first" in box.git("stash", "list")
    assert box.git("log", "-1", "--format=%s", "HEAD").startswith("Purge 1 text from ")
    box.sound()
    assert not plan_purge(box.store, SECRET).needed


def test_what_only_git_still_holds_is_purged_too(box: Box):
    box.put({"knowledge/b.md": f"It is {SECRET}.\n".encode()})
    box.git("reset", "-q", "--hard", "HEAD~1")
    purge(box.store, SECRET)
    _nowhere(box)


def test_all_that_a_pattern_matches_in_a_line(box: Box):
    box.put({"knowledge/b.md": "# 고객\nfor customer-0815 and\ncustomer-4711, 고객-42\n".encode()})
    box.put({"knowledge/b.md": b"gone\n"}, subject="without customer-1234")
    box.put({"knowledge/customer-5555.md": "".join(f"n-{one:05}\n" for one in range(1001)).encode()})
    with pytest.raises(RefusedError, match="1,001 different texts match"):
        plan_purge(box.store, re.compile("n-[0-9]+"))
    plan = plan_purge(box.store, re.compile(r"(?:customer|고객)-\d+|no\nmatch"))
    assert plan.purge.texts == 5
    carry_out(box.store, plan)
    for text in ("customer-0815", "customer-4711", "customer-1234", "customer-5555", "고객-42"):
        _nowhere(box, text)
    assert "for (purged) and" in box.git("log", "-p", "--format=%s", "--", "knowledge/b.md")
    box.sound()


def test_all_secrets_are_found_as_redaction_would_today(box: Box):
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    box.git("config", "user.name", "Ada")
    box.git("config", "user.email", "a@example.org")
    box.write("knowledge/k.md", f"key {key}\nand `<private>` is a tag\n".encode())
    box.git("add", ".")
    box.git("commit", "-q", "-m", "By hand, past redaction")
    done = purge(box.store, None)
    assert done.texts == 1
    _nowhere(box, key)
    assert "and `<private>` is a tag" in (box.root / "knowledge/k.md").read_text()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("pattern", [None, SECRET, re.compile("hunter2-[A-Z][a-z]+")], ids=["secrets", "text", "regex"])
@pytest.mark.few(3)
def test_texts_of_files_in_utf_16_are_purged(box: Box, encoding: str, pattern: str | re.Pattern[str] | None):
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    text = f"한국어 notes\r\ntoken = {key}\r\nIt is {SECRET}.\r\n"
    box.write("knowledge/windows.md", text.encode(encoding))
    box.git("add", ".")
    box.git("commit", "-q", "-m", "By hand, past redaction")
    purge(box.store, pattern)
    wanted = key if pattern is None else SECRET
    for stored in ("utf-16-le", "utf-16-be"):
        found = [oid for oid, data in every_object(box.store.repository.git) if wanted.encode(stored) in data]
        assert found == []
    assert "한국어 notes" in box.tree()["knowledge/windows.md"].decode(encoding)


@pytest.mark.parametrize("text", ["abc", "  a  ", "gitmem", "Gitmem-Op: ", "(purged)", "x" * 70_000])
def test_what_a_store_needs_is_not_purged(box: Box, text: str):
    with pytest.raises(RefusedError):
        plan_purge(box.store, text)


def test_a_purge_is_not_undone(box: Box):
    box.put({"knowledge/b.md": SECRET.encode()})
    purge(box.store, SECRET)
    with pytest.raises(GitmemError, match="is a purge"):
        undo(box.store, revision="HEAD")


def test_a_save_meanwhile_and_an_edit_by_hand_are_kept(box: Box):
    box.put({"knowledge/b.md": f"{SECRET}\n".encode()})
    plan = plan_purge(box.store, SECRET)
    box.write("knowledge/b.md", f"{SECRET}\nby hand\n".encode())
    box.put({"knowledge/c.md": f"later {SECRET}\n".encode()})
    carry_out(box.store, plan)
    _nowhere(box)
    assert box.files()["knowledge/b.md"] == b"(purged)\nby hand\n"
    assert box.files()["knowledge/c.md"] == b"later (purged)\n"


def test_in_a_projects_repository_only_gitmems_refs_move(tmp_path: Path, context: Context, bare_git: RunsGit, boxes):
    project = tmp_path / "project"
    project.mkdir()
    bare_git(project, "init", "-q")
    (project / "code.py").write_text(f"KEY = '{SECRET}'\n")
    bare_git(project, "add", ".")
    bare_git(project, "commit", "-q", "-m", f"Use {SECRET}")
    bare_git(project, "stash", "list")
    box = boxes(init_store(str(project), context, Place.BRANCH).store.root)
    box.put({"knowledge/b.md": f"It is {SECRET}.\n".encode()})
    bare_git(project, "branch", "copy", "gitmem")
    before = bare_git(project, "for-each-ref", "refs/heads/main", "refs/heads/copy")
    objects = set(bare_git(project, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split())
    done = purge(box.store, SECRET)
    assert bare_git(project, "for-each-ref", "refs/heads/main", "refs/heads/copy") == before
    assert objects <= set(bare_git(project, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split())
    patch = subprocess.run(["git", "log", "-p", "gitmem"], cwd=project, capture_output=True, check=True).stdout
    assert SECRET.encode() not in patch
    assert any("git gc" in notice for notice in done.notices)
    assert any("refs/heads/copy" in said for said in done.beyond)
    assert bare_git(project, "reflog", "main") != ""
    assert box.status() == ""
