"""The parts of webhooks in one process."""

from dataclasses import dataclass
from random import random

from nats.aio.client import Client

from mnemolog.adapters.jobs.job import JobKind
from mnemolog.adapters.webhooks.feed import WebhookFeed, tell
from mnemolog.adapters.webhooks.jobs import SendJobs, webhook_jobs
from mnemolog.adapters.webhooks.sender import Sender
from mnemolog.adapters.webhooks.store import WebhookStore
from mnemolog.adapters.webhooks.webhook import Webhook


@dataclass(eq=False, repr=False)
class Webhooks:
    """`feed` and the jobs run in the role `work`, the others wherever webhooks are created and read."""

    store: WebhookStore
    jobs: SendJobs
    feed: WebhookFeed
    sender: Sender
    nats: Client

    def kinds(self) -> list[JobKind]:
        return webhook_jobs(self.store, self.jobs, self.sender, self.feed.catch_up, self.feed.require_key, random)

    async def started(self, hook: Webhook) -> None:
        """Let a webhook that was created or resumed be fed, and send what is due."""
        await tell(self.nats)
        await self.jobs.enqueue(hook)

    async def hurry(self, hook: Webhook) -> None:
        """Send what is due at once, also while the webhook fails."""
        await self.store.hurry(hook)
        await self.jobs.enqueue(hook)
