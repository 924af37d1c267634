"""Four web workers, a process pool, a notebook and the command line on one data directory, each killed now and then.

python -m tests.bench.programs [--seconds 60] [--seed S]

Each program writes memories, one after another, and sends a write again under its idempotency key until it is
acknowledged. A killer ends with SIGKILL whatever has its turn: a web worker, a worker of the pool, the notebook's
kernel, a command, the engine. At the end the log is read: an acknowledged write that is not there is `lost`, one that
is there twice is `doubled`. Then all programs end, and what still runs is `servers_left`. The last line is JSON.
"""

import argparse
import asyncio
import json
import os
import queue
import random
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, suppress
from itertools import count
from pathlib import Path
from typing import Any, Protocol

import httpx
import psutil  # type: ignore[import-untyped]
from rich.console import Console

from mnemolog import Memory
from mnemolog.adapters.config import load
from mnemolog.adapters.embedded import engine_runs, running_engine
from mnemolog.adapters.engine.engine import open_engine
from mnemolog.events.envelope import StreamId
from tests.background.conftest import servers
from tests.faults.checker import MARK, mark_of

WORKERS = 4
ANSWER_SECONDS = 60.0
END_SECONDS = 90.0
SCRIPT = str(Path(sys.executable).with_name("mnemolog"))
CELL = "str(memory.create({text!r}, user_id='notebook', idempotency_key={key!r}).memory_id)"


class Program(Protocol):
    """Writes by a program of its kind; `pids` are those that may be killed."""

    def write(self, text: str, key: str) -> None: ...
    def pids(self) -> Sequence[int]: ...
    def close(self) -> None: ...


class Web:
    """uvicorn with four workers; its supervisor replaces those that die."""

    def __init__(self) -> None:
        self._port = _free_port()
        command = ["-m", "uvicorn", "tests.bench.programs_app:app", "--port", str(self._port), "--log-level", "error"]
        self._process = subprocess.Popen([sys.executable, *command, "--workers", str(WORKERS)])

    def write(self, text: str, key: str) -> None:
        asked = {"text": text, "user": "web", "key": key}
        url = f"http://127.0.0.1:{self._port}/memories"
        httpx.post(url, params=asked, timeout=ANSWER_SECONDS).raise_for_status()

    def pids(self) -> Sequence[int]:
        children = psutil.Process(self._process.pid).children()
        return [one.pid for one in children if "resource_tracker" not in " ".join(one.cmdline())]

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(END_SECONDS)


class Pool:
    """A process pool whose workers are forked while the parent itself uses the memory."""

    def __init__(self) -> None:
        self._memory = Memory()
        self._pool = self._started()

    def write(self, text: str, key: str) -> None:
        try:
            self._pool.submit(_in_the_pool, text, key).result(ANSWER_SECONDS)
        except BrokenProcessPool:
            self._pool.shutdown(wait=False)
            self._pool = self._started()
            raise

    def pids(self) -> Sequence[int]:
        return list(self._pool._processes)

    def close(self) -> None:
        self._pool.shutdown()
        self._memory.close()

    def _started(self) -> ProcessPoolExecutor:
        global _inherited
        _inherited = self._memory
        self._memory.search("warm", user_id="pool")
        return ProcessPoolExecutor(2)


class Notebook:
    """An IPython kernel, which runs cells inside its event loop."""

    def __init__(self) -> None:
        self._start()

    def write(self, text: str, key: str) -> None:
        if not self._manager.is_alive():
            self._client.stop_channels()
            self._start()
        answer = self._run(CELL.format(text=text, key=key))
        if answer != "ok":
            raise RuntimeError(answer)

    def pids(self) -> Sequence[int]:
        provisioner: Any = self._manager.provisioner
        return [provisioner.pid] if self._manager.is_alive() else []

    def close(self) -> None:
        self._client.stop_channels()
        self._manager.shutdown_kernel()

    def _start(self) -> None:
        from jupyter_client.manager import KernelManager

        self._manager = KernelManager()
        self._manager.start_kernel()
        self._client = self._manager.blocking_client()
        self._client.start_channels()
        self._client.wait_for_ready(ANSWER_SECONDS)
        self._run("from mnemolog import Memory\nmemory = Memory()")

    def _run(self, cell: str) -> str:
        asked, until = self._client.execute(cell), time.monotonic() + ANSWER_SECONDS
        while time.monotonic() < until and self._manager.is_alive():
            with suppress(queue.Empty):
                answer = self._client.get_shell_msg(timeout=0.5)
                if answer["parent_header"].get("msg_id") == asked:
                    return str(answer["content"].get("evalue") or answer["content"]["status"])
        raise TimeoutError("the kernel did not answer")


