"""Keeps facts and episodes in a mem0 store, under their user and the episode that they come from (E08).

The rows say what the store is to hold. It is written before the transaction that saves the progress, and written again
after a crash in between, which changes nothing: so it is late when the store is down, like any projection.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy import MetaData, Table
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.episode import EpisodeStatus
from mnemolog.domain.memory import VISIBLE, Content, Kind, Memory, Status
from mnemolog.domain.origin import Origin
from mnemolog.domain.scope import Scope
from mnemolog.domain.summary import SummaryKind
from mnemolog.events import memory as events
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.envelope import USER, Recorded
from mnemolog.events.episodes import EpisodeClosed, EpisodesReverted, EpisodeStarted
from mnemolog.events.erasure import MemoryErased, ThreadErased, UserErased
from mnemolog.events.memory_fold import MEMORY
from mnemolog.events.message import MessagesErased
from mnemolog.events.summaries import SummaryWritten
from mnemolog.projections.kinds import Kinds
from mnemolog.projections.mem0.item import Item, ItemStore
from mnemolog.projections.mem0.tables import NAME, VERSION, episodes, items, metadata, turns
from mnemolog.projections.owner import Owner, owner, owner_row
from mnemolog.projections.preparing import Unprepared, made
from mnemolog.projections.raw_sql import live_key, options_of, schema_of
from mnemolog.projections.rows import Key, Row, load, primary_key, remove, upsert
from mnemolog.projections.threads import rows_of_threads

# What mem0 calls them. Insights are guesses, and procedures, scenes and summaries of summaries are not memories to it.
KINDS = {Kind.FACT: "factual", Kind.EPISODE: "episodic"}
NAMED = {name: kind for kind, name in KINDS.items()}
MEMORIES, SUMMARIES = "memory", "summary"
OF_EPISODES = EpisodeStarted | EpisodeClosed | EpisodesReverted

Thread = tuple[str, str, str, str]


class Mem0Projector:
    """Without a `store`, as in a process that only fills shadows, it writes rows alone."""

    name = NAME
    version = VERSION
    readable_from = VERSION
    variant = ""
    tables: MetaData = metadata
    kinds = Kinds(
        events.MemoryEvent | MemoryErased | SummaryWritten | OF_EPISODES | ThreadErased,
        shapes=TurnRecorded | MessagesErased,
    )

    def __init__(self, store: ItemStore | None = None) -> None:
        self._store = store

    async def apply(self, connection: AsyncConnection, batch: Sequence[Recorded]) -> None:
        batch = [event for event in batch if event.stream.kind == USER]
        fold = _Fold(await _rows(connection, batch))
        for event in batch:
            fold.apply(event)
        await fold.write(connection)
        if self._store and _is_live(connection):
            # The store is written outside of the transaction; the batch is then applied again.
            writes = fold.writes(self._store.tenant)
            key = (NAME, *((user, *one.key) for user, one in writes.items()))
            if writes and key not in made():
                raise Unprepared(partial(_written, self._store, writes, key))


@dataclass(slots=True)
class _Write:
    """What changes in the store for one user; first, all of it goes if the user was erased."""

    erased: bool = False
    items: dict[UUID, Item | None] = field(default_factory=dict)

    @property
    def key(self) -> tuple[Any, ...]:
        return self.erased, *sorted((str(id_), one.digest if one else "") for id_, one in self.items.items())


async def _written(store: ItemStore, writes: Mapping[str, _Write], key: tuple[Any, ...]) -> Mapping[Any, Any]:
    for user_id, one in writes.items():
        if one.erased:
            await store.forget(user_id)
        if one.items:
            await store.write(user_id, one.items)
    return {key: True}


def _is_live(connection: AsyncConnection) -> bool:
    """Neither a shadow, nor the tables of a check."""
    schemas: Mapping[str, str] = options_of(connection)["schema_translate_map"]
    return schema_of(connection, items) == schemas.get(live_key(NAME))


Rows = dict[Table, dict[Key, Row]]


async def _rows(connection: AsyncConnection, batch: Sequence[Recorded]) -> Rows:
    said = await load(connection, turns, {key for event in batch for key in _named_turns(event)})
    divided = {place for event in batch for place in (*_divided(event), *_erased_threads(event))}
    known = await load(connection, items, {key for event in batch for key in _subjects(event)})
    known |= await rows_of_threads(connection, items, divided)
    named = [(*key[:3], row["thread_id"]) for rows in (said, known) for key, row in rows.items() if row["thread_id"]]
    places = {*named, *divided, *(place for event in batch for place in _spoken_in(event))}
    return {turns: said, episodes: await rows_of_threads(connection, episodes, places), items: known}


def _named_turns(event: Recorded) -> Sequence[Key]:
    """The turns whose place matters: those that a memory comes from, and the first of an episode."""
    match event.payload:
        case events.MemoryCreated(source_turn_ids=ids):
            return [(*owner(event), id_) for id_ in ids]
        case EpisodeStarted(first_turn_id=id_):
            return [(*owner(event), id_)]
        case _:
            return []


def _spoken_in(event: Recorded) -> Sequence[Thread]:
    """The thread of an event of which something may be copied."""
    match event.payload:
        case TurnRecorded(thread_id=thread_id) | SummaryWritten(kind=SummaryKind.FINAL, thread_id=thread_id):
            return [(*owner(event), thread_id)]
        case _:
            return []


def _divided(event: Recorded) -> Sequence[Thread]:
    """The thread whose episodes an event changes."""
    return [(*owner(event), event.payload.thread_id)] if isinstance(event.payload, OF_EPISODES) else []


def _erased_threads(event: Recorded) -> Sequence[Thread]:
    """The threads whose summaries an event destroys."""
    match event.payload:
        case MessagesErased(thread_id=thread_id) | ThreadErased(thread_id=thread_id):
            return [(*owner(event), thread_id)]
        case MemoryErased(turns=erased):
            return [(*owner(event), thread_id) for thread_id in dict.fromkeys(one.thread_id for one in erased)]
        case _:
            return []


def _subjects(event: Recorded) -> Sequence[Key]:
    match event.payload:
        case SummaryWritten(kind=SummaryKind.FINAL, episode_id=UUID() as episode_id):
            return [(*owner(event), episode_id)]
        case payload:
            return [(*owner(event), memory_id) for memory_id in MEMORY.touched(payload)]


class _Fold:
    """Rows while a batch is applied. None: the row goes."""

    def __init__(self, rows: Rows) -> None:
        self._before = dict(rows[items])
        self._rows: dict[Table, dict[Key, Row | None]] = {table: dict(found) for table, found in rows.items()}
        self._changed: dict[Table, dict[Key, Row | None]] = {table: {} for table in rows}
        self._erased: set[Owner] = set()

    def apply(self, event: Recorded) -> None:
        match event.payload:
            case UserErased():
                self._erased.add(owner(event))
            case TurnRecorded() as turn:
                self._turn(event, turn)
            case EpisodeStarted() as started:
                self._started(event, started)
            case EpisodeClosed(episode_id=episode_id):
                self._episode((*owner(event), episode_id), status=EpisodeStatus.CLOSED.value)
            case EpisodesReverted(episodes=states):
                for one in states:
                    key = (*owner(event), one.episode_id)
                    self._episode(key, status=one.status.value, merged_into=one.merged_into)
            case SummaryWritten(kind=SummaryKind.FINAL, episode_id=UUID()) as summary:
                self._summary(event, summary)
            case events.MemoryEvent():
                self._memory(event)
            case MemoryErased(memory_id=memory_id):
                self._put(items, (*owner(event), memory_id), None)
        for place in _erased_threads(event):
            gone = event.payload
            self._erase_summaries(place, expired=isinstance(gone, MessagesErased) and gone.at_end_of_retention)
        for place in _divided(event):
            for key, row in self._in(items, place):
                self._put(items, key, self._placed(row))

    async def write(self, connection: AsyncConnection) -> None:
        for table, changed in self._changed.items():
            await upsert(connection, table, [row for row in changed.values() if row is not None])
            await remove(connection, table, [key for key, row in changed.items() if row is None])

    def writes(self, tenant: str) -> Mapping[str, _Write]:
        """By user of a tenant, what changes in a store that holds the rows from before the batch."""
        found: dict[str, _Write] = {}
        for of, _, user_id in sorted(self._erased):
            if of == tenant:
                found.setdefault(user_id, _Write()).erased = True
        for key, row in self._changed[items].items():
            of, _, user_id, subject_id = key
            before = self._before.get(key)
            after = _item(row)
            # A row that is new may have been written before, as when a stream is read once more.
            if of == tenant and (before is None or _item(before) != after):
                found.setdefault(user_id, _Write()).items[subject_id] = after
        return found

    def _put(self, table: Table, key: Key, row: Row | None) -> None:
        self._rows[table][key] = self._changed[table][key] = row

    def _turn(self, event: Recorded, turn: TurnRecorded) -> None:
        row = {
            **owner_row(event),
            "turn_id": turn.turn_id,
            "agent_id": event.meta.agent_id,
            "thread_id": turn.thread_id,
            "seq": event.seq,
        }
        self._put(turns, primary_key(turns)(row), row)

    def _started(self, event: Recorded, started: EpisodeStarted) -> None:
        first = self._rows[turns].get((*owner(event), started.first_turn_id))
        row = {
            **owner_row(event),
            "episode_id": started.episode_id,
            "agent_id": started.agent_id,
            "thread_id": started.thread_id,
            "first_seq": first["seq"] if first else event.seq,
            "status": EpisodeStatus.ACTIVE.value,
            "merged_into": None,
        }
        self._put(episodes, primary_key(episodes)(row), row)

    def _episode(self, key: Key, **changed: Any) -> None:
        row = self._rows[episodes].get(key)
        if row is not None:  # Its start may have been skipped.
            self._put(episodes, key, {**row, **changed})

    def _summary(self, event: Recorded, summary: SummaryWritten) -> None:
        """The latest counts. One whose text was erased since is not there."""
        key = (*owner(event), summary.episode_id)
        if not summary.text:
            self._put(items, key, None)
            return
        row = {
            **owner_row(event),
            "subject_id": summary.episode_id,
            "source": SUMMARIES,
            "kind": KINDS[Kind.EPISODE],
            "scope": Scope.AGENT.value,
            "agent_id": summary.agent_id,
            "thread_id": summary.thread_id,
            "said_by": summary.agent_id,
            "turn_seq": None,
            "own_run_id": None,
            "text": summary.text,
            "category": "summary",
            "importance": 0.0,
            "confidence": 1.0,
            "pinned": False,
            "metadata": {},
            "origin": Origin.AGENT.value,
            "status": Status.ACTIVE.value,
            "mechanical": summary.mechanical,
            "created_at": event.occurred_at,
        }
        self._put(items, key, self._placed(row))

    def _memory(self, event: Recorded) -> None:
        keys = {memory_id: (*owner(event), memory_id) for memory_id in MEMORY.touched(event.payload)}
        known = {memory_id: _as_memory(row) for memory_id, key in keys.items() if (row := self._rows[items].get(key))}
        for memory_id, memory in MEMORY.evolve(known, event.payload).items():
            if memory.kind in KINDS:
                before = self._rows[items].get(keys[memory_id]) or self._beginning(event)
                self._put(items, keys[memory_id], self._placed({**before, **_of_memory(memory)}))

    def _beginning(self, event: Recorded) -> Row:
        """What never changes of a memory: the columns that are not those of `_of_memory`."""
        created = event.payload
        assert isinstance(created, events.MemoryCreated), "nothing else begins one"
        said = [self._rows[turns].get((*owner(event), id_)) for id_ in reversed(created.source_turn_ids)]
        place = next((row for row in said if row), None)
        return {
            **owner_row(event),
            "source": MEMORIES,
            "thread_id": place["thread_id"] if place else None,
            "said_by": place["agent_id"] if place else None,
            "turn_seq": place["seq"] if place else None,
            "own_run_id": created.run_id,
            "mechanical": False,
            "created_at": event.occurred_at,
        }

    def _erase_summaries(self, place: Thread, *, expired: bool) -> None:
        for key, row in self._in(items, place):
            if row["source"] == SUMMARIES and (row["mechanical"] or not expired):
                self._put(items, key, None)

    def _in(self, table: Table, place: Thread) -> list[tuple[Key, Row]]:
        *whose, thread_id = place
        found = [(key, row) for key, row in self._rows[table].items() if row and key[:3] == tuple(whose)]
        return [(key, row) for key, row in found if row["thread_id"] == thread_id]

    def _placed(self, row: Row) -> Row:
        """With its episode, and whether mem0 is to hold it: a summary only while its episode is closed."""
        whose = tuple(row[name] for name in ("tenant", "stream_kind", "user_id"))
        if row["source"] == SUMMARIES:
            episode = self._rows[episodes].get((*whose, row["subject_id"]))
            closed = episode is not None and episode["status"] == EpisodeStatus.CLOSED.value
            return {**row, "run_id": str(row["subject_id"]), "shown": closed}
        shown = bool(row["text"]) and Status(row["status"]) in VISIBLE
        return {**row, "run_id": self._episode_of(row) or row["own_run_id"], "shown": shown}

    def _episode_of(self, row: Row) -> str | None:
        """The episode of the message that a memory comes from; None as long as there is none."""
        if row["turn_seq"] is None:
            return None
        place = (row["tenant"], row["stream_kind"], row["user_id"], row["thread_id"])
        of_agent = [one for _, one in self._in(episodes, place) if one["agent_id"] == row["said_by"]]
        begun = [one for one in of_agent if one["first_seq"] <= row["turn_seq"]]
        if not begun:
            return None
        found = max(begun, key=lambda one: one["first_seq"])
        by_id = {one["episode_id"]: one for one in of_agent}
        while found["merged_into"] in by_id:
            found = by_id[found["merged_into"]]
        return str(found["episode_id"])


_CONTENT = ("text", "category", "importance", "confidence", "pinned", "metadata")


def _as_memory(row: Row) -> Memory:
    return Memory(
        row["subject_id"],
        NAMED[row["kind"]],
        Scope(row["scope"]),
        row["agent_id"],
        Content(**{name: row[name] for name in _CONTENT}),
        Status(row["status"]),
        origin=Origin(row["origin"]),
    )


def _of_memory(memory: Memory) -> Row:
    return {
        "subject_id": memory.memory_id,
        "kind": KINDS[memory.kind],
        "scope": memory.scope.value,
        "agent_id": memory.agent_id,
        **{name: getattr(memory.content, name) for name in _CONTENT},
        "metadata": dict(memory.content.metadata),
        "origin": memory.origin.value,
        "status": memory.status.value,
    }


def _item(row: Row | None) -> Item | None:
    """What mem0 is to hold of a row."""
    if row is None or not row["shown"]:
        return None
    return Item(
        subject_id=row["subject_id"],
        type=row["kind"],
        text=row["text"],
        category=row["category"],
        origin=row["origin"],
        created_at=row["created_at"],
        run_id=row["run_id"],
        agent_id=row["agent_id"] if row["scope"] == Scope.AGENT.value else None,
        thread_id=row["thread_id"],
        metadata=row["metadata"],
    )
