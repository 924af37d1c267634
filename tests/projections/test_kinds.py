"""What a projection reads of an event: the whole, its shape, or nothing."""

from collections.abc import Sequence

import pytest
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.adapters.engine.engine import Engine
from mnemolog.events.conversation import SessionForgotten, TurnRecorded
from mnemolog.events.envelope import Recorded
from mnemolog.events.graph import EntityEvent, RelationEvent
from mnemolog.projections.graph.projector import GraphProjector
from mnemolog.projections.kinds import Kinds, Need
from tests.engine.person import Person

KINDS = Kinds(EntityEvent | RelationEvent, shapes=TurnRecorded | SessionForgotten)


@pytest.mark.parametrize(
    ("event_type", "need"),
    [
        ("EntityObserved", Need.WHOLE),
        ("TurnRecorded", Need.SHAPE),
        ("SessionForgotten", Need.SHAPE),
        ("MemoryCreated", Need.NOTHING),
        ("ThreadErased", Need.NOTHING),
        ("UserErased", Need.WHOLE),
        ("ToldByALaterVersion", Need.WHOLE),
    ],
)
def test_how_much_is_read_follows_from_the_type(event_type: str, need: Need) -> None:
    assert KINDS.need(event_type) is need


def test_without_shapes_an_event_is_read_whole_or_not_at_all() -> None:
    assert Kinds(TurnRecorded).need("TurnRecorded") is Need.WHOLE
    assert Kinds(TurnRecorded).need("MemoryCreated") is Need.NOTHING


@pytest.mark.spec_part("X05")
async def test_the_graph_never_sees_what_was_said_and_is_what_a_replay_of_it_makes(
    engine: Engine, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply, told = GraphProjector.apply, list[TurnRecorded]()

    async def listened(self: GraphProjector, connection: AsyncConnection, events: Sequence[Recorded]) -> None:
        own = [event.payload for event in events if event.stream.owner == user]
        told.extend(payload for payload in own if isinstance(payload, TurnRecorded))
        await apply(self, connection, events)

    ana = Person(engine, user)
    with monkeypatch.context() as patch:
        patch.setattr(GraphProjector, "apply", listened)
        await ana.says(f"{user} drinks tea", speaker="Ana")
        await ana.says(f"{user} has a cat", speaker="Bob")
        await engine.settled(60)
        told.clear()  # Delivered together with projections that read the text.
        await engine.projections.running["graph"].heal(ana.stream)

    assert len(told) == 2
    assert {turn.text for turn in told} == {""}
    assert all(turn.speaker_entity_id for turn in told)
    report = await engine.verifier.verify(ana.stream)  # It replays whole events.
    assert report.clean
    assert report.unverified == []
