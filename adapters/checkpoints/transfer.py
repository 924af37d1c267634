"""The checkpoints of a user leave an engine and come into another one, part by part (X17)."""

import struct
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Self

from psycopg.rows import dict_row

from mnemolog.adapters.checkpoints.contents import Box, Contents, Write
from mnemolog.adapters.checkpoints.known import Thread, box_of
from mnemolog.adapters.checkpoints.store import QUERIES, CheckpointStore
from mnemolog.adapters.postgres.cancellable import CancellableConnection, server_cursor
from mnemolog.adapters.postgres.pool import Connection
from mnemolog.adapters.postgres.queries import query
from mnemolog.adapters.postgres.roots import Roots
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.identity import identifier
from mnemolog.events.checkpoints import CheckpointsErased, CheckpointsStarted, checkpoints_tag
from mnemolog.events.envelope import StreamId
from mnemolog.events.erasure import ThreadErased, UserErased

_BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
ROWS_AT_ONCE = 50
SMALLINT = 2**15


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of the values of a thread's channels, which its checkpoints refer to by the id."""

    chunk_id: bytes
    data: bytes


@dataclass(frozen=True, slots=True)
class Row:
    """A checkpoint: its contents, and its chunks in order."""

    namespace: str
    checkpoint_id: str
    parent_id: str | None
    chunk_ids: tuple[bytes, ...]
    data: bytes


@dataclass(frozen=True, slots=True)
class Pending:
    """A task's write after a checkpoint."""

    namespace: str
    checkpoint_id: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a thread: first all its chunks, then its checkpoints, then pending writes."""

    agent_id: str
    thread_id: str
    of: Chunk | Row | Pending


class Started:
    """The threads that have checkpoints up to some event of their user, by the tags in headers."""

    def __init__(self) -> None:
        self._threads: dict[str, str] = {}

    def take(self, event_type: str, tags: Iterable[str]) -> None:
        named = {tag.partition(":")[0]: tag for tag in tags}
        if event_type == CheckpointsStarted.type_name():
            self._threads[named["checkpoints"]] = named["thread"]
        elif event_type == CheckpointsErased.type_name():
            self._threads.pop(named["checkpoints"], None)
        elif event_type == ThreadErased.type_name():
            self._threads = {one: thread for one, thread in self._threads.items() if thread != named["thread"]}
        elif event_type == UserErased.type_name():
            self._threads = {}

    def __contains__(self, part: Part | Thread) -> bool:
        return checkpoints_tag(part.agent_id, part.thread_id) in self._threads


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All checkpoints of a user at one moment, by thread."""

    _connection: Connection
    boxes: Sequence[tuple[Thread, Box]]

    @classmethod
    @asynccontextmanager
    async def taken(cls, postgres_dsn: str, store: CheckpointStore, stream: StreamId) -> AsyncIterator[Self]:
        """On its own connection, because the reader may be slow."""
        owner = {"tenant": stream.tenant, "stream": stream.name}
        connection: Connection = await CancellableConnection.connect(
            postgres_dsn, autocommit=True, row_factory=dict_row
        )
        async with connection:
            await connection.execute(_BEGIN)
            threads = await (await connection.execute(query("export_threads", QUERIES), owner)).fetchall()
            named = [(Thread(stream, row["agent_id"], row["thread_id"]), row) for row in threads]
            boxes = [(thread, box_of(thread, row, store.roots)) for thread, row in named]
            yield cls(connection, boxes)

    async def parts(self, started: Started) -> AsyncGenerator[Part]:
        """The parts of threads that had started by then."""
        for thread, box in self.boxes:
            if thread not in started:
                continue
            for name, made in _PARTS.items():
                async with aclosing(self._rows(name, thread, box)) as rows:
                    async for row in rows:
                        yield Part(thread.agent_id, thread.thread_id, made(box, row))

    async def _rows(self, name: str, thread: Thread, box: Box) -> AsyncGenerator[dict[str, Any]]:
        async with server_cursor(self._connection, "exported") as cursor:
            cursor.itersize = ROWS_AT_ONCE
            await cursor.execute(query(name, QUERIES), {**thread.row, "key_id": box.key_id}, binary=True)
            async for row in cursor:
                yield row


def _chunk(box: Box, row: Mapping[str, Any]) -> Chunk:
    return Chunk(row["chunk_id"], box.open(row["data"], "chunk", row["chunk_id"]))


