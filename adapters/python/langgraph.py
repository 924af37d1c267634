"""LangGraph's checkpointer on the engine's Postgres (B15, X19). Needs `pip install 'mnemolog[langgraph]'`."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Any, Self, TypeVar

try:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import (
        WRITES_IDX_MAP,
        BaseCheckpointSaver,
        ChannelVersions,
        Checkpoint,
        CheckpointMetadata,
        CheckpointTuple,
        get_checkpoint_id,
        get_serializable_checkpoint_metadata,
    )
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.checkpoint.serde.base import SerializerProtocol
except ImportError as error:
    raise ImportError("mnemolog.langgraph needs LangGraph: pip install 'mnemolog[langgraph]'") from error

from mnemolog.adapters.checkpoints.contents import Stored, Value, Write
from mnemolog.adapters.checkpoints.known import Place, Thread
from mnemolog.adapters.checkpoints.store import Checkpoint as Saved
from mnemolog.adapters.checkpoints.store import CheckpointStore, Loaded
from mnemolog.blocking import Memory
from mnemolog.borrowing import Borrowing
from mnemolog.domain.errors import Conflict, InvalidInput
from mnemolog.domain.identity import identifier
from mnemolog.events.envelope import StreamId
from mnemolog.memory import AsyncMemory
from mnemolog.opening import guarded
from mnemolog.store import MnemologStore

__all__ = ["MnemologSaver", "MnemologStore"]

T = TypeVar("T")
Work = Callable[[CheckpointStore, str], Awaitable[T]]

# In the metadata of a checkpoint whose delta channels are rebuilt from earlier ones.
DELTAS = "counters_since_delta_snapshot"
KEEP_LATEST, DELETE = "keep_latest", "delete"
# The fields of a config that name the owner of a thread.
OWNERS = ("user_id", "agent_id")
COUNTED = 10_000


class MnemologSaver(Borrowing, BaseCheckpointSaver[str]):
    """Saves the checkpoints of a graph, in threads of a user and an agent.

    `memory` is a `Memory`, an `AsyncMemory` or a data directory; other keywords are settings, as of `Memory`. The owner
    of the checkpoints is given here or in a config's `configurable`: `user_id` and `agent_id`, in addition to
    `thread_id`. With `keep`, only that many checkpoints per thread and namespace are kept, and up to a quarter more.
    Saved checkpoints are durable.

    Example:
        graph = builder.compile(checkpointer=MnemologSaver(memory, user_id="ana"))
        graph.invoke(state, {"configurable": {"thread_id": "main"}})
    """

    def __init__(
        self,
        memory: Memory | AsyncMemory | str | Path | None = None,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        keep: int | None = None,
        serde: SerializerProtocol | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(serde=serde)
        if keep is not None and keep < 1:
            raise InvalidInput(f"{keep} is less than 1", field="keep", fix="keep at least the newest checkpoint")
        self._use(memory, settings)
        self._user_id = self._memory._user_id if user_id is None else identifier(user_id, "user_id")
        self._agent_id = self._memory._agent_id if agent_id is None else identifier(agent_id, "agent_id")
        self._keep = keep
        self._since_pruned: dict[tuple[Thread, str], int] = {}

    def of_user(self, user_id: str) -> Self:
        """The same saver for one user, for the methods that take no config: `delete_thread`, `prune`, `copy_thread`."""
        bound = copy(self)
        bound._user_id = identifier(user_id, "user_id")
        return bound

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that the config names, or the newest of its thread and namespace."""

        async def get(store: CheckpointStore, tenant: str) -> Loaded | None:
            return await store.load(*self._wanted(config, tenant))

        found = await _run(self._memory, get)
        return self._tuple(found, config) if found else None

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """The checkpoints of a thread, or of all threads of the user, the newest first."""
        for place in await self._listed(config, before):
            if limit is not None and limit <= 0:
                return
            found = await self._loaded(place, config)
            if found and all(found.metadata.get(name) == value for name, value in (filter or {}).items()):
                limit = None if limit is None else limit - 1
                yield found

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint after the one that the config names."""
        place, parent, compose = self._composing(config, checkpoint, metadata, new_versions)

        async def put(store: CheckpointStore, tenant: str) -> Thread:
            thread = self._thread(config, tenant)
            await store.save(thread, place, parent, compose)
            if self._due(thread, place):
                await self._bound(store, thread)
            return thread

        return _config(await _run(self._memory, put), *place, config)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Save the writes of a task in the step after a checkpoint."""
        made = self._written(writes, task_id, task_path)

        async def put(store: CheckpointStore, tenant: str) -> None:
            await store.save_writes(self._thread(config, tenant), *_place(config), made)

        await _run(self._memory, put)

    async def adelete_thread(self, thread_id: str) -> None:
        """Erase the checkpoints of a thread: their key is destroyed."""

        async def delete(store: CheckpointStore, tenant: str) -> None:
            for thread in await self._named(store, tenant, thread_id, remains=True):
                await store.erase(thread)

        await _run(self._memory, delete)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints that these runs made."""
        runs = [str(one) for one in run_ids]

        async def delete(store: CheckpointStore, tenant: str) -> None:
            for thread in await store.threads(tenant, self._stream(tenant), self._agent_id, runs=runs):
                await store.delete_runs(thread, runs)

        await _run(self._memory, delete)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy every checkpoint of a thread to another of the same user. Does nothing if there is none."""
        target_id = identifier(target_thread_id, "target_thread_id")

        async def copy_all(store: CheckpointStore, tenant: str) -> None:
            for source in await self._named(store, tenant, source_thread_id):
                await store.copy(source, Thread(source.stream, source.agent_id, target_id))

        await _run(self._memory, copy_all)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = KEEP_LATEST) -> None:
        """Keep the newest checkpoint of each namespace, and what its delta channels are rebuilt from; or erase all."""
        if isinstance(thread_ids, str):
            raise InvalidInput("is a single id", field="thread_ids", fix="pass a list")
        if strategy not in (KEEP_LATEST, DELETE):
            raise InvalidInput(f"{strategy!r:.40} is unknown", field="strategy", fix=f"use {KEEP_LATEST} or {DELETE}")

        async def prune(store: CheckpointStore, tenant: str) -> None:
            for thread_id in thread_ids:
                for thread in await self._named(store, tenant, thread_id, remains=strategy == DELETE):
                    if strategy == DELETE:
                        await store.erase(thread)
                    else:
                        await store.delete(thread, await _surplus(store, thread, self._opened, keep=1))

        await _run(self._memory, prune)

    async def acopy_from(self, source: InMemorySaver) -> int:
        """Copy everything from an in-memory saver, including ids and pending writes; returns the number of checkpoints.

        A thread belongs to the `user_id` in its metadata, or else to that of this saver. Repeating it changes nothing.
        """
        copied = 0
        for thread_id, namespaces in source.storage.items():
            for namespace, checkpoints in namespaces.items():
                for checkpoint_id in sorted(checkpoints):
                    await _run(self._memory, self._taking(source, thread_id, namespace, checkpoint_id))
                    copied += 1
        return copied

    def _taking(self, source: InMemorySaver, thread_id: str, namespace: str, checkpoint_id: str) -> Work[None]:
        dumped_state, dumped_metadata, parent_id = source.storage[thread_id][namespace][checkpoint_id]
        state, metadata = source.serde.loads_typed(dumped_state), source.serde.loads_typed(dumped_metadata)
        values = {}
        for channel, version in state["channel_versions"].items():
            blob = source.blobs.get((thread_id, namespace, channel, version), ("empty", b""))
            if blob[0] != "empty":
                values[channel] = (version, self._dumped(source.serde.loads_typed(blob)))
        pending = source.writes.get((thread_id, namespace, checkpoint_id), {})
        writes = [
            Write(task_id, path, idx, channel, self._dumped(source.serde.loads_typed(dumped)))
            for (_, idx), (task_id, channel, dumped, path) in pending.items()
        ]

        async def take(store: CheckpointStore, tenant: str) -> None:
            owner = {name: metadata[name] for name in OWNERS if name in metadata}
            thread = self._thread({"configurable": {**owner, "thread_id": thread_id}}, tenant)
            place, described = (namespace, checkpoint_id), (self._dumped(state), self._dumped(metadata))
            await store.save_loaded(
                thread, Loaded(thread, *place, parent_id, _run_id(metadata), *described, values, writes)
            )

        return take

    # Without `await`

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Like `aget_tuple`."""
        if now := self._now:
            store, tenant = now
            if found := store.load_now(*self._wanted(config, tenant)):
                return self._tuple(found, config)
        return self._wait(self.aget_tuple(config))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Like `alist`."""
        listing = self.alist(config, filter=filter, before=before, limit=limit)
        while (found := self._wait(_next(listing))) is not None:
            yield found

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Like `aput`."""
        if now := self._now:
            store, tenant = now
            thread, saving = self._thread(config, tenant), self._composing(config, checkpoint, metadata, new_versions)
            if store.save_now(thread, *saving):
                if self._due(thread, saving[0]):
                    self._wait(_run(self._memory, lambda store, _: self._bound(store, thread)))
                return _config(thread, *saving[0], config)
        return self._wait(self.aput(config, checkpoint, metadata, new_versions))

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Like `aput_writes`."""
        if now := self._now:
            store, tenant = now
            made = self._written(writes, task_id, task_path)
            if store.save_writes_now(self._thread(config, tenant), *_place(config), made):
                return
        self._wait(self.aput_writes(config, writes, task_id, task_path))

    def delete_thread(self, thread_id: str) -> None:
        """Like `adelete_thread`."""
        self._wait(self.adelete_thread(thread_id))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Like `adelete_for_runs`."""
        self._wait(self.adelete_for_runs(run_ids))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Like `acopy_thread`."""
        self._wait(self.acopy_thread(source_thread_id, target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = KEEP_LATEST) -> None:
        """Like `aprune`."""
        self._wait(self.aprune(thread_ids, strategy=strategy))

    def copy_from(self, source: InMemorySaver) -> int:
        """Like `acopy_from`."""
        return self._wait(self.acopy_from(source))

    def get_next_version(self, current: str | int | None, channel: None) -> str:
        """Greater than the previous one, and unique to its branch: branches of a checkpoint have separate versions."""
        before = 0 if current is None else int(str(current).partition(".")[0])
        return f"{before + 1:032}.{random.random():016}"

    @property
    def _now(self) -> tuple[CheckpointStore, str] | None:
        """The store and the tenant for a call that does without the event loop. None if the engine is not open."""
        engine = self._memory._open_engine(self._blocking._loop)
        return (engine.checkpoints, engine.settings.tenant) if engine else None

    def _wanted(self, config: RunnableConfig, tenant: str) -> tuple[Thread, str, str | None]:
        namespace = config["configurable"].get("checkpoint_ns") or ""
        return self._thread(config, tenant), namespace, get_checkpoint_id(config) or None

    def _composing(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> tuple[Place, Place | None, Callable[[Mapping[str, Stored]], Saved]]:
        """The places of a checkpoint and of its parent, and what composes it of what is known of the parent."""
        namespace = config["configurable"].get("checkpoint_ns") or ""
        parent_id = get_checkpoint_id(config) or None
        serializable = get_serializable_checkpoint_metadata(config, metadata)
        run_id = _run_id(serializable)
        state = self._dumped({name: value for name, value in checkpoint.items() if name != "channel_values"})
        described, versions = self._dumped(serializable), checkpoint["channel_versions"]

        def compose(known: Mapping[str, Stored]) -> Saved:
            """Channels that did not change since the parent are not serialized again."""
            values = {
                channel: known[channel]
                if channel not in new_versions and channel in known and known[channel].version == versions.get(channel)
                else (versions.get(channel), self._dumped(value))
                for channel, value in checkpoint["channel_values"].items()
            }
            return Saved(namespace, checkpoint["id"], parent_id, run_id, state, described, values)

        return (namespace, checkpoint["id"]), (namespace, parent_id) if parent_id else None, compose

    def _written(self, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str) -> Sequence[Write]:
        return [
            Write(task_id, task_path, WRITES_IDX_MAP.get(channel, idx), channel, self._dumped(value))
            for idx, (channel, value) in enumerate(writes)
        ]

    def _wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self._blocking._run(coroutine)

    def _dumped(self, value: object) -> Value:
        return Value(*self.serde.dumps_typed(value))

    def _opened(self, value: Value) -> Any:
        return self.serde.loads_typed((value.type, value.data))

    def _stream(self, tenant: str) -> StreamId | None:
        return None if self._user_id is None else StreamId.of_user(self._user_id, tenant)

    def _thread(self, config: RunnableConfig, tenant: str) -> Thread:
        configurable = config.get("configurable", {})
        user_id = configurable.get("user_id", self._user_id)
        if user_id is None:
            raise InvalidInput(
                "is missing",
                field="user_id",
                fix='add it to the config, {"configurable": {"user_id": "ana", ...}}, or to the saver',
            )
        if "thread_id" not in configurable:
            fix = 'add it to the config, {"configurable": {"thread_id": "main", ...}}'
            raise InvalidInput("is missing", field="thread_id", fix=fix)
        return Thread(
            StreamId.of_user(identifier(user_id, "user_id"), tenant),
            identifier(configurable.get("agent_id", self._agent_id), "agent_id"),
            identifier(configurable["thread_id"], "thread_id"),
        )

    async def _named(
        self, store: CheckpointStore, tenant: str, thread_id: str, *, remains: bool = False
    ) -> Sequence[Thread]:
        """The threads with this id. Conflict if several users have one and no user is given."""
        name = identifier(thread_id, "thread_id")
        found = await store.threads(tenant, self._stream(tenant), self._agent_id, name, remains=remains)
        if len(found) > 1:
            raise Conflict(
                f"{len(found)} users have a thread {name!r}", field="thread_id", fix="say whose: saver.of_user(user_id)"
            )
        return found

    async def _listed(
        self, config: RunnableConfig | None, before: RunnableConfig | None
    ) -> Sequence[tuple[Thread, Place]]:
        configurable = config["configurable"] if config else {}
        namespace, until = configurable.get("checkpoint_ns"), get_checkpoint_id(before) if before else None
        wanted = configurable.get("checkpoint_id")

        async def find(store: CheckpointStore, tenant: str) -> Sequence[tuple[Thread, Place]]:
            if config is None and self._user_id is None:
                raise InvalidInput("is missing", field="user_id", fix="list the threads of one user: saver.of_user()")
            threads = (
                [self._thread(config, tenant)]
                if config
                else await store.threads(tenant, self._stream(tenant), self._agent_id)
            )
            places = [(thread, place) for thread in threads for place, _ in await store.places(thread)]
            return [
                (thread, (of, id_))
                for thread, (of, id_) in sorted(places, key=lambda one: one[1][1], reverse=True)
                if namespace in (None, of) and wanted in (None, id_) and (until is None or id_ < until)
            ]

        return await _run(self._memory, find)

    async def _loaded(self, place: tuple[Thread, Place], config: RunnableConfig | None) -> CheckpointTuple | None:
        async def load(store: CheckpointStore, tenant: str) -> Loaded | None:
            return await store.load(place[0], *place[1])

        found = await _run(self._memory, load)
        return self._tuple(found, config) if found else None

    def _tuple(self, found: Loaded, config: RunnableConfig | None) -> CheckpointTuple:
        values = {channel: self._opened(value) for channel, (_, value) in found.values.items()}
        checkpoint: Checkpoint = {**self._opened(found.state), "channel_values": values}
        return CheckpointTuple(
            _config(found.thread, found.namespace, found.checkpoint_id, config),
            checkpoint,
            self._opened(found.metadata),
            _config(found.thread, found.namespace, found.parent_id, config) if found.parent_id else None,
            [(one.task_id, one.channel, self._opened(one.value)) for one in found.writes],
        )

    def _due(self, thread: Thread, place: Place) -> bool:
        """Whether so many checkpoints were saved since the last time that some are to be pruned."""
        if self._keep is None:
            return False
        saved = (thread, place[0])
        counted = self._since_pruned.get(saved, 0) + 1
        if len(self._since_pruned) > COUNTED:
            self._since_pruned.clear()
        due = counted > self._keep // 4
        self._since_pruned[saved] = 0 if due else counted
        return due

    async def _bound(self, store: CheckpointStore, thread: Thread) -> None:
        """Prune checkpoints beyond the limit."""
        assert self._keep is not None, "otherwise nothing is due"
        await store.delete(thread, await _surplus(store, thread, self._opened, keep=self._keep))


@guarded
async def _run(memory: AsyncMemory, work: Work[T]) -> T:
    """The result of `work` with the memory's engine, for the principal of its API key."""
    engine = await memory._engine()
    return await work(engine.checkpoints, engine.settings.tenant)


def _place(config: RunnableConfig) -> Place:
    """The checkpoint that a config names."""
    configurable = config["configurable"]
    return configurable.get("checkpoint_ns") or "", configurable["checkpoint_id"]


def _run_id(metadata: Mapping[str, Any]) -> str | None:
    return str(metadata["run_id"]) if metadata.get("run_id") is not None else None


async def _next(listing: AsyncIterator[T]) -> T | None:
    return await anext(listing, None)


def _config(thread: Thread, namespace: str, checkpoint_id: str, config: RunnableConfig | None) -> RunnableConfig:
    """The config of a checkpoint; it has an owner if the requested config has one."""
    configurable = config["configurable"] if config else {}
    owner = {name: configurable[name] for name in OWNERS if name in configurable}
    named = {"thread_id": thread.thread_id, "checkpoint_ns": namespace, "checkpoint_id": checkpoint_id}
    return {"configurable": {**owner, **named}}


async def _surplus(
    store: CheckpointStore, thread: Thread, opened: Callable[[Value], Any], *, keep: int
) -> Collection[Place]:
    """Checkpoints that are neither among the newest of each namespace nor needed to rebuild their delta channels."""
    parents = dict(await store.places(thread))
    kept: set[Place] = set()
    counts: dict[str, int] = {}
    for place in parents:
        counts[place[0]] = counts.get(place[0], 0) + 1
        if counts[place[0]] <= keep:
            kept.add(place)
    for place in [one for one in kept if parents[one] and (one[0], parents[one]) not in kept]:
        found = await store.load(thread, *place)
        lacking = set(opened(found.metadata).get(DELTAS) or ()) - found.values.keys() if found else set()
        while found and found.parent_id and lacking:
            found = await store.load(thread, found.namespace, found.parent_id)
            if found:
                kept.add((found.namespace, found.checkpoint_id))
                lacking -= found.values.keys()
    return parents.keys() - kept
