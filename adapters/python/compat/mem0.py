"""mem0's `Memory` and `AsyncMemory` on this engine (E08), as of mem0 2.2.

from mnemolog.compat.mem0 import Memory
memory = Memory()
memory.add("I moved to Lisbon", user_id="ana")
memory.search("where does Ana live?", filters={"user_id": "ana"})
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import partial, wraps
from hashlib import md5
from typing import TYPE_CHECKING, Any, Concatenate, Final, Literal, ParamSpec, Self, TypeVar
from urllib.parse import quote, unquote
from uuid import uuid4

from mnemolog import blocking
from mnemolog import memory as native
from mnemolog.adapters.operations import openai_messages
from mnemolog.compat.filters import OWNERS, Asked, owner_of, owners_of
from mnemolog.domain.errors import InvalidInput, NotFound
from mnemolog.events.envelope import USER
from mnemolog.mirror import Blocking, mirrored

if TYPE_CHECKING:
    from mnemolog.adapters.operations.results import HistoryEntry, MemoryView, MessageView, Page

P = ParamSpec("P")
T = TypeVar("T")
M = TypeVar("M", bound="AsyncMemory")

Item = dict[str, Any]
Kind = Literal["memory", "message"]

MEMORY: Final[Kind] = "memory"
MESSAGE: Final[Kind] = "message"
PROCEDURAL = "procedural_memory"
# What mem0 stores beside the caller's metadata, and shows beside it.
PROMOTED = (*OWNERS, "actor_id", "role", "expiration_date")
UNSET: Final = object()
PAGE = 200
MOST = 100  # The most that a search finds.
KINDS = ("fact", "episode", "insight", "procedure", "scene", "summary", MESSAGE)
EVENTS = {"ADD": "ADD", "DELETE": "DELETE", "TTL": "DELETE"}

_logger = logging.getLogger(__name__)


def _checked(
    verb: Callable[Concatenate[M, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[M, P], Coroutine[Any, Any, T]]:
    """Raises refusals as ValueError, as mem0 does; its cause is the MnemologError."""

    @wraps(verb)
    async def checked(self: M, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await verb(self, *args, **kwargs)
        except (InvalidInput, NotFound) as error:
            raise ValueError(str(error)) from error

    return checked


@dataclass(frozen=True, slots=True)
class _Id:
    """An id that names its user and its kind, because the engine finds nothing without a user."""

    user_id: str
    kind: Kind
    id: str

    def __str__(self) -> str:
        return f"{quote(self.user_id, safe='')}:{self.kind}:{self.id}"

    @classmethod
    def of(cls, text: object) -> Self:
        user_id, kind, own = (*str(text).split(":", 2), "", "")[:3]
        if kind not in (MEMORY, MESSAGE) or not own:
            raise InvalidInput(
                f"{str(text)[:100]!r} is not an id of this interface",
                field="memory_id",
                fix="pass the `id` of a result",
            )
        return cls(unquote(user_id), MEMORY if kind == MEMORY else MESSAGE, own)


class AsyncMemory:
    """mem0's `AsyncMemory`, on `memory` if it is given; other keywords are those of `mnemolog.AsyncMemory`.

    With `infer`, messages are recorded, and the engine extracts facts from them by itself; without it, each message is
    stored as a memory. `user_id` names the owner; what is added with an `agent_id` or a `run_id` alone is owned by that
    agent or run, and is found under it alone.
    """

    def __init__(
        self,
        config: Mapping[str, Any] | None = None,
        *,
        memory: native.AsyncMemory | None = None,
        **settings: Any,
    ) -> None:
        own = _settings(config)
        self.native = native.AsyncMemory(**{**own, **settings}) if memory is None else memory

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any]) -> Self:
        """Settings of the engine are under `mnemolog`; mem0's own, such as `vector_store`, are ignored and reported."""
        return cls(config_dict)

    @_checked
    async def add(
        self,
        messages: str | Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        user_id: Any = None,
        agent_id: Any = None,
        run_id: Any = None,
        metadata: Mapping[str, Any] | None = None,
        timestamp: datetime | str | int | None = None,
        expiration_date: date | str | None = None,
        infer: bool = True,
        memory_type: str | None = None,
        prompt: str | None = None,
    ) -> dict[str, list[Item]]:
        """Add messages, and return what was stored. `timestamp` is when they were said.

        Example:
            memory.add([{"role": "user", "content": "I moved to Lisbon"}], user_id="ana")
        """
        if prompt is not None:
            _logger.warning("`prompt` is ignored: the engine's own prompts extract memories")
        if memory_type not in (None, PROCEDURAL):
            raise InvalidInput(
                f"{memory_type!r} is unknown", field="memory_type", fix=f"use {PROCEDURAL!r}, or omit it"
            )
        owners = owners_of({"user_id": user_id, "agent_id": agent_id, "run_id": run_id})
        shared = {**_without_owners(metadata or {}), **owners}
        shared.pop("user_id", None)  # The stream's own.
        if expiration_date is not None:
            shared["expiration_date"] = _day(expiration_date)
        said = [_message(one, place) for place, one in enumerate(_listed(messages))]
        said = [one for one in said if one["role"] != "system"]
        if not said:
            return {"results": []}
        if timestamp is not None and (memory_type or not infer):
            raise InvalidInput(
                "applies to messages only, and this is stored as it is",
                field="timestamp",
                fix="omit it, or leave `infer` on",
            )
        user, run = owner_of(owners), owners.get("run_id")
        if memory_type == PROCEDURAL:
            text = "\n".join(one["content"] for one in said)
            shared["memory_type"] = PROCEDURAL
            made = await self.native.create(text, user_id=user, run_id=run, metadata=shared, kind="procedure")
            return {"results": [_added(_Id(user, MEMORY, str(made.memory_id)), {"content": text})]}
        if infer:
            return {"results": await self._recorded(user, run, said, shared, timestamp)}
        ids = [
            await self.native.create(
                one["content"],
                user_id=user,
                run_id=run,
                role=one["role"],
                metadata={**shared, **_speaker(one)},
            )
            for one in said
        ]
        made_ids = [_Id(user, MEMORY, str(one.memory_id)) for one in ids]
        return {"results": [_added(made_id, one) for made_id, one in zip(made_ids, said, strict=True)]}

    async def _recorded(
        self,
        user: str,
        run: str | None,
        said: Sequence[Mapping[str, Any]],
        metadata: Mapping[str, Any],
        timestamp: datetime | str | int | None,
    ) -> list[Item]:
        at = None if timestamp is None else _instant(timestamp, "timestamp")
        turns = [{**one, "metadata": _speaker(one), **({"occurred_at": at} if at else {})} for one in said]
        added = await self.native.add(turns, user_id=user, thread_id=run, run_id=run, metadata=metadata)
        return [_added(_Id(user, MESSAGE, own), one) for own, one in zip(added.message_ids, said, strict=True)]

    @_checked
    async def get(self, memory_id: str) -> Item | None:
        """The memory, or None if there is none.

        Example:
            memory.get(added["results"][0]["id"])["memory"]
        """
        found = await self._found(_Id.of(memory_id))
        return None if found is None else {**_item(found), "score": None}

    @_checked
    async def get_all(
        self,
        /,
        *,
        filters: Mapping[str, Any] | None = None,
        top_k: int = 20,
        show_expired: bool = False,
        **owners: Any,
    ) -> dict[str, list[Item]]:
        """The most recently changed memories and messages that the filters let through.

        Example:
            memory.get_all(filters={"user_id": "ana"})["results"]
        """
        asked = Asked.of(filters, owners)
        found = [
            item
            for pages in (self._memories(asked.owner), self._messages(asked.owner))
            for item in await _first(pages, asked, top_k, show_expired)
        ]
        newest = sorted(found, key=lambda item: str(item["updated_at"]), reverse=True)
        return {"results": newest[:top_k]}

    @_checked
    async def search(
        self,
        /,
        query: str,
        *,
        top_k: int = 20,
        filters: Mapping[str, Any] | None = None,
        threshold: float | None = 0.1,
        rerank: bool = False,
        explain: bool = False,
        reference_date: datetime | str | int | None = None,
        show_expired: bool = False,
        **owners: Any,
    ) -> dict[str, list[Item]]:
        """Search memories and messages, best first; what something newer replaced is left out.

        `threshold` is compared with `score`, which is in [0, 1]. `rerank` changes nothing: results are ranked already.
        `reference_date` searches as of that time.

        Example:
            memory.search("where does Ana live?", filters={"user_id": "ana"}, top_k=3)["results"]
        """
        asked = Asked.of(filters, owners)
        if top_k < 0:
            raise InvalidInput(f"{top_k} is negative", field="top_k", fix="pass how many results you want at most")
        if threshold is not None and not 0 <= threshold <= 1:
            raise InvalidInput(f"{threshold} is not within 0 and 1", field="threshold", fix="pass a score such as 0.1")
        found = await self.native.search(
            query,
            top_k=max(1, min(top_k, MOST)) if asked.exact and show_expired else MOST,
            user_id=asked.owner,
            filters={"metadata": asked.equal} if asked.equal else None,
            kinds=KINDS,
            superseded="exclude",
            as_of=None if reference_date is None else _instant(reference_date, "reference_date"),
        )
        items = []
        for hit in found:
            item = {**_item(hit), "score": hit.score, **({"score_details": hit.parts} if explain else {})}  # type: ignore[arg-type]
            if hit.score >= (threshold or 0.0) and asked.lets(item) and (show_expired or not _expired(item)):
                items.append(item)
        return {"results": items[:top_k]}

    @_checked
    async def update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expiration_date: Any = UNSET,
        *,
        data: str | None = None,
    ) -> dict[str, str]:
        """Change the text, or values of the metadata. Messages are a record of what was said, and are not changed.

        Example:
            memory.update(memory_id, text="Ana moved to Porto")
        """
        text = data if text is None else text
        if text is None and metadata is None and expiration_date is UNSET:
            raise InvalidInput("is missing", field="text", fix="pass text, metadata or expiration_date")
        asked = _Id.of(memory_id)
        if asked.kind == MESSAGE:
            raise InvalidInput(
                "is a message, which records what was said",
                field="memory_id",
                fix="add what is true now, or delete it; memories added with infer=False can be updated",
            )
        known = await self._existing(asked)
        changed: dict[str, Any] | None = None
        if metadata is not None or expiration_date is not UNSET:
            changed = {**known.metadata, **_without_owners(metadata or {})}
            if expiration_date is None:
                changed.pop("expiration_date", None)
            elif expiration_date is not UNSET:
                changed["expiration_date"] = _day(expiration_date)
        await self.native.update(asked.id, user_id=asked.user_id, text=text, metadata=changed)
        return {"message": "Memory updated successfully!"}

    @_checked
    async def delete(self, memory_id: str) -> dict[str, str]:
        """Delete a memory or a message. `native` restores it, or erases it for good.

        Example:
            memory.delete(memory_id)
        """
        await self._deleted(_Id.of(memory_id))
        return {"message": "Memory deleted successfully!"}

    @_checked
    async def delete_all(self, user_id: Any = None, agent_id: Any = None, run_id: Any = None) -> dict[str, str]:
        """Delete all memories and messages with these owners. `native.rollback` with its `of_run` restores them.

        Example:
            memory.delete_all(user_id="ana")
        """
        owners = owners_of({"user_id": user_id, "agent_id": agent_id, "run_id": run_id})
        asked, run = Asked.of(owners, {}), f"delete_all-{uuid4()}"
        for pages in (self._memories(asked.owner), self._messages(asked.owner)):
            for item in await _first(pages, asked, None, show_expired=True):
                await self._deleted(_Id.of(item["id"]), run)
        _logger.info("deleted; to restore all: rollback(of_run=%r, user_id=%r)", run, asked.owner)
        return {"message": "Memories deleted successfully!"}

    @_checked
    async def history(self, memory_id: str) -> list[Item]:
        """What happened to a memory, oldest first.

        Example:
            [(entry["event"], entry["new_memory"]) for entry in memory.history(memory_id)]
        """
        asked = _Id.of(memory_id)
        if asked.kind == MESSAGE:
            return _history_of_message(asked, await self.native.get_message(asked.id, user_id=asked.user_id))
        pages = _paged(partial(self.native.history, asked.id, user_id=asked.user_id))
        return _history(asked, [entry async for entry in pages][::-1])

    @_checked
    async def reset(self) -> None:
        """Erase every user of the tenant for good, as mem0 empties its store.

        Example:
            memory.reset()
        """
        engine = await self.native._engine()
        _logger.warning("erasing all users of tenant %r", engine.settings.tenant)
        async for heads in engine.log.heads():
            for head in heads:
                if (head.stream.tenant, head.stream.kind) == (engine.settings.tenant, USER):
                    await self.native.erase_user(user_id=head.stream.owner)

    async def close(self) -> None:
        """Release the engine. Nothing is lost; the next use finds or starts it again."""
        await self.native.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _found(self, asked: _Id) -> MemoryView | MessageView | None:
        try:
            if asked.kind == MESSAGE:
                found: Any = await self.native.get_message(asked.id, user_id=asked.user_id)
            else:
                found = await self.native.get(asked.id, user_id=asked.user_id)
        except (NotFound, InvalidInput):  # An id that cannot be one is not found either.
            return None
        return found if found.status == "active" else None

    async def _existing(self, asked: _Id) -> MemoryView | MessageView:
        if found := await self._found(asked):
            return found
        raise NotFound(f"there is no memory {str(asked)!r}", field="memory_id", fix="pass the `id` of a result")

    async def _deleted(self, asked: _Id, run: str | None = None) -> None:
        await self._existing(asked)
        if asked.kind == MESSAGE:
            await self.native.delete_message(asked.id, user_id=asked.user_id, run_id=run)
        else:
            await self.native.delete(asked.id, user_id=asked.user_id, run_id=run)

    def _memories(self, user: str) -> AsyncIterator[MemoryView]:
        return _paged(partial(self.native.list, user_id=user))

    def _messages(self, user: str) -> AsyncIterator[MessageView]:
        return _paged(partial(self.native.list_messages, user_id=user))


