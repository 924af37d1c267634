"""Principals, their keys, and clients that call with one."""

import os
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

import httpx

from mnemolog.adapters.engine.engine import Engine, new_id, now
from mnemolog.adapters.http.app import create_app
from mnemolog.commands.writes.api_keys import ApiKeys
from mnemolog.domain.principal import ALL, Principal, Role
from mnemolog.events.access import API_KEYS
from mnemolog.events.envelope import StreamId


def principal(
    name: str = "app",
    *,
    tenant: str = "default",
    agents: Collection[str] = (ALL,),
    users: Collection[str] = (ALL,),
    roles: Collection[Role] = (Role.READ, Role.WRITE),
) -> Principal:
    return Principal(name, tenant, frozenset(agents), frozenset(users), frozenset(roles))


@asynccontextmanager
async def calling(engine: Engine, who: Principal | None, host: str = "127.0.0.1") -> AsyncIterator[httpx.AsyncClient]:
    """A client with a new key of this principal, or with none."""
    text = (await engine.api_keys.create(who))[1] if who else None
    async with calling_with(engine, text, host) as client:
        yield client


@asynccontextmanager
async def calling_with(engine: Engine, text: str | None, host: str = "127.0.0.1") -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(create_app(engine), raise_app_exceptions=False, client=(host, 1))
    headers = {"Authorization": f"Bearer {text}"} if text else {}
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as client:
        yield client


def other_process(engine: Engine, stream: StreamId = API_KEYS) -> ApiKeys:
    """The keys as a process holds them that begins now."""
    held = engine.api_keys
    return ApiKeys(engine.log, held._key, held._chain_key, now, os.urandom, new_id, stream=stream)
