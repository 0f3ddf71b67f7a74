"""Embeddings by OpenAI, and by any server that speaks like it: Ollama, llama.cpp, LM Studio, vLLM, a proxy.

https://platform.openai.com/docs/api-reference/embeddings

Tested through `tests/llm/test_embedders.py`.
"""

from __future__ import annotations

from gitmem.llm.errors import AnswerError
from gitmem.llm.http import ONCE, Patience, post_json
from gitmem.llm.replies import field, unit_vectors
from gitmem.text.tokens import estimate_tokens

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gitmem.llm.protocol import Vector

BASE_URL = "https://api.openai.com/v1"
MODEL = "text-embedding-3-small"
# US dollars a million tokens, as of 2026-11.
PRICES = {"text-embedding-3-small": 0.02, "text-embedding-3-large": 0.13, "text-embedding-ada-002": 0.10}


class OpenAIEmbedder:
    """See `gitmem.llm.protocol.Embedder`."""

    name = "openai"
    remote = True
    price: float | None
    calibration: tuple[float, float] | None = None
    batch = 64
    batch_bytes = 200_000  # a request may have 300,000 tokens; a smaller one loses less when it fails

    def __init__(
        self, key: str, model: str, base_url: str, environ: Mapping[str, str], patience: Patience | None = None
    ) -> None:
        self.model = model or MODEL
        self.price = None if base_url else PRICES.get(self.model)
        self.tokens = 0
        self._url = f"{(base_url or BASE_URL).rstrip('/')}/embeddings"
        self._environ = environ
        self._patience = patience or Patience()
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}

    def embed_documents(self, texts: Sequence[str], deadline: float) -> list[Vector]:
        """See `Embedder.embed_documents`."""
        return self._embed(texts, deadline, self._patience)

    def embed_query(self, text: str, deadline: float) -> Vector:
        """See `Embedder.embed_query`."""
        return self._embed([text], deadline, ONCE)[0]

    def _embed(self, texts: Sequence[str], deadline: float, patience: Patience) -> list[Vector]:
        body = {"model": self.model, "input": list(texts), "encoding_format": "float"}
        answer = post_json(
            self._url, body, headers=self._headers, deadline=deadline, patience=patience, environ=self._environ
        )
        data = field(answer, "data")
        if not isinstance(data, list):
            raise AnswerError(f"{self.name} gave no vectors.")
        places = [field(item, "index") for item in data]
        if sorted(place for place in places if isinstance(place, int)) == list(range(len(data))):
            data = [item for _, item in sorted(zip(places, data, strict=True), key=lambda pair: int(str(pair[0])))]
        vectors = unit_vectors(self.name, [field(item, "embedding") for item in data], len(texts))
        used = field(field(answer, "usage"), "total_tokens")
        self.tokens += used if isinstance(used, int) else sum(map(estimate_tokens, texts))
        return vectors
