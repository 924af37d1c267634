"""A supervised server process: started until it answers, restarted if it dies, and stopped.

One daemon thread a server waits for its process, so a death is seen at once. Restarts keep address and data, and are
tried for as long as the engine runs, with pauses that grow to `LONGEST_PAUSE` and start over after a calm minute.
"""

import logging
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path

from mnemolog.adapters.embedded.account import run_as
from mnemolog.adapters.embedded.endpoints import ServerEvent
from mnemolog.adapters.embedded.server import Server, environment
from mnemolog.adapters.embedded.server_log import ServerLog
from mnemolog.domain.errors import ServerFailed

READY_TIMEOUT = 120.0  # seconds; recovery of a long log takes time
STOP_TIMEOUT = 15.0
START_ATTEMPTS = 3
FIRST_PAUSE = 0.05
LONGEST_PAUSE = 5.0
CALM = 60.0
# Before a server that gave up writing is restarted again: on a disk that fills up at once, it doubles up to that.
FIRST_PATIENCE = 3.0
POLL = 0.01
ROOM_BYTES = 64 * 1024 * 1024

log = logging.getLogger(__name__)


class SupervisedServer:
    """One server and the thread that keeps it running."""

    def __init__(self, server: Server, log_file: Path, on_event: Callable[[ServerEvent], None] | None) -> None:
        self.server = server
        self._log = ServerLog(log_file)
        self._on_event = on_event
        self._process: subprocess.Popen[bytes] | None = None
        self._up_since, self._patience = 0.0, FIRST_PATIENCE
        self._stopping = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name=f"mnemolog-{server.name}", daemon=True)

    @property
    def pid(self) -> int | None:
        """The running process; None if there is none."""
        process = self._process
        return process.pid if process and process.returncode is None else None

    def start(self) -> None:
        """Start it and keep it running; raises ServerFailed if it does not come up."""
        for _ in range(START_ATTEMPTS):
            if self._attempt():
                self._watcher.start()
                return
            if self._stopping.is_set():
                break
        raise self._failure("did not start")

    def restart_if_it_gave_up(self) -> None:
        """End it, so that it is restarted, if it gave up writing and there is room on its disk again."""
        words, process = self.server.gives_up, self._process
        if not words or process is None or process.returncode is not None or not self._log.says(words):
            return
        up = time.monotonic() - self._up_since
        if up > CALM:
            self._patience = FIRST_PATIENCE
        if up > self._patience and shutil.disk_usage(self.server.directory).free > ROOM_BYTES:
            self._patience = min(2 * self._patience, CALM)
            log.warning("%s gave up writing and is restarted: there is room on the disk", self.server.name)
            process.send_signal(self.server.stop_signal)

    def request_stop(self) -> None:
        """Signal it to stop, also in the middle of a restart; does not wait."""
        self._stopping.set()
        if self._process is not None:
            self._process.send_signal(self.server.stop_signal)

    def wait_stopped(self) -> None:
        """Wait until it has ended after `request_stop`; kill it if that takes too long."""
        if self._watcher.is_alive():
            self._watcher.join(STOP_TIMEOUT)
        if self._process is not None:
            self._end(self._process)
        if self._watcher.is_alive():
            self._watcher.join(STOP_TIMEOUT)

    def _watch(self) -> None:
        pause = FIRST_PAUSE
        while not self._stopping.is_set() and self._process is not None:
            since = time.monotonic()
            code = self._process.wait()
            if self._stopping.is_set():
                return
            self._tell(ServerEvent(self.server.name, "died", f"exit code {code}"))
            pause = FIRST_PAUSE if time.monotonic() - since > CALM else pause
            pause = self._revive(pause)

    def _revive(self, pause: float) -> float:
        """Restart it, however long that takes; returns the pause to start with after its next failure."""
        while not self._stopping.wait(pause):
            pause = min(2 * pause, LONGEST_PAUSE)
            problem = self._try_again()
            if problem is None:
                self._tell(ServerEvent(self.server.name, "restarted"))
                break
            if not self._stopping.is_set():
                self._tell(ServerEvent(self.server.name, "failed", problem))
        return pause

    def _try_again(self) -> str | None:
        try:
            return None if self._attempt() else str(self._failure("did not restart"))
        except ServerFailed as error:
            return str(error)

    def _attempt(self) -> bool:
        """Launch it once; False if it died or took too long to answer, in which case it is stopped."""
        try:
            self.server.prepare()
            self._process = process = self._launched()
            self._up_since = time.monotonic()
        except (OSError, subprocess.SubprocessError) as error:
            raise self._failure(f"cannot be started: {error}") from error
        if self._came_up(process):
            return True
        self._end(process)
        return False

    def _launched(self) -> subprocess.Popen[bytes]:
        launch = self.server.launch()
        command, user = run_as(launch.account, launch.argv)
        with self._log.open() as out:
            return subprocess.Popen(
                command,
                cwd=self.server.directory,
                env=environment(),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # a Ctrl-C in the terminal is for the engine, which stops its servers itself
                **user,
            )

    def _came_up(self, process: subprocess.Popen[bytes]) -> bool:
        deadline = time.monotonic() + READY_TIMEOUT
        while process.poll() is None and time.monotonic() < deadline and not self._stopping.is_set():
            if self.server.answers():
                return True
            time.sleep(POLL)
        return False

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        process.send_signal(self.server.stop_signal)
        try:
            process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _failure(self, what: str) -> ServerFailed:
        name = self.server.name
        tail = self._log.tail()
        return ServerFailed(
            f"{name} {what}" + (f"; its log ends with:\n{tail}\n" if tail else ""),
            fix=f"see {self._log.path}, or set MNEMOLOG_{name.upper()}_URL to use your own server",
        )

    def _tell(self, event: ServerEvent) -> None:
        log.warning("%s %s %s", event.server, event.what, event.detail)
        if self._on_event is None:
            return
        try:
            self._on_event(event)
        except Exception:
            log.exception("the listener for server events failed; supervision goes on")


def start_together(servers: Sequence[SupervisedServer]) -> None:
    """Start all of them concurrently; if one fails, the others are stopped and its error is raised."""
    with ThreadPoolExecutor(max_workers=max(1, len(servers))) as pool:
        starts = [pool.submit(server.start) for server in servers]
        try:
            for start in wait(starts, return_when=FIRST_EXCEPTION).done:
                start.result()
        except BaseException:
            for server in servers:
                server.request_stop()
            raise
