"""Commands that a background engine runs in a process that has imported everything."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest

from mnemolog.adapters.cli import forwarding
from tests.background.conftest import PATIENCE, Running, engine_of, eventually, gone, kill_engine

Start = Callable[..., Running]
MAIN = (str(Path(sys.executable).with_name("mnemolog")),)


def environment(**more: str) -> Mapping[str, str]:
    return {**os.environ, "MNEMOLOG_EMBEDDER": "lexical", "MNEMOLOG_DURABLE": "false", **more}


def mnemolog(data_dir: Path, *arguments: str, **options: object) -> "subprocess.CompletedProcess[str]":
    """A command line in an interpreter of its own, as a shell starts it."""
    command = [*MAIN, "--data-dir", str(data_dir), *arguments]
    given = {"env": environment(), "capture_output": True, "text": True, "check": False, "timeout": 120, **options}
    return subprocess.run(command, **given)  # type: ignore[call-overload, no-any-return]


def test_a_command_has_its_own_arguments_environment_directory_files_and_exit_code(
    data_dir: Path, tmp_path: Path, program: Start
) -> None:
    program(idle_grace=30).does("create", "Ana drinks tea", "tea")
    assert (data_dir / forwarding.NAME).exists()
    listed = mnemolog(data_dir, "list", env=environment(MNEMOLOG_USER="ana", COLUMNS="70"))
    assert (listed.returncode, listed.stderr) == (0, "")
    assert "Ana drinks tea" in listed.stdout
    assert max(map(len, listed.stdout.splitlines())) <= 70
    exported = mnemolog(data_dir, "user", "export", "-u", "ana", "--to", "ana.jsonl", cwd=tmp_path)
    assert exported.returncode == 0, exported.stderr
    assert "Ana drinks tea" in (tmp_path / "ana.jsonl").read_text()
    refused = mnemolog(data_dir, "list", "-u", "")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "user_id" in refused.stderr
    unknown = mnemolog(data_dir, "no-such-command")
    assert unknown.returncode == 2
    assert "Usage: mnemolog " in unknown.stderr


def test_a_command_whose_output_is_closed_does_its_work(data_dir: Path, program: Start) -> None:
    one = program(idle_grace=30)
    one.does("create", "Ana drinks tea", "tea")
    command = ["sh", "-c", 'exec "$0" "$@" >&-', *MAIN, "-d", str(data_dir), "create", "Ana eats figs", "-u", "ana"]
    done = subprocess.run(command, env=environment(), stderr=subprocess.PIPE, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, b"")
    assert sorted(one.does("search", "Ana")) == ["Ana drinks tea", "Ana eats figs"]


@pytest.fixture
def interruptible() -> Iterator[None]:
    """An interrupt ends what is started, although a shell that runs tests in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_a_command_that_is_interrupted_ends_with_its_process(data_dir: Path, program: Start) -> None:
    program(idle_grace=30).does("create", "Ana drinks tea", "tea")
    waiting = {"after": "default/user:ana@99", "deadline": "50"}
    options = [word for name, value in waiting.items() for word in (f"--{name}", value)]
    command = [*MAIN, "-d", str(data_dir), "list", "-u", "ana", *options]
    for number, code in ((signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)):
        for seconds in (0.0, 0.01, 0.02, 0.03, 0.5):  # From when it connects to when it waits.
            running = subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE, text=True)
            eventually(lambda: len(_children(data_dir)) == 1)
            time.sleep(seconds)
            running.send_signal(number)
            _, told = running.communicate(timeout=PATIENCE)
            assert running.returncode == code, told
            eventually(lambda: not _children(data_dir))


@pytest.mark.usefixtures("interruptible")
def test_a_command_is_interrupted_though_the_engine_was_started_by_a_background_job(data_dir: Path) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # As a shell does for a job in the background.
    lasting = environment(MNEMOLOG_ENGINE="background", MNEMOLOG_IDLE_GRACE="30")
    started = mnemolog(data_dir, "create", "-u", "ana", "Ana drinks tea", env=lasting)
    assert started.returncode == 0, started.stderr
    reading = [*MAIN, "-d", str(data_dir), "artifact", "add", "-u", "ana", "-", "--name", "a.txt"]
    for disposition, code in ((signal.SIG_IGN, 0), (signal.default_int_handler, 130)):
        signal.signal(signal.SIGINT, disposition)
        running = subprocess.Popen(reading, env=environment(), stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        eventually(lambda: len(_children(data_dir)) == 1)
        time.sleep(0.2)
        running.send_signal(signal.SIGINT)
        time.sleep(0.2)
        _, told = running.communicate("Ana drinks coffee", timeout=PATIENCE)
        assert running.returncode == code, told
        eventually(lambda: not _children(data_dir))


def test_commands_end_with_the_engine_and_another_installation_is_run_by_itself(
    data_dir: Path, program: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = program(idle_grace=30)
    one.does("create", "Ana drinks tea", "tea")
    arguments = ["-d", str(data_dir), "status", "--json"]
    monkeypatch.setattr(forwarding, "identity", lambda: ["9.9.9"])
    assert forwarding.forwarded(arguments) is None
    monkeypatch.undo()
    for not_ours in (["-d", str(data_dir), "up"], ["-d", str(data_dir), "--help"], ["-d", str(data_dir / "x"), "list"]):
        assert forwarding.forwarded(not_ours) is None
    stopped = mnemolog(data_dir, "down", "--json")
    assert json.loads(stopped.stdout)["clients"][0]["pid"] == one.process.pid
    eventually(lambda: not (data_dir / forwarding.NAME).exists())
    one.does("create", "Ana drinks coffee", "coffee")
    kill_engine(data_dir)
    one.kill()
    eventually(lambda: gone(data_dir) and not (data_dir / forwarding.NAME).exists())


def test_the_version_needs_no_imports() -> None:
    said = subprocess.run([*MAIN, "--version"], capture_output=True, text=True, check=True)
    assert said.stdout == "0.1.0\n"


def _children(data_dir: Path) -> list[psutil.Process]:
    """Commands that run: children of the process beside the engine that they were forked from."""
    guard = psutil.Process(engine_of(data_dir).pid)
    found = list[psutil.Process]()
    for server in guard.children():
        with suppress(psutil.NoSuchProcess):
            found += server.children() if "python" in server.name() else []
    return found
