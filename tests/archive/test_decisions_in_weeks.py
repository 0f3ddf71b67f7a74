"""A rule that a user made in a prompt stays in the week of its day."""

import os
from datetime import timedelta
from pathlib import Path

from gitmem.archive.rotate import consolidate_due
from gitmem.background import process_spool
from tests.agent import BEGAN, Recorder


def test_a_rule_made_in_a_prompt_stays_in_its_week(world, tmp_path):
    session = Recorder(tmp_path / "s.jsonl", project=os.path.dirname(world.store.root))
    session.turn(1, "From now on indent with tabs, never with blanks.", "Noted.")
    session.live(world.store)
    process_spool(world.store)
    world.clock.now = BEGAN + timedelta(days=30)
    assert consolidate_due(world.store).done
    [week] = Path(world.store.root, "weekly").rglob("*.md")
    assert f"- {BEGAN:%Y-%m-%d}: **Rule**: From now on indent with tabs, never with blanks." in week.read_text("utf-8")
