"""Calls of a model's API: time-outs, retries with jitter, a circuit breaker, and our own errors.

The package `openai` takes most of a second to import, so it is imported with the first call, in a thread.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from random import random
from typing import TYPE_CHECKING, TypeVar

from mnemolog.adapters import telemetry
from mnemolog.adapters.openai.breaker import CircuitBreaker
from mnemolog.adapters.openai.endpoint import Endpoint
from mnemolog.domain.errors import ModelNotAccessible, ModelOutputInvalid, ModelRequestRefused, ModelUnavailable

if TYPE_CHECKING:
    from openai import APIStatusError, AsyncOpenAI

Answer = TypeVar("Answer")

FIRST_DELAY_SECONDS = 0.5
LONGEST_DELAY_SECONDS = 8.0
# If a server asks for a longer wait, the caller decides when to retry.
LONGEST_RETRY_AFTER_SECONDS = 20.0
UNAVAILABLE_SECONDS = 30.0
QUOTA_SECONDS = 600.0
QUICK_SECONDS = 10.0
# No request takes more.
MOST_TOKENS = 100_000_000
_TRANSIENT = frozenset({408, 409, 429})


class ModelClient:
    """One endpoint. Its circuit breaker counts all calls in this process."""

    def __init__(self, endpoint: Endpoint, clock: Callable[[], float] = time.monotonic) -> None:
        self.endpoint = endpoint
        self._breaker = CircuitBreaker(clock)
        self._refused: Exception | None = None
        self._opened: AsyncOpenAI | None = None

    async def aclose(self) -> None:
        if self._opened is not None:
            await self._opened.close()

    async def call(self, ask: Callable[["AsyncOpenAI"], Awaitable[Answer]], *, quick: bool = False) -> Answer:
        """The server's answer; ModelUnavailable or ModelRequestRefused after the last retry.

        `quick` is for calls that somebody is waiting for: at most one retry, and little time.
        """
        client, seconds, retries = await self._client(), self.endpoint.timeout, self.endpoint.retries
        if quick:
            seconds, retries = min(seconds, QUICK_SECONDS), min(retries, 1)
        with telemetry.step("model", feature=self.endpoint.feature):
            for attempt in range(retries + 1):
                if wait := self._breaker.wait():
                    left_alone = self._unavailable("failed several times in a row and is left alone for a while", wait)
                    raise self._refused.with_traceback(None) if self._refused else left_alone
                failure, patience = ModelUnavailable(), 0.0
                try:
                    return await self._once(client, ask, seconds)
                except ModelUnavailable as unavailable:
                    failure, patience = unavailable, unavailable.retry_after
                if attempt == retries or patience > LONGEST_RETRY_AFTER_SECONDS:
                    break
                longest = min(LONGEST_DELAY_SECONDS, FIRST_DELAY_SECONDS * 2**attempt)
                await asyncio.sleep(max(patience, longest * (0.5 + random() / 2)))
            failure.retry_after = failure.retry_after or UNAVAILABLE_SECONDS
            raise failure

    async def check(self) -> None:
        """Check that the server answers, accepts the key and lists the model; a server without a list passes."""

        async def models(client: "AsyncOpenAI") -> frozenset[str]:
            return frozenset([one.id async for one in client.models.list() if isinstance(one.id, str)])

        endpoint = self.endpoint
        try:
            listed = await self.call(models)
        except ModelRequestRefused as refused:
            if refused.status in (404, 405):
                return
            raise
        names = {*listed, *(name.removesuffix(":latest") for name in listed)}  # Ollama's tag.
        if listed and endpoint.model not in names:
            raise ModelRequestRefused(
                f"the server at {endpoint.host} does not list the {endpoint.feature} model {endpoint.model!r}",
                field=f"{endpoint.feature}_model",
                fix=f"correct {endpoint.feature}_model, or load the model on the server",
            )

    async def _once(
        self, client: "AsyncOpenAI", ask: Callable[["AsyncOpenAI"], Awaitable[Answer]], seconds: float
    ) -> Answer:
        """One request, within the timeout however slowly the answer arrives."""
        from openai import APIConnectionError, APIError, APIStatusError, APITimeoutError

        from mnemolog.adapters.openai.http import AnswerRefused, answered

        answered.set(False)
        try:
            async with asyncio.timeout(seconds):
                answer = await ask(client)
        except APIStatusError as refused:
            raise self._of_status(refused) from None
        except (TimeoutError, APITimeoutError):
            self._failed()
            raise self._unavailable(f"did not answer within {seconds:g} s", field="model_timeout") from None
        except APIConnectionError as failed:
            self._failed()
            broken = "closed the connection" if "Protocol" in type(failed.__cause__).__name__ else "cannot be reached"
            raise self._unavailable(broken) from None
        except AnswerRefused as refused_answer:
            self._failed()
            raise self._unavailable(str(refused_answer)) from None
        except (APIError, ValueError, TypeError, AttributeError):  # The package trusts that JSON has the right form.
            if not answered.get():
                raise
            self._failed()
            raise self._unavailable("gave an answer that cannot be read") from None
        self._breaker.succeeded()
        if answer is None or isinstance(answer, str | int | float | list):  # The body was not an object.
            raise self._unavailable("gave an answer that cannot be read")
        return answer

    def _of_status(self, refused: "APIStatusError") -> Exception:
        """Without the server's message or our request, which may quote the key or the text."""
        endpoint, status = self.endpoint, refused.status_code
        if status == 429 and refused.code == "insufficient_quota":
            used_up = self._unavailable("says that the account's quota is used up", QUOTA_SECONDS, endpoint.key_setting)
            self._failed(used_up)
            return used_up
        if status in _TRANSIENT or status >= 500:
            if status >= 500:
                self._failed()
            return self._unavailable(f"answered with status {status}", _retry_after(refused))
        told = refusal(endpoint, refused)
        if isinstance(told, ModelNotAccessible):
            self._failed(told)
        else:
            self._breaker.succeeded()
        return told

    def _failed(self, refused: Exception | None = None) -> None:
        """Count a failure. `refused` is what every request meets until a setting or the account changes."""
        self._breaker.failed()
        self._refused = refused

    def _unavailable(self, what: str, retry_after: float = 0.0, field: str = "") -> ModelUnavailable:
        setting = field or self.endpoint.url_setting
        return ModelUnavailable(
            f"the {self.endpoint.feature} model at {self.endpoint.host} {what}",
            retry_after,
            field=setting,
            fix=f"check the server and the setting {setting}; jobs try again by themselves",
        )

    async def _client(self) -> "AsyncOpenAI":
        if self._opened is None:
            opened = await asyncio.to_thread(_open, self.endpoint)
            if self._opened is None:
                self._opened = opened
        return self._opened


