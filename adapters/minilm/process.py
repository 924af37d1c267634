"""An embedder whose model runs in its own process, so it does not block the engine's event loop."""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from mnemolog.adapters.minilm.embedder import SentenceModel
from mnemolog.adapters.minilm.frames import HEAD, ROWS, TEXTS, frame, refused
from mnemolog.domain.errors import MnemologError, ServerFailed
from mnemolog.projections.vectors.embedder import Uncached, Vectors

# A caller with many texts sends this many at a time: 20 ms, the longest that a query waits for it.
PORTION = 16
# Long enough to mean a hang under any load: the model loads in one second and embeds hundreds of texts in another.
ANSWER_SECONDS = 30.0


class EmbeddingProcess(Uncached):
    """Starts its process with the first text, and again with the next one after it died.

    ServerFailed if it dies in the middle or does not answer; ModelMissing as in this process.
    """

    def __init__(self, model: SentenceModel) -> None:
        self.model, self.dimensions, self.calibration = model.model, model.dimensions, model.calibration
        self._names = (type(model).__name__, str(model.folder))
        self._running: _Running | None = None
        self._starting = asyncio.Lock()
        self._closed = False

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """One row per text, of length 1, in the given order."""
        portions = [texts[at : at + PORTION] for at in range(0, len(texts), PORTION)]
        rows = b"".join([await self._embedded(portion) for portion in portions])
        return np.frombuffer(rows, np.float32).reshape(len(texts), self.dimensions)

    async def aclose(self) -> None:
        """End the process; callers that are still waiting get ServerFailed."""
        async with self._starting:
            self._closed = True
            if self._running:
                await self._running.aclose()

    async def _embedded(self, texts: Sequence[str]) -> bytes:
        running = await self._started()
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await running.ask(texts)
        except TimeoutError:
            await running.aclose()
            raise _failed(f"did not answer within {ANSWER_SECONDS:g} s") from None

    async def _started(self) -> "_Running":
        async with self._starting:
            if self._closed:
                raise _failed("was ended with its engine")
            if self._running is None or self._running.ended:
                command = (sys.executable, "-m", "mnemolog.adapters.minilm.serve", *self._names)
                # A Ctrl-C in the terminal is for the engine. The process exits when its input is closed.
                process = await asyncio.create_subprocess_exec(
                    *command, stdin=PIPE, stdout=PIPE, start_new_session=True
                )
                self._running = _Running(process)
            return self._running


class _Running:
    """One process and the callers waiting for its answers, in the order of the answers."""

    def __init__(self, process: Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process, self._input, self._output = process, process.stdin, process.stdout
        self._killed = False
        self._waiting: deque[asyncio.Future[bytes]] = deque()
        self._reading = asyncio.create_task(self._read())

    @property
    def ended(self) -> bool:
        return self._reading.done()

    async def ask(self, texts: Sequence[str]) -> bytes:
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._waiting.append(answer)
        self._input.write(frame(TEXTS, json.dumps(list(texts)).encode()))
        return await answer

    async def aclose(self) -> None:
        """Kill it: it has no state. Only once, because Popen takes the exit code of a dead process from asyncio."""
        if not self._killed and not self.ended:
            self._killed = True
            with suppress(ProcessLookupError):
                self._process.kill()
        await asyncio.wait([self._reading])  # Not with `await`: a cancelled caller would cancel the reading.

    async def _read(self) -> None:
        """Hand out answers until the process ends. A cancelled caller keeps its place in the order."""
        try:
            with suppress(asyncio.IncompleteReadError):
                while True:
                    answer = await self._answer()
                    _settle(self._waiting.popleft(), answer)
        finally:
            self._input.close()
            code = await self._process.wait()
            for waiting in self._waiting:
                _settle(waiting, _failed(f"ended with {code}"))

    async def _answer(self) -> bytes | MnemologError:
        kind, length = HEAD.unpack(await self._output.readexactly(HEAD.size))
        body = await self._output.readexactly(length)
        if kind == ROWS:
            return body
        return refused(kind, body)


def _settle(waiting: "asyncio.Future[bytes]", answer: bytes | MnemologError) -> None:
    if waiting.done():
        return
    if isinstance(answer, bytes):
        waiting.set_result(answer)
    else:
        waiting.set_exception(answer)


def _failed(what: str) -> ServerFailed:
    return ServerFailed(f"the embedding process {what}", fix="try again: it is being restarted")
