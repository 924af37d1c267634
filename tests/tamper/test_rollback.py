"""A database that was rolled back to an older copy, whole and consistent: refused at start, named, accepted by word."""

import asyncio
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest

from mnemolog.adapters.config import Settings, load
from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.adapters.nats.subjects import EVENTS
from mnemolog.adapters.verify.anchor_stream import ANCHORS
from mnemolog.adapters.verify.damage import DamageKind, Part
from mnemolog.adapters.verify.incidents import By, Done
from mnemolog.domain.errors import DatabaseRolledBack
from mnemolog.events.envelope import DEFAULT_THREAD
from tests.engine.person import Person
from tests.tamper.attacker import attacking

pytestmark = pytest.mark.spec("X08")


def settings_in(directory: Path, **given: object) -> Settings:
    return load(data_dir=directory, durable=False, embedder="lexical", http_port=0, **given)


@asynccontextmanager
async def rolled_back(settings: Settings, *, keeping: tuple[str, ...] = ()) -> AsyncIterator[Engine]:
    """Two write, a copy is made, one goes on, the engine stops cleanly; then the copy is put back."""
    async with open_engine(settings) as engine:
        ana, bob = Person(engine, "ana"), Person(engine, "bob")
        await ana.says("I live in Lisbon")
        await bob.says("I live in Porto")
        await engine.settled(60)
        async with attacking(engine, ana.stream) as mallory:
            await mallory.copies_database()
            await ana.says("I moved to Madrid")
            await engine.settled(60)
    async with open_engine(settings, passive=True) as engine:
        for stream in {EVENTS, ANCHORS} - set(keeping):
            await engine.nats.jetstream().purge_stream(stream)
        async with attacking(engine, ana.stream) as mallory:
            await mallory.restores_database()
        yield engine


WITNESSES = [
    pytest.param((EVENTS, ANCHORS), True, id="copies and anchors"),
    pytest.param((EVENTS,), False, id="copies on JetStream alone"),
    pytest.param((ANCHORS,), False, id="anchors on JetStream alone"),
    pytest.param((), True, id="the file of anchors alone"),
]


@pytest.mark.parametrize(("keeping", "file"), WITNESSES)
async def test_a_database_that_was_rolled_back_is_found_by_any_one_witness(
    tmp_path: Path, keeping: tuple[str, ...], file: bool
) -> None:
    settings = settings_in(tmp_path / "data")
    async with rolled_back(settings, keeping=keeping) as engine:
        if not file:
            engine.verifier.anchors.path.unlink()
        report = await engine.verifier.verify()

        assert (Part.EVENT, DamageKind.ROLLED_BACK) in report.counts
        assert {str(one.stream) for one in report.damages} == {"default/user:ana"}


async def test_an_engine_does_not_start_on_a_database_that_was_rolled_back(tmp_path: Path) -> None:
    settings = settings_in(tmp_path / "data")
    async with rolled_back(settings):
        pass

    with pytest.raises(DatabaseRolledBack, match="default/user:ana") as refused:
        async with open_engine(settings):
            pass

    assert "mnemolog verify" in refused.value.fix


async def test_an_engine_told_to_accept_an_older_copy_continues_and_verifies_clean(
    tmp_path: Path,
) -> None:
    settings = settings_in(tmp_path / "data")
    async with rolled_back(settings, keeping=(EVENTS, ANCHORS)):
        pass
    async with open_engine(settings_in(tmp_path / "data", accept_rollback=True)) as engine:
        await engine.settled(60)
        assert (await engine.verifier.verify()).clean
        assert await said(engine) == ["I live in Lisbon"]
        told = {
            (one.found_by, one.done) for one in engine.incidents.open() if str(one.damage.stream) == "default/user:ana"
        }
        assert told == {(By.START, Done.ACCEPTED), (By.PROJECTION, Done.HEALED)}
        await Person(engine, "ana").says("I moved to Berlin")
        await engine.settled(60)
        assert await said(engine) == ["I live in Lisbon", "I moved to Berlin"]
        assert set((await engine.projections.lag()).values()) == {0}

    async with open_engine(settings) as engine:
        await engine.settled(60)
        report = await engine.verifier.verify()
        assert report.clean, report.damages


async def said(engine: Engine) -> list[str]:
    """What Redis shows of Ana's session, which no copy of the database puts back."""
    session = await engine.reads.session(Person(engine, "ana").viewer, DEFAULT_THREAD)
    return [turn["text"] for turn in session.turns]


async def test_an_engine_does_not_start_on_a_data_directory_that_was_rolled_back_whole(tmp_path: Path) -> None:
    settings, older = settings_in(tmp_path / "data"), tmp_path / "older"
    async with open_engine(settings) as engine:
        await Person(engine, "ana").says("I live in Lisbon")
        assert not engine.verifier.anchors.path.is_relative_to(settings.directory)
    copy = partial(subprocess.run, check=True)
    await asyncio.to_thread(copy, ["cp", "-a", settings.directory, older])
    async with open_engine(settings) as engine:
        await Person(engine, "ana").says("I moved to Madrid")
    await asyncio.to_thread(shutil.rmtree, settings.directory)
    await asyncio.to_thread(copy, ["mv", older, settings.directory])

    with pytest.raises(DatabaseRolledBack, match="default/user:ana"):
        async with open_engine(settings):
            pass


async def test_a_clean_start_and_stop_leave_nothing_to_find(tmp_path: Path) -> None:
    settings = settings_in(tmp_path / "data")
    for number in range(3):
        async with open_engine(settings) as engine:
            await Person(engine, "ana").says(f"This is start {number}")
            await engine.settled(60)
            assert (await engine.verifier.verify()).clean
    async with open_engine(settings, passive=True) as engine:
        report = await engine.verifier.verify()
        assert report.clean
        assert report.anchors >= 3


async def test_an_event_that_was_forged_while_no_engine_ran_is_not_anchored(tmp_path: Path) -> None:
    settings = settings_in(tmp_path / "data")
    async with open_engine(settings) as engine:
        ana = Person(engine, "ana")
        await ana.says("I live in Lisbon")
        await engine.settled(60)
    async with open_engine(settings, passive=True) as engine, attacking(engine, ana.stream) as mallory:
        head = await mallory.head()
        last = await mallory.event(head)
        later = {"seq": head + 1, "event_id": uuid4(), "link": bytes(32), "recorded_at": last["recorded_at"]}
        await mallory.inserts({**last, **later})

    async with open_engine(settings) as engine:
        anchored = engine.anchoring.known.seq(ana.stream)

    assert anchored == head
