"""Read headers that gitmem did not write: other tools' documents, an agent's memory files, facts made by hand.

python-frontmatter reads them, by a handler of its documented kind. What gitmem writes is plain lines
(`document.plain_header`), which need no YAML.
"""

from __future__ import annotations

from frontmatter import parse
from frontmatter.default_handlers import BaseHandler

from gitmem.document.yaml import load_mapping

_FENCE = "---\n"


class StrictHeader(BaseHandler):
    """The header between two fences of ours, as strict YAML: no alias, no key twice, within bounds."""

    START_DELIMITER = END_DELIMITER = _FENCE.rstrip()

    def __init__(self) -> None:
        """Need no pattern of a fence: `document.Document` has found them, as YAML, Jekyll and Pandoc have it."""

    def split(self, text: str) -> tuple[str, str]:
        """Return the header between the fences, and no content."""
        return text[len(_FENCE) : -len(_FENCE.rstrip())], ""

    def load(self, fm: str) -> dict[str, object]:
        """Return the values of a header; raises `YamlTextError`."""
        return load_mapping(fm)


def read_header(header: str) -> dict[str, object]:
    """Return the values of a header, without its fences. Raises `YamlTextError`."""
    metadata: dict[str, object] = parse(f"{_FENCE}{header}{_FENCE}", handler=StrictHeader())[0]
    return metadata
