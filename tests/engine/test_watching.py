"""Watching changes: all that an agent may see, in order, at once, over every interface, and never twice by accident."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from time import monotonic
from typing import Any

import httpx2
import pytest

from mnemolog import AsyncMemory, Memory
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.http import server
from mnemolog.adapters.http.server import serve
from mnemolog.adapters.operations import watching
from mnemolog.adapters.operations.watching import Changed, Watch, WatchedChange
from mnemolog.adapters.reads.limits import ReadLimits
from mnemolog.client import AsyncClient
from mnemolog.domain.errors import NotFound, TooManyRequests, Unauthenticated
from mnemolog.domain.principal import Role
from mnemolog.domain.viewer import Viewer
from tests.adapters.cli.command import mnemolog
from tests.adapters.principals.keys import principal
from tests.engine.person import Person
from tests.testkit.settings import PATIENCE

SOON = PATIENCE


@pytest.fixture
def memory(engine: Engine, user: str) -> AsyncMemory:
    return AsyncMemory(engine.settings.directory, durable=False, embedder="lexical", user_id=user, agent_id="own")


async def lived(memory: AsyncMemory) -> list[str]:
    """The ids of what is changed in a life of every kind of subject."""
    tea = await memory.create("Drinks tea")
    milk = await memory.create("Drinks milk", scope="agent")
    await memory.update(tea.memory_id, text="Drinks green tea")
    await memory.link(tea.memory_id, milk.memory_id)
    fact = await memory.add_fact("Makesh", "lives_in", "Berlin")
    todo = await memory.add_todo("call Marta")
    await memory.propose_profile("city", "Lisbon", consent=True, agent_id="default")
    link = await memory.add_artifact(url="https://example.org", caption="the recipe")
    await memory.delete(tea.memory_id)
    ids = [tea.memory_id, milk.memory_id, fact.relation_id, todo.todo_id, link.artifact_id]
    return [*map(str, ids), "city"]


async def test_a_watcher_is_told_the_history_of_everything_in_order(memory: AsyncMemory, user: str) -> None:
    ids = await lived(memory)
    told = [one async for one in memory.watch(since=0, wait=0)]
    assert [one.seq for one in told] == sorted(one.seq for one in told)
    assert len({one.id for one in told}) == len(told)
    for id_ in ids[:3]:
        history = [(one.id, one.event, one.new_ref) for one in await memory.history(id_)][::-1]
        assert [(one.id, one.event, one.new_ref) for one in told if one.subject_id == id_] == history
    assert {one.subject_id for one in told} >= set(ids)
    assert {one.subject for one in told} == {"memory", "entity", "relation", "todo", "profile", "artifact"}
    middle = told[len(told) // 2].seq
    assert [one async for one in memory.watch(since=middle, wait=0)] == [one for one in told if one.seq > middle]


async def test_a_watcher_is_told_only_what_its_agent_may_see(memory: AsyncMemory, user: str) -> None:
    await lived(memory)
    own = {one.id async for one in memory.watch(since=0, wait=0)}
    others = [one async for one in memory.watch(since=0, wait=0, agent_id="stranger")]
    assert others
    assert {one.id for one in others} < own
    for one in others:
        if one.subject == "memory":
            await memory.get(one.subject_id, agent_id="stranger")
    assert {one.subject for one in others} & {"todo"} == set()
    assert [one async for one in memory.watch(since=0, wait=0, user_id=f"{user}-nobody")] == []


async def test_a_change_is_told_at_once_and_no_look_at_the_log_is_needed(
    engine: Engine, memory: AsyncMemory, user: str
) -> None:
    watched = watching.watch(engine, Watch(user_id=user), heartbeat=600.0)
    async with aclosing(watched):
        assert (await anext(watched)).changes == []
        for text in ("Drinks tea", "Lives in Berlin"):
            coming = asyncio.create_task(_next(watched))
            await asyncio.sleep(0.1)
            made = await memory.create(text)
            async with asyncio.timeout(SOON):
                [change] = (await coming).changes
            assert (change.subject_id, change.event, change.seq) == (str(made.memory_id), "ADD", made.last_seq)
    await _rested(engine)


async def _rested(engine: Engine) -> None:
    async with asyncio.timeout(SOON):
        while engine.appends._waiting or engine.appends._subscription:  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def _next(watched: AsyncIterator[Changed]) -> Changed:
    return await anext(watched)


async def test_a_change_whose_message_was_lost_is_told_at_the_next_heartbeat(
    engine: Engine, memory: AsyncMemory, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def deaf(*_: object, **__: object) -> None:
        return None

    monkeypatch.setattr(engine.appends, "_published", deaf)
    watched = watching.watch(engine, Watch(user_id=user), heartbeat=0.3)
    async with aclosing(watched):
        assert [(await anext(watched)).changes for _ in range(2)] == [[], []]
        made = await memory.create("Drinks tea")
        async with asyncio.timeout(SOON):
            found = await _changed(watched)
    assert found.changes[0].subject_id == str(made.memory_id)


async def _changed(watched: AsyncIterator[Changed]) -> Changed:
    while not (found := await anext(watched)).changes:
        pass
    return found


async def test_a_place_beyond_the_head_leaves_nothing_out_that_comes(
    engine: Engine, memory: AsyncMemory, user: str
) -> None:
    first = await memory.create("Drinks tea")
    watched = watching.watch(engine, Watch(user_id=user, since=first.last_seq + 7))
    assert (await anext(watched)).seq == first.last_seq
    second = await memory.create("Has a cat")
    assert [one.subject_id for one in (await _next(watched)).changes] == [str(second.memory_id)]
    await watched.aclose()


async def test_it_ends_once_nothing_happened_for_as_long_as_was_asked(memory: AsyncMemory) -> None:
    began = monotonic()
    assert [one async for one in memory.watch(wait=0.4)] == []
    assert 0.4 <= monotonic() - began < SOON


class Stream:
    """Server-sent events as they arrive."""

    def __init__(self, answer: httpx2.Response) -> None:
        self._events = aiter(httpx2.EventSource(answer))

    async def next(self) -> tuple[str, str, Any]:
        async with asyncio.timeout(SOON):
            while not (event := await anext(self._events)).data:
                pass
        return event.event, event.id, json.loads(event.data)


@pytest.mark.spec_part("B08")
async def test_a_stream_goes_on_after_the_last_event_that_arrived(
    engine: Engine, memory: AsyncMemory, user: str
) -> None:
    first = await memory.create("Drinks tea")
    async with serve(engine) as url, httpx2.AsyncClient(base_url=url, timeout=SOON) as http:
        params = {"user_id": user}
        async with http.stream("GET", "/v1/changes/stream", params=params) as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            stream = Stream(answer)
            assert await stream.next() == ("ready", "1", {"seq": 1})
            second = await memory.create("Lives in Berlin")
            name, last, change = await stream.next()
            assert (name, last, change["subject_id"]) == ("change", "2", str(second.memory_id))
        third = await memory.create("Has a cat")
        async with http.stream("GET", "/v1/changes/stream", params=params, headers={"Last-Event-ID": last}) as answer:
            stream = Stream(answer)
            assert (await stream.next())[0] == "ready"
            assert (await stream.next())[2]["subject_id"] == str(third.memory_id)
        async with http.stream("GET", "/v1/changes/stream", params={**params, "since": 0, "wait": 0}) as answer:
            stream = Stream(answer)
            told = [await stream.next() for _ in range(5)]
    assert [name for name, _, _ in told] == ["ready", "change", "change", "change", "end"]
    assert told[1][2]["subject_id"] == str(first.memory_id)


async def test_an_event_with_several_changes_comes_again_unless_all_of_it_arrived(
    engine: Engine, memory: AsyncMemory, user: str
) -> None:
    one, other = await memory.create("Drinks tea"), await memory.create("Drinks green tea")
    await memory.merge(one.memory_id, [other.memory_id])
    async with serve(engine) as url, httpx2.AsyncClient(base_url=url, timeout=SOON) as http:
        params: dict[str, str | int] = {"user_id": user, "since": 2, "wait": 0}
        async with http.stream("GET", "/v1/changes/stream", params=params) as answer:
            stream = Stream(answer)
            told = [await stream.next() for _ in range(3)]
    assert [(name, id_) for name, id_, _ in told] == [("ready", "2"), ("change", "2"), ("change", "3")]


async def test_who_hangs_up_leaves_nothing_behind(engine: Engine, user: str) -> None:
    async with serve(engine) as url, httpx2.AsyncClient(base_url=url, timeout=SOON) as http:
        async with http.stream("GET", "/v1/changes/stream", params={"user_id": user}) as answer:
            await Stream(answer).next()
        await _rested(engine)


async def test_a_server_that_stops_does_not_wait_for_its_watchers(
    engine: Engine, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "GRACE_SECONDS", 600)
    async with asyncio.timeout(PATIENCE), serve(engine) as url:
        client = AsyncClient(url, user_id=user, retries=0)
        watched = client.watch()
        coming = asyncio.create_task(_one(watched))
        await asyncio.sleep(0.5)
    with pytest.raises(Exception, match="base_url"):
        await coming
    await client.close()


async def _one(watched: AsyncIterator[WatchedChange]) -> WatchedChange:
    return await anext(watched)


async def test_a_client_goes_on_when_its_stream_breaks(
    engine: Engine, memory: AsyncMemory, user: str, unused_tcp_port: int
) -> None:
    seqs: list[int] = []
    client = AsyncClient(f"http://127.0.0.1:{unused_tcp_port}", user_id=user, retries=20)

    async def watch() -> None:
        async for change in client.watch(since=0):
            seqs.append(change.seq)
            if len(seqs) == 3:
                return

    async with asyncio.timeout(30):
        watcher = asyncio.create_task(watch())
        for text in ("Drinks tea", "Lives in Berlin", "Has a cat"):
            async with serve(engine, port=unused_tcp_port):
                made = await memory.create(text)
                while not seqs or seqs[-1] < made.last_seq:  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
        await watcher
    assert seqs == [1, 2, 3]
    await client.close()


async def test_a_stream_ends_with_its_key_and_reaches_no_further(guarded: Engine) -> None:
    stored, key = await guarded.api_keys.create(principal("watcher", users=["watch-zoe"], roles=[Role.READ]))
    writer = guarded.writes
    async with serve(guarded) as url, AsyncClient(url, api_key=key) as client:
        with pytest.raises(NotFound):
            await _one(client.watch(user_id="watch-yan"))
        watched = client.watch(user_id="watch-zoe", since=0)
        await writer.create({"tenant": "default", "user_id": "watch-zoe", "text": "Drinks tea"})
        async with asyncio.timeout(SOON):
            assert (await _one(watched)).subject == "memory"
        await guarded.api_keys.revoke(stored.key_id)
        await writer.create({"tenant": "default", "user_id": "watch-zoe", "text": "Drinks milk"})
        with pytest.raises(Unauthenticated):
            async with asyncio.timeout(SOON):
                await _one(watched)


async def test_open_streams_count_as_reads_of_their_caller(guarded: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    _, key = await guarded.api_keys.create(principal("greedy", users=["watch-max"], roles=[Role.READ]))
    monkeypatch.setattr(guarded.reads.callers, "limits", ReadLimits(5, 60, 2, 2, 2))
    async with serve(guarded) as url, AsyncClient(url, api_key=key, user_id="watch-max", retries=0) as client:
        open_ = [asyncio.create_task(_one(client.watch())) for _ in range(2)]
        await asyncio.sleep(0.5)
        with pytest.raises(TooManyRequests):
            await _one(client.watch())
        for one in open_:
            one.cancel()


async def test_memory_and_command_watch_too(engine: Engine, memory: AsyncMemory, user: str) -> None:
    await lived(memory)
    told = [one async for one in memory.watch(since=0, wait=0)]

    def blocking() -> list[WatchedChange]:
        with Memory(engine.settings.directory, durable=False, embedder="lexical", user_id=user, agent_id="own") as mine:
            return list(mine.watch(since=0, wait=0))

    assert await asyncio.to_thread(blocking) == told
    ran = await mnemolog(
        engine.settings.directory, "watch", "--user", user, "--agent", "own", "--since", "0", "--wait", "0", "--json"
    )
    assert [WatchedChange.model_validate_json(line) for line in ran.out.splitlines()] == told


async def test_a_watcher_who_reads_while_somebody_writes_misses_nothing(engine: Engine, user: str) -> None:
    ana, viewer = Person(engine, user), Viewer("default", user, "default")
    told, written = list[Any](), asyncio.Event()

    async def reads() -> None:
        seq, head = 0, None
        while head is None or seq < head:
            found = await engine.reads.changes_after(viewer, seq)
            told.extend(found.changes)
            seq, head = found.seq, await engine.log.head(ana.stream) if written.is_set() else None
            await asyncio.sleep(0)

    reading = asyncio.create_task(reads())
    for number in range(20):
        await ana.creates(f"Ana likes tea number {number}.")
    written.set()
    await reading
    assert [one["id"] for one in told] == [one["id"] for one in await _all_changes(engine, viewer)]


async def _all_changes(engine: Engine, viewer: Viewer) -> list[Any]:
    changes, seq = list[Any](), 0
    while (found := await engine.reads.changes_after(viewer, seq)).seq > seq:
        changes, seq = [*changes, *found.changes], found.seq
    return changes
