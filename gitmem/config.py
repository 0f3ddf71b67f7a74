"""Settings: what a store's `config.yaml` says, over the user's, over the defaults (spec R13).

A setting that cannot be used is passed over and reported, never an error: a typing mistake in a settings file must
not cost a memory.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

MAX_BYTES = 65536


def _setting(default: object, text: str, *, minimum: int = 0, choices: tuple[str, ...] = ()) -> object:
    return field(default=default, metadata={"help": text, "minimum": minimum, "choices": choices})


@dataclass(frozen=True, slots=True)
class RotationConfig:
    """When `memory.md` becomes an archive (spec R2) and which archives stay in the tree (R13)."""

    enabled: bool = _setting(default=True, text="rotate memory.md by itself")  # type: ignore[assignment]
    threshold_tokens: int = _setting(25_000, "rotate at this size, less 5 %", minimum=100)  # type: ignore[assignment]
    carryover_tokens: int = _setting(2_500, "keep this much of the end, less 5 %")  # type: ignore[assignment]
    max_archives: int = _setting(0, "archives kept in the tree, 0 for all; history keeps every one")  # type: ignore[assignment]
    archive_retention_days: int = _setting(0, "days an archive stays in the tree, 0 for ever")  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class RedactionConfig:
    """What is not a secret though it looks like one (spec G7)."""

    allow: tuple[str, ...] = _setting((), "texts or globs that are never redacted")  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class LockConfig:
    """How writers of one store wait for each other (spec G4)."""

    kind: str = _setting("auto", "the lock: by the system's file lock or by a git ref", choices=("auto", "file", "ref"))  # type: ignore[assignment]
    wait_seconds: int = _setting(30, "how long a command waits for another one's lock")  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class Config:
    """All settings. `problems` says what in the files could not be used, a sentence each."""

    rotation: RotationConfig = field(default_factory=RotationConfig)
    redaction: RedactionConfig = field(default_factory=RedactionConfig)
    lock: LockConfig = field(default_factory=LockConfig)
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting as `gitmem config` lists it: `rotation.threshold_tokens`, its value, its help."""

    key: str
    value: object
    help: str


def settings(config: Config) -> Iterator[Setting]:
    """Yield every setting of a configuration, in order."""
    for group in _groups():
        values = getattr(config, group.name)
        for item in dataclasses.fields(values):
            yield Setting(f"{group.name}.{item.name}", getattr(values, item.name), item.metadata["help"])


def load_config(layers: Sequence[tuple[str, bytes | None]]) -> Config:
    """Return the configuration of settings files given as (name, content), the weakest first.

    `name` is what problems are reported under; content is None where there is no such file. The safe loader of PyYAML
    reads them, and only where one has more than comments: its import would cost a save a fourth of its time.
    """
    config = Config()
    for name, data in layers:
        if data is not None:
            config = _with_layer(config, name, data)
    return config


def parse_value(key: str, value: object) -> object:
    """Return `value`, as YAML gave it, in the form the setting `key` has.

    Raises:
        ValueError: there is no such setting, or the value does not fit; the message is a sentence.

    """
    group, _, name = key.partition(".")
    for owner in _groups():
        if owner.name == group:
            for item in dataclasses.fields(getattr(Config(), group)):
                if item.name == name:
                    return _checked(key, item, value)
    raise ValueError(f"there is no setting {key!r}")


def _groups() -> list[dataclasses.Field[object]]:
    return [item for item in dataclasses.fields(Config) if item.name != "problems"]


def _with_layer(config: Config, name: str, data: bytes) -> Config:
    problems = list(config.problems)
    groups: dict[str, dict[str, object]] = {}
    try:
        tree = _mapping(data)
    except ValueError as error:
        return dataclasses.replace(config, problems=(*problems, f"{name} cannot be read and is not used: {error}."))
    for group, values in tree.items():
        if not isinstance(values, Mapping):
            problems.append(f"{name}: {group!r} is not a group of settings and is not used.")
            continue
        for key, value in values.items():
            try:
                groups.setdefault(str(group), {})[str(key)] = parse_value(f"{group}.{key}", value)
            except ValueError as error:
                problems.append(f"{name}: {error}; it is not used.")
    changed = {
        group: dataclasses.replace(getattr(config, group), **values) for group, values in groups.items() if values
    }
    return dataclasses.replace(config, problems=tuple(problems), **changed)


def _mapping(data: bytes) -> Mapping[object, object]:
    if len(data) > MAX_BYTES:
        raise ValueError(f"it has more than {MAX_BYTES} bytes")
    text = data.decode("utf-8-sig")
    if all(line.strip(" \t\r")[:1] in {"", "#"} for line in text.split("\n")):
        return {}
    import yaml

    try:
        tree = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506  # a safe loader, both
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark else ""
        raise ValueError(f"it is not YAML{where}") from error
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        raise ValueError("it is not a mapping")
    return tree


def _checked(key: str, item: dataclasses.Field[object], value: object) -> object:
    default = item.default
    choices = item.metadata["choices"]
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise ValueError(f"{key} is true or false, not {value!r}")
    elif isinstance(default, int):
        if not isinstance(value, int) or isinstance(value, bool) or value < item.metadata["minimum"]:
            raise ValueError(f"{key} is a whole number from {item.metadata['minimum']} on, not {value!r}")
    elif isinstance(default, tuple):
        if isinstance(value, str):
            value = [value]
        if not isinstance(value, list | tuple) or not all(isinstance(part, str) for part in value):
            raise ValueError(f"{key} is a list of texts, not {value!r}")
        return tuple(value)
    elif not isinstance(value, str) or (choices and value not in choices):
        raise ValueError(f"{key} is one of {', '.join(choices)}, not {value!r}")
    return value
