import re
import unicodedata

import pytest

from tests.cli.commands.turns import ended
from tests.command_line import KOREAN
from tests.world import World

OBEYED = "\x7f\x9b31m\u061c\u200e\u200f\u202e\u2066"


def test_no_answer_holds_what_a_terminal_would_obey(world):
    world.commit_file(f"notes {OBEYED}.md", f"title {OBEYED}\n".encode(), f"subject {OBEYED}")
    world.remember(f"a text {OBEYED} of its own")
    for command in ("show", "log", "blame memory.md", "search own", "recall own", "status", "diff", "undo --dry-run"):
        for more in ((), ("--json",)):
            ran = world.ran(*command.split(), *more, terminal=True)
            assert not set(OBEYED) & set(ran.data.decode() + ran.err) - set("31m"), (command, more)
    world.write("memory.md", f"title {OBEYED}\n".encode())
    said = world.run("show", "--json", terminal=True)
    assert not set(OBEYED) & set(said.data.decode()) - set("31m")
    assert said.json["text"] == f"title {OBEYED}\n", "as a value it is what the file holds"
    ran = world.ran("show", f"no {OBEYED}\x1b[2J.md")
    assert ran.code
    assert not {*OBEYED, "\x1b"} & set(ran.err) - set("31m")


def test_show_takes_any_form_of_a_korean_name(world):
    world.write(KOREAN, b"x\n")
    assert world.run("show", unicodedata.normalize("NFD", KOREAN)).out == "x\n"


def test_a_fresh_clone_gives_the_same_answers(world, tmp_path):
    world.remember("하나", "--session", "s-1")
    archive = world.rotate()
    (tmp_path / "proj2").mkdir()
    world.git("clone", "-q", str(world.root), str(tmp_path / "proj2" / ".gitmem"))
    other = World(tmp_path / "proj2" / ".gitmem", world.context)

    same = ["index --json", "index", "log --json -n 0", f"blame {archive} --json", f"at HEAD {archive}", "show"]
    for command in (*same, "diff HEAD~3 --json"):
        assert other.run(*command.split()).data == world.run(*command.split()).data, command


@pytest.mark.parametrize("edited", ["^Keep", "^description", ""], ids=["text", "description", "both"])
def test_a_fact_that_was_edited_by_hand_is_shown_as_it_is_now_at_each_door(world, edited):
    ended(world.store, "Decision: keep prices in cents, because floats lose money. Add a discount.")
    world.run("facts")  # reads the headers
    (file,) = world.root.glob("facts/*/*prices*")
    lines = file.read_text().splitlines(keepends=True)
    lines = [line.replace("in cents", "in mills") if re.match(edited, line) else line for line in lines]
    with file.open("r+") as opened:  # in place, as some editors write
        opened.writelines(lines)
    for _ in range(2):  # the first one reads the edited header
        shown = {door: world.run(*door.split()).out for door in ("show s-1", "search discount", "recall discount")}
        assert [door for door, text in shown.items() if "[now: Keep prices in mills" not in text] == []
    world.run("save", "Something else")
    assert file.read_text().count("in mills") == 2
    assert "[now: Keep prices in mills" in world.run("show", "s-1").out


def test_show_on_a_terminal_writes_no_control_characters(world):
    world.write("memory.md", b"one\r\n\ttwo\x1b[2J\x9b\n\xff")

    assert (
        world.run("show", terminal=True).out
        == "one\n\ttwo\\x1b[2J\N{REPLACEMENT CHARACTER}\n\N{REPLACEMENT CHARACTER}\n"
    )
