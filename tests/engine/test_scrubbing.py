"""A scrub leaves no byte of what was erased on the disk of an embedded server (X16)."""

import asyncio
from pathlib import Path

import psycopg
import pytest
from psycopg import IsolationLevel
from psycopg.sql import SQL, Identifier

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.erasure import stores
from mnemolog.adapters.erasure.erasing import erase
from mnemolog.adapters.erasure.scrubbing import scrub
from mnemolog.adapters.postgres.store import PostgresStore
from mnemolog.commands.erasure import EraseMemory
from mnemolog.domain.errors import EngineError
from mnemolog.projections.reads.moment import Moment
from tests.adapters.cli.command import mnemolog
from tests.engine.person import Person
from tests.engine.test_prove_erased import planted


@pytest.mark.spec("X16", "X07")
async def test_after_an_erasure_and_a_scrub_no_file_holds_the_text(engine: Engine, user: str) -> None:
    phrase = f"Xylofantasticum{user.replace('-', '')}"  # In no file yet, also if the test is repeated.
    ana, directory = Person(engine, user), engine.settings.directory
    kept = await ana.creates("Ana likes tea")
    memory_id = await planted(ana, phrase)
    seq = await engine.log.head(ana.stream)
    assert await engine.reads.newest(ana.viewer, 5, Moment(as_of=seq))  # A replay shows it too.
    async with await psycopg.AsyncConnection.connect(engine.endpoints.postgres_dsn, autocommit=True) as connection:
        await connection.execute("ANALYZE")
        await connection.execute("CHECKPOINT")
    assert _holding(directory, phrase)["postgres"] > 1, "rows and WAL hold it"

    erased = await mnemolog(directory, "erase", str(memory_id), "-u", user, "--yes")
    assert erased.code == 0, erased.err
    assert _holding(directory, phrase)["postgres"] > 0
    proof = await mnemolog(
        directory, "prove-erased", "-u", user, "--memory-id", str(memory_id), "--text", phrase, "--json"
    )
    assert any("`mnemolog scrub` clears what was freed" in line for line in proof.value["unseen"])

    scrubbed = await mnemolog(directory, "scrub", "--json")

    assert scrubbed.code == 0, scrubbed.err
    assert scrubbed.value["wal_segments"] > 0
    assert _holding(directory, phrase) == {"postgres": 0, "nats": 0, "redis": 0}
    proof = await mnemolog(
        directory, "prove-erased", "-u", user, "--memory-id", str(memory_id), "--text", phrase, "--json"
    )
    assert proof.code == 0
    assert not any("clears them" in line and phrase in line for line in proof.value["unseen"])
    assert (await engine.reads.memory(ana.viewer, kept))["text"] == "Ana likes tea"
    assert (await engine.verifier.verify(ana.stream)).clean


@pytest.mark.spec_part("X16")
async def test_a_scrub_waits_for_transactions_that_still_see_what_was_erased(engine: Engine, user: str) -> None:
    phrase, dsn = f"Quadrophobia{user.replace('-', '')}", engine.endpoints.postgres_dsn
    ana, steps = Person(engine, user), list[str]()
    memory_id = await ana.creates(f"Ana loves {phrase}")
    async with await psycopg.AsyncConnection.connect(dsn, application_name="a long export") as other:
        await other.set_isolation_level(IsolationLevel.REPEATABLE_READ)
        await other.execute("SELECT count(*) FROM mnemolog.events")
        await erase(engine, EraseMemory(user_id=user, memory_id=memory_id))

        with pytest.raises(EngineError, match=rf"a long export \(process {other.info.backend_pid}\)"):
            await scrub([dsn], None, wait=0.2)

        scrubbing = asyncio.create_task(scrub([dsn], None, steps.append))
        while not steps:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    await scrubbing

    assert steps[0] == "waiting for a transaction of a long export"
    assert _holding(engine.settings.directory, phrase)["postgres"] == 0


@pytest.mark.spec_part("X16")
async def test_a_scrub_gives_way_to_readers_while_a_transaction_has_a_lock(engine: Engine, user: str) -> None:
    dsn, ana, steps = engine.endpoints.postgres_dsn, Person(engine, user), list[str]()
    await ana.creates("Ana likes tea")
    await ana.finds("tea")
    store = engine.projections.stores["memories"]
    assert isinstance(store, PostgresStore)
    async with await psycopg.AsyncConnection.connect(dsn, application_name="a hung program") as other:
        await other.execute(
            SQL("SELECT count(*) FROM {}.memories").format(Identifier(store.schema))
        )  # Sees no old rows now.

        with pytest.raises(EngineError, match=rf"a hung program \(process {other.info.backend_pid}\).*has a lock on"):
            await scrub([dsn], None, wait=0.2)

        scrubbing = asyncio.create_task(scrub([dsn], None, steps.append))
        while "waiting for a transaction of a hung program" not in steps:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        async with asyncio.timeout(60):
            assert [row["text"] for row in await engine.reads.newest(ana.viewer, 5)] == ["Ana likes tea"]
    assert (await scrubbing).tables


def _holding(directory: Path, phrase: str) -> dict[str, int]:
    return {one.name: one.readable for one in stores.pages(directory, phrase)}
