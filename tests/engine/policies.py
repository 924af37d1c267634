"""An engine on the servers of another one, under a policy of its own, as a role of an engine can be."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.engine.roles import NO_ROLE
from mnemolog.adapters.engine.wiring import wire
from mnemolog.adapters.policy import read


@asynccontextmanager
async def under(engine: Engine, policy: str) -> AsyncIterator[Engine]:
    """The same engine under the policy of this file's text."""
    async with AsyncExitStack() as stack:
        services = await wire(stack, engine.settings, read(policy), engine.endpoints, NO_ROLE, attached=True)
        yield Engine(**vars(services), servers=None)
