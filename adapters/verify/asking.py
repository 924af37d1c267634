"""Asks an engine for the heads of streams: for processes that did not read all anchors when they started (X08).

A command runs for a second and has seen nothing before. Reading every anchor would take it longer than its work.
"""

import json
import logging
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from mnemolog.adapters.nats.subjects import HEADS
from mnemolog.adapters.verify.anchor import Anchor, AnchoredHead, pack, unpack
from mnemolog.adapters.verify.anchoring import Anchoring
from mnemolog.domain.errors import MalformedEvent
from mnemolog.events.envelope import StreamId

_logger = logging.getLogger("mnemolog.anchors")

ANSWER_SECONDS = 2.0
# At most so many streams in a question.
AT_ONCE = 1000


class EngineHeads:
    """Asks an engine with the role `relay`. Without an answer nothing is known, as at the first write of all."""

    def __init__(self, client: Client, key: bytes) -> None:
        self._client, self._key = client, key

    async def __call__(self, streams: Sequence[StreamId]) -> Iterable[AnchoredHead]:
        heads: list[AnchoredHead] = []
        if not self._client.is_connected:
            return heads
        try:
            for first in range(0, len(streams), AT_ONCE):
                names = [[stream.tenant, stream.name] for stream in streams[first : first + AT_ONCE]]
                answer = await self._client.request(HEADS, json.dumps(names).encode(), timeout=ANSWER_SECONDS)
                heads += unpack(answer.data, self._key).heads
        except (NatsError, MalformedEvent) as error:
            _logger.warning("no engine says how long the streams were: %r", error)
        return heads


async def answer_for_heads(
    client: Client, anchoring: Anchoring, key: bytes, node: str, now: Callable[[], datetime]
) -> None:
    """Answer such questions as long as the client is open. One of several engines answers."""

    async def answer(message: Msg) -> None:
        try:
            await anchoring.hear()
        except (NatsError, OSError, TimeoutError) as error:
            _logger.warning("anchors of others are not known: %r", error)
        heads = [anchoring.known.of(StreamId(tenant, name)) for tenant, name in json.loads(message.data)]
        await message.respond(pack(Anchor(node, 0, now(), heads), key))

    await client.subscribe(HEADS, queue="heads", cb=answer)
