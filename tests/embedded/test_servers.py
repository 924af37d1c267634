"""The three servers of an engine: they start, answer, stop, and can be replaced."""

import os
import shutil
import signal
import socket
from pathlib import Path
from urllib.parse import unquote, urlsplit

import psutil  # type: ignore[import-untyped]
import psycopg
import pytest
import sqlalchemy

from mnemolog.adapters.embedded import EmbeddedServers, Endpoints, binaries, running_engine
from mnemolog.domain.errors import EngineError, ServerFailed
from tests.embedded.clients import read_everywhere, write_everywhere
from tests.embedded.conftest import run_engine

EVERYWHERE = {"postgres": ["tea"], "nats": ["tea"], "redis": ["tea"]}


async def test_starts_all_three_and_they_answer(servers: EmbeddedServers) -> None:
    await write_everywhere(servers.endpoints, "tea")

    assert await read_everywhere(servers.endpoints) == EVERYWHERE
    assert set(servers.pids) == {"postgres", "nats", "redis"}


def test_postgres_is_utf8_with_vectors_and_durable_commits(data_dir: Path) -> None:
    settings = ("server_encoding", "timezone", "fsync", "synchronous_commit", "listen_addresses")
    only_postgres = EmbeddedServers(data_dir, nats_url="nats://x", redis_url="redis://x")
    with only_postgres as servers, psycopg.connect(servers.endpoints.postgres_dsn) as connection:
        connection.execute("CREATE EXTENSION vector")
        shown = [connection.execute(f"SHOW {name}").fetchone() for name in settings]
    assert [row[0] for row in shown if row] == ["UTF8", "UTC", "on", "on", ""]


def test_the_dsn_works_in_sqlalchemy(servers: EmbeddedServers) -> None:
    url = servers.endpoints.postgres_dsn.replace("postgresql:", "postgresql+psycopg:")
    engine = sqlalchemy.create_engine(url)
    with engine.connect() as connection:
        assert connection.scalar(sqlalchemy.text("SELECT current_database()")) == "mnemolog"
    engine.dispose()


def test_only_nats_listens_on_a_port_and_only_on_loopback(servers: EmbeddedServers) -> None:
    listening = {
        name: [link.laddr.ip for link in psutil.Process(pid).net_connections("inet")]
        for name, pid in servers.pids.items()
    }
    assert {name: set(addresses) for name, addresses in listening.items()} == {
        "postgres": set(),
        "nats": {"127.0.0.1"},
        "redis": set(),
    }


def test_nats_refuses_a_client_without_the_token(servers: EmbeddedServers, data_dir: Path) -> None:
    port = urlsplit(servers.endpoints.nats_url).port
    with socket.create_connection(("127.0.0.1", port or 0)) as link, link.makefile("rb") as lines:
        assert lines.readline().startswith(b"INFO")
        link.sendall(b"CONNECT {}\r\nPING\r\n")
        assert b"Authorization Violation" in lines.readline()
    assert (data_dir / "nats.token").stat().st_mode & 0o777 == 0o600
    token = (data_dir / "nats.token").read_text()
    assert not any(token in word for word in psutil.Process(servers.pids["nats"]).cmdline())


async def test_data_is_there_after_a_clean_stop_and_a_new_start(data_dir: Path) -> None:
    with EmbeddedServers(data_dir) as servers:
        await write_everywhere(servers.endpoints, "tea")
    with EmbeddedServers(data_dir) as servers:
        assert await read_everywhere(servers.endpoints) == EVERYWHERE


def test_clean_stop_leaves_no_process_and_no_note(servers: EmbeddedServers, data_dir: Path) -> None:
    pids, sockets = servers.pids, Path(unquote(servers.endpoints.redis_url.removeprefix("unix://"))).parent
    assert running_engine(data_dir) == servers.endpoints

    servers.stop()
    servers.stop()

    assert not any(psutil.pid_exists(pid) for pid in pids.values())
    assert not (data_dir / "engine.json").exists()
    assert not sockets.exists()
    assert running_engine(data_dir) is None


