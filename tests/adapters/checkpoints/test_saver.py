"""Checkpoints are kept whole, stored once, pruned, and of one user and agent alone (B15)."""

import asyncio
import operator
import random
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from psycopg import AsyncConnection

from mnemolog import AsyncMemory, Memory
from mnemolog.adapters.engine.engine import Engine
from mnemolog.domain.errors import Conflict, InvalidInput, MalformedEvent, NotFound, NotPermitted
from mnemolog.domain.principal import Principal, Role
from mnemolog.events.envelope import StreamId
from mnemolog.langgraph import MnemologSaver
from tests.testkit.checkpoints import checkpoint, config, saved, values


class State(TypedDict):
    said: Annotated[list[str], operator.add]


def ask(state: State) -> dict[str, Any]:
    return {"said": [f"You are {interrupt('Who are you?')}"]}


def graph(saver: Any) -> Any:
    builder = StateGraph(State)
    builder.add_node("greet", lambda state: {"said": ["Good morning"]})
    builder.add_node("ask", ask)
    builder.add_edge(START, "greet")
    builder.add_edge("greet", "ask")
    builder.add_edge("ask", END)
    return builder.compile(checkpointer=saver)


def large(seed: int) -> str:
    """50 KB in which nothing repeats."""
    return random.Random(seed).randbytes(25_000).hex()


async def count(engine: Engine, user: str, table: str) -> int:
    async with await AsyncConnection.connect(engine.endpoints.postgres_dsn) as connection:
        statement = f"SELECT count(*) FROM mnemolog.{table} WHERE stream = %s"  # noqa: S608
        [found] = await (await connection.execute(statement.encode(), [f"user:{user}"])).fetchone() or [0]
        return int(found)


@pytest.mark.spec("B15")
async def test_an_interrupted_graph_continues_with_another_saver(memory: AsyncMemory, user: str) -> None:
    wanted = config(user_id=user)
    stopped = await graph(MnemologSaver(memory)).ainvoke({"said": ["Hello"]}, wanted)
    assert stopped["__interrupt__"][0].value == "Who are you?"

    after = graph(MnemologSaver(memory))
    snapshot = await after.aget_state(wanted)
    assert snapshot.next == ("ask",)
    assert snapshot.config["configurable"]["user_id"] == user
    ended = await after.ainvoke(Command(resume="Ana"), snapshot.config)

    assert ended["said"] == ["Hello", "Good morning", "You are Ana"]
    assert len([one async for one in after.aget_state_history(wanted)]) == 4


def test_a_graph_runs_without_await(engine: Engine, user: str) -> None:
    with Memory(engine.settings.directory, durable=False, embedder="lexical", user_id=user) as memory:
        running = graph(MnemologSaver(memory))
        running.invoke({"said": ["Hello"]}, config())
        assert running.invoke(Command(resume="Ana"), config())["said"][-1] == "You are Ana"
        assert len(list(running.get_state_history(config()))) == 4


@pytest.mark.spec("B15")
async def test_what_a_checkpoint_shares_with_earlier_ones_is_stored_once(
    engine: Engine, saver: MnemologSaver, user: str
) -> None:
    said = [f"message {number}: {'x' * 900}" for number in range(100)]
    at = await saved(saver, said=said, facts=[b"f" * 100_000])
    before = await count(engine, user, "checkpoint_chunks")

    made = checkpoint(2, said=[*said, "one more"], facts=[b"f" * 100_000])
    made["channel_versions"]["facts"] = 1
    at = dict(await saver.aput(at, made, {"step": 2}, {"said": 2}))
    await saved(saver, at, version=3, said=[*said, "one more"], facts=[b"f" * 100_000])

    assert await count(engine, user, "checkpoint_chunks") == before + 2, "its first, with the length, and its last"
    assert await values(saver) == {"said": [*said, "one more"], "facts": [b"f" * 100_000]}


async def test_another_saver_knows_what_is_stored(engine: Engine, saver: MnemologSaver, user: str) -> None:
    """It has read nothing, so it serializes what did not change, and stores nothing of it again."""
    at = await saved(saver, state=[b"s" * 50_000])
    before = await count(engine, user, "checkpoint_chunks")
    async with AsyncMemory(engine.settings.directory, durable=False, embedder="lexical") as other:
        made = checkpoint(1, state=[b"s" * 50_000])
        await MnemologSaver(other, user_id=user).aput(at, made, {"step": 2}, {})
    assert await count(engine, user, "checkpoint_chunks") == before
    assert await values(saver) == {"state": [b"s" * 50_000]}


@pytest.mark.spec("B15")
async def test_pruning_leaves_the_newest_and_nothing_that_only_others_had(
    engine: Engine, memory: AsyncMemory, user: str
) -> None:
    saver, at = MnemologSaver(memory, user_id=user, keep=4), config()
    for number in range(20):
        at = await saved(saver, at, version=number, state=[large(number)])
        await saver.aput_writes(at, [("state", f"{number}")], f"task {number}")

    kept = [one.metadata["step"] async for one in saver.alist(config())]

    assert kept[:4] == [19, 18, 17, 16]
    assert len(kept) <= 5
    await saver.aprune(["main"])
    assert await count(engine, user, "supervisor_checkpoints") == await count(engine, user, "checkpoint_writes") == 1
    assert await count(engine, user, "checkpoint_chunks") == 4
    assert await values(saver) == {"state": [large(19)]}


