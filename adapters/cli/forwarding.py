"""Runs a command in a process of the background engine that has already imported everything (background/commands.py).

This module imports little, because it runs before the command line imports anything else.
"""

import json
import os
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import mnemolog

NAME = "commands.sock"
LONGEST = 100  # bytes of a socket's path
FILES = 4  # Standard input, output and error, and the working directory.
REQUEST_BYTES = 1 << 20
# These run an engine or outlive it, or inspect this installation.
OWN = frozenset({"up", "demo", "doctor", "mcp"})


def forwarded(arguments: Sequence[str]) -> int | None:
    """The exit code, or None if no engine runs it; the command then runs in this process."""
    address = _address(arguments)
    if address is None:
        return None
    with ExitStack() as stack:
        server = stack.enter_context(socket.socket(socket.AF_UNIX))
        try:
            server.connect(address)
            directory = os.open(".", os.O_RDONLY)
            stack.callback(os.close, directory)
            socket.send_fds(server, [_request(arguments)], [0, 1, 2, directory])
            answers = stack.enter_context(server.makefile())
            child = answers.readline().strip()
        except OSError:
            return None
        if not child.isdigit():
            return None
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, lambda number, _: os.kill(int(child), number))
        code = answers.readline().strip()
    if not code:
        sys.stderr.write("✗ the process that ran this command was killed\n  → run it again\n")
        return 3
    return int(code) if int(code) >= 0 else 128 - int(code)


def identity() -> list[str]:
    """Identifies an installation: commands of another one are not forwarded."""
    return [mnemolog.__version__, sys.prefix, str(Path(mnemolog.__file__).resolve()), str(os.getuid())]


def socket_of(data_dir: Path) -> str | None:
    """The path of the socket for commands, or None if it is too long for a socket."""
    address = str(data_dir / NAME)
    return address if len(os.fsencode(address)) <= LONGEST else None


def _request(arguments: Sequence[str]) -> bytes:
    umask = os.umask(0)
    os.umask(umask)
    request = {
        "identity": identity(),
        "arguments": list(arguments),
        "environment": dict(os.environ),
        "umask": umask,
        "ignores_interrupts": signal.getsignal(signal.SIGINT) is signal.SIG_IGN,
    }
    return json.dumps(request).encode() + b"\n"


def _address(arguments: Sequence[str]) -> str | None:
    """The socket of the data directory in these arguments, or None if there is none."""
    data_dir, rest = _data_dir(arguments)
    if not rest or rest[0].startswith("-") or rest[0] in OWN or "_MNEMOLOG_COMPLETE" in os.environ:
        return None
    address = None
    with suppress(OSError, RuntimeError, ValueError):  # No path; the settings say so.
        address = socket_of(Path(data_dir).expanduser().resolve()) if data_dir else None
    return address if address and os.path.exists(address) else None


def _data_dir(arguments: Sequence[str]) -> tuple[str | None, Sequence[str]]:
    """The data directory from the global options, the environment or the settings file; and the remaining arguments."""
    given, position = None, 0
    while position < len(arguments) and arguments[position].startswith("-"):
        word, _, value = arguments[position].partition("=")
        if word in ("-d", "--data-dir"):
            position += not value
            given = value or (arguments[position] if position < len(arguments) else None)
        elif word not in ("-v", "--verbose"):
            return None, ()
        position += 1
    said = given or os.environ.get("MNEMOLOG_DATA_DIR") or _in_file()
    return said, arguments[position:]


def _in_file() -> str | None:
    file = Path(os.environ.get("MNEMOLOG_CONFIG") or "mnemolog.toml").expanduser()
    if not file.is_file():
        return "~/.mnemolog"
    import tomllib

    with suppress(OSError, ValueError), file.open("rb") as settings:
        return str(tomllib.load(settings).get("data_dir", "~/.mnemolog"))
    return None
