"""Fixtures of all tests: an empty home, no git configuration, no GIT_* variables of a hook that runs the tests."""

import functools
import gc
import hashlib
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

import pytest
from hypothesis import settings

from gitmem.cli.app import AGENTS, SESSIONS
from gitmem.git.process import Git
from gitmem.platform.machine import Context, machine_name, now
from tests.copies import FolderCopies, StoreCopies, run_git

pytest_plugins = ["tests.world", "tests.agent"]  # for tests of several rooms


# A busy machine is no failure; in CI the same examples every time, on a desk new ones.
settings.register_profile("desk", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "desk")
_QUICK = 15  # examples of a property in `make test`; `make test-slow` tries hypothesis' own hundred


def pytest_configure(config: pytest.Config) -> None:
    if "not slow" in config.option.markexpr:
        settings.register_profile("quick", settings.default, max_examples=_QUICK)
        settings.load_profile("quick")


@pytest.hookimpl(tryfirst=True)  # before those that `-m` leaves out are
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the cases of a test marked `few(n)` to the slow run, but n of them that lie evenly among all."""
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("few"):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for family in cases.values():
        (count,) = family[0].get_closest_marker("few").args
        kept = {len(family) * place // count for place in range(count)}
        for place, item in enumerate(family):
            if place not in kept:
                item.add_marker("slow")


# A thousand tests start gitmem: without its compiled modules each start compiles them again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

_IN_MEMORY = "/dev/shm"  # where Linux has one
_ENOUGH = 4 << 30  # bytes; the suite needs less than half


def _keep_off_the_disk() -> None:
    """Have pytest make its folders in memory if there is room: a third of the suite's time is waiting for syncs.

    No test can see whether a disk kept synced data. Tests of full disks mount their own.
    """
    if "PYTEST_DEBUG_TEMPROOT" in os.environ or not os.access(_IN_MEMORY, os.W_OK) or not hasattr(os, "ST_NOEXEC"):
        return
    found = os.statvfs(_IN_MEMORY)
    if not found.f_flag & os.ST_NOEXEC and found.f_bavail * found.f_frsize >= _ENOUGH:
        os.environ["PYTEST_DEBUG_TEMPROOT"] = _IN_MEMORY


_keep_off_the_disk()


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Say how many workers `-n auto` is: one more than there are cores, as fast tests wait for a quarter of the time.

    The slow ones are storms, which keep all cores busy by themselves.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores + ("not slow" in config.option.markexpr)


gc.disable()  # until the tests are collected: what they consist of stays, so looking for garbage finds none


def pytest_collection_finish() -> None:
    """Have the garbage collector pass over the collected tests from now on: some 200,000 objects at each full round."""
    gc.freeze()
    gc.enable()


_STARTED = now()
_HOMES = ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA")


class RunsGit(Protocol):
    def __call__(
        self, cwd: Path, *args: str, stdin: bytes | None = None, env: Mapping[str, str] | None = None
    ) -> str: ...


def _live_in(home: Path, patch: pytest.MonkeyPatch) -> None:
    for name in _HOMES:
        patch.setenv(name, str(home))
    patch.setenv("XDG_CONFIG_HOME", str(home / ".config"))


@pytest.fixture(scope="session", autouse=True)
def _isolated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give the whole session an empty home, no GIT_* variables, no system configuration and one time zone."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            if name.startswith(("GIT_", "GITMEM_", "XDG_", "CLAUDE_")) or name in (*SESSIONS, *AGENTS):
                patch.delenv(name)
        _live_in(home, patch)
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        patch.setenv("GITMEM_EMBEDDING_PROVIDER", "none")  # though the local model may be installed
        patch.setenv("TZ", "UTC")
        if hasattr(time, "tzset"):
            time.tzset()
        yield home


@pytest.fixture(scope="session", autouse=True)
def _quick_digests() -> Iterator[None]:
    """Make a digest in a purge's record without the work that keeps others from guessing: hundreds of 40 ms each.

    What `gitmem` does as a process stays slow. `hashlib.scrypt.__wrapped__` is the real one.
    """
    real = hashlib.scrypt

    @functools.wraps(real)
    def quick(text: bytes, **given: object) -> bytes:
        return real(text, **{**given, "n": 2})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hashlib, "scrypt", quick)
        yield


@pytest.fixture(scope="session", autouse=True)
def _as_quick_as_others() -> Iterator[None]:
    """Keep the priority of this process, in which the work behind hooks runs, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gitmem.platform.machine._LOWEST", 0)
        yield


