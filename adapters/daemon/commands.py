"""Runs commands in forks of a preloaded process, so that commands next to a background engine are fast.

The process is forked from the engine before anything runs in it, so it shares the engine's memory and costs no imports.
Each command is a process of its own, with the arguments, environment, directory and files of whoever asks. The process
ends with the engine, once its commands have ended.
"""

import atexit
import gc
import json
import os
import selectors
import signal
import socket
import sys
import threading
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

from mnemolog.adapters.cli.forwarding import FILES, REQUEST_BYTES, identity, socket_of

INTERRUPT = {signal.SIGINT}


def fork_server(data_dir: Path) -> int | None:
    """Start it. The engine keeps the returned descriptor open until it ends; None if no socket can be made."""
    address = socket_of(data_dir)
    if address is None:
        return None
    ended, alive = os.pipe()
    if os.fork():
        os.close(ended)
        return alive
    os.close(alive)
    Path(address).unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        os.chmod(address, 0o600)
        listener.listen(64)
        from mnemolog.adapters.cli import app  # Once for all commands.
        from mnemolog.domain.extraction import forms

        app.parser()
        forms.compile_all()
        gc.freeze()
        gc.enable()
        is_command = _serve(listener, ended)
    if is_command:
        _run()
    with suppress(FileNotFoundError):
        os.unlink(address)
    os._exit(0)


def _serve(listener: socket.socket, engine: int) -> bool:
    """True in each child, once it has its request; False in the server after the engine and all children ended."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    running: dict[int, socket.socket] = {}
    lives = True
    with selectors.DefaultSelector() as selector:
        for readable in (listener, woken, engine):
            selector.register(readable, selectors.EVENT_READ)
        while lives or running:
            for key, _ in selector.select():
                if key.fileobj is listener:
                    client, _ = listener.accept()
                    child = _forked(client)
                    if child == 0:
                        signal.set_wakeup_fd(-1)
                        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                        return True
                    if child:
                        running[child] = client
                        selector.register(client, selectors.EVENT_READ, child)
                elif key.fileobj == woken:
                    os.read(woken, 4096)
                    _tell_ended(running, selector)
                elif key.fileobj == engine:
                    lives = False
                    selector.unregister(engine)
                    selector.unregister(listener)
                    listener.close()
                else:  # The client has disconnected.
                    selector.unregister(key.fileobj)
                    with suppress(ProcessLookupError):
                        os.kill(key.data, signal.SIGTERM)
    return False


def _forked(client: socket.socket) -> int | None:
    """The child's process id, and 0 in the child. None for a refused or incomplete request."""
    with suppress(OSError, ValueError):
        client.settimeout(5.0)
        message, files, _, _ = socket.recv_fds(client, REQUEST_BYTES, FILES)
        while message and not message.endswith(b"\n"):
            message += client.recv(REQUEST_BYTES)
        request = json.loads(message)
        if request["identity"] == identity() and len(files) == FILES:
            # An interrupt waits until the child is the command, and nothing else that an exception would unwind.
            signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPT)
            if child := os.fork():
                signal.pthread_sigmask(signal.SIG_UNBLOCK, INTERRUPT)
                for file in files:
                    os.close(file)
                client.sendall(b"%d\n" % child)
                return child
            client.close()
            _become(request, files)
            return 0
        for file in files:
            os.close(file)
        client.sendall(b"no\n")
    client.close()
    return None


def _become(request: dict[str, Any], files: list[int]) -> None:
    *standard, directory = files
    for number, file in enumerate(standard):
        os.dup2(file, number)
    os.fchdir(directory)
    for file in files:
        os.close(file)
    os.umask(request["umask"])
    # The engine's own setting is that of the shell that happened to start it, which ignores them for a background job.
    interrupted = signal.SIG_IGN if request["ignores_interrupts"] else signal.default_int_handler
    signal.signal(signal.SIGINT, interrupted)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.setpgid(0, 0)
    time.tzset()
    sys.argv = ["mnemolog", *request["arguments"]]


def _tell_ended(running: dict[int, socket.socket], selector: selectors.BaseSelector) -> None:
    for child in list(running):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            client = running.pop(child)
            with suppress(KeyError):
                selector.unregister(client)
            with client, suppress(OSError):
                client.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))


def _run() -> None:
    """The console script's entry point. Everything that read the environment at import is created again."""
    from mnemolog.adapters.cli import app, output

    # Not reconfigured: they remember the state of their former descriptors.
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", buffering=1 if os.isatty(1) else -1, closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115
    sys.modules["__main__"].__package__ = None  # The parser would take the program's name from it.
    output.console.__init__()  # type: ignore[misc]
    output.errors.__init__(stderr=True)  # type: ignore[misc]
    code: object = 0
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, INTERRUPT)
        app.run()
    except SystemExit as end:
        code = end.code
    except KeyboardInterrupt:
        code = 130
    except BaseException:  # noqa: BLE001  As an interpreter does.
        traceback.print_exc()
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for out in (sys.stdout, sys.stderr):
        with suppress(OSError):
            out.flush()
    # Without unloading modules, which would copy all shared memory.
    os._exit(code if isinstance(code, int) else int(code is not None))
