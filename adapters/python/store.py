"""LangGraph's long-term store on the memories of a user (X19). Needs `pip install 'mnemolog[langgraph]'`."""

from __future__ import annotations

import asyncio
import json
import operator
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        IndexConfig,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        get_text_at_path,
        tokenize_path,
    )
except ImportError as error:
    raise ImportError("mnemolog.langgraph needs LangGraph: pip install 'mnemolog[langgraph]'") from error

from mnemolog.blocking import Memory
from mnemolog.borrowing import Borrowing
from mnemolog.commands.memories import PutMemory
from mnemolog.domain.errors import Conflict, Erased, InvalidInput, NotFound
from mnemolog.domain.identity import identifier
from mnemolog.domain.memory import Status
from mnemolog.domain.text import clean
from mnemolog.events.fields import validated
from mnemolog.memory import AsyncMemory
from mnemolog.opening import guarded

# In the metadata of a memory: the item that it is.
STORE = "store"
NAMESPACE = UUID("b7f7d0c4-0e0b-5a6e-9c39-6a0d6a52b7a1")
PAGE = 200
MOST = 100  # The most that a search ranks.
WHOLE, ANY = "$", "*"
MOST_ERASED = 1000
LONGEST = 100 * 365 * 24 * 60  # Minutes.


class MnemologStore(Borrowing, BaseStore):
    """Stores the items of a graph as memories: with history, undo, export and erasure.

    `memory` is a `Memory`, an `AsyncMemory` or a data directory; other keywords are settings, as of `Memory`. The owner
    is `user_id`, or the label at `user_at` of each namespace. Every item can be searched; `index` chooses its fields.
    Items have at most 32 KiB of JSON. An item that is deleted can be restored as a memory; `erase` destroys it.

    Example:
        graph = builder.compile(store=MnemologStore(memory, user_at=1))
        store.put(("memories", "ana"), "tea", {"text": "Ana likes green tea"})
        store.search(("memories", "ana"), query="what does she drink?")
    """

    supports_ttl = True

    def __init__(
        self,
        memory: Memory | AsyncMemory | str | Path | None = None,
        *,
        user_id: str | None = None,
        user_at: int | None = None,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
        **settings: Any,
    ) -> None:
        self._use(memory, settings)
        self._user_id = self._memory._user_id if user_id is None else identifier(user_id, "user_id")
        if user_at is not None:
            self._user_id = None
        elif self._user_id is None:
            raise InvalidInput(
                "is missing", field="user_id", fix="pass it, or `user_at`: the position of the user in a namespace"
            )
        self._user_at = user_at
        self._fields = [(path, tokenize_path(path)) for path in (index or {}).get("fields") or [WHOLE]]
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Like `abatch`."""
        results: list[Result] = self._blocking._run(self.abatch(ops))
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations. Reads do not see the writes beside them; of several writes of an item, the last counts."""
        asked = list(ops)
        reads = [(place, self._read(op)) for place, op in enumerate(asked) if not isinstance(op, PutOp)]
        results: list[Result] = [None] * len(asked)
        for (place, _), found in zip(reads, await asyncio.gather(*(read for _, read in reads)), strict=True):
            results[place] = found
        writes = {(op.namespace, op.key): op for op in asked if isinstance(op, PutOp)}
        await asyncio.gather(*map(self._put, writes.values()))
        return results

    async def _read(self, op: GetOp | SearchOp | ListNamespacesOp) -> Result:
        if isinstance(op, GetOp):
            found = await self._current(_Location(self._owner(op.namespace), op.namespace, op.key))
            if found is None or self._expired(found):
                return None
            await self._refreshed([found], refresh=op.refresh_ttl)
            return Item(**found.fields)
        return await (self._search(op) if isinstance(op, SearchOp) else self._namespaces(op))

    async def _put(self, op: PutOp) -> None:
        place = _Location(self._owner(op.namespace), op.namespace, op.key)
        if op.value is None:
            if found := await self._current(place):
                await self._memory.delete(found.id, user_id=place.user_id)
        else:
            await self._write(place, op, dict(op.value))

    async def _write(self, place: _Location, op: PutOp, value: Mapping[str, Any]) -> None:
        engine = await self._memory._engine()
        paths = self._fields if op.index is None else [(path, tokenize_path(path)) for path in op.index or ()]
        said = [text for _, path in paths for text in _texts(value, path)] if op.index is not False else []
        item = {
            "namespace": {str(depth): label for depth, label in enumerate(place.namespace)},
            "key": place.key,
            "value": value,
            "indexed": bool(said),
        }
        if op.ttl is not None:
            if not 0 <= op.ttl <= LONGEST:
                raise InvalidInput(
                    f"{op.ttl} is not within 0 and {LONGEST:,}", field="ttl", fix="pass minutes, or None"
                )
            item |= {"ttl": op.ttl, "expires_at": (engine.writes.now() + timedelta(minutes=op.ttl)).isoformat()}
        text, metadata = "\n".join(said) or json.dumps(value, ensure_ascii=False, default=str), {STORE: item}
        fields = {"user_id": place.user_id, "text": text, "metadata": metadata}
        for memory_id in place.memory_ids():
            try:
                await _put(self._memory, {**fields, "memory_id": memory_id})
            except Erased:
                continue
            return

    async def _current(self, place: _Location) -> _Found | None:
        for memory_id in place.memory_ids():
            try:
                known = await self._memory.get(memory_id, user_id=place.user_id)
            except Erased:
                continue
            except NotFound:
                return None
            return None if known.status != Status.ACTIVE else _Found.of(known.model_dump())
        raise AssertionError("unreachable")

    async def _search(self, op: SearchOp) -> list[SearchItem]:
        owner = self._owner(op.namespace_prefix)
        wanted = op.offset + op.limit
        found = {one.id: one for one in await self._ranked(owner, op, wanted)} if op.query else {}
        if len(found) < wanted:  # The others follow without a score, as in LangGraph's own stores.
            async for one in self._items(owner, op.namespace_prefix):
                if self._fits(one, op):
                    found.setdefault(one.id, one)
                if len(found) >= wanted:
                    break
        page = list(found.values())[op.offset : wanted]
        return [
            SearchItem(**one.fields, score=one.score) for one in await self._refreshed(page, refresh=op.refresh_ttl)
        ]

    async def _ranked(self, owner: str, op: SearchOp, wanted: int) -> Sequence[_Found]:
        """The items that are most similar to the query: at first no more than wanted, which mostly are enough."""
        equal = {
            name: value for name, value in (op.filter or {}).items() if not isinstance(value, Mapping | list | tuple)
        }
        item = {"indexed": True, **_within(op.namespace_prefix), "value": equal}
        query, limit = clean(op.query, "query"), max(1, min(wanted, MOST))
        while True:
            rows = await _similar(self._memory, owner, query, {STORE: item}, limit)
            found = [one for row, score in rows if self._fits(one := _Found.of(row, score), op)]
            if len(found) >= wanted or len(rows) < limit or limit == MOST:
                return found
            limit = MOST

    async def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        conditions = op.match_conditions or ()
        prefix = next((one.path for one in conditions if one.match_type == "prefix"), ())
        owner = self._owner(prefix)
        found = {one.place.namespace async for one in self._items(owner, ()) if not self._expired(one)}
        matching = (one for one in found if all(_matches(condition, one) for condition in conditions))
        return sorted({one[: op.max_depth] for one in matching})[op.offset : op.offset + op.limit]

    async def _items(self, owner: str, prefix: tuple[str, ...]) -> AsyncIterator[_Found]:
        """The items in a namespace and below, the most recently written first."""
        from mnemolog.adapters.operations.memories import List
        from mnemolog.adapters.operations.requests import viewer_of
        from mnemolog.projections.requests import Filters

        engine, cursor = await self._memory._engine(), None
        filters = validated(Filters, {"metadata": {STORE: _within(prefix)}})
        while True:
            request = validated(List, {"user_id": owner})
            rows = await engine.reads.newest(viewer_of(engine, request), PAGE, request.moment(), cursor, filters)
            for row in rows:
                yield _Found.of(row)
            if not (cursor := rows.next_cursor):
                return

    async def _refreshed(self, found: Sequence[_Found], *, refresh: bool) -> Sequence[_Found]:
        """Items that are read live on, if they expire at all and reads prolong that."""
        for one in found if refresh else ():
            if (minutes := one.item.get("ttl")) is not None:
                expires = (await self._memory._engine()).writes.now() + timedelta(minutes=minutes)
                metadata = {STORE: {**one.item, "expires_at": expires.isoformat()}}
                await self._memory.update(one.id, user_id=one.place.user_id, metadata=metadata)
        return found

    def _fits(self, one: _Found, op: SearchOp) -> bool:
        wanted = (op.filter or {}).items()
        return not self._expired(one) and all(_compared(one.item["value"].get(name), value) for name, value in wanted)

    def _expired(self, one: _Found) -> bool:
        expires = one.item.get("expires_at")
        return expires is not None and datetime.fromisoformat(expires) <= datetime.now(UTC)

    def _owner(self, namespace: Sequence[str]) -> str:
        """The user whose items are in a namespace."""
        if self._user_at is None:
            assert self._user_id is not None, "one of both is given"
            return self._user_id
        if len(namespace) <= self._user_at or namespace[self._user_at] == ANY:
            raise InvalidInput(
                f"{tuple(namespace)} names no user", field="namespace", fix=f"name the user at position {self._user_at}"
            )
        return identifier(namespace[self._user_at], "user_id")