@pytest.fixture(autouse=True)
def _home_stays_empty(_isolated: Path) -> Iterator[None]:
    """Make a test that writes to the home it shares with others fail; `home` gives it one of its own.

    That stores were made on this machine, and its name, are noted there in any case.
    """
    yield
    noted = {_isolated / ".local", _isolated / ".local/share", _isolated / ".local/share/gitmem"}
    folders = (_isolated, *sorted(noted))
    left = sorted(path.name for folder in folders if folder.is_dir() for path in folder.iterdir() if path not in noted)
    left = [name for name in left if name not in {"stores", "machine", "jobs"}]
    assert not left, f"this test wrote {left} to the shared home: it needs the fixture `home`"


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give this test a home it may write to."""
    folder = tmp_path_factory.mktemp("own-home")
    _live_in(folder, monkeypatch)
    return folder


@pytest.fixture
def environ() -> dict[str, str]:
    """Copy the isolated environment, for code that is given one; ask for `home` before it if you need both."""
    return dict(os.environ)


@pytest.fixture(scope="session")
def bare_git() -> RunsGit:
    """Give a function that runs plain git in a folder, as a user with a name would, and returns what it printed."""
    return run_git


@pytest.fixture
def git_starts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Give a list that gets the subcommand of each git that gitmem starts; "" where there is none."""
    started: list[str] = []
    start = Git._start

    def counted(git: Git, args: tuple[str, ...], *rest: object, **named: object) -> object:
        started.append(next((arg for arg in args if not arg.startswith("-") and "=" not in arg), ""))
        return start(git, args, *rest, **named)

    monkeypatch.setattr(Git, "_start", counted)
    return started


@pytest.fixture
def folder_for_all() -> Iterator[Path]:
    """Give a folder that other users can reach, unlike pytest's."""
    folder = Path(tempfile.mkdtemp(prefix="gitmem-"))
    folder.chmod(0o777)
    yield folder
    for path in (folder, *folder.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o700)
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def new_store(tmp_path_factory: pytest.TempPathFactory) -> StoreCopies:
    return StoreCopies(tmp_path_factory.mktemp("stores"))


