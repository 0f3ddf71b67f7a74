"""OpenAI's chat completions, and any server with the same API: Ollama, llama.cpp, LM Studio, vLLM, a proxy.

https://platform.openai.com/docs/api-reference/chat/create

Tested through `tests/llm/test_protocol.py`.
"""

from __future__ import annotations

import json

from gitmem.llm.errors import AnswerError, ProviderError, StatusError
from gitmem.llm.http import is_private, post_json
from gitmem.llm.protocol import MOST_BYTES, OPENAI, Answer, Request, Size
from gitmem.llm.replies import counted, field

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitmem.config import SummaryConfig

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
