"""Isolation: no read gives anything of another tenant, user or agent (invariant 5)."""

import asyncio
from collections.abc import Sequence
from itertools import count

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.reads.reads import Reads
from mnemolog.domain.errors import NotFound
from mnemolog.projections.reads.moment import Moment
from tests.engine.person import Person
from tests.testkit.examples import examples

SECRET = "secret tea of the owner"

_runs = count(1)
# Ids that differ only in how their parts are cut, or in what a key or a pattern could take for syntax.
ids = st.sampled_from(
    ["a", "a:b", "b", "a/b", "a%3Ab", "a%", "%", "a_b", "a*", "user:a", "a@1", "A", "ä", "a b", "'", "\\"]
)
tenants = st.sampled_from(["default", "acme", "acme.b", "a", "default-1"])
places = st.tuples(tenants, ids, ids, ids)


def person(engine: Engine, run: int, place: tuple[str, str, str, str]) -> Person:
    tenant, user, agent, thread = place
    return Person(engine, f"{user}~{run}", tenant, agent, thread)


@pytest.mark.spec("A01", "C01")
@pytest.mark.spec_part("A11")
@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(places, places, st.sampled_from(["global", "agent"]))
@example(("default", "a", "b:c", "d"), ("default", "a:b", "c", "d"), "agent")
@example(("acme", "a", "b", "c"), ("default", "a", "b", "c"), "global")
@example(("acme", "a", "b", "c"), ("acme", "a", "B", "c"), "agent")
async def test_a_reader_finds_of_an_owner_what_is_shared_with_it_and_nothing_else(
    engine: Engine, one: tuple[str, str, str, str], other: tuple[str, str, str, str], scope: str
) -> None:
    run = next(_runs)
    owner, reader = person(engine, run, one), person(engine, run, other)
    same_user = owner.stream == reader.stream
    shared = same_user and (scope == "global" or owner.agent == reader.agent)
    await owner.says("something said", speaker="Owner")
    memory_id = await owner.creates(SECRET, scope=scope)
    seen = await owner.caught_up()
    await owner.changes(0, seen)
    await engine.reads.session(owner.viewer, owner.thread, seen)

    moments = [await reader.caught_up(), Moment(as_of=await engine.log.head(reader.stream))]
    found = [await telling(reader, memory_id, moment) for moment in moments]

    sees_thread = same_user and owner.thread == reader.thread
    expected = {
        *(["query", "newest", "memory", "history"] if shared else []),
        *(["changes"] if shared and sees_thread else []),
        *(["entities"] if same_user else []),
        *(["session"] if same_user and sees_thread and owner.agent == reader.agent else []),
    }
    assert found == [expected, expected]


async def telling(reader: Person, memory_id: object, moment: Moment) -> set[str]:
    """The names of the reads that give anything of the owner."""
    reads: Reads = reader.engine.reads
    viewer = reader.viewer
    answers = {
        "query": [text for text in await reader.finds("secret tea", moment) if text == SECRET],
        "newest": [row for row in await reads.newest(viewer, 100, moment) if row["text"] == SECRET],
        "changes": [entry for entry in (await reader.changes(0, moment)).entries if entry.text == SECRET],
        "entities": await reads.entities(viewer, moment),
        "memory": await _found(reads.memory(viewer, memory_id, moment)),  # type: ignore[arg-type]
        "history": await _found(reads.history(viewer, memory_id, 100, moment)),  # type: ignore[arg-type]
        "session": await _found(reads.session(viewer, reader.thread, moment)),
    }
    return {name for name, answer in answers.items() if answer}


async def _found(read: object) -> Sequence[object]:
    try:
        return [await read]  # type: ignore[misc]
    except NotFound:
        return []


@pytest.mark.spec_part("A11")
async def test_the_words_of_one_user_do_not_rank_the_memories_of_another(engine: Engine, user: str) -> None:
    ana, bob = Person(engine, user), Person(engine, f"{user}-bob")
    for text in ("green tea", "tea", "a cat"):
        await ana.creates(text)
    before = [(hit.text, hit.score, hit.text_rank) for hit in (await ana.asks("green tea")).hits]

    await asyncio.gather(*(bob.creates(f"green tea of Bob number {number}") for number in range(20)))
    await bob.changes()

    assert [(hit.text, hit.score, hit.text_rank) for hit in (await ana.asks("green tea")).hits] == before
