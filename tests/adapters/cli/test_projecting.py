"""`mnemolog projection`: a poisoned event from the fault to its cure, while an engine runs in another process."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.adapters.engine.engine import Engine
from mnemolog.domain.errors import ProjectionPoisoned
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.envelope import Recorded
from mnemolog.projections.graph.projector import GraphProjector
from tests.adapters.cli.command import Ran, mnemolog
from tests.engine.person import Person
from tests.testkit.pausing import noticed

POISON = "poison"


async def projections(engine: Engine, *arguments: str) -> Ran:
    return await mnemolog(engine.settings.directory, "projection", *arguments, "--json")


async def status(engine: Engine, name: str) -> Any:
    ran = await projections(engine, "status")
    assert ran.code == 0, ran
    return next(one for one in ran.value if one["name"] == name)


@pytest.fixture
def older(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine's graph projector cannot apply poison. That of the command, in its own process, can."""
    apply = GraphProjector.apply

    async def cannot(self: GraphProjector, connection: AsyncConnection, events: Sequence[Recorded]) -> None:
        if any(isinstance(event.payload, TurnRecorded) and event.payload.turn_id == POISON for event in events):
            raise ValueError("this is not understood")
        await apply(self, connection, events)

    monkeypatch.setattr(GraphProjector, "apply", cannot)


async def stopped(engine: Engine, ana: Person) -> str:
    """Ana's stream after poison, stopped in the graph."""
    await ana.says("I drink tea")
    await ana.says("I have a cat", turn_id=POISON)
    await ana.says("I moved to Lisbon")
    await engine.settled(60)
    return str(ana.stream)


@pytest.mark.usefixtures("older")
async def test_a_poisoned_event_stops_its_stream_until_a_newer_version_retries(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    stream = await stopped(engine, ana)
    shown = await status(engine, "graph")
    [place] = [one for one in shown["stopped"] if one["stream"] == stream]
    assert (place["type"], place["reason"]) == ("TurnRecorded", "ValueError: this is not understood")
    assert (shown["lag_events"], shown["paused"]) == (0, None)
    assert len(await ana.finds("Lisbon")) == 3, "the other projections went on"
    with pytest.raises(ProjectionPoisoned, match="graph stopped"):
        await engine.reads.entities(ana.viewer, await ana.caught_up())

    retried = await projections(engine, "retry", "graph", "--stream", stream)

    assert retried.code == 0, retried
    assert retried.value == [{"projection": "graph", "stream": stream, "stopped": False, "seq": None, "reason": None}]
    assert (await status(engine, "graph"))["stopped_streams"] == 0
    assert await engine.reads.entities(ana.viewer, await ana.caught_up())


@pytest.mark.usefixtures("older")
async def test_skip_passes_over_the_very_event_and_is_counted(engine: Engine, user: str) -> None:
    stream = await stopped(engine, Person(engine, user))
    [place] = [one for one in (await status(engine, "graph"))["stopped"] if one["stream"] == stream]
    before = (await status(engine, "graph"))["skipped_events"]

    unsure = await projections(engine, "skip", "graph", "--stream", stream)
    assert (unsure.code, (await status(engine, "graph"))["skipped_events"]) == (1, before)
    skipped = await projections(engine, "skip", "graph", "--stream", stream, "--by", "olga", "--yes")

    assert skipped.code == 0, skipped
    told = {name: skipped.value[name] for name in ("projection", "stream", "seq", "event_id", "type", "by")}
    assert told == {**told, "projection": "graph", "stream": stream, "seq": place["seq"], "by": "olga"}
    assert told["event_id"] == place["event_id"]
    after = await status(engine, "graph")
    assert (after["stopped_streams"], after["skipped_events"]) == (0, before + 1)
    again = await projections(engine, "skip", "graph", "--stream", stream)
    assert (again.code, again.value["error"]["field"]) == (1, "stream")
    assert "not stopped" in again.value["error"]["message"]
    await engine.projections.stores["graph"].resume()
    await engine.settled(60)


async def test_a_paused_projection_stops_and_catches_up_when_resumed(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.creates("Ana drinks tea", kind="episode")
    await engine.settled(60)
    async with noticed(engine, "history"):
        assert (await projections(engine, "pause", "history", "--by", "olga")).code == 0
    try:
        await ana.creates("Ana has a cat", kind="episode")
        await engine.settled(60)  # What is paused is not waited for.
        await asyncio.sleep(1.5)
        shown = await status(engine, "history")
        assert shown["paused"]["by"] == "olga"
        assert shown["lag_events"] >= 1  # Jobs for users of earlier tests may write meanwhile.
        assert shown["lag_seconds"] > 1
        refused = await projections(engine, "retry", "history")
        assert (refused.code, refused.value["error"]["code"]) == (1, "conflict")
        assert "resume history" in refused.value["error"]["fix"]
    finally:
        assert (await projections(engine, "resume", "history")).code == 0
    await engine.settled(60)
    assert (await status(engine, "history"))["lag_events"] == 0


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (("pause", "nothing"), "projection"),
        (("resume", "nothing"), "projection"),
        (("retry", "nothing"), "projection"),
        (("skip", "nothing", "--stream", "default/user:ana"), "projection"),
        (("skip", "graph", "--stream", "user:ana"), "stream"),
    ],
)
async def test_a_name_that_does_not_exist_is_refused(engine: Engine, arguments: tuple[str, ...], field: str) -> None:
    ran = await projections(engine, *arguments)
    assert (ran.code, ran.value["error"]["field"]) == (2, field)


async def test_the_status_is_a_table_for_people(engine: Engine) -> None:
    ran = await mnemolog(engine.settings.directory, "projection", "status")
    assert ran.code == 0, ran
    for name in engine.projections.running:
        assert name in ran.out