@pytest.fixture(scope="session")
def folder_copies(tmp_path_factory: pytest.TempPathFactory) -> FolderCopies:
    return FolderCopies(tmp_path_factory.mktemp("copies"))


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel of this checkout."""
    out, root = tmp_path_factory.mktemp("wheel"), Path(__file__).parent.parent
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(root)]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "HOME": str(out)})
    return next(out.glob("*.whl"))


@pytest.fixture
def initialize(new_store: StoreCopies, environ: dict[str, str]) -> Callable[[Path], None]:
    """Give a function that does what `gitmem init` does in a folder, without the command."""

    def make(folder: Path) -> None:
        new_store(folder, Context(environ, environ["HOME"], machine_name(environ["HOME"]), now), _STARTED)

    return make


class FakeProvider:
    """A server on loopback that embeds texts, or misbehaves as `behave` says.

    `behave` has one word for each of the next requests; after them answers are right again. `asked` has the requests.
    Each word of a text adds to one component; `same` maps words to synonyms.
    """

    DIMENSIONS = 64

    def __init__(self) -> None:
        self.behave: list[str] = []
        self.asked: list[dict] = []
        self.finished: list[str] = []  # of `behave`, answers that were sent to their end
        self.headers: list[http.client.HTTPMessage] = []  # names without regard to case
        self.same: dict[str, str] = {}
        self.released = threading.Event()
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._server.handle_error = lambda *_: None  # a client that hangs up is the subject
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()

    def vector(self, text: str) -> list[float]:
        found = [0.01] * self.DIMENSIONS
        for word in re.findall(r"\w+", text.lower()):
            digest = hashlib.sha256(self.same.get(word, word).encode()).digest()
            found[int.from_bytes(digest[:2], "little") % self.DIMENSIONS] += 1.0
        return found

    def _handler(provider) -> type:  # noqa: N805  # the other `self` is the request's
        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                pass

            def do_POST(self) -> None:
                value = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                provider.asked.append({**value, "path": self.path})
                provider.headers.append(self.headers)
                behave = provider.behave.pop(0) if provider.behave else "right"
                provider.answer(self, value, *behave.partition(":")[::2])
                provider.finished.append(behave)

        return Handler

    def answer(self, request: http.server.BaseHTTPRequestHandler, value: dict, how: str, what: str) -> None:
        if how in {"hang", "slow"}:
            self.released.wait(float(what or 30))
        if how == "drip":
            request.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
            while not self.released.wait(0.05):
                request.wfile.write(b" ")
        if how == "huge":
            request.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
            for _ in range(200):
                request.wfile.write(b" " * 1_000_000)
            return
        if how == "break":
            request.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
            return
        if how == "status":
            code, _, wait = what.partition(":")
            key = request.headers.get("Authorization", "")
            self._send(request, int(code), {"error": {"message": f"no \x1b[31m for {key}"}}, {"Retry-After": wait})
            return
        if how == "redirect":
            self._send(request, 302, {}, {"Location": what})
            return
        if how in {"text", "json"}:
            self._send(request, 200, what.encode() or b"<html>not JSON</html>")
            return
        self.right(request, value, how)

    def right(self, request: http.server.BaseHTTPRequestHandler, value: dict, how: str) -> None:
        vectors = self._spoilt(how, [self.vector(text) for text in self._texts(value)])
        if "requests" in value:
            self._send(request, 200, {"embeddings": [{"values": vector} for vector in vectors]})
        else:
            data = [{"index": place, "embedding": vector} for place, vector in enumerate(vectors)]
            self._send(request, 200, {"data": data[::-1], "usage": {"total_tokens": 7}})

    def _texts(self, value: dict) -> list[str]:
        if "requests" in value:
            return [one["content"]["parts"][0]["text"] for one in value["requests"]]
        return value["input"]

    def _spoilt(self, how: str, vectors: list[list[float]]) -> list:
        spoil = {
            "fewer": lambda: vectors[:-1],
            "ragged": lambda: [vectors[0][:-1], *vectors[1:]],
            "other": lambda: [vector[:32] for vector in vectors],
            "nan": lambda: [[float("nan"), *vector[1:]] for vector in vectors],
            "zero": lambda: [[0.0] * len(vector) for vector in vectors],
            "words": lambda: [["a", *vector[1:]] for vector in vectors],
            "null": lambda: [None for _ in vectors],
        }
        return spoil.get(how, lambda: vectors)()

    def _send(self, request: http.server.BaseHTTPRequestHandler, code: int, value: object, headers=()) -> None:
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        request.send_response(code)
        for name, text in dict(headers).items():
            request.send_header(name, text)
        request.send_header("Content-Length", str(len(data)))
        request.end_headers()
        request.wfile.write(data)


class FakeModel(FakeProvider):
    """A server on loopback that answers questions, in the form of the API it is asked through.

    `reply` makes the answer of a request: a value, which is sent as JSON, or a text. `behave` knows these words, too:
    `refuse`, `fields` (the envelope lacks what it should have), `cut` (the answer ends in its middle).
    """

    def __init__(self) -> None:
        super().__init__()
        self.reply: Callable[[dict], object] = lambda _: {}

    def right(self, request: http.server.BaseHTTPRequestHandler, value: dict, how: str) -> None:
        said = self.reply(value)
        text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
        text = text[: len(text) // 2] if how == "cut" else text
        if how == "fields":
            self._send(request, 200, {"id": "x", "usage": None})
        elif request.path.endswith("/messages"):
            stop = {"refuse": "refusal", "cut": "max_tokens"}.get(how, "end_turn")
            content = [] if how == "refuse" else [{"type": "text", "text": text}]
            usage = {"input_tokens": 1_000, "output_tokens": 100}
            message = {"model": "claude-fake", "content": content, "stop_reason": stop, "usage": usage}
            self._send(request, 200, message)
        else:
            refused = how == "refuse"
            message = {"content": None if refused else text, "refusal": "I cannot help." if refused else None}
            choice = {"message": message, "finish_reason": "length" if how == "cut" else "stop"}
            usage = {"prompt_tokens": 1_000, "completion_tokens": 100}
            self._send(request, 200, {"model": "fake-mini", "choices": [choice], "usage": usage})


@pytest.fixture
def model_server() -> Iterator[FakeModel]:
    """Give a server that answers questions, correctly unless `behave` says otherwise."""
    fake = FakeModel()
    yield fake
    fake.close()


@pytest.fixture
def provider() -> Iterator[FakeProvider]:
    """Give an embedding provider on loopback, correct unless `behave` says otherwise."""
    fake = FakeProvider()
    yield fake
    fake.close()


@pytest.fixture
def grows_linearly() -> Callable[[Callable[[str], object], Callable[[int], str]], bool]:
    """Say whether a function runs at most twice as many lines of Python a character in a text 16 times as long.

    The work of `re` inside a line is not counted: `bench/hostile.py` measures it.
    """

    def check(function: Callable[[str], object], make: Callable[[int], str]) -> bool:
        short, long = make(2_000), make(32_000)
        function(short)  # compiles patterns, fills caches
        return _lines_run(function, long) <= 2 * 16 * _lines_run(function, short) + 1_000

    return check


def _lines_run(function: Callable[[str], object], argument: str) -> int:
    count = 0

    def trace(_frame: object, event: str, _arg: object) -> Callable[..., object]:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function(argument)
    finally:
        sys.settrace(before)
    return count
