"""Programs of their own on one data directory, and an end without anything left."""

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
import pytest

from mnemolog.adapters.background import attaching
from mnemolog.adapters.background.clients import entering
from mnemolog.adapters.embedded import Endpoints, engine_runs, running_engine
from mnemolog.adapters.embedded.leftovers import working_in
from mnemolog.domain.errors import DataDirectoryInUse
from tests.testkit import warm
from tests.testkit.warm import Forked

SERVERS = {"postgres": ["postgres", "initdb"], "nats": ["nats-server"], "redis": ["redis-server"]}
PATIENCE = 120.0


class Running:
    """A program in a process of its own, which begins with its imports done (tests/testkit/warm.py)."""

    def __init__(self, data_dir: Path, settings: dict[str, Any]) -> None:
        heard, told = os.pipe()
        said, says = os.pipe()
        arguments = [str(data_dir), json.dumps(settings)]
        self.process = Forked(["-m", "tests.background.program", *arguments], os.environ, [heard, says, 2])
        for end in (heard, says):
            os.close(end)
        self._stdin, self._stdout = os.fdopen(told, "w"), os.fdopen(said)

    def ask(self, *words: object) -> None:
        self._stdin.write(json.dumps(words) + "\n")
        self._stdin.flush()

    def answer(self) -> Any:
        line = self._stdout.readline()
        assert line, f"the program ended with {self.process.wait(PATIENCE)}"
        return json.loads(line)

    def does(self, *words: object) -> Any:
        self.ask(*words)
        return self.answer()

    def kill(self) -> None:
        self.process.kill()
        self._let_go()

    def end(self) -> int:
        """As a program ends that closes nothing."""
        with suppress(BrokenPipeError):
            self._stdin.close()
        code = self.process.wait(PATIENCE)
        self._let_go()
        return code

    def _let_go(self) -> None:
        self.process.wait(PATIENCE)
        for pipe in (self._stdin, self._stdout):
            with suppress(BrokenPipeError):
                pipe.close()


@pytest.fixture(autouse=True)
def warm_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that a test starts in the background begins with its imports done, too."""
    monkeypatch.setattr(sys, "executable", warm.python())


@pytest.fixture
def data_dir(tmp_path: Path) -> Iterator[Path]:
    """Whatever the test left there is stopped."""
    path = tmp_path / "data"
    yield path
    if path.exists():
        with entering(path), suppress(DataDirectoryInUse):
            attaching.stop(path)
        eventually(lambda: not servers(path))


@pytest.fixture
def program(data_dir: Path) -> Iterator[Callable[..., Running]]:
    """Starts a program; all are ended with the test."""
    started: list[Running] = []

    def start(**settings: Any) -> Running:
        started.append(Running(data_dir, settings))
        return started[-1]

    yield start
    for one in started:
        if one.process.returncode is None:
            one.end()


def engine_of(data_dir: Path) -> Endpoints:
    """The engine that runs; while one takes over from another, for a moment none says so."""
    ends_at = time.monotonic() + PATIENCE
    while (found := running_engine(data_dir)) is None:
        assert time.monotonic() < ends_at, "no engine runs"
        time.sleep(0.05)
    return found


def kill_engine(data_dir: Path) -> int:
    pid = engine_of(data_dir).pid
    os.kill(pid, signal.SIGKILL)
    return pid


def servers(data_dir: Path) -> Sequence[psutil.Process]:
    """The servers that work in this directory, whoever started them."""
    return [
        one
        for name, names in SERVERS.items()
        if (data_dir / name).exists()
        for one in working_in(data_dir / name, names)
    ]


def gone(data_dir: Path) -> bool:
    """Whether no engine and no server is there any more."""
    return not engine_runs(data_dir) and not servers(data_dir)


def eventually(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < until, "it never came to hold"
        time.sleep(0.05)
