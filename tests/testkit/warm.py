"""Commands in processes that a fork server makes: real processes, without the two seconds of imports of each."""

import atexit
import functools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

ROOT = Path(__file__).parents[2]
SCRIPT = """#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    place = {{"environment": dict(os.environ), "directory": os.getcwd()}}
    request = {{"module": {module!r}, "arguments": sys.argv[1:], **place}}
    socket.send_fds(server, [json.dumps(request).encode() + b"\\n"], [0, 1, 2])
    answers = server.makefile()
    answers.readline()
    sys.exit(int(answers.readline() or "1"))
"""
COMMAND = "mnemolog.adapters.cli"


@functools.cache
def fork_server() -> str:
    """The address of this process's fork server, which is started by the first who asks and ends with the process."""
    folder = tempfile.TemporaryDirectory(prefix="mnemolog-tests-")
    address = f"{folder.name}/socket"
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.testkit.fork_server", address],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # A thread would be lost in a fork.
    )
    assert server.stdin is not None
    assert server.stdout is not None
    with server.stdout as out:
        if out.readline() != b"ready\n":
            raise AssertionError(f"the fork server did not start: exit code {server.wait(20)}")

    @atexit.register
    def end() -> None:
        server.communicate()  # Its input ends, and so does it.
        folder.cleanup()

    return address


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
        return Forked(COMMAND, arguments, environment, files).wait(seconds)


class Forked:
    """A module's `main` in a process of its own, with its arguments, environment and three files."""

    def __init__(
        self, module: str, arguments: Sequence[str], environment: Mapping[str, str], files: Sequence[int]
    ) -> None:
        self._server = socket.socket(socket.AF_UNIX)
        self._server.connect(fork_server())
        place = {"environment": {**environment}, "directory": str(Path.cwd())}
        request = {"module": module, "arguments": [*arguments], **place}
        socket.send_fds(self._server, [json.dumps(request).encode() + b"\n"], files)
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


@functools.cache
def script_folder() -> Path:
    """A folder for the front of a PATH: its `mnemolog` has the fork server run the command."""
    folder = Path(fork_server()).parent
    script = folder / "mnemolog"
    script.write_text(SCRIPT.format(python=sys.executable, address=fork_server(), module=COMMAND), encoding="utf-8")
    script.chmod(0o755)
    return folder
