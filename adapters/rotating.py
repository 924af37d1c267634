"""Rotate the master key: rewrap everything, so the old key no longer decrypts anything (design §7).

The new key is on disk before the database is told, so that whoever is stopped in between runs it again. Text is not
sealed again: its data keys stay, wrapped by a new root under the new master key.
"""

import os
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from mnemolog.adapters import keys
from mnemolog.adapters.background.attaching import data_directory
from mnemolog.adapters.config import Settings
from mnemolog.adapters.embedded.file_lock import FileLock
from mnemolog.adapters.engine.engine import Engine, now, open_engine
from mnemolog.adapters.postgres.queries import query
from mnemolog.adapters.postgres.roots import rotate
from mnemolog.domain.errors import DataDirectoryInUse, EngineError, InvalidInput
from mnemolog.domain.identity import utc_text

Progressed = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class KeyStatus:
    """Where the master key is, how many keys it wraps, and how many an interrupted rotation left to rewrap."""

    master_key: str
    streams: int
    data_keys: int
    since: datetime
    left_over: int

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "since": utc_text(self.since)}


@dataclass(frozen=True, slots=True)
class Rotated:
    """How many stream keys were rewrapped; `old_key_file` is where the old master key is now, if it was in a file."""

    streams: int
    old_key_file: Path | None

    def as_dict(self) -> dict[str, Any]:
        return {"streams": self.streams, "old_key_file": str(self.old_key_file) if self.old_key_file else None}


async def key_status(engine: Engine) -> KeyStatus:
    async with engine.verifier.pool.connection() as connection:
        [row] = await (await connection.execute(query("key_status"))).fetchall()
    where = "MNEMOLOG_MASTER_KEY" if engine.settings.master_key else str(_key_file(engine.settings))
    return KeyStatus(where, row["streams"], row["data_keys"], row["since"], row["left_over"])


async def rotate_master_key(
    settings: Settings, new_key: bytes | None = None, progressed: Progressed = lambda done, left: None
) -> Rotated:
    """Rotate to `new_key`, or to a generated one. DataDirectoryInUse if an engine runs.

    `progressed` is called with the size of each step, and how many were left before it. If the key is set in the
    environment, the caller has to replace it there, so `new_key` must be given.
    """
    if settings.master_key:
        if new_key is None:
            raise InvalidInput(
                "the master key is set in the environment", field="new_key_file", fix="give the new one in a file"
            )
        old = keys.decoded(settings.master_key, field="master_key")
        return Rotated(await _rotated(settings, old, new_key, progressed), None)
    with _alone(settings):
        file = _key_file(settings)
        ready = file.with_name(keys.NEXT)
        generated = not ready.exists()
        # An earlier rotation may have been stopped when only its last step was left.
        old_file = file if generated or file.exists() else ready
        try:
            count = await _rotated(settings, keys.from_file(old_file), _prepared(ready, new_key), progressed)
        except DataDirectoryInUse:
            if generated:
                ready.unlink()
            raise
        if old_file == file:
            file.rename(file.with_name(f"master.key.until-{now():%Y%m%dT%H%M%SZ}"))
        ready.rename(file)
        return Rotated(count, max(file.parent.glob("master.key.until-*"), default=None))


@contextmanager
def _alone(settings: Settings) -> Iterator[None]:
    """One rotation at a time: a second one that is refused would remove the new key of the first."""
    lock = FileLock(data_directory(settings) / "rotation.lock")
    if not lock.acquire():
        raise DataDirectoryInUse(
            f"a rotation of the master key already runs on {settings.directory}", fix="wait until it has ended"
        )
    try:
        yield
    finally:
        lock.release()


def _key_file(settings: Settings) -> Path:
    return settings.directory / "master.key"


def _prepared(file: Path, wanted: bytes | None) -> bytes:
    """The new key, on disk; one left there by an interrupted rotation takes precedence."""
    new = keys.from_file(file, lambda size: wanted or os.urandom(size))
    if wanted not in (None, new):
        raise InvalidInput(
            f"an earlier rotation to another key was interrupted: {file}",
            field="new_key_file",
            fix="run it again without --new-key-file, then rotate to your key",
        )
    return new


async def _rotated(settings: Settings, old: bytes, new: bytes, progressed: Progressed) -> int:
    try:
        return await _rotate(settings, old, new, progressed)
    except EngineError as error:
        if error.field != "master_key":
            raise
    return await _rotate(settings, new, new, progressed)  # The database already has the new key; finish the rest.


async def _rotate(settings: Settings, old: bytes, new: bytes, progressed: Progressed) -> int:
    opened_by = settings.model_copy(update={"master_key": b64encode(old).decode()})
    async with open_engine(opened_by, passive=True) as engine:
        return await rotate(engine.verifier.pool, old, new, os.urandom, progressed)