class Memory(Blocking):
    """mem0's `Memory`: `AsyncMemory` without the `await`.

    Example:
        memory = Memory()
        memory.add("I moved to Lisbon", user_id="ana")
        memory.search("where does Ana live?", filters={"user_id": "ana"})["results"][0]["memory"]
    """

    def __init__(
        self,
        config: Mapping[str, Any] | None = None,
        *,
        memory: blocking.Memory | None = None,
        **settings: Any,
    ) -> None:
        own = _settings(config)
        self.native = blocking.Memory(**{**own, **settings}) if memory is None else memory
        super().__init__(AsyncMemory(memory=self.native.mirrored))

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any]) -> Self:
        """Settings of the engine are under `mnemolog`; mem0's own, such as `vector_store`, are ignored and reported."""
        return cls(config_dict)

    add = mirrored(AsyncMemory.add)
    get = mirrored(AsyncMemory.get)
    get_all = mirrored(AsyncMemory.get_all)
    search = mirrored(AsyncMemory.search)
    update = mirrored(AsyncMemory.update)
    delete = mirrored(AsyncMemory.delete)
    delete_all = mirrored(AsyncMemory.delete_all)
    history = mirrored(AsyncMemory.history)
    reset = mirrored(AsyncMemory.reset)


async def _paged(read: Callable[..., Awaitable[Page[T]]]) -> AsyncIterator[T]:
    """Everything on the pages of a list."""
    cursor: str | None = None
    while True:
        page = await read(limit=PAGE, cursor=cursor)
        for one in page:
            yield one
        if not (cursor := page.next_cursor):
            return


