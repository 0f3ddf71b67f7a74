import json
import os
import socket
import stat
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gitmem.errors import RefusedError
from gitmem.store import spool as module
from gitmem.store.spool import ANSWERED, STILL_WRITING_SECONDS, HookSpool, Spool, hold, may_answer, parse, release

START = b'{"hook_event_name": "SessionStart", "session_id": "a", "source": "startup"}'


@pytest.mark.parametrize(
    "second, answers",
    [
        ((100, START), False),
        ((101, START), True),
        ((100, START.replace(b"startup", b"compact")), True),
    ],
    ids=["the same event", "another process", "another event"],
)
def test_of_two_hooks_at_one_event_one_answers(tmp_path, second, answers):
    assert may_answer(str(tmp_path), 100, START)
    assert may_answer(str(tmp_path), *second) is answers


def test_of_many_at_once_one_answers(tmp_path):
    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(lambda _: may_answer(str(tmp_path), 100, START), range(64))) == 1


def test_without_the_number_of_the_host_each_is_answered(tmp_path):
    assert may_answer(str(tmp_path), 0, START)
    assert may_answer(str(tmp_path), 0, START)


@pytest.mark.parametrize("seconds", [-11, 3600], ids=["later", "a clock that was set back"])
def test_the_same_bytes_later_are_another_event_and_nothing_old_stays(tmp_path, seconds):
    may_answer(str(tmp_path), 99, START)
    may_answer(str(tmp_path), 100, START)
    for path in (tmp_path / ANSWERED).iterdir():
        os.utime(path, (time.time() + seconds,) * 2)
    assert may_answer(str(tmp_path), 100, START)
    assert len(list((tmp_path / ANSWERED).iterdir())) == 1


def test_where_the_folder_cannot_be_made_it_is_answered(tmp_path):
    (tmp_path / ANSWERED).write_text("in the way")
    assert may_answer(str(tmp_path), 100, START)
    assert may_answer(str(tmp_path), 100, START)


