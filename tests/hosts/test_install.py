import json
import os
import stat
import sys

import pytest

from gitmem.errors import NotSavedError, RefusedError
from gitmem.hosts.claude_code import HOST
from gitmem.hosts.host import command_hooks
from gitmem.hosts.install import FileEdit, Manifest, carry_out, plan_edits, plan_takes
from gitmem.hosts.settings import HooksEdit
from tests.hooked import hooked_events

posix = pytest.mark.skipif(sys.platform == "win32", reason="modes and links")
BEFORE = b'\xef\xbb\xbf{\r\n\t// \xed\x8c\x80 \xff\r\n\t"model": "opus"\r\n}'


@pytest.fixture
def manifest(tmp_path) -> Manifest:
    return Manifest(str(tmp_path / "private" / "hosts" / "claude-code.json"))


@pytest.fixture
def path(tmp_path) -> str:
    return str(tmp_path / "프로젝트 one" / ".claude" / "settings.json")


def hooks():
    return command_hooks(HOST, 10)


def plan_install(path, hooks, known):
    return plan_edits(path, [HooksEdit(path, hooks)], known)


def plan_uninstall(path, known):
    return plan_takes(path, [HooksEdit(path, hooks())], known)


def install(path, manifest):
    change = plan_install(path, hooks(), manifest.records().get(path))
    carry_out(change, manifest)
    return change


def uninstall(path, manifest):
    change = plan_uninstall(path, manifest.records().get(path) if manifest else None)
    carry_out(change, manifest)
    return change


def write(path, data: bytes) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


def read(path) -> bytes:
    with open(path, "rb") as file:
        return file.read()


@pytest.mark.parametrize("before", [BEFORE, b"", b"\n", b"{}", b'{"hooks": {}}', b'{"hooks": {"Stop": [ ]}}\n'])
def test_a_file_that_was_there_has_its_bytes_again(path, manifest, before):
    write(path, before)
    install(path, manifest)
    assert not install(path, manifest).changes
    assert uninstall(path, manifest).record is None
    assert read(path) == before


def test_what_a_user_added_to_our_file_stays_and_so_does_the_file(path, manifest):
    install(path, manifest)
    text = read(path).decode()
    write(path, text.replace("{\n", '{\n  "model": "opus",\n', 1).encode())
    uninstall(path, manifest)
    assert read(path) == b'{\n  "model": "opus"\n}\n'


@pytest.mark.parametrize("stamp", ['"$version": 4', '"$schema": "https://opencode.ai/config.json"'])
def test_what_a_host_stamps_on_our_file_does_not_keep_it(path, manifest, tmp_path, stamp):
    install(path, manifest)
    stamped = read(path).rstrip().removesuffix(b"}").rstrip() + f",\n  {stamp}\n}}\n".encode()
    write(path, stamped)
    uninstall(path, manifest)
    assert [found.name for found in tmp_path.iterdir()] == []


def test_the_same_stamp_in_a_file_of_a_user_stays(path, manifest):
    write(path, b'{"$version": 4}')
    install(path, manifest)
    uninstall(path, manifest)
    assert read(path) == b'{"$version": 4}'


def test_hooks_that_came_with_a_clone_are_told_without_a_record(path, manifest):
    install(path, manifest)
    document = json.loads(read(path)) | {"model": "opus"}
    write(path, json.dumps(document).encode())
    uninstall(path, None)
    assert json.loads(read(path)) == {"model": "opus"}


def test_the_record_of_a_file_that_a_user_made_anew_does_not_count(path, manifest):
    install(path, manifest)
    os.unlink(path)
    write(path, b"{}")
    install(path, manifest)
    uninstall(path, manifest)
    assert read(path) == b"{}"


def test_a_record_that_cannot_be_read_is_none(path, manifest):
    install(path, manifest)
    for damaged in (b"\xff{", b"[]", b'{"files": {"a": 1}}', b'{"files": []}'):
        write(manifest.path, damaged)
        assert manifest.records() == {}
    uninstall(path, manifest)
    assert hooked_events(path) == ()


def test_records_of_several_files_are_kept_apart(path, manifest):
    local = path.replace("settings.json", "settings.local.json")
    install(path, manifest)
    install(local, manifest)
    assert set(manifest.records()) == {path, local}
    uninstall(path, manifest)
    assert set(manifest.records()) == {local}
    uninstall(local, manifest)
    assert not os.path.exists(os.path.dirname(path))
    assert not os.path.exists(manifest.path)


