"""Budgets in tokens: by tenant and day, shared by processes."""

import asyncio
from datetime import UTC, datetime

import pytest

from mnemolog.adapters.openai.budget import TokenBudget, Usage
from mnemolog.adapters.openai.chat import OpenAIChat
from mnemolog.adapters.openai.endpoint import Endpoint
from mnemolog.adapters.postgres.pool import Pool
from mnemolog.domain.errors import ModelBudgetExceeded, ModelRequestRefused
from tests.adapters.openai.conftest import Clients
from tests.adapters.openai.test_chat import ask
from tests.testkit.eventually import eventually
from tests.testkit.model_server import ModelServer

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.fixture
def endpoint(clients: Clients) -> Endpoint:
    return clients().endpoint


async def use(budget: TokenBudget, tenant: str, endpoint: Endpoint, tokens: int, used: int) -> None:
    async with budget.reserved(tenant, endpoint, tokens) as spent:
        spent.add(used, 0)


async def test_processes_on_one_database_share_a_budget(pool: Pool, tenant: str, endpoint: Endpoint) -> None:
    one, other = (TokenBudget(pool, lambda: NOON, 100) for _ in range(2))
    await use(one, tenant, endpoint, 60, 60)
    with pytest.raises(ModelBudgetExceeded) as exceeded:
        await use(other, tenant, endpoint, 41, 41)
    assert exceeded.value.field == "model_tokens_per_day"
    assert "model_tokens_per_day" in exceeded.value.fix
    assert exceeded.value.retry_after == 12 * 3600
    await use(other, tenant, endpoint, 40, 40)
    await use(one, f"{tenant}-2", endpoint, 100, 100)


async def test_at_most_the_budget_is_reserved_however_many_ask_at_once(
    pool: Pool, tenant: str, endpoint: Endpoint
) -> None:
    budget, done, most = TokenBudget(pool, lambda: NOON, 100), asyncio.Event(), 0

    async def hold() -> None:
        nonlocal most
        async with budget.reserved(tenant, endpoint, 30) as spent:
            most += 1
            await done.wait()
            spent.add(30, 0)

    holding = [asyncio.create_task(hold()) for _ in range(8)]

    async def refused() -> bool:
        return sum(task.done() for task in holding) == 5

    await eventually(refused)
    done.set()
    told = await asyncio.gather(*holding, return_exceptions=True)
    assert sum(isinstance(one, ModelBudgetExceeded) for one in told) == 5
    assert most == 3
    assert await budget.of_today(tenant) == [Usage("chat", "m-1", 3, 90, 0, 0)]


async def test_the_next_day_has_a_budget_of_its_own(pool: Pool, tenant: str, endpoint: Endpoint) -> None:
    now = NOON
    budget = TokenBudget(pool, lambda: now, 100)
    await use(budget, tenant, endpoint, 100, 100)
    now = datetime(2026, 5, 2, tzinfo=UTC)
    await use(budget, tenant, endpoint, 100, 70)
    assert await budget.of_today(tenant) == [Usage("chat", "m-1", 1, 70, 0, 0)]


async def test_what_was_not_used_is_given_back_and_a_cancelled_call_keeps_its_reservation(
    pool: Pool, tenant: str, endpoint: Endpoint
) -> None:
    budget = TokenBudget(pool, lambda: NOON, 100)
    await use(budget, tenant, endpoint, 90, 20)
    with pytest.raises(ZeroDivisionError):
        async with budget.reserved(tenant, endpoint, 80):
            raise ZeroDivisionError
    with pytest.raises(asyncio.CancelledError):
        async with budget.reserved(tenant, endpoint, 50):
            raise asyncio.CancelledError
    assert await budget.of_today(tenant) == [Usage("chat", "m-1", 1, 20, 0, 50)]
    with pytest.raises(ModelBudgetExceeded):
        await use(budget, tenant, endpoint, 31, 0)


async def test_without_a_limit_usage_is_recorded(pool: Pool, tenant: str, endpoint: Endpoint) -> None:
    budget = TokenBudget(pool, lambda: NOON, 0)
    await use(budget, tenant, endpoint, 10**12, 7)
    assert await budget.of_today(tenant) == [Usage("chat", "m-1", 1, 7, 0, 0)]


async def test_a_model_is_not_asked_without_tokens(
    pool: Pool, tenant: str, endpoint: Endpoint, clients: Clients, server: ModelServer
) -> None:
    budget = TokenBudget(pool, lambda: NOON, 1000)
    await use(budget, tenant, endpoint, 1000, 990)
    with pytest.raises(ModelBudgetExceeded):
        await ask(OpenAIChat(clients(), budget), tenant)
    assert server.asked == 0


async def test_a_request_that_no_day_has_tokens_for_is_refused_instead_of_waiting_for_tomorrow(
    pool: Pool, tenant: str, clients: Clients, server: ModelServer
) -> None:
    chat = OpenAIChat(clients(), TokenBudget(pool, lambda: NOON, 50))
    with pytest.raises(ModelRequestRefused, match=r"more than the 50 that a tenant has for a day") as refused:
        await ask(chat, tenant)
    assert (refused.value.field, server.asked) == ("model_tokens_per_day", 0)
