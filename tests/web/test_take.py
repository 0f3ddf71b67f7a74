"""A document that two machines changed: a user takes a version on the page, and can undo it."""

import pytest

from tests.web.conftest import Viewer
from tests.web.test_acts import done
from tests.world import context, converge, machine, remote

__all__ = ["context", "machine", "remote"]
PATH = "knowledge/a.md"


@pytest.fixture
def shared(machine) -> Viewer:
    """The viewer of a machine with a document that another one changed in the same line."""
    first, second = machine("laptop"), machine("desktop")
    first.write(PATH, "# A\n\nIt builds.\n")
    converge(first, second)
    first.write(PATH, "# A\n\nIt builds fast.\n")
    second.write(PATH, "# A\n\nIt fails.\n")
    converge(first, second)
    return Viewer(first.root, first.context).sign_in()


def waiting(viewer: Viewer) -> list[dict]:
    return viewer.json("/review.json")["documents"]


def test_a_version_is_taken_and_that_undone(shared):
    (one,) = waiting(shared)
    assert (one["path"], one["ours"], one["theirs"]) == (PATH, "laptop", "desktop")
    assert {line["sign"] + line["text"] for line in one["lines"]} == {"-It fails.", "+It builds fast."}
    assert "1 document that two machines changed" in shared.get("/")
    answer = shared.post("/review/take", path=PATH, blob=one["blob"], take="theirs")
    commit = done(answer)
    text = (shared.root / PATH).read_text()
    assert "It fails." in text
    assert "fast" not in text
    assert not waiting(shared)
    assert f'name="commit" value="{commit}"' in shared.get(answer.headers["location"])
    done(shared.post("/undo", commit=commit, back="/review"))
    assert waiting(shared)[0]["blob"] == one["blob"]


@pytest.mark.slow
def test_what_moved_on_is_not_taken(shared):
    (one,) = waiting(shared)
    path = shared.root / PATH
    path.write_text(path.read_text() + "\nAdded by hand.\n")
    before = path.read_bytes()
    answer = shared.post("/review/take", path=PATH, blob=one["blob"], take="ours")
    assert (answer.status_code, "Added by hand." in answer.text) == (409, True)
    assert path.read_bytes() == before
    assert len(waiting(shared)) == 1
    for form, status in (
        ({"path": PATH, "blob": waiting(shared)[0]["blob"], "take": "neither"}, 422),
        ({"path": "memory.md", "blob": one["blob"], "take": "ours"}, 409),
        ({"path": "../project.txt", "blob": one["blob"], "take": "ours"}, 422),
        ({}, 422),
    ):
        assert shared.post("/review/take", **form).status_code == status, form
    assert path.read_bytes() == before