async def _first(
    rows: AsyncIterator[MemoryView] | AsyncIterator[MessageView],
    asked: Asked,
    limit: int | None,
    show_expired: bool,
) -> list[Item]:
    found: list[Item] = []
    async for row in rows:
        if limit is not None and len(found) >= limit:
            break
        item = _item(row)
        if asked.lets(item) and (show_expired or not _expired(item)):
            found.append(item)
    return found


def _item(row: MemoryView | MessageView) -> Item:
    """A memory or a message as mem0 shows it."""
    kind: Kind = MESSAGE if row.kind == MESSAGE else MEMORY
    own = row.message_id if row.kind == MESSAGE else row.memory_id  # type: ignore[union-attr]
    promoted: Item = {name: row.metadata[name] for name in PROMOTED if name in row.metadata}
    if not OWNERS & promoted.keys() or row.user_id != owner_of(promoted):  # Not an agent's or a run's own.
        promoted["user_id"] = row.user_id
    others = {name: value for name, value in row.metadata.items() if name not in PROMOTED}
    return {
        "id": str(_Id(row.user_id, kind, str(own))),
        "memory": row.text,
        "hash": md5(row.text.encode(), usedforsecurity=False).hexdigest(),
        "metadata": others or None,
        "created_at": row.created_at.isoformat(),
        "updated_at": row.updated_at.isoformat(),
        **({"role": row.role.value} if row.role else {}),
        **promoted,
    }


