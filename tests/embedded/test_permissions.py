"""Root, other users, and directories that are closed to them."""

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import psycopg
import pytest

from mnemolog.adapters.embedded import EmbeddedServers, binaries, postgres_binaries
from mnemolog.domain.errors import ServerFailed
from tests.embedded.clients import read_everywhere, write_everywhere
from tests.embedded.conftest import run_engine

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
NOBODY = 65534


@pytest.fixture
def strict_umask() -> Iterator[None]:
    before = os.umask(0o077)
    yield
    os.umask(before)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as path:
        Path(path).chmod(0o755)
        yield Path(path)


def only_postgres(data_dir: Path) -> EmbeddedServers:
    return EmbeddedServers(data_dir, durable=False, nats_url="nats://x", redis_url="redis://x")


@as_root
def test_root_runs_postgres_in_a_closed_directory_and_leaves_its_permissions_alone(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    modes = {path: path.stat().st_mode for path in (closed, *closed.parents)}

    with only_postgres(closed / "data") as servers:
        assert psutil.Process(servers.pids["postgres"]).uids().effective != 0

    assert {path: path.stat().st_mode for path in modes} == modes


@as_root
@pytest.mark.usefixtures("strict_umask")
def test_root_runs_postgres_whose_binaries_are_in_a_closed_directory(
    data_dir: Path, tmp_path: Path, open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    install = binaries.require("postgres").parents[1]
    package = closed / install.parent.name
    shutil.copytree(install, package / install.name, symlinks=True)
    shutil.copytree(install.parent.with_name(f"{package.name}.libs"), closed / f"{package.name}.libs")
    monkeypatch.setattr(binaries, "_postgres", lambda: iter([package / install.name / "bin" / "postgres"]))
    monkeypatch.setattr(postgres_binaries, "SHARED", open_folder / "shared")

    with only_postgres(data_dir) as servers, psycopg.connect(servers.endpoints.postgres_dsn) as connection:
        connection.execute("CREATE EXTENSION vector")
        assert psutil.Process(servers.pids["postgres"]).exe().startswith(str(open_folder / "shared"))


@as_root
def test_data_that_root_copied_is_given_back_to_postgres(data_dir: Path, tmp_path: Path) -> None:
    with only_postgres(data_dir):
        pass
    copy = tmp_path / "copy"
    copy.mkdir()
    shutil.copytree(data_dir / "postgres", copy / "postgres")

    with only_postgres(copy) as servers:
        assert servers.pids.keys() == {"postgres"}


@as_root
async def test_another_user_runs_it_without_any_change_of_user(open_folder: Path) -> None:
    os.chown(open_folder, NOBODY, NOBODY)
    engine = run_engine(open_folder / "data", str(NOBODY))

    await write_everywhere(engine.endpoints, "tea")
    assert await read_everywhere(engine.endpoints) == {"postgres": ["tea"], "nats": ["tea"], "redis": ["tea"]}
    assert str(open_folder / "data" / "run") in engine.endpoints.postgres_dsn
    assert {psutil.Process(pid).uids().effective for pid in engine.pids.values()} == {NOBODY}

    engine.process.send_signal(signal.SIGTERM)
    assert engine.process.wait(60) == 0
    assert not any(psutil.pid_exists(pid) for pid in engine.pids.values())


def test_data_of_another_postgres_is_refused_with_its_version(data_dir: Path) -> None:
    (data_dir / "postgres").mkdir(parents=True)
    (data_dir / "postgres" / "PG_VERSION").write_text("16\n")
    with pytest.raises(ServerFailed, match="data of Postgres 16"):
        only_postgres(data_dir).start()
