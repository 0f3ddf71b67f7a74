"""What the manifests of a project declare, each in its own format."""

import pytest

from gitmem.project.manifests import manifest_lines, manifests_in

PYPROJECT = """
[project]
dependencies = ["httpx >=0.27; python_version > '3'", "uvicorn[standard]"]
[project.scripts]
shop = "shop.cli:main"
"""
SETUP = """
[options]
install_requires =
  attrs>=20
  click
[options.entry_points]
console_scripts =
  shop = shop:main
"""
PACKAGE = """
{"name": "web", "bin": "cli.js", "scripts": {"build": "vite"}, "dependencies": {"@tiptap/core": "^2", "react": "18"}}
"""
GO = """
module a.test/shop

require (
\tgithub.com/a/b v1.2.0
\tgolang.org/x/net v0.1.0 // indirect
)
"""
MANIFESTS = {
    "pyproject.toml": (PYPROJECT, "needs httpx, uvicorn; installs shop"),
    "a/pyproject.toml": ('[tool.poetry.dependencies]\npython = "^3.11"\nrich = "*"\n', "needs python, rich"),
    "setup.cfg": (SETUP, "needs attrs, click; installs shop"),
    "requirements.txt": ("# pinned\n-r base.txt\nflask==3.0\n", "needs flask"),
    "package.json": (PACKAGE, "needs @tiptap/core, react; installs web; runs build"),
    "composer.json": ('{"require": {"php": ">=8", "monolog/monolog": "3"}}', "needs php, monolog/monolog"),
    "Cargo.toml": ('[dependencies]\nserde = "1"\n[[bin]]\nname = "shopd"\n', "needs serde; installs shopd"),
    "go.mod": (GO, "needs github.com/a/b, golang.org/x/net"),
}
BROKEN = (
    "{",
    "[1]",
    '{"dependencies": 3, "bin": ["a"]}',
    "[project\n",
    "project = 1",
    "[options]\nx = %(y)s\n",
    "[" * 9_000,
)


@pytest.mark.parametrize("name", MANIFESTS)
def test_what_a_manifest_declares_is_read(tmp_path, name):
    text, said = MANIFESTS[name]
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(text)
    assert [*manifest_lines(str(tmp_path), [name])] == [f"{name} {said}"]


@pytest.mark.parametrize("text", BROKEN)
def test_one_that_cannot_be_read_has_its_name_alone(tmp_path, text):
    for name in MANIFESTS:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
        [line] = manifest_lines(str(tmp_path), [name])
        assert line.startswith(name)
    assert [*manifest_lines(str(tmp_path), ["gone/go.mod"])] == ["gone/go.mod"]


def test_those_at_the_top_come_first_and_those_of_tests_never():
    files = ("packages/web/package.json", "tests/package.json", "a/b/c/d/go.mod", "Cargo.toml", "src/main.rs")
    assert manifests_in(files) == ["Cargo.toml", "packages/web/package.json"]
