from __future__ import annotations

from tests.cli.commands.project import COMMIT_KEYS, LONG, Desk


def test_blame(desk: Desk):
    saved = [desk.save(f"fact {n} {LONG}", "--session", f"session-{n}-long") for n in range(3)]
    archive = desk.rotate()

    lines = desk.run("blame", archive).out.splitlines()
    facts = [line for line in lines if "fact" in line]
    assert len(facts) == 3
    for n, line in enumerate(facts):
        assert f"  cli/session-  {saved[n]['commit'][:10]}  " in line
        assert f"fact {n} " in line
    number = next(n for n, line in enumerate(lines, 1) if "fact 1" in line)
    assert desk.run("blame", f"{archive}:{number}").out.split() == lines[number - 1].split()
    assert len(desk.run("blame", f"{archive}:1-4").out.splitlines()) == 4

    value = desk.run("blame", f"{archive}:{number}-{number + 1}", "--json").json
    assert list(value) == ["path", "lines"]
    assert value["path"] == archive
    assert [line["line"] for line in value["lines"]] == [number, number + 1]
    assert list(value["lines"][0]) == ["line", "text", "origin"]
    assert list(value["lines"][0]["origin"]) == COMMIT_KEYS
    assert value["lines"][0]["origin"]["session"] == "session-1-long"


def test_blame_of_what_is_not_committed(desk: Desk):
    desk.save("one")
    with (desk.store / "memory.md").open("a") as file:
        file.write("by hand\x1b[2J\n")
    desk.write("empty.md", b"")

    assert desk.run("blame", "memory.md").out.splitlines()[-1].split()[:3] == ["not", "committed", "yet"]
    assert "\x1b" not in desk.run("blame", "memory.md").out
    assert desk.run("blame", "memory.md", "--json").json["lines"][-1]["origin"] is None
    assert desk.run("blame", "empty.md").data == b""
