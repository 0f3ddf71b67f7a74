"""Find the files and commands that a text for an agent names, so that their use can be seen afterwards. Pure.

Tested through `tests/memory/guide/test_measure.py`.
"""

from __future__ import annotations

import re

_MOST = 12  # names of a text
_READ = 20_000  # characters of a text
# As strings: a hook that tells nothing compiles none of them.
_CODE = r"`([^`\n]{3,160})`"
_FILE = r"(?<![\w./:@-])(?:[\w.@+-]{1,60}/){0,12}[\w@+-][\w.@+-]{0,60}\.(?:[A-Za-z]{2,5}|[chrR])(?![\w/])"
_NO_FILE = (".com", ".org", ".net", ".io", ".dev")
_OWN = r"gitmem\b|memory\.md$"  # what a start says of itself
_HEAD = r"(?m)^(?:\[[^\n]*\]|</?gitmem[^\n]*)$"  # says where a memory is from


def names_of(text: str) -> tuple[str, ...]:
    """Return the files and commands that a text names; lines about the origin of a memory are skipped."""
    if not text:
        return ()
    body = re.sub(_HEAD, "", text[:_READ])
    found = [" ".join(one.split()) for one in re.findall(_CODE, body)]
    found += [name for name in re.findall(_FILE, re.sub(_CODE, " ", body)) if not name.lower().endswith(_NO_FILE)]
    return tuple(name for name in dict.fromkeys(found) if not re.match(_OWN, name))[:_MOST]
