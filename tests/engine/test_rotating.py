"""The master key is rotated: what was written stays readable under the new key alone, also when it was interrupted."""

import os
from base64 import b64encode
from pathlib import Path

import pytest

from mnemolog.adapters import keys
from mnemolog.adapters.config import Settings, load
from mnemolog.adapters.embedded.file_lock import FileLock
from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.adapters.postgres.roots import rotate
from mnemolog.adapters.rotating import key_status, rotate_master_key
from mnemolog.domain.errors import DataDirectoryInUse, EngineError, InvalidInput
from tests.engine.person import Person


def settings_of(path: Path, **fields: str) -> Settings:
    return load(data_dir=path, durable=False, embedder="lexical", http_port=0, **fields)


async def told(settings: Settings, text: str) -> None:
    async with open_engine(settings) as engine:
        await Person(engine, "ana").creates(text)


async def texts(settings: Settings) -> list[str]:
    async with open_engine(settings) as engine:
        return await Person(engine, "ana").finds("tea")


@pytest.mark.spec("X07")
async def test_after_a_rotation_the_new_key_opens_everything_and_the_old_one_nothing(tmp_path: Path) -> None:
    settings, file = settings_of(tmp_path), tmp_path / "master.key"
    await told(settings, "Ana drinks tea")
    old = keys.from_file(file)

    rotated = await rotate_master_key(settings)

    assert rotated.streams == 1
    assert rotated.old_key_file is not None
    assert keys.from_file(rotated.old_key_file) == old != keys.from_file(file)
    assert file.stat().st_mode & 0o077 == 0
    assert await texts(settings) == ["Ana drinks tea"]
    with pytest.raises(EngineError, match="another master key"):
        await texts(settings_of(tmp_path, master_key=b64encode(old).decode()))


@pytest.mark.spec("X07")
async def test_an_interrupted_rotation_continues_when_run_again(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    await told(settings, "Ana drinks tea")
    new = keys.from_file(tmp_path / "master.key.new")
    async with open_engine(settings, passive=True) as engine:
        await rotate(engine.verifier.pool, keys.from_file(tmp_path / "master.key"), new, os.urandom)

    with pytest.raises(EngineError, match="interrupted") as refused:
        await texts(settings)
    assert "master-key rotate" in refused.value.fix
    with pytest.raises(InvalidInput, match="interrupted"):
        await rotate_master_key(settings, os.urandom(32))
    await rotate_master_key(settings)

    assert keys.from_file(tmp_path / "master.key") == new
    assert not (tmp_path / "master.key.new").exists()
    assert await texts(settings) == ["Ana drinks tea"]


async def test_a_rotation_that_was_interrupted_in_its_last_step_leaves_no_third_key(tmp_path: Path) -> None:
    settings, file = settings_of(tmp_path), tmp_path / "master.key"
    await told(settings, "Ana drinks tea")
    first = await rotate_master_key(settings)
    file.rename(tmp_path / "master.key.new")

    with pytest.raises(EngineError, match="interrupted"):
        await texts(settings)
    assert not file.exists(), "no key is generated in its place"
    assert (await rotate_master_key(settings)).old_key_file == first.old_key_file

    assert sorted(name[:16] for name in os.listdir(tmp_path) if "key" in name) == ["master.key", "master.key.until"]
    assert await texts(settings) == ["Ana drinks tea"]


async def test_a_key_from_the_environment_is_rotated_to_one_that_is_given(tmp_path: Path) -> None:
    old, new = os.urandom(32), os.urandom(32)
    settings = settings_of(tmp_path, master_key=b64encode(old).decode())
    await told(settings, "Ana drinks tea")

    with pytest.raises(InvalidInput) as refused:
        await rotate_master_key(settings)
    assert refused.value.field == "new_key_file"
    assert (await rotate_master_key(settings, new)).old_key_file is None

    assert await texts(settings_of(tmp_path, master_key=b64encode(new).decode())) == ["Ana drinks tea"]


async def test_no_key_is_rotated_while_an_engine_runs(engine: Engine) -> None:
    before = await key_status(engine)

    with pytest.raises(DataDirectoryInUse):
        await rotate_master_key(engine.settings)

    assert (await key_status(engine)).since == before.since
    assert not (engine.settings.directory / "master.key.new").exists()


async def test_a_second_rotation_is_refused_and_leaves_the_new_key_of_the_first(tmp_path: Path) -> None:
    settings, ready = settings_of(tmp_path), tmp_path / "master.key.new"
    await told(settings, "Ana drinks tea")
    first = FileLock(tmp_path / "rotation.lock")
    assert first.acquire()

    with pytest.raises(DataDirectoryInUse, match="rotation"):
        await rotate_master_key(settings)
    assert not ready.exists()
    keys.from_file(ready)
    with pytest.raises(DataDirectoryInUse, match="rotation"):
        await rotate_master_key(settings)
    assert ready.exists()

    first.release()
    await rotate_master_key(settings)
    assert await texts(settings) == ["Ana drinks tea"]


async def test_a_rotation_beside_an_engine_elsewhere_on_the_database_says_so_and_changes_nothing(
    engine: Engine, tmp_path: Path
) -> None:
    """It has a data directory of its own, and the key of the deployment in it."""
    here, elsewhere = engine.endpoints, tmp_path / "elsewhere"
    elsewhere.mkdir()
    key = elsewhere / "master.key"
    key.write_text((engine.settings.directory / "master.key").read_text())
    urls = {"postgres_url": here.postgres_dsn, "nats_url": here.nats_url, "redis_url": here.redis_url}

    with pytest.raises(DataDirectoryInUse, match="an engine runs on this database"):
        await rotate_master_key(settings_of(elsewhere, **urls))

    assert not (elsewhere / "master.key.new").exists()
    assert keys.from_file(key) == keys.from_file(engine.settings.directory / "master.key")


async def test_a_directory_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    with pytest.raises(EngineError, match="cannot be used"):
        await rotate_master_key(load(data_dir=tmp_path / "data"))
