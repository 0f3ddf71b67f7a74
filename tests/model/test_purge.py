"""A purged text is known again by a record that does not hold it, and leaves in whatever form it was written."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.model.purge import MARKER, Replacer, Seeker, forms, make_record, read_record

SALT = b"0123456789abcdef"


@settings(max_examples=30)
@given(text=st.binary(min_size=4, max_size=90), before=st.binary(max_size=300), after=st.binary(max_size=300))
def test_a_text_is_found_by_its_record_wherever_it_stands(text: bytes, before: bytes, after: bytes):
    record = make_record("x", "now", SALT, [text])
    assert read_record(record.render()) == record
    seeker = Seeker([record])
    seeker.seek(before + text + after)
    assert seeker.known == {text}
    assert seeker.done


def test_what_is_not_there_is_not_found():
    seeker = Seeker([make_record("x", "now", SALT, [b"swordfish", "비밀번호 하나".encode()])])
    seeker.seek(b"swordfisch and sword fish" * 1000)
    assert seeker.known == set()


def test_what_changed_is_looked_through_alone_and_at_its_edges():
    seeker = Seeker([make_record("x", "now", SALT, [b"swordfish"])])
    seeker.seek(b"a swordfish b", before=b"a swordfih b")
    assert seeker.known == {b"swordfish"}


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"{}", b"\xff", b'{"v": 2}', b"[" * 100_000, b'{"v":1,"id":"a","created":"b","salt":"00","texts":[]}'],
)
def test_what_is_no_record_is_none(data: bytes):
    assert read_record(data) is None


@pytest.mark.parametrize("key, value", [("length", 3), ("length", 10**9), ("sums", [1]), ("scrypt", "00")])
def test_a_hostile_record_is_none(key: str, value: object):
    said = json.loads(make_record("x", "now", SALT, [b"swordfish"]).render())
    said["texts"][0][key] = value
    assert read_record(json.dumps(said).encode()) is None


@pytest.mark.parametrize(
    "data, clean",
    [
        (b"the key hunter2-Staging.", b"the key (purged)."),
        (b'{"text": "hunter2-Staging"}', b'{"text": "(purged)"}'),
        (b"keywords: [hunter2-staging]", b"keywords: [(purged)]"),
        ("Save: it is hunter2-S…".encode(), "Save: it is (purged)…".encode()),
        ("… 20 left out …\n2-Staging, he said".encode(), "… 20 left out …\n(purged), he said".encode()),
        ("hunter…".encode(), "hunter…".encode()),
        (b"nothing", b"nothing"),
    ],
)
def test_the_forms_of_a_text_are_replaced(data: bytes, clean: bytes):
    replacer = Replacer([b"hunter2-Staging"])
    assert replacer.clean(data) == clean
    assert replacer.clean(clean) == clean


def test_text_of_several_lines_as_entries_and_json_have_it():
    text = 'line "one"\nzeile ☕'
    for form in (json.dumps(text), json.dumps(text, ensure_ascii=False), json.dumps(json.dumps(text))):
        cleaned = Replacer([text.encode()]).clean(form.encode())
        assert MARKER in cleaned
        assert b"zeile" not in cleaned
    assert 'line "one"\n  zeile ☕'.encode() in forms(text.encode())


def test_the_name_of_a_file_loses_it_and_stays_its_own():
    replacer = Replacer([b"Hunter2 Staging"])
    names = {replacer.clean_path(f"facts/decision/d{number}-hunter2-staging.md".encode()) for number in range(3)}
    assert len(names) == 3
    assert all(b"hunter2" not in name and name.startswith(b"facts/decision/d") for name in names)
    assert replacer.clean_path(b"memory.md") == b"memory.md"
