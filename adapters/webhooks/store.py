"""The webhooks and their deliveries in Postgres. URLs, secrets and bodies are sealed with a key of the deployment.

A row that was changed or moved to another owner behind the engine's back cannot be opened, and nothing is sent for it.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from copy import copy
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Self
from uuid import UUID

from pydantic_core import from_json, to_json

from mnemolog.adapters.encryption import RandomBytes, unsealed, wrapped
from mnemolog.adapters.jobs.job import Job
from mnemolog.adapters.postgres.pool import Connection, Pool
from mnemolog.adapters.postgres.queries import query
from mnemolog.adapters.postgres.receipts import key_used
from mnemolog.adapters.webhooks.webhook import Asked, Delivery, DeliveryStatus, NewDelivery, Webhook
from mnemolog.domain.errors import Conflict, MalformedEvent, NotFound
from mnemolog.domain.principal import ALL
from mnemolog.domain.webhook import LONGEST_DELAY_SECONDS, MAX_ATTEMPTS, PAUSE_AFTER, SECRET_BYTES, secret_text
from mnemolog.events.envelope import StreamId

_logger = logging.getLogger("mnemolog.webhooks")

QUERIES = "mnemolog.adapters.webhooks"
# For one agent of one user, or of all users.
MOST_WEBHOOKS = 20
# What `data` of a row contains.
SEALED = ("url", "secret", "former_secret", "former_until", "subjects", "created_by")
# Streams that a sweep catches up with at once.
MOST_BEHIND = 1000


class WebhookStore:
    """`key` seals what rows contain."""

    def __init__(
        self,
        pool: Pool,
        key: bytes,
        now: Callable[[], datetime],
        new_id: Callable[[], UUID],
        random_bytes: RandomBytes,
    ) -> None:
        self._key, self.now, self._new_id, self._random = key, now, new_id, random_bytes
        self._connection: Callable[[], AbstractAsyncContextManager[Connection]] = pool.connection

    async def once(self, asked: Asked, work: Callable[[Self], Awaitable[tuple[bytes, str]]]) -> bytes:
        """What `work` answers, done in one transaction with the store that it is given; or what was answered before to
        the same request with this key. IdempotencyConflict if that was another request.

        `work` also returns the user whom its answer names.
        """
        owner = _owner(asked.tenant, asked.user_id, asked.agent_id)
        row: dict[str, Any] = {**owner, "key": asked.key, "now": self.now()}
        place = "\0".join((asked.tenant, owner["stream"], asked.agent_id, "request", asked.key)).encode()
        async with self._connection() as connection, connection.transaction():
            held = self._on(connection)
            if await held._rows("claim_request", row):
                answer, about = await work(held)
                data = wrapped(self._key, asked.fingerprint + answer, place, self._random)
                row |= {"data": data, "about": _owner(asked.tenant, about, asked.agent_id)["stream"]}
                await held._rows("answer_request", row)
                return answer
            [found] = await held._rows("find_request", row)
        earlier = unsealed(self._key, bytes(found["data"]), place)
        if not earlier.startswith(asked.fingerprint):
            raise key_used(asked.idempotency_key)
        return earlier.removeprefix(asked.fingerprint)

    def _on(self, connection: Connection) -> Self:
        """A store that does everything on this connection, in its transaction."""

        @asynccontextmanager
        async def held() -> AsyncIterator[Connection]:
            yield connection

        store = copy(self)
        store._connection = held
        return store

    async def create(
        self, tenant: str, user_id: str, agent_id: str, url: str, subjects: Sequence[str], created_by: str
    ) -> Webhook:
        """A new webhook with a new secret, for changes from now on. Conflict if this agent has MOST_WEBHOOKS."""
        hook = Webhook(
            webhook_id=self._new_id(),
            tenant=tenant,
            user_id=user_id,
            agent_id=agent_id,
            url=url,
            secret=secret_text(self._random(SECRET_BYTES)),
            subjects=tuple(subjects),
            created_by=created_by,
            created_at=self.now(),
        )
        row = {
            **_owner(tenant, user_id, agent_id),
            "webhook_id": hook.webhook_id,
            "data": self._sealed(hook),
            "created_at": hook.created_at,
            "most": MOST_WEBHOOKS,
        }
        if not await self._rows("insert_webhook", row):
            raise Conflict(
                f"this agent has {MOST_WEBHOOKS} webhooks here already", field="url", fix="delete one of them first"
            )
        return hook

    async def rotate(self, hook: Webhook, kept: timedelta) -> Webhook:
        """The webhook with a new secret. The present one stays valid for as long as `kept`, an older one does not.

        Conflict if another process rotated it meanwhile, or it is gone.
        """
        until = self.now() + kept if kept else None
        rotated = replace(
            hook,
            secret=secret_text(self._random(SECRET_BYTES)),
            former_secret=hook.secret if until else "",
            former_until=until,
        )
        async with self._connection() as connection, connection.transaction():
            held = await connection.execute(query("hold_webhook", QUERIES), {"webhook_id": hook.webhook_id})
            row = await held.fetchone()
            if row is None or self._webhook(row).secret != hook.secret:
                raise Conflict(
                    "the webhook was deleted, or its secret was replaced meanwhile",
                    field="webhook_id",
                    fix="rotate it again if you do not have the new secret",
                )
            sealed = {"webhook_id": hook.webhook_id, "data": self._sealed(rotated)}
            await connection.execute(query("seal_webhook", QUERIES), sealed)
        return rotated

    async def list(self, tenant: str, user_id: str, agent_id: str) -> Sequence[Webhook]:
        """The webhooks of one agent, for one user or for all of them, oldest first."""
        return await self._listed({**_owner(tenant, user_id, agent_id), "webhook_id": None})

    async def get(self, tenant: str, user_id: str, agent_id: str, webhook_id: UUID) -> Webhook:
        """NotFound if this agent has no such webhook for this user."""
        found = await self._listed({**_owner(tenant, user_id, agent_id), "webhook_id": webhook_id})
        if not found:
            raise NotFound(f"there is no webhook {webhook_id}", field="webhook_id", fix="see `mnemolog webhook list`")
        return found[0]

    async def every(self) -> Sequence[Webhook]:
        """The webhooks of all tenants, for the operator."""
        everything = {"tenant": None, "stream": None, "agent_id": None, "webhook_id": None}
        return await self._listed(everything)

    async def any(self) -> bool:
        """Whether there is a webhook that is not paused."""
        return bool(await self._rows("any_webhook", {}))

    async def of_streams(self, streams: Sequence[StreamId]) -> Sequence[tuple[StreamId, Webhook]]:
        """Each of these streams with each webhook that is sent its changes."""
        names = {"tenants": [one.tenant for one in streams], "streams": [one.name for one in streams]}
        return self._by_stream(await self._rows("webhooks_of_streams", names))

    async def behind(self) -> Sequence[tuple[StreamId, Webhook]]:
        """Streams with webhooks that have not seen all of their events; at most MOST_BEHIND."""
        return self._by_stream(await self._rows("behind_webhooks", {"most": MOST_BEHIND}))

    async def progress(self, hook: Webhook, stream: StreamId) -> int:
        """The seq up to which deliveries were made of the changes of a stream."""
        found = await self._rows("find_progress", {"webhook_id": hook.webhook_id, "stream": stream.name})
        return int(found[0]["seq"]) if found else 0

    async def advance(
        self, hook: Webhook, stream: StreamId, since: int, seq: int, deliveries: Sequence[NewDelivery]
    ) -> bool:
        """Store deliveries and the progress that they make. False, and nothing, if it is no longer at `since`."""
        row = {
            "tenant": stream.tenant,
            "stream": stream.name,
            "webhook_id": hook.webhook_id,
            "since": since,
            "seq": seq,
            "now": self.now(),
            "ids": [one.delivery_id for one in deliveries],
            "types": [one.type for one in deliveries],
            "seqs": [one.seq for one in deliveries],
            "data": [self._sealed_body(hook, one.delivery_id, one.body) for one in deliveries],
        }
        return bool(await self._rows("advance", row))

    async def add(self, hook: Webhook, type_: str, body: Callable[[UUID], bytes]) -> Delivery:
        """A delivery that is not a change, such as a test, due at once."""
        delivery_id = self._new_id()
        row = {
            "webhook_id": hook.webhook_id,
            "delivery_id": delivery_id,
            "type": type_,
            "data": self._sealed_body(hook, delivery_id, body(delivery_id)),
            "now": self.now(),
        }
        return self._delivery(hook, await self._one("insert_delivery", row, hook.webhook_id))

    async def begin(self, webhook_id: UUID, job: Job) -> tuple[Webhook | None, bool]:
        """The webhook, now held by this job; and whether another job that runs holds it. None if deleted or paused."""
        row = {"webhook_id": webhook_id, "job_id": job.job_id, "fence": job.fence}
        found = await self._rows("begin_sending", row)
        return (self._webhook(found[0]), found[0]["busy"]) if found else (None, False)

    async def next(self, hook: Webhook) -> Delivery | None:
        """The delivery that is due the longest."""
        found = await self._rows("next_delivery", {"webhook_id": hook.webhook_id, "now": self.now()})
        return self._delivery(hook, found[0]) if found else None

    async def next_due(self, hook: Webhook) -> tuple[datetime, int] | None:
        """When the next delivery is due, and the round of the job that sends it; None if nothing is pending."""
        found = await self._rows("next_due", {"webhook_id": hook.webhook_id})
        return (found[0]["at"], found[0]["round"]) if found else None

    async def delivered(self, hook: Webhook, delivery: Delivery, response_status: int) -> None:
        await self._rows("delivered", {**_ids(hook, delivery), "now": self.now(), "response_status": response_status})

    async def not_delivered(
        self,
        hook: Webhook,
        delivery: Delivery,
        error: str,
        *,
        response_status: int | None,
        next_at: datetime,
        retry_at: datetime,
        gone: bool,
    ) -> bool:
        """Whether the webhook is paused now: it failed for PAUSE_AFTER, or its receiver says that it is `gone`."""
        now = self.now()
        row = {
            **_ids(hook, delivery),
            "now": now,
            "error": error,
            "response_status": response_status,
            "next_at": next_at,
            "retry_at": retry_at,
            "gone": gone,
            "pause_since": now - PAUSE_AFTER,
            "max_attempts": MAX_ATTEMPTS,
        }
        found = await self._rows("not_delivered", row)
        return bool(found and found[0]["paused_at"])

    async def pause(self, hook: Webhook, error: str) -> None:
        await self._rows("pause_webhook", {"webhook_id": hook.webhook_id, "now": self.now(), "error": error})

    async def resume(self, hook: Webhook) -> None:
        """Go on sending, from where it was paused."""
        await self._rows("resume_webhook", {"webhook_id": hook.webhook_id})

    async def hurry(self, hook: Webhook) -> None:
        """Send what is due at once, although the last attempt failed."""
        await self._rows("hurry", {"webhook_id": hook.webhook_id})

    async def send_again(self, hook: Webhook, delivery_id: UUID) -> Delivery:
        """NotFound if there is no such delivery, or no longer."""
        row = {"webhook_id": hook.webhook_id, "delivery_id": delivery_id}
        return self._delivery(hook, await self._one("send_again", row, delivery_id, "delivery_id"))

    async def deliveries(
        self, hook: Webhook, status: DeliveryStatus | None, limit: int, before: tuple[datetime, UUID] | None
    ) -> Sequence[Delivery]:
        """The newest first, after the place of the last one of a page before."""
        at, id_ = before or (None, None)
        row = {"webhook_id": hook.webhook_id, "status": status, "limit": limit, "before_at": at, "before_id": id_}
        return [self._delivery(hook, one) for one in await self._rows("list_deliveries", row)]

    async def deliveries_beginning(self, hook: Webhook, prefix: str, limit: int) -> Sequence[str]:
        """Ids of deliveries that begin with these digits."""
        row = {"webhook_id": hook.webhook_id, "prefix": prefix, "limit": limit}
        return [str(one["delivery_id"]) for one in await self._rows("deliveries_beginning", row)]

    async def delete(self, hook: Webhook) -> None:
        await self._rows("delete_webhook", {"webhook_id": hook.webhook_id})

    async def forget(self, stream: StreamId) -> None:
        """Delete the webhooks of a user, and every delivery about this user."""
        await self._rows("forget_stream", {"tenant": stream.tenant, "stream": stream.name})

    async def unsent(self, kind: str) -> Sequence[Webhook]:
        """Those with due deliveries, and no job of this kind that would send them."""
        return self._opened(await self._rows("unsent_webhooks", {"now": self.now(), "kind": kind}))

    async def bring_forward(self) -> Sequence[Webhook]:
        """Those with deliveries that were put off by a clock that was ahead; these are due now."""
        now = self.now()
        row = {"now": now, "latest": now + timedelta(seconds=LONGEST_DELAY_SECONDS)}
        return self._opened(await self._rows("bring_forward", row))

    async def delete_finished(self, before: datetime) -> None:
        """Delete the deliveries that were finished before a time, and the keys of requests that were made before it."""
        await self._rows("delete_finished", {"before": before})

    async def _listed(self, wanted: Mapping[str, Any]) -> Sequence[Webhook]:
        return self._opened(await self._rows("list_webhooks", wanted))

    def _by_stream(self, rows: Sequence[Mapping[str, Any]]) -> Sequence[tuple[StreamId, Webhook]]:
        return [(StreamId(row["tenant"], row["of_stream"]), hook) for row in rows for hook in self._opened([row])]

    def _opened(self, rows: Sequence[Mapping[str, Any]]) -> Sequence[Webhook]:
        """Those that an engine wrote as they are; the others are logged."""
        found = []
        for row in rows:
            try:
                found.append(self._webhook(row))
            except MalformedEvent:
                _logger.error("webhook %s is ignored: its row was changed", row["webhook_id"])
        return found

    def _webhook(self, row: Mapping[str, Any]) -> Webhook:
        stream = StreamId(row["tenant"], row["stream"])
        names = ("webhook_id", "tenant", "agent_id", "created_at", "failures", "failing_since", "retry_at", "error")
        known = {name: row[name] for name in (*names, "paused_at", "round")}
        hook = Webhook(
            **known,
            user_id=stream.owner if row["stream"] else ALL,
            url="",
            secret="",
            subjects=(),
            created_by="",
            pending=row.get("pending", 0),
        )
        sealed = from_json(unsealed(self._key, bytes(row["data"]), _place(hook)))
        if until := sealed.get("former_until"):
            sealed["former_until"] = datetime.fromisoformat(until)
        return replace(hook, **sealed)

    def _sealed(self, hook: Webhook) -> bytes:
        return wrapped(self._key, to_json({name: getattr(hook, name) for name in SEALED}), _place(hook), self._random)

    def _delivery(self, hook: Webhook, row: Mapping[str, Any]) -> Delivery:
        names = ("delivery_id", "type", "seq", "status", "attempts", "created_at", "next_at", "finished_at")
        known = {name: row[name] for name in (*names, "response_status", "error")}
        body = unsealed(self._key, bytes(row["data"]), _place(hook, row["delivery_id"]))
        return Delivery(**known, stream=StreamId(row["tenant"], row["stream"]), body=body)

    def _sealed_body(self, hook: Webhook, delivery_id: UUID, body: bytes) -> bytes:
        return wrapped(self._key, body, _place(hook, delivery_id), self._random)

    async def _one(
        self, name: str, values: Mapping[str, Any], id_: UUID, field: str = "webhook_id"
    ) -> Mapping[str, Any]:
        found = await self._rows(name, values)
        if not found:
            what = field.removesuffix("_id")
            raise NotFound(f"there is no {what} {id_}", field=field, fix="list the existing ones")
        return found[0]

    async def _rows(self, name: str, values: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        async with self._connection() as connection:
            cursor = await connection.execute(query(name, QUERIES), values)
            return await cursor.fetchall() if cursor.description else []


def _owner(tenant: str, user_id: str, agent_id: str) -> dict[str, Any]:
    stream = "" if user_id == ALL else StreamId.of_user(user_id, tenant).name
    return {"tenant": tenant, "stream": stream, "agent_id": agent_id}


def _ids(hook: Webhook, delivery: Delivery) -> dict[str, Any]:
    return {"webhook_id": hook.webhook_id, "delivery_id": delivery.delivery_id}


def _place(hook: Webhook, *ids: UUID) -> bytes:
    """What is authenticated with the ciphertext, so that it opens nowhere else. Ids contain no NUL."""
    names = (hook.tenant, hook.owner.name, hook.agent_id, str(hook.webhook_id), *map(str, ids))
    return "\0".join(names).encode()
