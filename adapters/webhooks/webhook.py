"""A webhook, a delivery, and on whose behalf a webhook reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from mnemolog.domain.errors import MnemologError
from mnemolog.domain.principal import ALL, Principal, Role
from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import StreamId

DeliveryStatus = Literal["pending", "delivered", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """Changes that one agent may see, of one user or of all in the tenant (`user_id` is "*"), sent to a URL.

    `created_by` is the name of the API key that made it, "" for the operator. `former_secret` is the one that was
    replaced, valid until `former_until`. While the webhook fails, `failures` in a row are counted, and nothing is sent
    before `retry_at`.
    """

    webhook_id: UUID
    tenant: str
    user_id: str
    agent_id: str
    url: str = field(repr=False)
    secret: str = field(repr=False)
    subjects: Sequence[str]
    created_by: str
    created_at: datetime
    former_secret: str = field(default="", repr=False)
    former_until: datetime | None = None
    failures: int = 0
    failing_since: datetime | None = None
    retry_at: datetime | None = None
    error: str | None = None
    paused_at: datetime | None = None
    round: int = 0
    pending: int = 0

    @property
    def owner(self) -> StreamId:
        """Whose it is: the stream of its user; of all users, one without a name."""
        return StreamId(self.tenant, "") if self.user_id == ALL else StreamId.of_user(self.user_id, self.tenant)

    def secrets(self, at: datetime) -> Sequence[str]:
        """The secrets that sign a delivery: the present one, and the former one while it is valid."""
        kept = self.former_until is not None and at < self.former_until
        return (self.secret, self.former_secret) if kept else (self.secret,)

    def viewer(self, stream: StreamId) -> Viewer:
        """Whose eyes see the changes of a user's stream."""
        return Viewer(self.tenant, stream.owner, self.agent_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A message of a webhook. `delivery_id` is the header `webhook-id`, and the id of the change; the same when it is
    sent again. `seq` is 0 for a test.
    """

    delivery_id: UUID
    stream: StreamId
    type: str
    seq: int
    body: bytes = field(repr=False)
    status: DeliveryStatus
    attempts: int
    created_at: datetime
    next_at: datetime
    finished_at: datetime | None
    response_status: int | None
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A write to the webhooks of one agent, for one user or all of them, with an idempotency key.

    Each principal has keys of its own. `fingerprint` tells the request from others, and is 32 bytes long.
    """

    tenant: str
    user_id: str
    agent_id: str
    principal: str
    idempotency_key: str
    fingerprint: bytes

    @property
    def key(self) -> str:
        return f"{self.principal}\n{self.idempotency_key}"


@dataclass(frozen=True, slots=True)
class NewDelivery:
    delivery_id: UUID
    type: str
    seq: int
    body: bytes


def require_webhook(principal: Principal | None, tenant: str, user_id: str, agent_id: str, *roles: Role) -> None:
    """Refuse what is beyond the scope of an API key. All users of a tenant take the role admin."""
    if principal is None:
        return
    for role in roles:
        principal.require(role)
    if user_id == ALL:
        principal.require(Role.ADMIN)
        principal.require_every_user()
        principal.require_agent(agent_id)
    else:
        principal.require_viewer(Viewer(tenant, user_id, agent_id))


def acting(hook: Webhook, keys: Sequence[Principal]) -> Principal | None:
    """The principal of one of these keys that may read what the webhook is sent; None if none of them may."""
    for principal in keys:
        try:
            require_webhook(principal, hook.tenant, hook.user_id, hook.agent_id)
        except MnemologError:
            continue
        return principal
    return None


def types_of(change: Mapping[str, Any]) -> str:
    """The type of a change, such as `memory.update`."""
    return f"{change['subject']}.{change['event'].lower()}"
