"""Events of API keys (design §7). One stream for all tenants."""

from datetime import datetime
from typing import Any

from mnemolog.events.envelope import StreamId
from mnemolog.events.event import Event

# The pseudo-tenant for all tenants; no request can use it.
API_KEYS = StreamId("*", "engine:api-keys")
ANY_KEY = "api-keys"


class ApiKeyEvent(Event):
    """A change of one API key."""

    key_id: str

    def tags(self) -> frozenset[str]:
        return frozenset({key_tag(self.key_id), ANY_KEY})

    def key_scope(self) -> str:
        return "user"


class ApiKeyCreated(ApiKeyEvent):
    """A key was created. `secret_mac` is the HMAC of its secret, in hex; `agents` and `users` are ids or `*`."""

    name: str
    tenant: str
    agents: tuple[str, ...]
    users: tuple[str, ...]
    roles: tuple[str, ...]
    secret_mac: str


class ApiKeyImported(ApiKeyCreated):
    """A key created before keys were events, imported from its row."""

    created_at: datetime
    revoked_at: datetime | None = None


class ApiKeyRevoked(ApiKeyEvent):
    """The key was revoked."""


def key_tag(key_id: Any) -> str:
    return f"api-key:{key_id}"
