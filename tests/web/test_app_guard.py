import pytest

from gitmem.web.render import MENU
from tests.web.conftest import BASE, PORT, SAME_ORIGIN, TOKEN, Viewer


def test_the_token_is_good_once_and_leaves_the_address(place):
    viewer = Viewer(*place)
    assert viewer.send("GET", "/").status_code == 401
    assert viewer.send("GET", "/?token=another-token-than-that").status_code == 403
    first = viewer.send("GET", f"/?token={TOKEN}")
    assert (first.status_code, first.headers["location"]) == (303, "/")
    cookie = first.headers["set-cookie"].lower()
    assert cookie.startswith(f"gitmem-{PORT}=")
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert TOKEN not in cookie
    again = viewer.send("GET", f"/?token={TOKEN}")
    assert again.status_code == 403
    assert "set-cookie" not in again.headers


@pytest.mark.parametrize(
    "headers, status",
    [
        ({}, 200),
        ({"host": f"localhost:{PORT}"}, 200),
        ({"host": f"evil.example:{PORT}"}, 421),
        ({"host": f"127.0.0.1.evil.example:{PORT}"}, 421),
        ({"host": f"127.0.0.1:{PORT + 1}"}, 421),
        ({"host": "127.0.0.1"}, 421),
    ],
)
def test_another_host_is_not_this_server(viewer, headers, status):
    assert viewer.send("GET", "/facts", headers=headers).status_code == status


@pytest.mark.parametrize("cookie", ["", "x", None, "of another port"])
def test_without_the_cookie_nothing_is_shown(viewer, cookie):
    (value,) = viewer.cookies.values()
    cookies = {f"gitmem-{PORT + 1}": value} if cookie == "of another port" else {f"gitmem-{PORT}": cookie}
    sent = {} if cookie is None else cookies
    for path in ("/", "/facts", "/facts.json", "/gitmem.css", "/nothing"):
        answer = viewer.send("GET", path, cookies=sent)
        assert answer.status_code == 401, path
    fact = viewer.add("We deploy on Fridays.")
    blob = viewer.json(f"/fact/{fact.id}.json")["blob"]
    form = {"data": {"blob": blob}, "headers": SAME_ORIGIN, "cookies": sent}
    assert viewer.send("POST", f"/fact/{fact.id}/retire", **form).status_code == 401
    assert viewer.json(f"/fact/{fact.id}.json")["holds"]


@pytest.mark.parametrize(
    "site, status", [("same-origin", 303), ("same-site", 403), ("cross-site", 403), ("none", 403), (None, 403)]
)
def test_only_a_page_of_this_server_changes_something(viewer, site, status):
    fact = viewer.add("We deploy on Fridays.")
    blob = viewer.json(f"/fact/{fact.id}.json")["blob"]
    headers = {"sec-fetch-site": site, "origin": "null"}
    answer = viewer.send("POST", f"/fact/{fact.id}/retire", data={"blob": blob}, headers=headers)
    assert answer.status_code == status
    assert viewer.json(f"/fact/{fact.id}.json")["holds"] == (status != 303)


@pytest.mark.parametrize("path", ["/", "/nothing", "/gitmem.js", "/?token=x"])
def test_every_answer_has_the_headers_of_safety(viewer, path):
    headers = viewer.send("GET", path).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert "http" not in policy
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"


def test_pages_hold_no_script_no_style_and_no_address_of_another_server(viewer):
    fact = viewer.add("We deploy on Fridays.")
    for path in ("", *MENU, "search?q=deploy", f"fact/{fact.id}"):
        page = viewer.get(f"/{path}")
        assert page.count("<script") == page.count('<script src="/gitmem.js" defer></script>') == 1
        for word in ("<style", " style=", " onclick", "javascript:", "http://", "https://"):
            assert word not in page.replace(BASE, ""), (path, word)
