"""A background engine: it stops after a grace period without clients, or on SIGTERM."""

import asyncio
import gc
import json
import logging
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from mnemolog.adapters.background.clients import clients, gate_of, last_change
from mnemolog.adapters.config import Settings
from mnemolog.adapters.daemon.commands import fork_server
from mnemolog.adapters.engine.engine import open_engine
from mnemolog.adapters.engine.garbage import collect_rarely
from mnemolog.adapters.priority import lower_priority
from mnemolog.domain.errors import MnemologError

_logger = logging.getLogger("mnemolog.engine")

LOOK_SECONDS = 1.0


def run(given: dict[str, Any], data_dir: str, tell: int) -> None:
    """Exit code 0 after a clean end, 1 if it could not start or a part of it failed."""
    commands = fork_server(Path(data_dir))
    gc.enable()
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    _logger.setLevel(logging.INFO)
    try:
        asyncio.run(_serve(Settings(**given), Path(data_dir), tell))
    except MnemologError as error:
        _logger.error("%s", error)
        _say(tell, {"error": error.plain()})
        sys.exit(1)
    finally:
        if commands is not None:
            os.close(commands)


async def _serve(settings: Settings, data_dir: Path, tell: int) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with open_engine(settings, kind="background") as engine:
        _logger.info("runs as pid %d", os.getpid())
        _say(tell, {"ready": True})
        collect_rarely()
        os.setsid()  # Its commands and its servers, which have started, keep their priority.
        lower_priority()
        waiting = {asyncio.create_task(stopped.wait()), asyncio.create_task(_idle(data_dir, settings.idle_grace))}
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for one in waiting:
            one.cancel()
        if engine.servers:
            engine.servers.withdraw()
        _logger.info("ends %s", "on a signal" if stopped.is_set() else "without clients")


async def _idle(data_dir: Path, grace: float) -> None:
    """Return when there has been no client for so many seconds and none can attach any more."""
    busy, changed = time.monotonic(), last_change(data_dir)
    while True:
        await asyncio.sleep(min(LOOK_SECONDS, grace / 4 or 0.05))
        before, changed = changed, last_change(data_dir)
        if await asyncio.to_thread(clients, data_dir) or changed != before:
            busy = time.monotonic()
        elif time.monotonic() - busy >= grace and await asyncio.to_thread(_closed, data_dir):
            return


def _closed(data_dir: Path) -> bool:
    """Whether the lock was taken until this process ends: not if a client holds it or waits for it."""
    gate = gate_of(data_dir)
    if not gate.acquire():
        return False
    if clients(data_dir):
        gate.release()
        return False
    return True


def _say(tell: int, what: dict[str, Any]) -> None:
    with suppress(OSError):  # The starter was killed, or has its answer already.
        os.write(tell, json.dumps(what).encode() + b"\n")
        os.close(tell)
