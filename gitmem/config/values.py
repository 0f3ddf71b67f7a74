"""The values of all settings, in groups; `data/settings.tsv` says what each is."""

from __future__ import annotations

from gitmem.values import Value

MARGIN_PERCENT = 95  # of the tokens at which `memory.md` rotates, and which it keeps


class RotationConfig(Value):
    threshold_tokens: int = 25_000
    carryover_tokens: int = 2_500
    max_archives: int = 0
    archive_retention_days: int = 0

    @property
    def threshold(self) -> int:
        """The number of tokens at which `memory.md` rotates: 23,750 by default."""
        return self.threshold_tokens * MARGIN_PERCENT // 100

    @property
    def carryover(self) -> int:
        """The number of tokens carried over at most: 2,375 by default."""
        return self.carryover_tokens * MARGIN_PERCENT // 100


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


class SearchConfig(Value):
    vector_percent: int = 15


class EmbeddingConfig(Value):
    provider: str = "local"
    model: str = ""
    base_url: str = ""
    api_key_env: str = ""


class TierConfig(Value):
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


class CaptureConfig(Value):
    answer_chars: int = 20_000


class RecallConfig(Value):
    prompt: bool = True
    error: bool = True


class CleanupConfig(Value):
    max_age_days: int = 180
    min_usage_count: int = 2


class SettingOrigin(Value):
    """Where a setting is from: `layer` is USER, HERE (the user's for this store) or STORE (its config.yaml)."""

    key: str
    layer: str
    file: str


class Untrusted(Value):
    """A value in a tracked file that does not count, because the user has not agreed to it."""

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

    `problems` says what in the files could not be used, a sentence each; `untrusted` what is not used until the user
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
    recall: RecallConfig = RecallConfig()
    prompts: PromptsConfig = PromptsConfig()
    author: AuthorConfig = AuthorConfig()
    remote: RemoteConfig = RemoteConfig()
    review: ReviewConfig = ReviewConfig()
    purge: PurgeConfig = PurgeConfig()
    problems: tuple[str, ...] = ()
    untrusted: tuple[Untrusted, ...] = ()
    origins: tuple[SettingOrigin, ...] = ()
