"""What happens to API keys: who may call, and what each reaches (design §7). One stream for all tenants."""

from datetime import datetime
from typing import Any

from mnemolog.events.envelope import StreamId
from mnemolog.events.event import Event

# No request can name this tenant: it stands for all of them.
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
    """A key was made. Of its secret an HMAC is kept, in hex; `agents` and `users` are ids, or `*` for every one."""

    name: str
    tenant: str
    agents: tuple[str, ...]
    users: tuple[str, ...]
    roles: tuple[str, ...]
    secret_mac: str


class ApiKeyImported(ApiKeyCreated):
    """A key that was made before changes of keys were events, as its row stood then."""

    created_at: datetime
    revoked_at: datetime | None = None


class ApiKeyRevoked(ApiKeyEvent):
    """The key opens nothing any more."""


def key_tag(key_id: Any) -> str:
    return f"api-key:{key_id}"
