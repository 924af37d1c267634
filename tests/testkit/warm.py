"""Processes that one fork server makes for a whole run: real ones, without the two seconds of imports of each."""

import asyncio
import atexit
import errno
import fcntl
import functools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from asyncio.subprocess import PIPE
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from tests import FOLDER

ROOT = Path(__file__).parents[2]
# Hands its files and arguments on to the fork server, and signals to the process that this one makes.
SCRIPT = """#!{python} -IS
import json, os, signal, socket, sys
numbers = []
for number in range(250):
    try:
        os.fstat(number)
    except OSError:
        continue
    numbers.append(number)
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    request = {{"environment": dict(os.environ), "directory": os.getcwd(), "numbers": numbers}}
    request["arguments"] = {first!r} + sys.argv[1:]
    socket.send_fds(server, [json.dumps(request).encode() + b"\\n"], numbers)
    answers = server.makefile()
    child = int(answers.readline())
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: os.kill(child, number))
    for number in numbers:
        os.close(number)
    code = int(answers.readline() or "1")
if code < 0:
    signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
os._exit(code)
"""


_starting = threading.Lock()


def fork_server() -> str:
    """The address of the run's fork server. The first process that asks starts it, and it ends with the last."""
    with _starting:
        return _started()


@functools.cache
def _started() -> str:
    folder = FOLDER / "fork-server"
    folder.mkdir(exist_ok=True)
    address, needed = f"{folder}/socket", folder / "needed"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not needed.exists():
            os.mkfifo(needed)
        try:
            # Its standard input: it ends once no process holds this any more.
            os.open(needed, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:  # Nobody reads it.
            if error.errno != errno.ENXIO:
                raise
            _start(folder, address, needed)
    return address


def _start(folder: Path, address: str, needed: Path) -> None:
    for name, first in (("mnemolog", ["mnemolog"]), ("python", [])):
        script = folder / name
        script.write_text(SCRIPT.format(python=sys.executable, address=address, first=first), encoding="utf-8")
        script.chmod(0o755)
    Path(address).unlink(missing_ok=True)
    read = os.open(needed, os.O_RDONLY | os.O_NONBLOCK)
    held = os.open(needed, os.O_WRONLY)
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.testkit.fork_server", address, f"{folder}/python"],
        cwd=ROOT,
        stdin=read,
        stdout=subprocess.PIPE,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # A thread would be lost in a fork.
    )
    os.close(read)
    assert server.stdout is not None
    with server.stdout as out:
        if out.readline() != b"ready\n":
            raise AssertionError(f"the fork server did not start: exit code {server.wait(20)}")

    @atexit.register
    def end() -> None:
        os.close(held)
        server.wait()  # Others may need it longer.


def script_folder() -> Path:
    """A folder for the front of a PATH: its `mnemolog` has the fork server run the command."""
    return Path(fork_server()).parent


def python() -> str:
    """An interpreter, for a `sys.executable` that programs start others by: it has the fork server run them.

    It has a process id of its own; when it is killed, the process that it stands for is killed.
    """
    return str(script_folder() / "python")


def run(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    out: BinaryIO,
    err: BinaryIO,
    stdin: bytes = b"",
    seconds: float = 120,
) -> int:
    """Run one command to its end; its exit code. Both files are written to as a command line would."""
    with tempfile.TemporaryFile() as given:
        given.write(stdin)
        given.seek(0)
        files = [given.fileno(), out.fileno(), err.fileno()]
        return Forked(["mnemolog", *arguments], environment, files).wait(seconds)


class Forked:
    """A process of its own that runs these arguments of an interpreter, or of `mnemolog`, with three files."""

    def __init__(self, arguments: Sequence[str], environment: Mapping[str, str], files: Sequence[int]) -> None:
        self._server = _asked(arguments, environment, files)
        self._answers = self._server.makefile()
        self.pid = int(self._answers.readline())
        self.returncode: int | None = None

    def kill(self) -> None:
        if self.returncode is None:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self, seconds: float) -> int:
        """The exit code; negative after a signal."""
        if self.returncode is None:
            self._server.settimeout(seconds)
            with self._server, self._answers:
                self.returncode = int(self._answers.readline())
        return self.returncode


class Process:
    """As `asyncio.subprocess.Process`. Made by `spawn`."""

    def __init__(self, pid: int, ended: "asyncio.Task[int]") -> None:
        self.pid, self._ended = pid, ended
        self.stdin: asyncio.StreamWriter | None = None
        self.stdout: asyncio.StreamReader | None = None
        self.stderr: asyncio.StreamReader | None = None

    @property
    def returncode(self) -> int | None:
        return self._ended.result() if self._ended.done() else None

    def send_signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    async def wait(self) -> int:
        """The exit code; negative after a signal."""
        code = await asyncio.shield(self._ended)
        if self.stdin:
            self.stdin.close()
        return code


async def spawn(
    *arguments: str | Path,
    env: Mapping[str, str] | None = None,
    stdin: int | None = None,
    stdout: int | None = None,
    stderr: int | None = None,
) -> Process:
    """As `asyncio.create_subprocess_exec`, for arguments of an interpreter, or `mnemolog` and those of a command."""
    pipes = {number: os.pipe() for number, given in enumerate((stdin, stdout, stderr)) if given == PIPE}
    files = [pipes[0][0] if stdin == PIPE else 0 if stdin is None else stdin]
    for number, given in ((1, stdout), (2, stderr)):
        files.append(pipes[number][1] if given == PIPE else number if given is None else given)
    server = await asyncio.to_thread(_asked, [*map(str, arguments)], os.environ if env is None else env, files)
    answers, asker = await asyncio.open_unix_connection(sock=server)
    pid = int(await answers.readline())

    async def ended() -> int:
        try:
            return int(await answers.readline())
        finally:
            asker.close()

    process, loop = Process(pid, asyncio.create_task(ended())), asyncio.get_running_loop()
    for number, (reading, writing) in pipes.items():
        if number == 0:
            os.close(reading)
            transport, protocol = await loop.connect_write_pipe(
                asyncio.streams.FlowControlMixin, os.fdopen(writing, "wb")
            )
            process.stdin = asyncio.StreamWriter(transport, protocol, None, loop)
            continue
        os.close(writing)
        reader = asyncio.StreamReader()
        await loop.connect_read_pipe(
            lambda reader=reader: asyncio.StreamReaderProtocol(reader),  # type: ignore[misc]
            os.fdopen(reading, "rb"),
        )
        setattr(process, ("stdin", "stdout", "stderr")[number], reader)
    return process


def _asked(arguments: Sequence[str], environment: Mapping[str, str], files: Sequence[int]) -> socket.socket:
    """A connection with the fork server, which is to run this."""
    server = socket.socket(socket.AF_UNIX)
    server.connect(fork_server())
    place = {"environment": {**environment}, "directory": str(Path.cwd()), "numbers": [0, 1, 2]}
    socket.send_fds(server, [json.dumps({"arguments": [*arguments], **place}).encode() + b"\n"], files)
    return server
