"""Somebody who may do anything inside the database, triggers or not, and has no key and nothing outside of it."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from psycopg.rows import DictRow, dict_row
from psycopg.sql import SQL, Identifier

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.postgres.store import PostgresStore
from mnemolog.events.envelope import StreamId

LOG = ("events", "heads", "tags", "receipts", "outbox")
PLACE = "tenant = %(tenant)s AND stream = %(stream)s"


class Attacker:
    """Every verb works on one stream's rows; `sql` does what it is told."""

    def __init__(self, connection: psycopg.AsyncConnection[DictRow], stream: StreamId) -> None:
        self._connection, self.stream = connection, stream

    def on(self, stream: StreamId) -> "Attacker":
        return Attacker(self._connection, stream)

    async def sql(self, statement: str, **values: Any) -> list[dict[str, Any]]:
        """Run a statement; it may name %(tenant)s, %(stream)s, %(user)s."""
        place = {"tenant": self.stream.tenant, "stream": self.stream.name, "user": self.stream.owner}
        cursor = await self._connection.execute(statement.encode(), {**place, **values})
        return await cursor.fetchall() if cursor.description else []

    async def event(self, seq: int) -> dict[str, Any]:
        [row] = await self.sql(f"SELECT * FROM mnemolog.events WHERE {PLACE} AND seq = %(seq)s", seq=seq)
        return row

    async def head(self) -> int:
        [row] = await self.sql(f"SELECT seq FROM mnemolog.heads WHERE {PLACE}")
        return int(row["seq"])

    async def changes(self, seq: int, column: str, value: Any) -> None:
        await self.sql(
            f"UPDATE mnemolog.events SET {column} = %(value)s WHERE {PLACE} AND seq = %(seq)s", seq=seq, value=value
        )

    async def inserts(self, row: Mapping[str, Any]) -> None:
        """An event with its tags, outbox row, and the head moved to it: as consistent as it can be."""
        names = list(row)
        columns = SQL(", ").join(map(Identifier, names))
        values = [psycopg.types.json.Jsonb(row[name]) if name == "meta" else row[name] for name in names]
        await self._connection.execute(
            SQL("INSERT INTO mnemolog.events ({}) VALUES ({})").format(
                columns, SQL(", ").join([SQL("%s")] * len(names))
            ),
            values,
        )
        await self.tidies()

    async def removes(self, first: int, last: int | None = None) -> None:
        await self.sql(
            f"DELETE FROM mnemolog.events WHERE {PLACE} AND seq BETWEEN %(first)s AND %(last)s",
            first=first,
            last=last or first,
        )

    async def moves(self, seq: int, to: int) -> None:
        await self.sql(f"UPDATE mnemolog.events SET seq = %(to)s WHERE {PLACE} AND seq = %(seq)s", seq=seq, to=to)

    async def tidies(self) -> None:
        """Make head, index, receipts and outbox say what the events say now."""
        await self.sql(f"DELETE FROM mnemolog.tags WHERE {PLACE}")
        await self.sql(
            "INSERT INTO mnemolog.tags SELECT DISTINCT tenant, stream, tag, seq"
            f" FROM mnemolog.events, unnest(tags) AS tag WHERE {PLACE}"
        )
        await self.sql(
            "UPDATE mnemolog.heads AS head SET seq = last.seq, link = last.link, recorded_at = last.recorded_at"
            f" FROM (SELECT * FROM mnemolog.events WHERE {PLACE} ORDER BY seq DESC LIMIT 1) AS last"
            " WHERE (head.tenant, head.stream) = (last.tenant, last.stream)"
        )
        await self.sql(f"DELETE FROM mnemolog.receipts WHERE {PLACE} AND last_seq > %(head)s", head=await self.head())
        await self.sql(f"DELETE FROM mnemolog.outbox WHERE {PLACE}")

    async def forgets_everything(self) -> None:
        """Whatever the database holds of the stream, but for its projections."""
        for table in LOG:
            await self.sql(f"DELETE FROM mnemolog.{table} WHERE {PLACE}")

    async def leaves_no_trace(self) -> None:
        """Take the user out of every table, with all whose name begins with the user's and a dash."""
        owned = {'"user_id"': "user_id", '"stream"': "substr(stream, 6)"}
        for (schema, name), columns in (await self._tables()).items():
            if owner := next((found for name_, found in owned.items() if name_ in columns), None):
                theirs = f"{owner} = %(user)s OR starts_with({owner}, %(user)s || '-')"
                await self.sql(f'DELETE FROM "{schema}"."{name}" WHERE {theirs}')

    async def copies_database(self) -> None:
        """Keep a copy of the whole database, as a backup would."""
        await self.sql("CREATE SCHEMA IF NOT EXISTS attic")
        for schema, table in await self._tables():
            await self.sql(f'CREATE TABLE attic."{schema}.{table}" AS TABLE "{schema}"."{table}"')

    async def restores_database(self) -> None:
        """Put the copy in the place of everything."""
        kept = {
            row["tablename"] for row in await self.sql("SELECT tablename FROM pg_tables WHERE schemaname = 'attic'")
        }
        for (schema, table), names in (await self._tables()).items():
            if f"{schema}.{table}" not in kept:  # Such as a shadow that a rebuild has made since.
                continue
            columns = ", ".join(names)
            await self.sql(f'DELETE FROM "{schema}"."{table}"')
            await self.sql(
                f'INSERT INTO "{schema}"."{table}" ({columns}) OVERRIDING SYSTEM VALUE'
                f' SELECT {columns} FROM attic."{schema}.{table}"'
            )

    async def _tables(self) -> Mapping[tuple[str, str], Sequence[str]]:
        """All of the engine's, with the columns that are not generated."""
        rows = await self.sql(
            """SELECT nspname, relname, array_agg('"' || attname || '"' ORDER BY attnum) AS columns
            FROM pg_class JOIN pg_namespace AS namespace ON namespace.oid = relnamespace
            JOIN pg_attribute ON attrelid = pg_class.oid
            WHERE nspname LIKE 'mnemolog%%' AND relkind IN ('r', 'p')
            AND attnum > 0 AND NOT attisdropped AND attgenerated = '' GROUP BY nspname, relname"""
        )
        return {(row["nspname"], row["relname"]): row["columns"] for row in rows}


@asynccontextmanager
async def attacking(engine: Engine, stream: StreamId) -> AsyncIterator[Attacker]:
    """A superuser's session in which no trigger fires."""
    connection = await psycopg.AsyncConnection.connect(
        engine.endpoints.postgres_dsn, autocommit=True, row_factory=dict_row
    )
    async with connection:
        await connection.execute("SET session_replication_role = replica")
        yield Attacker(connection, stream)


def table(engine: Engine, projection: str, name: str = "") -> str:
    """A projection's live table, as SQL names it."""
    store = engine.projections.stores[projection]
    assert isinstance(store, PostgresStore)
    return f"{store.schema}.{name or projection}"
