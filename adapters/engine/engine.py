"""The engine: everything that runs in one process, and how to open it."""

import asyncio
import os
import random
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Self

import mnemolog
from mnemolog.adapters.background import forks
from mnemolog.adapters.background.settings import as_the_engine, policy_of, published
from mnemolog.adapters.cancellation import heeded
from mnemolog.adapters.clock import new_id, now
from mnemolog.adapters.config import Settings
from mnemolog.adapters.embedded import EmbeddedServers, EngineKind
from mnemolog.adapters.engine import settling
from mnemolog.adapters.engine.roles import EVERY_ROLE, NO_ROLE, EngineRole, configured_endpoints
from mnemolog.adapters.engine.starting import attached_or_started, require_restored
from mnemolog.adapters.engine.tasks import run
from mnemolog.adapters.engine.wiring import wire
from mnemolog.adapters.jobs.worker import Worker
from mnemolog.adapters.maintenance.recurring import recurring
from mnemolog.adapters.services import Services
from mnemolog.domain.principal import OPERATOR, Role

__all__ = ["Engine", "new_id", "now", "open_engine"]

LOOK_SECONDS = 5.0


@dataclass(kw_only=True, eq=False, repr=False)
class Engine(Services):
    """Everything that runs in one process. Created by `open_engine`, with every part ready.

    An `attached` engine uses the servers of a running one, and leaves relay and projections to it.
    """

    servers: EmbeddedServers | None

    def of_anybody(self) -> Self:
        """The same engine for callers without a key, who together count as one caller for the read limits."""
        shared = copy(self)
        shared.reads = self.reads.of_anybody()
        return shared

    async def authenticated(self) -> Self:
        """The same engine with the API key of the settings; without one, the operator's."""
        key = self.settings.api_key
        return self if key is None else self.by(await self.api_keys.principal(key))

    def require_operator(self) -> None:
        """NotPermitted for a principal that may not administer the engine."""
        if self.principal:
            self.principal.require(Role.ADMIN)

    @property
    def actor(self) -> str:
        """Who administers the engine, as recorded in changes of API keys."""
        return self.principal.name if self.principal else OPERATOR

    @property
    def attached(self) -> bool:
        return self.servers is None

    async def settled(self, deadline: float = 600.0) -> None:
        """Wait until everything that was appended before is delivered, and applied by every projection.

        TimeoutError after `deadline` seconds, with what is missing.
        """
        await settling.settled(self.outbox, self.projections, deadline)


@asynccontextmanager
async def open_engine(
    settings: Settings,
    *,
    attach: bool = False,
    passive: bool = False,
    restoring: bool = False,
    kind: EngineKind = "in-process",
) -> AsyncIterator[Engine]:
    """Start an engine on the settings' data directory, and stop it cleanly at the end.

    With `attach`, uses the engine that runs there; if none runs, one is started in the background if the setting
    `engine` says so. Without it, raises DataDirectoryInUse if an engine runs, except for a background engine that no
    other process uses, which is stopped. A `passive` engine only starts the servers; it also starts on a database that
    is older than its anchors. With `restoring`, it belongs to the restore that has not ended.
    """
    policy = settings.policy  # An invalid policy is reported before anything starts.
    if not restoring:
        require_restored(settings)
    in_background = settings.engine == "background" and not passive
    async with AsyncExitStack() as stack:
        servers, endpoints = await attached_or_started(
            stack, settings, attach=attach, in_background=in_background, kind=kind
        )
        await asyncio.to_thread(forks.part_from, endpoints)
        if servers is None:
            settings = as_the_engine(settings, endpoints)
            policy = policy_of(settings, endpoints)
        roles = EVERY_ROLE if servers and not passive else NO_ROLE
        with heeded():
            services = await wire(stack, settings, policy, endpoints, roles, attached=servers is None)
        engine = Engine(**vars(services), servers=servers)
        if servers and not passive:
            await run(stack, [worker_of(engine).run, partial(_keep_writing, servers)])
            shared = published(settings, policy)
            engine.endpoints = await asyncio.to_thread(servers.publish_ready, mnemolog.__version__, now(), shared)
        yield engine


async def _keep_writing(servers: EmbeddedServers) -> None:
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        servers.restart_what_gave_up()


@asynccontextmanager
async def open_role(settings: Settings, role: EngineRole) -> AsyncIterator[Engine]:
    """One role of an engine, on the servers of the settings. It uses no data directory."""
    policy, endpoints = settings.policy, configured_endpoints(settings)
    async with AsyncExitStack() as stack:
        with heeded():
            services = await wire(stack, settings, policy, endpoints, frozenset({role}), attached=False)
        engine = Engine(**vars(services), servers=None)
        if role is EngineRole.WORK:
            await run(stack, [worker_of(engine).run])
        yield engine


def worker_of(engine: Engine) -> Worker:
    """The worker that runs the engine's jobs in this process."""
    worker = Worker(
        engine.endpoints.postgres_dsn,
        engine.jobs,
        recurring(engine),
        waiting=engine.projections.waiting,
        at_once=engine.settings.jobs_at_once,
        name=f"{socket.gethostname()} {os.getpid()}",
        now=now,
        random=random.random,
    )
    engine.jobs.enqueued = worker.wake
    return worker
