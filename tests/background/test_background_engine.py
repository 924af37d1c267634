"""Any number of programs on one data directory share an engine in the background."""

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import psycopg
import pytest

import mnemolog
from mnemolog import AsyncMemory, Memory
from mnemolog.adapters import minilm
from mnemolog.adapters.background import attaching
from mnemolog.adapters.background.clients import clients, entering, hold, others, release
from mnemolog.adapters.config import load
from mnemolog.adapters.daemon import process
from mnemolog.adapters.embedded import engine_runs, running_engine
from mnemolog.adapters.engine.engine import open_engine
from mnemolog.domain.errors import (
    DataDirectoryInUse,
    EngineError,
    EngineSettingDiffers,
    InvalidInput,
    MnemologError,
    ServerFailed,
)
from tests.background.conftest import Running, engine_of, eventually, gone, kill_engine, servers
from tests.background.program import SETTINGS
from tests.testkit.settings import PATIENCE
from tests.testkit.warm import Forked

Start = Callable[..., Running]


@pytest.mark.spec("X22")
def test_many_first_users_at_once_share_one_engine_that_ends_with_the_last(data_dir: Path, program: Start) -> None:
    programs = [program() for _ in range(5)]
    for number, one in enumerate(programs):
        one.ask("create", f"program {number}", f"key {number}")
    assert len({one.answer() for one in programs}) == 5
    assert {one.does("pids")["engine"] for one in programs} == {engine_of(data_dir).pid}
    assert sorted(programs[0].does("pids")["clients"]) == sorted(one.process.pid for one in programs)
    everything = [f"program {number}" for number in range(5)]
    assert all(one.does("search", "program") == everything for one in programs)
    assert [one.end() for one in programs] == [0] * 5
    eventually(lambda: gone(data_dir))
    assert program().does("search", "program") == everything


def test_the_engine_gives_way_to_programs_and_its_servers_do_not(data_dir: Path, program: Start) -> None:
    one = program()
    one.does("create", "first", "first")
    had, engine = psutil.Process().nice(), psutil.Process(engine_of(data_dir).pid)
    eventually(lambda: engine.nice() > had)
    others = engine.children()
    assert {one.nice() for one in others if one.name() in ("postgres", "redis-server")} == {had}
    if (group := Path(f"/proc/{engine.pid}/autogroup")).exists():
        eventually(lambda: int(group.read_text().split()[-1]) > 0)
        assert os.getsid(engine.pid) not in {os.getsid(one.pid) for one in (*others, *engine.parents()[:1])}


@pytest.mark.spec("X22")
def test_threads_objects_and_event_loops_of_one_program_share_it(data_dir: Path, program: Start) -> None:
    one = program()
    assert one.does("threads", 8) == 16
    assert one.does("pids")["clients"] == [one.process.pid]


@pytest.mark.spec("X22")
def test_a_forked_child_opens_connections_of_its_own_and_the_parent_keeps_its_own(
    data_dir: Path, program: Start
) -> None:
    one = program()
    one.does("create", "parent", "parent")
    for number in range(3):
        text = f"child {number}"
        found, childs, after, parents = one.does("fork", text)
        assert text in found
        assert text in after
        assert sorted(childs["clients"]) == sorted([one.process.pid, childs["own"]])
        assert parents["clients"] == [one.process.pid]


def test_a_child_that_lives_on_keeps_nothing_of_a_killed_parent(data_dir: Path, program: Start) -> None:
    one = program(idle_grace=30)
    one.does("create", "parent", "parent")
    child = one.does("forked")
    try:
        assert clients(data_dir)
        one.kill()
        eventually(lambda: not clients(data_dir))
        with psycopg.connect(engine_of(data_dir).postgres_dsn, autocommit=True) as watching:
            own = {connection.laddr for connection in psutil.Process(child).net_connections("unix")}
            assert not any("PGSQL" in str(address) for address in own)
            assert watching.execute("SELECT 1").fetchone() == (1,)
    finally:
        os.kill(child, signal.SIGKILL)


@pytest.mark.spec("X22")
def test_a_killed_client_harms_no_other_and_keeps_no_engine(data_dir: Path, program: Start) -> None:
    first, second = program(), program()
    first.does("create", "first", "first")
    second.does("create", "second", "second")
    engine = engine_of(data_dir).pid
    first.ask("create", "in the middle", "in the middle")
    first.kill()
    assert "second" in second.does("search", "second")
    assert second.does("create", "third", "third")
    assert engine_of(data_dir).pid == engine
    second.kill()
    eventually(lambda: gone(data_dir))


