from __future__ import annotations

import re
from pathlib import Path

from gitmem.model.entry.kinds import MemoryType

FORMAT = Path(__file__).parents[3] / "docs" / "format.md"


def test_labels_and_sections_are_those_of_the_format_page():
    page = FORMAT.read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \| ([\w ]+) \| ([\w ]+) \|$", page.partition("| type | label |")[2], re.MULTILINE)
    assert rows == [(kind.value, kind.label, kind.section) for kind in MemoryType]
