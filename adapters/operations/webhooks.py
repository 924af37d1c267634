"""Operations on webhooks: changes of a user, or of all users, sent to a URL."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Literal, Self, TypeVar
from uuid import UUID

from pydantic import FailFast, Field

from mnemolog.adapters.operations.engine import Engine
from mnemolog.adapters.operations.operation import operation
from mnemolog.adapters.operations.requests import Keyed, Paging, Request
from mnemolog.adapters.operations.results import Page, Result
from mnemolog.adapters.webhooks.webhook import Asked, Delivery, DeliveryStatus, Webhook, require_webhook
from mnemolog.domain.errors import Conflict
from mnemolog.domain.principal import ALL, Role
from mnemolog.domain.webhook import KEPT_HOURS, MAX_KEPT_HOURS, MAX_URL, checked_url, require_allowed_url
from mnemolog.events.fields import Id, Instant, Uuid, checked_by

if TYPE_CHECKING:
    from mnemolog.adapters.webhooks.store import WebhookStore

TEST = "webhook.test"
Subject = Literal["memory", "entity", "relation", "profile", "todo", "artifact", "episode", "message", "entry"]
Url = Annotated[
    str,
    checked_by(checked_url),
    Field(
        max_length=MAX_URL,
        # Others are accepted too, such as those with a port and a query.
        json_schema_extra={"pattern": r"^https://([a-z0-9]+[.])+[a-z]{2,20}(/[A-Za-z0-9._~-]*)*$"},
        description="Where changes are sent: https, and a public address. `webhook_networks` allows others.",
        examples=["https://example.com/changes"],
    ),
]
State = Literal["active", "failing", "paused"]
V = TypeVar("V", "WebhookView", "WebhookCreated", "DeliveryView")


class WebhookOwner(Request):
    """Whose changes, and the agent that may see them."""

    user_id: Annotated[
        Id,
        Field(
            description="The user whose changes are sent; `*` for all users of the tenant, which needs the role admin.",
            examples=["ana"],
        ),
    ]


class CreateWebhook(Keyed, WebhookOwner):
    """Where the changes of a user are sent."""

    url: Url
    subjects: Annotated[
        tuple[Subject, ...], FailFast(), Field(description="Send the changes of these kinds only. Default: all.")
    ] = ()


class ListWebhooks(WebhookOwner):
    """Whose webhooks are listed."""


class OneWebhook(WebhookOwner):
    """A webhook."""

    webhook_id: Annotated[Uuid, Field(description="The webhook's id.")]


class ChangeWebhook(Keyed, OneWebhook):
    """A webhook that is changed or tested. Keys tell requests apart by their classes too."""


class DeleteWebhook(ChangeWebhook):
    """The webhook to delete."""


class ResumeWebhook(ChangeWebhook):
    """The webhook to resume."""


class TryWebhook(ChangeWebhook):
    """The webhook to test."""


class RotateSecret(ChangeWebhook):
    """A webhook whose secret is replaced."""

    keep_hours: Annotated[
        int,
        Field(
            ge=0,
            le=MAX_KEPT_HOURS,
            description="How many hours messages are also signed with the former secret; 0 ends it at once.",
        ),
    ] = KEPT_HOURS


class ListDeliveries(Paging, OneWebhook):
    """The webhook whose deliveries are listed."""

    status: Annotated[DeliveryStatus | None, Field(description="Only those with this status. Default: all.")] = None


class Redeliver(ChangeWebhook):
    """A delivery that is sent again."""

    delivery_id: Annotated[Uuid, Field(description="The delivery's id.")]


class WebhookView(Result):
    """A webhook without its secret. `failing`: the last attempt failed. `paused`: nothing is sent until `resume`."""

    webhook_id: UUID
    url: str
    user_id: str = Field(description="`*` for all users of the tenant.")
    agent_id: str
    subjects: list[str] = Field(description="Only the changes of these kinds are sent; empty for all.")
    state: State
    error: str | None = Field(description="Why the last attempt failed, or why it is paused.")
    failing_since: Instant | None
    pending: int = Field(description="Deliveries that are not sent yet.")
    created_at: Instant
    created_by: str = Field(description='The name of the API key that created it; "" for the operator.')
    former_until: Instant | None = Field(
        default=None, description="Until when messages are signed with the secret that was replaced, too."
    )

    @classmethod
    def of(cls, hook: Webhook) -> Self:
        state: State = "paused" if hook.paused_at else "failing" if hook.failures else "active"
        names = (name for name in cls.model_fields if hasattr(hook, name))
        return cls.model_validate({**{name: getattr(hook, name) for name in names}, "state": state})


class WebhookCreated(WebhookView):
    """A webhook with its new secret, which is not shown again."""

    secret: str = Field(default="", description="The key of the signatures: `whsec_` and base64. Keep it now.")


class DeliveryView(Result):
    """A delivery. `pending`: it is sent, or sent again, at `next_at`. `failed`: every attempt failed."""

    delivery_id: UUID = Field(description="The header `webhook-id`, the same for each attempt.")
    type: str = Field(description="The type of the message, such as `memory.add`.")
    user_id: str = Field(description="The user whose change it is; `*` for a test of all users' webhook.")
    seq: int = Field(description="The place of the change in the user's stream; 0 for a test.")
    status: DeliveryStatus
    attempts: int
    created_at: Instant
    next_at: Instant
    finished_at: Instant | None
    response_status: int | None = Field(description="The HTTP status of the last attempt, if there was an answer.")
    error: str | None = Field(description="Why the last attempt failed.")

    @classmethod
    def of(cls, delivery: Delivery) -> Self:
        names = (name for name in cls.model_fields if hasattr(delivery, name))
        user_id = delivery.stream.owner or ALL
        return cls.model_validate({**{name: getattr(delivery, name) for name in names}, "user_id": user_id})


@operation(
    "webhook create",
    "POST /webhooks",
    tag="webhooks",
    arguments=("url",),
    status=201,
    example={"user_id": "ana", "url": "https://example.com/changes"},
)
async def create_webhook(engine: Engine, request: CreateWebhook) -> WebhookCreated:
    """Send the changes of a user, or of all users, to a URL, from now on.

    Each change is a POST with ids and no text, signed as Standard Webhooks describes it, and repeated for a day until
    the URL answers 2xx. The secret is shown once.
    """

    async def create(store: "WebhookStore") -> tuple[WebhookCreated, Webhook]:
        require_allowed_url(request.url, engine.webhooks.sender.networks)
        created_by = engine.principal.name if engine.principal else ""
        owner = (engine.settings.tenant, request.user_id, request.agent_id)
        hook = await store.create(*owner, request.url, request.subjects, created_by)
        return _with_secret(hook), hook

    return await _once(engine, request, WebhookCreated, create, engine.webhooks.started)


@operation("webhook list", "GET /webhooks", tag="webhooks")
async def list_webhooks(engine: Engine, request: ListWebhooks) -> Page[WebhookView]:
    """List the webhooks of an agent for a user, oldest first.

    With the user `*`, those for all users.
    """
    require_webhook(engine.principal, engine.settings.tenant, request.user_id, request.agent_id)
    found = await engine.webhooks.store.list(engine.settings.tenant, request.user_id, request.agent_id)
    return Page[WebhookView](items=[WebhookView.of(one) for one in found])


@operation("webhook delete", "DELETE /webhooks/{webhook_id}", tag="webhooks", done="Deleted webhook")
async def delete_webhook(engine: Engine, request: DeleteWebhook) -> WebhookView:
    """Delete a webhook, with its deliveries.

    Nothing more is sent, except for an attempt that is under way.
    """

    async def delete(store: "WebhookStore") -> tuple[WebhookView, Webhook]:
        hook = await _own(engine, request, store)
        await store.delete(hook)
        return WebhookView.of(hook), hook

    return await _once(engine, request, WebhookView, delete)


@operation("webhook resume", "POST /webhooks/{webhook_id}/resume", tag="webhooks", done="Resumed webhook")
async def resume_webhook(engine: Engine, request: ResumeWebhook) -> WebhookView:
    """Send the changes of a paused webhook again, from where it was paused.

    A webhook is paused when it failed for a day, when its URL answers 410, and when the API key that created it may no
    longer read what is sent. A failing one is tried at once.
    """

    async def resume(store: "WebhookStore") -> tuple[WebhookView, Webhook]:
        await store.resume(await _own(engine, request, store))
        hook = await _own(engine, request, store)
        return WebhookView.of(hook), hook

    async def resumed(hook: Webhook) -> None:
        await engine.webhooks.started(hook)
        await engine.webhooks.feed.catch_up_with(hook)

    return await _once(engine, request, WebhookView, resume, resumed)


@operation("webhook rotate", "POST /webhooks/{webhook_id}/rotate", tag="webhooks")
async def rotate_secret(engine: Engine, request: RotateSecret) -> WebhookCreated:
    """Replace the secret of a webhook. The new one is shown once.

    For 24 hours, or `keep_hours`, each message is signed with both, so that the receiver can change over without
    refusing any. After a leak, pass 0 to end the former secret at once.
    """

    async def rotate(store: "WebhookStore") -> tuple[WebhookCreated, Webhook]:
        hook = await store.rotate(await _own(engine, request, store), timedelta(hours=request.keep_hours))
        return _with_secret(hook), hook

    return await _once(engine, request, WebhookCreated, rotate)


@operation("webhook test", "POST /webhooks/{webhook_id}/test", tag="webhooks")
async def test_webhook(engine: Engine, request: TryWebhook) -> DeliveryView:
    """Send a message of type `webhook.test` to a webhook.

    The engine sends it within a moment; `list_deliveries` shows the outcome.
    """
    from mnemolog.adapters.webhooks.feed import message_of

    async def add(store: "WebhookStore") -> tuple[DeliveryView, Webhook]:
        hook, at = await _sending(engine, request, store), store.now()
        return DeliveryView.of(await store.add(hook, TEST, lambda id_: message_of(TEST, at, {"id": id_}))), hook

    return await _once(engine, request, DeliveryView, add, engine.webhooks.hurry)


@operation("webhook deliveries", "GET /webhooks/{webhook_id}/deliveries", tag="webhooks")
async def list_deliveries(engine: Engine, request: ListDeliveries) -> Page[DeliveryView]:
    """List the deliveries of a webhook, newest first.

    Finished ones are kept for a week.
    """
    from mnemolog.projections.paging import first_of, place_in, written_place

    hook = await _own(engine, request, engine.webhooks.store)
    before = place_in(request.cursor)
    found = await engine.webhooks.store.deliveries(hook, request.status, request.limit + 1, before)
    page, next_cursor = first_of(found, request.limit, lambda last: written_place(last.created_at, last.delivery_id))
    return Page[DeliveryView](items=[DeliveryView.of(one) for one in page], next_cursor=next_cursor)


@operation("webhook redeliver", "POST /webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver", tag="webhooks")
async def redeliver(engine: Engine, request: Redeliver) -> DeliveryView:
    """Send a delivery again, whatever its status, under the same id."""

    async def send_again(store: "WebhookStore") -> tuple[DeliveryView, Webhook]:
        hook = await _sending(engine, request, store)
        return DeliveryView.of(await store.send_again(hook, request.delivery_id)), hook

    return await _once(engine, request, DeliveryView, send_again, engine.webhooks.hurry)


async def deliveries_beginning(engine: Engine, request: OneWebhook, prefix: str, limit: int) -> list[str]:
    """Ids that begin with these digits, of deliveries of a webhook; at most `limit`."""
    hook = await _own(engine, request, engine.webhooks.store)
    return [*await engine.webhooks.store.deliveries_beginning(hook, prefix.lower(), limit)]


async def _once(
    engine: Engine,
    request: CreateWebhook | ChangeWebhook,
    result: type[V],
    work: Callable[["WebhookStore"], Awaitable[tuple[V, Webhook]]],
    then: Callable[[Webhook], Awaitable[None]] | None = None,
) -> V:
    """What `work` returns, and after it `then`. A request that was made under its key changes nothing."""
    tenant, principal, store = engine.settings.tenant, engine.principal, engine.webhooks.store
    require_webhook(principal, tenant, request.user_id, request.agent_id, Role.WRITE)
    if request.idempotency_key is None:
        view, hook = await work(store)
        if then:
            await then(hook)
        return view
    made: list[Webhook] = []

    async def answered(held: "WebhookStore") -> tuple[bytes, str]:
        view, hook = await work(held)
        made.append(hook)
        return view.model_dump_json().encode(), view.user_id

    words = f"{type(request).__name__} {request.model_dump_json(exclude={'idempotency_key'})}"
    asked = Asked(
        tenant=tenant,
        user_id=request.user_id,
        agent_id=request.agent_id,
        principal=principal.name if principal else "",
        idempotency_key=request.idempotency_key,
        fingerprint=sha256(words.encode()).digest(),
    )
    answer = await store.once(asked, answered)
    if then and made:
        await then(made[0])
    return result.model_validate_json(answer)


async def _own(engine: Engine, request: OneWebhook, store: "WebhookStore") -> Webhook:
    tenant = engine.settings.tenant
    require_webhook(engine.principal, tenant, request.user_id, request.agent_id)
    return await store.get(tenant, request.user_id, request.agent_id, request.webhook_id)


async def _sending(engine: Engine, request: OneWebhook, store: "WebhookStore") -> Webhook:
    """Conflict if it is paused."""
    hook = await _own(engine, request, store)
    if hook.paused_at:
        raise Conflict(
            f"the webhook is paused: {hook.error}", field="webhook_id", fix="resume it with `mnemolog webhook resume`"
        )
    return hook


def _with_secret(hook: Webhook) -> WebhookCreated:
    return WebhookCreated.of(hook).model_copy(update={"secret": hook.secret})
