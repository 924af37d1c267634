"""The three servers of an engine on one data directory, each replaceable by a URL."""

import atexit
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Literal, Self

from mnemolog.adapters.embedded.account import postgres_account
from mnemolog.adapters.embedded.binaries import SERVERS, locate
from mnemolog.adapters.embedded.data_directory import DataDirectory
from mnemolog.adapters.embedded.endpoints import Endpoints, EngineKind, ServerEvent, ServerName
from mnemolog.adapters.embedded.leftovers import end_leftovers
from mnemolog.adapters.embedded.nats_server import NatsServer
from mnemolog.adapters.embedded.postgres_cluster import clear
from mnemolog.adapters.embedded.postgres_server import PostgresServer
from mnemolog.adapters.embedded.redis_server import RedisServer
from mnemolog.adapters.embedded.server import Server
from mnemolog.adapters.embedded.socket_directory import POSTGRES_SOCKET, make_socket_directory
from mnemolog.adapters.embedded.supervision import SupervisedServer, start_together
from mnemolog.domain.errors import EngineError

_logger = logging.getLogger(__name__)

GUARD = "mnemolog.adapters.daemon.guard"


class EmbeddedServers:
    """Postgres, NATS and Redis in `data_dir`, running from `start` to `stop`.

    A server with a given URL is not started; the URL is passed on, as is `projections_url`. `on_event` is called from
    the thread that watches the server. `durable=False` (for tests) survives killed servers but not a power cut.
    `nats_store` is the number of bytes JetStream may store; by default, three quarters of the free disk.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        postgres_url: str | None = None,
        nats_url: str | None = None,
        redis_url: str | None = None,
        projections_url: str | None = None,
        durable: bool = True,
        nats_sync: Literal["default", "always"] = "default",
        nats_store: int | None = None,
        kind: EngineKind = "in-process",
        on_event: Callable[[ServerEvent], None] | None = None,
    ) -> None:
        self._directory = DataDirectory(data_dir)
        self._urls: dict[ServerName, str | None] = {"postgres": postgres_url, "nats": nats_url, "redis": redis_url}
        self._projections_url = projections_url
        self._durable = durable
        self._nats_sync, self._nats_store = nats_sync, nats_store
        self._kind, self._on_event = kind, on_event
        self._owner = os.getpid()
        self._sockets: Path | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        self._supervised: dict[ServerName, SupervisedServer] = {}
        self._endpoints: Endpoints | None = None

    def start(self) -> Endpoints:
        """Start the servers concurrently, and return when all of them answer."""
        if self._endpoints is not None:
            return self._endpoints
        self._directory.acquire(self._kind)
        self._owner = os.getpid()
        atexit.register(self.stop)
        try:
            logs = self._directory.part("logs")
            if self._kind != "background":  # Its parent is its guard.
                self._guard = _start_guard(self._directory.path, logs / "engine.log")
            for server in self._servers():
                self._supervised[server.name] = SupervisedServer(server, logs / f"{server.name}.log", self._on_event)
            start_together(list(self._supervised.values()))
        except OSError as error:
            self.stop()
            raise EngineError(f"the data directory cannot be used: {error}", fix="check its permissions") from error
        except BaseException:
            self.stop()
            raise
        postgres, nats, redis = (self._urls[name] or self._supervised[name].server.url for name in SERVERS)
        return self._publish(
            Endpoints(os.getpid(), postgres, nats, redis, kind=self._kind, projections_url=self._projections_url)
        )

    def restart_what_gave_up(self) -> None:
        """Restart a server that, since its disk was full, writes nothing although there is room again."""
        for server in self._supervised.values():
            server.restart_if_it_gave_up()

    def stop(self) -> None:
        """Stop everything that was started; has no effect if nothing runs, or in a forked child."""
        if os.getpid() != self._owner:
            return
        for server in self._supervised.values():
            server.request_stop()
        for server in self._supervised.values():
            server.wait_stopped()
        self._supervised = {}
        if self._guard is not None:
            self._guard.kill()
            self._guard.wait()
            self._guard = None
        if self._sockets is not None:
            shutil.rmtree(self._sockets, ignore_errors=True)
            self._sockets = None
        if self._endpoints is not None:
            self._directory.withdraw()
            self._endpoints = None
        self._directory.release()
        atexit.unregister(self.stop)  # last, so that an interrupted stop is finished at exit

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def endpoints(self) -> Endpoints:
        """The servers' addresses; raises EngineError before `start`."""
        if self._endpoints is None:
            raise EngineError("the embedded servers are not started", fix="call start() first")
        return self._endpoints

    @property
    def pids(self) -> Mapping[str, int]:
        """The pids of the servers that run now, by name."""
        return {name: server.pid for name, server in self._supervised.items() if server.pid is not None}

    def publish_http_url(self, url: str) -> None:
        """Publish the URL of the engine's HTTP API to other processes."""
        self._publish(replace(self.endpoints, http_url=url))

    def publish_ready(self, version: str, started_at: datetime, settings: Mapping[str, object]) -> Endpoints:
        """Publish that the engine is ready, so that other processes may attach."""
        complete = replace(
            self.endpoints, ready=True, version=version, started_at=started_at.isoformat(), settings=settings
        )
        return self._publish(complete)

    def withdraw(self) -> None:
        """Remove `engine.json` before stopping, so that nobody attaches any more."""
        self._directory.withdraw()

    def _servers(self) -> Iterator[Server]:
        data, wanted = self._directory, [name for name in SERVERS if not self._urls[name]]
        account = postgres_account(data.path / "postgres") if "postgres" in wanted else None
        self._sockets = sockets = make_socket_directory(data.path, account)
        if "postgres" in wanted:
            own = (sockets / POSTGRES_SOCKET).parent
            yield PostgresServer(data.path / "postgres", own, account, durable=self._durable)
        if "nats" in wanted:
            yield NatsServer(data.part("nats"), data.nats_token(), self._nats_sync, self._nats_store)
        if "redis" in wanted:
            yield RedisServer(data.part("redis"), sockets)

    def _publish(self, endpoints: Endpoints) -> Endpoints:
        self._directory.publish(endpoints)
        self._endpoints = endpoints
        return endpoints


def end_servers(data_dir: Path) -> None:
    """Stop what a killed engine left running. The caller holds the directory's lock and starts no engine."""
    others: tuple[ServerName, ...] = ("nats", "redis")
    for name in others:
        binary = locate(name)
        if binary.path and (data_dir / name).exists():
            end_leftovers(data_dir / name, [binary.path.name], signal.SIGTERM)
    clear(data_dir / "postgres")


def _start_guard(data_dir: Path, log: Path) -> subprocess.Popen[bytes] | None:
    """The process that stops the servers if this one is killed; in a session of its own, so that it survives.

    None if Python cannot be run: by a user who may not, or a program that contains it.
    """
    with log.open("ab") as out:
        try:
            return subprocess.Popen(
                [sys.executable, "-m", GUARD, str(data_dir), str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                cwd=data_dir,
                env={**os.environ, "PYTHONSAFEPATH": "1"},
                start_new_session=True,
            )
        except OSError as error:
            _logger.warning("no guard can be started, so a killed engine would leave its servers running: %s", error)
            return None


def without_secrets(url: str) -> str:
    """The URL without user, password and token."""
    return re.sub(r"(?<=://)[^/@]*@|(?<=[?&])password=[^&]*&?", "", url)
