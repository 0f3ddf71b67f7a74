"""The table of what comes from a remote is the one of the format page, and it is what a sync goes by."""

import re
from pathlib import Path

import pytest

from gitmem.config.read import MAX_BYTES
from gitmem.errors import RefusedError, StoreFormatError
from gitmem.git.process import Git
from gitmem.git.root import make_root
from gitmem.platform.safe_open import MAX_FILE_BYTES
from gitmem.store.entrance import SMALL
from gitmem.store.init import Place, init_store
from gitmem.sync.clone import clone_store
from gitmem.sync.fetch import Options
from tests.copies import new_repository
from tests.property.hostile import LINK, PLAIN, Objects, Said

PAGE = Path(__file__).resolve().parents[2] / "docs" / "security.md"


def test_the_table_is_that_of_the_page():
    trust = PAGE.read_text(encoding="utf-8").partition("\n## Trust\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(.+?)` \| (\d+ [KM]iB) \|", trust, re.MULTILINE)
    small = [pattern for pattern, size in rows if size == "64 KiB"]
    assert (tuple(small), MAX_BYTES, MAX_FILE_BYTES) == (SMALL, 64 << 10, 100 << 20)
    assert {size for _, size in rows} == {"64 KiB", "100 MiB"}


@pytest.mark.parametrize("name", ["config.yaml", "knowledge/.gitattributes", ".gitignore", "FORMAT.md"])
def test_what_is_read_as_more_than_text_is_small(name, context, tmp_path, bare_git):
    bare_git(tmp_path, "init", "-q", "--bare", "remote.git")
    objects = Objects(tmp_path / "remote.git")
    files = {"FORMAT.md": b"---\nversion: 2\n---\n", name: b"---\nversion: 2\n---\n" + b"#\n" * 40_000}
    blobs = {path: (PLAIN, objects.write("blob", data)) for path, data in files.items()}
    tree = {(*(part.encode() for part in path.split("/")),): blob for path, blob in blobs.items()}
    objects.point("refs/heads/gitmem", objects.commit(objects.tree(tree), [], Said()))
    (tmp_path / "project").mkdir()
    remote = str(tmp_path / "remote.git")
    options = Options(("other-project",))
    with pytest.raises(RefusedError, match="more than gitmem allows for it"):
        clone_store(str(tmp_path / "project"), context, Place.PROJECT, remote, asks=False, options=options)


FORMAT = b"---\nversion: 2\n---\n"


@pytest.fixture
def project(tmp_path, bare_git):
    """A project with a remote."""
    bare_git(tmp_path, "init", "-q", "--bare", "remote.git")
    folder = new_repository(tmp_path / "project", {})
    bare_git(folder, "remote", "add", "origin", str(tmp_path / "remote.git"))
    return folder


@pytest.fixture
def push(project, tmp_path, environ, bare_git):
    """Give a function that has the remote's memory branch hold one more file, as the project fetched it."""

    def push(name, mode=PLAIN, data=b"x\n"):
        objects = Objects(tmp_path / "remote.git")
        tree = {(b"FORMAT.md",): (PLAIN, objects.write("blob", FORMAT))}
        tree[*(part.encode() for part in name.split("/")),] = (mode, objects.write("blob", data))
        root = make_root(Git(tmp_path / "remote.git", None, environ))
        objects.point("refs/heads/gitmem", objects.commit(objects.tree(tree), [root], Said()))
        bare_git(project, "fetch", "-q", "origin")

    return push


@pytest.mark.parametrize(
    "name, mode, data, error",
    [
        ("memory.md", LINK, b"/etc/passwd", RefusedError),
        ("a\x07.md", PLAIN, b"x\n", RefusedError),
        (".tmp/x", PLAIN, b"x\n", RefusedError),
        ("config.yaml", PLAIN, b"#\n" * 40_000, RefusedError),
        ("FORMAT.md", PLAIN, b"---\nversion: 99\n---\n", StoreFormatError),
    ],
)
def test_init_takes_up_no_branch_of_a_remote_that_a_clone_would_refuse(  # noqa: PLR0917
    project, push, context, bare_git, name, mode, data, error
):
    push(name, mode, data)
    with pytest.raises(error):
        init_store(str(project), context, Place.BRANCH)
    assert not (project / ".gitmem").exists()
    assert bare_git(project, "for-each-ref", "refs/heads/gitmem") == ""


def test_init_takes_up_a_branch_of_a_remote_that_is_sound(project, push, context):
    push("knowledge/a.md")
    made = init_store(str(project), context, Place.BRANCH)
    assert made.store.read("knowledge/a.md") == b"x\n"


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["hosts/claude-code.json", "Hosts/x", "projects/x-1/a.md", "hosts./x"])
def test_no_remote_of_the_users_store_writes_into_the_folders_of_this_machine(home, push, tmp_path, context, name):
    push(name)
    remote = str(tmp_path / "remote.git")
    with pytest.raises(RefusedError, match="where gitmem keeps"):
        clone_store(str(tmp_path), context, Place.USER, remote, asks=False, options=Options())
    assert not (home / ".gitmem" / name).exists()


@pytest.mark.parametrize("name", ["hosts/claude-code.json", "projects/x.md"])
def test_a_projects_store_may_have_folders_of_these_names(project, push, tmp_path, context, name):
    push(name)
    remote = str(tmp_path / "remote.git")
    store = clone_store(str(project), context, Place.PROJECT, remote, asks=False, options=Options())
    assert store.read(name) == b"x\n"
