"""One memory a key, whoever writes it and however many at once; what it is linked to; what is never shown unasked."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from mnemolog.adapters.engine.engine import Engine, now, open_engine
from mnemolog.adapters.http.app import create_app
from mnemolog.adapters.operations.memories import link, links
from mnemolog.adapters.operations.operation import Operation
from mnemolog.adapters.operations.patrol import list_clusters
from mnemolog.adapters.postgres.pauses import Pause
from mnemolog.domain.contradiction import marked
from mnemolog.domain.errors import InvalidInput, NotFound
from mnemolog.domain.memory import Status
from mnemolog.events.envelope import StreamId
from mnemolog.events.fields import validated
from mnemolog.events.memory import MemoriesLinked, MemoryCreated, MemoryObserved, MemoryUpdated
from mnemolog.projections.filling import fill
from mnemolog.projections.reads.moment import Moment
from mnemolog.projections.requests import ContextRequest
from tests.bullets import bullets_of
from tests.engine.equality import assert_live_equals_replayed
from tests.engine.person import Person
from tests.engine.sent import statements
from tests.engine.teller import Teller
from tests.testkit.settings import settings_in

WRITERS = 200
ABOUT = {"type": "PEOPLE", "fact_type": "habit", "entity_refs": ["person:ana_silva"], "entity_label": "Ana Silva"}
KEY = "people|person|ana_silva|habit"
STEPS = "1. Fetch the branch\n2. Build it\n3. Ship it"


async def memories(ana: Person) -> list[dict[str, Any]]:
    return [dict(row) for row in await ana.engine.reads.newest(ana.viewer, 1000, await ana.caught_up())]


@pytest.mark.spec("D01")
@pytest.mark.parametrize("type_", ["PROFILE", "PEOPLE", "PROJECT"])
async def test_a_memory_reads_with_its_type_subtype_source_status_and_confidence(
    engine: Engine, user: str, type_: str
) -> None:
    ana = Person(engine, user)
    about = {"type": type_, "entity_type": "org", "fact_type": "fact", "entity_refs": ["org:acme"]}
    await ana.creates("Acme ships in May", **about, source="shadow_extraction", confidence=0.7)

    [memory] = await memories(ana)

    read = ("type", "entity_type", "fact_type", "source", "status", "confidence")
    assert [memory[name] for name in read] == [type_, "org", "fact", "shadow_extraction", "active", 0.7]


@pytest.mark.spec("D01")
async def test_an_open_loop_is_not_written_and_the_refusal_names_what_is(engine: Engine, user: str) -> None:
    with pytest.raises(InvalidInput, match="'PROFILE', 'PEOPLE' or 'PROJECT', not 'OPEN_LOOP'"):
        await Person(engine, user).creates("Ship the beta", type="OPEN_LOOP")


@pytest.mark.spec("D04")
@pytest.mark.spec_part("D13")
async def test_two_hundred_writers_of_one_key_leave_one_memory_and_all_observations(engine: Engine, user: str) -> None:
    ana = Person(engine, user)

    ids = await asyncio.gather(*(ana.creates("Ana runs every day", **ABOUT) for _ in range(WRITERS)))

    [memory] = await memories(ana)
    assert set(ids) == {memory["memory_id"]}
    assert (memory["memory_key"], memory["observations"], memory["status"]) == (KEY, WRITERS, Status.ACTIVE)
    history = await engine.reads.history(ana.viewer, memory["memory_id"], 1000)
    assert sorted(row["meta"]["type"] for row in history) == ["MemoryCreated", *["MemoryObserved"] * (WRITERS - 1)]
    assert memory["importance"] == pytest.approx(0.95)
    assert memory["confidence"] == 1.0


@pytest.mark.spec("D04")
@pytest.mark.spec_part("D13")
async def test_two_hundred_writers_over_http_leave_one_memory_with_every_word_in_its_history(
    engine: Engine, user: str
) -> None:
    transport = httpx.ASGITransport(app=create_app(engine))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:

        async def store(number: int) -> dict[str, Any]:
            body = {"user_id": user, "text": f"Ana ran {number} km", **ABOUT}
            answer = await client.post("/v1/memories", json=body, timeout=120)
            assert answer.status_code == 201, answer.text
            found: dict[str, Any] = answer.json()
            return found

        answers = await asyncio.gather(*map(store, range(WRITERS)))

    ana = Person(engine, user)
    [memory] = await memories(ana)
    assert {answer["memory_id"] for answer in answers} == {str(memory["memory_id"])}
    told = [event.payload for event in await engine.log.read(ana.stream)]
    assert isinstance(told[0], MemoryCreated)
    assert all(isinstance(one, MemoryUpdated) for one in told[1:])
    said = {one.text for one in told if isinstance(one, MemoryCreated | MemoryUpdated)}
    assert said == {f"Ana ran {number} km" for number in range(WRITERS)}


@pytest.mark.spec("X14")
async def test_the_same_idempotency_key_is_no_observation(engine: Engine, user: str) -> None:
    fields = {"user_id": user, "text": "Ana runs every day", **ABOUT}
    first, _ = await engine.writes.create(fields)
    second, observed = await engine.writes.create(fields, "k")
    again, receipt = await engine.writes.create(fields, "k")

    assert first == second == again
    assert (receipt.already, receipt.event_ids) == (True, observed.event_ids)
    assert await engine.log.head(observed.stream) == 2


async def test_a_turn_that_was_heard_before_answers_with_the_memory_that_it_left(engine: Engine, user: str) -> None:
    fields = {"user_id": user, "text": "Ana runs every day", "source_turn_ids": ["t1"], **ABOUT}

    (first, _), (second, receipt) = [await engine.writes.create(fields) for _ in range(2)]

    assert first == second
    assert receipt.already


@pytest.mark.spec("D04")
async def test_a_forgotten_memory_gives_its_key_to_the_next(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    first = await ana.creates("Ana runs every day", **ABOUT)
    await ana.deletes(first)

    second = await ana.creates("Ana swims", **ABOUT)

    assert first != second
    with pytest.raises(Exception, match="now has its key"):
        await ana.restores(first)


async def test_what_says_the_same_is_merged_when_that_is_asked(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    first = await ana.creates("Ana pays rent for her flat in Lisbon")
    await engine.settled(60)

    second = await ana.creates("Ana pays rent for her flat in Lisbon near the river", merge_similar=True)
    third = await ana.creates("Ana pays rent for her flat in Lisbon near the river")

    assert first == second != third
    events = [event.payload for event in await engine.log.read(ana.stream)]
    update = next(one for one in events if isinstance(one, MemoryUpdated))
    assert update.match is not None
    assert (update.match.band, update.match.model, update.match.candidate_id) == ("update", "lexical-384", first)
    assert not any(isinstance(one, MemoryObserved) for one in events)


@pytest.mark.spec_part("D04")
async def test_the_same_text_created_many_times_at_once_is_one_memory_that_was_observed(
    engine: Engine, user: str
) -> None:
    ana = Person(engine, user)
    texts = ["Ana is vegetarian", "ana is  vegetarian.", "Ana is vegetarian", "ANA IS VEGETARIAN"] * 4

    ids = await asyncio.gather(*(ana.creates(text, merge_similar=True) for text in texts))

    [memory_id] = set(ids)
    row = await engine.reads.memory(ana.viewer, memory_id, await ana.caught_up())
    assert row["observations"] == len(texts)
    history = await engine.reads.history(ana.viewer, memory_id)
    assert [one["event"] for one in history] == ["UPDATE"] * (len(texts) - 1) + ["ADD"]


@pytest.fixture
async def unindexed(engine: Engine) -> AsyncIterator[None]:
    """Within this, no vector is written: as for a while after each write."""
    await engine.projections.pause("vectors", Pause(now(), "ops"))
    try:
        yield
    finally:
        await engine.projections.resume("vectors")


@pytest.mark.usefixtures("unindexed")
@pytest.mark.spec_part("B02", "B13")
async def test_what_contradicts_a_memory_written_just_before_is_linked(engine: Engine, user: str) -> None:
    """A caller that writes in a loop is faster than the index."""
    ana, other = Person(engine, user), Person(engine, user, agent="other")
    said = await ana.creates("Ana is vegetarian and lives in Lisbon")
    hidden = await other.creates("Ana is vegetarian and lives in Faro", scope="agent")
    denied = await ana.creates("Ana is not vegetarian and lives in Lisbon", merge_similar=True)
    await ana.updates(said, text="Ana is a carpenter and lives in Porto")
    again = await ana.creates("Ana is not a carpenter and lives in Porto")

    rows = {row["memory_id"]: row["contradicts"] for row in await memories(ana)}
    assert rows == {said: [again], denied: [], again: [said]}
    assert hidden not in rows
    linked = [one.payload for one in await engine.log.read(ana.stream) if isinstance(one.payload, MemoriesLinked)]
    assert {(one.memory_id, one.to_id, one.relation_type) for one in linked} >= {(denied, said, "contradicts")}
    assert not [one for one in linked if hidden in (one.memory_id, one.to_id)]


@pytest.mark.usefixtures("unindexed")
@pytest.mark.spec_part("X21")
async def test_what_a_tool_said_just_before_does_not_become_a_conclusion_of_the_agent(
    engine: Engine, user: str
) -> None:
    ana = Person(engine, user)
    await ana.creates("The bank account of Ana ends in 4711", origin="tool")
    repeated = await ana.creates("The bank account of Ana ends in 4711", origin="agent")

    assert {row["memory_id"]: row["origin"] for row in await memories(ana)}[repeated] == "tool"


@pytest.mark.spec_part("B02", "B13")
async def test_what_contradicts_is_kept_and_every_read_shows_it(engine: Engine, user: str) -> None:
    ana, other = Person(engine, user), Person(engine, user, agent="other")
    said = await ana.creates("Ana is vegetarian and lives in Lisbon")
    await engine.settled(60)
    denied = await ana.creates("Ana is not vegetarian and lives in Lisbon", merge_similar=True)
    now = await ana.caught_up()

    assert said != denied
    assert (await engine.reads.memory(ana.viewer, said, now))["contradicts"] == [denied]
    found = {row["memory_id"]: row["contradicts"] for row in await engine.reads.newest(other.viewer, 10)}
    assert found == {said: [denied], denied: [said]}
    mark = f"contradicted by a newer memory of {datetime.now(UTC):%Y-%m-%d}"
    want = {f"Ana is vegetarian and lives in Lisbon ({mark})", "Ana is not vegetarian and lives in Lisbon"}
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    bullets = {
        f"[note] Ana is vegetarian and lives in Lisbon ({today}; {mark})",
        f"[note] Ana is not vegetarian and lives in Lisbon ({today})",
    }
    context = await engine.reads.context(ana.viewer, ContextRequest(query="Ana"), now)
    hits = (await ana.asks("vegetarian Lisbon", now)).hits
    assert {marked(row) for row in await engine.reads.newest(other.viewer, 10)} == want
    assert {hit.bullet for hit in hits} == set(bullets_of(context)) == bullets
    [link] = await engine.reads.links(ana.viewer, said)
    assert (link["memory_id"], link["relation_type"]) == (denied, "contradicts")
    history = await engine.reads.history(ana.viewer, denied)
    assert [(one["event"], one["meta"].get("relation_type")) for one in history] == [
        ("LINK", "contradicts"),
        ("ADD", None),
    ]
    assert history[1]["meta"]["match"]["band"] == "conflict"
    await ana.deletes(denied)
    assert (await engine.reads.memory(ana.viewer, said, await ana.caught_up()))["contradicts"] == []
    await assert_live_equals_replayed(engine, StreamId.of_user(user))


async def test_the_links_of_a_memory_and_the_clusters_of_scenes_come_in_pages(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    tea, *others = [await ana.creates(text) for text in ("Ana drinks tea", "Eva sails", "The car is red")]
    for other, kind, strength in zip((*others, others[0]), ("near", "near", "far"), (0.9, 0.8, 0.7), strict=True):
        asked = {"user_id": user, "memory_id": str(tea), "to_id": str(other), "relation_type": kind}
        await link.run(engine, validated(link.request, {**asked, "strength": strength}))
    back = {"user_id": user, "memory_id": str(others[0]), "to_id": str(tea), "relation_type": "back"}
    await link.run(engine, validated(link.request, {**back, "strength": 0.6}))
    found = await paged(engine, links, user, memory_id=str(tea))
    assert [(one.memory_id, one.relation_type) for one in found] == [
        (others[1], "near"),
        (others[0], "far"),  # Replaced the first link to it.
        (others[0], "back"),
    ]
    assert [one.label for one in await paged(engine, list_clusters, user)] == ["Business", "Private"]


async def paged(engine: Engine, operation: Operation[Any, Any], user: str, **fields: Any) -> list[Any]:
    """All items, one on a page."""
    found, cursor = [], None
    while True:
        asked = {"user_id": user, "limit": 1, "cursor": cursor, **fields}
        page = await operation.run(engine, validated(operation.request, asked))
        assert len(page.items) == 1
        found += page.items
        if not (cursor := page.next_cursor):
            return found


@pytest.mark.spec("B02")
async def test_a_memory_is_linked_to_its_neighbours_when_it_is_written(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    flat = await ana.creates("Ana rents a flat with a view of the river in Lisbon")
    await ana.creates("Ana works as a baker")
    await engine.settled(60)

    view = await ana.creates("The flat that Ana rents in Lisbon has a view of the river")

    [link] = await engine.reads.links(ana.viewer, view, await ana.caught_up())
    assert (link["memory_id"], link["direction"], link["relation_type"]) == (flat, "out", "related_to")
    assert 0.4 <= link["strength"] <= 1
    [back] = await engine.reads.links(ana.viewer, flat)
    assert (back["memory_id"], back["direction"]) == (view, "in")
    await assert_live_equals_replayed(engine, StreamId.of_user(user))


@pytest.fixture
async def remembering(tmp_path: Path) -> AsyncIterator[Engine]:
    """An engine that keeps the vectors of what was just written, and writes none of them."""
    async with open_engine(settings_in(tmp_path, embedder="minilm")) as opened:
        await opened.projections.pause("vectors", Pause(now(), "ops"))
        yield opened


@pytest.mark.spec("B02")
async def test_a_memory_is_linked_to_one_that_was_written_just_before(remembering: Engine, user: str) -> None:
    engine = remembering
    ana, other = Person(engine, user), Person(engine, user, agent="other")
    flat = await ana.creates("Ana rents a flat with a view of the river in Lisbon")
    await ana.creates("Ana works as a baker")
    hidden = await other.creates("Ana rents a flat with a view of the river", scope="agent")
    scene = await ana.creates("Ana rented a flat with a view of the river in Lisbon", kind="episode")

    view = await ana.creates("The flat that Ana rents in Lisbon has a view of the river")

    linked = [one.payload for one in await engine.log.read(ana.stream) if isinstance(one.payload, MemoriesLinked)]
    assert (view, flat, "related_to") in {(one.memory_id, one.to_id, one.relation_type) for one in linked}
    assert not {scene, hidden} & {id_ for one in linked for id_ in (one.memory_id, one.to_id)}


@pytest.mark.spec_part("B02")
async def test_five_edges_are_decided_stored_and_projected_in_no_more_statements_than_one(tmp_path: Path) -> None:
    """`tests.bench.graph` measures the milliseconds of an edge."""
    sent = defaultdict[int, list[list[str]]](list)
    async with open_engine(settings_in(tmp_path), passive=True) as engine:
        for user in ("ana", "bob", "chen"):  # The pool may test a connection, or the log read a tail anew, but seldom.
            person = Person(engine, user)
            for number in range(8):
                head = await engine.log.head(person.stream)
                with statements() as found:
                    await person.creates(f"Ana rents flat {number} with a view of the river in Lisbon")
                    await fill(engine.log, [engine.projections.stores["memories"]])
                _, *edges = await engine.log.read(person.stream, after=head)
                ends = {one.payload.to_id for one in edges if isinstance(one.payload, MemoriesLinked)}
                assert len(ends) == len(edges)
                sent[len(edges)].append(found)

    fewest = {count: min(map(len, found)) for count, found in sent.items()}
    assert fewest[5] <= fewest[1]
    assert all(sum('"links"' in one for one in found) == 1 for found in sent[5])


@pytest.mark.spec("A01")
@pytest.mark.spec("B02")
async def test_a_link_is_visible_to_agents_who_see_its_other_end(engine: Engine, user: str) -> None:
    coach, cook = Person(engine, user, agent="coach"), Person(engine, user, agent="cook")
    tea = await coach.creates("Ana drinks tea")
    secret = await coach.creates("Ana drinks too much", scope="agent")
    await coach.links(tea, secret)

    assert [one["memory_id"] for one in await engine.reads.links(coach.viewer, tea, await coach.caught_up())] == [
        secret
    ]
    assert list(await engine.reads.links(cook.viewer, tea)) == []
    with pytest.raises(NotFound):
        await engine.reads.links(cook.viewer, secret)


@pytest.mark.spec("B07")
@pytest.mark.spec("B02")
async def test_a_link_to_what_was_forgotten_is_not_shown(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    tea, milk = await ana.creates("Ana drinks tea"), await ana.creates("She takes oat milk")
    await ana.links(tea, milk)
    await ana.deletes(milk)

    assert list(await engine.reads.links(ana.viewer, tea, await ana.caught_up())) == []


@pytest.mark.spec("B12")
async def test_a_procedure_is_only_returned_on_request(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    ship = await ana.creates(STEPS, kind="procedure")

    assert await ana.finds("how to build and ship the branch") == []
    assert await ana.finds("how to build and ship the branch", categories=["procedural"]) == [STEPS]
    assert await memories(ana) == []
    changes = await ana.changes()
    assert (changes.header, list(changes.entries)) == ("", [])
    assert (await ana.asks("ship", since_rev=0)).header == ""
    assert (await engine.reads.memory(ana.viewer, ship))["category"] == "procedural"
    with pytest.raises(InvalidInput):
        await ana.creates("Ship it", kind="procedure")


@pytest.mark.spec("X02")
async def test_what_was_found_and_linked_reads_the_same_as_of_now(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    one = await ana.creates("Ana runs every day", **ABOUT)
    two = await ana.creates("Ana runs in the park", topics=("sport",))
    await ana.links(one, two)
    await ana.creates("Ana runs every day", **ABOUT)
    await engine.settled(60)
    now = Moment(as_of=datetime.now(UTC))

    assert await engine.reads.memory(ana.viewer, one, now) == await engine.reads.memory(ana.viewer, one)
    assert await engine.reads.links(ana.viewer, one, now) == await engine.reads.links(ana.viewer, one)


@pytest.mark.spec("D04", "X03")
@pytest.mark.spec_part("D13")
async def test_variants_of_a_name_that_were_merged_share_their_memories_and_all_of_it_can_be_undone(
    engine: Engine, user: str
) -> None:
    ana = Teller(engine, user)
    makesh, mukesh = await ana.knows_of("Makesh"), await ana.knows_of("Mukesh")
    about = {"type": "PEOPLE", "fact_type": "relationship"}
    first = await ana.creates("Makesh is my cousin", **about, entity_refs=["person:makesh"])
    second = await ana.creates("Mukesh lives in Pune", **about, entity_refs=["person:mukesh"])
    assert [row["entity_id"] for row in await engine.reads.variants(ana.viewer, makesh, await ana.caught_up())] == [
        mukesh
    ]
    merged = await ana.joins(makesh, mukesh)

    written, receipt = await engine.writes.create(
        {"user_id": user, "text": "Mukesh moved to Goa", **about, "entity_refs": ["person:mukesh"]}
    )

    assert (written, [row["memory_id"] for row in await memories(ana)]) == (second, [second])
    await assert_live_equals_replayed(engine, StreamId.of_user(user))
    for event_id in reversed(receipt.event_ids):
        await engine.writes.undo_event(ana.stream, event_id)
    await ana.takes_back(merged)
    assert {row["memory_id"]: row["text"] for row in await memories(ana)} == {
        first: "Makesh is my cousin",
        second: "Mukesh lives in Pune",
    }
