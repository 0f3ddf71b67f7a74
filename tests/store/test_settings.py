import json
import os

import pytest

from gitmem.config import personal_folder, read_agreed


@pytest.mark.parametrize(
    "platform, environ, folder",
    [
        ("linux", {}, "/home/me/.config/gitmem"),
        ("linux", {"XDG_CONFIG_HOME": "/etc/me"}, "/etc/me/gitmem"),
        ("linux", {"XDG_CONFIG_HOME": "relative", "APPDATA": "/roaming"}, "/home/me/.config/gitmem"),
        ("darwin", {}, "/home/me/Library/Application Support/gitmem"),
        ("darwin", {"XDG_CONFIG_HOME": "/etc/me"}, "/etc/me/gitmem"),
        ("win32", {"APPDATA": "/roaming", "XDG_CONFIG_HOME": "/etc/me"}, "/roaming/gitmem"),
        ("win32", {}, "/home/me/AppData/Roaming/gitmem"),
    ],
)
@pytest.mark.skipif(os.name != "posix", reason="paths as POSIX has them")
def test_own_settings_are_where_people_expect_them(platform, environ, folder):
    assert personal_folder(environ, "/home/me", platform) == folder


@pytest.mark.parametrize("text", ["", "{", "[]", '{"stores": 5}', '{"stores": {"/s": 5}}', "[" * 100_000, '{"v": 1}'])
def test_a_record_of_consent_that_cannot_be_read_is_none(tmp_path, text):
    (tmp_path / "trust.json").write_text(text)
    assert read_agreed(str(tmp_path), "/s") == {}


def test_consent_is_for_the_store_whose_folder_it_really_is(tmp_path):
    (tmp_path / "store").mkdir()
    said = {"v": 1, "stores": {os.path.realpath(tmp_path / "store"): {"sync.auto": "off"}}}
    (tmp_path / "trust.json").write_text(json.dumps(said))
    assert read_agreed(str(tmp_path), str(tmp_path / "x" / ".." / "store")) == {"sync.auto": "off"}
    assert read_agreed(str(tmp_path), str(tmp_path)) == {}
