"""Servers and engines that are killed, and what survives."""

import os
import queue
import resource
import shutil
import signal
import subprocess
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest
from nats.errors import Error as NatsError

from mnemolog.adapters.embedded import EmbeddedServers, ServerEvent, running_engine, supervision
from mnemolog.adapters.embedded.leftovers import end_leftovers, working_in
from mnemolog.adapters.embedded.servers import GUARD
from mnemolog.domain.errors import DataDirectoryInUse
from tests.embedded.clients import read_everywhere, read_from_nats, write_everywhere, write_to_nats
from tests.embedded.conftest import run_engine
from tests.testkit.eventually import eventually


@pytest.mark.parametrize("name", ["postgres", "nats", "redis"])
async def test_a_killed_server_is_restarted_with_its_data(name: str, data_dir: Path) -> None:
    events: queue.Queue[ServerEvent] = queue.Queue()
    with EmbeddedServers(data_dir, durable=False, on_event=events.put) as servers:
        before, endpoints = servers.pids[name], servers.endpoints
        await write_everywhere(endpoints, "tea")

        os.kill(before, signal.SIGKILL)

        seen = [events.get(timeout=60) for _ in range(2)]
        assert [(event.server, event.what) for event in seen] == [(name, "died"), (name, "restarted")]
        assert servers.pids[name] != before
        assert servers.endpoints == endpoints
        await write_everywhere(endpoints, "coffee")
        kept = await read_everywhere(endpoints)
        assert kept == {server: ["tea", "coffee"] for server in ("postgres", "nats", "redis")}


