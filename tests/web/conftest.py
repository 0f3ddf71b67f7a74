"""A store with facts, and a browser without a browser: requests to the application in this process."""

from __future__ import annotations

import anyio
import httpx2
import pytest

from gitmem.document.entry import MemoryType
from gitmem.platform.machine import Context
from gitmem.record.save import save
from gitmem.store.known_facts import known_facts
from gitmem.web.app import Pages, make_app
from tests.copies import StoreCopies
from tests.world import NOON as NOW
from tests.world import World

PORT = 8791
TOKEN = "a-token-of-the-tests"
BASE = f"http://127.0.0.1:{PORT}"
SAME_ORIGIN = {"sec-fetch-site": "same-origin", "origin": "null"}


class Viewer(World):
    """A store, and what its pages answer to one browser, which keeps its cookie."""

    def __init__(self, root, context: Context, *, read_only: bool = False) -> None:
        super().__init__(root, context)
        self.app = make_app(Pages(self.reopen, forms=not read_only), PORT, TOKEN)
        self.cookies: dict[str, str] = {}

    def add(self, text: str, kind: str = "decision"):
        """Save a fact and return it."""
        saved = save(self.reopen(), self.event(text, MemoryType(kind), host="cli"), scan=True)
        return next(fact for fact in known_facts(self.reopen()) if fact.id == saved.id)

    def send(self, method: str, path: str, *, data=None, headers=None, cookies=None) -> httpx2.Response:
        """Return the answer to one request, without following where it leads."""
        sent = {"host": f"127.0.0.1:{PORT}", **(headers or {})}
        sent = {name: value for name, value in sent.items() if value is not None}
        jar = self.cookies if cookies is None else cookies
        if jar:
            sent["cookie"] = "; ".join(f"{name}={value}" for name, value in jar.items())

        async def run():
            transport = httpx2.ASGITransport(self.app)
            async with httpx2.AsyncClient(transport=transport, base_url=BASE) as client:
                return await client.request(method, path, data=data, headers=sent)

        return anyio.run(run)

    def sign_in(self) -> Viewer:
        answer = self.send("GET", f"/?token={TOKEN}")
        assert answer.status_code == 303, answer.text
        self.cookies = {answer.headers["set-cookie"].partition("=")[0]: answer.cookies[f"gitmem-{PORT}"]}
        return self

    def get(self, path: str, status: int = 200) -> str:
        answer = self.send("GET", path)
        assert answer.status_code == status, answer.text
        return answer.text

    def json(self, path: str):
        answer = self.send("GET", path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, /, **data) -> httpx2.Response:
        return self.send("POST", path, data=data, headers=SAME_ORIGIN)


@pytest.fixture
def place(context: Context, tmp_path, new_store: StoreCopies):
    project = tmp_path / "프로젝트 one"
    project.mkdir()
    new_store(project, context, NOW)
    return project / ".gitmem", context


@pytest.fixture
def viewer(place) -> Viewer:
    return Viewer(*place).sign_in()
