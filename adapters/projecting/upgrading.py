"""Builds new versions of projections in the background while readers use the previous ones (X05)."""

import asyncio
import logging

from mnemolog.adapters.clock import now
from mnemolog.adapters.projecting.projections import Projections
from mnemolog.domain.errors import ProjectionPoisoned

_logger = logging.getLogger("mnemolog.projections")

LOOK_SECONDS = 5.0


async def keep(projections: Projections) -> None:
    """Build new versions, then look for dropped tables and for new ones without statistics, until cancelled."""
    await upgrade(projections)
    while True:
        try:
            await projections.create_missing()
            await projections.gather_statistics()
            await projections.resettle_vectors()
        except Exception as error:  # noqa: BLE001  A database that is down comes back.
            _logger.warning("the tables of projections cannot be looked at: %s", type(error).__name__)
        await asyncio.sleep(LOOK_SECONDS)


async def upgrade(projections: Projections) -> None:
    """Run until done. What cannot be built stays as it was while this engine runs."""
    while True:
        try:
            for one in await projections.upgrade(now):
                _logger.info("%s is of the present version now, after %d events", one.name, one.events)
            await projections.settle_vectors()
            return
        except ProjectionPoisoned as error:
            _logger.error("%s: %s", error.message, error.fix)
            return
        except Exception as error:  # noqa: BLE001  Any error, such as a server failure: it continues from there.
            _logger.warning("the upgrade of projections is postponed: %s", type(error).__name__)
            await asyncio.sleep(LOOK_SECONDS)
