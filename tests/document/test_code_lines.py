import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.document.code_lines import (
    Written,
    add_written,
    day_of_lines,
    digest_of,
    digests_of,
    is_below_project,
    lines_path,
    merge_written,
    parse_written,
)
from gitmem.merge.documents import MergeStatus, merge

_DIGESTS = [digest_of(f"a line of code number {word}") for word in ["one", "two", "three", "four", "five", "six"]]
_ROW = st.builds(
    Written,
    st.just("14:03:22"),
    st.sampled_from(["x4f7k2m9q0x", "x000000000a", "x000000000b"]),
    st.sampled_from(["src/a.py", "with a blank/이름.py"]),
    st.lists(st.sampled_from(_DIGESTS), min_size=1, unique=True).map(tuple),
)
_RECORD = st.lists(_ROW, max_size=6).map(lambda rows: add_written(b"", rows))


def test_form_does_not_matter_to_a_line():
    same = {
        digest_of("    return load(path, 'utf-8')"),
        digest_of('\treturn  load(path, "utf-8"),'),
        digest_of("return load(path,'utf-8');\r"),
    }
    assert len(same) == 1
    assert digest_of("return load(path, 'latin-1')") not in same


@pytest.mark.parametrize("line", ["", "else:", "}", "x = 1", "    ))", "return x"])
def test_a_line_of_few_letters_has_no_digest(line):
    assert digest_of(line) == ""
    assert digests_of([line]) == ()


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


@pytest.mark.parametrize(
    "row",
    [
        "",
        "# prose",
        "14:03:22 x4f7k2m9q0x short src/a.py",
        "14:03:22 d4f7k2m9q0x AAAAAAAAAAA a.py",
        f"14:03:22 x4f7k2m9q0x {'A' * 12} a.py",
        "14:03:22 x4f7k2m9q0x AAAAAAAAAAA a\x1b.py",
    ],
)
def test_a_line_of_another_form_is_passed_over(row):
    good = f"14:03:22 x4f7k2m9q0x {_DIGESTS[0]} a.py"
    assert [written.path for written in parse_written(f"{row}\n{good}\n".encode())] == ["a.py"]


def test_names_of_files():
    assert day_of_lines(lines_path("2026-11-20")) == "2026-11-20"
    assert day_of_lines("daily/2026/11/2026-11-20.md") == ""
    assert is_below_project("src/a.py")
    assert not any(map(is_below_project, ("/etc/passwd", "../a.py", "~/a.py", "a/../../b", "C:/a.py", "C:\\a.py")))
