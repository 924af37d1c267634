"""The second wall between tenants: what a reader that asks for another tenant's rows is given by Postgres."""

from collections.abc import AsyncIterator
from uuid import UUID

import pytest
from sqlalchemy import Text, column, func, select, table, text
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.postgres.confinement import READER, confine_to
from mnemolog.domain.errors import NotFound
from mnemolog.domain.viewer import Viewer
from mnemolog.projections import full_text
from mnemolog.projections.changes import reader as changes
from mnemolog.projections.graph import reader as graph
from mnemolog.projections.history import reader as history
from mnemolog.projections.memories import reader as memories
from mnemolog.projections.memories.filters import Candidates
from tests.engine.person import Person

MINE, THEIRS = "acme", "globex"
LOG = ("events", "tags", "receipts", "heads", "embeddings")


@pytest.fixture
async def victim(engine: Engine, user: str) -> Person:
    """Somebody of another tenant, of whom there are rows in every table that a conversation fills."""
    person = Person(engine, user, THEIRS)
    await person.says("I like tea")
    memory_id = await person.creates("Ana likes tea")
    await engine.settled()  # So that the embedding of the text that is replaced is there to be kept.
    await person.updates(memory_id, text="Ana likes tea and coffee")
    await engine.settled()
    return person


@pytest.fixture
async def connection(engine: Engine, victim: Person) -> AsyncIterator[AsyncConnection]:
    """One that reads as tenant MINE."""
    async with engine.reads._each_statement_alone.connect() as opened:
        await confine_to(opened, MINE)
        yield opened


async def test_readers_are_no_superusers(connection: AsyncConnection) -> None:
    assert await connection.scalar(select(func.current_user())) == READER
    bypass = text("SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user")
    assert await connection.scalar(bypass) is False


@pytest.mark.spec("A01")
async def test_a_reader_that_is_given_another_tenants_viewer_finds_nothing(
    engine: Engine, victim: Person, connection: AsyncConnection
) -> None:
    stolen = victim.viewer
    [memory_id, *_] = {row["memory_id"] for row in await engine.reads.newest(stolen, 10)}

    assert await _told(connection, stolen, memory_id) == [], "past the first wall"

    await confine_to(connection, THEIRS)
    assert len(await _told(connection, stolen, memory_id)) == 6, "it is the wall that kept it"


async def _told(connection: AsyncConnection, viewer: Viewer, memory_id: UUID) -> list[object]:
    found: list[object] = [
        await memories.by_ids(connection, viewer, {memory_id}),
        await memories.newest(connection, viewer, 10),
        (await full_text.search(connection, Candidates(), viewer, "tea", 10)).scores,
        await changes.between(connection, viewer, "main", 0, 10),
        await graph.known(connection, viewer),
    ]
    try:
        found.append(await history.of(connection, viewer, memory_id))
    except NotFound:
        found.append(None)
    return [one for one in found if one]


async def test_every_table_of_every_projection_shows_one_tenant(
    engine: Engine, victim: Person, connection: AsyncConnection
) -> None:
    filled = set()
    for projector in engine.projections.projectors:
        for rows in projector.tables.sorted_tables:
            theirs = select(func.count()).select_from(rows).where(rows.c.tenant == THEIRS)
            async with engine.projections.live.connect() as owner:
                filled |= {rows.name} if await owner.scalar(theirs) else set()
            assert await connection.scalar(theirs) == 0, rows.name
    assert {"memories", "entities", "change_log", "history", "vectors"} <= filled


@pytest.mark.parametrize("name", LOG)
async def test_the_log_shows_one_tenant_to_a_reader(engine: Engine, connection: AsyncConnection, name: str) -> None:
    rows = table(name, column("tenant", Text), schema="mnemolog")
    counted = select(func.count()).select_from(rows).where(rows.c.tenant == THEIRS)
    async with engine.projections.live.connect() as owner:
        assert name == "receipts" or (await owner.scalar(counted) or 0) > 0
    assert await connection.scalar(counted) == 0


async def test_who_names_no_tenant_sees_none(engine: Engine, victim: Person) -> None:
    async with engine.reads._each_statement_alone.connect() as connection:
        await connection.execute(text("RESET mnemolog.tenant"))
        connection.sync_connection.info.clear()  # type: ignore[union-attr]
        assert await memories.newest(connection, victim.viewer, 10) == []


async def test_a_rebuilt_projection_has_row_level_security_too(
    engine: Engine, victim: Person, connection: AsyncConnection
) -> None:
    await engine.projections.rebuild("memories")
    assert await memories.newest(connection, victim.viewer, 10) == []
    assert await engine.reads.newest(victim.viewer, 10)
