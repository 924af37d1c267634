"""A JetStream stream of lines without limits: each node publishes to its own subject."""

from collections.abc import AsyncIterator, Sequence

from nats.js import JetStreamContext
from nats.js.api import DiscardPolicy, RetentionPolicy, StorageType, StreamConfig
from nats.js.errors import NoStreamResponseError, NotFoundError

from mnemolog.adapters.verify.whole_stream import messages

ANCHORS = "MNEMOLOG_ANCHORS"
SUBJECTS = "mnemolog.anchors.*"
ACK_SECONDS = 5.0


class AnchorStream:
    """Kept for ever, except for what a node compacts itself. Holds anchors unless another name is given."""

    def __init__(
        self, jetstream: JetStreamContext, replicas: int = 1, name: str = ANCHORS, subjects: str = SUBJECTS
    ) -> None:
        self._jetstream, self._replicas, self._name, self._subjects = jetstream, replicas, name, subjects

    async def publish(self, node: str, lines: Sequence[bytes]) -> int:
        """Publish lines in order; returns the sequence of the last one. A missing stream is created again."""
        last = 0
        for line in lines:
            try:
                ack = await self._jetstream.publish(self._subject(node), line, timeout=ACK_SECONDS, stream=self._name)
            except (NotFoundError, NoStreamResponseError):
                await self.ensure()
                ack = await self._jetstream.publish(self._subject(node), line, timeout=ACK_SECONDS, stream=self._name)
            last = ack.seq
        return last

    async def replace(self, node: str, lines: Sequence[bytes]) -> None:
        """Publish these lines, then delete what the node published before."""
        before = await self.last_place()
        await self.publish(node, lines)
        if before:
            await self.drop(node, before)

    async def last_place(self) -> int:
        """The sequence of the last line in the stream; 0 if there is none."""
        try:
            return (await self._jetstream.stream_info(self._name)).state.last_seq
        except NotFoundError:
            return 0

    async def lines(self, after: int = 0, node: str | None = None) -> AsyncIterator[bytes]:
        """Every line after that sequence, oldest first; of one node, if given."""
        own = self._subject(node) if node else ""
        async for message in messages(self._jetstream, self._name, own, after):
            yield message.data

    async def drop(self, node: str, until: int) -> None:
        """Delete what a node published, up to that sequence."""
        await self._jetstream.purge_stream(self._name, subject=self._subject(node), seq=until + 1)

    async def ensure(self) -> None:
        """Create the stream if missing."""
        try:
            await self._jetstream.stream_info(self._name)
        except NotFoundError:
            await self._jetstream.add_stream(
                StreamConfig(
                    name=self._name,
                    subjects=[self._subjects],
                    retention=RetentionPolicy.LIMITS,
                    storage=StorageType.FILE,
                    discard=DiscardPolicy.NEW,
                    num_replicas=self._replicas,
                )
            )

    def _subject(self, node: str) -> str:
        return self._subjects.replace("*", node)
