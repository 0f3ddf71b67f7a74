"""The text of a memory as a reader needs it: without the marks of a log, its ids and the labels that say nothing.

Tested through `tests/search/test_recall.py`.
"""

from __future__ import annotations

import re

from gitmem.model.entry.entry import without_ids
from gitmem.model.session.fields import Fields, split_fields

_HEAD = r"(?m)^- \[[^]\n]{1,40}\] \*\*(?P<label>[^*\n]{1,60})\*\*(?: #[\w/-]+)*: ?"
_SILENT = frozenset({"Exchange", "User Prompt", "Assistant Response", "Note"})
_IDLE = r"(?m)^(?:Keywords|키워드): .*\n?|^(?:Outcome|결과): (?:success|성공)$\n?|^\*\*(?:Answer):\*\* ?\n?"
_INDENT = r"(?m)^  "
_LINK = r"(?m)^(- [0-9-]{10} )\[(.*)\]\([^()\n]*\) ([0-9a-z]{11})$"  # of a concept or an episode to an exchange
_GAPS = r"\n{3,}"


def bare_text(text: str) -> str:
    """Return a text of entries without frames, ids and repetitions."""

    def label(found: re.Match[str]) -> str:
        return "" if found["label"] in _SILENT else f"{found['label']}: "

    bare = re.sub(_INDENT, "", re.sub(_HEAD, label, without_ids(text)))
    bare = re.sub(_LINK, r"\1\2 ^\3", bare)
    return re.sub(_GAPS, "\n\n", re.sub(_IDLE, "", bare)).strip()


def fields_in(text: str) -> Fields:
    """Return the fields of an exchange in the text of its entry."""
    return split_fields(re.sub(_INDENT, "", re.sub(_HEAD, "", without_ids(text))))
