"""A process that has imported what commands import, and forks itself for each: 0.1 s of processor instead of 2.

`python -m tests.testkit.fork_server SOCKET INTERPRETER` serves until its standard input ends. The child is a process of
its own with the given arguments, environment, directory and files. The arguments are those of an interpreter, `-m
MODULE` (also with `-I`) or `-c CODE` and what follows, or `mnemolog` and those of a command. Interpreters that the
child starts are INTERPRETER. Whoever asked is told its process id at once and its exit code at its end; if he goes
before, it is killed.
What looks at the environment when it is imported, the consoles, is made anew in it; and it ends without taking its
modules down, which would copy all that it shares.
"""

import atexit
import fcntl
import gc
import importlib
import json
import os
import runpy
import selectors
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import ModuleType

from tests.testkit.clusters import copy_clusters

REQUEST_BYTES = 1 << 20
FILES = 250
COMMAND = "mnemolog.adapters.cli"
INTERPRETER = sys.executable
PRELOADED = (
    "adapters.cli.app",
    "adapters.daemon.process",
    "adapters.http.app",
    "adapters.nats.subscribers",
    "adapters.postgres.migrate",
    "adapters.projecting.fill_process",
    "blocking",
)


@dataclass(frozen=True, slots=True)
class Request:
    """What to run: the files get the numbers that they have in the process that asked."""

    arguments: Sequence[str]
    environment: dict[str, str]
    directory: str
    numbers: Sequence[int]
    files: Sequence[int]


def preload() -> None:
    for name in PRELOADED:
        importlib.import_module(f"mnemolog.{name}")
    importlib.import_module("mnemolog.adapters.cli.app").parser()
    importlib.import_module("mnemolog.domain.extraction.forms").compile_all()
    copy_clusters()


def serve(listener: socket.socket) -> Request:
    """Returns in each child, with what to run; in the server, the process ends when standard input does."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    running: dict[int, socket.socket] = {}
    with selectors.DefaultSelector() as selector:
        for readable in (listener, woken, sys.stdin):
            selector.register(readable, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is sys.stdin:
                    sys.exit()
                if key.fileobj is listener:
                    client, _ = listener.accept()
                    request = _asked(client)
                    if not (child := os.fork()):
                        signal.set_wakeup_fd(-1)
                        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                        for number in (woken, wake):
                            os.close(number)
                        for asking in (client, *running.values()):
                            asking.close()
                        return request
                    for file in request.files:
                        os.close(file)
                    client.sendall(b"%d\n" % child)
                    running[child] = client
                    selector.register(client, selectors.EVENT_READ, child)
                elif key.fileobj == woken:
                    os.read(woken, 4096)
                    _tell_ended(running, selector)
                elif key.fileobj in running.values():  # Whoever asked is gone.
                    selector.unregister(key.fileobj)
                    os.kill(key.data, signal.SIGKILL)


def _asked(client: socket.socket) -> Request:
    message, files, _, _ = socket.recv_fds(client, REQUEST_BYTES, FILES)
    while not message.endswith(b"\n"):
        message += client.recv(REQUEST_BYTES)
    return Request(**json.loads(message), files=files)


def _tell_ended(running: dict[int, socket.socket], selector: selectors.BaseSelector) -> None:
    for child in list(running):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            with running.pop(child) as client, suppress(OSError, KeyError):  # Who asked may have gone.
                client.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))
                selector.unregister(client)


def become(request: Request) -> None:
    """In the child, which has no other files open."""
    beyond = 1 + max(*request.numbers, *request.files)
    moved = [fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, beyond) for file in request.files]
    for file in request.files:
        os.close(file)
    for file, number in zip(moved, request.numbers, strict=True):
        os.dup2(file, number)
        os.close(file)
    os.setsid()
    os.chdir(request.directory)
    os.environ.clear()
    os.environ.update(request.environment)
    sys.executable = sys.argv[2]
    # What is written to is another file now, which may not be one that has positions.
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", errors="backslashreplace", buffering=1, closefd=False)


def run(arguments: Sequence[str]) -> None:
    """As an interpreter does it, to the end of the process."""
    from mnemolog.adapters.cli import output

    output.console.__init__()  # type: ignore[misc]
    output.errors.__init__(stderr=True)  # type: ignore[misc]
    code: object = 0
    try:
        match arguments:
            case ["-m", module, *own] | ["-I", "-m", module, *own]:
                sys.argv = ["-m", *own]
                runpy.run_module(module, run_name="__main__", alter_sys=True)
            case ["-c", source, *own]:
                sys.argv, sys.modules["__main__"] = ["-c", *own], (main := ModuleType("__main__"))
                exec(source, vars(main))
            case ["-I", *_]:  # On its own in every way: what is imported here counts against its limits.
                os.execv(INTERPRETER, [INTERPRETER, *arguments])
            case ["mnemolog", *own]:
                sys.argv = [COMMAND, *own]
                importlib.import_module(COMMAND).main()
            case _:
                code = f"{arguments} are no arguments of an interpreter"
    except SystemExit as end:
        code = end.code
    except BaseException:  # noqa: BLE001  As an interpreter does it.
        traceback.print_exc()
        code = 1
    if isinstance(code, str):
        sys.stderr.write(f"{code}\n")
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for out in (sys.stdout, sys.stderr):
        out.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


if __name__ == "__main__":
    gc.disable()  # What is imported and compiled stays: to look through it for garbage took as long as to compile it.
    preload()
    gc.freeze()  # So that children share what is there, and none looks through it for garbage.
    gc.enable()
    with socket.socket(socket.AF_UNIX) as own:
        own.bind(sys.argv[1])
        own.listen(64)
        print("ready", flush=True)  # noqa: T201
        asked = serve(own)
    become(asked)
    run(asked.arguments)
