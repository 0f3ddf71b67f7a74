"""A purged text is known again by a record that does not hold it, and leaves in whatever form it was written."""

import hashlib
import json

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gitmem.purge.record import (
    MARKER,
    Fingerprint,
    PurgeRecord,
    Replacer,
    Seeker,
    digest_of,
    forms,
    make_record,
    read_record,
    sums_of,
)

SALT = b"0123456789abcdef"
ID, NOW = "20261121-120000-0a1b2c", "2026-11-21T12:00:00+00:00"


@settings(max_examples=30)
@given(text=st.binary(min_size=4, max_size=90), before=st.binary(max_size=300), after=st.binary(max_size=300))
def test_a_text_is_found_by_its_record_wherever_it_stands(text: bytes, before: bytes, after: bytes):
    record = make_record(ID, NOW, SALT, [text])
    assert read_record(record.render(), ID) == record
    seeker = Seeker([record])
    seeker.seek(before + text + after)
    assert seeker.known == {text}
    assert seeker.done


def test_a_digest_is_the_scrypt_that_the_format_says(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(hashlib, "scrypt", hashlib.scrypt.__wrapped__)  # of hashlib, where other tests make it quick
    assert digest_of(b"swordfish", SALT).hex() == "b4db55b642eeaf6dee030b7bd014b11fa303c01157f5a02a032f86fc25638b47"


def test_what_is_not_there_is_not_found():
    seeker = Seeker([make_record(ID, NOW, SALT, [b"swordfish", "비밀번호 하나".encode()])])
    seeker.seek(b"swordfisch and sword fish" * 1000)
    assert seeker.known == set()


def test_what_changed_is_looked_through_alone_and_at_its_edges():
    seeker = Seeker([make_record(ID, NOW, SALT, [b"swordfish"])])
    seeker.seek(b"a swordfish b", before=b"a swordfih b")
    assert seeker.known == {b"swordfish"}


@pytest.mark.parametrize(
    "place, key, value",
    [
        *((("texts", 0), *wrong) for wrong in [
            ("length", 3), ("length", 10**9), ("length", 9.0), ("length", True), ("length", "9"), ("length", 1e400),
            ("scrypt", "00"), ("scrypt", 7), ("sums", [1]), ("sums", 10**12), ("sums", [256, 0]), ("sums", [-1, 0]),
            ("sums", [0.0, 0]), ("sums", [True, 0]), ("sums", "ab"), ("sums", {"0": 1, "1": 2}), ("more", 1),
        ]),
        *(((), *wrong) for wrong in [
            ("v", 2), ("v", True), ("v", 1.0), ("id", "20261121-120000-000000"), ("id", "../../x"), ("created", "now"),
            ("created", "2026-11-21"), ("salt", "00" * 15), ("salt", "zz" * 16), ("texts", []), ("texts", {}),
            ("texts", None), ("note", "hello"),
        ]),
    ],
)  # fmt: skip
def test_a_record_with_another_field_is_none(place: tuple[str | int, ...], key: str, value: object):
    said = json.loads(make_record(ID, NOW, SALT, [b"swordfish"]).render())
    assert read_record(_rendered(said), ID) is not None
    part = said
    for name in place:
        part = part[name]
    part[key] = value
    assert read_record(_rendered(said), ID) is None


def _rendered(said: object) -> bytes:
    return json.dumps(said, indent=1).encode() + b"\n"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=60)
@given(
    said=st.fixed_dictionaries(
        {},
        optional={
            "v": st.just(1) | _JSON,
            "id": st.just(ID) | _JSON,
            "created": st.just(NOW) | _JSON,
            "salt": st.just(SALT.hex()) | _JSON,
            "texts": _JSON
            | st.lists(
                st.fixed_dictionaries(
                    {
                        "length": st.integers(-1, 70_000) | _JSON,
                        "sums": st.lists(st.integers(-1, 256), max_size=3) | _JSON,
                        "scrypt": st.just("ab" * 32) | _JSON,
                    }
                ),
                max_size=3,
            ),
        },
    ),
    data=st.binary(max_size=100),
)
def test_any_json_is_a_record_that_can_be_sought_or_none(said: dict, data: bytes):
    record = read_record(_rendered(said), ID)
    if record is not None:
        assert record.render() == _rendered(said)
        seeker = Seeker([record], limited=[record.key])
        seeker.seek(data)
        assert seeker.known == set(), "nobody has a text of this digest"


def test_texts_with_the_same_sums_are_all_found():
    seen: dict[tuple[int, int], bytes] = {}
    for number in range(10_000):
        text = b"word-%05d" % number
        if (twin := seen.setdefault(sums_of(text), text)) != text:
            break
    seeker = Seeker([make_record(ID, NOW, SALT, [text, twin])])
    seeker.seek(b"of " + text + b" and " + twin)
    assert seeker.known == {text, twin}


def test_a_record_whose_sums_are_those_of_all_kinds_of_text_is_given_up(monkeypatch: pytest.MonkeyPatch):
    digests: list[bytes] = []
    data = bytes(range(256)) * 20
    honest = make_record(ID, NOW, SALT, [b"swordfish"])
    monkeypatch.setattr("gitmem.purge.record.digest_of", lambda text, _: digests.append(text) or b"")
    hostile = [
        PurgeRecord(f"{ID[:-3]}{number:03}", NOW, SALT[:-1] + bytes([number]), tuple(
            Fingerprint(8, sums_of(data[at : at + 8]), b"x" * 32) for at in range(4)
        ))
        for number in range(60)
    ]  # fmt: skip
    records = [*hostile, honest]
    seeker = Seeker(records, limited=[record.key for record in records])
    seeker.seek(data)
    assert seeker.gave_up
    assert honest.key not in seeker.gave_up
    assert len(digests) <= 20 + 3 * len(data) * (60 * 4 + 1) / 65536 + 1
    free = Seeker(hostile)
    free.seek(data)
    assert not free.gave_up, "what this machine made itself is sought without a limit"


@settings(max_examples=60)
@given(text=st.text(alphabet="ab", min_size=9, max_size=40).map(str.encode), cut=st.integers(1, 39), data=st.data())
def test_what_is_left_of_a_text_is_the_longest_part_of_it(text: bytes, cut: int, data: st.DataObject):
    bare = b"c" + data.draw(st.text(alphabet="ab", max_size=30)).encode() + text[: min(cut, len(text) - 1)]
    size = max((size for size in range(8, len(text)) if bare.endswith(text[:size])), default=0)
    assume(text not in bare)
    clean = bare[: len(bare) - size] + (MARKER if size else b"")
    assert Replacer([text]).clean(bare + "…".encode()) == clean + "…".encode()


def test_a_text_that_repeats_itself_leaves_pieces_that_repeat_it_too():
    text = b"-" * 60_000 + b"b"
    data = (b"-" * 3_000 + "…".encode()) * 300
    assert Replacer([text]).clean(data) == (MARKER + "…".encode()) * 300


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