@pytest.mark.spec("X22")
def test_a_killed_engine_is_replaced_at_the_next_use_and_nothing_acknowledged_is_lost(
    data_dir: Path, program: Start
) -> None:
    programs = [program(), program()]
    acknowledged = [one.does("create", f"before {number}", f"{number}") for number, one in enumerate(programs)]
    killed = kill_engine(data_dir)
    for number, one in enumerate(programs):
        one.ask("create", f"after {number}", f"after {number}")
    answers = [one.answer() for one in programs]
    refused = [one["error"]["code"] for one in answers if isinstance(one, dict)]
    assert set(refused) <= {"engine_ended", "append_timeout"}
    again = [one.does("create", f"after {number}", f"after {number}") for number, one in enumerate(programs)]
    assert len({*acknowledged, *again}) == 4
    # The servers outlive the engine for a moment, in which they take writes. A read waits for projections.
    everything = ["after 0", "after 1", "before 0", "before 1"]
    eventually(lambda: all(one.does("search", "before after") == everything for one in programs))
    assert engine_of(data_dir).pid != killed
    assert len({one.does("pids")["engine"] for one in programs}) == 1


def test_calls_that_wait_while_the_engine_is_killed_get_an_answer(data_dir: Path, program: Start) -> None:
    one, asker = program(), program()
    one.does("create", "before", "before")
    asker.does("search", "before")
    for number in range(10):
        one.ask("create", f"during {number}", f"during {number}")
    kill_engine(data_dir)
    answers = [one.answer() for _ in range(10)]
    told = {f"during {number}" for number, answer in enumerate(answers) if isinstance(answer, str)}
    assert {answer["error"]["code"] for answer in answers if isinstance(answer, dict)} <= {
        "engine_ended",
        "append_timeout",
    }
    assert told <= set(one.does("search", "during"))


@pytest.mark.spec("X22")
def test_the_servers_of_a_killed_engine_stop_without_another_engine(data_dir: Path, program: Start) -> None:
    one = program(idle_grace=60)
    one.does("create", "before", "before")
    one.end()
    assert len(servers(data_dir)) > 3
    kill_engine(data_dir)
    eventually(lambda: gone(data_dir))


def test_a_starter_that_is_killed_leaves_an_engine_that_the_next_one_finds(data_dir: Path, program: Start) -> None:
    first = program()
    first.ask("create", "first", "first")
    eventually(lambda: engine_runs(data_dir))
    first.kill()
    assert program().does("create", "second", "second")
    assert [one.pid for one in clients(data_dir)] != []


def test_an_engine_that_is_killed_while_it_starts_is_started_again(data_dir: Path, program: Start) -> None:
    first, second = program(), program()
    first.ask("create", "first", "first")
    second.ask("create", "second", "second")
    eventually(lambda: engine_runs(data_dir))
    pid = json.loads((data_dir / "engine.lock").read_text())["pid"]
    os.kill(pid, signal.SIGKILL)
    answers = [first.answer(), second.answer()]
    failed = [one["error"] for one in answers if isinstance(one, dict)]
    assert len(failed) <= 1, "the one that started it is told, the other starts one itself"
    assert all("engine.log" in one["fix"] for one in failed)
    assert {"first", "second"} >= set(first.does("search", "first second"))


def test_files_of_a_dead_engine_mislead_nobody(data_dir: Path) -> None:
    data_dir.mkdir()
    note = {"postgres_dsn": "postgresql:///x?host=/nowhere", "nats_url": "nats://127.0.0.1:1", "redis_url": "unix:///x"}
    (data_dir / "engine.lock").write_text(json.dumps({"pid": os.getpid(), "kind": "background"}))
    (data_dir / "engine.json").write_text(json.dumps({"pid": os.getpid(), "ready": True, **note}))
    (data_dir / "clients").mkdir()
    (data_dir / "clients" / f"{os.getpid()}-0.json").write_text("{}")
    with Memory(data_dir, **SETTINGS) as memory:
        memory.create("tea", user_id="ana")
        assert [one.pid for one in clients(data_dir)] == [os.getpid()]


