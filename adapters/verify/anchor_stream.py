"""The stream of anchors on JetStream: each node publishes to a subject of its own."""

from collections.abc import AsyncIterator, Sequence

from nats.js import JetStreamContext
from nats.js.api import DiscardPolicy, RetentionPolicy, StorageType, StreamConfig
from nats.js.errors import NoStreamResponseError, NotFoundError

from mnemolog.adapters.verify.whole_stream import messages

ANCHORS = "MNEMOLOG_ANCHORS"
SUBJECTS = "mnemolog.anchors.*"
ACK_SECONDS = 5.0


class AnchorStream:
    """Kept for ever, but for what a node's own compaction takes away."""

    def __init__(self, jetstream: JetStreamContext, replicas: int = 1) -> None:
        self._jetstream, self._replicas = jetstream, replicas

    async def publish(self, node: str, lines: Sequence[bytes]) -> int:
        """Publish lines in their order; the place of the last one. A stream that is gone is made again."""
        last = 0
        for line in lines:
            last = await self._publish(node, line)
        return last

    async def replace(self, node: str, lines: Sequence[bytes]) -> None:
        """Publish these lines, then drop what the node published before."""
        before = await self.last_place()
        await self.publish(node, lines)
        if before:
            await self._jetstream.purge_stream(ANCHORS, subject=_subject(node), seq=before + 1)

    async def last_place(self) -> int:
        """The place of the last line in the stream; 0 when there is none."""
        try:
            return (await self._jetstream.stream_info(ANCHORS)).state.last_seq
        except NotFoundError:
            return 0

    async def last(self) -> bytes | None:
        """The last line of all nodes."""
        place = await self.last_place()
        try:
            return (await self._jetstream.get_msg(ANCHORS, seq=place)).data if place else None
        except NotFoundError:
            return None

    async def lines(self) -> AsyncIterator[bytes]:
        """Every line, oldest first."""
        async for message in messages(self._jetstream, ANCHORS):
            yield message.data

    async def _publish(self, node: str, line: bytes) -> int:
        try:
            ack = await self._jetstream.publish(_subject(node), line, timeout=ACK_SECONDS, stream=ANCHORS)
        except (NotFoundError, NoStreamResponseError):
            await self.ensure()
            ack = await self._jetstream.publish(_subject(node), line, timeout=ACK_SECONDS, stream=ANCHORS)
        return ack.seq

    async def ensure(self) -> None:
        """Create the stream where it is not yet."""
        try:
            await self._jetstream.stream_info(ANCHORS)
        except NotFoundError:
            await self._jetstream.add_stream(
                StreamConfig(
                    name=ANCHORS,
                    subjects=[SUBJECTS],
                    retention=RetentionPolicy.LIMITS,
                    storage=StorageType.FILE,
                    discard=DiscardPolicy.NEW,
                    num_replicas=self._replicas,
                )
            )


def _subject(node: str) -> str:
    return f"mnemolog.anchors.{node}"
