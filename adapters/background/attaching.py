"""Find the engine of a data directory, start one in the background, or stop the running one.

Everything here blocks, so call it in a thread.
"""

import json
import logging
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import get_args

import mnemolog
from mnemolog.adapters.background.clients import entering, others
from mnemolog.adapters.config import Settings
from mnemolog.adapters.embedded import Endpoints, engine_runs, holder, running_engine, unusable
from mnemolog.domain.errors import DataDirectoryInUse, EngineError, ServerFailed

_logger = logging.getLogger("mnemolog.engine")

START_SECONDS = 180.0
# For an engine inside a program, or a command that uses the data directory exclusively.
ATTACH_SECONDS = 15.0
STOP_SECONDS = 60.0
POLL_SECONDS = 0.05
LOG_LINES = 12
# Settings that name a file: relative to where the first program runs, not to the engine.
PATHS = [
    name for name, field in Settings.model_fields.items() if Path in (field.annotation, *get_args(field.annotation))
]


def find_or_start(settings: Settings) -> Endpoints:
    """The running engine, or one that is started in the background. Errors of its start are raised here."""
    with entering(path := data_directory(settings)):
        found = find(path)
        if found and found.version != mnemolog.__version__:
            _require_replaceable(path, found)
            stop(path)
            found = None
        return found or _start(settings, path)


def find(path: Path) -> Endpoints | None:
    """The running engine, once it is ready; None if there is none. DataDirectoryInUse if its start takes too long."""
    began = time.monotonic()
    while engine_runs(path):
        if (found := running_engine(path)) and found.ready:
            return found
        owner = holder(path)
        patience = START_SECONDS if owner and owner.kind != "in-process" else ATTACH_SECONDS
        if time.monotonic() > began + patience:
            raise DataDirectoryInUse(
                f"a process (pid {owner.pid if owner else 'unknown'}) has exclusive use of {path}",
                fix="wait until it has finished, or choose another data directory",
            )
        time.sleep(POLL_SECONDS)
    return None


def is_alive(data_dir: Path, engine: Endpoints) -> bool:
    """Whether this engine still runs. Takes some ten microseconds."""
    found = holder(data_dir)
    return found is not None and found.pid == engine.pid and engine_runs(data_dir)


def stop(path: Path) -> int | None:
    """Stop a background engine or `mnemolog up`, and wait for it to end; its process id, or None if none runs.

    DataDirectoryInUse if the engine belongs to a program. The caller must hold `entering`.
    """
    while engine_runs(path) and (owner := holder(path)):
        if owner.kind == "cleanup":
            time.sleep(POLL_SECONDS)
            continue
        if owner.elsewhere:
            raise DataDirectoryInUse(
                f"the engine on {path} runs in another container, or on another machine", fix="stop it there"
            )
        if owner.kind == "in-process":
            raise DataDirectoryInUse(
                f"the engine on {path} is part of a program (pid {owner.pid})",
                fix="stop that program, which also stops the engine",
            )
        _end(path, owner.pid)
        return owner.pid
    return None


def replace_idle(path: Path, *, anyhow: bool = False) -> None:
    """Stop a background engine that no other process uses, or any if `anyhow`. The caller must hold `entering`.

    DataDirectoryInUse if other processes use it.
    """
    owner = holder(path)
    if owner is None or owner.kind != "background" or not engine_runs(path):
        return
    if not anyhow and (users := others(path)):
        named = ", ".join(f"{one.program} (pid {one.pid})" for one in users)
        raise DataDirectoryInUse(
            f"the background engine (pid {owner.pid}) on {path} is used by {named}",
            fix="stop them, or run `mnemolog down`, which interrupts them briefly",
        )
    stop(path)


def data_directory(settings: Settings) -> Path:
    """The real path of the data directory, which is created if missing."""
    path = settings.data_dir.expanduser().resolve()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.access(path, os.W_OK | os.X_OK):
            raise PermissionError("permission denied")
    except OSError as error:
        raise unusable(path, error) from error
    return path


def log_file(path: Path) -> Path:
    return path / "logs" / "engine.log"


