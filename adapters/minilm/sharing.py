"""One embedder for all programs on a data directory: the engine embeds for those that are attached to it.

Over a Unix socket in the data directory, in the frames of the engine's own embedding process.
"""

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import numpy as np

from mnemolog.adapters.minilm.frames import FAULTS, HEAD, ROWS, TEXTS, frame, refusal, refused
from mnemolog.adapters.minilm.process import ANSWER_SECONDS
from mnemolog.domain.errors import ServerFailed
from mnemolog.projections.vectors.embedder import Embedder, Vectors

NAME = "embed.sock"
LONGEST = 100  # bytes of a socket's path


class SharedModel:
    """Uses the engine's embedder; its own if the engine does not answer, for instance an older one."""

    def __init__(self, own: Embedder, data_dir: Path) -> None:
        self.model, self.calibration = own.model, own.calibration
        self._own, self._address = own, _address(data_dir)

    def cached(self, texts: Sequence[str]) -> Mapping[str, Vectors]:
        """Empty: it caches nothing."""
        return {}

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

    async def _requested(self, texts: Sequence[str]) -> tuple[bytes, bytes]:
        async with asyncio.timeout(ANSWER_SECONDS):
            reader, writer = await asyncio.open_unix_connection(self._address)
            try:
                writer.write(frame(TEXTS, json.dumps(list(texts)).encode()))
                kind, length = HEAD.unpack(await reader.readexactly(HEAD.size))
                return kind, await reader.readexactly(length)
            finally:
                writer.close()


async def share(stack: AsyncExitStack, embedder: Embedder, data_dir: Path) -> None:
    """Embed for the clients of this engine until the stack is closed; for none if the socket's path is too long."""
    address = _address(data_dir)
    if len(os.fsencode(address)) > LONGEST:
        return

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(OSError, asyncio.IncompleteReadError):  # The client has disconnected.
                _, length = HEAD.unpack(await reader.readexactly(HEAD.size))
                writer.write(await _answer(embedder, await reader.readexactly(length)))
                await writer.drain()
        finally:
            writer.close()

    address.unlink(missing_ok=True)
    server = await asyncio.start_unix_server(answer, address)
    os.chmod(address, 0o600)
    stack.callback(address.unlink, missing_ok=True)
    stack.callback(server.close)


async def _answer(embedder: Embedder, texts: bytes) -> bytes:
    try:
        return frame(ROWS, (await embedder.embed(json.loads(texts))).tobytes())
    except tuple(FAULTS.values()) as error:
        return refusal(error)
    except ServerFailed:
        return b""  # The client loads the model itself.


def _address(data_dir: Path) -> Path:
    return data_dir.expanduser().resolve() / NAME
