import json
import sys

import pytest

from gitmem.config import rules
from tests.cli.commands.project import SECRET
from tests.own_settings import own_file

posix = pytest.mark.skipif(sys.platform == "win32", reason="links, modes and bash")


@pytest.fixture
def git(tmp_path, bare_git):
    return lambda *args: bare_git(tmp_path / ".gitmem", *args)


@pytest.fixture
def file(tmp_path):
    return tmp_path / ".gitmem" / "config.yaml"


@pytest.fixture
def own(home, environ):
    return own_file(environ, str(home))


def test_a_text_that_is_allowed_stays_and_what_allows_it_is_in_no_store(gitmem, git, own):
    gitmem("save", f"a key: {SECRET}")
    assert SECRET not in git("show", "HEAD:memory.md")
    gitmem("config", "redaction.allow", SECRET)
    assert SECRET in own.read_text()
    assert SECRET not in git("log", "-p", "--all")
    assert json.loads(gitmem("config", "redaction.allow", "--json")[1])["value"] == [SECRET]
    gitmem("save", f"the test key is {SECRET}")
    assert SECRET in git("show", "HEAD:memory.md")


@posix
def test_the_user_s_file_may_be_a_link_to_where_they_keep_such_files(run, own, tmp_path):
    dotfiles = tmp_path / "dotfiles.yaml"
    dotfiles.write_text("# mine\n")
    own.symlink_to(dotfiles)
    assert run("config", "--user", "lock.kind", "ref")[0] == 0
    assert own.is_symlink()
    assert dotfiles.read_text() == "# mine\nlock:\n  kind: ref\n"


def test_a_user_s_file_that_cannot_be_written_is_said(run, own):
    own.parent.rmdir()
    own.parent.write_text("no folder")
    code, _, err = run("config", "--user", "lock.kind", "ref")
    assert code == 1
    assert "could not be written" in err


def test_as_much_of_the_memory_as_makes_it_rotate_is_not_kept(gitmem, file):
    assert gitmem("config", "rotation.carryover_tokens", "20000")[0] == 0
    assert gitmem("config", "rotation.threshold_tokens", "10000")[0] == 0
    assert gitmem("config", "rotation.carryover_tokens")[1].split()[0] == "1000"
    assert "rotation.carryover_tokens (20,000) is not below" in gitmem("doctor")[1]


def test_instructions_for_a_model_keep_their_lines_and_are_in_no_store(gitmem, git, own):
    before = git("rev-parse", "HEAD")
    text = "Sum up: in verse.\n\n- No more than ten lines."
    assert gitmem("config", "prompts.summary", text)[0] == 0
    assert gitmem.json("config", "prompts.summary")["value"] == text
    assert git("rev-parse", "HEAD") == before
    assert gitmem("config", "prompts.summary", "--unset")[0] == 0
    assert gitmem.json("config", "prompts.summary")["value"] == ""


def test_a_file_that_is_not_yaml_is_named_and_left_alone(gitmem, git, file):
    file.write_text("lock: [\n")
    code, _, err = gitmem("config", "save.interval", "7")
    assert code == 1
    assert "config.yaml cannot be changed: it is not valid YAML" in err
    assert file.read_text() == "lock: [\n"
    code, out, err = gitmem("config")
    assert (code, len(out.splitlines())) == (0, len(rules()) + 1)
    assert "config.yaml cannot be read and is not used" in err
