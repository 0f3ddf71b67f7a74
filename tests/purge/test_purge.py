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
from tests.conftest import RunsGit
from tests.store.purges import files_with, objects_with, purge
from tests.world import World

SECRET = "hunter2-Staging"
OTHER = b"Nothing of interest.\n"


def _nowhere(world: World, text: str = SECRET) -> None:
    assert objects_with(world.root, text) == files_with(world.root, text) == []


def test_every_place_of_a_store_is_reached(world: World):
    world.commit({"knowledge/a.md": OTHER})
    untouched = world.tip
    world.commit({"knowledge/b.md": f"It is {SECRET}.\n".encode()}, subject=f"put {SECRET}")
    world.commit({"knowledge/hunter2-staging.md": OTHER})
    world.git("branch", "mine")
    world.git("tag", "-a", "-m", f"tagged {SECRET}", "v1")
    world.write("knowledge/a.md", f"stashed {SECRET}\n".encode())
    world.git("stash", "push", "-q", "-m", "first")
    world.git("update-ref", "refs/gitmem/backup/origin/abc", "HEAD")
    put(world.store, "session", datetime(2026, 1, 1, tzinfo=UTC), ['{"text": "said %s"}' % SECRET])  # noqa: UP031
    aside = Path(world.store.spool.folder) / "aside"
    aside.mkdir(parents=True)
    (aside / "x.json").write_text(f"part of {SECRET}")
    world.git("commit", "-q", "--allow-empty", "-m", f"dropped {SECRET}")
    world.git("reset", "-q", "--hard", "HEAD~1")
    done = purge(world.store, SECRET)
    _nowhere(world)
    _nowhere(world, "hunter2-staging")
    assert done.objects > 0
    assert world.git("merge-base", "--is-ancestor", untouched, "HEAD") == ""
    assert world.tree()["knowledge/b.md"] == b"It is (purged).\n"
    assert (read(world.store, "session") or [""])[0] == '{"text": "said (purged)"}'
    assert "(purged)" in world.git("stash", "show", "-p")
    assert "first" in world.git("stash", "list")
    assert world.git("log", "-1", "--format=%s", "HEAD").startswith("Purge 1 text from ")
    world.sound()
    assert not plan_purge(world.store, SECRET).needed


def test_a_link_leads_to_the_file_that_the_purge_renamed(world: World):
    name = "patterns/bugs/b4f7k2m9q0w-{}.md"
    world.commit({name.format("hunter2-staging"): OTHER, "sessions/a.md": b"x"})
    world.commit({"sessions/a.md": f"- error: [It]({f'../{name}'.format('hunter2-staging')})\n".encode()})
    purge(world.store, SECRET)
    (path,) = (world.root / "patterns/bugs").iterdir()
    assert path.name.startswith("b4f7k2m9q0w-purged-")
    assert f"](../patterns/bugs/{path.name})" in (world.root / "sessions/a.md").read_text()
    _nowhere(world, "hunter2-staging")


def test_what_only_git_still_holds_is_purged_too(world: World):
    world.commit({"knowledge/b.md": f"It is {SECRET}.\n".encode()})
    world.git("reset", "-q", "--hard", "HEAD~1")
    purge(world.store, SECRET)
    _nowhere(world)


def test_all_that_a_pattern_matches_in_a_line(world: World):
    world.commit({"knowledge/b.md": "# 고객\nfor customer-0815 and\ncustomer-4711, 고객-42\n".encode()})
    world.commit({"knowledge/b.md": b"gone\n"}, subject="without customer-1234")
    world.commit({"knowledge/customer-5555.md": "".join(f"n-{one:05}\n" for one in range(1001)).encode()})
    with pytest.raises(RefusedError, match="1,001 different texts match"):
        plan_purge(world.store, re.compile("n-[0-9]+"))
    plan = plan_purge(world.store, re.compile(r"(?:customer|고객)-\d+|no\nmatch"))
    assert plan.purge.texts == 5
    carry_out(world.store, plan)
    for text in ("customer-0815", "customer-4711", "customer-1234", "customer-5555", "고객-42"):
        _nowhere(world, text)
    assert "for (purged) and" in world.git("log", "-p", "--format=%s", "--", "knowledge/b.md")
    world.sound()