async def test_what_delta_channels_are_rebuilt_from_is_not_pruned(saver: MnemologSaver) -> None:
    at = await saved(saver, said=["zero"])
    at = await saved(saver, at, version=2, said=["one"])
    for step in (3, 4):
        await saver.aput_writes(at, [("said", f"{step}")], f"task {step}")
        deltas = {"step": step, "counters_since_delta_snapshot": {"said": (step - 2, step - 2)}}
        at = dict(await saver.aput(at, checkpoint(step), deltas, {}))

    await saver.aprune(["main"])

    assert [one.metadata["step"] async for one in saver.alist(config())] == [4, 3, 2]
    history = await saver.aget_delta_channel_history(config=at, channels=["said"])
    assert history["said"]["seed"] == ["one"]
    assert [value for _, _, value in history["said"]["writes"]] == ["3", "4"]


async def test_saving_while_others_prune_loses_nothing(memory: AsyncMemory, saver: MnemologSaver, user: str) -> None:
    """Two savers with what they know of their own; one of them takes away what the other knows to be there."""
    shared = [b"s" * 40_000]

    async def prune() -> None:
        async with AsyncMemory(memory._settings.directory, durable=False, embedder="lexical") as other:
            pruning = MnemologSaver(other, user_id=user)
            for _ in range(20):
                await pruning.aprune(["main"])

    async def save() -> None:
        at = config()
        for number in range(40):
            state = shared if number % 2 else [b"t" * 40_000]
            at = await saved(saver, at, version=number, state=state)
            assert await values(saver, at) in ({"state": state}, None)

    await asyncio.gather(prune(), save())
    assert await values(saver) == {"state": shared}


@pytest.mark.spec("B15")
async def test_an_in_memory_saver_is_imported_completely_and_idempotently(memory: AsyncMemory, user: str) -> None:
    source, target = InMemorySaver(), MnemologSaver(memory, user_id=user)
    for thread_id in ("first", "second"):
        await graph(source).ainvoke({"said": ["Hello " * 500]}, config(thread_id))
    await graph(source).ainvoke(Command(resume="Ana"), config("second"))

    assert await target.acopy_from(source) == await target.acopy_from(source) == 7

    for thread_id in ("first", "second"):
        left = [one async for one in source.alist(config(thread_id))]
        right = [one async for one in target.alist(config(thread_id))]
        assert left == right
    resumed = await graph(target).ainvoke(Command(resume="Bob"), config("first"))
    assert resumed["said"][-1] == "You are Bob"


async def test_a_thread_is_of_one_user_and_one_agent(memory: AsyncMemory, user: str) -> None:
    saver, thread = MnemologSaver(memory), f"thread-{user}"
    await saved(saver, config(thread, user_id=user), of="ana")
    for other in ({"user_id": f"{user}-2"}, {"user_id": user, "agent_id": "coach"}):
        assert await values(saver, config(thread, **other)) is None
        assert [one async for one in saver.alist(config(thread, **other))] == []
    await saved(saver, config(thread, user_id=f"{user}-2"), of="bob")

    with pytest.raises(Conflict, match="2 users have a thread"):
        await saver.adelete_thread(thread)
    await saver.of_user(user).adelete_thread(thread)

    assert await values(saver, config(thread, user_id=user)) is None
    assert await values(saver, config(thread, user_id=f"{user}-2")) == {"of": "bob"}


@pytest.mark.parametrize(
    ("reach", "error"),
    [
        ({"users": {"bob"}}, NotFound),
        ({"agents": {"coach"}}, NotPermitted),
        ({"tenant": "acme"}, NotFound),
        ({"roles": {Role.ERASE}}, NotPermitted),
    ],
)
async def test_an_api_key_reaches_its_own_users_and_agents_alone(
    engine: Engine, saver: MnemologSaver, user: str, reach: dict[str, Any], error: type[Exception]
) -> None:
    await saved(saver, of="ana")
    [thread] = await engine.checkpoints.threads("default", StreamId.of_user(user))
    every = {"name": "app", "tenant": "default", "agents": {"*"}, "users": {"*"}, "roles": {Role.ADMIN}}
    bound: dict[str, Any] = {
        name: one if isinstance(one, str) else frozenset(one) for name, one in {**every, **reach}.items()
    }
    store = engine.by(Principal(**bound)).checkpoints

    with pytest.raises(error):
        await store.load(thread, "")
    assert await store.threads("default", StreamId.of_user(user)) == []


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"configurable": {"thread_id": "main"}}, "user_id"),
        ({"configurable": {"user_id": "ana"}}, "thread_id"),
        ({"configurable": {"user_id": "ana", "thread_id": "a\0b"}}, "thread_id"),
        ({"configurable": {"user_id": "ana", "thread_id": ""}}, "thread_id"),
        ({"configurable": {"user_id": "ana", "thread_id": "t" * 201}}, "thread_id"),
        ({"configurable": {"user_id": " ana", "thread_id": "main"}}, "user_id"),
        ({"configurable": {"user_id": "ana", "thread_id": "main", "checkpoint_ns": "n" * 2001}}, "checkpoint_ns"),
        ({"configurable": {"user_id": "ana", "thread_id": "main", "checkpoint_ns": "\ud800"}}, "checkpoint_ns"),
        ({"configurable": {"user_id": "ana", "thread_id": "main", "checkpoint_id": "a\0b"}}, "checkpoint_id"),
    ],
)
async def test_a_config_that_says_too_little_or_too_much_is_refused(
    memory: AsyncMemory, asked: dict[str, Any], field: str
) -> None:
    saver = MnemologSaver(memory)
    with pytest.raises(InvalidInput) as refused:
        await saved(saver, asked, state=1)
    assert refused.value.field == field
    with pytest.raises(InvalidInput) as refused:
        await saver.aget_tuple(asked)
    assert refused.value.field == field


