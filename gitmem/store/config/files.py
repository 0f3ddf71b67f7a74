"""Reading settings files: the person's own, and the store's tracked one (docs/format.md, "Settings").

What may be set, and by whom, is in the table of `gitmem.config`. A file of settings is never an error: what cannot be
used is passed over and named in `Config.problems`.
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

MAX_BYTES = 65_536  # of a person's own file
MAX_TRACKED_BYTES = 8_192  # of a store's: a hook waits until it is parsed, in Python
STORES = "stores"  # in a person's own file: what counts for one store, by its folder
_MOST_PROBLEMS = 20
_BOM = b"\xef\xbb\xbf"
_DEEPEST = 16  # collections in each other


class _NotPlainError(Exception):
    """YAML that is understood, and not wanted in settings."""


def load_config(
    own: tuple[str, bytes | None],
    tracked: tuple[str, bytes | None] = ("", None),
    store: str = "",
    agreed: Callable[[], Mapping[str, object]] = dict,
) -> Config:
    """Return the configuration of a person's own file and of a store's tracked one, each as name and content.

    The person's own settings count least, then what the tracked file may say, then the person's own for this store,
    which their file names by its folder `store`. `agreed` returns the values of the tracked file that the person has
    agreed to; it is called only where the tracked file says what needs that.

    The safe loader of PyYAML reads them, and only where one has more than comments: its import would cost a save a
    fourth of its time.
    """
    loading = _Loading()
    general = dict(loading.tree(*own, MAX_BYTES))
    here = general.pop(STORES, None)
    for key, value in loading.values(own[0], general):
        loading.use(key, value, USER, own[0])
    known: Mapping[str, object] | None = None
    for key, value in loading.values(tracked[0], loading.tree(*tracked, MAX_TRACKED_BYTES)):
        if not is_harmless(key, value):
            known = agreed() if known is None else known
            if not is_agreed(known, key, value):
                loading.untrusted.append(Untrusted(key, value, tracked[0]))
                continue
        loading.use(key, value, STORE, tracked[0])
    if isinstance(here, Mapping) and isinstance(section := here.get(store), Mapping):
        for key, value in loading.values(own[0], section):
            loading.use(key, value, HERE, own[0])
    return loading.done()


class _Loading:
    """A configuration while the files it comes from are read, one after the other."""

    def __init__(self) -> None:
        self.config = Config()
        self.problems: list[str] = []
        self.untrusted: list[Untrusted] = []
        self.origins: dict[str, Origin] = {}

    def tree(self, name: str, data: bytes | None, most: int) -> Mapping[object, object]:
        """Return what a file says; nothing, and a problem, where it cannot be read."""
        if not data:
            return {}
        try:
            return _mapping(data, most)
        except ValueError as error:
            self.problems.append(f"{name} cannot be read and is not used: {error}.")
            return {}

    def values(self, name: str, tree: Mapping[object, object]) -> Iterator[tuple[str, object]]:
        """Yield the settings of a file that fit; the others are problems."""
        for group, values in tree.items():
            if values is None:  # a heading above comments
                continue
            if not isinstance(values, Mapping):
                self.problems.append(f"{name}: {shown(group)} is not a group of settings and is not used.")
                continue
            for inner, value in values.items():
                try:
                    key = f"{group}.{inner}"
                    fit = parse_value(key, value)
                except ValueError as error:
                    self.problems.append(f"{name}: {error}; it is not used.")
                else:
                    yield key, fit

    def use(self, key: str, value: object, layer: str, file: str) -> None:
        """Put a value in force."""
        group, _, name = key.partition(".")
        changed = getattr(self.config, group)._replace(**{name: value})
        self.config = self.config._replace(**{group: changed})
        self.origins[key] = Origin(key, layer, file)

    def done(self) -> Config:
        """Return the configuration; a value that changes nothing, or that the person decided on, needs no consent."""
        untrusted = [
            item
            for item in self.untrusted
            if item.value != value_of(self.config, item.key)
            and not (item.key in self.origins and self.origins[item.key].layer == HERE)
        ]
        shown = self.problems[:_MOST_PROBLEMS]
        if len(self.problems) > _MOST_PROBLEMS:
            shown.append(f"And {len(self.problems) - _MOST_PROBLEMS} more of this kind.")
        origins = tuple(self.origins.values())
        return self.config._replace(problems=tuple(shown), untrusted=tuple(untrusted), origins=origins)


def is_comments(data: bytes) -> bool:
    """Say whether a settings file sets nothing, without reading it as YAML."""
    return all(line.strip(b" \t\r")[:1] in {b"", b"#"} for line in data.removeprefix(_BOM).split(b"\n"))


def _mapping(data: bytes, most: int) -> Mapping[object, object]:
    if len(data) > most:
        raise ValueError(f"it has more than {most} bytes")
    if is_comments(data):
        return {}
    text = data.removeprefix(_BOM).decode()  # another codec would have to be imported
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the one in Python takes a second for 64 KiB
    try:
        _check_plain(yaml.parse(text, Loader=loader))
        tree = yaml.load(text, Loader=loader)  # noqa: S506  # it is a safe one
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark else ""
        raise ValueError(f"it is not plain YAML{where}") from error
    except _NotPlainError as error:
        raise ValueError(f"{error}") from error
    except (ValueError, KeyError, AttributeError, TypeError, OverflowError) as error:
        # PyYAML's constructors let these out, as for `!!bool x`, `!!timestamp x`, `2024-13-45`.
        raise ValueError("it has a value that is not plain YAML") from error
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        raise ValueError("it is not a mapping")  # noqa: TRY004  # as of all that is wrong with a file
    return tree


def _check_plain(events: Iterable[yaml.Event]) -> None:
    """Refuse aliases: merges of merges become more than there is memory. A loader in C crashes on deep nesting."""
    import yaml

    depth = 0
    for event in events:
        if isinstance(event, yaml.AliasEvent):
            raise _NotPlainError("it has an alias")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise _NotPlainError("it nests too deep")
