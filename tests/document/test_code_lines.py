from base64 import urlsafe_b64encode

from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.document.code_lines import (
    Written,
    add_written,
    digest_of,
    lines_path,
    merge_written,
    parse_written,
    without_digests,
)
from gitmem.merge.documents import MergeStatus, merge
from gitmem.redact.redact import redact

_DIGESTS = [digest_of(f"a line of code number {word}") for word in ["one", "two", "three", "four", "five", "six"]]
_ROW = st.builds(
    Written,
    st.just("14:03:22"),
    st.sampled_from(["x4f7k2m9q0x", "x000000000a", "x000000000b"]),
    st.sampled_from(["src/a.py", "with a blank/이름.py"]),
    st.lists(st.sampled_from(_DIGESTS), min_size=1, unique=True).map(tuple),
)
_RECORD = st.lists(_ROW, max_size=6).map(lambda rows: add_written(b"", rows))


@settings(max_examples=50, deadline=None)
@given(_RECORD)
def test_a_record_is_read_as_it_was_written(record):
    assert add_written(b"", parse_written(record)) == record
    assert add_written(record, parse_written(record)) == record


@settings(max_examples=50, deadline=None)
@given(_RECORD, _RECORD, _RECORD)
def test_records_merge_as_sets_whichever_side_is_ours(base, ours, theirs):
    merged = merge_written(base, ours, theirs)
    assert merged == merge_written(base, theirs, ours)
    assert merge_written(base, base, theirs) == theirs
    assert merge_written(ours, ours, ours) == ours
    assert merge_written(b"", ours, theirs) == add_written(ours, parse_written(theirs))
    whole = merge(lines_path("2026-11-20"), base, ours, theirs)
    assert whole.data == (merged or whole.data)
    assert whole.status is not MergeStatus.REVIEW


@given(
    st.lists(st.binary(min_size=8, max_size=8), min_size=1, max_size=9), st.sampled_from(["login", "api_key", "토큰"])
)
def test_the_digests_of_a_row_are_no_secret_whatever_its_file_is_called(digests, word):
    parts = tuple(urlsafe_b64encode(digest).decode()[:11] for digest in digests)
    text = add_written(b"", [Written("14:03:22", "x4f7k2m9q0x", f"src/{word}.py", parts)]).decode()
    assert len(without_digests(lines_path("2026-11-20"), text)) == len(text)
    assert not redact(without_digests(lines_path("2026-11-20"), text)).findings
    assert without_digests("daily/2026/11/2026-11-20.md", text) == text


@given(st.text(alphabet="ab \nxA0", max_size=40))
def test_lines_that_are_no_rows_stay_as_they_are(text):
    assert without_digests(lines_path("2026-11-20"), text) == text