def test_servers_stay_when_a_forked_child_ends(servers: EmbeddedServers, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as forked:
        forked.setattr(os, "getpid", lambda: 1)
        servers.stop()
    assert all(map(psutil.pid_exists, servers.pids.values()))


def test_sigterm_ends_the_engine_and_its_servers(data_dir: Path) -> None:
    engine = run_engine(data_dir)
    engine.process.send_signal(signal.SIGTERM)

    assert engine.process.wait(60) == 0
    assert not any(psutil.pid_exists(pid) for pid in engine.pids.values())
    assert not (data_dir / "engine.json").exists()


def test_ctrl_c_in_the_terminal_does_not_reach_the_servers(servers: EmbeddedServers) -> None:
    groups = {os.getpgid(pid) for pid in servers.pids.values()}
    assert os.getpgid(0) not in groups


def test_a_url_replaces_a_server(data_dir: Path) -> None:
    dsn = "postgresql://ana:secret@db/mnemolog"
    with EmbeddedServers(data_dir, postgres_url=dsn, redis_url="redis://cache:6379") as servers:
        assert servers.endpoints.postgres_dsn == dsn
        assert servers.endpoints.redis_url == "redis://cache:6379"
        assert set(servers.pids) == {"nats"}
        assert not (data_dir / "postgres").exists()


async def test_a_very_long_path_with_odd_characters_works(tmp_path: Path) -> None:
    data_dir = tmp_path.joinpath(*["kept in a folder, where names are long; ñandú"] * 6)
    with EmbeddedServers(data_dir, durable=False) as servers:
        await write_everywhere(servers.endpoints, "tea")
        assert await read_everywhere(servers.endpoints) == EVERYWHERE


def test_the_http_url_is_published_later(servers: EmbeddedServers, data_dir: Path) -> None:
    servers.publish_http_url("http://127.0.0.1:8765")

    found = running_engine(data_dir)
    assert isinstance(found, Endpoints)
    assert found.http_url == "http://127.0.0.1:8765"
    assert found.nats_url == servers.endpoints.nats_url
    assert (data_dir / "engine.json").stat().st_mode & 0o777 == 0o600


def test_a_server_that_cannot_start_says_why_and_leaves_nothing_running(data_dir: Path) -> None:
    with EmbeddedServers(data_dir, durable=False):
        pass
    [log] = (data_dir / "redis").rglob("*.aof")
    log.write_text("this is not redis\n" * 3)
    servers = EmbeddedServers(data_dir, durable=False)

    with pytest.raises(ServerFailed, match="Bad file format") as failure:
        servers.start()

    assert "redis did not start" in failure.value.message
    assert "MNEMOLOG_REDIS_URL" in failure.value.fix
    assert str(data_dir / "logs" / "redis.log") in failure.value.fix
    assert servers.pids == {}
    assert running_engine(data_dir) is None


def test_a_missing_server_says_what_to_install(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binaries, "_package", lambda name: None)
    monkeypatch.setenv("PATH", "/nonexistent")

    with pytest.raises(ServerFailed, match=r"install redis-server or valkey-server .*MNEMOLOG_REDIS_URL"):
        EmbeddedServers(data_dir, postgres_url="postgresql://x", nats_url="nats://x").start()
    assert binaries.locate("redis").missing.startswith("no redis-server")
    assert binaries.pgvector().path is None


def test_versions_of_everything_are_known() -> None:
    found = binaries.versions()
    assert set(found) == {"postgres", "pgvector", "nats", "redis"}
    for binary in found.values():
        assert binary.path
        assert binary.version
        assert not binary.missing


def test_endpoints_before_the_start_are_an_error(data_dir: Path) -> None:
    with pytest.raises(EngineError, match="not started"):
        _ = EmbeddedServers(data_dir).endpoints


def test_a_copy_of_a_running_data_directory_gets_servers_of_its_own(servers: EmbeddedServers, data_dir: Path) -> None:
    """It has the password and the former port of the other NATS, whose messages it must not take."""
    copy = data_dir.with_name("copy")
    copy.mkdir(mode=0o700)
    shutil.copy2(data_dir / "nats.token", copy)
    shutil.copytree(data_dir / "nats", copy / "nats")

    with EmbeddedServers(copy, durable=False) as others:
        ports = [urlsplit(one.endpoints.nats_url).port for one in (servers, others)]
        assert ports[0] != ports[1]
        assert len({one.pids["nats"] for one in (servers, others)}) == 2
        assert all(one.pids.keys() == {"postgres", "nats", "redis"} for one in (servers, others))
