"""Ask a model: redact and fence the question, keep the day's limits, retry, and check the reply (spec R6).

A failure is no exception but the `why` of the result: the caller has an offline answer.

Tested through `tests/memory/summaries/test_model.py`.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Generic, TypeVar

from gitmem.llm.errors import AnswerError, DeadlineError, ProviderError, RefusalError
from gitmem.llm.models import make_model
from gitmem.llm.protocol import cost_of, fenced
from gitmem.llm.replies import ReplyError, parse_reply
from gitmem.machine.beneath import read_text
from gitmem.machine.resources import read_resource
from gitmem.memory.ask.ledger import Asking, DayLimits, Ledger, Spent, SpentError, day_of
from gitmem.redact.redact import redact
from gitmem.store.headers.cache import FOLDER
from gitmem.store.upkeep.failures import Failure, FailureLog
from gitmem.text.tokens import estimate_tokens
from gitmem.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gitmem.llm.http import Patience
    from gitmem.llm.protocol import Answer, Model, Question, Request
    from gitmem.store.store import Store

T = TypeVar("T")

MAX_CHARACTERS = 300_000  # of the material, half from its beginning and half from its end
_COOL_DOWN = timedelta(hours=1)  # before a failed question is repeated in the background
_MAX_SETTLED = 5_000
_LEFT_OUT = "\n\n[… left out …]\n\n"


@dataclass(frozen=True, slots=True)
class Asked(Generic[T]):
    """The result of a question: the value read from the reply, or None and `why`.

    `raw` is the last unusable reply, `model` the one that replied, `dollars` the cost of all tries (None: unknown).
    """

    value: T | None
    why: str = ""
    raw: str = ""
    provider: str = ""
    model: str = ""
    dollars: float | None = 0.0


def patience() -> Patience:
    """Return the retries of spec R6: three, after 1, 2 and 4 seconds, or after the time the server names."""
    from gitmem.llm.http import Patience

    return Patience(tries=4, first=1.0, longest=4.0, random=lambda: 0.5)


def is_worth_asking(store: Store, subject: str) -> bool:
    """Return whether to ask in the background: a model is named, nobody else is asking, and it did not just fail."""
    from gitmem.llm.protocol import HOST, OFFLINE

    config = store.config.summary
    if config.provider in {OFFLINE, HOST}:
        return False
    now = store.context.clock()
    last = next((asking for asking in reversed(_ledger(store).today()) if asking.subject == subject), None)
    if last is None:
        return True
    if last.ended is None:
        return now - last.at > timedelta(seconds=config.timeout_seconds)
    return not last.failure or now - last.ended > _COOL_DOWN


def instructions_for(store: Store, purpose: str) -> str:
    """Return the instructions for a purpose: the text of the settings, else the shipped one.

    A store's tracked file can set it only with the person's consent ("Settings"): it is behaviour, not data.
    """
    own = getattr(store.config.prompts, purpose)
    return own or read_resource("templates", "prompts", f"{purpose}.md").decode()


def ask(
    store: Store,
    question: Question,
    subject: str,
    read: Callable[[Mapping[str, object]], T],
    tries: Patience | None = None,
) -> Asked[T]:
    """Ask the model of the settings, with retries; `read` raises ReplyError for an unusable reply.

    `subject` is the path or name of what the question is about. Errors of providers and replies are not raised, but
    written to the log of failures.
    """
    asked = _asked(store, question, subject, read, tries)
    if asked.value is None:
        failure = Failure(store.context.clock(), "model", f"{question.purpose}, {subject}: {asked.why}")
        FailureLog(store.private).record(failure)
    return asked


def _asked(
    store: Store,
    question: Question,
    subject: str,
    read: Callable[[Mapping[str, object]], T],
    tries: Patience | None,
) -> Asked[T]:
    config = store.config.summary
    try:
        model = make_model(config, store.context.environ)
    except ProviderError as error:
        return Asked(None, f"{error.message} {error.remedy}".strip(), provider=config.provider)
    if model is None:
        return Asked(None, "no model is named in summary.provider", provider=config.provider)
    material = redact(_shortened(question.material), allow=store.config.redaction.allow).text
    request = fenced(question._replace(material=material), os.urandom(16))
    return _Tries(
        store, model, request, Asking("", store.context.clock(), question.purpose, subject, "", "", Spent())
    ).run(read, tries or patience())


class _Tries:
    """The tries of one question."""

    def __init__(self, store: Store, model: Model, request: Request, asking: Asking) -> None:
        config = store.config.summary
        self._model, self._request = model, request
        self._ledger = _ledger(store)
        self._limits = DayLimits(config.tokens_per_day, config.cents_per_day, config.seconds_per_day)
        self._deadline = time.monotonic() + config.timeout_seconds
        self._asking = asking._replace(
            provider=model.provider, model=model.name(request.size), spent=self._most(config.timeout_seconds)
        )
        self._dollars: float | None = 0.0
        self._raw = self._replied_by = ""

    def run(self, read: Callable[[Mapping[str, object]], T], tries: Patience) -> Asked[T]:
        failures = 0
        while True:
            wait = 0.0
            try:
                value = self._once(read)
                return Asked(value, "", "", self._model.provider, self._replied_by, self._dollars)
            except ReplyError as error:
                why = f"the reply of {self._replied_by or self._asking.model} {error}"
            except ProviderError as error:
                why, wait = f"{error.message} {error.remedy}".strip(), error.wait
                self._raw = getattr(error, "raw", "") or self._raw
                if not error.passing and not isinstance(error, AnswerError):
                    return self._failed(why)
            except (SpentError, OSError) as error:
                return self._failed(str(error))
            failures += 1
            pause = tries.pause(failures, wait)
            if failures >= tries.tries or time.monotonic() + pause >= self._deadline:
                return self._failed(why)
            tries.sleep(pause)

    def _failed(self, why: str) -> Asked[T]:
        return Asked(None, why, self._raw, self._model.provider, self._replied_by or self._asking.model, self._dollars)

    def _once(self, read: Callable[[Mapping[str, object]], T]) -> T:
        """Ask once, and record the cost, also of a failure."""
        asking, begun = self._ledger.begin(self._asking, self._limits), time.monotonic()
        spent, failure = asking.spent, "it was interrupted"
        try:
            answer = self._model.ask(self._request, self._deadline)
            spent = self._spent(answer)
            value = self._read(answer, read)
            failure = ""
        except (ProviderError, ReplyError) as error:
            failure = str(error)
            if isinstance(error, ProviderError) and not isinstance(error, AnswerError | DeadlineError | RefusalError):
                spent = Spent()  # nothing was charged, unlike for the other errors
            raise
        else:
            return value
        finally:
            self._ledger.end(
                asking, spent._replace(seconds=time.monotonic() - begun), model=self._replied_by, failure=failure
            )

    def _read(self, answer: Answer, read: Callable[[Mapping[str, object]], T]) -> T:
        self._replied_by = answer.model
        if answer.refused:
            raise RefusalError(f"{answer.model} refuses to answer{f': {answer.text[:200]}' if answer.text else ''}.")
        self._raw = answer.text
        return read(parse_reply(answer.text, self._request.schema))

    def _spent(self, answer: Answer) -> Spent:
        dollars = answer.cost
        if dollars is None:
            price = self._model.price(self._request.size, answer.input_tokens)
            dollars = cost_of(price, answer.input_tokens, answer.output_tokens)
        self._dollars = None if dollars is None or self._dollars is None else self._dollars + dollars
        return Spent(answer.input_tokens + answer.output_tokens, dollars)

    def _most(self, seconds: float) -> Spent:
        """Return an upper estimate of the cost of one try."""
        tokens = estimate_tokens(self._request.system + self._request.text)
        price = self._model.price(self._request.size, tokens)
        return Spent(tokens + self._request.most_tokens, cost_of(price, tokens, self._request.most_tokens), seconds)


class Settled:
    """The subjects that a model has answered, a line each in a file among the caches; none is asked again."""

    def __init__(self, store: Store, name: str) -> None:
        self._path = os.path.join(store.private, FOLDER, name)
        self._subjects = dict.fromkeys(read_text(self._path).splitlines())

    def __contains__(self, subject: object) -> bool:
        return subject in self._subjects

    def add(self, subject: str) -> None:
        """Record an answered subject; if that fails, it may be asked about again."""
        self._subjects[subject] = None
        with contextlib.suppress(OSError):
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            with open(self._path, "w", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in list(self._subjects)[-_MAX_SETTLED:])


def _ledger(store: Store) -> Ledger:
    return Ledger(store.private, store.context.clock)


def _shortened(text: str) -> str:
    if len(text) <= MAX_CHARACTERS:
        return text
    half = MAX_CHARACTERS // 2
    return f"{text[:half]}{_LEFT_OUT}{text[-half:]}"


def without_secrets(store: Store, given: Mapping[str, object]) -> dict[str, object]:
    """Return a model's answer with all strings in it redacted."""
    allow = store.config.redaction.allow

    def clean(value: object) -> object:
        if isinstance(value, str):
            return redact(value, allow=allow).text
        if isinstance(value, dict):
            return {key: clean(below) for key, below in value.items()}
        return [clean(below) for below in value] if isinstance(value, list) else value

    return {key: clean(value) for key, value in given.items()}


class Spending(Value):
    """What models cost today (see `gitmem.memory.ask.ledger.Day`), and the limits of a day; 0 for no limit."""

    provider: str
    questions: int
    failures: int
    tokens: int
    dollars: float
    unpriced: int
    seconds: float
    most_tokens: int
    most_dollars: float
    most_seconds: int


def spending(store: Store) -> Spending:
    """Return today's cost of models for this store."""
    config, day = store.config.summary, day_of(_ledger(store).today())
    return Spending(
        config.provider,
        day.questions,
        day.failures,
        day.spent.tokens,
        round(day.spent.dollars or 0.0, 6),
        day.unpriced,
        round(day.spent.seconds, 1),
        config.tokens_per_day,
        config.cents_per_day / 100,
        config.seconds_per_day,
    )