class CommandLine:
    """A command for each write."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def write(self, text: str, key: str) -> None:
        command = [SCRIPT, "create", text, "--user", "cli", "--key", key, "--json"]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if code := self._process.wait(ANSWER_SECONDS):
            raise RuntimeError(f"exit code {code}")

    def pids(self) -> Sequence[int]:
        return [self._process.pid] if self._process and self._process.poll() is None else []

    def close(self) -> None:
        """There is nothing that stays."""


KINDS: dict[str, Callable[[], Program]] = {"web": Web, "pool": Pool, "notebook": Notebook, "cli": CommandLine}
_inherited: Memory | None = None


class Writer(threading.Thread):
    """Writes through one program until the end, each write until it is acknowledged."""

    def __init__(self, name: str, program: Program, marks: Iterator[int], ended: threading.Event) -> None:
        super().__init__(name=name, daemon=True)
        self._program, self._marks, self._ended = program, marks, ended
        self.acknowledged: list[str] = []
        self.repeated = 0

    def run(self) -> None:
        while not self._ended.is_set():
            mark = f"{MARK}{next(self._marks)}"
            while not self._written(mark):
                self.repeated += 1
                if self._ended.wait(0.1):
                    return
            self.acknowledged.append(mark)

    def _written(self, mark: str) -> bool:
        try:
            self._program.write(f"{self.name} writes {mark}", mark)
        except Exception:  # noqa: BLE001  Whatever it was, it is no acknowledgement.
            return False
        return True


def run(seconds: float, seed: int, data_dir: Path) -> dict[str, Any]:
    """What became of the writes, and of the servers."""
    chance, ended, marks = random.Random(seed), threading.Event(), count()
    killed: Counter[str] = Counter()
    with ExitStack() as stack:
        programs = {name: kind() for name, kind in KINDS.items()}
        for program in programs.values():
            stack.callback(program.close)
        writers = [Writer(name, program, marks, ended) for name, program in programs.items()]
        for writer in writers:
            writer.start()
        victims = [*KINDS, "engine"]
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            time.sleep(min(left, seconds / 15 * chance.uniform(0.5, 1.5)))
            victim = victims[killed.total() % len(victims)]
            killed[victim] += _kill(victim, programs, data_dir, chance)
        ended.set()
        for writer in writers:
            writer.join(2 * ANSWER_SECONDS)
        acknowledged = {mark for writer in writers for mark in writer.acknowledged}
        found = asyncio.run(_in_the_log(data_dir))
    began = time.monotonic()
    while (servers(data_dir) or engine_runs(data_dir)) and time.monotonic() < began + END_SECONDS:
        time.sleep(0.2)
    return {
        "acknowledged": len(acknowledged),
        "by_program": {writer.name: len(writer.acknowledged) for writer in writers},
        "repeated": sum(writer.repeated for writer in writers),
        "killed": dict(killed),
        "lost": len(acknowledged - found.keys()),
        "doubled": sum(number > 1 for number in found.values()),
        "servers_left": len(servers(data_dir)),
        "seconds_to_end": round(time.monotonic() - began, 1),
        "seed": seed,
    }


def _kill(victim: str, programs: dict[str, Program], data_dir: Path, chance: random.Random) -> int:
    """Whether there was somebody to kill, waiting a moment for one."""
    for _ in range(100):
        engine = running_engine(data_dir)
        pids = programs[victim].pids() if victim in programs else [engine.pid] if engine and engine.ready else []
        if pids:
            with suppress(ProcessLookupError):
                os.kill(chance.choice(pids), signal.SIGKILL)
                return 1
        time.sleep(0.02)
    return 0


async def _in_the_log(data_dir: Path) -> Counter[str]:
    """How often each write stands in the log."""
    found: Counter[str] = Counter()
    async with open_engine(load(data_dir=data_dir), attach=True) as engine:
        for name in KINDS:
            found.update(mark for event in await engine.log.read(StreamId.of_user(name)) if (mark := mark_of(event)))
    return found


def _in_the_pool(text: str, key: str) -> str:
    assert _inherited is not None
    return str(_inherited.create(text, user_id="pool", idempotency_key=key).memory_id)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1 << 32))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mnemolog-bench-") as folder:
        data_dir = Path(folder).resolve() / "data"
        os.environ |= {
            "MNEMOLOG_DATA_DIR": str(data_dir),
            "MNEMOLOG_ENGINE": "background",
            "MNEMOLOG_EMBEDDER": "lexical",
            "MNEMOLOG_IDLE_GRACE": "2",
        }
        outcome = run(arguments.seconds, arguments.seed, data_dir)
    Console().print(json.dumps(outcome), soft_wrap=True, highlight=False)
    return 0 if not (outcome["lost"] or outcome["doubled"] or outcome["servers_left"]) else 1


if __name__ == "__main__":
    sys.exit(main())
