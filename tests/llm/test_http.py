import socket
import time
from urllib.parse import urlsplit

import pytest

from gitmem.llm.http import _connection, is_private, post_json
from gitmem.llm.protocol import AnswerError, ConnectionFailedError, DeadlineError, Patience, ProviderError, StatusError


class Pauses:
    """A patience that does not wait, and remembers for how long it would have."""

    def __init__(self, tries: int = 4) -> None:
        self.made: list[float] = []
        self.patience = Patience(tries=tries, sleep=self.made.append, random=lambda: 0.5)


def post(provider, *, seconds: float = 20.0, **options):
    return post_json(
        f"{provider.url}/embeddings",
        {"input": ["a"]},
        headers={"Authorization": "Bearer sk-secret-key"},
        deadline=time.monotonic() + seconds,
        **options,
    )


@pytest.mark.parametrize("how", ["hang", "drip", "slow:30"])
def test_a_deadline_holds_however_the_server_is_late(provider, how):
    provider.behave = [how]
    with pytest.raises(DeadlineError, match="did not answer in time"):
        post(provider, seconds=0.3)
    assert provider.finished == []  # nobody waited for the answer


def test_no_time_left_is_no_request(provider):
    with pytest.raises(DeadlineError):
        post(provider, seconds=-1)
    assert provider.asked == []


def test_a_server_that_asks_for_more_time_than_there_is_is_not_waited_for(provider):
    provider.behave = ["status:429:60"]
    pauses = Pauses()
    with pytest.raises(StatusError) as caught:
        post(provider, patience=pauses.patience, seconds=5)
    assert (caught.value.status, caught.value.wait, pauses.made) == (429, 60.0, [])


def test_what_a_server_says_is_told_without_the_key_and_without_control_characters(provider):
    provider.behave = ["status:401:"]
    with pytest.raises(StatusError) as caught:
        post(provider)
    said = str(caught.value)
    assert "401" in said
    assert "[key]" in said
    assert "sk-secret-key" not in f"{said} {caught.value!r} {caught.value.remedy}"
    assert "\x1b" not in said


def test_a_redirect_is_not_followed(provider):
    provider.behave = [f"redirect:{provider.url}/elsewhere"]
    with pytest.raises(StatusError, match="redirects to another address"):
        post(provider, patience=Pauses().patience)
    assert len(provider.asked) == 1


def test_an_answer_without_end_is_not_read_to_its_end(provider):
    provider.behave = ["huge"]
    with pytest.raises(AnswerError, match="more than"):
        post(provider, most=2_000_000)


def test_an_answer_that_breaks_off_is_asked_for_again(provider):
    provider.behave = ["break"]
    assert "data" in post(provider, patience=Pauses().patience)


def test_a_server_that_is_not_there_is_unreachable():
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    pauses = Pauses(tries=2)
    with pytest.raises(ConnectionFailedError):
        post_json(f"http://127.0.0.1:{port}/", {}, headers={}, deadline=time.monotonic() + 9, patience=pauses.patience)
    assert len(pauses.made) == 1


@pytest.mark.parametrize("url", ["", "ftp://a/b", "file:///etc/passwd", "http://", "://", "http://[::1"])
def test_what_is_no_address_is_refused(url):
    with pytest.raises(ProviderError):
        post_json(url, {}, headers={}, deadline=time.monotonic() + 1)


@pytest.mark.parametrize(
    "environ, host, tunnel",
    [
        ({}, "api.example.org", None),
        ({"https_proxy": "http://proxy:3128"}, "proxy", "api.example.org"),
        ({"HTTPS_PROXY": "proxy:3128", "no_proxy": "example.com,other.org"}, "proxy", "api.example.org"),
        ({"https_proxy": "http://proxy:3128", "NO_PROXY": "localhost, .example.org"}, "api.example.org", None),
        ({"https_proxy": "http://proxy:3128", "no_proxy": "*"}, "api.example.org", None),
    ],
)
def test_the_environment_names_proxies_for_https(environ, host, tunnel):
    connection = _connection(urlsplit("https://api.example.org/v1"), 1.0, environ)
    assert (connection.host, connection._tunnel_host) == (host, tunnel)


@pytest.mark.parametrize(
    "url, private",
    [
        ("http://localhost:1/v1", True),
        ("http://127.0.0.1/", True),
        ("http://[::1]:8/", True),
        ("http://192.168.3.4/", True),
        ("http://8.8.8.8/", False),
        ("http://example.org/", False),
        ("http://localhost.example.org/", False),
    ],
)
def test_private_addresses(url, private):
    assert is_private(url) is private