@pytest.mark.parametrize("said", ["", '{"pid": 1', '{"pid": 1, "name": "of another version"}', "[]"])
def test_a_client_whose_file_cannot_be_read_counts_all_the_same(tmp_path: Path, said: str) -> None:
    hold(tmp_path)
    try:
        [file] = (tmp_path / "clients").iterdir()
        file.write_text(said)

        assert [one.program for one in others(tmp_path)] == ["unknown"]
    finally:
        release(tmp_path)
    assert clients(tmp_path) == []


@pytest.mark.spec("X22")
async def test_an_idle_engine_ends_though_the_clock_was_set_back_after_its_last_client(tmp_path: Path) -> None:
    hold(tmp_path)
    release(tmp_path)
    later = time.time() + 365 * 86400
    os.utime(tmp_path / "clients", (later, later))
    async with asyncio.timeout(PATIENCE):
        await process._idle(tmp_path, grace=0.1)


def test_a_memory_works_inside_a_running_event_loop(data_dir: Path) -> None:
    async def cell() -> list[str]:
        memory = Memory(data_dir, **SETTINGS)
        memory.create("tea", user_id="ana")
        found = memory.search("tea", user_id="ana")
        memory.close()
        return [hit.text for hit in found]

    assert asyncio.run(cell()) == ["tea"]


async def test_a_differing_setting_is_named_and_an_unset_one_is_the_engines(
    data_dir: Path,
) -> None:
    settings = load(data_dir=data_dir, **{**SETTINGS, "idle_grace": 30})
    async with open_engine(settings, attach=True):
        elsewhere = [(name, "postgresql://elsewhere/x") for name in ("postgres_url", "projections_url")]
        for name, value in (("embedder", "minilm"), ("durable", True), *elsewhere):
            with pytest.raises(EngineSettingDiffers) as refused:
                async with open_engine(load(data_dir=data_dir, **{**SETTINGS, name: value}), attach=True):
                    pass
            assert refused.value.field == name
            assert "elsewhere" not in refused.value.message
        async with open_engine(load(data_dir=data_dir, engine="background"), attach=True) as plain:
            assert plain.settings.embedder == "lexical"


