"""A document of knowledge is rewritten when it changes, and a person's sections stay (docs/format.md)."""

from __future__ import annotations

from datetime import UTC, datetime

from gitmem.lessons.knowledge_document import Knowledge, KnowledgeKind, parse_knowledge, render_knowledge
from gitmem.merge.documents import MergeStatus, merge

AT = datetime(2026, 10, 2, 9, tzinfo=UTC)
LATER = datetime(2026, 10, 3, 9, tzinfo=UTC)
STACK = Knowledge(KnowledgeKind.STACK, ("Python >=3.11",), ("pyproject.toml",), ("x0000000001",), 0.9, "abc1234")


def test_it_is_read_as_it_was_written_and_not_written_twice():
    data = render_knowledge(STACK, None, AT)
    assert data is not None
    known = parse_knowledge(data)
    assert known is not None
    assert known.lines == STACK.lines
    assert (known.files, known.sources, known.confidence, known.commit) == (STACK.files, STACK.sources, 0.9, "abc1234")
    assert known.updated == AT
    assert render_knowledge(STACK, data, LATER) is None


def test_a_change_keeps_what_a_person_added():
    data = render_knowledge(STACK, None, AT)
    assert data is not None
    data += b"\n## Mine\n\n- We leave Python 3.11 in spring.\n"
    changed = render_knowledge(Knowledge(STACK.kind, ("Python >=3.12",)), data, LATER)
    assert changed is not None
    text = changed.decode()
    assert text.endswith("# Stack\n\n- Python >=3.12\n\n## Mine\n\n- We leave Python 3.11 in spring.\n")
    known = parse_knowledge(changed)
    assert known is not None
    assert (known.lines, known.updated) == (("Python >=3.12",), LATER)


def test_two_machines_documents_wait_for_nobody():
    base = render_knowledge(STACK, None, AT)
    one = render_knowledge(Knowledge(STACK.kind, ("Python >=3.12",)), base, AT)
    other = render_knowledge(Knowledge(STACK.kind, ("Python >=3.13",)), base, LATER)
    merged = merge(STACK.kind.path, base, one, other)
    assert merged == merge(STACK.kind.path, base, other, one)
    assert merged.status is MergeStatus.MERGED
    assert merged.data is not None
    known = parse_knowledge(merged.data)
    assert known is not None
    assert known.lines == ("Python >=3.13",)
