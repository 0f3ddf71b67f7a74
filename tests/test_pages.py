"""Pages and code name code, tests, rows and sections that exist; docs/architecture.md's map has every package."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from gitmem.config.read import rules

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    *sorted((ROOT / "docs").glob("*.md")),
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    ROOT / "llms.txt",
]
ROOMS = {path.parent.name for path in (ROOT / "gitmem").glob("*/__init__.py")}
ROOMS |= {path.stem for path in (ROOT / "gitmem").glob("*.py")} - {"__init__"}
SUFFIXES = ("md", "toml", "json", "jsonl", "yaml", "py", "html")
ROW = re.compile(r"\b([RPVJMGUXNW])([0-9]{1,2})(?: to \1?([0-9]{1,2}))?\b")
_ROW = "[RPVJMGUXNW][0-9]{1,2}"
CITED = re.compile(rf"(?:spec(?:\.md)?,? |[(])({_ROW}(?:(?:, | and | to |, and )(?:{_ROW}|[0-9]{{1,2}}))*)")
PATH = re.compile(r"(?:gitmem|tests|docs|bench|hooks|templates)/(?:[\w./-]*(?:\.(?:py|md|sh)|/))?")


@cache
def names_of(module: Path) -> set[str]:
    """Return the names a module defines, and those of its classes as CLASS.NAME."""
    found: set[str] = set()
    for node in ast.parse(module.read_text(encoding="utf-8")).body:
        bodies = [node, *node.body] if isinstance(node, ast.If) else [node]
        for one in bodies:
            found |= _defined(one)
            if isinstance(one, ast.ClassDef):
                found |= {f"{one.name}.{name}" for member in one.body for name in _defined(member)}
    return found


def _defined(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return {target.id for target in targets if isinstance(target, ast.Name)}


def exists(name: str) -> bool:
    """Say whether a dotted name is a package or module of gitmem, or is defined in one."""
    parts = name.removeprefix("gitmem.").split(".")
    for count in range(len(parts), 0, -1):
        path = ROOT.joinpath("gitmem", *parts[:count])
        rest = ".".join(parts[count:])
        if path.with_suffix(".py").is_file():
            return not rest or rest in names_of(path.with_suffix(".py"))
        if (path / "__init__.py").is_file():
            return not rest or rest in names_of(path / "__init__.py")
    return False


def in_code(page: Path) -> list[str]:
    return re.findall(r"`([^`\n]+)`", page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_name_in_code_exists(page):
    names = {name for name in in_code(page) if re.fullmatch(r"[A-Za-z_]\w*(\.\w+)+", name)}
    ours = {
        name
        for name in names
        if name.split(".")[0] in {*ROOMS, "gitmem"} and name.split(".")[-1] not in SUFFIXES and name not in rules()
    }
    assert [name for name in sorted(ours) if not exists(name)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_path_in_code_exists(page):
    paths = {name for name in in_code(page) if PATH.fullmatch(name)}
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", [*PAGES, *ROOT.glob("packaging/*/README.md")], ids=lambda page: page.stem)
def test_each_page_that_is_linked_to_exists(page):
    links = re.findall(r"\]\((?!https?:|(?:\.\./)+sessions/)([^)#\s]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_each_page_is_linked_from_the_first_ones_and_in_the_menu_of_the_site(page):
    readme, index, menu = ((ROOT / name).read_text("utf-8") for name in ("README.md", "docs/index.md", "mkdocs.yml"))
    assert f"](docs/{page.name})" in readme or f"]({page.name})" in index
    assert re.search(rf"\b{page.name}\b", menu)


@pytest.mark.parametrize("name, most", [("README.md", 70), ("docs/format.md", 530)])
def test_the_pages_that_people_read_first_stay_short(name, most):
    assert len((ROOT / name).read_text(encoding="utf-8").splitlines()) <= most


def test_the_map_has_every_package_and_no_other():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w.]+)` \|", page.partition("## Map")[2].partition("\n## ")[0], re.MULTILINE)
    folders = [path.parent.relative_to(ROOT / "gitmem") for path in (ROOT / "gitmem").rglob("__init__.py")]
    assert sorted(rows) == sorted(".".join(folder.parts) for folder in folders if folder.parts)


def test_the_picture_of_the_rooms_has_every_room():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    picture = page.partition("## Rooms")[2].split("```")[1]
    drawn = {name for line in picture.splitlines() for name in re.split(r" \| |, ", line[:50].strip()) if name}
    assert drawn == ROOMS


def test_each_trip_has_at_most_six_files_that_exist():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page.partition("## From the command to the bytes")[2].partition("\n## ")[0]
    named = re.compile(r"`([\w/]+\.(?:py|sh))`")
    assert [
        name for name in named.findall(table) if not ((ROOT / "gitmem" / name).exists() or (ROOT / name).exists())
    ] == []
    rows = re.findall(r"^\| ([A-Z][0-9]+)\b[^|]*\| (.+) \|$", table, re.MULTILINE)
    trips = [(row, trip) for row, text in rows for trip in re.sub(r"\([^)]*\)", "", text).split(";")]
    assert {row for row, trip in trips if len(named.findall(trip)) > 6} == set()


@cache
def headings(page: Path) -> tuple[str, ...]:
    """Return the headings of a page outside code, and the words in bold that a paragraph begins with."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    found = re.findall(r"^(?:#+ (.+)|\*\*(.+?)\.?\*\*)", text, re.MULTILINE)
    return tuple(re.sub("[`*]", "", title or bold).strip() for title, bold in found)


def anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_anchor_that_is_linked_to_exists(page):
    links = [link.partition("#") for link in re.findall(r"\]\((?!https?:)([\w./-]*#[\w-]+)\)", page.read_text("utf-8"))]
    ours = [(page.parent / path if path else page, name) for path, _, name in links]
    assert [name for path, name in ours if name not in map(anchor, headings(path))] == []


def test_each_section_and_test_that_code_cites_exists():
    missing = []
    files = [path for folder in ("gitmem", "tests", "bench", "packaging") for path in (ROOT / folder).rglob("*.py")]
    for path in [*files, *PAGES]:
        text = re.sub(r"\n[ #]*", " ", path.read_text(encoding="utf-8"))
        for page, section in re.findall(r'\b(\w+\.md)`?, "([A-Z][^"]{2,60})"', text):
            known = headings(ROOT / "docs" / page) if (ROOT / "docs" / page).is_file() else (section,)
            missing += [f"{path.name}: {page}, {section}"] * (section not in known)
        for through in re.findall(r"Tested through ((?:[`\w./-]|, | and )+)", text):
            missing += [
                f"{path.name}: {name}" for name in re.findall(r"`([^`]+)`", through) if not (ROOT / name).exists()
            ]
    assert missing == []


def test_each_bench_is_listed():
    listed = re.findall(r"^\| `(\w+\.py)` \|", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(path.name for path in (ROOT / "bench").glob("*.py"))


def rows() -> set[str]:
    """Return the numbers of the rows that docs/spec.md has."""
    return set(re.findall(r"\*\*([A-Z][0-9]{1,2})\b", (ROOT / "docs" / "spec.md").read_text(encoding="utf-8")))


def cited(text: str) -> set[str]:
    found = set()
    for citation in CITED.findall(text):
        for letter, first, last in ROW.findall(citation):
            found |= {f"{letter}{number}" for number in range(int(first), int(last or first) + 1)}
    return found


def test_a_citation_is_read_with_all_its_rows():
    text = "(spec R2, R3 and P2), (spec J1 to J3), docs/spec.md J8, a spec of 3"
    assert cited(text) == {"R2", "R3", "P2", "J1", "J2", "J3", "J8"}


def test_each_row_of_the_spec_that_is_cited_exists():
    files = [path for folder in ("gitmem", "tests", "bench") for path in (ROOT / folder).rglob("*.py")]
    known = rows()
    assert len(known) > 60
    unknown = {
        str(path.relative_to(ROOT)): missing
        for path in [*files, *PAGES]
        if path != Path(__file__) and (missing := cited(path.read_text(encoding="utf-8")) - known)
    }
    assert unknown == {}


def test_nothing_cites_pages_that_are_not_here():
    gone = re.compile(r"design §|design\.md|field[- ]notes|style\.md|\bseed `")
    files = [path for folder in ("gitmem", "tests", "bench", "docs") for path in (ROOT / folder).rglob("*.[pm][yd]")]
    citing = [str(path) for path in files if path != Path(__file__) and gone.search(path.read_text(encoding="utf-8"))]
    assert citing == []
