"""Which model the settings name (spec R6, V1 to V6, V9).

Nothing goes to a model, on this machine or elsewhere, unless the user named a provider in their own settings: a key
that happens to be in the environment is no permission to send memory anywhere, and a store that came from elsewhere has
no say in it.
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
    """Return the model that the settings name; None where they name none, or the host's agent, which is not asked.

    Raises:
        ProviderError: what a provider needs is missing.

    """
    if config.provider in {OFFLINE, HOST}:
        return None
    if config.provider == AGENT:
        from gitmem.llm.providers.claude_cli import AgentModel

        return AgentModel(config, environ)
    variable = config.api_key_env or KEYS[config.provider]
    key = environ.get(variable, "").strip()
    if not key and not config.base_url:
        raise ProviderError(f"There is no key in {variable}.", f"Set {variable}, or summary.api_key_env to another.")
    from gitmem.llm.http import is_private

    if key and config.base_url.startswith("http:") and not is_private(config.base_url):
        raise ProviderError("The key would go over the network in the clear.", "Use https in summary.base_url.")
    if config.provider == ANTHROPIC:
        from gitmem.llm.providers.anthropic import AnthropicModel

        return AnthropicModel(config, key, environ)
    from gitmem.llm.providers.openai_chat import ChatModel

    return ChatModel(config, key, environ)
