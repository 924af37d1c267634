"""Stops, pauses and progress that no engine wrote hold nothing back and hide nothing from verification (X08)."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch
from uuid import UUID

import pytest
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.adapters.engine.engine import Engine, now
from mnemolog.adapters.postgres.pauses import Pause
from mnemolog.adapters.verify.damage import Damage, DamageKind, Report
from mnemolog.adapters.verify.healing import heal
from mnemolog.events.envelope import Recorded
from mnemolog.projections.graph.projector import GraphProjector
from tests.engine.person import Person
from tests.tamper.attacker import PLACE, Attacker, table
from tests.tamper.test_command import verify
from tests.testkit.pausing import noticed

pytestmark = pytest.mark.spec("X08")

OWN = "tenant = %(tenant)s AND user_id = %(user)s"


@pytest.fixture
async def tea(ana: Person) -> UUID:
    memory_id = await ana.creates("Ana may drink milk")
    await ana.engine.settled(60)
    return memory_id


def kinds(found: Report | Sequence[Damage]) -> set[tuple[str, str, DamageKind]]:
    damages = found.damages if isinstance(found, Report) else found
    return {(one.projection, one.table, one.kind) for one in damages}


async def healed(engine: Engine, ana: Person) -> Report:
    await heal(await engine.verifier.verify(ana.stream), engine.verifier.pool, engine.projections.running)
    return await engine.verifier.verify(ana.stream)


async def stops(mallory: Attacker, engine: Engine, name: str, seq: int) -> None:
    """Set the stream back to `seq`, stopped at the event after it."""
    await mallory.sql(
        f"UPDATE {table(engine, name, 'progress')} SET seq = %(seq)s, stopped_at = %(seq)s + 1, reason = ''"
        f" WHERE {PLACE}",
        seq=seq,
    )


async def test_rows_that_were_removed_behind_a_forged_stop_are_named_and_come_back(
    victim: Engine, ana: Person, mallory: Attacker, tea: UUID
) -> None:
    before = await ana.everything()
    await stops(mallory, victim, "memories", 0)
    for name in ("memories", "links"):
        await mallory.sql(f"DELETE FROM {table(victim, 'memories', name)} WHERE {OWN}")

    report = await victim.verifier.verify(ana.stream)

    assert ("memories", "progress", DamageKind.FORGED) in kinds(report)
    assert report.unverified == []
    assert (await healed(victim, ana)).clean
    assert await ana.everything() == before


async def test_a_forged_stop_has_no_effect_even_without_verification(
    victim: Engine, ana: Person, mallory: Attacker, tea: UUID
) -> None:
    before = await ana.everything()
    await stops(mallory, victim, "memories", 0)
    for name in ("memories", "links"):
        await mallory.sql(f"DELETE FROM {table(victim, 'memories', name)} WHERE {OWN}")

    assert ana.stream not in await victim.projections.stores["memories"].stopped()
    await victim.settled(60)

    assert await ana.everything() == before


async def test_a_forged_stop_at_the_head_is_named_and_healed(victim: Engine, ana: Person, mallory: Attacker) -> None:
    await stops(mallory, victim, "memories", await mallory.head())

    assert kinds(await victim.verifier.verify(ana.stream)) == {("memories", "progress", DamageKind.FORGED)}
    assert (await healed(victim, ana)).clean
    await ana.creates("Ana drinks tea")
    assert await ana.finds("tea")


async def test_older_rows_behind_a_forged_stop_are_read_no_more(
    victim: Engine, ana: Person, mallory: Attacker, tea: UUID
) -> None:
    seq = await mallory.head()
    await older_rows(mallory, victim, ana, tea)
    await stops(mallory, victim, "memories", seq)

    report = await victim.verifier.verify(ana.stream)

    assert ("memories", "progress", DamageKind.FORGED) in kinds(report)
    assert (await victim.reads.memory(ana.viewer, tea))["text"] == "Ana must not drink milk"
    assert (await victim.verifier.verify(ana.stream)).clean


async def test_older_rows_behind_a_real_stop_of_long_ago_are_read_no_more(
    victim: Engine, ana: Person, mallory: Attacker, tea: UUID
) -> None:
    seq, store = await mallory.head(), victim.projections.stores["memories"]
    await store.stop(ana.stream, seq + 1, "ValueError: long ago")
    columns = "stopped_at, reason, mac"
    [stop] = await mallory.sql(f"SELECT {columns} FROM {table(victim, 'memories', 'progress')} WHERE {PLACE}")
    await store.resume([ana.stream])
    await older_rows(mallory, victim, ana, tea)
    await mallory.sql(
        f"UPDATE {table(victim, 'memories', 'progress')} SET seq = %(seq)s, ({columns}) ="
        f" (%(stopped_at)s, %(reason)s, %(mac)s) WHERE {PLACE}",
        seq=seq,
        **stop,
    )
    assert ana.stream in await store.stopped()

    report = await victim.verifier.verify(ana.stream)

    assert (report.damages, report.unverified) == ([], [])
    assert (await victim.reads.memory(ana.viewer, tea))["text"] == "Ana must not drink milk"


async def test_a_stop_of_another_projection_does_not_count(victim: Engine, ana: Person, mallory: Attacker) -> None:
    graph = victim.projections.stores["graph"]
    await graph.stop(ana.stream, await mallory.head() + 1, "")
    await mallory.sql(
        f"UPDATE {table(victim, 'memories', 'progress')} AS held SET (stopped_at, reason, mac) ="
        " (SELECT other.stopped_at, other.reason, other.mac"
        f" FROM {table(victim, 'graph', 'progress')} AS other WHERE {PLACE})"
        f" WHERE held.tenant = %(tenant)s AND held.stream = %(stream)s"
    )

    assert kinds(await victim.verifier.verify(ana.stream)) == {("memories", "progress", DamageKind.FORGED)}
    await graph.resume([ana.stream])
    assert (await healed(victim, ana)).clean


async def test_a_forged_pause_holds_nothing_up_is_named_and_taken_away(
    victim: Engine, ana: Person, mallory: Attacker
) -> None:
    await mallory.sql("INSERT INTO mnemolog.paused_projections VALUES ('memories', now(), 'eve', 'x')")
    await ana.creates("Ana drinks tea")
    await victim.settled(60)
    assert await ana.finds("tea")

    assert await victim.projections.paused() == {}
    report = await victim.verifier.verify(ana.stream)
    assert kinds(report) == {("memories", "paused_projections", DamageKind.FORGED)}
    assert (await healed(victim, ana)).clean


async def test_a_stopped_stream_is_compared_up_to_its_stop_and_reported_as_unverified_beyond(
    victim: Engine, ana: Person, mallory: Attacker
) -> None:
    before = await mallory.head()
    with graph_takes_nothing(after=before):
        await ana.says("I drink tea with Bob")
        await victim.settled(60)
        report = await victim.verifier.verify(ana.stream)
        assert report.clean
        assert [(one.projection, one.stream, one.seq, one.why) for one in report.unverified] == [
            ("graph", ana.stream, before, "stopped")
        ]
        await mallory.sql(f"UPDATE {table(victim, 'graph', 'entities')} SET name = 'Eve' WHERE {OWN}")
        damaged = await victim.verifier.verify(ana.stream)
        assert kinds(damaged) == {("graph", "entities", DamageKind.CHANGED)}
        assert len(damaged.unverified) == 1
        assert (await healed(victim, ana)).clean

    assert (await healed(victim, ana)).as_dict()["unverified"] == []


@pytest.fixture
async def paused(victim: Engine) -> AsyncIterator[str]:
    """A projection that an operator paused."""
    name = "memories"
    async with noticed(victim, name):
        await victim.projections.pause(name, Pause(now(), "an operator"))
    yield name
    await victim.projections.resume(name)
    await victim.settled(60)


async def test_a_paused_projection_is_reported_as_unverified_beyond_its_progress(
    victim: Engine, ana: Person, mallory: Attacker, paused: str
) -> None:
    seq = await stuck(mallory, victim, ana)

    ran, programs = await verify(victim, "-u", ana.user), await verify(victim, "-u", ana.user, "--json")

    assert (ran.code, programs.code) == (0, 0)
    assert f"memories of {ana.stream} is paused: nothing after seq {seq} could be verified" in ran.out
    assert "nothing was changed in what could be verified" in ran.out
    assert programs.value["unverified"] == [
        {"projection": "memories", "stream": str(ana.stream), "seq": seq, "why": "paused"}
    ]


async def test_rows_beyond_a_progress_that_was_set_back_are_damage(
    victim: Engine, ana: Person, mallory: Attacker, paused: str
) -> None:
    await stuck(mallory, victim, ana)
    await mallory.sql(f"UPDATE {table(victim, 'memories', 'progress')} SET seq = 4 WHERE {PLACE}")

    found = kinds(await victim.verifier.verify(ana.stream))

    assert ("memories", "memories", DamageKind.REPLAYED) in found
    assert (await healed(victim, ana)).clean


async def test_a_stream_that_is_kept_behind_is_reported(victim: Engine, ana: Person, mallory: Attacker) -> None:
    progress = table(victim, "memories", "progress")
    await mallory.sql(f"CREATE FUNCTION {progress}_held() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN OLD; END'")
    await mallory.sql(
        f"CREATE TRIGGER held BEFORE UPDATE ON {progress} FOR EACH ROW WHEN (OLD.stream = '{ana.stream.name}')"
        f" EXECUTE FUNCTION {progress}_held()"
    )
    try:
        await ana.creates("Ana drinks tea")
        assert ("memories", "progress", DamageKind.BEHIND) in kinds(await victim.verifier.verify(ana.stream))
    finally:
        await mallory.sql(f"DROP FUNCTION {progress}_held CASCADE")

    assert (await healed(victim, ana)).clean


async def older_rows(mallory: Attacker, engine: Engine, ana: Person, memory_id: UUID) -> None:
    """Put back the rows of a memory from before its last update."""
    memories = table(engine, "memories")
    [older] = await mallory.sql(f"SELECT * FROM {memories} WHERE {OWN} AND memory_id = %(id)s", id=memory_id)
    await ana.updates(memory_id, text="Ana must not drink milk")
    await engine.settled(60)
    names = [name for name in older if name != "search"]
    await mallory.sql(
        f"UPDATE {memories} SET ({', '.join(names)}) = ({', '.join(f'%({name})s' for name in names)})"
        f" WHERE {OWN} AND memory_id = %(memory_id)s",
        **{name: older[name] for name in names},
    )


async def stuck(mallory: Attacker, engine: Engine, ana: Person) -> int:
    """Write until the paused projection takes nothing more; where it stands."""
    store = engine.projections.stores["memories"]
    while await store.progress(ana.stream) == await mallory.head():
        await ana.creates("Ana drinks tea")
    return await store.progress(ana.stream)


@contextmanager
def graph_takes_nothing(after: int) -> Iterator[None]:
    """While it lasts, no event of a higher seq can be applied to the graph."""
    apply = GraphProjector.apply

    async def refused(self: GraphProjector, connection: AsyncConnection, events: Sequence[Recorded]) -> Any:
        if any(event.seq > after for event in events):
            raise ValueError("made up")
        return await apply(self, connection, events)

    with patch.object(GraphProjector, "apply", refused):
        yield
