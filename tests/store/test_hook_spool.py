import json
import os
import time
from pathlib import Path

import pytest

from gitmem.errors import RefusedError
from gitmem.store import spool as module
from gitmem.store.spool import HookSpool, Spool, parse

PAYLOAD = {"hook_event_name": "Stop", "session_id": "s", "last_assistant_message": "했습니다 ☕"}
DATA = json.dumps(PAYLOAD, ensure_ascii=False).encode()


@pytest.fixture
def spool(tmp_path) -> HookSpool:
    return HookSpool(str(tmp_path / "private folder"))


def put(spool: HookSpool, name: str, data: bytes, age: float = 0.0) -> None:
    spool.make()
    path = Path(spool.folder, name)
    path.write_bytes(data)
    os.utime(path, (time.time() - age, time.time() - age))


def names(spool: HookSpool) -> list[str]:
    return sorted(one.name for one in spool.read(lambda one: one))


def test_what_was_accepted_comes_out_as_it_came(spool):
    name = spool.accept("Stop", 4711, DATA)
    assert name == f"Stop-4711-{os.getpid()}-0.json"
    assert Path(spool.folder, name).read_bytes() == DATA
    for _ in range(2):
        (one,) = spool.read(lambda one: one)
        assert (one.name, one.owner, one.payload) == (name, 4711, PAYLOAD)
    spool.remove([name])
    assert list(spool.read(lambda one: one)) == []


def test_the_time_of_a_file_is_that_of_the_event(spool):
    name = spool.accept("Stop", 0, DATA)
    os.utime(Path(spool.folder, name), (1_700_000_000, 1_700_000_000.25))
    (one,) = spool.read(lambda one: one)
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
def test_the_owner_is_in_the_name(spool, name, owner):
    put(spool, name, DATA)
    assert [(one.name, one.owner) for one in spool.read(lambda one: one)] == [(name, owner)]


@pytest.mark.parametrize("event", ["", "../../x", ".git", "a/b", "x" * 5_000, "한글", "\0", "Stop\n", "C:\\x"])
def test_an_event_of_any_name_stays_in_the_folder(spool, event, tmp_path):
    name = spool.accept(event, 1, DATA)
    assert names(spool) == [name] == os.listdir(spool.folder)
    assert [path.name for path in tmp_path.iterdir()] == ["private folder"]
    assert len(name) < 100


def test_a_name_that_is_taken_is_not_overwritten(spool):
    found = [spool.accept("Stop", 1, b'{"n": %d}' % number) for number in range(30)]
    assert len(set(found)) == 30
    assert sorted(one.payload["n"] for one in spool.read(lambda one: one)) == list(range(30))


def test_what_is_too_large_is_refused(spool, monkeypatch):
    monkeypatch.setattr(module, "MAX_EVENT_BYTES", 50)
    with pytest.raises(RefusedError, match="more than gitmem handles"):
        spool.accept("Stop", 1, b"x" * 51)
    assert spool.names() == []


def test_what_waits_for_the_end_of_a_turn(spool):
    assert spool.unfinished() == 0
    for event in ("SessionStart", "UserPromptSubmit", "PostToolUse"):
        spool.accept(event, 1, DATA)
    assert spool.unfinished() == 2


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


def test_what_fits_is_counted_in_files_and_bytes(spool):
    put(spool, "Stop-0-1-0.json", DATA)
    put(spool, "Stop-0-1-1.json", DATA)
    assert spool.fits(2, 2 * len(DATA))
    assert not spool.fits(1, 2 * len(DATA))
    assert not spool.fits(2, 2 * len(DATA) - 1)


def test_a_removal_that_is_cut_off_is_seen_as_done_and_finished_by_the_next_look(spool, monkeypatch):
    names = [spool.accept(event, 1, b"{}") for event in ("UserPromptSubmit", "PostToolUse", "Stop")]
    kept = spool.accept("UserPromptSubmit", 2, b"{}")

    def killed(self, names):
        os.unlink(os.path.join(self.folder, names[0]))
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Spool, "remove", killed)
        with pytest.raises(KeyboardInterrupt):
            spool.remove(names)
    assert [one.name for one in spool.read(lambda one: one)] == [kept]
    assert os.listdir(spool.folder) == [kept]


def test_a_turn_that_is_removed_while_it_is_read_is_not_read_in_part(spool, monkeypatch):
    names = [spool.accept(event, 1, b"{}") for event in ("UserPromptSubmit", "PostToolUse", "Stop")]
    read = spool.event

    def interrupted(name):
        event = read(name)
        if names:
            spool.remove([names.pop() for _ in range(3)])
        return event

    monkeypatch.setattr(spool, "event", interrupted)
    assert list(spool.read(lambda one: one)) == []


def test_an_earlier_event_that_a_listing_missed_is_not_missed(spool, monkeypatch):
    names = sorted(spool.accept(event, 1, b"{}") for event in ("UserPromptSubmit", "PostToolUse", "Stop"))
    answers = [[names[0]], names, names]
    listed = os.listdir
    monkeypatch.setattr(os, "listdir", lambda folder: answers.pop(0) if answers else listed(folder))
    assert sorted(one.name for one in spool.read(lambda one: one)) == names
