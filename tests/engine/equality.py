"""Live equals rebuilt: the check that other tests run after a scenario (design §5, X05, X09)."""

from collections.abc import Mapping
from uuid import uuid4

from mnemolog.adapters.engine.engine import Engine, now
from mnemolog.adapters.redis.working import WorkingStore
from mnemolog.adapters.verify.damage import Report
from mnemolog.adapters.verify.rows_check import RowsCheck
from mnemolog.domain.session import Session
from mnemolog.events.envelope import StreamId
from mnemolog.projections.runtime import Projection
from mnemolog.projections.working.projector import SessionPlace


async def assert_live_equals_rebuilt(engine: Engine, *names: str) -> None:
    """Rebuild projections from the whole log, all of them unless some are named: not one row may differ.

    Costs as much as all that every test wrote. A test of what happens to some streams asks for these alone, below.
    """
    await _require_going(engine)
    for rebuilt in await engine.projections.rebuild_all(names):
        assert rebuilt.equal, f"{rebuilt.name} differs from its rebuild: {dict(rebuilt.differences)}"


async def assert_live_equals_replayed(engine: Engine, *streams: StreamId) -> None:
    """Replay these streams beside the live rows of every projection: not one row may differ."""
    await _require_going(engine)
    for stream in streams:
        report = Report()
        verifier = engine.verifier
        databases = verifier.engine, verifier.beside_log, verifier.log
        await RowsCheck(*databases, verifier.running, report, lambda count: None).run(stream)
        assert (report.damages, report.unverified) == ([], [])
        await _assert_sessions_equal(engine, stream)


async def _require_going(engine: Engine) -> None:
    await engine.settled(60)
    assert await engine.projections.stopped() == {}


async def _assert_sessions_equal(engine: Engine, stream: StreamId) -> None:
    live = engine.projections.working
    replayed = WorkingStore(live._redis, f"{uuid4().hex}:")
    head, shown = 0, await _sessions(live, stream)
    try:
        while (reached := await live.progress(stream)) != head:  # Jobs may write while this looks.
            await Projection(replayed, engine.log).read_on(stream, head, reached)
            head, shown = reached, await _sessions(live, stream)
        assert await replayed.progress(stream) == head
        assert shown == await _sessions(replayed, stream), f"working memory of {stream} differs from its replay"
    finally:
        await replayed.drop()


async def _sessions(store: WorkingStore, stream: StreamId) -> Mapping[SessionPlace, Session]:
    found = await store.read_all([SessionPlace.of_key(stream, name) for name in await store.keys_of(stream)])
    return {place: session for place, session in found.items() if not session.expired(now())}
