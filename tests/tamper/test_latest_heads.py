"""What was committed is anchored whatever the database gives back, and every stream's last anchor counts (X08)."""

from collections.abc import AsyncIterator

import pytest

from mnemolog.adapters.engine.engine import Engine, now, open_engine
from mnemolog.adapters.verify.anchor_stream import ANCHORS, AnchorStream
from mnemolog.adapters.verify.anchoring import Anchoring
from mnemolog.adapters.verify.damage import Part
from mnemolog.domain.errors import DatabaseRolledBack, TamperedEvent
from mnemolog.events.envelope import Position, StreamId
from mnemolog.projections.reads.moment import Moment
from tests.engine.person import Person
from tests.tamper.attacker import Attacker

pytestmark = pytest.mark.spec("X08")


@pytest.fixture
async def swallowed(mallory: Attacker, user: str) -> AsyncIterator[None]:
    """Nothing of this user comes into the outbox, so the relay never hears of it."""
    await mallory.sql("CREATE FUNCTION public.swallow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'")
    await mallory.sql(
        "CREATE TRIGGER swallow BEFORE INSERT ON mnemolog.outbox FOR EACH ROW"
        f" WHEN (NEW.stream = 'user:{user}') EXECUTE FUNCTION public.swallow()"
    )
    yield
    await mallory.sql("DROP FUNCTION public.swallow() CASCADE")


async def behind_at_a_start(engine: Engine) -> set[StreamId]:
    """The streams over which an engine that starts now on this database would refuse to."""
    key = engine.verifier.roots.derived("anchors")
    begun = Anchoring(
        engine.verifier.anchors, AnchorStream(engine.nats.jetstream()), engine.verifier.pool, key, now, "start", 10
    )
    with pytest.raises(DatabaseRolledBack):
        await begun.begin()
    return {head.stream async for head in begun.behind()}


@pytest.mark.usefixtures("swallowed")
async def test_a_stream_that_the_relay_never_saw_is_missed_when_it_is_deleted(
    victim: Engine, user: str, mallory: Attacker
) -> None:
    ana = Person(victim, user)
    await ana.creates("Ana sings in a choir")
    assert not await mallory.sql("SELECT * FROM mnemolog.outbox WHERE stream = %(stream)s")
    await victim.anchoring.flush()
    await mallory.forgets_everything()

    assert Part.EVENT in {one.part for one in (await victim.verifier.verify(ana.stream)).damages}
    assert ana.stream in await behind_at_a_start(victim)


async def test_a_cut_tail_is_refused_although_another_user_was_anchored_later(
    victim: Engine, ana: Person, mallory: Attacker
) -> None:
    await victim.anchoring.flush()
    promised = Position(ana.stream, await mallory.head())
    later = Person(victim, f"{ana.user}-later")
    await later.creates("Somebody else went on")
    await victim.settled(60)
    await victim.anchoring.flush()
    await mallory.removes(promised.seq - 1, promised.seq)
    await mallory.tidies()

    behind = await behind_at_a_start(victim)
    assert ana.stream in behind
    assert later.stream not in behind
    with pytest.raises(TamperedEvent):
        await ana.creates("This would fork what happened", memory_key="fork")
    with pytest.raises(TamperedEvent):
        await victim.reads.newest(ana.viewer, 5, Moment(after=promised))


async def test_what_another_process_anchored_is_known_though_the_relay_never_saw_it(
    victim: Engine, ana: Person, mallory: Attacker
) -> None:
    """Such as an API key that the command line revoked: an engine that believes the log alone goes on taking it."""
    await victim.anchoring.keep()
    victim.anchoring.known.forget(ana.stream)
    key = victim.verifier.roots.derived("anchors")
    other = Anchoring(None, AnchorStream(victim.nats.jetstream()), victim.verifier.pool, key, now, "other", 10)
    other.take([event async for batch in victim.log.scan(ana.stream) for event in batch])
    await other.flush()
    await victim.anchoring.hear()

    await mallory.removes(await mallory.head())
    await mallory.tidies()

    with pytest.raises(TamperedEvent):
        await victim.log.head(ana.stream)


async def test_what_others_anchor_is_heard_after_the_stream_was_deleted(
    victim: Engine, ana: Person, mallory: Attacker
) -> None:
    hearing, other = anchoring_of_another_process(victim), anchoring_of_another_process(victim, "other")
    for _ in range(2):
        other.take([event async for batch in victim.log.scan(ana.stream) for event in batch])
        await other.flush()
    await hearing.hear()
    hearing.known.forget(ana.stream)

    await victim.nats.jetstream().delete_stream(ANCHORS)
    other.take([event async for batch in victim.log.scan(ana.stream) for event in batch])
    await other.flush()
    await hearing.hear()

    assert hearing.known.seq(ana.stream) == await mallory.head()


async def test_a_program_that_has_just_attached_refuses_what_its_engine_refuses(
    victim: Engine, ana: Person, mallory: Attacker
) -> None:
    """It has seen nothing of this stream itself, and no anchor."""
    await victim.anchoring.flush()
    promised = Position(ana.stream, await mallory.head())
    await mallory.removes(promised.seq)
    await mallory.tidies()

    async with open_engine(victim.settings, attach=True) as attached:
        hers = Person(attached, ana.user)
        with pytest.raises(TamperedEvent):
            await hers.creates("This would fork what happened", memory_key="fork")
        with pytest.raises(TamperedEvent):
            await attached.reads.newest(hers.viewer, 5, Moment(after=promised))
        await Person(attached, f"{ana.user}-new").creates("Others go on")
    assert await mallory.head() == promised.seq - 1


async def test_a_rollback_that_was_accepted_is_accepted_by_processes_that_hear_of_it(
    victim: Engine, ana: Person, mallory: Attacker
) -> None:
    await victim.anchoring.flush()
    hearing, ignorant = anchoring_of_another_process(victim), anchoring_of_another_process(victim)
    await hearing.hear()
    await mallory.removes(last := await mallory.head())
    await mallory.tidies()

    begun = Anchoring(
        victim.verifier.anchors,
        AnchorStream(victim.nats.jetstream()),
        victim.verifier.pool,
        victim.verifier.roots.derived("anchors"),
        now,
        "start",
        10,
    )
    await begun.begin(accept=True)

    assert hearing.known.seq(ana.stream) == last
    for one in (hearing, ignorant):
        await one.hear()
        assert one.known.seq(ana.stream) < last


def anchoring_of_another_process(engine: Engine, node: str = "another") -> Anchoring:
    key = engine.verifier.roots.derived("anchors")
    return Anchoring(None, AnchorStream(engine.nats.jetstream()), engine.verifier.pool, key, now, node, 10)
