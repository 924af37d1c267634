"""A process that has imported what commands import, and forks itself for each: 0.1 s of processor instead of 2.

`python -m tests.testkit.fork_server SOCKET` serves until its standard input ends. The child is a process of its own
with the given arguments, environment, directory and files, and runs `main` of the given module: the console script's
entry point, or a program of the tests. Whoever asked is told its process id at once and its exit code at its end. What
looks at the environment when it is imported, the consoles, is made anew in it; and it ends without taking its modules
down, which would copy all that it shares.
"""

import atexit
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import sys
import threading
import traceback
from contextlib import suppress

REQUEST_BYTES = 1 << 20
FILES = 3


def preload() -> None:
    for name in ("adapters.cli.app", "adapters.http.app", "adapters.postgres.migrate", "blocking"):
        importlib.import_module(f"mnemolog.{name}")
    importlib.import_module("mnemolog.adapters.cli.app").parser()


def serve(listener: socket.socket) -> None:
    """Returns in each child, once it is what the request asks for; in the server when standard input ends."""
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
                    if (child := _forked(client)) is None:
                        signal.set_wakeup_fd(-1)
                        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                        return
                    running[child] = client
                else:
                    os.read(woken, 4096)
                    _tell_ended(running)


def _forked(client: socket.socket) -> int | None:
    """The child's process id; None in the child."""
    message, files, _, _ = socket.recv_fds(client, REQUEST_BYTES, FILES)
    while not message.endswith(b"\n"):
        message += client.recv(REQUEST_BYTES)
    if child := os.fork():
        for file in files:
            os.close(file)
        client.sendall(b"%d\n" % child)
        return child
    client.close()
    request = json.loads(message)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.setsid()
    os.chdir(request["directory"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = [request["module"], *request["arguments"]]
    return None


def _tell_ended(running: dict[int, socket.socket]) -> None:
    for child in list(running):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            with running.pop(child) as client, suppress(OSError):  # Who asked may have gone.
                client.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))


def run() -> None:
    """The module's `main`, in the child."""
    from mnemolog.adapters.cli import output

    output.console.__init__()  # type: ignore[misc]
    output.errors.__init__(stderr=True)  # type: ignore[misc]
    code: object = 0
    try:
        importlib.import_module(sys.argv[0]).main()
    except SystemExit as end:
        code = end.code
    except BaseException:  # noqa: BLE001  As an interpreter does it.
        traceback.print_exc()
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for out in (sys.stdout, sys.stderr):
        out.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


if __name__ == "__main__":
    preload()
    gc.freeze()  # So that children share what is there, and none looks through it for garbage.
    with socket.socket(socket.AF_UNIX) as own:
        own.bind(sys.argv[1])
        own.listen(64)
        print("ready", flush=True)  # noqa: T201
        serve(own)
    run()
