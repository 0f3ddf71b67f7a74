"""The wheel, installed as people do, by `uv tool install` and pipx, for each Python at hand: command, data, man page.

Slow, and the Pythons but this one are left out of `.ci/run`.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import gitmem

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(sys.platform == "win32", reason="folders of POSIX"),
]
ROOT = Path(__file__).parent.parent
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
# By installer, what it is told, with the wheel and the Python, and where it then has the program and the man page.
INSTALLERS = {
    "uv": (["uv", "tool", "install", "--quiet", "--python", "{python}", "{wheel}"], ""),
    "pipx": (["pipx", "install", "--quiet", "--python", "{python}", "{wheel}"], ".local/share/man/man1/gitmem.1"),
}
_OUTSIDE = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PYTHON", "XDG_"))}


def python_of(version: str) -> str:
    """Return the program of a Python, on the PATH (where a shim may stand for none) or one of pyenv's."""
    pyenv = Path(_OUTSIDE.get("PYENV_ROOT") or Path(_OUTSIDE["HOME"], ".pyenv")) / "versions"
    for folder in (*_OUTSIDE["PATH"].split(os.pathsep), *(str(path) for path in sorted(pyenv.glob("*/bin")))):
        found = os.path.join(folder, f"python{version}")
        if os.access(found, os.X_OK):
            asked = [found, "-c", "import sys; print(sys.executable)"]
            done = subprocess.run(asked, capture_output=True, text=True, check=False)
            if done.returncode == 0:
                return done.stdout.strip()
    pytest.skip(f"there is no Python {version} here")


@pytest.fixture(scope="module")
def installers(tmp_path_factory) -> Path:
    """Give the folder of `uv` and `pipx`, which pip brings into an environment of their own."""
    folder = tmp_path_factory.mktemp("installers")
    env = _OUTSIDE | {"HOME": str(folder)}
    subprocess.run([sys.executable, "-m", "venv", folder], env=env, check=True)
    command = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "uv", "pipx"]
    done = subprocess.run(command, env=env, cwd=folder, capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"pip could not bring uv and pipx: {done.stderr.decode()[-300:]}")
    return folder / "bin"


@pytest.fixture(
    params=[
        pytest.param(f"{installer} {version}", marks=() if version == "3.13" else pytest.mark.long)
        for installer in INSTALLERS
        for version in VERSIONS
    ]
)
def installed(request, installers, wheel, home) -> Path:
    """Install the wheel into a home of its own; returns that home."""
    installer, version = request.param.split()
    python = python_of(version)
    path = os.pathsep.join((str(installers), _OUTSIDE["PATH"]))
    env = _OUTSIDE | {"HOME": str(home), "PATH": path, "UV_PYTHON_DOWNLOADS": "never"}
    command = [word.format(python=python, wheel=wheel) for word in INSTALLERS[installer][0]]
    done = subprocess.run(command, env=env, cwd=home, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    man = INSTALLERS[installer][1]
    assert not man or (home / man).exists()
    program = Path(os.path.realpath(home / ".local" / "bin" / "gitmem"))
    assert shutil.which(f"python{version}", path=program.parent), "it has the Python that was asked for"
    return home


def test_it_works_in_a_home_of_its_own(installed, environ, tmp_path):
    program = installed / ".local" / "bin" / "gitmem"
    project = tmp_path / "프로젝트 one"
    project.mkdir()

    def run(*args: str) -> str:
        done = subprocess.run([program, *args], cwd=project, env=environ, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run("--version").startswith(f"gitmem {gitmem.__version__}, installed 20")
    run("init")
    saved = json.loads(run("save", "from the wheel", "--json"))
    assert saved["id"] in run("search", "wheel", "--json")
    run("install", "claude")
    assert (project / ".claude" / "settings.json").is_file()
    assert (program.parent / "gitmem-store").exists()
    assert list(Path(os.path.realpath(program)).parent.parent.glob("share/man/man1/gitmem.1"))
