"""Ask a model within daily limits: redact and fence the question, retry, check the reply.

A failure raises nothing; it is the `why` of the result, as the caller has an offline answer.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from datetime import timedelta

from gitmem.config.values import SummaryConfig
from gitmem.llm.ledger import Asking, Spent, SpentError, ledger
from gitmem.llm.protocol import (
    AGENTS,
    ANTHROPIC,
    HOST,
    KEYS,
    OFFLINE,
    AnswerError,
    DeadlineError,
    Model,
    ModelAnswer,
    Patience,
    ProviderError,
    Question,
    RefusalError,
    ReplyError,
    cost_of,
    fenced,
    parse_reply,
)
from gitmem.llm.providers import key_in
from gitmem.platform.machine import read_resource
from gitmem.redact.redact import change_strings, redact
from gitmem.store.findings import MODEL, FailureLog, LoggedFailure
from gitmem.store.store import Store
from gitmem.text.words import estimate_tokens
from gitmem.values import Generic, TypeVar, Value

_NO_MODEL = "no model is named; 'gitmem config --user summary.provider agent' names one"
_BY_AGENT = "the agent sums it up in its next session, as summary.provider is host"
T = TypeVar("T")
# Three retries, after 1, 2 and 4 seconds, or later if the server asks for that.
PATIENCE = Patience(tries=4, first=1.0, longest=4.0, random=lambda: 0.5)
_COOL_DOWN = timedelta(hours=1)  # before a failed question is repeated in the background


class AskResult(Value, Generic[T]):
    """The result of a question: the value read from the reply, or None and `why`.

    `raw` is the last reply, `model` the one that replied, `tokens` and `dollars` the cost of all tries, None if
    unknown.
    """

    value: T | None
    why: str = ""
    raw: str = ""
    provider: str = ""
    model: str = ""
    dollars: float | None = 0.0
    tokens: int = 0


def is_worth_asking(store: Store, subject: str) -> bool:
    """Return whether to ask about a subject: a model is configured, and no process asks that now, or just failed."""
    config = store.config.summary
    if config.provider in {OFFLINE, HOST}:
        return False
    now = store.context.clock()
    last = next((asking for asking in reversed(ledger(store).today()) if asking.subject == subject), None)
    if last is None:
        return True
    if last.ended is None:
        return now - last.at > timedelta(seconds=config.timeout_seconds)
    return not last.failure or now - last.ended > _COOL_DOWN


def instructions_for(store: Store, purpose: str) -> str:
    """Return the instructions for a purpose, from the settings, else the shipped ones.

    A store's tracked file can set them only with the user's consent ("Settings"), as they are behaviour, not data.
    """
    own = getattr(store.config.prompts, purpose)
    return own or read_resource("templates", "prompts", f"{purpose}.md").decode()


def ask(store: Store, question: Question, subject: str, read: Callable[[Mapping[str, object]], T]) -> AskResult[T]:
    """Ask the configured model, with retries; `read` raises ReplyError for an unusable reply.

    `subject` is the path or name of the question's subject. Errors of providers and replies are not raised, but written
    to the log of failures; a missing model is no error. Raises RefusedError if the answer could not be stored: the
    store is only opened, or nothing is to be written.
    """
    store.check_writes()
    asked = _asked(store, question, subject, read)
    if asked.value is None and store.config.summary.provider not in {OFFLINE, HOST}:
        FailureLog(store.private).record(LoggedFailure(store.context.clock(), MODEL, f"{subject}: {asked.why}"))
    return asked


def _asked(store: Store, question: Question, subject: str, read: Callable[[Mapping[str, object]], T]) -> AskResult[T]:
    provider = store.config.summary.provider
    try:
        model = make_model(store.config.summary, store.context.environ)
    except ProviderError as error:
        return AskResult(None, error.sentences, provider=provider)
    if model is None:
        return AskResult(None, _BY_AGENT if provider == HOST else _NO_MODEL, provider=provider)
    material = redact(question.material, allow=store.config.redaction.allow).text
    return _Tries(store, model, question._replace(material=material), subject).run(read)


def make_model(config: SummaryConfig, environ: Mapping[str, str]) -> Model | None:
    """Return the configured model; None for `offline`, and for `host`, as its agent is not called from here.

    Raises ProviderError if the program or the key is missing, or the key would go over the network unencrypted.
    """
    if config.provider in {OFFLINE, HOST}:
        return None
    if config.provider in AGENTS:
        from gitmem.llm.agents import AgentModel

        return AgentModel(config, environ)
    key = key_in("summary", config.api_key_env or KEYS[config.provider], config.base_url, environ)
    from gitmem.llm.models import AnthropicModel, ChatModel

    return (AnthropicModel if config.provider == ANTHROPIC else ChatModel)(config, key, environ)


class _Tries:
    """The tries of one question, and what they cost so far."""

    def __init__(self, store: Store, model: Model, question: Question, subject: str) -> None:
        self._config = config = store.config.summary
        self._model, self._request = model, fenced(question, os.urandom(16))
        self._ledger = ledger(store)
        self._deadline = time.monotonic() + config.timeout_seconds
        self._name, self._raw, self._dollars, self._tokens = model.name(self._request.size), "", 0.0, 0
        self._is_priced = True
        tokens = estimate_tokens(self._request.system + self._request.text)
        most = cost_of(model.price(self._request.size, tokens), tokens, self._request.most_tokens)
        spent = Spent(tokens + self._request.most_tokens, most, config.timeout_seconds)
        now = store.context.clock()
        self._asking = Asking("", now, question.purpose, subject, model.provider, self._name, spent)

    def run(self, read: Callable[[Mapping[str, object]], T]) -> AskResult[T]:
        failures = 0
        while True:
            wait = 0.0
            try:
                return self._result(self._once(read), "")
            except ReplyError as error:
                why = f"the reply of {self._name} {error}"
            except ProviderError as error:
                why, wait = error.sentences, error.wait
                self._raw = getattr(error, "raw", "") or self._raw
                if not error.passing and not isinstance(error, AnswerError):
                    return self._result(None, why)
            except (SpentError, OSError) as error:
                return self._result(None, str(error))
            failures += 1
            pause = PATIENCE.pause(failures, wait)
            if failures >= PATIENCE.tries or time.monotonic() + pause >= self._deadline:
                return self._result(None, why)
            PATIENCE.sleep(pause)

    def _result(self, value: T | None, why: str) -> AskResult[T]:
        dollars = self._dollars if self._is_priced else None
        return AskResult(value, why, self._raw, self._model.provider, self._name, dollars, self._tokens)

    def _once(self, read: Callable[[Mapping[str, object]], T]) -> T:
        """Ask once, and record the cost, also of a failure."""
        asking, begun = self._ledger.begin(self._asking, self._config), time.monotonic()
        spent, failure, model = asking.spent, "it was interrupted", ""
        try:
            answer = self._model.ask(self._request, self._deadline)
            spent, model = self._spent(answer), answer.model
            self._name = model
            if answer.refused:
                refusal = f": {answer.text[:200]}" if answer.text else ""
                raise RefusalError(f"{model} refuses to answer{refusal}.")
            self._raw = answer.text
            value = read(parse_reply(answer.text, self._request.schema))
            failure = ""
        except (ProviderError, ReplyError) as error:
            failure = str(error)
            if isinstance(error, ProviderError) and not isinstance(error, AnswerError | DeadlineError | RefusalError):
                spent = Spent()  # nothing was charged, unlike with the other errors
            raise
        else:
            return value
        finally:
            seconds = time.monotonic() - begun
            self._ledger.end(asking, spent._replace(seconds=seconds), model=model, failure=failure)

    def _spent(self, answer: ModelAnswer) -> Spent:
        tokens = answer.input_tokens + answer.output_tokens
        price = self._model.price(self._request.size, answer.input_tokens)
        dollars = answer.cost if answer.cost is not None else cost_of(price, answer.input_tokens, answer.output_tokens)
        self._is_priced = self._is_priced and dollars is not None
        self._dollars += dollars or 0.0
        self._tokens += tokens
        return Spent(tokens, dollars)


def without_secrets(store: Store, answer: Mapping[str, object]) -> dict[str, object]:
    """Return a model's answer with all its strings redacted."""
    allow = store.config.redaction.allow
    clean: dict[str, object] = change_strings(answer, lambda text: redact(text, allow=allow).text)
    return clean
