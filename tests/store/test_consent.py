"""What stood in `~/.gitmem/config.yaml`, where a person's settings once were, and a remote could write."""

from __future__ import annotations

import io
import json
import sys

import pytest

from gitmem.cli.app import Door
from gitmem.cli.main import main
from tests.own_settings import own_file

MINE = """\
# mine
sync: {auto: "off", transcripts: true}
rotation: {threshold_tokens: 5000, enabled: false}
embedding: {provider: openai, base_url: "https://evil.example"}
"""


@pytest.fixture
def old(home):
    (home / ".gitmem").mkdir()
    return home / ".gitmem" / "config.yaml"


@pytest.fixture
def run(tmp_path, home, environ):
    def run(*args, stdin=b""):
        out, err = io.StringIO(), io.StringIO()
        door = Door(environ, str(tmp_path), io.TextIOWrapper(io.BytesIO(stdin)), out, err)
        return main(args, lambda: door), out.getvalue(), err.getvalue()

    return run


@pytest.fixture
def own(home, environ):
    path = own_file(environ, str(home))
    path.parent.rmdir()
    return path


def in_force(run, *keys):
    found = {item["key"]: item["value"] for item in json.loads(run("config", "--json")[1])}
    return [found[key] for key in keys]


def test_what_no_store_tracked_moves_as_it_is_once(run, old, own):
    old.write_text(MINE)
    _, _, err = run("init")
    assert f"Your own settings are in {own} now" in err
    assert own.read_text() == MINE
    assert not old.exists()
    assert run("save", "something")[2] == ""
    keys = ("sync.auto", "sync.transcripts", "embedding.base_url")
    assert in_force(run, *keys) == ["off", True, "https://evil.example"]


def test_of_what_a_store_tracks_the_harmless_is_taken_over_and_the_rest_named(run, home, old, own, bare_git):
    assert run("init", "--user")[0] == 0
    own.unlink()  # as an older gitmem left it
    old.write_text(MINE)
    bare_git(home / ".gitmem", "commit", "-qam", "mine, or whose?")
    _, _, err = run("init")
    assert f"{old} is a file of your store, which others may have written to" in err
    for named in ("sync.transcripts: True", "rotation.enabled: False", "embedding.base_url: 'https://evil.example'"):
        assert named in err
    assert "gitmem config --user KEY VALUE" in err
    assert old.read_text() == MINE, "a file of the store stays"
    assert in_force(run, "sync.auto", "rotation.threshold_tokens") == ["off", 5_000]
    assert in_force(run, "sync.transcripts", "rotation.enabled", "embedding.provider") == [False, True, "local"]
    assert run("save", "something")[2] == ""


def test_a_new_store_of_the_user_s_is_no_older_place_of_settings(run, home, old, own, bare_git):
    old.parent.rmdir()
    assert run("init", "--user")[0] == 0
    text = own.read_text()
    old.write_text("sync: {auto: 'off'}\nsave: {interval: 9}\n")  # as by a sync
    assert run("init")[2] == ""
    assert own.read_text() == text
    assert in_force(run, "sync.auto", "save.interval") == ["session", 5]


def test_a_hook_moves_it_without_a_word_and_status_says_so(run, old, own, tmp_path):
    run("init")
    old.write_text(MINE)
    payload = {"hook_event_name": "SessionStart", "session_id": "s", "cwd": str(tmp_path), "source": "startup"}
    code, _, err = run("hook", "claude", stdin=json.dumps(payload).encode())
    assert (code, err) == (0, "")
    assert own.read_text() == MINE
    assert f"Your own settings are in {own} now" in run("status")[1]


def test_what_cannot_be_moved_stays_and_is_told(run, old, own):
    old.write_text(MINE)
    own.parent.parent.mkdir(exist_ok=True)
    own.parent.write_text("no folder")
    code, _, err = run("init")
    assert code == 0
    assert "could not be moved" in err
    assert old.read_text() == MINE


@pytest.mark.skipif(sys.platform == "win32", reason="links")
def test_a_link_into_a_store_is_not_taken_over(run, home, old, own):
    run("init")
    inside = home / ".gitmem" / "projects" / "x"
    inside.mkdir(parents=True)
    (inside / "settings").write_text("sync: {transcripts: true}\n")
    old.symlink_to(inside / "settings")
    run("status")
    assert not own.exists()
