"""The tables of `config.toml` in which Codex records a person's trust in hooks.

Codex keeps, under the place of the hook in its file, the SHA-256 of what the hook is.

Tested through `tests/hosts/agents/test_codex.py`.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING

from gitmem.hosts.settings.hooks import installed_hooks

if TYPE_CHECKING:
    from collections.abc import Mapping


def trusted(path: str, text: str) -> dict[str, Mapping[str, object]]:
    """Return the tables by which Codex trusts gitmem's hooks in the settings at `path` with this text."""
    tables: dict[str, Mapping[str, object]] = {}
    for event, group, number, hook in installed_hooks(text):
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", event).lower()
        known = {key: hook.get(key) for key in ("type", "command", "timeout")} | {"async": False}
        identity = {"event_name": name, "hooks": [known]}
        said = json.dumps(identity, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
        place = json.dumps(f"{path}:{name}:{group}:{number}", ensure_ascii=False)
        tables[f"hooks.state.{place}"] = {"trusted_hash": f"sha256:{hashlib.sha256(said.encode()).hexdigest()}"}
    return tables
