"""Read settings files: the person's own and the store's tracked one (docs/format.md, "Settings").

The table in `gitmem.config` lists the settings and who may set them. A settings file never raises an error: invalid
values are skipped and named in `Config.problems`. Tested through `tests/test_config.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from gitmem.config import (
    HERE,
    STORE,
    USER,
    Config,
    Origin,
    Untrusted,
    is_agreed,
    is_harmless,
    parse_value,
    shown,
    value_of,
)

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    import yaml

MAX_BYTES = 65_536  # of the person's own file
MAX_TRACKED_BYTES = 8_192  # of a store's file: a hook waits until Python has parsed it
STORES = "stores"  # in the person's own file: settings for single stores, by folder
_MAX_PROBLEMS = 20
_BOM = b"\xef\xbb\xbf"
_MAX_DEPTH = 16  # nested collections


class _NotPlainError(Exception):
    """Valid YAML that settings do not allow."""


def load_config(
    own: tuple[str, bytes | None],
    tracked: tuple[str, bytes | None] = ("", None),
    store: str = "",
    agreed: Callable[[], Mapping[str, object]] = dict,
) -> Config:
    """Return the configuration from the person's own file and a store's tracked one, each given as name and content.

    In rising precedence: the person's general settings, the allowed values of the tracked file, the person's settings
    for this store (the section named by the folder `store`). `agreed` returns the tracked values the person agreed to;
    it is called only if a tracked value needs agreement.

    PyYAML is imported only for a file with more than comments: the import takes a fourth of the time of a save.
    """
    builder = _Builder()
    general = dict(builder.tree(*own, MAX_BYTES))
    here = general.pop(STORES, None)
    for key, value in builder.values(own[0], general):
        builder.use(key, value, USER, own[0])
    known: Mapping[str, object] | None = None
    for key, value in builder.values(tracked[0], builder.tree(*tracked, MAX_TRACKED_BYTES)):
        if not is_harmless(key, value):
            known = agreed() if known is None else known
            if not is_agreed(known, key, value):
                builder.untrusted.append(Untrusted(key, value, tracked[0]))
                continue
        builder.use(key, value, STORE, tracked[0])
    if isinstance(here, Mapping) and isinstance(section := here.get(store), Mapping):
        for key, value in builder.values(own[0], section):
            builder.use(key, value, HERE, own[0])
    return builder.build()


class _Builder:
    """A configuration that is being built, file by file."""

    def __init__(self) -> None:
        self.config = Config()
        self.problems: list[str] = []
        self.untrusted: list[Untrusted] = []
        self.origins: dict[str, Origin] = {}

    def tree(self, name: str, data: bytes | None, most: int) -> Mapping[object, object]:
        """Return the content of a file as a mapping; {} and a recorded problem if it is invalid."""
        if not data:
            return {}
        try:
            return _mapping(data, most)
        except ValueError as error:
            self.problems.append(f"{name} cannot be read and is not used: {error}.")
            return {}

    def values(self, name: str, tree: Mapping[object, object]) -> Iterator[tuple[str, object]]:
        """Yield the valid settings of a file; record the others as problems."""
        for group, values in tree.items():
            if values is None:  # a group whose settings are all commented out
                continue
            if not isinstance(values, Mapping):
                self.problems.append(f"{name}: {shown(group)} is not a group of settings and is not used.")
                continue
            for inner, value in values.items():
                try:
                    key = f"{group}.{inner}"
                    parsed = parse_value(key, value)
                except ValueError as error:
                    self.problems.append(f"{name}: {error}; it is not used.")
                else:
                    yield key, parsed

    def use(self, key: str, value: object, layer: str, file: str) -> None:
        """Apply a value."""
        group, _, name = key.partition(".")
        changed = getattr(self.config, group)._replace(**{name: value})
        self.config = self.config._replace(**{group: changed})
        self.origins[key] = Origin(key, layer, file)

    def build(self) -> Config:
        """Return the configuration; a value that changes nothing or that the person overrides needs no agreement."""
        untrusted = [
            item
            for item in self.untrusted
            if item.value != value_of(self.config, item.key)
            and not (item.key in self.origins and self.origins[item.key].layer == HERE)
        ]
        rotation = self.config.rotation
        if rotation.carryover_tokens >= rotation.threshold_tokens:  # each save would rotate again
            less = rotation.threshold_tokens // 10
            if "rotation.carryover_tokens" in self.origins:
                self.problems.append(
                    f"rotation.carryover_tokens ({rotation.carryover_tokens:,}) is not below rotation.threshold_tokens "
                    f"({rotation.threshold_tokens:,}); {less:,} are kept."
                )
            self.config = self.config._replace(rotation=rotation._replace(carryover_tokens=less))
        problems = self.problems[:_MAX_PROBLEMS]
        if len(self.problems) > _MAX_PROBLEMS:
            problems.append(f"And {len(self.problems) - _MAX_PROBLEMS} more problems.")
        origins = tuple(self.origins.values())
        return self.config._replace(problems=tuple(problems), untrusted=tuple(untrusted), origins=origins)


def is_comments(data: bytes) -> bool:
    """Return whether a settings file has only comments and blank lines."""
    return all(line.strip(b" \t\r")[:1] in {b"", b"#"} for line in data.removeprefix(_BOM).split(b"\n"))


def _mapping(data: bytes, most: int) -> Mapping[object, object]:
    if len(data) > most:
        raise ValueError(f"it has more than {most} bytes")
    if is_comments(data):
        return {}
    text = data.removeprefix(_BOM).decode()  # no utf-8-sig: that codec would have to be imported
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the pure-Python loader takes a second for 64 KiB
    try:
        _check_plain(yaml.parse(text, Loader=loader))
        tree = yaml.load(text, Loader=loader)  # noqa: S506  # a safe loader
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark else ""
        raise ValueError(f"it is not plain YAML{where}") from error
    except _NotPlainError as error:
        raise ValueError(f"{error}") from error
    except (ValueError, KeyError, AttributeError, TypeError, OverflowError) as error:
        # PyYAML's constructors raise these, as for `!!bool x`, `!!timestamp x`, `2024-13-45`.
        raise ValueError("it has a value that is not plain YAML") from error
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        raise ValueError("it is not a mapping")  # noqa: TRY004  # like every other problem of a file
    return tree


def _check_plain(events: Iterable[yaml.Event]) -> None:
    """Refuse aliases, which can expand beyond memory, and deep nesting, on which the C loader crashes."""
    import yaml

    depth = 0
    for event in events:
        if isinstance(event, yaml.AliasEvent):
            raise _NotPlainError("it has an alias")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_DEPTH:
            raise _NotPlainError("it nests too deeply")
