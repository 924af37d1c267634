"""The checkpoints of graphs in Postgres: saved, loaded, listed, copied, pruned and erased (B15)."""

import asyncio
import hmac
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import psycopg

from mnemolog.adapters.checkpoints.contents import Box, Contents, Stored, Value, Version, Write
from mnemolog.adapters.checkpoints.known import KnownThread, KnownThreads, Place, Thread
from mnemolog.adapters.postgres.blocking import BlockingPool
from mnemolog.adapters.postgres.pool import Connection, Pool, repeated
from mnemolog.adapters.postgres.queries import query
from mnemolog.adapters.postgres.roots import Roots
from mnemolog.commands.checkpoints import CHECKPOINTS_ERASURE, CHECKPOINTS_START, EraseCheckpoints, StartCheckpoints
from mnemolog.commands.handler import Handler
from mnemolog.domain.errors import Conflict, InvalidInput, NotFound, NotPermitted
from mnemolog.domain.identity import identifier
from mnemolog.domain.principal import Principal, Role
from mnemolog.domain.text import utf8_size
from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import StreamId
from mnemolog.events.fields import validated

QUERIES = "mnemolog.adapters.checkpoints"
ATTEMPTS = 8
MAX_NAMESPACE = 2000
# Greater than any id.
LAST = "\U0010ffff"

_logger = logging.getLogger("mnemolog.checkpoints")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint to be saved. `values` are those of its channels, each with its version; what it shares with its
    parent may be given as it is stored there.
    """

    namespace: str
    checkpoint_id: str
    parent_id: str | None
    run_id: str | None
    state: Value
    metadata: Value
    values: Mapping[str, Stored | tuple[Version, Value]]

    @property
    def place(self) -> Place:
        return self.namespace, self.checkpoint_id

    @property
    def parent(self) -> Place | None:
        return None if self.parent_id is None else (self.namespace, self.parent_id)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A loaded checkpoint, with its pending writes in the order in which a step applies them."""

    thread: Thread
    namespace: str
    checkpoint_id: str
    parent_id: str | None
    run_id: str | None
    state: Value
    metadata: Value
    values: Mapping[str, tuple[Version, Value]]
    writes: Sequence[Write]


