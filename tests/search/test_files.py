"""One contract for the three that look for literals: the bindings, the `rg` binary, and Python's `re`."""

import os
import sys

import pytest

from gitmem.platform.machine import find_program
from gitmem.search.files import (
    LONGEST_LINE,
    BindingsScanner,
    PythonScanner,
    RgScanner,
    find_bindings,
    lines_in,
    list_paths,
    parse_blocks,
)


def make_rg(tmp_path):
    # Beside the interpreter, too: a wheel brings the binary there.
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", "")])
    rg = find_program("rg", {"PATH": path})
    if rg is None:
        pytest.skip("there is no rg on this machine")
    return RgScanner(rg, dict(os.environ))


def make_bindings(tmp_path):
    search = find_bindings()
    if search is None:
        pytest.skip("the ripgrep bindings have no wheel for this machine, or crash this Python")
    return BindingsScanner(search, str(tmp_path))


def test_bindings_that_would_crash_python_are_not_loaded(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 14, 0, "final", 0))
    assert find_bindings() is None


@pytest.fixture(params=[make_bindings, make_rg, lambda _: PythonScanner()], ids=["bindings", "rg", "re"])
def scanner(request, tmp_path):
    private = tmp_path / "private"
    private.mkdir()
    return request.param(private)


@pytest.fixture
def look(scanner, tmp_path):
    """Write files and return where the literals stand."""
    root = tmp_path / "store"

    def run(files: dict[str, bytes], *literals: str):
        for path, data in files.items():
            place = os.path.join(os.fsencode(root), path.encode("utf-8", "surrogateescape"))
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, "wb") as file:
                file.write(data)
        found = scanner.scan(str(root), list_paths(str(root)), literals)
        return {path: [line.number for line in lines_in(block)] for path, block in found.items()}

    return run


def test_lines_are_found_in_folders_and_at_the_top(look):
    files = {"memory.md": b"one\nAPPLE\n", "daily/2026/a.md": b"x\napple pie\nno\nPineapple", "daily/b.md": b"none\n"}

    assert look(files, "apple") == {"memory.md": [2], "daily/2026/a.md": [2, 4]}


def test_any_of_several_literals_is_found_as_it_stands(look):
    files = {"k/a.md": "a.c\nabc\n(x|y)\n[#-~]\n환불을\nÄRGER\n\\n\n".encode()}

    assert look(files, "a.c", "(x|y)", "[#-~]", "환불", "ärger", "\\n") == {"k/a.md": [1, 3, 4, 5, 6, 7]}


def test_hidden_files_and_other_kinds_of_files_are_passed_over(look):
    files = {"k/.hidden.md": b"apple\n", ".git/a.md": b"apple\n", "k/a.png": b"apple\n", "FORMAT.md": b"apple\n"}

    assert look({**files, "k/a.md": b"apple\n"}, "apple") == {"k/a.md": [1]}


def test_a_link_is_not_followed(look, tmp_path):
    (tmp_path / "outside.md").write_text("apple\n")
    (tmp_path / "store" / "k").mkdir(parents=True)
    (tmp_path / "store" / "k" / "link.md").symlink_to(tmp_path / "outside.md")
    (tmp_path / "store" / "linked").symlink_to(tmp_path)

    assert look({"k/a.md": b"apple\n"}, "apple") == {"k/a.md": [1]}


def test_a_byte_that_is_no_utf8_costs_no_line(look):
    files = {
        "k/a.md": b"apple one\nbad \xff apple\nmore apple\n",
        "k/b.md": b"bad \xff apple\n",
        "k/c.md": b"\xff\nApple\n",
    }

    assert look(files, "apple") == {"k/a.md": [1, 2, 3], "k/b.md": [1], "k/c.md": [2]}


@pytest.mark.parametrize("rules", [".gitignore", ".ignore", ".rgignore", "k/.gitignore"])
def test_a_file_that_an_ignore_file_names_is_found(look, rules):
    files = {rules: b"secret*\n*.txt\n", "k/secret.md": b"apple\n", "k/a.md": b"apple\n", "k/b.txt": b"apple\n"}

    assert look({".git/HEAD": b"ref: refs/heads/x\n", **files}, "apple") == {
        "k/secret.md": [1],
        "k/a.md": [1],
        "k/b.txt": [1],
    }


@pytest.mark.skipif(os.name == "nt", reason="no such names there")
def test_odd_names_are_no_trouble(look):
    names = [
        "k/a:3:b.md",
        "k/a.md:3:b.md",
        "k/n\nl.md",
        "k/\udcff odd.md",
        "k/한국어 이름.md",
        "k/-e.md",
        "-k/a.md",
        "k/a.md",
    ]

    found = look(dict.fromkeys(names, b"no\napple\n"), "apple")

    assert sorted(found) == sorted(names)
    assert all(lines == [2] for lines in found.values())


def test_a_line_of_megabytes_is_found_and_cut(scanner, tmp_path):
    folder = tmp_path / "store" / "k"
    folder.mkdir(parents=True)
    (folder / "a.md").write_text("apple " + "x" * 3_000_000 + "\nsmall apple\n")

    found = scanner.scan(str(tmp_path / "store"), list_paths(str(tmp_path / "store")), ["apple"])

    assert [(line.number, len(line.text)) for line in lines_in(found["k/a.md"])] == [(1, LONGEST_LINE), (2, 11)]


def test_ends_of_lines_of_other_systems_are_no_part_of_a_line(scanner, tmp_path):
    folder = tmp_path / "store" / "k"
    folder.mkdir(parents=True)
    (folder / "a.md").write_bytes(b"\xef\xbb\xbfapple\r\nb\r\napple c\r\n")

    found = scanner.scan(str(tmp_path / "store"), list_paths(str(tmp_path / "store")), ["apple"])

    assert [(line.number, line.text.lstrip("\ufeff")) for line in lines_in(found["k/a.md"])] == [
        (1, "apple"),
        (3, "apple c"),
    ]


def test_what_changes_between_two_searches_is_seen(look):
    assert look({"k/a.md": b"apple\n", "k/b.md": b"apple\n"}, "apple") == {"k/a.md": [1], "k/b.md": [1]}
    assert look({"k/a.md": b"\xff apple\n"}, "apple") == {"k/a.md": [1], "k/b.md": [1]}
    assert look({"k/.gitignore": b"b.md\n", ".git/HEAD": b"", "k/c.md": b"apple\n"}, "apple") == {
        "k/a.md": [1],
        "k/b.md": [1],
        "k/c.md": [1],
    }
    assert look({"k/a.md": b"pear\n"}, "apple") == {"k/b.md": [1], "k/c.md": [1]}


def test_no_files_are_no_trouble(look, tmp_path):
    (tmp_path / "store").mkdir()

    assert look({}, "apple") == {}


def test_what_rg_says_is_read_whatever_stands_in_paths_and_lines():
    said = b"./a\n\nb.md\x002:text\0with: nul\n7:\n\n./c:3:d.md\x0010:\xff\r\n\n./e\x001:no end"

    assert [(path, *map(tuple, lines_in(block))) for path, block in parse_blocks(said)] == [
        (b"./a\n\nb.md", (2, "text\0with: nul"), (7, "")),
        (b"./c:3:d.md", (10, "\ufffd")),
        (b"./e", (1, "no end")),
    ]
