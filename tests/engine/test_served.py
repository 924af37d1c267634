"""What was put into a prompt is an event, without its text (X18)."""

from typing import Any

import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.erasure import erasing
from mnemolog.adapters.operations.artifacts import AddArtifact, add_artifact
from mnemolog.adapters.operations.being import BlocksRead
from mnemolog.adapters.operations.envelope import EnvelopeRead, EnvelopeView, envelope
from mnemolog.adapters.operations.memories import ContextRead, Search, context, search
from mnemolog.adapters.operations.results import Bullets
from mnemolog.adapters.operations.serving import RecordableRead, ServedRead, Serving, served
from mnemolog.commands.erasure import EraseUser
from mnemolog.domain.authority import Slot
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.gate import Signal
from mnemolog.domain.text import count_tokens
from mnemolog.events.envelope import DEFAULT_AGENT
from mnemolog.events.fields import validated
from mnemolog.events.serving import SERVED, ContextServed, Purpose
from mnemolog.projections.operations.counted import Node, Outcome, Period, Wanted
from mnemolog.projections.reads.moment import Moment
from tests.engine.equality import assert_live_equals_replayed
from tests.engine.teller import Teller
from tests.testkit.eventually import eventually


async def asked(ana: Teller, message: str, **fields: Any) -> EnvelopeView:
    given = {"user_id": ana.user, "agent_id": ana.agent, "message": message, "record": True, **fields}
    return await envelope.run(ana.engine, EnvelopeRead.model_validate(given))


async def servings(ana: Teller, message_id: str, agent_id: str = DEFAULT_AGENT) -> list[Serving]:
    request = ServedRead.model_validate({"user_id": ana.user, "agent_id": agent_id, "message_id": message_id})
    return list(await served.run(ana.engine, request))


