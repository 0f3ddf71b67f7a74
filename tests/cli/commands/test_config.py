import pytest


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