async def test_a_channel_whose_name_is_no_text_is_refused(saver: MnemologSaver) -> None:
    at = await saved(saver, state=1)
    with pytest.raises(InvalidInput) as refused:
        await saver.aput_writes(at, [("\ud800", 1)], "task")
    assert refused.value.field == "channel"


async def test_values_and_names_of_every_kind_come_back(saver: MnemologSaver) -> None:
    odd: dict[str, Any] = {"nul": "a\0b", "none": None, "empty": "", "bytes": b"\0" * 5000, "ü": [{1, 2}], "f": 1.5}
    at = await saved(saver, config("a/b%2F ü"), **odd)
    assert await values(saver, at) == odd
    await saver.aput_writes(at, [], "task")
    await saver.aput_writes(at, [("nul", "a\0b"), ("__error__", "first"), ("__error__", "second")], "task")
    found = await saver.aget_tuple(at)
    assert found is not None
    assert found.pending_writes == [("task", "__error__", "second"), ("task", "nul", "a\0b")]


async def test_a_chunk_that_is_missing_or_was_moved_is_noticed(engine: Engine, saver: MnemologSaver, user: str) -> None:
    at = await saved(saver, first=[b"a" * 3000], second=[b"b" * 3000])
    async with await AsyncConnection.connect(engine.endpoints.postgres_dsn, autocommit=True) as connection:
        mine = {"stream": f"user:{user}"}
        swap = (
            "UPDATE mnemolog.checkpoint_chunks AS one SET data = other.data FROM mnemolog.checkpoint_chunks AS other"
            " WHERE one.stream = %(stream)s AND other.stream = one.stream AND one.chunk_id <> other.chunk_id"
        )
        await connection.execute(swap, mine)
        with pytest.raises(MalformedEvent, match="cannot be decrypted"):
            await saver.aget_tuple(at)
        await connection.execute("DELETE FROM mnemolog.checkpoint_chunks WHERE stream = %(stream)s", mine)
        with pytest.raises(MalformedEvent, match="a part of the checkpoint is missing"):
            await saver.aget_tuple(at)


async def test_many_begin_a_thread_at_once(engine: Engine, saver: MnemologSaver, user: str) -> None:
    async with AsyncMemory(engine.settings.directory, durable=False, embedder="lexical") as other:
        savers = (saver, MnemologSaver(other, user_id=user))
        await asyncio.gather(*(saved(one, number=number) for number in range(10) for one in savers))
    assert len([one async for one in saver.alist(config())]) == 20
    assert await count(engine, user, "checkpoint_threads") == 1


async def test_saving_while_others_erase_leaves_nothing_unreadable(
    engine: Engine, saver: MnemologSaver, user: str
) -> None:
    async with AsyncMemory(engine.settings.directory, durable=False, embedder="lexical") as other:
        erasing = MnemologSaver(other, user_id=user)

        async def save() -> None:
            for number in range(40):
                await saved(saver, version=number, state=[b"s" * 20_000])

        running = asyncio.create_task(save())
        for _ in range(8):
            await erasing.adelete_thread("main")
        await running
        assert await values(saver) == await values(erasing) == {"state": [b"s" * 20_000]}
        await erasing.adelete_thread("main")
    for table in ("checkpoint_threads", "supervisor_checkpoints", "checkpoint_chunks"):
        assert await count(engine, user, table) == 0


async def test_a_save_that_is_cancelled_takes_nothing_from_the_next(saver: MnemologSaver) -> None:
    at = await saved(saver, state=[b"0" * 40_000])
    for number in range(1, 20):
        cancelled = asyncio.create_task(saved(saver, at, version=number, state=[bytes([number]) * 40_000]))
        await asyncio.sleep(number / 5000)
        cancelled.cancel()
        await asyncio.gather(cancelled, return_exceptions=True)
        at = await saved(saver, at, version=number, state=[bytes([number]) * 40_000])
        assert await values(saver, at) == {"state": [bytes([number]) * 40_000]}
