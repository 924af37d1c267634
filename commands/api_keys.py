"""API keys, folded from their stream, and the commands to create and revoke them (design §7)."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from mnemolog.domain.errors import Conflict, NotFound
from mnemolog.domain.principal import Principal, Role, producer_name
from mnemolog.events.access import ApiKeyCreated, ApiKeyEvent, ApiKeyImported, ApiKeyRevoked
from mnemolog.events.envelope import Recorded


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key without its secret."""

    key_id: str
    principal: Principal
    created_at: datetime
    revoked_at: datetime | None
    secret_mac: bytes = field(repr=False)

    @property
    def valid(self) -> bool:
        return self.revoked_at is None

    def as_dict(self) -> dict[str, Any]:
        principal = self.principal
        return {
            "id": self.key_id,
            "name": principal.name,
            "tenant": principal.tenant,
            "agents": sorted(principal.agents),
            "users": sorted(principal.users),
            "roles": sorted(principal.roles),
            "created_at": self.created_at,
            "revoked_at": self.revoked_at,
        }


class KeyRing:
    """All keys by id, in the order of their creation, and the producers by name."""

    def __init__(self) -> None:
        self.seq = 0
        self.keys: dict[str, ApiKey] = {}
        self._producers: dict[str, str] = {}

    def take(self, event: Recorded) -> None:
        self.seq = event.seq
        match event.payload:
            case ApiKeyCreated():
                self._put(_key_of(event, event.payload))
            case ApiKeyRevoked(key_id=key_id) if self.keys[key_id].valid:
                self._put(replace(self.keys[key_id], revoked_at=event.occurred_at))

    def producer(self, name: str) -> ApiKey | None:
        return self.keys.get(self._producers.get(name, ""))

    def _put(self, key: ApiKey) -> None:
        self.keys[key.key_id] = key
        name = key.principal.name
        if not key.principal.publishes:
            return
        if key.valid:
            self._producers[name] = key.key_id
        elif self._producers.get(name) == key.key_id:
            del self._producers[name]


def create(ring: KeyRing, key_id: str, principal: Principal, secret_mac: bytes) -> ApiKeyCreated:
    """Raises Conflict if another valid key has a producer's name."""
    if principal.publishes and ring.producer(producer_name(principal.name)):
        raise Conflict(
            f"there is already a producer {principal.name!r}", field="name", fix="remove it, or use another name"
        )
    return ApiKeyCreated(**_fields(key_id, principal, secret_mac))


def revoke(ring: KeyRing, key_id: str) -> Sequence[ApiKeyEvent]:
    """No event if the key was already revoked."""
    if key_id not in ring.keys:
        raise NotFound(f"there is no API key {key_id!r}", field="key_id", fix="see `mnemolog api-key list`")
    return [ApiKeyRevoked(key_id=key_id)] if ring.keys[key_id].valid else []


def take_over(key: ApiKey) -> ApiKeyImported:
    """A key from a row of the time before keys were events."""
    fields = _fields(key.key_id, key.principal, key.secret_mac)
    return ApiKeyImported(**fields, created_at=key.created_at, revoked_at=key.revoked_at)


def _fields(key_id: str, principal: Principal, secret_mac: bytes) -> dict[str, Any]:
    return {
        "key_id": key_id,
        "name": principal.name,
        "tenant": principal.tenant,
        "agents": tuple(sorted(principal.agents)),
        "users": tuple(sorted(principal.users)),
        "roles": tuple(sorted(map(str, principal.roles))),
        "secret_mac": secret_mac.hex(),
    }


def _key_of(event: Recorded, made: ApiKeyCreated) -> ApiKey:
    roles = frozenset(role for role in Role if role in made.roles)
    principal = Principal(made.name, made.tenant, frozenset(made.agents), frozenset(made.users), roles)
    created_at = made.created_at if isinstance(made, ApiKeyImported) else event.occurred_at
    revoked_at = made.revoked_at if isinstance(made, ApiKeyImported) else None
    return ApiKey(made.key_id, principal, created_at, revoked_at, bytes.fromhex(made.secret_mac))
