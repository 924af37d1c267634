"""One embedder for all programs on a data directory: the engine embeds for those that are attached to it.

Over a Unix socket in the data directory, in the frames of the engine's own embedding process. Texts that a client is
about to append are sent to a second socket as datagrams, which nobody answers: their vectors are ready when the engine
needs them.
"""

import asyncio
import json
import os
import socket
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import numpy as np

from mnemolog.adapters.minilm.frames import FAULTS, HEAD, ROWS, TEXTS, frame, refusal, refused
from mnemolog.adapters.minilm.prefetching import PrefetchingEmbedder
from mnemolog.adapters.minilm.process import ANSWER_SECONDS
from mnemolog.domain.errors import ServerFailed
from mnemolog.projections.vectors.embedder import Embedder, Uncached, Vectors

NAME, EXPECTED = "embed.sock", "embed.soon"
LONGEST = 100  # bytes of a socket's path


class SharedModel(Uncached):
    """Uses the engine's embedder; its own if the engine does not answer, for instance an older one."""

    def __init__(self, own: Embedder, data_dir: Path) -> None:
        self.model, self.calibration = own.model, own.calibration
        self._own, self._address = own, _address(data_dir)
        self._expected = _address(data_dir, EXPECTED)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """One row a text, of length 1, in the order given."""
        if not texts:
            return await self._own.embed(texts)
        try:
            kind, body = await self._requested(texts)
        except (OSError, asyncio.IncompleteReadError):
            return await self._own.embed(texts)
        if kind != ROWS:
            raise refused(kind, body)
        return np.frombuffer(body, np.float32).reshape(len(texts), -1)

    def expect(self, texts: Sequence[str]) -> None:
        """Have the engine embed texts that it will need soon, unless it is too busy or they are too long to send."""
        if texts:
            with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
                sender.setblocking(False)
                sender.sendto(json.dumps(list(texts)).encode(), os.fsencode(self._expected))

    async def _requested(self, texts: Sequence[str]) -> tuple[bytes, bytes]:
        async with asyncio.timeout(ANSWER_SECONDS):
            reader, writer = await asyncio.open_unix_connection(self._address)
            try:
                writer.write(frame(TEXTS, json.dumps(list(texts)).encode()))
                kind, length = HEAD.unpack(await reader.readexactly(HEAD.size))
                return kind, await reader.readexactly(length)
            finally:
                writer.close()


def expect(embedder: Embedder, texts: Sequence[str]) -> None:
    """Let the model begin with texts whose vectors will be asked for soon, if the embedder can."""
    if isinstance(embedder, PrefetchingEmbedder | SharedModel):
        embedder.expect(texts)


class _Expecting(asyncio.DatagramProtocol):
    """Passes on the texts that clients are about to append."""

    def __init__(self, expect: Callable[[Sequence[str]], None]) -> None:
        self._expect = expect

    def datagram_received(self, data: bytes, addr: object) -> None:
        self._expect(json.loads(data))


async def share(stack: AsyncExitStack, embedder: PrefetchingEmbedder, data_dir: Path) -> None:
    """Embed for the clients of this engine until the stack is closed; for none if a socket's path is too long."""
    address, expected = _address(data_dir), _address(data_dir, EXPECTED)
    if len(os.fsencode(expected)) > LONGEST:
        return

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(OSError, asyncio.IncompleteReadError):  # The client has disconnected.
                _, length = HEAD.unpack(await reader.readexactly(HEAD.size))
                writer.write(await _answer(embedder, await reader.readexactly(length)))
                await writer.drain()
        finally:
            writer.close()

    for path in (address, expected):
        path.unlink(missing_ok=True)
        stack.callback(path.unlink, missing_ok=True)
    server = await asyncio.start_unix_server(answer, address)
    stack.callback(server.close)
    receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    receiver.setblocking(False)
    receiver.bind(os.fsencode(expected))
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(lambda: _Expecting(embedder.expect), sock=receiver)
    stack.callback(transport.close)
    for path in (address, expected):
        os.chmod(path, 0o600)


async def _answer(embedder: Embedder, texts: bytes) -> bytes:
    try:
        return frame(ROWS, (await embedder.embed(json.loads(texts))).tobytes())
    except tuple(FAULTS.values()) as error:
        return refusal(error)
    except ServerFailed:
        return b""  # The client loads the model itself.


def _address(data_dir: Path, name: str = NAME) -> Path:
    return data_dir.expanduser().resolve() / name
