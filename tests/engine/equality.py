"""Live equals rebuilt: the check that other tests run after a scenario (design §5, X05, X09)."""

from mnemolog.adapters.engine.engine import Engine


async def assert_live_equals_rebuilt(engine: Engine, *names: str) -> None:
    """Rebuild projections from the log, all of them unless some are named: not one row may differ."""
    await engine.settled(60)
    assert await engine.projections.stopped() == {}
    for name in names or engine.projections.running:
        rebuilt = await engine.projections.rebuild(name)
        assert rebuilt.equal, f"{name} differs from its rebuild: {dict(rebuilt.differences)}"
