"""Producers of turns in Python: they need a NATS address only, no engine."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any, Self
from urllib.parse import unquote, urlsplit

from nats.aio.client import Client
from nats.errors import Error as NatsError
from pydantic import BaseModel

from mnemolog.adapters.nats.connection import connect
from mnemolog.adapters.nats.producer import SILENCE_SECONDS, TurnSender
from mnemolog.adapters.nats.subjects import Address
from mnemolog.adapters.nats.turn_message import TurnMessage
from mnemolog.domain.errors import MnemologError, ServerFailed
from mnemolog.domain.message import labels_of
from mnemolog.events.envelope import DEFAULT_TENANT, Receipt
from mnemolog.events.fields import Tenant, validated
from mnemolog.mirror import Blocking, mirrored

CONNECT_SECONDS = 15.0
# For a producer that the server knows by a token, or not at all.
UNNAMED = "producer"


class Destination(BaseModel):
    """The destination of turns: the producer's own subject. `mnemolog producer add` gave the user in the URL."""

    nats_url: str
    tenant: Tenant

    @property
    def name(self) -> str:
        parts = urlsplit(self.nats_url)
        return unquote(parts.username or "") if parts.password else UNNAMED


class AsyncTurnProducer:
    """Publishes turns to a running engine: at least once on the wire, once in the log, by their `message_id`.

    With `receipts` (the default), a turn is done once it is in the log; without, once JetStream has it, which is faster
    and survives less (docs/explanation/delivery.md). Turns are checked before they are sent, and sent again until they
    are answered; at most 1,024 of them, or 8 MiB, wait for an answer. After `deadline` seconds without any answer,
    ServerFailed is raised.

    Example:
        async with AsyncTurnProducer(nats_url) as producer:
            receipt = await producer.publish({"message_id": "chat-7:42", "user_id": "ana", "text": "Hi", ...})
    """

    def __init__(
        self,
        nats_url: str,
        *,
        tenant: str = DEFAULT_TENANT,
        receipts: bool = True,
        deadline: float = SILENCE_SECONDS,
    ) -> None:
        self._destination = validated(Destination, {"nats_url": nats_url, "tenant": tenant})
        self._receipts, self._deadline = receipts, deadline
        self._stack = AsyncExitStack()
        self._opened: TurnSender | None = None
        self._opening = asyncio.Lock()

    async def __aenter__(self) -> Self:
        await self._sender()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection. Every turn for which `publish` returned is done."""
        self._opened = None
        await self._stack.aclose()

    async def publish(self, turn: Mapping[str, Any]) -> Receipt | None:
        """Publish one turn, with the fields of docs/reference/turn-schema.md. None without `receipts`.

        Raises the same errors as the engine, with the same fields and fixes. Concurrent calls keep their order:
        `asyncio.gather(*map(producer.publish, turns))`.

        Example:
            receipt = producer.publish(turn)
        """
        body = encoded(turn)
        outcome = await (await self._sender()).send(body)
        if isinstance(outcome, MnemologError):
            raise outcome
        return outcome

    async def publish_all(self, turns: Iterable[Mapping[str, Any]]) -> Sequence[Receipt | MnemologError | None]:
        """Publish many, in order; returns the outcomes in the same order. A refused turn does not affect the others.

        Example:
            refused = [one for one in producer.publish_all(turns) if isinstance(one, MnemologError)]
        """
        sender, refused = await self._sender(), dict[int, MnemologError]()

        def bodies() -> Iterable[bytes]:
            for index, turn in enumerate(turns):
                try:
                    yield encoded(turn)
                except MnemologError as error:
                    refused[index] = error

        outcomes = [outcome async for outcome in sender.send_all(bodies())]
        for index, error in sorted(refused.items()):
            outcomes.insert(index, error)
        return outcomes

    async def _sender(self) -> TurnSender:
        async with self._opening:
            if self._opened is None:
                client = await self._connected()
                sender = TurnSender(
                    client,
                    Address.of(self._destination.tenant, self._destination.name),
                    receipts=self._receipts,
                    silence=self._deadline,
                )
                self._opened = await self._stack.enter_async_context(sender)
            return self._opened

    async def _connected(self) -> Client:
        name, url = self._destination.name, self._destination.nats_url
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                client = await connect(url, f"mnemolog producer {name}", inbox_prefix=f"_INBOX.{name}")
        except (NatsError, OSError, TimeoutError) as error:
            raise ServerFailed(
                f"NATS at {urlsplit(url).hostname} refused the connection ({type(error).__name__})",
                field="nats_url",
                fix="check that it runs, and that user and password are correct",
            ) from error
        self._stack.push_async_callback(client.close)
        return client


class TurnProducer(Blocking):
    """Publishes turns: `AsyncTurnProducer` without the `await`. Safe to use from several threads.

    Example:
        with TurnProducer(nats_url) as producer:
            receipt = producer.publish({"message_id": "chat-7:42", "user_id": "ana", "text": "Hi", ...})
    """

    def __init__(
        self,
        nats_url: str,
        *,
        tenant: str = DEFAULT_TENANT,
        receipts: bool = True,
        deadline: float = SILENCE_SECONDS,
    ) -> None:
        super().__init__(AsyncTurnProducer(nats_url, tenant=tenant, receipts=receipts, deadline=deadline))

    publish = mirrored(AsyncTurnProducer.publish)
    publish_all = mirrored(AsyncTurnProducer.publish_all)


def encoded(turn: Mapping[str, Any]) -> bytes:
    """The turn as it goes onto the wire; InvalidInput when the engine would refuse it."""
    message = validated(TurnMessage, turn)
    if not message.text:
        labels_of(
            [(one.type, one.url) for one in message.attachments]
        )  # As the engine does: it refuses one of neither.
    return message.model_dump_json(exclude_unset=True).encode()
