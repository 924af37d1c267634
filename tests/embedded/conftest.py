"""Engines for tests of the embedded servers."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from mnemolog.adapters.embedded import EmbeddedServers, Endpoints
from tests.testkit.clusters import new_clusters

SCRIPT = Path(__file__).with_name("engine_process.py")


@dataclass
class EngineProcess:
    """An engine in another process, which can be killed without killing the test."""

    process: subprocess.Popen[str]
    endpoints: Endpoints
    pids: dict[str, int]


def run_engine(data_dir: Path, *options: str) -> EngineProcess:
    process = subprocess.Popen(
        [sys.executable, SCRIPT, str(data_dir), *options], stdout=subprocess.PIPE, text=True, cwd="/"
    )
    assert process.stdout is not None
    with process.stdout as out:
        line = out.readline()
    if not line:
        raise AssertionError(f"the engine did not start: exit code {process.wait(20)}")
    said = json.loads(line)
    return EngineProcess(process, Endpoints(**said["endpoints"]), said["pids"])


@pytest.fixture(autouse=True)
def clusters_by_initdb() -> Iterator[None]:
    with new_clusters():
        yield


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def servers(data_dir: Path) -> Iterator[EmbeddedServers]:
    with EmbeddedServers(data_dir, durable=False) as running:
        yield running
