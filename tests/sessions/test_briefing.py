from hypothesis import given
from hypothesis import strategies as st

from gitmem.sessions.start import Part, fit, with_frame
from gitmem.text.stems import estimate_tokens

PIECES = st.lists(st.text(min_size=1, max_size=60).map(lambda text: text.replace("\n", " ")), max_size=8).map(tuple)
PARTS = st.lists(
    st.builds(Part, st.text("abc 한", max_size=10), PIECES, st.integers(1, 100), st.booleans(), st.just(())), max_size=6
)


def brief(*parts: Part, budget=200) -> str:
    return with_frame("<lead>", fit("<lead>", parts, "</close>", budget), "</close>")


def test_parts_in_their_order():
    said = brief(Part("One", ("a", "b\n  b")), Part("Empty", ()), Part("Two", ("c",)))
    assert said == "<lead>\n\n## One\na\nb\n  b\n\n## Two\nc\n\n</close>"


def test_what_does_not_fit_is_left_out_from_the_end_or_the_beginning():
    pieces = tuple(f"piece number {number:03}" for number in range(100))
    first = brief(Part("P", pieces)).split("\n")[3:-2]
    last = brief(Part("P", pieces, keep_last=True)).split("\n")[3:-2]
    assert first == list(pieces[: len(first)])
    assert last == list(pieces[-len(last) :])
    assert 20 < len(first) < 100


def test_a_piece_larger_than_all_the_room_ends_nothing():
    assert "small" in brief(Part("P", ("x" * 5_000, "small")))
    assert "x" not in brief(Part("P", ("small", "x" * 5_000))).replace("</close>", "")


def test_a_share_leaves_room_for_others():
    greedy = tuple(f"piece number {number:03}" for number in range(100))
    said = brief(Part("Greedy", greedy, share=30), Part("Late", ("late",)))
    assert "late" in said
    assert estimate_tokens(said.split("## Late")[0]) < 0.3 * 200 + 10


def test_nothing_to_tell():
    assert brief() == brief(Part("P", ())) == ""


@given(PARTS, st.integers(-5, 300))
def test_the_budget_is_kept_and_no_piece_is_cut(parts, budget):
    said = brief(*parts, budget=budget)
    if not said:
        return
    assert estimate_tokens(said) <= budget
    assert said.startswith("<lead>\n\n## ")
    assert said.endswith("\n\n</close>")
    blocks = said.removeprefix("<lead>\n\n").removesuffix("\n\n</close>")
    left = iter(parts)
    position = 0
    while position < len(blocks):
        part = next(part for part in left if _told(blocks, position, part))
        position += len(_told(blocks, position, part)) + 2


def _told(blocks: str, position: int, part: Part) -> str:
    """Return how a part is told at a place: a run of its whole pieces, some large ones passed over; "" if it is not."""
    head = f"## {part.title}\n"
    if not blocks.startswith(head, position):
        return ""
    whole = {
        "\n".join(piece for index, piece in enumerate(part.pieces) if mask >> index & 1)
        for mask in range(1, 1 << len(part.pieces))
    }
    fitting = [
        text
        for text in whole
        if blocks.startswith(head + text, position)
        and (position + len(head + text) == len(blocks) or blocks.startswith("\n\n## ", position + len(head + text)))
    ]
    return head + max(fitting, key=len) if fitting else ""