class CheckpointStore:
    """`untried` is a pool whose connections need not be tested before use.

    `save_now`, `save_writes_now` and `load_now` are for callers that may not await: to hand a call to the thread of
    the event loop takes longer than its query. They do what one query on `blocking` can do.
    """

    def __init__(self, untried: Pool, blocking: BlockingPool, roots: Roots, handler: Handler) -> None:
        self._pool, self._blocking, self.roots, self._handler = untried, blocking, roots, handler
        self._runs = roots.derived("runs of checkpoints")
        self._known = KnownThreads(roots)
        self._opening = asyncio.Lock()
        self._principal: Principal | None = None

    def by(self, principal: Principal | None, handler: Handler) -> Self:
        """The same store for this principal, restricted to the scope of its API key."""
        bound = copy(self)
        bound._principal, bound._handler = principal, handler
        return bound

    async def save(
        self,
        thread: Thread,
        place: Place,
        parent: Place | None,
        compose: Callable[[Mapping[str, Stored]], Checkpoint],
    ) -> None:
        """Save a checkpoint, durable when this returns. Saving it again replaces it.

        `compose` gets the stored values of the parent, as far as they are cached. It may be called again. Conflict if
        the parent was erased meanwhile.
        """
        self._admit_save(thread, place, parent)
        for attempt in range(ATTEMPTS):
            opened = await self._opened(thread, again=attempt > 0)
            saving = self._saving(opened, thread, parent, compose)
            if await self._rows("save_checkpoint", saving.row):
                self._known.note(opened, saving.place, saving.values, saving.row["chunk_ids"])
                return
        raise _busy()

    def save_now(
        self,
        thread: Thread,
        place: Place,
        parent: Place | None,
        compose: Callable[[Mapping[str, Stored]], Checkpoint],
    ) -> bool:
        """Like `save`, without awaiting. False if that takes more than one query: then call `save`."""
        self._admit_save(thread, place, parent)
        if (opened := self._known.get(thread)) is None:
            return False
        saving = self._saving(opened, thread, parent, compose)
        if not self._rows_now("save_checkpoint", saving.row):
            return False
        self._known.note(opened, saving.place, saving.values, saving.row["chunk_ids"])
        return True

    def _admit_save(self, thread: Thread, place: Place, parent: Place | None) -> None:
        self._admit(thread, Role.WRITE)
        for one in (place, parent) if parent else (place,):
            _require_fit(one)

    def _saving(
        self,
        opened: KnownThread,
        thread: Thread,
        parent: Place | None,
        compose: Callable[[Mapping[str, Stored]], Checkpoint],
    ) -> "_Saving":
        opened.require_there(parent)
        checkpoint = compose(opened.values.get(parent, {}) if parent else {})
        values, new = _stored(opened.box, checkpoint.values)
        contents = Contents(checkpoint.state, checkpoint.metadata, values, checkpoint.run_id)
        sent = {one: data for one, data in new.items() if one not in opened.chunks}
        row = {
            **thread.row,
            "key_id": opened.box.key_id,
            "prunings": opened.prunings,
            "namespace": checkpoint.namespace,
            "checkpoint_id": checkpoint.checkpoint_id,
            "parent_id": checkpoint.parent_id,
            "run_hash": self.run_hash(checkpoint.run_id),
            "chunk_ids": contents.chunk_ids,
            "data": opened.box.seal(contents.packed(), "checkpoint", *checkpoint.place, checkpoint.parent_id or ""),
            "new_ids": list(sent),
            "new_data": [opened.box.seal(data, "chunk", one) for one, data in sent.items()],
        }
        return _Saving(checkpoint.place, values, row)

    async def save_writes(self, thread: Thread, namespace: str, checkpoint_id: str, writes: Sequence[Write]) -> None:
        """Save the writes of a task in a step. Existing ones are kept, except those with an idx below zero."""
        self._admit_save(thread, (namespace, checkpoint_id), None)
        for attempt in range(ATTEMPTS if writes else 0):
            opened = await self._opened(thread, again=attempt > 0)
            if await self._rows("save_writes", _writing(opened, thread, (namespace, checkpoint_id), writes)):
                return
        if writes:
            raise _busy()

    def save_writes_now(self, thread: Thread, namespace: str, checkpoint_id: str, writes: Sequence[Write]) -> bool:
        """Like `save_writes`, without awaiting. False if that takes more than one query: then call `save_writes`."""
        self._admit_save(thread, (namespace, checkpoint_id), None)
        if not writes or (opened := self._known.get(thread)) is None:
            return not writes
        return bool(self._rows_now("save_writes", _writing(opened, thread, (namespace, checkpoint_id), writes)))

    async def load(self, thread: Thread, namespace: str, checkpoint_id: str | None = None) -> Loaded | None:
        """A checkpoint of a namespace, by default the newest."""
        self._admit(thread, Role.READ)
        _require_fit((namespace, checkpoint_id or LAST))
        return await repeated(self._pool, partial(self._loaded, thread, namespace, checkpoint_id))

    def load_now(self, thread: Thread, namespace: str, checkpoint_id: str | None = None) -> Loaded | None:
        """Like `load`, without awaiting. Also None if the query failed: then call `load`."""
        self._admit(thread, Role.READ)
        _require_fit((namespace, checkpoint_id or LAST))
        rows = self._rows_now("load_checkpoint", _wanted(thread, namespace, checkpoint_id))
        return self._read(thread, checkpoint_id, rows[0]) if rows else None

    async def places(self, thread: Thread) -> Sequence[tuple[Place, str | None]]:
        """The places of all checkpoints, each with the id of its parent, newest first."""
        self._admit(thread, Role.READ)
        return [((row["namespace"], row["checkpoint_id"]), row["parent_id"]) for row in await self._listed(thread)]

    async def threads(
        self,
        tenant: str,
        stream: StreamId | None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        *,
        runs: Sequence[str] | None = None,
        remains: bool = False,
    ) -> Sequence[Thread]:
        """The threads with checkpoints in the principal's scope: of a user or all, of runs or all.

        With `remains`, includes those with rows left by an interrupted erasure.
        """
        wanted = {
            "tenant": tenant,
            "stream": stream.name if stream else None,
            "agent_id": agent_id,
            "thread_id": thread_id,
            "remains": remains,
            "runs": list(map(self.run_hash, runs or ())),
        }
        rows = await self._rows("find_threads" if runs is None else "find_threads_of_runs", wanted)
        found = [Thread(StreamId(tenant, row["stream"]), row["agent_id"], row["thread_id"]) for row in rows]
        return [one for one in found if self._reaches(one)]

    async def erase(self, thread: Thread) -> None:
        """Destroy the key of a thread's checkpoints, and delete them; has no effect if there are none."""
        command = validated(EraseCheckpoints, _who(thread))
        self._handler.admitted(command)
        if await self._rows("find_thread", thread.row):
            await self._handler.handle(CHECKPOINTS_ERASURE, command)
        await self.delete_erased(thread.stream)

    async def delete_erased(self, stream: StreamId) -> None:
        """Delete what was encrypted with a user's destroyed keys."""
        await self._rows("delete_erased", {"tenant": stream.tenant, "stream": stream.name})

    async def copy(self, source: Thread, target: Thread) -> None:
        """Save every checkpoint of one thread in another, with its id. After an interruption it may be called again."""
        for row in reversed(await self._listed(source) if source != target else []):
            one = await self.load(source, row["namespace"], row["checkpoint_id"])
            if one is not None:
                await self.save_loaded(target, one)

    async def save_loaded(self, thread: Thread, one: Loaded) -> None:
        """Save a checkpoint that was loaded elsewhere, with its pending writes."""
        place = (one.namespace, one.checkpoint_id)
        checkpoint = Checkpoint(*place, one.parent_id, one.run_id, one.state, one.metadata, one.values)
        await self.save(thread, place, None, lambda known: checkpoint)
        for task_id in dict.fromkeys(write.task_id for write in one.writes):
            await self.save_writes(thread, *place, [write for write in one.writes if write.task_id == task_id])

    async def delete(self, thread: Thread, places: Collection[Place]) -> None:
        """Delete these checkpoints, their pending writes, and chunks to which no other refers."""
        self._admit(thread, Role.WRITE)
        if not places:
            return
        gone = {"namespaces": [one for one, _ in places], "checkpoint_ids": [one for _, one in places]}

        async def delete(connection: Connection) -> None:
            async with connection.transaction():
                row = await (await connection.execute(_named("begin_pruning"), thread.row)).fetchone()
                for name in ("delete_checkpoints", "delete_writes", "delete_unused_chunks") if row else ():
                    await connection.execute(_named(name), {**thread.row, **gone, "key_id": row and row["key_id"]})

        await repeated(self._pool, delete)

    async def delete_runs(self, thread: Thread, runs: Collection[str]) -> None:
        """Delete the checkpoints that these runs made."""
        hashes = {self.run_hash(one) for one in runs}
        rows = [row for row in await self._listed(thread) if row["run_hash"] and bytes(row["run_hash"]) in hashes]
        await self.delete(thread, [(row["namespace"], row["checkpoint_id"]) for row in rows])

    def run_hash(self, run_id: str | None) -> bytes | None:
        """Finds the checkpoints of a run, whatever characters its id has."""
        return None if run_id is None else hmac.digest(self._runs, run_id.encode(), "sha256")

    async def _listed(self, thread: Thread) -> Sequence[Mapping[str, Any]]:
        return await self._rows("list_checkpoints", thread.row)

    async def _opened(self, thread: Thread, *, again: bool) -> KnownThread:
        """What is known about a thread; its key is created if it has none. `again`: the cache was out of date."""
        async with self._opening:
            if not again and (known := self._known.get(thread)):
                return known
            found = await self._rows("find_thread", thread.row)
            if not found:
                await self._handler.handle(CHECKPOINTS_START, validated(StartCheckpoints, _who(thread)))
            if not found or found[0]["prunings"] is None:
                names = {"agent_id": thread.agent_id, "thread_id": thread.thread_id}
                await self._rows("insert_thread", {**thread.row, **names})
                found = await self._rows("find_thread", thread.row)
            if not found:
                raise _busy()
            return self._known.remember(thread, found[0])

    async def _loaded(
        self, thread: Thread, namespace: str, checkpoint_id: str | None, connection: Connection
    ) -> Loaded | None:
        wanted = _wanted(thread, namespace, checkpoint_id)
        row = await (await connection.execute(_named("load_checkpoint"), wanted, binary=True)).fetchone()
        return self._read(thread, checkpoint_id, row) if row else None

    def _read(self, thread: Thread, checkpoint_id: str | None, row: Mapping[str, Any]) -> Loaded | None:
        """The checkpoint in a row of `load_checkpoint`, if it is the wanted one."""
        if checkpoint_id not in (None, row["checkpoint_id"]):
            return None
        opened, place = self._known.remember(thread, row), (row["namespace"], row["checkpoint_id"])
        ids = row["chunk_ids"]
        packed = opened.box.open(row["data"], "checkpoint", *place, row["parent_id"] or "")
        contents = Contents.unpacked(packed, ids)
        chunks = {one: data for one, data in zip(ids, row["chunks"], strict=True) if data is not None}
        values = {channel: (one.version, opened.box.value(one, chunks)) for channel, one in contents.values.items()}
        self._known.note(opened, place, contents.values, ids)
        writes = [Write.unpacked(opened.box.open(one, "write", *place)) for one in row["writes"]]
        writes.sort(key=lambda one: (one.task_path, one.task_id, one.idx))
        return Loaded(
            thread,
            *place,
            row["parent_id"],
            contents.run_id,
            contents.state,
            contents.metadata,
            values,
            writes,
        )

    def _admit(self, thread: Thread, role: Role) -> None:
        if self._principal:
            self._principal.require_viewer(Viewer(thread.stream.tenant, thread.stream.owner, thread.agent_id), role)

    def _reaches(self, thread: Thread) -> bool:
        try:
            self._admit(thread, Role.READ)
        except (NotFound, NotPermitted):
            return False
        return True

    async def _rows(self, name: str, values: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        """For idempotent queries only."""

        async def execute(connection: Connection) -> Sequence[Mapping[str, Any]]:
            cursor = await connection.execute(_named(name), values)
            return await cursor.fetchall() if cursor.description else ()

        return await repeated(self._pool, execute)

    def _rows_now(self, name: str, values: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        """The rows of an idempotent query; none if it failed, because the caller then asks again by the other way."""
        if not self._blocking.usable:
            return ()
        try:
            return self._blocking.fetch_all(_named(name), values)
        except psycopg.Error:
            _logger.debug("a query without await failed", exc_info=True)
            return ()


@dataclass(frozen=True, slots=True)
class _Saving:
    """The row of a checkpoint to save, and how it refers to the values of its channels."""

    place: Place
    values: Mapping[str, Stored]
    row: Mapping[str, Any]


def _writing(opened: KnownThread, thread: Thread, place: Place, writes: Sequence[Write]) -> Mapping[str, Any]:
    """The rows of a task's writes."""
    opened.require_there(place)
    for one in writes:
        utf8_size(one.channel, "channel")
        utf8_size(one.task_path, "channel")
    by_idx: dict[int, Write] = {}
    for one in writes:
        if one.idx < 0 or one.idx not in by_idx:
            by_idx[one.idx] = one
    return {
        **thread.row,
        "key_id": opened.box.key_id,
        "namespace": place[0],
        "checkpoint_id": place[1],
        "task_id": identifier(writes[0].task_id, "task_id"),
        "idxs": list(by_idx),
        "data": [opened.box.seal(one.packed(), "write", *place) for one in by_idx.values()],
    }


def _wanted(thread: Thread, namespace: str, checkpoint_id: str | None) -> Mapping[str, Any]:
    return {**thread.row, "namespace": namespace, "until": LAST if checkpoint_id is None else checkpoint_id}


def _named(name: str) -> bytes:
    return query(name, QUERIES)


def _who(thread: Thread) -> dict[str, Any]:
    stream = thread.stream
    return {
        "tenant": stream.tenant,
        "user_id": stream.owner,
        "agent_id": thread.agent_id,
        "thread_id": thread.thread_id,
    }


def _stored(
    box: Box, values: Mapping[str, Stored | tuple[Version, Value]]
) -> tuple[dict[str, Stored], dict[bytes, bytes]]:
    """How the row refers to the values, and the chunks of new ones."""
    stored: dict[str, Stored] = {}
    chunks: dict[bytes, bytes] = {}
    for channel, one in values.items():
        if isinstance(one, Stored):
            stored[channel] = one
        else:
            stored[channel], new = box.stored(*one)
            chunks |= new
    return stored, chunks


def _require_fit(place: Place) -> None:
    namespace, checkpoint_id = place
    identifier(checkpoint_id, "checkpoint_id")
    if len(namespace) > MAX_NAMESPACE or "\0" in namespace:
        raise InvalidInput(
            f"has {len(namespace):,} characters, at most {MAX_NAMESPACE:,} are accepted, and no NUL",
            field="checkpoint_ns",
            fix="nest fewer graphs, or give their nodes shorter names",
        )
    utf8_size(namespace, "checkpoint_ns")


def _busy() -> Conflict:
    return Conflict(
        "the checkpoints of this thread are erased or pruned again and again",
        field="thread_id",
        fix="try again when that has ended",
    )