async def test_all_servers_killed_again_and_again_come_back(data_dir: Path) -> None:
    events: queue.Queue[ServerEvent] = queue.Queue()
    with EmbeddedServers(data_dir, durable=False, on_event=events.put) as servers:
        await write_everywhere(servers.endpoints, "tea")
        for _ in range(3):
            for pid in servers.pids.values():
                os.kill(pid, signal.SIGKILL)
            seen = [events.get(timeout=60).what for _ in range(6)]
            assert sorted(seen) == ["died"] * 3 + ["restarted"] * 3
        assert await read_everywhere(servers.endpoints) == {"postgres": ["tea"], "nats": ["tea"], "redis": ["tea"]}


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="only Linux limits another process")
async def test_nats_stores_again_once_there_is_room_on_its_disk(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervision, "FIRST_PATIENCE", 0.0)
    monkeypatch.setattr(supervision, "ROOM_BYTES", 2**60)
    events: queue.Queue[ServerEvent] = queue.Queue()
    with EmbeddedServers(data_dir, postgres_url="p://", redis_url="r://", on_event=events.put) as servers:
        await write_to_nats(servers.endpoints, "tea")
        no_limit = resource.prlimit(servers.pids["nats"], resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
        with pytest.raises(NatsError):
            await write_to_nats(servers.endpoints, "milk")
        resource.prlimit(servers.pids["nats"], resource.RLIMIT_FSIZE, no_limit)
        with pytest.raises(NatsError):
            await write_to_nats(servers.endpoints, "sugar")

        servers.restart_what_gave_up()
        assert events.empty(), "it would meet the same full disk"
        monkeypatch.setattr(supervision, "ROOM_BYTES", 0)
        servers.restart_what_gave_up()

        assert [events.get(timeout=60).what for _ in range(2)] == ["died", "restarted"]
        await write_to_nats(servers.endpoints, "coffee")
        assert await read_from_nats(servers.endpoints) == ["tea", "coffee"]
        servers.restart_what_gave_up()
        assert events.empty(), "it writes again"


def test_a_listener_that_fails_does_not_end_supervision(data_dir: Path) -> None:
    events: queue.Queue[ServerEvent] = queue.Queue()

    def fail(event: ServerEvent) -> None:
        events.put(event)
        raise ValueError(event.what)

    with EmbeddedServers(data_dir, postgres_url="p://", nats_url="n://", on_event=fail) as servers:
        os.kill(servers.pids["redis"], signal.SIGKILL)
        assert [events.get(timeout=60).what for _ in range(2)] == ["died", "restarted"]


def test_a_stop_during_a_restart_stops(data_dir: Path) -> None:
    events: queue.Queue[ServerEvent] = queue.Queue()
    servers = EmbeddedServers(data_dir, durable=False, on_event=events.put)
    servers.start()
    os.kill(servers.pids["postgres"], signal.SIGKILL)
    assert events.get(timeout=60).what == "died"

    servers.stop()

    assert working_in(data_dir / "postgres", ["postgres"]) == []


async def test_a_killed_engine_loses_nothing(data_dir: Path) -> None:
    engine = run_engine(data_dir)
    await write_everywhere(engine.endpoints, "tea")
    with pytest.raises(DataDirectoryInUse, match=str(engine.process.pid)):
        EmbeddedServers(data_dir).start()

    engine.process.kill()
    engine.process.wait()
    assert running_engine(data_dir) is None

    with EmbeddedServers(data_dir, durable=False) as servers:
        assert not any(_lives(pid) for pid in engine.pids.values())
        assert await read_everywhere(servers.endpoints) == {"postgres": ["tea"], "nats": ["tea"], "redis": ["tea"]}


async def test_the_servers_of_a_killed_engine_stop_without_another_engine(data_dir: Path) -> None:
    engine = run_engine(data_dir)
    await write_everywhere(engine.endpoints, "tea")

    engine.process.kill()
    engine.process.wait()

    async def ended() -> bool:
        return not any(_lives(pid) for pid in engine.pids.values())

    await eventually(ended)
    with EmbeddedServers(data_dir, durable=False) as servers:
        assert await read_everywhere(servers.endpoints) == {"postgres": ["tea"], "nats": ["tea"], "redis": ["tea"]}


async def test_a_killed_engine_whose_guard_was_killed_too_loses_nothing(data_dir: Path) -> None:
    engine = run_engine(data_dir)
    await write_everywhere(engine.endpoints, "tea")
    for one in _guards(data_dir):
        one.kill()
    engine.process.kill()
    engine.process.wait()
    assert all(_lives(pid) for pid in engine.pids.values())

    with EmbeddedServers(data_dir, durable=False) as servers:
        assert not any(_lives(pid) for pid in engine.pids.values())
        assert await read_everywhere(servers.endpoints) == {"postgres": ["tea"], "nats": ["tea"], "redis": ["tea"]}


def test_an_engine_that_stops_leaves_no_guard(data_dir: Path) -> None:
    with EmbeddedServers(data_dir, durable=False):
        assert len(_guards(data_dir)) == 1
    assert _guards(data_dir) == []


async def test_a_killed_engine_whose_servers_were_killed_too_loses_nothing(data_dir: Path) -> None:
    engine = run_engine(data_dir)
    await write_everywhere(engine.endpoints, "tea")
    for pid in (engine.process.pid, *engine.pids.values()):
        os.kill(pid, signal.SIGKILL)
    engine.process.wait()

    with EmbeddedServers(data_dir, durable=False) as servers:
        assert await read_everywhere(servers.endpoints) == {"postgres": ["tea"], "nats": ["tea"], "redis": ["tea"]}


def test_a_postmaster_pid_that_now_names_another_process_is_no_obstacle(data_dir: Path) -> None:
    with EmbeddedServers(data_dir, durable=False, nats_url="n://", redis_url="r://") as servers:
        note = (data_dir / "postgres" / "postmaster.pid").read_text()
        pid = servers.pids["postgres"]
    bystander = subprocess.Popen(["sleep", "60"])
    stale = data_dir / "postgres" / "postmaster.pid"
    stale.write_text(note.replace(str(pid), str(bystander.pid), 1))

    with EmbeddedServers(data_dir, durable=False, nats_url="n://", redis_url="r://") as servers:
        assert servers.pids.keys() == {"postgres"}

    assert bystander.poll() is None
    bystander.kill()
    bystander.wait()


def test_a_creation_that_was_cut_short_is_done_again(data_dir: Path) -> None:
    (data_dir / "postgres.new" / "base").mkdir(parents=True)
    (data_dir / "postgres.new" / "PG_VERSION").write_text("18\n")
    with EmbeddedServers(data_dir, durable=False, nats_url="n://", redis_url="r://") as servers:
        assert servers.pids.keys() == {"postgres"}
    assert not (data_dir / "postgres.new").exists()


def test_a_process_elsewhere_or_with_another_name_is_never_touched(tmp_path: Path) -> None:
    ours, other = tmp_path / "ours", tmp_path / "other"
    for folder in (ours, other):
        folder.mkdir()
    server = shutil.copy(shutil.which("sleep") or "", tmp_path / "redis-server")
    elsewhere = subprocess.Popen([server, "60"], cwd=other)
    named_otherwise = subprocess.Popen(["sleep", "60"], cwd=ours)
    leftover = subprocess.Popen([server, "60"], cwd=ours)

    end_leftovers(ours, ["redis-server"], signal.SIGTERM)

    assert leftover.wait(60) == -signal.SIGTERM
    assert elsewhere.poll() is None
    assert named_otherwise.poll() is None
    for process in (elsewhere, named_otherwise):
        process.kill()
        process.wait()


def _guards(data_dir: Path) -> list[psutil.Process]:
    running = (one for one in psutil.process_iter(["cmdline"]) if GUARD in (one.info["cmdline"] or ()))
    return [one for one in running if str(data_dir) in one.info["cmdline"]]


def _lives(pid: int) -> bool:
    return bool(psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
