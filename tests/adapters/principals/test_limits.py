"""One caller's many or long reads take nothing from others: bounded by counts, refused with 429 (design §7)."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.adapters.postgres.log import PostgresLog
from mnemolog.adapters.reads import limits
from mnemolog.adapters.reads.limits import RUNNING, SHARING, WRITING, Caller, Callers, ReadLimits, Turns
from mnemolog.adapters.reads.neighbours import Neighbours
from mnemolog.domain.errors import InvalidInput, TooManyRequests
from mnemolog.events.envelope import Position, StreamId
from mnemolog.projections.reads.moment import NOW, Moment
from tests.adapters.principals.keys import calling, principal
from tests.testkit.settings import PATIENCE

LIMITS = ReadLimits(deadline=5, longest=60, reads=6, waiting=4, as_of=2)
AFTER = Moment(after=Position(StreamId.of_user("ana"), 9))
AS_OF = Moment(as_of=datetime(2026, 1, 3, tzinfo=UTC))


@pytest.mark.parametrize(("moment", "most", "field"), [(NOW, 6, ""), (AFTER, 4, "after"), (AS_OF, 2, "as_of")])
async def test_a_caller_has_so_many_reads_open_and_no_more(
    moment: Moment, most: int, field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller = Caller(LIMITS, lambda: True)
    async with AsyncExitStack() as stack:
        for _ in range(most):
            await stack.enter_async_context(caller.read(moment))
        with pytest.raises(TooManyRequests, match=f"{most} reads") as refused:
            await stack.enter_async_context(caller.read(moment))
        assert refused.value.field == field
        assert "max_" in refused.value.fix
    monkeypatch.setattr(limits, "LATELY", 0.0)
    assert not caller.active
    async with caller.read(moment):
        assert caller.active


async def test_many_long_reads_leave_the_caller_his_plain_ones() -> None:
    caller = Caller(LIMITS, lambda: True)
    async with AsyncExitStack() as stack:
        for moment in (AFTER, AFTER, AS_OF, AS_OF):
            await stack.enter_async_context(caller.read(moment))
        with pytest.raises(TooManyRequests):
            await stack.enter_async_context(caller.read(AS_OF))
        await stack.enter_async_context(caller.read(NOW))


async def test_each_caller_has_separate_counts_and_leaves_none_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    callers = Callers(LIMITS)
    async with callers.of("acme", "app").read(AS_OF), callers.of("acme", "app").read(AS_OF):
        with pytest.raises(TooManyRequests):
            async with callers.of("acme", "app").read(AS_OF):
                pass
        async with callers.of("acme", "other").read(AS_OF), callers.of("beta", "app").read(AS_OF):
            pass
    monkeypatch.setattr(limits, "LATELY", 0.0)
    callers.of("acme", "new")
    assert list(callers._callers) == [("acme", "new")]


async def test_a_caller_has_fewer_turns_while_others_read_and_a_little_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    callers = Callers(LIMITS)
    many = callers.of("acme", "app")
    async with many.read(NOW):
        other = callers.of("beta", "app")
        assert await turns_of(many, 2 * RUNNING) == RUNNING
        async with other.read(NOW), other.turn():
            assert await turns_of(many, 2 * RUNNING) == SHARING
        assert await turns_of(many, 2 * RUNNING) == SHARING
        monkeypatch.setattr(limits, "LATELY", 0.0)
        assert await turns_of(many, 2 * RUNNING) == RUNNING


async def test_a_callers_writes_take_turns_while_others_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    callers = Callers(LIMITS)
    many = callers.of("acme", "app")
    async with many.write():
        other = callers.of("beta", "app")
    assert await at_a_time(many.write, 2 * WRITING) == WRITING, "together they cost less"
    async with other.write():
        pass
    assert await at_a_time(many.write, 100) == SHARING
    monkeypatch.setattr(limits, "LATELY", 0.0)
    assert await at_a_time(many.write, 100) == 100
    async with other.read(NOW):
        assert await at_a_time(many.write, 100) == SHARING


async def test_what_belongs_to_a_write_needs_no_turn_of_its_own() -> None:
    callers = Callers(LIMITS)
    many = callers.of("acme", "app")
    async with many.write(), callers.of("beta", "app").write():
        pass

    @asynccontextmanager
    async def whole() -> AsyncIterator[None]:
        async with many.write(), many.write():
            yield

    async with asyncio.timeout(PATIENCE):
        assert await at_a_time(whole, 100) == SHARING


@pytest.mark.spec("X24")
@pytest.mark.parametrize(
    ("owner", "step"), [(Neighbours, "beside"), (PostgresLog, "append")], ids=["what is looked up", "what is appended"]
)
async def test_over_http_one_keys_flood_of_writes_leaves_room_for_those_of_others(
    guarded: Engine, user: str, monkeypatch: pytest.MonkeyPatch, owner: type, step: str
) -> None:
    whole, running, most = getattr(owner, step), 0, 0

    async def counted(*arguments: Any) -> Any:
        nonlocal running, most
        if f"{user}-" not in repr(arguments):
            return await whole(*arguments)  # The engine appends, too, for users of other tests.
        running += 1
        most = max(most, running)
        try:
            return await whole(*arguments)
        finally:
            running -= 1

    async with calling(guarded, principal(f"flood-{user}")) as flood, calling(guarded, principal("little")) as little:
        wrote = await little.post("/v1/memories", json={"user_id": user, "text": "Ana drinks tea"})
        monkeypatch.setattr(owner, step, counted)
        monkeypatch.setattr(limits, "LATELY", PATIENCE)
        fields = [{"user_id": f"{user}-{number}", "text": f"Ben has {number} cats"} for number in range(30)]
        answers = await asyncio.gather(*(flood.post("/v1/memories", json=one) for one in fields))
    assert {answer.status_code for answer in (wrote, *answers)} == {201}
    assert most == SHARING


async def test_who_is_cancelled_while_waiting_for_a_turn_leaves_it_to_the_next() -> None:
    caller, held = Turns(lambda: 1), asyncio.Event()

    async def hold() -> None:
        async with caller.turn():
            held.set()

    async with caller.turn():
        gone, late, last = (asyncio.create_task(hold()) for _ in range(3))
        await asyncio.sleep(0)
        gone.cancel()
    late.cancel()  # Its turn has come, and it did not run since.
    await asyncio.gather(gone, late, return_exceptions=True)
    await asyncio.wait_for(last, 10)
    assert held.is_set()
    assert await turns_of(caller, 2) == 1


async def test_who_comes_after_a_cancelled_one_that_did_not_run_since_has_a_turn_at_once() -> None:
    caller = Turns(lambda: 1)

    async def hold() -> None:
        async with caller.turn():
            pass

    async with caller.turn():
        gone = asyncio.create_task(hold())
        await asyncio.sleep(0)
        gone.cancel()
    async with asyncio.timeout(10):
        await hold()  # Its first step comes before the last one of the other.
    await asyncio.gather(gone, return_exceptions=True)


async def turns_of(caller: Caller | Turns, count: int) -> int:
    """How many of so many reads, which begin together, run at a time."""
    return await at_a_time(caller.turn, count)


async def at_a_time(turn: Callable[[], AbstractAsyncContextManager[None]], count: int) -> int:
    """How many of so many, which begin together, have a turn at a time."""
    running, most, go = 0, 0, asyncio.Event()

    async def hold() -> None:
        nonlocal running, most
        async with turn():
            running += 1
            most = max(most, running)
            await go.wait()
            running -= 1

    tasks = [asyncio.create_task(hold()) for _ in range(count)]
    for _ in range(3):
        await asyncio.sleep(0)
    assert running == most
    go.set()
    await asyncio.gather(*tasks)
    return most


async def test_a_callers_reads_take_turns_so_that_connections_are_left_for_others() -> None:
    caller, other, go = Caller(LIMITS, lambda: True), Caller(LIMITS, lambda: True), asyncio.Event()
    holding = 0

    async def hold() -> None:
        nonlocal holding
        async with caller.turn():
            holding += 1
            await go.wait()

    tasks = [asyncio.create_task(hold()) for _ in range(3 * RUNNING)]
    for _ in range(3):
        await asyncio.sleep(0)
    assert holding == RUNNING
    async with other.turn():
        go.set()
    await asyncio.gather(*tasks)
    assert holding == 3 * RUNNING


@pytest.mark.spec("X24")
async def test_over_http_waits_beyond_the_limit_are_429_and_another_key_reads_on(guarded: Engine, user: str) -> None:
    _, receipt = await guarded.writes.create({"user_id": user, "text": "Ana drinks tea"})
    most = guarded.settings.max_waiting_reads
    impossible: dict[str, Any] = {"user_id": user, "after": f"default/user:{user}@99", "deadline": 60}
    async with calling(guarded, principal(f"greedy-{user}")) as greedy, calling(guarded, principal("other")) as other:
        asked = [asyncio.create_task(greedy.get("/v1/memories", params=impossible)) for _ in range(300)]
        refused: list[httpx.Response] = []
        while len(refused) < 300 - most:
            done, _ = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
            refused += [task.result() for task in done]
            asked = [task for task in asked if not task.done()]
        assert {answer.status_code for answer in refused} == {429}
        assert {answer.headers["Retry-After"] for answer in refused} == {"1"}
        assert {answer.json()["error"]["code"] for answer in refused} == {"too_many_requests"}
        assert len(asked) == most, "these wait, and hold nothing"
        seen = {"user_id": user, "after": receipt.token}
        assert (await other.get("/v1/memories", params=seen)).status_code == 200
        assert (await greedy.get("/v1/memories", params={"user_id": user})).status_code == 200
        for task in asked:
            task.cancel()
        await asyncio.gather(*asked, return_exceptions=True)


async def test_without_keys_all_callers_share_the_limits_of_one(engine: Engine, user: str) -> None:
    few = engine.settings.model_copy(update={"max_as_of_reads": 1})
    async with open_engine(few, attach=True) as attached, calling(attached, None) as client:
        await attached.writes.create({"user_id": user, "text": "Ana drinks tea"})
        held: Any = attached.of_anybody().reads._caller
        async with held.read(AS_OF):
            refused = await client.get("/v1/memories", params={"user_id": user, "as_of": 1})
            assert (refused.status_code, refused.json()["error"]["field"]) == (429, "as_of")
            assert (await client.get("/v1/memories", params={"user_id": user})).status_code == 200
        assert (await client.get("/v1/memories", params={"user_id": user, "as_of": 1})).status_code == 200


async def test_a_deadline_above_the_highest_is_refused_with_its_field_and_the_maximum(
    guarded: Engine, user: str
) -> None:
    async with calling(guarded, principal()) as client:
        for path in ("/v1/memories", "/v1/session"):
            refused = await client.get(path, params={"user_id": user, "deadline": 61})
            assert (refused.status_code, refused.json()["error"]["field"]) == (422, "deadline")
            assert "at most 60" in refused.json()["error"]["fix"]
        described = (await client.get("/openapi.json")).json()["paths"]["/v1/memories"]["get"]["parameters"]
    [deadline] = [one["schema"] for one in described if one["name"] == "deadline"]
    assert 60 in {shape.get("maximum") for shape in deadline["anyOf"]}
    with pytest.raises(InvalidInput, match="is above the maximum"):
        LIMITS.require(Moment(deadline=61))
