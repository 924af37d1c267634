"""The HTTP server: uvicorn in the engine's event loop."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from fastapi import FastAPI

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.http.app import create_app
from mnemolog.adapters.http.connections import TimedProtocol
from mnemolog.domain.errors import EngineError

LOOPBACK = "127.0.0.1"
GRACE_SECONDS = 5
# asyncio accepts as many at once, before it knows that there are too many.
BACKLOG = 128
# So many may wait until they are accepted. A client that finds no place tries again after one second, two, four ...
QUEUE = 4096
START_POLL_SECONDS = 0.01


@asynccontextmanager
async def serve(engine: Engine, host: str = LOOPBACK, port: int = 0) -> AsyncIterator[str]:
    """Serve until the block ends, then finish running requests. Yields the URL; port 0 picks a free one.

    An engine with embedded servers also publishes the URL to other processes. EngineError if the port is taken.
    """
    listening = _listen(host, port)
    app = create_app(engine)
    server = _Server(_config(app))
    running = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        while not server.started and not running.done():  # noqa: ASYNC110  uvicorn offers no event.
            await asyncio.sleep(START_POLL_SECONDS)
        listening.listen(QUEUE)
        url = _url(listening)
        if engine.servers is not None:
            await asyncio.to_thread(engine.servers.publish_http_url, url)
        yield url
    finally:
        app.state.stopping.set()
        engine.appends.wake()
        server.should_exit = True
        await running
        await app.state.mcp.close()
        listening.close()


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:  # Signals are handled by the owner of the loop.
        yield


def _config(app: FastAPI) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=TimedProtocol,
        backlog=BACKLOG,
        lifespan="off",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )


def _listen(host: str, port: int) -> socket.socket:
    # uvicorn would end the process if the port is taken, so it gets a socket that already listens.
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family)
        # Each accepted connection inherits it. asyncio only sets it if the socket's protocol is given; without it, a
        # response, sent as headers and body, waits 40 ms for the client's delayed acknowledgement.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listening
    except (OSError, OverflowError) as error:
        raise EngineError(
            f"cannot listen on {host}:{port}: {error}",
            field="http_port",
            fix="choose another port, or 0 for a free one",
        ) from error


def _url(listening: socket.socket) -> str:
    """The URL for clients on this machine; "any address" cannot be connected to."""
    host, port = listening.getsockname()[:2]
    reachable = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{reachable}]:{port}" if ":" in reachable else f"http://{reachable}:{port}"
