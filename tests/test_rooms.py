"""The rooms of the package: each has a layer, no circle of files, and no code in a room's face."""

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in (ROOT / "gitmem").rglob("*.py")
}


def imports(name: str) -> Iterator[str]:
    """Yield the modules that a module names in any import: at the top, late, or for types alone."""
    for node in ast.walk(ast.parse(FILES[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in FILES else str(node.module)


def test_no_files_import_each_other_in_a_circle():
    graph = {name: {one for one in imports(name) if one in FILES and one != name} for name in FILES}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(" -> ".join(error.args[1])) from None


def test_each_room_has_a_layer_and_no_layer_is_a_list_of_modules():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    [rooms] = [contract for contract in contracts if contract["type"] == "layers"]
    named = [room.strip() for line in rooms["layers"] for room in line.split("|")]
    assert rooms["exhaustive"]
    assert sorted(named) == sorted({name.split(".")[1] for name in FILES if "." in name})


def test_the_face_of_a_room_holds_no_code():
    faces = [path for path in FILES.values() if path.name == "__init__.py" and path.parent.name != "gitmem"]
    kinds = (ast.Import, ast.ImportFrom, ast.Assign, ast.Expr)
    for path in faces:
        assert all(isinstance(node, kinds) for node in ast.parse(path.read_text(encoding="utf-8")).body), path


def test_the_reasons_for_the_lines_are_of_the_rooms_as_they_are():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").partition("## Why it has so many")[2]
    told = {row[0]: int(row[1]) for row in re.findall(r"^\| `(\w+)` \| ([0-9]+) \|", page, re.MULTILINE)}
    lines = Counter[str]()
    for name, path in FILES.items():
        lines[name.split(".")[1] if "." in name else ""] += len(path.read_text(encoding="utf-8").splitlines())
    assert {room for room, size in lines.items() if size > 2500} <= told.keys()
    assert {room: lines[room] for room, size in told.items() if abs(lines[room] - size * 100) > size * 15} == {}


def test_no_module_has_more_than_400_lines():
    lines = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in FILES.items()}
    assert {name: number for name, number in lines.items() if number > 400} == {}
