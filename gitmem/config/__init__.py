"""Settings: their values, and how they are read from files."""

from gitmem.config.read import (
    DEFAULT as DEFAULT,
)
from gitmem.config.read import (
    HERE as HERE,
)
from gitmem.config.read import (
    MAX_BYTES as MAX_BYTES,
)
from gitmem.config.read import (
    MAX_TRACKED_BYTES as MAX_TRACKED_BYTES,
)
from gitmem.config.read import (
    STORE as STORE,
)
from gitmem.config.read import (
    STORES as STORES,
)
from gitmem.config.read import (
    TRUST as TRUST,
)
from gitmem.config.read import (
    USER as USER,
)
from gitmem.config.read import (
    Rule as Rule,
)
from gitmem.config.read import (
    is_agreed as is_agreed,
)
from gitmem.config.read import (
    is_harmless as is_harmless,
)
from gitmem.config.read import (
    is_inside_store as is_inside_store,
)
from gitmem.config.read import (
    load_config as load_config,
)
from gitmem.config.read import (
    parse_value as parse_value,
)
from gitmem.config.read import (
    personal_folder as personal_folder,
)
from gitmem.config.read import (
    read_agreed as read_agreed,
)
from gitmem.config.read import (
    read_config as read_config,
)
from gitmem.config.read import (
    read_trust as read_trust,
)
from gitmem.config.read import (
    rules as rules,
)
from gitmem.config.read import (
    shown as shown,
)
from gitmem.config.read import (
    value_of as value_of,
)
from gitmem.config.values import (
    AuthorConfig as AuthorConfig,
)
from gitmem.config.values import (
    CaptureConfig as CaptureConfig,
)
from gitmem.config.values import (
    CleanupConfig as CleanupConfig,
)
from gitmem.config.values import (
    Config as Config,
)
from gitmem.config.values import (
    EmbeddingConfig as EmbeddingConfig,
)
from gitmem.config.values import (
    KnowledgeConfig as KnowledgeConfig,
)
from gitmem.config.values import (
    LockConfig as LockConfig,
)
from gitmem.config.values import (
    MaintenanceConfig as MaintenanceConfig,
)
from gitmem.config.values import (
    PrivateConfig as PrivateConfig,
)
from gitmem.config.values import (
    PromptsConfig as PromptsConfig,
)
from gitmem.config.values import (
    PurgeConfig as PurgeConfig,
)
from gitmem.config.values import (
    RecallConfig as RecallConfig,
)
from gitmem.config.values import (
    RedactionConfig as RedactionConfig,
)
from gitmem.config.values import (
    RemoteConfig as RemoteConfig,
)
from gitmem.config.values import (
    ReviewConfig as ReviewConfig,
)
from gitmem.config.values import (
    RotationConfig as RotationConfig,
)
from gitmem.config.values import (
    SaveConfig as SaveConfig,
)
from gitmem.config.values import (
    SearchConfig as SearchConfig,
)
from gitmem.config.values import (
    SessionConfig as SessionConfig,
)
from gitmem.config.values import (
    SettingOrigin as SettingOrigin,
)
from gitmem.config.values import (
    SummaryConfig as SummaryConfig,
)
from gitmem.config.values import (
    SyncConfig as SyncConfig,
)
from gitmem.config.values import (
    TierConfig as TierConfig,
)
from gitmem.config.values import (
    TranscriptConfig as TranscriptConfig,
)
from gitmem.config.values import (
    Untrusted as Untrusted,
)