def _require_replaceable(path: Path, found: Endpoints) -> None:
    """An idle background engine of another version is replaced; any other must not be stopped."""
    if found.kind == "background" and not others(path):
        return
    raise EngineError(
        f"the engine that runs on {path} (pid {found.pid}) is Mnemolog {found.version or 'of an earlier version'}, "
        f"and this is {mnemolog.__version__}",
        field="data_dir",
        fix="stop the programs that use it (`mnemolog status` lists them), or run `mnemolog down`",
    )


def _start(settings: Settings, path: Path) -> Endpoints:
    """Start it detached, and wait until it reports that it is ready or why it failed."""
    given = settings.model_dump(mode="json")
    given |= {name: str(Path(given[name]).expanduser().absolute()) for name in PATHS if given[name]}
    log = log_file(path)
    log.parent.mkdir(mode=0o700, exist_ok=True)
    with _pipe() as (reader, writer), log.open("ab") as out:
        before = out.tell()
        launcher = subprocess.Popen(
            [sys.executable, "-m", "mnemolog.adapters.daemon", str(writer)],
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=out,
            pass_fds=[writer],
            cwd=path,
            env=_environment(),
            start_new_session=True,
        )
        os.close(writer)
        launcher.communicate(json.dumps({"settings": given, "data_dir": str(path)}).encode())
        report = _report(reader)
    if "error" in report:
        from mnemolog.adapters.nats.turn_message import error_of

        raise error_of(report["error"])  # type: ignore[arg-type]
    found = running_engine(path)
    if "ready" not in report or found is None:
        raise _not_started(log, before)
    return found


def _not_started(log: Path, before: int) -> ServerFailed:
    with log.open("rb") as written:
        written.seek(before)
        tail = "\n".join(written.read().decode(errors="replace").splitlines()[-LOG_LINES:])
    return ServerFailed(
        "the background engine did not start" + (f"; its log ends with:\n{tail}\n" if tail else ""),
        field="data_dir",
        fix=f"see {log}",
    )


def _report(reader: int) -> dict[str, object]:
    """The new engine's report: one line of JSON. Empty if it ends without one or takes too long."""
    text, until = b"", time.monotonic() + START_SECONDS
    while not text.endswith(b"\n") and (left := until - time.monotonic()) > 0:
        if not select.select([reader], [], [], left)[0]:
            break
        more = os.read(reader, 65536)
        if not more:
            break
        text += more
    try:
        report: dict[str, object] = json.loads(text or b"{}")
    except ValueError:
        return {}
    return report


def _environment() -> dict[str, str]:
    """Our environment without our settings, which are passed separately; its working directory has no modules."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MNEMOLOG_")}
    return {**kept, "PYTHONSAFEPATH": "1"}


@contextmanager
def _pipe() -> Iterator[tuple[int, int]]:
    """The two ends; the caller closes the second."""
    reader, writer = os.pipe()
    try:
        yield reader, writer
    finally:
        os.close(reader)


def _end(path: Path, pid: int) -> None:
    _signal(path, pid)
    until = time.monotonic() + STOP_SECONDS
    while engine_runs(path) and (owner := holder(path)) and owner.pid == pid:
        if time.monotonic() > until:
            raise EngineError(
                f"the engine (pid {pid}) on {path} did not stop within {STOP_SECONDS:.0f} s",
                field="data_dir",
                fix=f"see {log_file(path)}; `kill -9 {pid}` loses no acknowledged write",
            )
        time.sleep(POLL_SECONDS)


def _signal(path: Path, pid: int) -> None:
    """Send SIGTERM to exactly that process: once we have a handle, its lock shows that the pid is still its own."""
    with suppress(ProcessLookupError):
        if not hasattr(os, "pidfd_open"):
            os.kill(pid, signal.SIGTERM)
            return
        handle = os.pidfd_open(pid)
        try:
            owner = holder(path)
            if owner and owner.pid == pid and engine_runs(path):
                signal.pidfd_send_signal(handle, signal.SIGTERM)
        finally:
            os.close(handle)
