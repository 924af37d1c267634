"""The next version of the history projection, by the three steps of docs/how-to/change-a-projection.md.

`python -m tests.upgrades.added_column DIRECTORY`: reads and writes a directory of this version while it is upgraded.
"""

import asyncio
import sys
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, Column

from mnemolog import AsyncMemory
from mnemolog.adapters.engine.engine import Engine, now
from mnemolog.adapters.projecting.projections import Projections
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.former import added
from mnemolog.projections.history import projector, tables
from tests.engine.equality import assert_live_equals_rebuilt

NEXT = tables.VERSION + 1

# 1. The column, and what the rows of before read as.
tables.history.append_column(Column("letters", BigInteger, nullable=False, info=added(NEXT, reads=0)))

# 2. The projector fills it.
row_before = projector._row


def row(event: Any, *about: Any) -> dict[str, Any]:
    return {**row_before(event, *about), "letters": len(event.header.type)}


vars(projector)["_row"] = row

# 3. The version is one higher.
vars(projector)["VERSION"] = NEXT
type.__setattr__(projector.HistoryProjector, "version", NEXT)


async def letters(memory: AsyncMemory, id_: UUID) -> list[int]:
    engine = await memory._engine()
    await memory.history(id_, user_id="ana")  # It waits for what this object wrote.
    return [row["letters"] for row in await engine.reads.history(Viewer("default", "ana", "default"), id_)]


async def upgraded(engine: Engine) -> None:
    async with asyncio.timeout(300):
        while await engine.projections.upgrading(now()):  # noqa: ASYNC110  Another task does it.
            await asyncio.sleep(0.05)


async def main(directory: str) -> None:
    gate, upgrade = asyncio.Event(), Projections.upgrade

    async def held(projections: Projections, *args: Any) -> Any:
        await gate.wait()
        return await upgrade(projections, *args)

    vars_of: Any = Projections
    vars_of.upgrade = held
    async with AsyncMemory(directory, durable=False, embedder="lexical") as memory:
        engine = await memory._engine()
        [old] = await engine.reads.newest(Viewer("default", "ana", "default"), 10)
        assert await letters(memory, old["memory_id"]) == [0], "the former version has no such column"
        assert [f"{one.former} -> {one.version}" for one in (await engine.projections.upgrading(now())).values()] == [
            f"v{tables.VERSION} -> v{NEXT}"
        ]
        new = await memory.create("Ana drinks tea", user_id="ana")
        assert 0 in await letters(memory, new.memory_id)
        gate.set()
        while await engine.projections.upgrading(now()):
            assert len(await letters(memory, old["memory_id"])) == 1
        await upgraded(engine)
        assert await letters(memory, old["memory_id"]) == [len("MemoryCreated")]
        assert len("MemoryCreated") in await letters(memory, new.memory_id)
        await assert_live_equals_rebuilt(engine, "history")


asyncio.run(main(sys.argv[1]))
