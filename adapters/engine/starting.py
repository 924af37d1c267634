"""The servers of an engine: its own, or those of one that runs already."""

import asyncio
import logging
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import fields

from mnemolog.adapters.config import Settings
from mnemolog.adapters.embedded import EmbeddedServers, Endpoints, ServerEvent, running_engine
from mnemolog.adapters.engine.projections import Projections
from mnemolog.adapters.nats.streams import StreamLimits
from mnemolog.domain.errors import DataDirectoryInUse, EngineError
from mnemolog.projections.vectors.tables import NAME as VECTORS

_logger = logging.getLogger("mnemolog.engine")

ATTACH_SECONDS = 15.0
ATTACH_POLL_SECONDS = 0.2
KEPT_SECONDS = 1.0


async def started_or_running(
    stack: AsyncExitStack, settings: Settings, *, attach: bool
) -> tuple[EmbeddedServers | None, Endpoints]:
    """Servers of our own, or the endpoints of an engine that runs already; one that is just starting is waited for."""
    until = time.monotonic() + ATTACH_SECONDS
    while True:
        running = await asyncio.to_thread(running_engine, settings.directory) if attach else None
        if running:
            return None, running
        try:
            servers = await _started(stack, settings)
        except DataDirectoryInUse:
            if not attach or time.monotonic() > until:
                raise
            await asyncio.sleep(ATTACH_POLL_SECONDS)
        else:
            return servers, servers.endpoints


async def _started(stack: AsyncExitStack, settings: Settings) -> EmbeddedServers:
    servers = EmbeddedServers(
        settings.directory,
        postgres_url=settings.postgres_url,
        nats_url=settings.nats_url,
        redis_url=settings.redis_url,
        durable=settings.durable,
        nats_sync=settings.nats_sync,
        nats_store=limits_of(settings).store_bytes,
        on_event=_log_server_event,
    )
    stack.callback(servers.stop)  # Not in a thread: at interpreter exit none can be started. It takes 0.1 s.
    await asyncio.to_thread(servers.start)
    return servers


def limits_of(settings: Settings) -> StreamLimits:
    """How much JetStream keeps, as the settings say."""
    return StreamLimits(**settings.model_dump(include={field.name for field in fields(StreamLimits)}))


def _log_server_event(event: ServerEvent) -> None:
    _logger.warning("%s %s %s", event.server, event.what, event.detail)


async def require_kept(projections: Projections, settings: Settings) -> None:
    """EngineError when the engine that runs keeps other projections than this one reads; one that starts is awaited."""
    began, before = time.monotonic(), list[str]()
    while missing := await projections.missing():
        patience = KEPT_SECONDS if missing == [VECTORS] else ATTACH_SECONDS
        if missing == before and time.monotonic() > began + patience:
            raise _not_kept(missing, settings)
        before = missing
        await asyncio.sleep(ATTACH_POLL_SECONDS)
    await projections.look()


def _not_kept(missing: Sequence[str], settings: Settings) -> EngineError:
    if missing == [VECTORS]:
        return EngineError(
            f"the engine that runs here keeps no vectors of the embedder {settings.embedder!r}",
            field="embedder",
            fix="set MNEMOLOG_EMBEDDER (or the settings file) as that engine has it, or restart it with this one",
        )
    return EngineError(
        f"the engine that runs here does not keep {', '.join(missing)} as this Mnemolog reads them",
        field="data_dir",
        fix="stop it and start it with this version: each version has tables of its own",
    )
