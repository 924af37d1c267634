"""Producers of turns: each is an API key with the role `publish` and a NATS user with the key's text as password.

The key says of whom its turns may speak; NATS lets the user publish on the subject that names it. On a NATS of your own
the operator writes the user into its configuration.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mnemolog.adapters.embedded.producers import Producer, Producers
from mnemolog.adapters.engine.engine import Engine
from mnemolog.commands.api_keys import ApiKey
from mnemolog.domain.errors import InvalidInput, NotFound
from mnemolog.domain.principal import Principal, Role

KEYLESS = "without a key"
_FIX_ADD = "use `mnemolog producer add`, which makes a user of NATS, too; or give it the role read, for HTTP alone"


@dataclass(frozen=True, slots=True)
class Added:
    """A new producer. `first`: it has the first API key, so from now on HTTP requires one."""

    key: ApiKey
    password: str
    user: Producer
    first: bool


async def add(engine: Engine, principal: Principal) -> Added:
    """A producer and its password, which is not stored. Conflict if the name is taken.

    A name without a valid key, from an earlier version or after a revocation, can be added again.
    """
    engine.require_operator()
    first = not await engine.api_keys.any()
    key, text = await engine.api_keys.create(principal, engine.actor)
    user = Producer.of(principal.name, principal.tenant, key.created_at, text, key.key_id)
    if users := _users(engine):
        users.put(user)
    return Added(key, text, user, first)


async def create_key(engine: Engine, principal: Principal) -> tuple[ApiKey, str]:
    """A key for HTTP callers, and its text. It invalidates an earlier producer's password with the same name."""
    engine.require_operator()
    if principal.roles == {Role.PUBLISH}:
        raise InvalidInput("a key with only the role publish is a producer", field="roles", fix=_FIX_ADD)
    made = await engine.api_keys.create(principal, engine.actor)
    if principal.publishes and (users := _users(engine)):
        users.remove(principal.name)
    return made


async def revoke_key(engine: Engine, key_id: str) -> ApiKey:
    """Revoke a key, also in NATS."""
    engine.require_operator()
    revoked = await engine.api_keys.revoke(key_id, engine.actor)
    users = _users(engine)
    if users and key_id in {user.key_id for user in users.all()}:
        users.remove(revoked.principal.name)
    return revoked


async def known(engine: Engine) -> Sequence[dict[str, Any]]:
    """Who may publish turns, and for whom. An embedded NATS user from before there were keys has no access."""
    engine.require_operator()
    keys = [key for key in await engine.api_keys.list() if key.principal.publishes and not key.revoked_at]
    users = _users(engine)
    keyless = [user for user in users.all() if not user.key_id] if users else []
    return [*map(_of_key, keys), *map(_of_user, keyless)]


async def remove(engine: Engine, name: str) -> str:
    """Remove a producer; returns its tenant. Its NATS connections end, and its waiting turns are refused."""
    engine.require_operator()
    users = _users(engine)
    user = users.remove(name) if users else None
    keys = [key for key in await engine.api_keys.list() if key.valid and _is(key, name)]
    for key in keys:
        await engine.api_keys.revoke(key.key_id, engine.actor)
    if not user and not keys:
        raise NotFound(f"there is no producer {name!r}", field="name", fix="see `mnemolog producer list`")
    return user.tenant if user else keys[0].principal.tenant


def _users(engine: Engine) -> Producers | None:
    """The users of the embedded NATS; None if the operator runs NATS."""
    return None if engine.settings.nats_url else Producers(engine.settings.directory)


def _is(key: ApiKey, name: str) -> bool:
    return key.principal.publishes and key.principal.name == name


def _of_key(key: ApiKey) -> dict[str, Any]:
    fields = key.as_dict()
    shown = {name: fields[name] for name in ("name", "tenant", "users", "agents")}
    return {**shown, "added_at": key.created_at, "state": "valid"}


def _of_user(user: Producer) -> dict[str, Any]:
    added_at = datetime.fromisoformat(user.added_at)
    return {"name": user.name, "tenant": user.tenant, "users": [], "agents": [], "added_at": added_at, "state": KEYLESS}
