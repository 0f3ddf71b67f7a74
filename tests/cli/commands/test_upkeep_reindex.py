import json

import pytest

from gitmem.store.findings import FailureLog
from tests.command_line import Runner


@pytest.fixture
def started(monkeypatch):
    """Give the commands that were started in the background, none of which is."""
    commands = []
    monkeypatch.setattr("gitmem.search.near.SECONDS", 20.0)  # a busy machine is no late provider
    monkeypatch.setattr("gitmem.store.store.Store.start", lambda store, *command: commands.append(command))
    monkeypatch.setattr("gitmem.store.jobs.lower_priority", lambda: None)  # of this process of tests
    return commands


@pytest.fixture
def gitmem(home, environ, tmp_path, provider, started):
    """Give the command line in a project whose user has named the provider on loopback."""
    project = tmp_path / "project"
    project.mkdir()
    del environ["GITMEM_EMBEDDING_PROVIDER"]
    environ["MY_KEY"] = "sk-secret-key"
    provider.same = {"car": "automobile"}

    run = Runner(project, environ)
    assert run("init")[0] == 0
    settings = {"provider": "openai", "base_url": f"{provider.url}/v1", "api_key_env": "MY_KEY", "model": "fake"}
    for name, value in settings.items():
        assert run("config", f"embedding.{name}", value, "--user")[0] == 0
    for text in ("automobile winter", "bread flour", "piano tune"):
        assert run("save", text)[0] == 0
    return run


def test_progress_is_shown_on_a_terminal_and_taken_away(gitmem):
    said = gitmem("reindex", terminal=True)[2]
    assert "[#" in said
    assert said.endswith("\r")


def test_a_provider_that_fails_is_told_and_what_was_made_stays(gitmem, provider):
    provider.behave = ["status:401:"]
    code, out, err = gitmem("reindex")
    assert code == 1
    assert out.endswith(" are still missing.\n")
    assert "was missing" not in out
    assert "401" in err
    assert "sk-secret-key" not in err
    assert gitmem("reindex")[0] == 0


def test_why_vectors_were_left_out_is_told_once(gitmem, provider):
    gitmem("reindex")
    provider.behave = ["status:503:"] * 3
    first, second = gitmem("search", "bread"), gitmem("search", "bread")
    assert "Only words were compared, not meanings." in first[2]
    assert second[2] == ""
    assert "bread flour" in first[1] == second[1]
    assert "503" in json.loads(gitmem("recall", "bread", "--json")[1])["without_vectors"]


def test_vectors_are_begun_by_the_first_search_and_go_on_after_each_save(gitmem, started):
    assert started == []
    gitmem("search", "bread")
    assert started == [("reindex", "--background")]
    assert gitmem("reindex", "--background") == (0, "", "")
    gitmem("save", "a violin")
    assert started == [("reindex", "--background")] * 2
    gitmem("reindex", "--background")
    assert json.loads(gitmem("reindex", "--json")[1])["embedded"] == 0


def test_the_vectors_of_another_model_are_begun_by_the_first_search_with_it(gitmem, started):
    gitmem("reindex")
    gitmem("config", "embedding.model", "another", "--user")
    for _ in range(2):
        gitmem("search", "bread")
    assert started == [("reindex", "--background")]


def test_what_fails_in_the_background_is_in_the_log_once(gitmem, provider):
    provider.behave = ["status:401:"] * 3
    for _ in range(3):
        assert gitmem("reindex", "--background") == (1, "", "")
    failures = FailureLog(str(gitmem.root / ".git" / "gitmem")).failures()
    assert [failure.command for failure in failures] == ["reindex"]
    assert "401" in failures[0].message


def test_without_a_provider_there_is_nothing_to_do(gitmem, provider):
    code, out, err = gitmem("reindex", GITMEM_EMBEDDING_PROVIDER="none")
    assert (code, err) == (0, "")
    assert "words only" in out
    assert provider.asked == []


def test_status_says_which_provider_and_why(gitmem):
    gitmem("reindex")
    assert ", by openai\n" in gitmem("status")[1]
    value = json.loads(gitmem("status", "--json")[1])["vectors"]
    assert (value["provider"], value["model"], value["trouble"]) == ("openai", "fake", "")
    assert value["vectors"] > 2
