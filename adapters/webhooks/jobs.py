"""The jobs of webhooks: one sends what is due for a webhook, another sweeps over all of them.

At least once: a worker that dies after sending leaves the delivery pending, and it is sent again under the same id.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from mnemolog.adapters.jobs.job import Attempt, JobKind
from mnemolog.adapters.jobs.queue import JobQueue
from mnemolog.adapters.webhooks.sender import GONE, Sender
from mnemolog.adapters.webhooks.store import WebhookStore
from mnemolog.adapters.webhooks.webhook import Delivery, Webhook
from mnemolog.domain.errors import NotPermitted
from mnemolog.domain.webhook import delay

_logger = logging.getLogger("mnemolog.webhooks")

SEND, SWEEP = "send-webhook", "sweep-webhooks"
EVERY_SECONDS = 300.0
# Then another webhook has its turn.
TURN_SECONDS = 20.0
BUSY_SECONDS = 1.0
KEPT = timedelta(days=7)


class SendJobs:
    """Enqueues the job that sends what is due for a webhook."""

    def __init__(self, queue: JobQueue, store: WebhookStore) -> None:
        self._queue, self._store = queue, store

    async def enqueue(self, hook: Webhook) -> None:
        """One job waits for a webhook at most; it runs when its next delivery is due."""
        if due := await self._store.next_due(hook):
            at, round_ = due
            await self._enqueue(hook, at, f"{hook.webhook_id} {round_}")

    async def enqueue_after(self, hook: Webhook, at: datetime) -> None:
        """One more, for when another job that sends has ended."""
        await self._enqueue(hook, at, None)

    async def sweep(self, hook: Webhook) -> None:
        """Sweep over all webhooks, because this one may be behind."""
        await self._queue.enqueue(SWEEP, {"webhook_id": hook.webhook_id}, stream=hook.owner)

    async def _enqueue(self, hook: Webhook, at: datetime, key: str | None) -> None:
        payload = {"webhook_id": hook.webhook_id}
        await self._queue.enqueue(SEND, payload, stream=hook.owner, unique_key=key, run_at=at)


def webhook_jobs(
    store: WebhookStore,
    jobs: SendJobs,
    sender: Sender,
    catch_up: Callable[[], Awaitable[int]],
    require_key: Callable[[Webhook], Awaitable[object]],
    random: Callable[[], float],
) -> list[JobKind]:
    """The kinds of jobs. `catch_up` makes the deliveries of streams whose messages were lost.

    `require_key` refuses, and pauses, a webhook whose API key may no longer read what is sent.
    """

    async def send(attempt: Attempt) -> None:
        hook, busy = await store.begin(UUID(attempt.job.payload["webhook_id"]), attempt.job)
        if hook is None:
            return
        if busy:
            await jobs.enqueue_after(hook, store.now() + timedelta(seconds=BUSY_SECONDS))
            return
        try:
            await require_key(hook)
        except NotPermitted as refused:
            _logger.warning(refused.message)
            return
        loop = asyncio.get_running_loop()
        until = loop.time() + TURN_SECONDS
        waits = hook.retry_at is not None and hook.retry_at > store.now()
        while not waits and loop.time() < until and (delivery := await store.next(hook)):
            waits = not await _sent(hook, delivery)
            hook = replace(hook, failures=0)
        await jobs.enqueue(hook)

    async def _sent(hook: Webhook, delivery: Delivery) -> bool:
        answer = await sender.send(hook, delivery)
        if answer.status is not None and not answer.error:
            await store.delivered(hook, delivery, answer.status)
            return True
        now = store.now()
        next_in = max(answer.retry_after, delay(delivery.attempts + 1, random()))
        retry_in = max(answer.retry_after, delay(hook.failures + 1, random()))
        paused = await store.not_delivered(
            hook,
            delivery,
            answer.error,
            response_status=answer.status,
            next_at=now + timedelta(seconds=next_in),
            retry_at=now + timedelta(seconds=retry_in),
            gone=answer.status == GONE,
        )
        if paused:
            _logger.warning("webhook %s is paused: %s", hook.webhook_id, answer.error)
        return False

    async def sweep(attempt: Attempt) -> None:
        behind = await catch_up()
        unsent = [*await store.bring_forward(), *await store.unsent(SEND)]
        for hook in unsent:
            await store.hurry(hook)
            await jobs.enqueue(hook)
        await store.delete_finished(store.now() - KEPT)
        await attempt.save({"behind": behind, "unsent": len(unsent)})

    return [JobKind(name=SEND, run=send), JobKind(name=SWEEP, run=sweep, every=EVERY_SECONDS)]
