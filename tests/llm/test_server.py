"""A server asked through an official SDK: the same promises as `gitmem.llm.http` makes (`test_http`)."""

from __future__ import annotations

import socket
import sys
import time

import pytest

from gitmem.llm.errors import AnswerError, DeadlineError, ProviderError, StatusError, UnreachableError
from gitmem.llm.server import COMPLETIONS, MESSAGES, Server, _sdk

KEY = "sk-secret-key"
ASKED = {"model": "m", "messages": []}
pytestmark = pytest.mark.usefixtures("way")


def post(url: str, *, seconds: float = 20.0, asked=ASKED):
    server = Server(COMPLETIONS, url, KEY, {"Authorization": f"Bearer {KEY}"}, {})
    return server.post(asked, deadline=time.monotonic() + seconds)


def test_the_sdk_asks_where_it_is_installed(model_server, way):
    assert len(post(model_server.url)["choices"]) == 1
    assert model_server.asked[0]["path"] == "/chat/completions"
    assert model_server.asked[0]["model"] == "m"
    assert model_server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert model_server.headers[0]["User-Agent"].startswith("OpenAI/Python" if way == "sdk" else "gitmem")


@pytest.mark.parametrize("endpoint, path", [(MESSAGES, "/base/v1/messages"), (COMPLETIONS, "/base/chat/completions")])
def test_the_paths_are_the_same_on_both_ways(model_server, endpoint, path):
    server = Server(endpoint, f"{model_server.url}/base", KEY, {"Authorization": KEY}, {})
    server.post({"model": "m", "max_tokens": 5, "messages": []}, deadline=time.monotonic() + 20)
    assert model_server.asked[0]["path"] == path


@pytest.mark.parametrize("how", ["hang", "drip", "slow:5"])
def test_a_deadline_holds_however_the_server_is_late(model_server, how):
    model_server.behave = [how]
    begun = time.monotonic()
    with pytest.raises(DeadlineError, match="did not answer in time"):
        post(model_server.url, seconds=0.5)
    assert time.monotonic() - begun < 4


def test_no_time_left_is_no_request(model_server):
    with pytest.raises(DeadlineError):
        post(model_server.url, seconds=-1)
    assert model_server.asked == []


def test_one_try_is_one_request_and_the_server_says_when_to_come_again(model_server):
    model_server.behave = ["status:429:7"]
    with pytest.raises(StatusError) as caught:
        post(model_server.url)
    assert (caught.value.passing, caught.value.wait) == (True, 7.0)
    assert len(model_server.asked) == 1


@pytest.mark.parametrize("code", [400, 401, 404, 500])
def test_a_status_is_told_without_the_key(model_server, code):
    model_server.behave = [f"status:{code}:"]
    with pytest.raises(StatusError, match=str(code)) as caught:
        post(model_server.url)
    assert KEY not in f"{caught.value} {caught.value!r} {caught.value.remedy}"
    assert "\x1b" not in str(caught.value)
    assert len(model_server.asked) == 1


def test_a_redirect_is_not_followed(model_server):
    model_server.behave = [f"redirect:{model_server.url}/elsewhere"]
    with pytest.raises(StatusError, match="answers from elsewhere"):
        post(model_server.url)
    assert len(model_server.asked) == 1


def test_an_answer_that_is_no_json_is_an_error(model_server):
    model_server.behave = ["text"]
    with pytest.raises(AnswerError, match="not JSON"):
        post(model_server.url)


def test_an_answer_without_end_is_not_read_to_its_end(model_server):
    model_server.behave = ["huge"]
    with pytest.raises(AnswerError, match="more than"):
        post(model_server.url)


def test_an_answer_that_breaks_off_may_be_asked_for_again(model_server):
    model_server.behave = ["break"]
    with pytest.raises(UnreachableError):
        post(model_server.url)
    assert "choices" in post(model_server.url)


def test_a_server_that_is_not_there_is_unreachable():
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    with pytest.raises(UnreachableError):
        post(f"http://127.0.0.1:{port}")


def test_what_cannot_be_a_header_is_an_error_that_does_not_tell_it(model_server):
    server = Server(COMPLETIONS, model_server.url, f"{KEY}\n", {"Authorization": f"Bearer {KEY}\n"}, {})
    with pytest.raises(ProviderError) as caught:
        server.post(ASKED, deadline=time.monotonic() + 20)
    assert KEY not in str(caught.value)


def test_half_a_character_is_sent_as_a_question_mark(model_server):
    server = Server(COMPLETIONS, model_server.url, KEY, {}, {})
    server.post({"model": "m", "messages": ["a\ud800b"]}, deadline=time.monotonic() + 20)
    assert model_server.asked[0]["messages"] == ["a?b"]


def test_a_server_without_a_key_is_asked_without_an_sdk(model_server, monkeypatch):
    monkeypatch.setattr("gitmem.llm.server._sdk", lambda package: pytest.fail(f"{package} was asked for"))
    server = Server(COMPLETIONS, model_server.url, "", {}, {})
    assert "choices" in server.post(ASKED, deadline=time.monotonic() + 20)
    assert "Authorization" not in model_server.headers[0]


def test_an_sdk_of_another_time_is_as_good_as_none(model_server, monkeypatch):
    class Old:
        """Has nothing of what is asked for."""

        APIStatusError = APITimeoutError = ValueError

    class NotAsOld(Old):
        """Has a client that knows less."""

        DefaultHttpxClient = dict

        class OpenAI:
            def __init__(self, **_: object) -> None:
                self.chat = self.completions = self.with_streaming_response = self

            def __enter__(self):
                return self

            def __exit__(self, *_: object) -> None:
                pass

            def create(self, *, model: str) -> None:
                """Know nothing of messages."""

    for sdk in (Old, NotAsOld):
        monkeypatch.setattr("gitmem.llm.server._sdk", lambda _, sdk=sdk: sdk)
        assert "choices" in post(model_server.url)
    assert len(model_server.asked) == 2


def test_an_sdk_that_is_not_whole_is_none(tmp_path, monkeypatch):
    monkeypatch.undo()
    (tmp_path / "brokensdk.py").write_text("import a_module_that_nobody_has")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert _sdk("brokensdk") is None
    assert _sdk("a_module_that_nobody_has") is None
