"""Parts of a project: their names, their tags, and which meet."""

import pytest

from gitmem.document.scope import do_meet, is_within, scope_name, scope_tags, scopes_in, scopes_of_line


@pytest.mark.parametrize(
    "some, others, meet",
    [
        (["packages/a"], ["packages/a"], True),
        (["packages/a"], ["packages/a/src"], True),
        (["packages/a/src"], ["packages/a"], True),
        (["packages/a"], ["packages"], True),
        (["packages/a"], [""], True),
        ([], ["packages/a"], True),
        (["packages/a"], ["packages/b"], False),
        (["packages/a"], ["packages/ab"], False),
        (["packages/a", "packages/b"], ["packages/b/x"], True),
        (["../..", "/"], ["packages/b"], False),
    ],
)
def test_parts_meet_where_one_is_in_the_other(some, others, meet):
    assert do_meet(some, others) is do_meet(others, some) is meet


def test_a_part_is_named_by_its_path_and_an_entry_names_it_by_a_tag():
    assert [scope_name(path) for path in (".", "a", "/a.b/c d/", "한글/x")] == ["", "a", "a-b/c-d", "한글/x"]
    assert scopes_in(("12345678", *scope_tags("a/b"), *scope_tags(""), "in", "inn/x")) == ("a/b",)
    line = "- [2026-11-21 14:03:22] **Exchange** #a1b2c3d4 #in/packages/a #by/x: text #in/packages/b ^x4f7k2m9q0x"
    assert scopes_of_line(line) == ("packages/a",)
    assert scopes_of_line("- [2026-11-21 14:03:22] **Note**: text #in/packages/b") == ()
    assert scopes_of_line("#in/packages/b") == ()
    assert (is_within("a/b", "a"), is_within("a", "a/b"), is_within("a", "")) == (True, False, True)
