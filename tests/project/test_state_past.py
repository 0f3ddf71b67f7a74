"""A project's past as its git tells it, with nothing of its configuration run."""

import os
import sys

import pytest

from gitmem.project.files import MAX_BYTES, list_files, project_code, read_text, sizes_of
from gitmem.project.state import Past, read_past


@pytest.fixture
def project(tmp_path, bare_git, home):
    folder = tmp_path / "프로젝트 one"
    (folder / "src").mkdir(parents=True)
    bare_git(folder, "init", "-q")
    (folder / "src" / "한글 a.py").write_text("one\n")
    bare_git(folder, "add", "-A")
    bare_git(folder, "commit", "-qm", "Add a\n\nMore text.")
    (folder / "b.py").write_text("one\n")
    (folder / "src" / "한글 a.py").write_text("two\n")
    bare_git(folder, "add", "-A")
    bare_git(folder, "commit", "-qm", "Change a, add b")
    return folder


def test_files_and_commits(project, environ, bare_git):
    code = project_code(str(project), environ)
    assert code is not None
    past = read_past(code)
    assert past.files == ("b.py", "src/한글 a.py")
    assert [(one.subject, one.files) for one in past.commits] == [
        ("Change a, add b", ("b.py", "src/한글 a.py")),
        ("Add a", ("src/한글 a.py",)),
    ]
    assert bare_git(project, "rev-parse", "HEAD").startswith(past.commit)


def test_a_project_without_a_commit_has_no_past(tmp_path, environ, bare_git, home):
    bare_git(tmp_path, "init", "-q")
    code = project_code(str(tmp_path), environ)
    assert code is not None
    assert read_past(code) == Past()


def test_what_a_project_configures_is_not_run(project, environ, bare_git):
    ran = project.parent / "ran"
    program = f"touch '{ran}'; false"
    for key in ("gpg.program", "core.pager", "diff.external", "core.fsmonitor"):
        bare_git(project, "config", key, program)
    bare_git(project, "config", "log.showSignature", "true")
    code = project_code(str(project), environ)
    assert code is not None
    assert read_past(code).files
    assert not ran.exists()


def test_files_are_read_within_bounds(project):
    root = str(project)
    assert read_text(root, "b.py") == "one\n"
    (project / "large").write_bytes(b"x" * (MAX_BYTES + 1))
    assert [read_text(root, name) for name in ("large", "none", "src", "src/../b.py", "a\0b")] == [""] * 5
    assert list_files(root) == ("b.py", "large", "src/한글 a.py")
    assert sizes_of(root, ["b.py", "src/한글 a.py", "none/a.py", "src/../b.py"]) == {"b.py": 4, "src/한글 a.py": 4}


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes as POSIX has them")
def test_links_are_not_followed_and_pipes_keep_nobody_waiting(project):
    outside = project.parent / "secret"
    outside.mkdir()
    (outside / "package.json").write_text("{}")
    (project / "package.json").symlink_to(outside / "package.json")
    (project / "linked").symlink_to(outside)
    os.mkfifo(project / "go.mod")
    root = str(project)
    assert [read_text(root, name) for name in ("package.json", "linked/package.json", "go.mod")] == [""] * 3
    assert sizes_of(root, ["package.json", "linked/package.json", "go.mod"]) == {}
    assert "linked/package.json" not in list_files(root)
