import pytest

from gitmem.config.read import personal_folder
from gitmem.errors import ExitCode
from gitmem.git.locking import writing_alone


@pytest.fixture
def git(tmp_path, bare_git):
    return lambda *args: bare_git(tmp_path / ".gitmem", *args)


def test_instructions_for_a_model_keep_their_lines_and_are_in_no_store(gitmem, git):
    before = git("rev-parse", "HEAD")
    text = "Sum up: in verse.\n\n- No more than ten lines."
    assert gitmem("config", "prompts.summary", text)[0] == 0
    assert gitmem.json("config", "prompts.summary")["value"] == text
    assert git("rev-parse", "HEAD") == before
    assert gitmem("config", "prompts.summary", "--unset")[0] == 0
    assert gitmem.json("config", "prompts.summary")["value"] == ""


@pytest.mark.parametrize("words", [("--user", "session.budget_tokens", "1500"), ("trust", "--yes")])
def test_own_settings_wait_for_another_gitmem_that_writes_some(gitmem, tmp_path, environ, monkeypatch, words):
    (tmp_path / ".gitmem" / "config.yaml").write_text("sync: {auto: interval}\n")
    monkeypatch.setattr("gitmem.git.locking._WRITING_SECONDS", 0)
    with writing_alone(personal_folder(environ, environ["HOME"]), "your settings"):
        assert gitmem("config", *words)[0] == ExitCode.BUSY
    assert gitmem("config", *words)[0] == 0
