"""Methods of the Python API for webhooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from mnemolog.asking import Asking, Id
from mnemolog.deferred import Deferred

if TYPE_CHECKING:
    from mnemolog.adapters.operations import webhooks
    from mnemolog.adapters.operations.results import Page
    from mnemolog.adapters.operations.webhooks import DeliveryView, WebhookCreated, WebhookView
else:
    webhooks = Deferred("mnemolog.adapters.operations.webhooks")


class WebhookVerbs(Asking):
    """A part of `Verbs`. With the user `*`, webhooks are for all users of the tenant."""

    async def create_webhook(
        self,
        url: str,
        *,
        subjects: Sequence[str] | None = None,
        idempotency_key: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
    ) -> WebhookCreated:
        """Send the changes that this agent may see of a user to a URL, from now on; `secret` is shown once.

        Example:
            memory.create_webhook("https://hooks.example/changes", user_id="ana").secret
        """
        return await self._ask(webhooks.create_webhook, locals())

    async def list_webhooks(self, *, user_id: str | None = None, agent_id: str | None = None) -> Page[WebhookView]:
        """List the webhooks of an agent for a user, oldest first.

        Example:
            [(one.url, one.state) for one in memory.list_webhooks(user_id="ana")]
        """
        return await self._ask(webhooks.list_webhooks, locals())

    async def delete_webhook(
        self,
        webhook_id: Id,
        *,
        idempotency_key: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
    ) -> WebhookView:
        """Delete a webhook, with its deliveries.

        Example:
            hook = memory.create_webhook("https://hooks.example/changes", user_id="ana")
            memory.delete_webhook(hook.webhook_id, user_id="ana")
        """
        return await self._ask(webhooks.delete_webhook, locals())

    async def resume_webhook(
        self,
        webhook_id: Id,
        *,
        idempotency_key: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
    ) -> WebhookView:
        """Send the changes of a paused webhook again, from where it was paused; try a failing one at once.

        Example:
            hook = memory.create_webhook("https://hooks.example/changes", user_id="ana")
            memory.resume_webhook(hook.webhook_id, user_id="ana").state
        """
        return await self._ask(webhooks.resume_webhook, locals())

    async def rotate_secret(
        self,
        webhook_id: Id,
        *,
        keep_hours: int | None = None,
        idempotency_key: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
    ) -> WebhookCreated:
        """Replace the secret of a webhook; both sign for 24 hours, or `keep_hours`. The new one is shown once.

        Example:
            hook = memory.create_webhook("https://hooks.example/changes", user_id="ana")
            memory.rotate_secret(hook.webhook_id, user_id="ana").secret
        """
        return await self._ask(webhooks.rotate_secret, locals())

    async def test_webhook(
        self,
        webhook_id: Id,
        *,
        idempotency_key: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
    ) -> DeliveryView:
        """Send a message of type `webhook.test` to a webhook; `list_deliveries` shows the outcome.

        Example:
            hook = memory.create_webhook("https://hooks.example/changes", user_id="ana")
            memory.test_webhook(hook.webhook_id, user_id="ana").delivery_id
        """
        return await self._ask(webhooks.test_webhook, locals())

    async def list_deliveries(
        self,
        webhook_id: Id,
        *,
        status: Literal["pending", "delivered", "failed"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
    ) -> Page[DeliveryView]:
        """List the deliveries of a webhook, newest first; finished ones are kept for a week.

        Example:
            hook = memory.create_webhook("https://hooks.example/changes", user_id="ana")
            [one.error for one in memory.list_deliveries(hook.webhook_id, status="failed", user_id="ana")]
        """
        return await self._ask(webhooks.list_deliveries, locals())

    async def redeliver(
        self,
        webhook_id: Id,
        delivery_id: Id,
        *,
        idempotency_key: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
    ) -> DeliveryView:
        """Send a delivery again, whatever its status, under the same id.

        Example:
            hook = memory.create_webhook("https://hooks.example/changes", user_id="ana")
            test = memory.test_webhook(hook.webhook_id, user_id="ana")
            memory.redeliver(hook.webhook_id, test.delivery_id, user_id="ana").status
        """
        return await self._ask(webhooks.redeliver, locals())
