import unicodedata

from tests.cli.commands.project import KOREAN, Desk

OBEYED = "\x7f\x9b31m\u061c\u200e\u200f\u202e\u2066"


def test_no_answer_holds_what_a_terminal_would_obey(desk):
    desk.write(f"notes {OBEYED}.md", f"title {OBEYED}\n".encode(), f"subject {OBEYED}")
    desk.save(f"a text {OBEYED} of its own")
    for command in ("show", "log", "blame memory.md", "search own", "recall own", "status", "diff", "undo --dry-run"):
        for more in ((), ("--json",)):
            ran = desk.ran(*command.split(), *more, terminal=True)
            assert not set(OBEYED) & set(ran.data.decode() + ran.err) - set("31m"), (command, more)
    desk.write("memory.md", f"title {OBEYED}\n".encode())
    said = desk.run("show", "--json", terminal=True)
    assert not set(OBEYED) & set(said.data.decode()) - set("31m")
    assert said.json["text"] == f"title {OBEYED}\n", "as a value it is what the file holds"
    ran = desk.ran("show", f"no {OBEYED}\x1b[2J.md")
    assert ran.code
    assert not {*OBEYED, "\x1b"} & set(ran.err) - set("31m")


def test_show_takes_any_form_of_a_korean_name(desk):
    desk.write(KOREAN, b"x\n")
    assert desk.run("show", unicodedata.normalize("NFD", KOREAN)).out == "x\n"


def test_a_fresh_clone_gives_the_same_answers(desk, tmp_path):
    desk.save("하나", "--session", "s-1")
    archive = desk.rotate()
    other = Desk(tmp_path / "proj2", desk.git)
    other.project.mkdir()
    desk.git(other.project, "clone", "-q", str(desk.store), ".gitmem")

    same = ["index --json", "index", "log --json -n 0", f"blame {archive} --json", f"at HEAD {archive}", "show"]
    for command in (*same, "diff HEAD~3 --json"):
        assert other.run(*command.split()).data == desk.run(*command.split()).data, command


def test_show_on_a_terminal_writes_no_control_characters(desk):
    desk.write("memory.md", b"one\r\n\ttwo\x1b[2J\x9b\n\xff")

    assert (
        desk.run("show", terminal=True).out
        == "one\n\ttwo\\x1b[2J\N{REPLACEMENT CHARACTER}\n\N{REPLACEMENT CHARACTER}\n"
    )
