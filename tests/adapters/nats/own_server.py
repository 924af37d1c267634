"""A nats-server that no engine watches, so that it can be stopped and its store taken away."""

import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mnemolog.adapters.embedded.nats_server import NatsServer


class OwnServer:
    """In `nats` of a data directory, as an engine would run it."""

    def __init__(self, data_dir: Path, store_bytes: int | None = None) -> None:
        directory = data_dir / "nats"
        directory.mkdir(parents=True, exist_ok=True)
        self._server = NatsServer(directory, "token", "default", store_bytes)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return self._server.url

    def start(self) -> None:
        self._server.prepare()
        launch = self._server.launch()
        self._process = subprocess.Popen(launch.argv, cwd=self._server.directory, stderr=subprocess.DEVNULL)
        while not self._server.answers():
            pass

    def kill(self) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()

    def hang(self) -> None:
        if self._process:
            self._process.send_signal(signal.SIGSTOP)

    def wake(self) -> None:
        if self._process:
            self._process.send_signal(signal.SIGCONT)

    def wipe(self) -> None:
        self.kill()
        shutil.rmtree(self._server.directory / "jetstream")
        self.start()


@contextmanager
def own_server(data_dir: Path, store_bytes: int | None = None) -> Iterator[OwnServer]:
    server = OwnServer(data_dir, store_bytes)
    server.start()
    try:
        yield server
    finally:
        server.kill()
