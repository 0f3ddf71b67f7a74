"""Settings: one table of all keys, their values, and the values a tracked file may set (docs/settings.md, "Settings").

Rows such as "spec R2" are those of docs/spec.md.

A store's own `config.yaml` is *tracked*: it may come from a remote, or with somebody's project. So it may set a few
numbers, within bounds that do no harm. All else in it counts only after the person agreed to that exact value on this
machine (`gitmem config trust`), or where it stands in the person's own file, which no store tracks.

A setting that cannot be used is passed over and reported, never an error: a typing mistake in a settings file must
not cost a memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from gitmem.text.words import table
from gitmem.values import Value

DEFAULT, USER, HERE, STORE = "default", "user", "here", "store"


# The groups; `data/settings.tsv` says what each setting is.


class RotationConfig(Value):
    enabled: bool = True
    threshold_tokens: int = 25_000
    carryover_tokens: int = 2_500
    max_archives: int = 0
    archive_retention_days: int = 0


class RedactionConfig(Value):
    allow: tuple[str, ...] = ()


class PrivateConfig(Value):
    folders: tuple[str, ...] = ()


class LockConfig(Value):
    kind: str = "auto"
    wait_seconds: int = 10


class MaintenanceConfig(Value):
    automatic: bool = True


class SaveConfig(Value):
    mode: str = "auto"
    interval: int = 5
    context_percent: int = 50


class SessionConfig(Value):
    budget_tokens: int = 2_000
    facts_percent: int = 50


class SearchConfig(Value):
    vector_percent: int = 15


class EmbeddingConfig(Value):
    provider: str = "local"
    model: str = ""
    base_url: str = ""
    api_key_env: str = ""


class TierConfig(Value):
    automatic: bool = True
    weekly_days: int = 7
    monthly_days: int = 30


class SyncConfig(Value):
    auto: str = "session"
    minutes: int = 15
    transcripts: bool = False


class SummaryConfig(Value):
    provider: str = "offline"
    model: str = ""
    large_model: str = ""
    base_url: str = ""
    api_key_env: str = ""
    timeout_seconds: int = 120
    seconds_per_day: int = 1_800
    tokens_per_day: int = 1_000_000
    cents_per_day: int = 100


class TranscriptConfig(Value):
    enabled: bool = True
    tool_result_chars: int = 2_000


class CaptureConfig(Value):
    answer_chars: int = 20_000


class KnowledgeConfig(Value):
    automatic: bool = True


class RecallConfig(Value):
    prompt: bool = True
    error: bool = True


class CleanupConfig(Value):
    max_age_days: int = 180
    min_usage_count: int = 2


class SettingOrigin(Value):
    """Where a setting comes from, unless it is a default.

    `layer` is USER (a person's own settings), HERE (their own for this store) or STORE (the store's config.yaml).
    """

    key: str
    layer: str
    file: str


class Untrusted(Value):
    """A value in a tracked file that does not count, because the person has not agreed to it."""

    key: str
    value: object
    file: str


class AuthorConfig(Value):
    also: tuple[str, ...] = ()


class RemoteConfig(Value):
    trust: str = "any"


class PurgeConfig(Value):
    machines: tuple[str, ...] = ()


class ReviewConfig(Value):
    changes: bool = True


class PromptsConfig(Value):
    summary: str = ""
    session: str = ""


class Config(Value):
    """All settings, in groups.

    `problems` says what in the files could not be used, a sentence each; `untrusted` what is not used until the person
    agrees to it.
    """

    rotation: RotationConfig = RotationConfig()
    redaction: RedactionConfig = RedactionConfig()
    private: PrivateConfig = PrivateConfig()
    lock: LockConfig = LockConfig()
    maintenance: MaintenanceConfig = MaintenanceConfig()
    save: SaveConfig = SaveConfig()
    session: SessionConfig = SessionConfig()
    search: SearchConfig = SearchConfig()
    embedding: EmbeddingConfig = EmbeddingConfig()
    tiers: TierConfig = TierConfig()
    sync: SyncConfig = SyncConfig()
    summary: SummaryConfig = SummaryConfig()
    transcripts: TranscriptConfig = TranscriptConfig()
    capture: CaptureConfig = CaptureConfig()
    cleanup: CleanupConfig = CleanupConfig()
    knowledge: KnowledgeConfig = KnowledgeConfig()
    recall: RecallConfig = RecallConfig()
    prompts: PromptsConfig = PromptsConfig()
    author: AuthorConfig = AuthorConfig()
    remote: RemoteConfig = RemoteConfig()
    review: ReviewConfig = ReviewConfig()
    purge: PurgeConfig = PurgeConfig()
    problems: tuple[str, ...] = ()
    untrusted: tuple[Untrusted, ...] = ()
    origins: tuple[SettingOrigin, ...] = ()


_MOST = 1_000_000_000


class Rule(Value):
    """The help text of a setting and its bounds.

    A number is from `minimum` to `maximum`, a text is one of `choices`. `tracked` is the range that a tracked file may
    set without consent; None forbids it.
    """

    help: str
    minimum: int = 0
    maximum: int = _MOST
    choices: tuple[str, ...] = ()
    tracked: tuple[int, int] | None = None


@cache
def rules() -> dict[str, Rule]:
    """Return the rule of each setting, by its key: the rows of `data/settings.tsv`."""
    found = {}
    for key, least, most, tracked, choices, words in table("settings.tsv"):
        first, _, last = tracked.partition(" ")
        bounds = (int(first), int(last)) if last else None
        found[key] = Rule(words, int(least or 0), int(most or _MOST), tuple(choices.split()), bounds)
    return found


class Setting(Value):
    """One setting as `gitmem config` lists it.

    `origin` is DEFAULT or a layer, `path` the file that sets it, None for a default; `untrusted` is a value of the
    store's tracked file that is ignored because the person has not agreed to it.
    """

    key: str
    value: object
    origin: str
    path: str | None
    help: str
    untrusted: Untrusted | None


def settings(config: Config) -> Iterator[Setting]:
    """Yield every setting of a configuration, in order."""
    origins = {origin.key: (origin.layer, origin.file) for origin in config.origins}
    untrusted = {item.key: item for item in config.untrusted}
    for key, rule in rules().items():
        layer, path = origins.get(key, (DEFAULT, None))
        yield Setting(key, value_of(config, key), layer, path, rule.help, untrusted.get(key))


def value_of(config: Config, key: str) -> object:
    """Return the value of one setting."""
    group, _, name = key.partition(".")
    return getattr(getattr(config, group), name)


def is_harmless(key: str, value: object) -> bool:
    """Return whether a tracked file may set this value without consent."""
    bounds = rules()[key].tracked
    return bounds is not None and isinstance(value, int) and bounds[0] <= value <= bounds[1]


def is_agreed(agreed: Mapping[str, object], key: str, value: object) -> bool:
    """Return whether the person has agreed to exactly this value."""
    try:
        return key in agreed and parse_value(key, agreed[key]) == value
    except ValueError:
        return False


def parse_value(key: str, value: object) -> object:
    """Return `value`, as YAML gave it, in the form the setting `key` has.

    Raises:
        ValueError: there is no such setting, or the value does not fit; the message is a sentence.

    """
    rule = rules().get(key)
    if rule is None:
        raise ValueError(f"there is no setting {shown(key)}")
    default = value_of(Config(), key)
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise ValueError(f"{key} is true or false, not {shown(value)}")
    elif isinstance(default, int):
        if not isinstance(value, int) or isinstance(value, bool) or not rule.minimum <= value <= rule.maximum:
            raise ValueError(f"{key} is a whole number from {rule.minimum} to {rule.maximum}, not {shown(value)}")
    elif isinstance(default, tuple):
        if isinstance(value, str):
            value = [value]
        if not isinstance(value, list | tuple) or not all(isinstance(part, str) for part in value):
            raise ValueError(f"{key} is a list of texts, not {shown(value)}")
        return tuple(value)
    elif not isinstance(value, str) or value not in (rule.choices or (value,)):
        allowed = f"one of {', '.join(rule.choices)}" if rule.choices else "a text"
        raise ValueError(f"{key} is {allowed}, not {shown(value)}")
    return value


def shown(value: object) -> str:
    """Return a value for people, truncated: with aliases a short file can hold a huge value."""
    from reprlib import Repr

    bounded = Repr()
    bounded.maxlevel = 1
    try:
        return bounded.repr(value)
    except ValueError:  # more digits than Python converts
        return "a number that is too long"
