"""Choose the model that the settings name (docs/spec.md R6, V1 to V6, V9).

Texts go to a model only if the user named a provider in their own settings: neither a key in the environment nor the
settings of a store that came from elsewhere are permission to send memory.

Tested through `tests/llm/test_protocol.py`.
"""

from __future__ import annotations

from gitmem.llm.errors import ProviderError
from gitmem.llm.protocol import AGENT, ANTHROPIC, HOST, KEYS, OFFLINE

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitmem.config import SummaryConfig
    from gitmem.llm.protocol import Model


def make_model(config: SummaryConfig, environ: Mapping[str, str]) -> Model | None:
    """Return the model of the settings; None for `offline`, and for `host`, whose agent is not called from here.

    Raises:
        ProviderError: the key is missing, or would go over the network unencrypted.

    """
    if config.provider in {OFFLINE, HOST}:
        return None
    if config.provider == AGENT:
        from gitmem.llm.providers.claude_cli import AgentModel

        return AgentModel(config, environ)
    variable = config.api_key_env or KEYS[config.provider]
    key = environ.get(variable, "").strip()
    if not key and not config.base_url:
        raise ProviderError(f"{variable} holds no key.", f"Set {variable}, or summary.api_key_env to another.")
    from gitmem.llm.http import is_private

    if key and config.base_url.startswith("http:") and not is_private(config.base_url):
        raise ProviderError("The key would go over the network unencrypted.", "Use https in summary.base_url.")
    if config.provider == ANTHROPIC:
        from gitmem.llm.providers.anthropic import AnthropicModel

        return AnthropicModel(config, key, environ)
    from gitmem.llm.providers.openai_chat import ChatModel

    return ChatModel(config, key, environ)