@guarded
async def _put(memory: AsyncMemory, fields: Mapping[str, Any]) -> None:
    engine = await memory._engine()
    await engine.writes.execute(validated(PutMemory, {**fields, "tenant": engine.settings.tenant}))


@guarded
async def _similar(
    memory: AsyncMemory, owner: str, query: str, metadata: Mapping[str, Any], limit: int
) -> Sequence[tuple[Mapping[str, Any], float]]:
    """The memories with this metadata that are most similar to the query, and how similar they are."""
    from mnemolog.domain.viewer import Viewer
    from mnemolog.projections.reads.moment import Moment
    from mnemolog.projections.requests import Filters

    engine = await memory._engine()
    viewer = Viewer(engine.settings.tenant, owner, memory._agent_id)
    return await engine.reads.similar(viewer, query, validated(Filters, {"metadata": metadata}), limit, Moment())


@dataclass(frozen=True, slots=True)
class _Location:
    """Where an item is: its user, namespace and key."""

    user_id: str
    namespace: tuple[str, ...]
    key: str

    def memory_ids(self) -> Iterator[UUID]:
        """The id of the memory that is the item, and those to go on with: the id of an erased one is used up."""
        for generation in range(MOST_ERASED):
            yield uuid5(NAMESPACE, json.dumps([self.user_id, self.namespace, self.key, generation]))
        raise Conflict(f"the item {self.key!r} was erased too often", field="key", fix="use another key")


