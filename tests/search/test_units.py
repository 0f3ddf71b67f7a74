"""Where a file is cut into units."""

import pytest

from gitmem.search.cut import ENTRY, HEADING, SECTION, cut
from gitmem.search.units import Excerpts, Units


def starts(text):
    return [text[start:end].split("\n")[0] for start, end, _ in cut("knowledge/a.md", text)]


@pytest.mark.parametrize("fence", ["```", "~~~", "````"])
def test_neither_a_heading_nor_an_item_within_code_is_one(fence):
    text = f"# A\ntext\n{fence}sh\n# a comment\n- [10:00] an item\n{fence}\n# B\ntext\n"

    assert starts(text) == ["# A", "# B"]
    assert starts(f"{fence}\n# a comment\n{fence}\n# B\ntext\n") == [fence, "# B"]


def test_a_fence_that_is_never_closed_or_stands_within_a_line_hides_nothing():
    assert starts("# A\nuse ``` here\n# B\n  ```\n# C\n") == ["# A", "# B", "# C"]
    assert starts("# A\n```\n# B\n~~~ and ~~~\n# C\n") == ["# A", "# B", "# C"]


def test_a_heading_with_nothing_below_it_is_no_section():
    text = "# A\n\n## B \n\t\n## C\ntext\n# D\n- [10:00] an item\n# E"
    units = Units("knowledge/a.md", text.encode())

    kinds = [units.kind(index) for index in range(len(units))]

    assert kinds == [HEADING, HEADING, SECTION, HEADING, ENTRY, HEADING]
    assert [units.unit(index).kind for index in range(len(units))] == kinds


def test_a_heading_counts_for_what_is_below_it_and_that_of_an_empty_section_for_itself():
    text = "# A\n\n## B\n\n## C\ntext\n"
    units = Units("knowledge/a.md", text.encode())

    assert [units.around(text.index(letter))[0] for letter in "ABC"] == [1, 1, 2]


def test_a_line_out_of_a_file_says_what_it_says_though_it_be_a_heading():
    assert Excerpts("knowledge/a.md", [(3, "# A")], "abc").kind(0) == SECTION
