"""The servers of an engine: its own, or those of a running engine."""

import asyncio
import logging
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import fields
from functools import partial
from pathlib import Path

from mnemolog.adapters.background import attaching, clients
from mnemolog.adapters.config import Settings
from mnemolog.adapters.embedded import EmbeddedServers, Endpoints, EngineKind, ServerEvent, unusable
from mnemolog.adapters.nats.streams import StreamLimits
from mnemolog.adapters.projecting.projections import Projections
from mnemolog.adapters.unreachable import used_up
from mnemolog.domain.errors import EngineError
from mnemolog.projections.vectors.projector import NAME as VECTORS

_logger = logging.getLogger("mnemolog.engine")

ATTACH_SECONDS = 15.0
ATTACH_POLL_SECONDS = 0.2
KEPT_SECONDS = 1.0
RESTORING = "restoring"
"""A file in the data directory while a backup is loaded: what is there may be a part of it."""


def require_restored(settings: Settings) -> None:
    """EngineError if a backup is being loaded into the data directory, or was not loaded to its end."""
    if (settings.directory / RESTORING).exists():
        raise EngineError(
            f"a restore into {settings.directory} has not ended, or was killed",
            field="data_dir",
            fix="wait until it ends; if none runs, empty the directory, except for a master.key of your own, and the "
            "database if it is yours, and restore again",
        )


async def attached_or_started(
    stack: AsyncExitStack,
    settings: Settings,
    *,
    attach: bool = False,
    in_background: bool = False,
    kind: EngineKind = "in-process",
) -> tuple[EmbeddedServers | None, Endpoints]:
    """The endpoints of a running engine, with `attach`; otherwise servers of our own.

    With `in_background`, an engine is started in the background instead. One that is starting is awaited. Until the
    stack is closed, this process counts as a client of the engine it is attached to.
    """
    path = await asyncio.to_thread(attaching.data_directory, settings)
    if attach:
        find = partial(attaching.find_or_start, settings) if in_background else partial(_find, path)
        try:
            clients.hold(path)
            stack.callback(clients.release, path)
            if found := await asyncio.to_thread(find):
                return None, found
        except OSError as error:
            raise used_up(error) or unusable(path, error) from error
    return await _started(stack, settings, path, kind)


def _find(path: Path) -> Endpoints | None:
    with clients.entering(path):
        return attaching.find(path)


async def _started(
    stack: AsyncExitStack, settings: Settings, path: Path, kind: EngineKind
) -> tuple[EmbeddedServers, Endpoints]:
    servers = EmbeddedServers(
        settings.directory,
        postgres_url=settings.postgres_url,
        nats_url=settings.nats_url,
        redis_url=settings.redis_url,
        projections_url=settings.projections_url,
        durable=settings.durable,
        nats_sync=settings.nats_sync,
        nats_store=limits_of(settings).store_bytes,
        kind=kind,
        on_event=_log_server_event,
    )
    stack.callback(servers.stop)  # Not in a thread: none can be started at interpreter exit. Takes 0.1 s.
    return servers, await asyncio.to_thread(_start, servers, path, kind)


def _start(servers: EmbeddedServers, path: Path, kind: EngineKind) -> Endpoints:
    if kind == "background":  # The client that starts it holds the lock.
        return servers.start()
    with clients.entering(path):
        attaching.replace_idle(path, anyhow=kind == "up")
        return servers.start()


def limits_of(settings: Settings) -> StreamLimits:
    """How much JetStream keeps, by the settings."""
    return StreamLimits(**settings.model_dump(include={field.name for field in fields(StreamLimits)}))


def _log_server_event(event: ServerEvent) -> None:
    _logger.warning("%s %s %s", event.server, event.what, event.detail)


async def require_kept(projections: Projections, settings: Settings) -> None:
    """EngineError if the running engine has other projections than this one reads; a starting one is awaited."""
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
        folder = settings.embedder_folder
        model = settings.embedding_model or folder or settings.embedder
        return EngineError(
            f"the running engine has no vectors of the embedder {model!r}",
            field="embedding_model" if settings.embedding_model else "embedder_folder" if folder else "embedder",
            fix="set embedding_model, embedder_folder and embedder as the engine has them, or restart it with these",
        )
    return EngineError(
        f"the running engine has other versions of {', '.join(missing)} than this Mnemolog",
        field="data_dir",
        fix="stop it and start it with this version, since each version has its own tables",
    )
