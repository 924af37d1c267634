"""Nine kinds of edit that somebody with SQL alone can make, each on rows of a projection and on the log."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from mnemolog.adapters.engine.engine import Engine
from mnemolog.events.envelope import StreamId
from tests.tamper.attacker import Attacker, table

KINDS = ("content", "tail", "middle", "reorder", "forge", "other user", "replay", "metadata", "rollback")
ROWS, LOG = "rows", "log"
OWN = "tenant = %(tenant)s AND user_id = %(user)s"
PLAIN = b'{"open":{"memory_id":"%s"},"scope":"memory","sealed":{"alg":"none","fields":{"text":"Ana owes Eve"}}}'


@dataclass(frozen=True)
class Target:
    """Whom an attack is about, and what it is made of: two of her memories, somebody else, and older rows of hers."""

    engine: Engine
    mallory: Attacker
    other: StreamId
    first: UUID
    second: UUID
    older: dict[str, list[dict[str, Any]]]

    @property
    def memories(self) -> str:
        return table(self.engine, "memories")

    async def rows(self, statement: str, **values: Any) -> None:
        await self.mallory.sql(statement.format(memories=self.memories, own=OWN), **values)


Edit = Callable[[Target], Awaitable[None]]


async def snapshot(engine: Engine, mallory: Attacker) -> dict[str, list[dict[str, Any]]]:
    """The rows of her memories and their progress as they are now, to be put back later."""
    names = (table(engine, "memories"), table(engine, "memories", "progress"))
    return {
        names[0]: await mallory.sql(f"SELECT * FROM {names[0]} WHERE {OWN}"),
        names[1]: await mallory.sql(f"SELECT * FROM {names[1]} WHERE tenant = %(tenant)s AND stream = %(stream)s"),
    }


# Rows


async def row_content(at: Target) -> None:
    await at.rows("UPDATE {memories} SET text = 'Ana drinks gin' WHERE {own} AND memory_id = %(id)s", id=at.first)


async def row_tail(at: Target) -> None:
    await at.rows("DELETE FROM {memories} WHERE {own} AND seq = (SELECT max(seq) FROM {memories} WHERE {own})")


async def row_middle(at: Target) -> None:
    await at.rows("DELETE FROM {memories} WHERE {own} AND memory_id = %(id)s", id=at.first)


async def row_reorder(at: Target) -> None:
    await at.rows(
        "UPDATE {memories} AS one SET text = other.text, mac = other.mac, seq = other.seq FROM {memories} AS other"
        " WHERE one.user_id = %(user)s AND other.user_id = %(user)s AND one.memory_id <> other.memory_id"
        " AND one.memory_id = ANY(%(ids)s) AND other.memory_id = ANY(%(ids)s)",
        ids=[at.first, at.second],
    )


async def _copied(at: Target, **changes: Any) -> None:
    [row] = await at.mallory.sql(f"SELECT * FROM {at.memories} WHERE {OWN} AND memory_id = %(id)s", id=at.first)
    await _put_back(at, at.memories, {**row, **changes})


async def _put_back(at: Target, name: str, row: dict[str, Any]) -> None:
    names = [one for one in row if one != "search"]
    places = ", ".join(f"%({one})s" for one in names)
    await at.mallory.sql(f"INSERT INTO {name} ({', '.join(names)}) VALUES ({places})", **row)


async def row_forge(at: Target) -> None:
    await _copied(at, memory_id=uuid4(), text="Ana owes Eve money", mac=bytes(32))


async def row_other_user(at: Target) -> None:
    await _copied(at, user_id=at.other.owner)


async def row_replay(at: Target) -> None:
    """One older row of hers, whose MAC fits."""
    [older] = [row for row in at.older[at.memories] if row["memory_id"] == at.first]
    await row_middle(at)
    await _put_back(at, at.memories, older)


async def row_metadata(at: Target) -> None:
    await at.rows("UPDATE {memories} SET importance = 0.99 WHERE {own} AND memory_id = %(id)s", id=at.first)


async def row_rollback(at: Target) -> None:
    """All of her older rows, under the progress of today."""
    await at.rows("DELETE FROM {memories} WHERE {own}")
    for row in at.older[at.memories]:
        await _put_back(at, at.memories, row)


# The log


async def log_content(at: Target) -> None:
    event = await at.mallory.event(3)
    await at.mallory.changes(3, "data", bytes(event["data"]).replace(b'"open"', b'"Open"'))


async def log_tail(at: Target) -> None:
    head = await at.mallory.head()
    await at.mallory.removes(head - 2, head)
    await at.mallory.tidies()


async def log_middle(at: Target) -> None:
    await at.mallory.removes(4)
    await at.mallory.tidies()


async def log_reorder(at: Target) -> None:
    for seq, to in ((3, 1_000_000), (4, 3), (1_000_000, 4)):
        await at.mallory.moves(seq, to)
    await at.mallory.tidies()


async def _inserted(at: Target, row: dict[str, Any]) -> None:
    """With head, tags and an outbox row to match."""
    await at.mallory.inserts(row)
    await at.mallory.sql(
        "INSERT INTO mnemolog.outbox (tenant, stream, first_seq, last_seq)"
        " VALUES (%(tenant)s, %(stream)s, %(seq)s, %(seq)s)",
        seq=row["seq"],
    )


async def log_forge(at: Target) -> None:
    head, memory_id = await at.mallory.head(), str(uuid4())
    data = PLAIN % memory_id.encode()
    last = await at.mallory.event(head)
    forged = {"seq": head + 1, "event_id": uuid4(), "data": data, "tags": [f"memory:{memory_id}"], "link": bytes(32)}
    await _inserted(at, {**last, **forged, "type": "MemoryCreated"})


async def log_other_user(at: Target) -> None:
    theirs = await at.mallory.on(at.other).event(3)
    await _inserted(at, {**theirs, "stream": at.mallory.stream.name, "seq": await at.mallory.head() + 1})


async def log_replay(at: Target) -> None:
    again = {**await at.mallory.event(3), "seq": await at.mallory.head() + 1, "event_id": uuid4()}
    await _inserted(at, again)


async def log_metadata(at: Target) -> None:
    await at.mallory.sql(
        'UPDATE mnemolog.events SET meta = meta || \'{"actor": "eve"}\''
        " WHERE tenant = %(tenant)s AND stream = %(stream)s AND seq = 3"
    )


async def log_rollback(at: Target) -> None:
    """All of her stream, with head, index and rows, as it stood after the first half."""
    await at.mallory.removes(await at.mallory.head() // 2 + 1, await at.mallory.head())
    await at.mallory.tidies()
    await row_rollback(at)
    progress = table(at.engine, "memories", "progress")
    place = "tenant = %(tenant)s AND stream = %(stream)s"
    await at.mallory.sql(f"UPDATE {progress} SET seq = %(seq)s WHERE {place}", seq=await at.mallory.head())


EDITS: dict[tuple[str, str], Edit] = {
    (ROWS, "content"): row_content,
    (ROWS, "tail"): row_tail,
    (ROWS, "middle"): row_middle,
    (ROWS, "reorder"): row_reorder,
    (ROWS, "forge"): row_forge,
    (ROWS, "other user"): row_other_user,
    (ROWS, "replay"): row_replay,
    (ROWS, "metadata"): row_metadata,
    (ROWS, "rollback"): row_rollback,
    (LOG, "content"): log_content,
    (LOG, "tail"): log_tail,
    (LOG, "middle"): log_middle,
    (LOG, "reorder"): log_reorder,
    (LOG, "forge"): log_forge,
    (LOG, "other user"): log_other_user,
    (LOG, "replay"): log_replay,
    (LOG, "metadata"): log_metadata,
    (LOG, "rollback"): log_rollback,
}
