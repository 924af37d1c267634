"""One deadline for a call: what a write reads first and its append share it, and a read has an end."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from copy import copy
from time import monotonic

import psycopg
import pytest

from mnemolog.adapters.cancellation import set_within
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.operations.memories import create, get, update
from mnemolog.adapters.operations.messages import list_messages
from mnemolog.adapters.operations.respond import respond
from mnemolog.adapters.operations.webhooks import create_webhook
from mnemolog.domain.errors import AppendTimeout, MnemologError, Overloaded, ReadTimeout
from mnemolog.events.envelope import StreamId
from mnemolog.events.fields import validated
from tests.testkit.network import slow_commits

DEADLINE = 1.0


def hurried(engine: Engine) -> Engine:
    """The same engine, which waits no longer than that."""
    own = copy(engine)
    own.settings = engine.settings.model_copy(update={"append_deadline": DEADLINE, "read_deadline": 0.2})
    return own


@asynccontextmanager
async def locked(engine: Engine, seconds: float, table: str = "heads") -> AsyncIterator[None]:
    """Within this, nobody can read a table of the log, for so many seconds."""
    held, over = asyncio.Event(), asyncio.Event()

    async def hold() -> None:
        async with await psycopg.AsyncConnection.connect(engine.endpoints.postgres_dsn) as connection:
            await connection.execute(f"LOCK TABLE mnemolog.{table} IN ACCESS EXCLUSIVE MODE")
            held.set()
            await set_within(over, seconds)

    holding = asyncio.create_task(hold())
    await held.wait()
    try:
        yield
    finally:
        over.set()
        await holding


@pytest.mark.spec("X14")
@pytest.mark.parametrize(
    ("read_takes", "commit_takes", "error"),
    [(60.0, 0.0, Overloaded), (0.0, 2.5, AppendTimeout), (0.7, 2.5, AppendTimeout)],
)
async def test_a_write_ends_at_its_deadline_whatever_it_waits_for(
    engine: Engine, user: str, read_takes: float, commit_takes: float, error: type[MnemologError]
) -> None:
    stream = StreamId.of_user(user)
    made = await create.run(engine, validated(create.request, {"user_id": user, "text": "Ana likes tea"}))
    request = validated(update.request, {"user_id": user, "memory_id": made.memory_id, "text": "Ana likes green tea"})
    slow = slow_commits(engine.endpoints.postgres_dsn, commit_takes, streams=stream.name)
    async with slow, locked(engine, read_takes, "events"):
        began = monotonic()
        with pytest.raises(error):
            await update.run(hurried(engine), request)
        took = monotonic() - began

    assert DEADLINE - 0.1 <= took < 2.3  # Less than what it waits for takes.
    if error is Overloaded:
        assert await engine.log.head(stream) == 1, "it was not written"


async def test_a_read_ends_too(engine: Engine, user: str) -> None:
    made = await create.run(engine, validated(create.request, {"user_id": user, "text": "Ana likes tea"}))
    request = validated(get.request, {"user_id": user, "memory_id": made.memory_id})
    async with locked(engine, 60.0):
        began = monotonic()
        with pytest.raises(ReadTimeout, match="was not answered within"):
            await get.run(hurried(engine), request)
        took = monotonic() - began

    assert took < DEADLINE + 0.8
    assert (await get.run(engine, request)).text == "Ana likes tea"


async def test_each_step_of_an_answer_ends_and_its_error_says_how_to_go_on(engine: Engine, user: str) -> None:
    request = validated(respond.request, {"user_id": user, "message": "I moved to Lisbon", "message_id": "q-1"})
    for table in ("heads", "events"):
        async with locked(engine, 60.0, table), asyncio.timeout(50.0):
            with pytest.raises(MnemologError) as late:
                await respond.run(hurried(engine), request)
        assert isinstance(late.value, Overloaded | AppendTimeout | ReadTimeout)
        assert late.value.fix.endswith("repeat the request with message_id q-1")

    assert (await respond.run(engine, request)).prompt
    [said] = (await list_messages.run(engine, validated(list_messages.request, {"user_id": user}))).items
    assert said.text == "I moved to Lisbon"


async def test_what_writes_to_a_table_of_its_own_is_not_said_not_to_be_written(engine: Engine, user: str) -> None:
    request = validated(create_webhook.request, {"user_id": user, "url": "https://example.org/hook"})
    async with locked(engine, 60.0, "webhooks"):
        with pytest.raises(AppendTimeout, match="may or may not"):
            await create_webhook.run(hurried(engine), request)