def test_all_secrets_are_found_as_redaction_would_today(world: World):
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    world.git("config", "user.name", "Ada")
    world.git("config", "user.email", "a@example.org")
    world.write("knowledge/k.md", f"key {key}\nand `<private>` is a tag\n".encode())
    world.git("add", ".")
    world.git("commit", "-q", "-m", "By hand, past redaction")
    done = purge(world.store, None)
    assert done.texts == 1
    _nowhere(world, key)
    assert "and `<private>` is a tag" in (world.root / "knowledge/k.md").read_text()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("pattern", [None, SECRET, re.compile("hunter2-[A-Z][a-z]+")], ids=["secrets", "text", "regex"])
@pytest.mark.few(1)
def test_texts_of_files_in_utf_16_are_purged(world: World, encoding: str, pattern: str | re.Pattern[str] | None):
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    text = f"한국어 notes\r\ntoken = {key}\r\nIt is {SECRET}.\r\n"
    world.write("knowledge/windows.md", text.encode(encoding))
    world.git("add", ".")
    world.git("commit", "-q", "-m", "By hand, past redaction")
    purge(world.store, pattern)
    wanted = key if pattern is None else SECRET
    for stored in ("utf-16-le", "utf-16-be"):
        found = [oid for oid, data in every_object(world.store.repository.git) if wanted.encode(stored) in data]
        assert found == []
    assert "한국어 notes" in world.tree()["knowledge/windows.md"].decode(encoding)


@pytest.mark.parametrize("text", ["abc", "  a  ", "gitmem", "Gitmem-Op: ", "(purged)", "x" * 70_000])
def test_what_a_store_needs_is_not_purged(world: World, text: str):
    with pytest.raises(RefusedError):
        plan_purge(world.store, text)


def test_a_purge_is_not_undone(world: World):
    world.commit({"knowledge/b.md": SECRET.encode()})
    purge(world.store, SECRET)
    with pytest.raises(GitmemError, match="is a purge"):
        undo(world.store, revision="HEAD")


def test_a_save_meanwhile_and_an_edit_by_hand_are_kept(world: World):
    world.commit({"knowledge/b.md": f"{SECRET}\n".encode()})
    plan = plan_purge(world.store, SECRET)
    world.write("knowledge/b.md", f"{SECRET}\nby hand\n".encode())
    world.commit({"knowledge/c.md": f"later {SECRET}\n".encode()})
    carry_out(world.store, plan)
    _nowhere(world)
    assert world.files()["knowledge/b.md"] == b"(purged)\nby hand\n"
    assert world.files()["knowledge/c.md"] == b"later (purged)\n"


def test_in_a_projects_repository_only_gitmems_refs_move(tmp_path: Path, context: Context, bare_git: RunsGit, opened):
    project = tmp_path / "project"
    project.mkdir()
    bare_git(project, "init", "-q")
    (project / "code.py").write_text(f"KEY = '{SECRET}'\n")
    bare_git(project, "add", ".")
    bare_git(project, "commit", "-q", "-m", f"Use {SECRET}")
    bare_git(project, "stash", "list")
    world = opened(init_store(str(project), context, Place.BRANCH).store.root)
    world.commit({"knowledge/b.md": f"It is {SECRET}.\n".encode()})
    bare_git(project, "branch", "copy", "gitmem")
    before = bare_git(project, "for-each-ref", "refs/heads/main", "refs/heads/copy")
    objects = set(bare_git(project, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split())
    done = purge(world.store, SECRET)
    assert bare_git(project, "for-each-ref", "refs/heads/main", "refs/heads/copy") == before
    assert objects <= set(bare_git(project, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split())
    patch = subprocess.run(["git", "log", "-p", "gitmem"], cwd=project, capture_output=True, check=True).stdout
    assert SECRET.encode() not in patch
    assert any("git gc" in notice for notice in done.notices)
    assert any("refs/heads/copy" in said for said in done.beyond)
    assert bare_git(project, "reflog", "main") != ""
    assert world.status() == ""


def test_a_text_of_several_lines_goes_from_the_one_line_of_a_summary_too(world: World):
    lines = 'The first line of the plan\nsays "quince" beside it'
    summary = 'Asked: The first line of the plan; says "quince" beside it; and go on.'
    world.commit({"knowledge/a.md": f"{summary}\n- The first line of the plan says…\n- The first line\n".encode()})
    purge(world.store, lines)
    assert world.tree()["knowledge/a.md"] == b"Asked: (purged); and go on.\n- (purged)\xe2\x80\xa6\n- The first line\n"
