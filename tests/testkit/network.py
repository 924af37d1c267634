"""A network between an engine and its Postgres, which can be cut in the middle, and commits that take their time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.sql import SQL, Composed, Literal

CHUNK = 65536


class Network:
    """Passes bytes on to a Postgres. `dsn` leads through it."""

    def __init__(self, postgres_dsn: str) -> None:
        self._target, self.dsn = conninfo_to_dict(postgres_dsn), postgres_dsn
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def cut(self) -> None:
        """End every connection at once, for both sides, with whatever is on its way."""
        for writer in self._writers:
            writer.transport.abort()

    @asynccontextmanager
    async def open(self) -> AsyncIterator["Network"]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()
        self.dsn = make_conninfo(self.dsn, host=host, port=port)
        try:
            yield self
        finally:
            server.close()
            self.cut()
            if self._tasks:
                await asyncio.wait(self._tasks)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, port = str(self._target["host"]), self._target.get("port", 5432)
        if host.startswith("/"):
            out_reader, out_writer = await asyncio.open_unix_connection(f"{host}/.s.PGSQL.{port}")
        else:
            out_reader, out_writer = await asyncio.open_connection(host, int(str(port)))
        for source, sink in ((reader, out_writer), (out_reader, writer)):
            task = asyncio.create_task(self._pass_on(source, sink))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _pass_on(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        self._writers.add(sink)
        try:
            with suppress(ConnectionError):
                while chunk := await source.read(CHUNK):
                    sink.write(chunk)
                    await sink.drain()
        finally:
            self._writers.discard(sink)
            sink.close()


# Deferred: it runs within the commit, once all is written and before any of it counts.
BEGIN = """
CREATE FUNCTION mnemolog.slow_commit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM pg_sleep(TG_ARGV[0]::float); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER slow_commit AFTER INSERT ON mnemolog.outbox DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW WHEN (NEW.stream LIKE {streams}) EXECUTE FUNCTION mnemolog.slow_commit({seconds});
"""
END = "DROP FUNCTION IF EXISTS mnemolog.slow_commit CASCADE"


@asynccontextmanager
async def slow_commits(postgres_dsn: str, seconds: float, streams: str = "%") -> AsyncIterator[None]:
    """Within this, a commit that appends to one of these streams (a pattern for LIKE) takes so long."""
    await _execute(postgres_dsn, SQL(BEGIN).format(streams=Literal(streams), seconds=Literal(str(seconds))))
    try:
        yield
    finally:
        await _execute(postgres_dsn, SQL(END))


async def _execute(postgres_dsn: str, statement: SQL | Composed) -> None:
    async with await AsyncConnection.connect(postgres_dsn, autocommit=True) as connection:
        await connection.execute(statement)
