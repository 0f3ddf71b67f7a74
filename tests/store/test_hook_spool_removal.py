from __future__ import annotations

import os

import pytest

from gitmem.store.spool.hooks import HookSpool
from gitmem.store.spool.spool import Spool


@pytest.fixture
def spool(tmp_path) -> HookSpool:
    return HookSpool(str(tmp_path))


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
    assert [one.name for one in spool.delivered()] == [kept]
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
    assert list(spool.delivered()) == []


def test_an_earlier_event_that_a_listing_missed_is_not_missed(spool, monkeypatch):
    names = sorted(spool.accept(event, 1, b"{}") for event in ("UserPromptSubmit", "PostToolUse", "Stop"))
    answers = [[names[0]], names, names]
    listed = Spool.names
    monkeypatch.setattr(Spool, "names", lambda self: answers.pop(0) if answers else listed(self))
    assert sorted(one.name for one in spool.delivered()) == names
