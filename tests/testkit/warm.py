"""Commands in processes that a fork server makes: real processes, without the two seconds of imports of each."""

import atexit
import functools
import json
import os
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
    request = {{"arguments": sys.argv[1:], "environment": dict(os.environ), "directory": os.getcwd()}}
    socket.send_fds(server, [json.dumps(request).encode() + b"\\n"], [0, 1, 2])
    sys.exit(int(server.makefile().readline() or "1"))
"""


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
    with socket.socket(socket.AF_UNIX) as server, tempfile.TemporaryFile() as given:
        given.write(stdin)
        given.seek(0)
        server.settimeout(seconds)
        server.connect(fork_server())
        request = {"arguments": [*arguments], "environment": {**environment}, "directory": str(Path.cwd())}
        files = [given.fileno(), out.fileno(), err.fileno()]
        socket.send_fds(server, [json.dumps(request).encode() + b"\n"], files)
        return int(server.makefile().readline())


@functools.cache
def script_folder() -> Path:
    """A folder for the front of a PATH: its `mnemolog` has the fork server run the command."""
    folder = Path(fork_server()).parent
    script = folder / "mnemolog"
    script.write_text(SCRIPT.format(python=sys.executable, address=fork_server()), encoding="utf-8")
    script.chmod(0o755)
    return folder
