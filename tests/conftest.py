"""What many tests share: one engine on real servers for the whole run, and a user of its own for each test."""

import gc
import os
import shutil
import socket
from collections.abc import AsyncIterator, Iterator
from itertools import count
from pathlib import Path

import pytest

from mnemolog.adapters.embedded.socket_directory import socket_directory
from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.domain.webhook import Address
from tests.testkit.clusters import copy_clusters
from tests.testkit.examples import register
from tests.testkit.settings import PATIENCE, settings_in

register()
copy_clusters()
gc.disable()  # Until all tests are collected: what is imported stays.
# Tests run their engines themselves, unless they are about the one in the background.
os.environ["MNEMOLOG_ENGINE"] = "in-process"
# A busy machine may need longer than the seconds that a read waits for what was written before.
os.environ["MNEMOLOG_READ_DEADLINE"] = os.environ["MNEMOLOG_APPEND_DEADLINE"] = str(PATIENCE)
# Facts appear when a test records them, unless it is about their extraction.
os.environ["MNEMOLOG_EXTRACTION"] = "off"
_users: Iterator[int] = count(1)
LONGEST = (
    "tests/engine/test_lives.py",
    "tests/docs/test_code_blocks.py",
    "tests/faults/test_run.py",
    "tests/faults/test_kill.py",
    "tests/upgrades/test_upgrade.py",
    "tests/engine/test_rebuild.py",
    "tests/engine/test_isolation.py",
    "tests/engine/test_two_databases.py",
    "tests/adapters/http/console/test_browser.py",
    "tests/tamper/test_rows.py",
    "tests/fuzz/test_contract.py",
    "tests/adapters/test_operations.py",
    "tests/engine/test_erasure.py",
    "tests/tamper/test_rollback.py",
    "tests/adapters/http/test_everything.py",
    "tests/engine/test_summary_kinds.py",
    "tests/engine/test_prove_erased.py",
    "tests/tamper/test_stops_and_progress.py",
    "tests/tamper/test_matrix.py",
    "tests/background/test_background_engine.py",
    "tests/engine/test_poisoning.py",
    "tests/projections/test_query.py",
    "tests/engine/test_partitions.py",
    "tests/engine/test_as_of.py",
    "tests/tamper/test_index.py",
    "tests/faults/test_working_memory.py",
    "tests/adapters/python/test_program_end.py",
    "tests/engine/test_minds_in_any_order.py",
    "tests/engine/test_extraction_by_model.py",
    "tests/adapters/nats/test_takeover.py",
    "tests/docs/test_bad_input.py",
    "tests/engine/test_slow_model.py",
    "tests/adapters/export/test_export.py",
)
QUICK = ("tests/domain/", "tests/events/")
if unknown := [name for name in LONGEST if not (Path(__file__).parents[1] / name).exists()]:
    raise FileNotFoundError(f"LONGEST names {unknown}")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Have `--reruns` ask at once whether to run a test again: its two small messages else take 40 ms for each test."""
    if asker := getattr(getattr(session.config, "failures_db", None), "sock", None):
        asker.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest and end with what takes no time, so that no worker works alone at the end."""
    order = {name: place for place, name in enumerate(LONGEST)}

    def place(item: pytest.Item) -> int:
        file = item.location[0]
        return order.get(file, len(order) + file.startswith(QUICK))

    items.sort(key=place)


def pytest_collection_finish() -> None:
    """From here on, no collection of garbage walks through all modules and tests, and there are fewer of them."""
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)
    gc.enable()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say why each test was run again: such failures are rare, and seldom come back."""
    for report in terminalreporter.getreports("rerun"):
        terminalreporter.section(f"run again: {report.nodeid}")
        terminalreporter.line(report.longreprtext)


@pytest.fixture(scope="session", autouse=True)
def no_sockets_left(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Engines that tests killed have left theirs, which are in /run when the tests run as root."""
    yield
    _remove_sockets(tmp_path_factory.getbasetemp())


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    """Pytest deletes it after a test that passed; the sockets of its engines go with it."""
    yield tmp_path
    _remove_sockets(tmp_path)


def _remove_sockets(folder: Path) -> None:
    for path, folders, _ in os.walk(folder):
        if not {"postgres", "nats", "redis"}.isdisjoint(folders):
            shutil.rmtree(socket_directory(Path(path)), ignore_errors=True)
            folders.clear()


@pytest.fixture(scope="session")
async def engine(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Engine]:
    """An engine with embedded servers and the lexical embedder; each test uses users of its own.

    In the end its projections are what a rebuild makes of the events of all tests.
    """
    async with open_engine(settings_in(tmp_path_factory.mktemp("engine"))) as opened:
        opened.webhooks.sender.resolve = nowhere
        yield opened
        rebuilt = await opened.projections.rebuild_all()
        assert [one for one in rebuilt if not one.equal] == []


@pytest.fixture(scope="module")
async def guarded(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Engine]:
    """An engine for tests that make API keys: after the first, it answers nobody who has none.

    One for each file, because an engine that does nothing still takes 3 % of a core.
    """
    async with open_engine(settings_in(tmp_path_factory.mktemp("guarded"))) as opened:
        opened.webhooks.sender.resolve = nowhere
        yield opened


async def nowhere(host: str, port: int) -> list[Address]:
    """No test sends a webhook to a host that it made up."""
    raise OSError("no host is looked up here")


@pytest.fixture
def user() -> str:
    """A user id that no other test uses."""
    return f"user-{next(_users)}"