def _open(endpoint: Endpoint) -> "AsyncOpenAI":
    from openai import AsyncOpenAI

    from mnemolog.adapters.openai.http import http_client

    # A key is always sent, which servers without keys ignore, but never the one in the environment.
    client = AsyncOpenAI(
        base_url=endpoint.url,
        api_key=endpoint.api_key or "none",
        max_retries=0,
        timeout=endpoint.timeout,
        http_client=http_client(endpoint.timeout),
    )
    client.organization = client.project = None  # Those in the environment belong to another key.
    return client


def refusal(endpoint: Endpoint, refused: "APIStatusError") -> ModelRequestRefused:
    """The setting that is most likely wrong."""
    status, told = refused.status_code, f" ({refused.code})" if _is_code(refused.code) else ""
    message = f"the {endpoint.feature} model at {endpoint.host} refused the request with status {status}{told}"
    param = refused.param or ""
    match status:
        case 401 | 403:
            kind = ModelNotAccessible if status == 401 else ModelRequestRefused  # 403 may be about the text.
            return kind(message, status, param, field=endpoint.key_setting, fix="set a key that may use this model")
        case 404:
            fix = f"check that the server has the model {endpoint.model!r}, and {endpoint.url_setting}"
            return ModelNotAccessible(message, status, param, field=f"{endpoint.feature}_model", fix=fix)
        case _:
            fix = "use a model and a server that support this kind of request"
            return ModelRequestRefused(message, status, param, field=f"{endpoint.feature}_model", fix=fix)


def count_of(usage: object, name: str, estimate: int) -> int:
    """A number of tokens that a server reports, or an estimate: some omit it, and none may give tokens back."""
    found = getattr(usage, name, None)
    return found if type(found) is int and 0 <= found <= MOST_TOKENS else estimate


def output_invalid(endpoint: Endpoint, what: str) -> ModelOutputInvalid:
    return ModelOutputInvalid(
        f"the {endpoint.feature} model {endpoint.model} {what}",
        field=f"{endpoint.feature}_model",
        fix="try again, or use a model that supports structured output",
    )


def _retry_after(refused: "APIStatusError") -> float:
    """The value of the header, in seconds or as a date; 0 without one."""
    said = refused.response.headers.get("retry-after", "")
    with suppress(ValueError):
        return max(0.0, min(float(said), 24 * 3600.0))
    with suppress(ValueError, TypeError):
        return max(0.0, (parsedate_to_datetime(said) - datetime.now(UTC)).total_seconds())
    return 0.0


def _is_code(code: str | None) -> bool:
    return bool(code) and len(str(code)) <= 60 and str(code).replace("_", "").isalnum()