@dataclass(frozen=True, slots=True)
class _Found:
    """A memory that is an item; `item` is its metadata."""

    id: UUID
    place: _Location
    item: Mapping[str, Any]
    created_at: datetime
    updated_at: datetime
    score: float | None = None

    @classmethod
    def of(cls, row: Mapping[str, Any], score: float | None = None) -> _Found:
        item = row["metadata"][STORE]
        namespace = tuple(label for _, label in sorted(item["namespace"].items(), key=lambda one: int(one[0])))
        place = _Location(row["user_id"], namespace, item["key"])
        return cls(row["memory_id"], place, item, row["created_at"], row["updated_at"], score)

    @property
    def fields(self) -> dict[str, Any]:
        named = {"namespace": self.place.namespace, "key": self.place.key, "value": dict(self.item["value"])}
        return {**named, "created_at": self.created_at, "updated_at": self.updated_at}


def _within(prefix: Sequence[str]) -> dict[str, Any]:
    """Metadata that the items in a namespace and below contain."""
    return {"namespace": {str(depth): label for depth, label in enumerate(prefix)}}


def _texts(value: Mapping[str, Any], path: list[str]) -> Sequence[str]:
    """What is searched of a field: the texts in it, or its JSON if there are none."""
    if path != [WHOLE]:
        return [text for text in get_text_at_path(dict(value), path) if text.strip()]
    leaves = _leaves(value)
    return leaves or get_text_at_path(dict(value), path)


def _leaves(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value] if value.strip() else []
    parts: Iterable[Any] = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return [text for part in parts for text in _leaves(part)]


def _compared(value: Any, wanted: Any) -> bool:
    """As LangGraph's InMemoryStore compares: an object in a filter is conditions on the fields of an object."""
    if isinstance(wanted, Mapping) and any(str(name).startswith("$") for name in wanted):
        if unknown := wanted.keys() - OPERATORS.keys():
            raise InvalidInput(f"{min(unknown)!r} is unknown", field="filter", fix=f"use one of {', '.join(OPERATORS)}")
        return all(_holds(name, value, of) for name, of in wanted.items())
    if isinstance(wanted, Mapping):
        return isinstance(value, Mapping) and all(_compared(value.get(name), of) for name, of in wanted.items())
    if isinstance(wanted, list | tuple):
        return isinstance(value, list) and len(value) == len(wanted) and all(map(_compared, value, wanted))
    return bool(value == wanted)


def _holds(name: str, value: Any, of: Any) -> bool:
    try:
        return bool(OPERATORS[name](value, of))
    except TypeError:  # A text and a number have no order.
        return False


def _matches(condition: MatchCondition, namespace: tuple[str, ...]) -> bool:
    path = condition.path
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in (ANY, label) for label, wanted in zip(part, path, strict=True))


OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