posix = pytest.mark.skipif(sys.platform == "win32", reason="modes, links and pipes as POSIX has them")
OLD = 10 * STILL_WRITING_SECONDS
WHOLE = {
    "text": {"v": 1, "kind": "save", "text": "a\nb", "tags": []},
    "unicode": {"text": "결정 ☕ \u2028 \x00"},
    "lone surrogate": {"text": "\ud800 and \udcff"},
    "nothing": {},
    "deep": {"a": {"b": [{"c": None}] * 3}},
    "large": {"text": "x" * 2_000_000},
    "numbers": {"a": 1e300, "b": -0.0, "c": 2**100},
}
NOT_WHOLE = {
    "empty": b"",
    "a beginning": b'{"v": 1, "text": "ab',
    "all but the end": b'{"v": 1, "text": "abc"',
    "a list": b"[1, 2]",
    "a number": b"12",
    "a text": b'"x"',
    "nothing": b"null",
    "no json": b"hello\n",
    "nul": b"\0" * 4096,
    "deep": b"[" * 100_000,
    "deep objects": b'{"a":' * 100_000,
    "a huge number": b'{"a": ' + b"9" * 5000 + b"}",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "private" / "spool"


@pytest.fixture
def spool(folder: Path) -> Spool:
    return Spool(str(folder))


def put(folder: Path, name: str, data: bytes, age: float = 0.0) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(data)
    os.utime(path, (time.time() - age, time.time() - age))
    return path


def contents(spool: Spool) -> list[dict[str, object]]:
    return [event.content for event in spool.events()]


# Delivering


@pytest.mark.parametrize("content", WHOLE.values(), ids=WHOLE.keys())
def test_what_was_delivered_comes_out_again(spool, content):
    name = spool.deliver(content)
    assert spool.names() == [name]
    assert [(event.name, event.content) for event in spool.events()] == [(name, content)]
    assert [(event.name, event.content) for event in spool.events()] == [(name, content)]  # to look takes nothing away
    spool.remove([name])
    assert spool.names() == contents(spool) == []


def test_events_come_in_the_order_of_their_arrival(spool):
    for number in range(300):
        spool.deliver({"number": number})
    assert [content["number"] for content in contents(spool)] == list(range(300))


@posix
def test_only_the_owner_can_read_it(spool, folder):
    before = os.umask(0)
    try:
        name = spool.deliver({"text": "secret"})
    finally:
        os.umask(before)
    assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700


@posix
def test_a_link_under_the_name_is_not_written_through(spool, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(module.time, "time_ns", lambda: 1)
    random = iter([b"aaaa", b"bbbb"])
    monkeypatch.setattr(module.os, "urandom", lambda _: next(random))
    folder.mkdir(parents=True)
    (folder / f"{1:020d}-{os.getpid()}-{b'aaaa'.hex()}.json").symlink_to(tmp_path / "outside")
    spool.deliver({"n": 1})
    assert not (tmp_path / "outside").exists()


def test_an_event_that_could_not_be_read_back_is_refused(spool, folder, monkeypatch):
    monkeypatch.setattr(module, "MAX_EVENT_BYTES", 100)
    with pytest.raises(RefusedError, match="more than gitmem handles"):
        spool.deliver({"text": "x" * 100})
    spool.deliver({"text": "x" * 80})
    assert len(contents(spool)) == 1


@posix
def test_what_could_not_be_stored_leaves_nothing(spool, folder):
    import resource  # not on Windows
    import signal

    folder.mkdir(parents=True)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            spool.deliver({"text": "x" * 5000})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert os.listdir(folder) == []


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=r"directory|exists"):
        Spool(str(tmp_path / "file" / "spool")).deliver({})


# Reading


def test_an_empty_or_missing_spool(spool, folder):
    assert spool.names() == spool.aside() == list(spool.events()) == []
    assert not folder.exists()
    spool.remove(["none.json"])
    spool.put_aside("none.json")
    assert spool.aside() == []


@pytest.mark.parametrize("data", NOT_WHOLE.values(), ids=NOT_WHOLE.keys())
def test_what_is_not_whole_waits_for_its_writer_and_is_then_put_aside(spool, folder, data):
    path = put(folder, "1.json", data)
    spool.deliver({"other": 1})
    assert contents(spool) == [{"other": 1}]
    assert path.read_bytes() == data
    os.utime(path, (time.time() - OLD, time.time() - OLD))
    assert contents(spool) == [{"other": 1}]
    assert spool.aside() == ["1.json"]
    assert (folder / "aside" / "1.json").read_bytes() == data
    assert len(spool.names()) == 1


@pytest.mark.parametrize(
    "age, aside",
    [
        (0, False),
        (STILL_WRITING_SECONDS - 5, False),
        (STILL_WRITING_SECONDS + 5, True),
        (10 * 365 * 86400, True),
        (-5, False),  # the clock of a file server may be a little ahead
        (-STILL_WRITING_SECONDS - 5, True),  # a clock that was set back
        (-10 * 365 * 86400, True),
    ],
)
def test_clocks(spool, folder, age, aside):
    put(folder, "1.json", b'{"a', age)
    put(folder, "2.json", b'{"whole": true}', age)
    assert contents(spool) == [{"whole": True}]
    assert (spool.aside() == ["1.json"]) is aside


def test_an_event_that_another_process_drained_meanwhile_is_passed_over(spool):
    names = [spool.deliver({"n": number}) for number in range(3)]
    events = spool.events()
    assert next(events).content == {"n": 0}
    spool.remove(names)
    assert list(events) == []


@posix
def test_what_is_no_file_is_put_aside_and_holds_nobody_up(spool, folder, tmp_path):
    spool.deliver({"good": 1})
    (tmp_path / "outside").write_bytes(b'{"stolen": true}')
    (folder / "link.json").symlink_to(tmp_path / "outside")
    (folder / "dangling.json").symlink_to("/nowhere")
    os.mkfifo(folder / "fifo.json")
    (folder / "folder.json").mkdir()
    (folder / "folder.json" / "precious").touch()
    here = Path.cwd()
    os.chdir(folder)  # the name of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("socket.json")
    finally:
        os.chdir(here)
    spool.deliver({"good": 2})
    assert contents(spool) == [{"good": 1}, {"good": 2}]
    assert spool.aside() == ["dangling.json", "fifo.json", "folder.json", "link.json", "socket.json"]
    assert (tmp_path / "outside").read_bytes() == b'{"stolen": true}'
    assert (folder / "aside" / "folder.json" / "precious").exists()


def test_what_is_aside_is_never_overwritten(spool, folder):
    for number in range(3):
        put(folder, "1.json", b"broken %d" % number, OLD)
        assert contents(spool) == []
    assert spool.aside() == ["1.json", "1.json.2", "1.json.3"]
    kept = {(folder / "aside" / name).read_bytes() for name in spool.aside()}
    assert kept == {b"broken 0", b"broken 1", b"broken 2"}


def test_a_place_to_put_aside_that_is_missing_holds_nobody_up(spool, folder):
    put(folder, "1.json", b"broken", OLD)
    (folder / "aside").write_bytes(b"a file")
    spool.deliver({"good": 1})
    assert contents(spool) == [{"good": 1}]
    assert (folder / "1.json").read_bytes() == b"broken"


def test_a_failure_of_the_system_says_nothing_of_the_event(spool, folder, monkeypatch):
    spool.deliver({"good": 1})
    real = os.open

    def no_more_files(path: str, flags: int, *more: int) -> int:
        if path.endswith(".json"):
            raise OSError(24, "Too many open files", path)
        return real(path, flags, *more)

    monkeypatch.setattr(module.os, "open", no_more_files)
    assert contents(spool) == []
    monkeypatch.undo()
    assert spool.aside() == []
    assert contents(spool) == [{"good": 1}]


def test_readers_at_once_put_a_broken_event_aside_once(spool, folder):
    put(folder, "1.json", b"broken", OLD)
    threads = [threading.Thread(target=lambda: list(spool.events())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert spool.aside() == ["1.json"]
    assert spool.names() == []


# What hooks delivered


PAYLOAD = {"hook_event_name": "Stop", "session_id": "s", "last_assistant_message": "했습니다 ☕"}
DATA = json.dumps(PAYLOAD, ensure_ascii=False).encode()


@pytest.fixture
def hooks(tmp_path: Path) -> HookSpool:
    return HookSpool(str(tmp_path / "private folder"))


def names(hooks: HookSpool) -> list[str]:
    return sorted(one.name for one in hooks.read(lambda one: one))


def test_what_was_accepted_comes_out_as_it_came(hooks):
    name = hooks.accept("Stop", 4711, DATA)
    assert name == f"Stop-4711-{os.getpid()}-0.json"
    assert Path(hooks.folder, name).read_bytes() == DATA
    for _ in range(2):
        (one,) = hooks.read(lambda one: one)
        assert (one.name, one.owner, one.payload) == (name, 4711, PAYLOAD)
    hooks.remove([name])
    assert list(hooks.read(lambda one: one)) == []


def test_the_time_of_a_file_is_that_of_the_event(hooks):
    name = hooks.accept("Stop", 0, DATA)
    os.utime(Path(hooks.folder, name), (1_700_000_000, 1_700_000_000.25))
    (one,) = hooks.read(lambda one: one)
    assert one.at.timestamp() == 1_700_000_000.25
    assert one.at.tzinfo is not None


@pytest.mark.parametrize(
    "name, owner",
    [
        ("Stop-12-34-1.json", 12),
        ("Stop-0-34-1.json", 0),
        ("Stop-99999999999-34-1.json", 0),
        ("Stop--5-34-1.json", 0),
        ("한글-12-34-1.json", 0),
        (".json", 0),
        ("x y.json", 0),
    ],
)
def test_the_owner_is_in_the_name(hooks, name, owner):
    put(Path(hooks.folder), name, DATA)
    assert [(one.name, one.owner) for one in hooks.read(lambda one: one)] == [(name, owner)]


@pytest.mark.parametrize("event", ["", "../../x", ".git", "a/b", "x" * 5_000, "한글", "\0", "Stop\n", "C:\\x"])
def test_an_event_of_any_name_stays_in_the_folder(hooks, event, tmp_path):
    name = hooks.accept(event, 1, DATA)
    assert names(hooks) == [name] == os.listdir(hooks.folder)
    assert [path.name for path in tmp_path.iterdir()] == ["private folder"]
    assert len(name) < 100


def test_a_name_that_is_taken_is_not_overwritten(hooks):
    found = [hooks.accept("Stop", 1, b'{"n": %d}' % number) for number in range(30)]
    assert len(set(found)) == 30
    assert sorted(one.payload["n"] for one in hooks.read(lambda one: one)) == list(range(30))


def test_what_is_too_large_is_refused(hooks, monkeypatch):
    monkeypatch.setattr(module, "MAX_EVENT_BYTES", 50)
    with pytest.raises(RefusedError, match="more than gitmem handles"):
        hooks.accept("Stop", 1, b"x" * 51)
    assert hooks.names() == []


def test_what_waits_for_the_end_of_a_turn(hooks):
    assert hooks.unfinished() == 0
    for event in ("SessionStart", "UserPromptSubmit", "PostToolUse"):
        hooks.accept(event, 1, DATA)
    assert hooks.unfinished() == 2


# What a host wrote


@pytest.mark.parametrize(
    "data",
    [
        DATA,
        b"\xef\xbb\xbf" + DATA,
        b"\r\n\t " + DATA + b"\r\n",
        DATA.replace(b", ", b",\r\n"),
        DATA + DATA,
        DATA + b"\n" + b'{"hook_event_name": "Stop"',
        DATA + b"\0\xff garbage",
        json.dumps(PAYLOAD).encode(),
    ],
)
def test_the_first_object_is_the_payload(data):
    assert parse(data) == PAYLOAD


def test_bytes_that_are_no_utf8_cost_only_themselves():
    assert parse(b'{"a": "x\xff\xfey", "b": "z\ttab"}') == {"a": "x\ufffd\ufffdy", "b": "z\ttab"}


@pytest.mark.parametrize(
    "data", [b'{"n": ' + b"9" * 10_000 + b"}", b'{"a":' * 50_000, "{}".encode("utf-16"), b"\xef\xbb\xbf"]
)
def test_no_payload(data):
    assert parse(data) is None


def test_what_fits_is_counted_in_files_and_bytes(hooks):
    put(Path(hooks.folder), "Stop-0-1-0.json", DATA)
    put(Path(hooks.folder), "Stop-0-1-1.json", DATA)
    assert hooks.fits(2, 2 * len(DATA))
    assert not hooks.fits(1, 2 * len(DATA))
    assert not hooks.fits(2, 2 * len(DATA) - 1)


def test_a_removal_that_is_cut_off_is_seen_as_done_and_finished_by_the_next_look(hooks, monkeypatch):
    names = [hooks.accept(event, 1, b"{}") for event in ("UserPromptSubmit", "PostToolUse", "Stop")]
    kept = hooks.accept("UserPromptSubmit", 2, b"{}")

    def killed(self, names):
        os.unlink(os.path.join(self.folder, names[0]))
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Spool, "remove", killed)
        with pytest.raises(KeyboardInterrupt):
            hooks.remove(names)
    assert [one.name for one in hooks.read(lambda one: one)] == [kept]
    assert os.listdir(hooks.folder) == [kept]


def test_a_turn_that_is_removed_while_it_is_read_is_not_read_in_part(hooks, monkeypatch):
    names = [hooks.accept(event, 1, b"{}") for event in ("UserPromptSubmit", "PostToolUse", "Stop")]
    read = hooks.event

    def interrupted(name):
        event = read(name)
        if names:
            hooks.remove([names.pop() for _ in range(3)])
        return event

    monkeypatch.setattr(hooks, "event", interrupted)
    assert list(hooks.read(lambda one: one)) == []


def test_an_earlier_event_that_a_listing_missed_is_not_missed(hooks, monkeypatch):
    names = sorted(hooks.accept(event, 1, b"{}") for event in ("UserPromptSubmit", "PostToolUse", "Stop"))
    answers = [[names[0]], names, names]
    listed = os.listdir
    monkeypatch.setattr(os, "listdir", lambda folder: answers.pop(0) if answers else listed(folder))
    assert sorted(one.name for one in hooks.read(lambda one: one)) == names


def test_a_payload_that_another_process_moved_is_passed_over(tmp_path):
    spool, other = HookSpool(str(tmp_path / "one")), HookSpool(str(tmp_path / "other"))
    name = spool.accept("Stop", 1, b"{}")
    spool.move(name, other)
    spool.move(name, other)
    assert (spool.names(), other.names()) == ([], [name])


def test_what_is_held_while_the_empty_folder_is_removed_is_not_lost(tmp_path, monkeypatch):
    into, names = HookSpool(str(tmp_path / "private")), HookSpool.names
    hold(str(tmp_path), "/project", "Stop", 1, b"{}")
    made = HookSpool.make

    def make(spool: HookSpool) -> None:
        made(spool)
        if spool.folder != into.folder and names(into) == []:
            release(str(tmp_path), "/project", into)  # the other process, at the worst moment

    monkeypatch.setattr(HookSpool, "make", make)
    hold(str(tmp_path), "/project", "Stop", 2, b"{}")
    release(str(tmp_path), "/project", into)
    assert [name.split("-")[1] for name in into.names()] == ["1", "2"]
