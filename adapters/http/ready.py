"""Readiness: whether this process should get requests, for load balancers and orchestrators."""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Annotated, Any

import psycopg
from fastapi import Depends, Request, Response
from pydantic import BaseModel, Field
from sqlalchemy.exc import DBAPIError

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.http.routes import TheEngine, api_router
from mnemolog.adapters.http.security import NOBODY
from mnemolog.adapters.postgres.migrate import behind
from mnemolog.adapters.unreachable import UNREACHABLE

DEADLINE_SECONDS = 5.0
# Events. A projection that was once this close to the log is built; its later lag is a metric.
BUILT_WITHIN = 1000

router = api_router("", "maintenance", secured=False)


class ReadyView(BaseModel):
    """200 with `ready` true, or 503."""

    ready: bool
    waiting_for: list[str] = Field(
        [],
        description="What is not there yet: `postgres`, `nats`, `redis`, `schema`, or projections that are built for "
        "the first time. Empty without a token or a key.",
        examples=[["nats", "memories"]],
    )


class Readiness:
    """Remembers which projections were built, so that lag under load takes no process out of service."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._built = engine, set[str]()

    async def lacking(self) -> list[str]:
        """What prevents the process from serving; waits at most DEADLINE_SECONDS."""
        looks = {"postgres": self._database, "redis": self._redis, "nats": self._nats}
        found = await asyncio.gather(*(_looked(name, look()) for name, look in looks.items()))
        return [name for names in found for name in names]

    async def _database(self) -> Iterable[str]:
        projections = self._engine.projections
        if await behind(projections.beside_log) or (
            projections.split and await behind(projections.live, "projections")
        ):
            return ["schema"]
        names = [name for name in projections.running if name not in self._built]
        missing = await projections.missing() if names else []
        paused = await projections.paused() if names else {}
        lag = await projections.lag({*self._built, *missing}) if names else {}
        self._built.update(name for name, events in lag.items() if name in paused or events <= BUILT_WITHIN)
        return [name for name in names if name not in self._built]

    async def _redis(self) -> Iterable[str]:
        await self._engine.projections.working.ping()
        return []

    async def _nats(self) -> Iterable[str]:
        return [] if self._engine.nats.is_connected else ["nats"]


async def _looked(name: str, look: Coroutine[Any, Any, Iterable[str]]) -> Iterable[str]:
    try:
        async with asyncio.timeout(DEADLINE_SECONDS):
            return await look
    except (TimeoutError, *UNREACHABLE, psycopg.Error, DBAPIError):
        return [name]


def _readiness(request: Request) -> Readiness:
    readiness: Readiness = request.app.state.readiness
    return readiness


@router.get(
    "/ready",
    summary="Whether this process serves",
    responses={503: {"model": ReadyView, "description": "Not yet, or not now."}},
)
async def get_ready(
    engine: TheEngine, readiness: Annotated[Readiness, Depends(_readiness)], response: Response
) -> ReadyView:
    """Ready if Postgres, NATS and Redis answer, the schema has this version, and each projection was built once."""
    lacking = await readiness.lacking()
    if lacking:
        response.status_code = 503
    return ReadyView(ready=not lacking, waiting_for=[] if engine.principal is NOBODY else lacking)
