"""Read from the manifests of the user's project its dependencies, commands and scripts.

Each is read with the parser of its format. Only names are used, not versions, which change often and say little.
"""

from __future__ import annotations

import configparser
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from gitmem.model.project_knowledge import is_aside, listed
from gitmem.project.code import read_project_file
from gitmem.values import Value

_DEEPEST = 3  # folders above a manifest
_MOST = 5  # manifests that are read
_NAME = re.compile(r"[\w@][\w@./+-]{0,79}")
_REQUIRED = re.compile(r"^\s*(?:require\s+)?([\w-]++(?:\.[\w-]++)++(?:/[\w.-]*+)*+)\s+v\d", re.MULTILINE)  # go.mod


class _Declared(Value):
    """What a manifest declares: names of packages, of commands that it installs, and of scripts to run."""

    needs: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    scripts: tuple[str, ...] = ()


def manifests_in(files: Iterable[str]) -> list[str]:
    """Return the manifests of a project and its packages, the top ones first, without tests and examples."""
    named = (file for file in files if file.rpartition("/")[2] in _READERS and not is_aside(file))
    return sorted((file for file in named if file.count("/") <= _DEEPEST), key=lambda file: (file.count("/"), file))


def manifest_lines(root: str, manifests: Iterable[str]) -> Iterator[str]:
    """Yield a line on what each of the first manifests declares; for an unparsable one only its name."""
    for manifest in [*manifests][:_MOST]:
        try:
            declared = _READERS[manifest.rpartition("/")[2]](read_project_file(root, manifest))
        except (ValueError, RecursionError, configparser.Error):
            declared = _Declared()
        parts = (("needs", declared.needs), ("installs", declared.commands), ("runs", declared.scripts))
        phrases = [f"{verb} {listed(names)}" for verb, names in parts if names]
        yield f"{manifest} {'; '.join(phrases)}" if phrases else manifest


def _of_pyproject(text: str) -> _Declared:
    manifest = tomllib.loads(text)
    poetry = _at(manifest, "tool", "poetry")
    needs = _names(_at(manifest, "project").get("dependencies")) or _names(poetry.get("dependencies"))
    return _Declared(needs, _names(_at(manifest, "project", "scripts")) or _names(poetry.get("scripts")))


def _of_setup(text: str) -> _Declared:
    manifest = configparser.ConfigParser(interpolation=None)
    manifest.read_string(text)
    needs = manifest.get("options", "install_requires", fallback="").splitlines()
    return _Declared(
        _names(needs), _names(manifest.get("options.entry_points", "console_scripts", fallback="").splitlines())
    )


def _of_package(text: str) -> _Declared:
    manifest = _at(json.loads(text))
    installs = manifest.get("bin")
    commands = _names([manifest.get("name")]) if isinstance(installs, str) else _names(installs)
    return _Declared(
        _names(manifest.get("dependencies") or manifest.get("require")), commands, _names(manifest.get("scripts"))
    )


def _of_cargo(text: str) -> _Declared:
    manifest = tomllib.loads(text)
    programs = manifest.get("bin")
    listed_programs = programs if isinstance(programs, list) else []
    return _Declared(
        _names(manifest.get("dependencies")), _names([_at(program).get("name") for program in listed_programs])
    )


_READERS: Mapping[str, Callable[[str], _Declared]] = {
    "pyproject.toml": _of_pyproject,
    "setup.cfg": _of_setup,
    "requirements.txt": lambda text: _Declared(_names(text.splitlines())),
    "package.json": _of_package,
    "composer.json": _of_package,
    "Cargo.toml": _of_cargo,
    "go.mod": lambda text: _Declared(_names(_REQUIRED.findall(text))),
}


def _at(table: Any, *keys: str) -> dict[str, Any]:
    """Return the table at a path of keys, {} if there is none."""
    for key in keys:
        table = table.get(key) if isinstance(table, dict) else None
    return table if isinstance(table, dict) else {}


def _names(value: object) -> tuple[str, ...]:
    """Return the package names at the beginning of a table's keys or a list's texts."""
    texts = [name for name in value if isinstance(name, str)] if isinstance(value, dict | list) else []
    matches = (_NAME.match(text.strip()) for text in texts)
    return tuple(dict.fromkeys(match[0] for match in matches if match))