def _checkpoint(box: Box, row: Mapping[str, Any]) -> Row:
    place = (row["namespace"], row["checkpoint_id"])
    data = box.open(row["data"], "checkpoint", *place, row["parent_id"] or "")
    return Row(*place, row["parent_id"], tuple(row["chunk_ids"]), data)


def _pending(box: Box, row: Mapping[str, Any]) -> Pending:
    place = (row["namespace"], row["checkpoint_id"])
    return Pending(*place, box.open(row["data"], "write", *place))


# What each query returns a row of.
_PARTS: Mapping[str, Callable[[Box, Mapping[str, Any]], Chunk | Row | Pending]] = {
    "export_chunks": _chunk,
    "export_checkpoints": _checkpoint,
    "export_writes": _pending,
}


@dataclass(slots=True)
class Check:
    """Checks the parts of a file before any of them is written; InvalidInput names what is wrong."""

    started: Started
    _chunks: dict[tuple[str, str], set[bytes]] = field(default_factory=dict)

    def take(self, part: Part) -> None:
        if part not in self.started:
            raise InvalidInput("has no CheckpointsStarted", field="thread_id", fix="export the user again")
        known = self._chunks.setdefault((part.agent_id, part.thread_id), set())
        try:
            match part.of:
                case Chunk(chunk_id=chunk_id):
                    known.add(chunk_id)
                case Row(chunk_ids=chunk_ids, data=data):
                    referred = Contents.unpacked(data, chunk_ids).chunk_ids
                    if referred != list(chunk_ids) or not known.issuperset(referred):
                        raise InvalidInput("refers to other chunks", field="chunk_ids", fix="export the user again")
                case Pending(data=data):
                    write = Write.unpacked(data)
                    identifier(write.task_id, "data.task_id")
                    if not -SMALLINT <= write.idx < SMALLINT:
                        raise ValueError(write.idx)
        # What parsing a struct, JSON or a truncated generator may raise.
        except (ValueError, KeyError, TypeError, AttributeError, RuntimeError, struct.error) as error:
            raise InvalidInput("is not a checkpoint", field="data", fix="export the user again") from error


async def take_in(store: CheckpointStore, stream: StreamId, parts: Iterable[Part], connection: Connection) -> None:
    """Write checked parts, with the keys created by the events of this transaction."""
    opened: tuple[Thread, Box] | None = None
    ids: dict[bytes, bytes] = {}
    for part in parts:
        thread = Thread(stream, part.agent_id, part.thread_id)
        if opened is None or opened[0] != thread:
            opened, ids = (thread, await _begun(connection, thread, store.roots)), {}
        box = opened[1]
        owner = {**thread.row, "key_id": box.key_id}
        match part.of:
            case Chunk(chunk_id=chunk_id, data=data):
                ids[chunk_id] = box.chunk_id(data)
                row = {"chunk_id": ids[chunk_id], "data": box.seal(data, "chunk", ids[chunk_id])}
                await connection.execute(query("import_chunk", QUERIES), {**owner, **row})
            case Row(namespace, checkpoint_id, parent_id, chunk_ids, data):
                run_id = Contents.unpacked(data, chunk_ids).run_id
                place = {"namespace": namespace, "checkpoint_id": checkpoint_id, "parent_id": parent_id}
                sealed = box.seal(data, "checkpoint", namespace, checkpoint_id, parent_id or "")
                found = {"run_hash": store.run_hash(run_id), "chunk_ids": [ids[one] for one in chunk_ids]}
                await connection.execute(
                    query("import_checkpoint", QUERIES), {**owner, **place, **found, "data": sealed}
                )
            case Pending(namespace, checkpoint_id, data):
                write = Write.unpacked(data)
                place = {"namespace": namespace, "checkpoint_id": checkpoint_id}
                named = {"task_id": write.task_id, "idx": write.idx}
                sealed = box.seal(data, "write", namespace, checkpoint_id)
                await connection.execute(query("import_write", QUERIES), {**owner, **place, **named, "data": sealed})


async def _begun(connection: Connection, thread: Thread, roots: Roots) -> Box:
    names = {"agent_id": thread.agent_id, "thread_id": thread.thread_id}
    await connection.execute(query("insert_thread", QUERIES), {**thread.row, **names})
    [row] = await (await connection.execute(query("find_thread", QUERIES), thread.row)).fetchall()
    return box_of(thread, row, roots)