async def test_every_client_follows_the_policy_of_the_engine(data_dir: Path, tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text("categories: {custom: [{name: wines}]}")
    ours = {**SETTINGS, "idle_grace": 30}
    async with open_engine(load(data_dir=data_dir, policy_file=file, **ours), attach=True) as first:
        async with AsyncMemory(data_dir, **SETTINGS, user_id="ana") as memory:
            await memory.create("Barolo", category="wines")
        async with open_engine(load(data_dir=data_dir, policy_file=file, **ours), attach=True) as same:
            assert same.policy.version == first.policy.version
        file.write_text("categories: {custom: [{name: teas}]}")
        for given in {"policy_file": file}, {"unlisted_agents": "none"}:
            with pytest.raises(EngineSettingDiffers) as refused:
                async with open_engine(load(data_dir=data_dir, **SETTINGS, **given), attach=True):
                    pass
            assert refused.value.field in given


async def test_the_engine_reads_files_from_where_its_first_program_runs(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tokenizer.json").write_bytes((Path(minilm.__file__).parent / "model" / "tokenizer.json").read_bytes())
    settings = load(data_dir=data_dir, tokenizer_file="tokenizer.json", **SETTINGS)
    async with open_engine(settings, attach=True) as engine:
        assert engine.reads.count_tokens("Ana drinks tea") == 3


async def test_a_client_follows_the_policy_of_the_engine_that_replaces_its_own(data_dir: Path, tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text("categories: {custom: [{name: wines}]}")
    async with AsyncMemory(data_dir, **SETTINGS, user_id="ana") as memory:
        with pytest.raises(InvalidInput, match="wines"):
            await memory.create("Barolo", category="wines")
        with entering(data_dir):
            attaching.stop(data_dir)
        async with open_engine(load(data_dir=data_dir, policy_file=file, **SETTINGS), attach=True):
            await memory.create("Barolo", category="wines")


async def test_an_idle_engine_of_another_version_is_replaced_and_one_in_use_is_named(
    data_dir: Path, program: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = load(data_dir=data_dir, **{**SETTINGS, "idle_grace": 30})
    user = program(idle_grace=30)
    user.does("create", "tea", "tea")
    before = engine_of(data_dir).pid
    monkeypatch.setattr(mnemolog, "__version__", "9.9.9")
    with pytest.raises(EngineError, match=r"is Mnemolog 0\.1\.0, and this is 9\.9\.9") as refused:
        async with open_engine(settings, attach=True):
            pass
    assert "mnemolog down" in refused.value.fix
    assert engine_of(data_dir).pid == before
    user.end()
    async with open_engine(settings, attach=True):
        assert engine_of(data_dir).pid != before


async def test_what_keeps_the_engine_from_starting_is_told_by_its_own_error(data_dir: Path) -> None:
    settings = load(data_dir=data_dir, **{**SETTINGS, "postgres_url": "postgresql://nobody@127.0.0.1:1/x"})
    with pytest.raises(ServerFailed) as refused:
        async with open_engine(settings, attach=True):
            pass
    assert refused.value.field == "postgres_url"
    eventually(lambda: gone(data_dir))


async def test_an_engine_that_ends_silently_is_reported_with_its_log(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attaching, "_environment", lambda: {"PYTHONPATH": "/nowhere", "PYTHONSAFEPATH": "1"})
    monkeypatch.setattr(sys, "executable", sys.base_prefix + "/bin/python3")
    with pytest.raises(MnemologError) as refused:
        async with open_engine(load(data_dir=data_dir, **SETTINGS), attach=True):
            pass
    assert str(data_dir / "logs" / "engine.log") in refused.value.fix
    assert "No module named" in refused.value.message


async def test_who_runs_an_engine_himself_replaces_an_idle_one_and_is_refused_by_one_in_use(
    data_dir: Path, program: Start
) -> None:
    user = program(idle_grace=30)
    user.does("create", "tea", "tea")
    settings = load(data_dir=data_dir, **{**SETTINGS, "engine": "in-process"})
    with pytest.raises(DataDirectoryInUse, match=str(user.process.pid)):
        async with open_engine(settings):
            pass
    user.end()
    async with open_engine(settings) as engine:
        assert not engine.attached
        assert engine_of(data_dir).pid == os.getpid()


def test_programs_with_engines_inside_them_share_the_first_and_its_end_is_survived(
    data_dir: Path, program: Start
) -> None:
    first, second = program(engine="in-process"), program(engine="in-process")
    first.does("create", "tea", "tea")
    assert second.does("search", "tea") == ["tea"]
    assert engine_of(data_dir).pid == first.process.pid
    found, *_ = first.does("fork", "tea of a child")
    assert "tea of a child" in found
    assert "tea of a child" in second.does("search", "tea")
    first.end()
    second.does("create", "tea for one", "one")
    assert "tea for one" in second.does("search", "tea")
    assert engine_of(data_dir).pid == second.process.pid


def test_programs_with_engines_inside_them_that_begin_at_once_share_one(data_dir: Path, program: Start) -> None:
    programs = [program(engine="in-process") for _ in range(3)]
    for number, one in enumerate(programs):
        one.ask("create", f"tea {number}", str(number))
    for one in programs:
        one.answer()
    assert [one.does("search", "tea") for one in programs] == 3 * [["tea 0", "tea 1", "tea 2"]]


def test_up_takes_over_and_its_clients_go_on(data_dir: Path, program: Start) -> None:
    user = program()
    user.does("create", "before", "before")
    background = engine_of(data_dir).pid
    environment = {
        **os.environ,
        "MNEMOLOG_DATA_DIR": str(data_dir),
        "MNEMOLOG_DURABLE": "false",
        "MNEMOLOG_EMBEDDER": "lexical",
    }
    up = Forked(["mnemolog", "up", "--port", "0", "--json"], environment, [0, 1, 2])
    try:
        eventually(lambda: (found := running_engine(data_dir)) is not None and found.http_url is not None)
        assert engine_of(data_dir).pid == up.pid != background
        assert user.does("create", "after", "after")
        assert user.does("search", "before after") == ["after", "before"]
        with entering(data_dir):
            assert attaching.stop(data_dir) == up.pid
        assert up.wait(60) == 0
        assert user.does("search", "before after") == ["after", "before"]
        assert engine_of(data_dir).kind == "background"
    finally:
        up.kill()
        up.wait(60)