def _settings(config: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """The settings of the engine in a configuration of mem0."""
    given = dict(config or {})
    own: Mapping[str, Any] = given.pop("mnemolog", {})
    if given:
        _logger.warning("%s of mem0's configuration are ignored: settings go under `mnemolog`", sorted(given))
    return own


def _added(made: _Id, message: Mapping[str, Any]) -> Item:
    item = {"id": str(made), "memory": message["content"], "event": "ADD"}
    return item if "role" not in message else {**item, "actor_id": message.get("name"), "role": message["role"]}


def _history(asked: _Id, entries: Iterable[HistoryEntry]) -> list[Item]:
    told: list[Item] = []
    text, created_at = None, None
    for entry in entries:
        created_at = created_at or entry.ts.isoformat()
        event = EVENTS.get(entry.event, "UPDATE")
        changed = {change.field: change.new for change in entry.changes}
        if event == "UPDATE" and not changed.keys() & {"text", "metadata"}:
            continue  # Such as a link, which mem0 has not.
        new = changed.get("text", text)
        told.append(_entry(asked, str(entry.id), event, text, new, created_at, entry.ts.isoformat()))
        text = new
    return told


def _history_of_message(asked: _Id, message: MessageView) -> list[Item]:
    created = message.created_at.isoformat()
    told = [_entry(asked, f"{asked.id}:1", "ADD", None, message.text, created, created)]
    if message.status != "active":
        told.append(
            _entry(asked, f"{asked.id}:2", "DELETE", message.text, None, created, message.updated_at.isoformat())
        )
    return told


def _entry(asked: _Id, own: str, event: str, old: str | None, new: str | None, created: str, updated: str) -> Item:
    gone = event == "DELETE"
    return {
        "id": own,
        "memory_id": str(asked),
        "old_memory": old,
        "new_memory": None if gone else new,
        "event": event,
        "created_at": created,
        "updated_at": updated,
        "is_deleted": gone,
    }


def _listed(messages: object) -> Sequence[Any]:
    if isinstance(messages, str):
        return [{"role": "user", "content": messages}]
    if isinstance(messages, Mapping):
        return [messages]
    if isinstance(messages, list | tuple):
        return messages
    raise InvalidInput(
        f"is {type(messages).__name__}", field="messages", fix="pass a text, a message, or a list of messages"
    )


def _message(given: object, place: int) -> dict[str, Any]:
    """`role`, `content` as text, and `name` and `attachments` if given."""
    said = openai_messages.read(given, f"messages[{place}]") if isinstance(given, Mapping) else {}
    if not said.get("role") or said.get("content") is None:
        raise InvalidInput(
            "is not a message", field=f"messages[{place}]", fix='pass one such as {"role": "user", "content": "Hi"}'
        )
    return {name: said[name] for name in ("role", "content", "name", "attachments") if said.get(name) is not None}


def _speaker(message: Mapping[str, Any]) -> dict[str, Any]:
    return {"actor_id": message["name"]} if "name" in message else {}


def _without_owners(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """As in mem0, metadata cannot move a memory to another owner."""
    return {name: value for name, value in metadata.items() if name not in (*OWNERS, "actor_id")}


def _day(value: object) -> str:
    try:
        if isinstance(value, datetime):
            return value.date().isoformat()
        return value.isoformat() if isinstance(value, date) else date.fromisoformat(str(value)).isoformat()
    except ValueError:
        raise InvalidInput(
            f"{str(value)[:40]!r} is not a date", field="expiration_date", fix="use YYYY-MM-DD"
        ) from None


def _instant(value: datetime | str | int, name: str) -> datetime:
    """As mem0's platform takes it: seconds since 1970 or a date, in UTC unless it says otherwise."""
    try:
        if isinstance(value, int):
            return datetime.fromtimestamp(value, UTC)
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    except (ValueError, OverflowError, OSError):
        fix = "pass seconds since 1970, or a date such as 2026-01-31"
        raise InvalidInput(f"{value!r:.40} is not a time", field=name, fix=fix) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _expired(item: Item) -> bool:
    day = item.get("expiration_date")
    return isinstance(day, str) and day < datetime.now(UTC).date().isoformat()
