"""Filters by what was said when and where, and by metadata: in the store, for every kind that has them (B06)."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemolog.adapters.engine.engine import Engine, new_id
from mnemolog.adapters.maintenance.segmenting import segment
from mnemolog.adapters.maintenance.summarizing import summarize
from mnemolog.domain.errors import NotFound
from mnemolog.projections.reads.moment import Moment
from mnemolog.projections.requests import ContextRequest
from tests.engine.equality import assert_live_equals_replayed
from tests.engine.person import Person
from tests.engine.teller import Teller
from tests.testkit.examples import examples
from tests.testkit.ranges import holding_something

USER, AGENTS, THREADS = "placed", ("coach", "deanna"), ("kitchen", "garden")
START = datetime(2026, 1, 5, 9, tzinfo=UTC)
TURNS, SESSIONS = 3, 2
KINDS = ("message", "fact", "relation", "todo")
MOODS: Sequence[Mapping[str, Any]] = ({}, {"mood": "glad"}, {"mood": "glad", "place": "home"})


@dataclass(frozen=True)
class Item:
    """Something that was written. `places` are the threads, sessions and episodes that it came from."""

    id: str
    at: datetime
    agent: str | None = None
    places: Collection[str] = ()
    metadata: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Written:
    """All that one user has. `inside` are the ids of sessions and episodes, by agent, with their messages."""

    items: list[Item] = field(default_factory=list)
    inside: dict[str, list[str]] = field(default_factory=dict)
    until: Moment = field(default_factory=Moment)


async def write(engine: Engine, user: str) -> Written:
    """Messages of two agents in two threads, two sessions each; and memories, facts and todos from some of them."""
    written = Written()
    count = 0
    for agent in AGENTS:
        for thread in THREADS:
            ana = Teller(engine, user, agent=agent, thread=thread)
            said: list[tuple[str, datetime]] = []
            for n in range(SESSIONS * TURNS):
                at = START + timedelta(hours=12 * (n // TURNS), minutes=n)
                turn_id, mood = str(new_id()), MOODS[count % 3]
                await ana.says(f"tea number {count}", turn_id=turn_id, occurred_at=at, metadata=dict(mood))
                said.append((turn_id, at))
                count += 1
            last = said[-1][1] + timedelta(minutes=1)
            await segment(engine, ana.stream, agent, thread, last)
            moment = await ana.caught_up()
            stretches = {
                str(one["session_id"]): one["first_turn_id"]
                for one in await engine.reads.sessions(ana.viewer, thread_id=thread, moment=moment)
            } | {
                str(one["episode_id"]): one["first_turn_id"]
                for one in await engine.reads.episodes(ana.viewer, thread_id=thread, moment=moment)
            }
            assert len(stretches) == 2 * SESSIONS
            order = [turn_id for turn_id, _ in said]
            places: dict[str, set[str]] = {turn_id: {thread} for turn_id in order}
            for id_, first in stretches.items():
                begin = order.index(first)
                written.inside.setdefault(agent, []).append(id_)
                for turn_id in order[begin : begin + TURNS]:
                    places[turn_id].add(id_)
            for n, (turn_id, at) in enumerate(said):
                mood = MOODS[(count - len(said) + n) % 3]
                written.items.append(Item(turn_id, at, None, places[turn_id], mood))
                if n % TURNS:
                    continue
                source = [turn_id]
                glad = {"mood": "glad"}
                memory_id = await ana.creates(f"tea of memory {turn_id}", source_turn_ids=source, metadata=glad)
                memory = await engine.reads.memory(ana.viewer, memory_id, await ana.caught_up())
                written.items.append(Item(str(memory_id), memory["occurred_at"], None, places[turn_id], glad))
                relation_id = await ana.tells("me", "drinks_tea", f"kind {turn_id}", source_turn_ids=source, told_at=at)
                written.items.append(Item(str(relation_id), at, None, places[turn_id], {}))
                todo = {"tenant": ana.tenant, "user_id": user, "agent_id": agent, "source_turn_ids": source}
                todo_id, _ = await engine.writes.open_todo({**todo, "text": f"buy tea {turn_id}"})
                opened = await engine.reads.todos(ana.viewer, moment=await ana.caught_up())
                created = next(one["created_at"] for one in opened if one["todo_id"] == todo_id)
                written.items.append(Item(str(todo_id), created, agent, places[turn_id]))
    await engine.settled()
    return written


@pytest.fixture(scope="module")
async def worlds(engine: Engine) -> Mapping[str, Written]:
    """Two users with the same words in threads of the same names."""
    return {user: await write(engine, user) for user in (USER, f"{USER}-other")}


def naive(written: Written, agent: str, filters: Mapping[str, Any]) -> set[str]:
    """What a search should find, judged item by item."""
    places = {value for name, value in filters.items() if name in ("thread_id", "session_id", "episode_id")}
    wanted = filters.get("metadata")
    return {
        one.id
        for one in written.items
        if one.agent in (None, agent)
        and ("since" not in filters or one.at >= filters["since"])
        and ("until" not in filters or one.at < filters["until"])
        and places <= set(one.places)
        and (wanted is None or (one.metadata is not None and wanted.items() <= one.metadata.items()))
    }


def filters(written: Written, agent: str) -> st.SearchStrategy[dict[str, Any]]:
    times = st.sampled_from([item.at + timedelta(microseconds=n) for item in written.items for n in (-1, 0, 1)])
    ids = st.sampled_from(written.inside[agent])
    wanted = st.fixed_dictionaries(
        {},
        optional={
            "since": times,
            "until": times,
            "thread_id": st.sampled_from([*THREADS, "attic"]),
            "metadata": st.sampled_from([{}, *MOODS, {"mood": "sad"}]),
        },
    )
    ranged = wanted.map(lambda one: holding_something(one, {"since": "until"}))
    return st.tuples(ranged, st.none() | ids).map(lambda pair: {**pair[0], **({"any": pair[1]} if pair[1] else {})})


@pytest.mark.spec("B06")
@pytest.mark.spec_part("A11")
@settings(max_examples=examples(60), deadline=None)
@given(st.data(), st.sampled_from([USER, f"{USER}-other"]), st.sampled_from(AGENTS))
async def test_filters_find_what_a_look_at_every_item_finds_of_one_user(
    engine: Engine, worlds: Mapping[str, Written], data: st.DataObject, user: str, agent: str
) -> None:
    written, ana = worlds[user], Person(engine, user, agent=agent)
    wanted = data.draw(filters(written, agent))
    stretch = wanted.pop("any", None)
    if stretch:
        sessions = {str(one["session_id"]) for one in await engine.reads.sessions(ana.viewer)}
        wanted["session_id" if stretch in sessions else "episode_id"] = stretch

    found = {hit.id for hit in (await ana.asks("tea", filters=wanted, top_k=100, kinds=KINDS)).hits}

    assert found == naive(written, agent, wanted)


async def test_a_session_or_episode_of_nobody_and_of_somebody_else_is_not_found(
    engine: Engine, worlds: Mapping[str, Written]
) -> None:
    ana = Person(engine, USER, agent=AGENTS[0])
    others = [*worlds[f"{USER}-other"].inside[AGENTS[0]], *worlds[USER].inside[AGENTS[1]], str(new_id())]
    for name in ("session_id", "episode_id"):
        for id_ in others:
            with pytest.raises(NotFound) as refused:
                await ana.asks("tea", filters={name: id_})
            assert refused.value.field == f"filters.{name}"


async def test_what_came_from_a_thread_is_found_in_it_wherever_it_was_written(engine: Engine, user: str) -> None:
    """A job writes in a thread of its own, or in the default one, of what was said in another."""
    kitchen, ana = Teller(engine, user, thread="kitchen"), Teller(engine, user)
    said = [str(new_id())]
    await kitchen.says("tea is out", turn_id=said[0])
    await ana.creates("tea of a memory", source_turn_ids=said)
    await ana.tells("me", "likes", "tea", source_turn_ids=said)
    await kitchen.creates("tea without a source")

    async def found(thread: str) -> set[str]:
        return set(await ana.finds("tea", filters={"thread_id": thread}, top_k=100))

    in_kitchen = {"tea is out", "tea of a memory", f"{user} likes tea", "tea without a source"}
    assert {one.removeprefix("Ana: ") for one in await found("kitchen")} == in_kitchen
    assert await found(ana.thread) == {"tea of a memory", f"{user} likes tea"}
    assert await found("attic") == set()


async def test_what_comes_from_no_message_is_found_in_the_thread_in_which_it_was_written(
    engine: Engine, user: str
) -> None:
    fields = {"kitchen": "city", "hr": "preferred_name"}
    for thread, field_ in fields.items():
        ana = Teller(engine, user, thread=thread)
        await ana.creates(f"tea of {thread}")
        await ana.tells("me", "drinks_tea", f"from the {thread}")
        who = {"tenant": ana.tenant, "user_id": user, "agent_id": ana.agent, "thread_id": thread}
        await engine.writes.open_todo({**who, "text": f"buy tea for {thread}"})
        stated = {**who, "field": field_, "value": f"tea {thread}", "source": "user"}
        await engine.writes.propose(stated, consented=True)
        await ana.caught_up()

    kinds = ["fact", "relation", "todo", "profile"]
    for thread in fields:
        hits = (await ana.asks("tea", filters={"thread_id": thread}, kinds=kinds, top_k=100)).hits
        assert sorted(hit.kind for hit in hits) == sorted(kinds)
        assert all(thread in hit.text for hit in hits)
    await assert_live_equals_replayed(engine, ana.stream)


async def test_a_time_filter_is_applied_before_the_nearest_are_cut_off(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await asyncio.gather(*(ana.says("tea tea tea", occurred_at=START + timedelta(minutes=n)) for n in range(60)))
    await ana.says("a cat that drinks tea", occurred_at=START + timedelta(days=30))

    assert await ana.finds("tea", filters={"since": "2026-02-01"}, top_k=1) == ["Ana: a cat that drinks tea"]


async def test_a_filtered_fact_is_still_overridden_by_one_of_another_time(engine: Engine, user: str) -> None:
    """Global facts win over the agent's own, whether or not the filter leaves them."""
    ana = Teller(engine, user, agent="coach")
    await ana.tells("me", "lives_in", "Leipzig", told_at=START + timedelta(days=2))
    await ana.tells("me", "lives_in", "Berlin", scope="agent", told_at=START)

    async def told(**filters: Any) -> list[str]:
        return await ana.finds("Where do I live?", kinds=["relation"], filters=filters)

    assert await told() == [f"{user} lives in Leipzig"]
    assert await told(until=START + timedelta(days=1)) == []


