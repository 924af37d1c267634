"""Runs the reading of a file in a process of its own, with limits: what a hostile file does ends there."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress

from mnemolog.adapters.artifacts.chunks import Section
from mnemolog.adapters.artifacts.reading import Found, Refused
from mnemolog.domain.artifact import Refusal

MEMORY = 1024**3
CPU_SECONDS, SECONDS = 60, 120
MAX_OUTPUT = 64 * 1024 * 1024
READER = "mnemolog.adapters.artifacts.reading"
# None of ours: neither the master key nor model keys are in its environment.
ENVIRONMENT = {"LANG": "C.UTF-8", "PATH": "/usr/bin:/bin"}


async def read_apart(
    content: bytes, name: str, mime: str, *, memory: int = MEMORY, cpu_seconds: int = CPU_SECONDS
) -> Found:
    """The content of the file; Refused says why it was not read."""
    request = {"name": name, "mime": mime, "limits": {"bytes": memory, "seconds": cpu_seconds}}
    sent = json.dumps(request).encode() + b"\n" + content
    code, out = await run([sys.executable, "-I", "-m", READER], sent, SECONDS)
    if code == -signal.SIGXCPU or code == -signal.SIGKILL:
        raise Refused(Refusal.TOO_SLOW, f"more than {cpu_seconds} s of processor time")
    try:
        answer = json.loads(out)
    except ValueError as error:
        raise Refused(Refusal.BROKEN, "its reader crashed") from error
    if "refused" in answer:
        raise Refused(Refusal(answer["refused"]), answer["detail"])
    return Found(**{**answer, "chunks": [Section(*one) for one in answer["chunks"]]})


async def run(command: Sequence[str], sent: bytes, seconds: float) -> tuple[int, bytes]:
    """The exit code and the output of a command; Refused if it takes too long or writes too much."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=ENVIRONMENT,
        cwd="/",
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(seconds):
            out, _ = await asyncio.gather(_read(process), _send(process, sent))
            return await process.wait(), out
    except TimeoutError as error:
        raise Refused(Refusal.TOO_SLOW, f"more than {seconds:g} s") from error
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


async def _send(process: asyncio.subprocess.Process, sent: bytes) -> None:
    assert process.stdin
    with suppress(ConnectionError):  # It has read enough.
        process.stdin.write(sent)
        await process.stdin.drain()
    process.stdin.close()


async def _read(process: asyncio.subprocess.Process) -> bytes:
    assert process.stdout
    out = bytearray()
    while part := await process.stdout.read(1 << 16):
        out += part
        if len(out) > MAX_OUTPUT:
            raise Refused(Refusal.TOO_MUCH_TEXT, "its reader printed too much")
    return bytes(out)
