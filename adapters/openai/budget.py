"""The tokens that a tenant may use in a day, kept in Postgres: processes share a budget, and a restart keeps it."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Any

from mnemolog.adapters.openai.endpoint import Endpoint
from mnemolog.adapters.postgres.pool import Pool
from mnemolog.adapters.postgres.queries import query
from mnemolog.domain.errors import ModelBudgetExceeded, ModelRequestRefused

SETTING = "model_tokens_per_day"
_QUERIES = "mnemolog.adapters.openai"


@dataclass(slots=True)
class Spent:
    """The tokens used by the calls of one reservation so far."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def add(self, input_tokens: int, output_tokens: int) -> None:
        self.requests += 1
        self.input_tokens += input_tokens
        self.output_tokens += output_tokens


@dataclass(frozen=True, slots=True)
class Usage:
    """What a tenant used of one model on one day. `reserved_tokens` are those of unfinished calls."""

    feature: str
    model: str
    requests: int
    input_tokens: int
    output_tokens: int
    reserved_tokens: int


class TokenBudget:
    """`per_day` tokens per tenant and UTC day; 0 means no limit, but usage is still recorded."""

    def __init__(self, pool: Pool, now: Callable[[], datetime], per_day: int) -> None:
        self._pool, self._now, self._per_day = pool, now, per_day

    @asynccontextmanager
    async def reserved(self, tenant: str, endpoint: Endpoint, tokens: int) -> AsyncIterator[Spent]:
        """Reserve tokens, and record the actual use at the end.

        ModelBudgetExceeded if fewer are left, ModelRequestRefused if a whole day has fewer: no job waits for that.

        A cancelled call may have been charged by the server, so its reservation stays until the end of the day.
        """
        now = self._now().astimezone(UTC)
        whose = {"tenant": tenant, "day": now.date(), "feature": endpoint.feature, "model": endpoint.model}
        await self._reserve(whose, tokens, now)
        spent = Spent()
        try:
            yield spent
        except Exception:
            await self._settle(whose, tokens, spent)
            raise
        await self._settle(whose, tokens, spent)

    async def of_today(self, tenant: str) -> Sequence[Usage]:
        """What the tenant used today, by feature and model."""
        values = {"tenant": tenant, "day": self._now().astimezone(UTC).date()}
        async with self._pool.connection() as connection:
            rows = await (await connection.execute(query("model_usage_of_day", _QUERIES), values)).fetchall()
        return [Usage(**row) for row in rows]

    async def _reserve(self, whose: Mapping[str, Any], tokens: int, now: datetime) -> None:
        if 0 < self._per_day < tokens:
            raise ModelRequestRefused(
                f"a request may take {tokens:,} tokens, more than the {self._per_day:,} that a tenant has for a day",
                field=SETTING,
                fix=f"set {SETTING} to {tokens:,} or more; waiting does not help",
            )
        values = {**whose, "tokens": tokens, "limit": self._per_day}
        async with self._pool.connection() as connection, connection.transaction():
            await connection.execute(query("lock_model_budget", _QUERIES), values)
            granted = await (await connection.execute(query("reserve_model_tokens", _QUERIES), values)).fetchone()
        if granted is None:
            midnight = datetime.combine(now.date() + timedelta(days=1), time(), UTC)
            raise ModelBudgetExceeded(
                f"a request may take {tokens:,} tokens; the tenant has fewer left of its {self._per_day:,} for today",
                (midnight - now).total_seconds(),
                field=SETTING,
                fix=f"raise {SETTING}, or wait until 00:00 UTC; jobs do so by themselves",
            )

    async def _settle(self, whose: Mapping[str, Any], reserved: int, spent: Spent) -> None:
        values = {
            **whose,
            "reserved": reserved,
            "requests": spent.requests,
            "input": spent.input_tokens,
            "output": spent.output_tokens,
        }
        async with self._pool.connection() as connection:
            await connection.execute(query("settle_model_tokens", _QUERIES), values)
