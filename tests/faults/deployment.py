"""An engine in a process of its own, and a second one here that is attached to it: both write to the same log."""

import asyncio
import json
import os
import signal
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import httpx
import psutil  # type: ignore[import-untyped]

from mnemolog.adapters.config import Settings, load
from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.adapters.http.local_token import local_token
from mnemolog.events.envelope import Receipt
from tests.engine.engine_process import another
from tests.testkit import warm

UP = "from mnemolog.adapters.cli import main; main()"
START_SECONDS = 300.0
STOP_SECONDS = 120.0
PROCESS_NAMES = {"postgres": "postgres", "nats": "nats-server", "redis": "redis-server"}


class Deployment:
    """`engine` and `http` are what writers use; both are new after a restart, so they are asked for each time."""

    engine: Engine
    http: httpx.AsyncClient

    def __init__(self, data_dir: Path, sabotage: str = "") -> None:
        self.data_dir, self._program = data_dir, sabotage + UP
        self.settings: Settings = load(data_dir=data_dir, durable=False, embedder="lexical", http_port=0)
        self._process: warm.Process | None = None
        self._clients = AsyncExitStack()
        self.ready = asyncio.Event()
        self.callers: set[asyncio.Future[Receipt]] = set()  # Those that wait for an answer here.

    async def start(self) -> None:
        """Start the engine's process and attach to it."""
        with (self.data_dir.parent / "engine.log").open("ab") as errors:
            self._process = await warm.spawn(
                *("-c", self._program, "up", "--json", "--port", "0"),
                env=self._environment(),
                stdout=asyncio.subprocess.PIPE,
                stderr=errors.fileno(),
            )
        async with asyncio.timeout(START_SECONDS):
            url = json.loads(await self._announced(self._process))["http_url"]
            self.engine = await self._clients.enter_async_context(open_engine(self.settings, attach=True))
        token = await asyncio.to_thread(local_token, self.settings)
        http = httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=10)
        self.http = await self._clients.enter_async_context(http)
        assert self.engine.attached
        self.ready.set()

    async def kill(self) -> None:
        """SIGKILL of the engine's process; its servers live on."""
        assert self._process
        self.ready.clear()
        self._process.kill()
        await self._process.wait()

    async def restart(self) -> None:
        """Start it again after `kill`; its servers are new, so what is attached to the old ones is let go."""
        old, self._clients = self._clients, AsyncExitStack()
        await self.start()
        with suppress(Exception):
            async with asyncio.timeout(STOP_SECONDS):
                await old.aclose()

    async def close(self) -> None:
        """End everything."""
        with suppress(Exception):
            await self._clients.aclose()
        if self._process and self._process.returncode is None:
            self._process.terminate()
            async with asyncio.timeout(STOP_SECONDS):
                await self._process.wait()

    def stop(self) -> None:
        """Let the engine's process hang."""
        assert self._process
        self._process.send_signal(signal.SIGSTOP)

    def wake(self) -> None:
        """Let it go on."""
        assert self._process
        self._process.send_signal(signal.SIGCONT)

    @asynccontextmanager
    async def standby(self) -> AsyncIterator[None]:
        """Another engine on the same servers, which has its share of the work and leads when the first does not."""
        with tempfile.TemporaryDirectory() as directory:
            async with another(self.engine, Path(directory)):
                yield

    def pid(self, server: str) -> int:
        """The process of one of its servers, as it is now."""
        assert self._process
        name = PROCESS_NAMES[server]
        for child in psutil.Process(self._process.pid).children():
            if child.name() == name:
                return int(child.pid)
        raise ProcessLookupError(f"no {name} runs below {self._process.pid}")

    def _environment(self) -> dict[str, str]:
        own = {name: value for name, value in os.environ.items() if not name.startswith("MNEMOLOG_")}
        return {
            **own,
            "MNEMOLOG_DATA_DIR": str(self.data_dir),
            "MNEMOLOG_DURABLE": "false",
            "MNEMOLOG_EMBEDDER": "lexical",
        }

    @staticmethod
    async def _announced(process: warm.Process) -> str:
        """What `up --json` prints once it runs."""
        assert process.stdout
        text = ""
        while not text.endswith("}\n"):
            line = await process.stdout.readline()
            if not line:
                raise RuntimeError(f"the engine ended with exit code {await process.wait()}")
            text += line.decode()
        return text


@asynccontextmanager
async def deployed(data_dir: Path, sabotage: str = "") -> AsyncIterator[Deployment]:
    """A deployment from start to end."""
    deployment = Deployment(data_dir, sabotage)
    try:
        await deployment.start()
        yield deployment
    finally:
        await deployment.close()