async def test_filters_hold_as_of_an_earlier_moment(engine: Engine, user: str) -> None:
    ana = Person(engine, user, thread="t")
    await ana.says("green tea", occurred_at=START)
    await segment(engine, ana.stream, ana.agent, ana.thread, START + timedelta(minutes=1))
    then = await engine.log.head(ana.stream)
    await ana.says("white tea", occurred_at=START + timedelta(minutes=2))
    await segment(engine, ana.stream, ana.agent, ana.thread, START + timedelta(minutes=3))
    [session] = await engine.reads.sessions(ana.viewer, moment=await ana.caught_up())
    session_id: UUID = session["session_id"]

    wanted = {"session_id": str(session_id), "thread_id": "t"}
    assert await ana.finds("tea", Moment(as_of=then), filters=wanted) == ["Ana: green tea"]
    assert set(await ana.finds("tea", filters=wanted)) == {"Ana: green tea", "Ana: white tea"}


async def test_summaries_are_filtered_by_thread_and_time(engine: Engine, user: str) -> None:
    for thread in ("trip", "moving"):
        ana = Person(engine, user, thread=thread)
        for n in range(5):
            await ana.says(f"Train {n} to Porto leaves from the platform of {thread}")
        await engine.settled()
        await summarize(engine, ana.stream, ana.agent, thread)

    async def found(**filters: Any) -> set[str]:
        hits = (await ana.asks("Which train goes to Porto?", kinds=["summary"], filters=filters)).hits
        return {hit.row["details"]["thread_id"] for hit in hits}

    assert await found() == {"trip", "moving"}
    assert await found(thread_id="trip") == {"trip"}
    assert await found(until="2026-01-01") == set()


async def test_a_context_searches_within_its_filters_and_keeps_what_is_in_every_context(
    engine: Engine, user: str
) -> None:
    ana = Teller(engine, user, thread="kitchen")
    await ana.tells("me", "allergy", "peanuts")
    await ana.creates("Ana was born in Porto", category="profile", pinned=True)
    await ana.creates("Ana drinks tea at work", category="note", metadata={"project": "x"})
    await ana.creates("Ana drinks tea at home", category="note")
    await ana.says("tea is ready", occurred_at=START)
    request = {"query": "tea", "filters": {"metadata": {"project": "x"}}}

    found = await engine.reads.context(ana.viewer, ContextRequest.model_validate(request), await ana.caught_up())

    assert [hit.text for hit in found.critical] == [f"{user} is allergic to peanuts"]
    assert {row["text"] for row in found.rows} == {"Ana was born in Porto", "Ana drinks tea at work"}
    said = {"query": "tea", "filters": {"until": START + timedelta(days=1)}}
    then = await engine.reads.context(ana.viewer, ContextRequest.model_validate(said))
    assert {row["text"] for row in then.rows} == {"Ana was born in Porto", "tea is ready"}
