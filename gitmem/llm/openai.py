"""Chat and embeddings by OpenAI, and by any server with its API: Ollama, llama.cpp, LM Studio, vLLM, a proxy.

https://platform.openai.com/docs/api-reference/chat/create, https://platform.openai.com/docs/api-reference/embeddings
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gitmem.config import SummaryConfig
from gitmem.llm.http import ONCE, Patience, is_private, post_json
from gitmem.llm.protocol import (
    MOST_BYTES,
    OPENAI,
    Answer,
    AnswerError,
    ProviderError,
    Request,
    Size,
    StatusError,
    counted,
    field,
    unit_vectors,
)
from gitmem.text.stems import estimate_tokens

if TYPE_CHECKING:
    from gitmem.llm.protocol import Vector

BASE_URL = "https://api.openai.com/v1"
MODELS = {Size.SMALL: "gpt-5-mini", Size.LARGE: "gpt-6.1-sol"}
# US dollars a million tokens, as of 2026-11.
PRICES = {"gpt-5-mini": (0.25, 2.0), "gpt-6.1-terra": (1.0, 5.0), "gpt-6.1-sol": (2.0, 10.0)}
_BAD_REQUEST = (400, 422)


class ChatModel:
    """See `gitmem.llm.protocol.Model`."""

    provider = OPENAI

    def __init__(self, config: SummaryConfig, key: str, environ: Mapping[str, str]) -> None:
        self._own = not config.base_url  # the server is OpenAI's
        if not self._own and not config.model:
            raise ProviderError("summary.model names no model.", "Name one that the server has.")
        self._names = {
            Size.SMALL: config.model or MODELS[Size.SMALL],
            Size.LARGE: config.large_model or (MODELS[Size.LARGE] if self._own and not config.model else config.model),
        }
        base = config.base_url or BASE_URL
        self.remote = not is_private(base)
        self._url = f"{base.rstrip('/')}/chat/completions"
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._environ = environ

    def name(self, size: Size) -> str:
        """See `Model.name`."""
        return self._names[size]

    def price(self, size: Size, tokens: int) -> tuple[float, float] | None:  # noqa: ARG002  # the same at any length
        """See `Model.price`."""
        if not self._own:
            return None if self.remote else (0.0, 0.0)
        return PRICES.get(self.name(size))

    def ask(self, request: Request, deadline: float) -> Answer:
        """See `Model.ask`."""
        body: dict[str, object] = {
            "model": self.name(request.size),
            "messages": [
                {"role": "system", "content": f"{request.system}\n\nSchema: {json.dumps(request.schema)}"},
                {"role": "user", "content": request.text},
            ],
            "max_completion_tokens" if self._own else "max_tokens": request.most_tokens,
        }
        form = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": request.schema}}
        try:
            return self._answer(request, self._post({**body, "response_format": form}, deadline))
        except StatusError as error:
            if self._own or error.status not in _BAD_REQUEST:
                raise
        # The server takes no schemas; the system prompt has it, too.
        return self._answer(request, self._post(body, deadline))

    def _post(self, body: Mapping[str, object], deadline: float) -> object:
        return post_json(
            self._url, body, headers=self._headers, deadline=deadline, environ=self._environ, most=MOST_BYTES
        )

    def _answer(self, request: Request, reply: object) -> Answer:
        choices = field(reply, "choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        message = field(choice, "message")
        text, refusal = field(message, "content"), field(message, "refusal")
        refused = bool(refusal) or field(choice, "finish_reason") == "content_filter"
        if not isinstance(text, str) and not refused:
            raise AnswerError(f"{self.name(request.size)} gave no answer.", raw=json.dumps(reply))
        usage = field(reply, "usage")
        model = field(reply, "model")
        return Answer(
            text=str(refusal or text or ""),
            model=model if isinstance(model, str) and model else self.name(request.size),
            input_tokens=counted(field(usage, "prompt_tokens"), request.system + request.text),
            output_tokens=counted(field(usage, "completion_tokens"), str(text or "")),
            refused=refused,
        )


EMBEDDINGS_URL = "https://api.openai.com/v1"
MODEL = "text-embedding-3-small"
# US dollars a million tokens, as of 2026-11.
EMBEDDING_PRICES = {"text-embedding-3-small": 0.02, "text-embedding-3-large": 0.13, "text-embedding-ada-002": 0.10}


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
        self.price = None if base_url else EMBEDDING_PRICES.get(self.model)
        self.tokens = 0
        self._url = f"{(base_url or EMBEDDINGS_URL).rstrip('/')}/embeddings"
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
