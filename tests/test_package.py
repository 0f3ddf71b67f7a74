"""The package as users get it: a wheel in an empty environment, with its data, light to import."""

import json
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

import gitmem
from gitmem.platform.machine import read_resource, resource

ROOT = Path(__file__).parent.parent


@pytest.mark.slow
def test_every_module_can_be_imported():
    script = (
        "import gitmem, importlib, pkgutil\n"
        "modules = [module.name for module in pkgutil.walk_packages(gitmem.__path__, 'gitmem.')]\n"
        "modules += [f'bench.{module.name}' for module in pkgutil.iter_modules(['bench'])]\n"  # not type-checked
        "assert len(modules) > 100\n"
        "for module in modules:\n"
        "    importlib.import_module(module)\n"
    )
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "bench")))}
    subprocess.run([sys.executable, "-W", "error", "-c", script], check=True, cwd=ROOT, env=environ)


def test_resources_are_found_in_the_source_tree():
    assert read_resource("templates", "store", "FORMAT.md").startswith(b"---\nid: format\n")
    assert Path(resource("hooks")).is_dir()


def test_a_missing_resource_is_an_error_that_names_it():
    with pytest.raises(FileNotFoundError, match="templates/nothing"):
        resource("templates", "nothing")


def test_the_wheel_carries_hooks_and_templates(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert "gitmem/_data/templates/store/FORMAT.md" in names
    assert any(name.startswith("gitmem/_data/hooks/") for name in names)
    for path in (ROOT / "templates" / "git").rglob("*"):  # empty files and hidden ones as well
        assert path.is_dir() or f"gitmem/_data/{path.relative_to(ROOT).as_posix()}" in names
    assert not any(name.startswith(("tests/", "bench/")) for name in names)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.usefixtures("home")  # the pip that a new environment gets asks `rustc`, too
def test_the_wheel_works_in_an_empty_environment(wheel, tmp_path, environ):
    home = tmp_path / "an environment"
    venv.create(home, with_pip=True)
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    # pip asks `rustc` for its version, which makes a folder in the home.
    installer = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PYTHON"))}
    installer["HOME"] = str(tmp_path / "home of pip")
    subprocess.run([python, "-m", "pip", "install", "--quiet", str(wheel)], check=True, env=installer, cwd=tmp_path)
    project = tmp_path / "프로젝트 one"
    project.mkdir()

    def run(*args: str) -> str:
        command = [python, "-m", "gitmem", *args]
        return subprocess.run(command, cwd=project, env=environ, check=True, capture_output=True, text=True).stdout

    assert run("--version").startswith(f"gitmem {gitmem.__version__}, installed 20")
    run("init")
    saved = json.loads(run("save", "from the wheel", "--json"))
    assert "from the wheel" in (project / ".gitmem" / "memory.md").read_text(encoding="utf-8")
    assert json.loads(run("status", "--json"))
    assert saved["id"] in run("log", "--json")
    size = sum(path.stat().st_size for path in python.parent.parent.rglob("*") if path.is_file())
    pip_only = sum(
        path.stat().st_size
        for name in ("pip", "setuptools", "_distutils_hack", "pkg_resources")
        for path in python.parent.parent.rglob(f"site-packages/{name}*/**/*")
        if path.is_file()
    )
    assert size - pip_only < 20 * 1024 * 1024  # 15 MB and what `venv` itself brings
