import pytest

from gitmem.machine.moment import datetime
from gitmem.model.entry.kinds import MemoryType
from gitmem.model.entry.save import Save, UnknownEventError, parse_event

SAVE = Save(
    "0" * 20, datetime.fromisoformat("2026-01-11T10:11:12+09:00"), "text", MemoryType.DECISION, ("a",), "s", "cli"
)


def test_a_save_comes_back_from_its_event():
    assert parse_event(SAVE.to_event()) == SAVE


@pytest.mark.parametrize("change", [{"v": 2}, {"kind": "other"}])
def test_an_event_of_a_newer_gitmem_is_told_from_a_broken_one(change):
    with pytest.raises(UnknownEventError):
        parse_event({**SAVE.to_event(), **change})


@pytest.mark.parametrize(
    "change", [{"v": None}, {"kind": 1}, {"id": "x"}, {"text": 1}, {"tags": "a"}, {"type": "x"}, {"at": "then"}]
)
def test_a_broken_event_is_refused(change):
    with pytest.raises(ValueError):
        parse_event({**SAVE.to_event(), **change})