@pytest.mark.spec("X18")
async def test_an_envelope_is_recorded_with_the_versions_of_what_it_shows(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    fact = await ana.tells("me", "lives_in", "Leipzig")
    memory = await ana.creates("Ana paints boats")
    written = await engine.log.head(ana.stream)

    found = await asked(ana, "Do you remember what I paint?", message_id="q-1")

    [serving] = await servings(ana, "q-1")
    assert (serving.event_id, serving.purpose, serving.searched) == (found.served_id, Purpose.ENVELOPE, True)
    assert serving.signals == [Signal.CONTINUITY]
    assert serving.policy_version == engine.policy.version
    assert serving.tokens > 0
    shown = {(one.slot, one.id): one.seq for one in serving.items}
    assert shown.keys() == {(Slot.GRAPH, str(fact)), (Slot.EPISODE, str(memory))}
    assert shown[Slot.EPISODE, str(memory)] == written
    await assert_live_equals_replayed(engine, ana.stream)


@pytest.mark.spec("X18")
async def test_a_served_artifact_names_its_last_event(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    plan = {"user_id": user, "name": "boats.txt", "mime": "text/plain"}
    stored = await add_artifact(engine, AddArtifact.model_validate(plan), b"Boats are painted in May.")

    asks = {"user_id": user, "query": "boats", "kinds": ["artifact"], "record": True, "message_id": "q-1"}

    async def is_found() -> bool:
        return bool((await search.run(engine, Search.model_validate(asks))).bullets)  # type: ignore[union-attr]

    await eventually(is_found)
    [item] = (await servings(ana, "q-1"))[0].items
    assert item.seq is not None
    then = await engine.reads.artifact(ana.viewer, stored.artifact_id, Moment(as_of=item.seq))
    assert [one["text"] for one in then["texts"]] == ["Boats are painted in May."]


@pytest.mark.spec("X18")
async def test_a_context_is_recorded_on_request_only(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    memory = await ana.creates("Ana paints boats")
    allergy = await ana.tells("me", "allergy", "peanuts")
    asks = {"user_id": user, "query": "boats"}

    assert (await context.run(engine, ContextRead.model_validate(asks))).served_id is None
    assert await engine.log.read(ana.stream, tags=frozenset({SERVED})) == []
    recorded = {**asks, "record": True, "message_id": "q-1"}
    found = await context.run(engine, ContextRead.model_validate(recorded))

    [serving] = await servings(ana, "q-1")
    assert (serving.event_id, serving.purpose) == (found.served_id, Purpose.CONTEXT)
    assert {(one.kind, one.id) for one in serving.items} == {("fact", str(memory)), ("fact", str(allergy))}
    assert all(one.seq for one in serving.items)
    assert (serving.searched, serving.signals) == (None, [])


@pytest.mark.spec("X18")
async def test_an_entity_is_recorded_with_the_facts_that_its_card_shows(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    told = [await ana.tells("Marta", "lives_in", "Porto"), await ana.tells("Marta", "works_at", "Acme")]
    await ana.tells("Marta", "likes", "chess", origin="tool")
    [marta] = await ana.entities("Marta")
    asks = {"user_id": user, "query": "Who is Marta?", "record": True}
    await context.run(engine, ContextRead.model_validate({**asks, "message_id": "q-1"}))
    await search.run(engine, Search.model_validate({**asks, "message_id": "q-2"}))

    for message_id in ("q-1", "q-2"):
        [serving] = await servings(ana, message_id)
        shown = {(one.kind, one.id): one.seq for one in serving.items}
        assert shown[("entity", str(marta["entity_id"]))] == marta["seq"]
        for fact in told:
            seq = shown[("fact", str(fact))]
            assert seq is not None
            assert fact in {row["relation_id"] for row in await ana.facts(moment=Moment(as_of=seq))}


@pytest.mark.spec("X18")
@pytest.mark.parametrize(
    ("request_", "asks"),
    [
        (Search, {"query": "boats"}),
        (ContextRead, {"query": "boats"}),
        (EnvelopeRead, {"message": "boats"}),
        (BlocksRead, {}),
    ],
)
def test_a_message_id_is_refused_where_nothing_is_recorded(
    request_: type[RecordableRead], asks: dict[str, Any]
) -> None:
    given = {"user_id": "ana", "message_id": "q-1", **asks}
    for more in ({}, {"record": False}):
        with pytest.raises(InvalidInput) as refused:
            validated(request_, {**given, **more})
        assert refused.value.field == "message_id"
        assert "record=true" in refused.value.fix

    assert validated(request_, {**given, "record": True}).message_id == "q-1"


@pytest.mark.spec("X18")
async def test_the_latest_comes_first_and_another_agent_sees_none(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    first, second = [await asked(ana, "Where do I live?", message_id="q-1") for _ in range(2)]

    assert [one.event_id for one in await servings(ana, "q-1")] == [second.served_id, first.served_id]
    assert await servings(ana, "q-1", agent_id="chef") == []
    assert await servings(ana, "q-2") == []


async def test_no_text_is_in_the_event_and_an_erased_user_has_none(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.tells("me", "lives_in", "Leipzig")
    await ana.creates("Ana paints boats")
    await asked(ana, "Remember Ana's boats?", message_id="q-1")

    [event] = [one for one in await engine.log.read(ana.stream) if isinstance(one.payload, ContextServed)]
    assert not any(word in event.payload.model_dump_json() for word in ("Leipzig", "boats", "Ana"))
    await erasing.erase(engine, EraseUser(user_id=user))

    assert await servings(ana, "q-1") == []
    await assert_live_equals_replayed(engine, ana.stream)


@pytest.mark.spec("B11")
async def test_a_search_when_an_agent_is_unsure_is_small_and_counted_by_the_message(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    for number in range(8):
        await ana.creates(f"Ana paints boat number {number} in the harbour of Leipzig")
    for number in range(11):
        await ana.says(f"Message {number}", turn_id=f"{user}-{number}")
    asks = {"user_id": user, "query": "boats", "return": "bullets", "top_k": 3, "budget_tokens": 40}
    request = Search.model_validate({**asks, "record": True, "message_id": "q-1"})

    found = await search.run(engine, request)

    assert isinstance(found, Bullets)
    assert 0 < len(found.bullets) <= 3
    assert sum(count_tokens(one.text) for one in found.bullets) <= 40
    [serving] = await servings(ana, "q-1")
    assert (serving.event_id, serving.purpose) == (found.served_id, Purpose.RECALL)
    assert {one.id for one in serving.items} >= {one.id for one in found.bullets}
    assert (await search.run(engine, Search.model_validate(asks))).served_id is None

    counted = await engine.reads.operations(ana.viewer, Wanted(by=Period.TOTAL), 100, await ana.caught_up(), None)
    counts = {(row["op"], row["subject"]): row["count"] for row in counted}
    assert counts["recall", "context"] == 1
    assert counts["recall", "context"] / counts["create", "message"] < 0.1


@pytest.mark.spec_part("B11")
async def test_the_share_of_messages_with_a_search_is_counted(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    for message in ("Hello", "What is the time?", "Do you remember me?"):
        await asked(ana, message)

    rows = await engine.reads.operations(
        ana.viewer, Wanted(by=Period.TOTAL, node=Node.CONTEXT, op="search"), 10, await ana.caught_up(), None
    )

    counted = {row["status"]: row["count"] for row in rows}
    assert counted == {Outcome.OK: 1, Outcome.SKIPPED: 2}