@pytest.mark.parametrize("broken", [b"{", b"[]", b'{"hooks": 1}', b'{"hooks": {"Stop": "x"}}', b"\xff\xfe{\x00}\x00"])
def test_what_is_no_settings_file_is_refused_and_not_touched(path, manifest, broken):
    write(path, broken)
    for plan in (lambda: plan_install(path, hooks(), None), lambda: plan_uninstall(path, None)):
        with pytest.raises(RefusedError) as refused:
            plan()
        assert refused.value.message.startswith(path)
        assert "The file is as it was" in refused.value.remedy
    assert read(path) == broken
    assert hooked_events(path) == ()


@posix
def test_mode_and_links_stay(path, manifest, tmp_path):
    target = str(tmp_path / "dotfiles" / "claude.json")
    write(target, b"{}\n")
    os.chmod(target, 0o640)
    os.makedirs(os.path.dirname(path))
    os.symlink(target, path)
    install(path, manifest)
    assert os.path.islink(path)
    assert hooked_events(target) == tuple(hooks())
    assert stat.S_IMODE(os.stat(target).st_mode) == 0o640
    uninstall(path, manifest)
    assert (read(target), os.listdir(os.path.dirname(target))) == (b"{}\n", ["claude.json"])
    assert os.path.islink(path)


@posix
def test_a_new_file_has_the_mode_of_new_files(path, manifest):
    mask = os.umask(0o027)
    try:
        install(path, manifest)
    finally:
        os.umask(mask)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o640
    assert stat.S_IMODE(os.stat(manifest.path).st_mode) == 0o600


def test_a_file_that_changed_between_plan_and_deed_is_left_alone(path, manifest):
    write(path, b"{}")
    change = plan_install(path, hooks(), None)
    write(path, b'{"a": 1}')
    with pytest.raises(NotSavedError, match="changed by another program"):
        carry_out(change, manifest)
    assert read(path) == b'{"a": 1}'


def test_what_cannot_be_written_is_said_and_leaves_no_half(path, manifest, tmp_path):
    (tmp_path / "프로젝트 one").write_bytes(b"a file where the folder should be")
    with pytest.raises((NotSavedError, RefusedError)):
        install(path, manifest)
    assert (tmp_path / "프로젝트 one").read_bytes() == b"a file where the folder should be"


# Files that are gitmem's as a whole


@pytest.fixture
def skill(tmp_path) -> str:
    return str(tmp_path / "프로젝트 one" / ".claude" / "skills" / "memory-rotate" / "SKILL.md")


def put(path, manifest, content=b"gitmem: one\n"):
    change = plan_edits(path, [FileEdit(path, "skill", content)], manifest.records().get(path))
    carry_out(change, manifest)
    return change


def take(path, manifest):
    change = plan_takes(path, [FileEdit(path, "", b"")], manifest.records()[path])
    carry_out(change, manifest)
    return change


def test_a_file_of_ours_is_put_renewed_and_taken_with_its_folders(skill, manifest, tmp_path):
    tree = sorted(tmp_path.rglob("*"))
    assert put(skill, manifest).changes
    assert not put(skill, manifest).changes
    assert put(skill, manifest, b"gitmem: two\n").changes
    assert read(skill) == b"gitmem: two\n"
    assert take(skill, manifest).after is None
    assert sorted(tmp_path.rglob("*")) == tree


def test_an_empty_folder_that_was_there_stays_and_one_that_several_files_share_goes_with_the_last(manifest, tmp_path):
    (tmp_path / "home" / ".claude").mkdir(parents=True)
    tree = sorted(tmp_path.rglob("*"))
    first, second = (str(tmp_path / "home" / ".claude" / "skills" / name / "SKILL.md") for name in "ab")
    put(first, manifest)
    put(second, manifest)
    take(first, manifest)
    assert read(second)
    take(second, manifest)
    assert sorted(tmp_path.rglob("*")) == tree


@pytest.mark.parametrize("theirs", [b"mine\n", b"gitmem: one\n"])
def test_a_file_of_somebody_elses_stays_also_the_same_one_of_a_team(skill, manifest, theirs):
    write(skill, theirs)
    change = put(skill, manifest)
    assert (change.changes, change.after) == (False, theirs)
    assert skill not in manifest.records()


def test_what_a_user_changed_is_neither_renewed_nor_taken(skill, manifest):
    put(skill, manifest)
    write(skill, b"gitmem: one, and mine\n")
    assert not put(skill, manifest, b"gitmem: two\n").changes
    assert skill in manifest.records()
    assert not take(skill, manifest).changes
    assert read(skill) == b"gitmem: one, and mine\n"
    assert skill not in manifest.records()


def test_one_that_is_gone_is_forgotten(skill, manifest):
    put(skill, manifest)
    os.unlink(skill)
    assert not take(skill, manifest).changes
    assert manifest.records() == {}
