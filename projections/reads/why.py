"""Why something is known: its events, what it was merged from, and the turns behind it (X04)."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain import profile
from mnemolog.domain.errors import NotFound, Tampered
from mnemolog.domain.viewer import Viewer
from mnemolog.events.conversation import EVERY_THREAD, TurnRecorded, turn_tag
from mnemolog.events.documents import DocumentAdded, DocumentChunksStored, RevisionEvent
from mnemolog.events.documents_fold import DOCUMENT
from mnemolog.events.envelope import Recorded
from mnemolog.events.event import Event, sources_of
from mnemolog.events.log import EventLog
from mnemolog.events.message_fold import MESSAGE
from mnemolog.events.profile_fold import FIELD
from mnemolog.events.summaries import SummaryWritten
from mnemolog.projections.history.changed import rule_of
from mnemolog.projections.knowledge.tables import chunks
from mnemolog.projections.rows import fetch, stored
from mnemolog.projections.shown import SHOWN, as_uuid, kind_of, visible
from mnemolog.projections.sources.passages import PASSAGE
from mnemolog.projections.summaries import reader as summaries
from mnemolog.projections.visibility import owned, viewed

SUMMARY = "summary"

Fields = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WhyEvent:
    """One event: who did what, when, under which policy. `about` lists other subjects of its kind it touched."""

    seq: int
    event_id: UUID
    type: str
    occurred_at: Any
    recorded_at: Any
    actor: str
    agent_id: str
    thread_id: str
    run_id: str | None
    policy_version: str
    match: Fields | None
    undoes: UUID | None
    about: Sequence[str]
    rule: str | None


@dataclass(frozen=True, slots=True)
class SourceTurn:
    """What was said; "" if it was erased."""

    turn_id: str
    thread_id: str
    role: str
    speaker: str
    text: str
    occurred_at: Any
    seq: int
    erased: bool


@dataclass(frozen=True, slots=True)
class Why:
    """`merged_from` covers any number of merges in force. `unseen_turns` counts turns that the viewer may not see."""

    id: str
    kind: str
    events: Sequence[WhyEvent]
    turns: Sequence[SourceTurn]
    merged_from: Sequence[str]
    merged_into: str | None
    unseen_turns: int

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class Inquiry:
    """One `why` query, by one viewer about one stream up to a seq."""

    def __init__(self, connection: AsyncConnection, viewer: Viewer, log: EventLog, until: int | None) -> None:
        self._connection, self._viewer, self._log, self._until = connection, viewer, log, until
        self._stream = viewed(viewer)

    async def answer(self, id_: str) -> Why:
        """NotFound if the viewer may not see any subject with this id; TamperedEvent if the stream's log is damaged.

        The whole stream is verified against the chain, because a deleted event, or one whose tags were changed, cannot
        be found by tags.
        """
        async for _ in self._log.scan(self._stream, until=self._until):
            pass
        kind = await kind_of(self._connection, self._viewer, id_)
        if kind is None and (other := await self._of_summary(id_) or await self._of_passage(id_)):
            return other
        if kind is None:
            raise self._unknown(id_)
        events = await self._events([f"{kind}:{_place(kind, id_)}"])
        if kind == MESSAGE.name:  # Events of what was extracted from it have its tag, too.
            events = [event for event in events if MESSAGE.touched(event.payload)]
        if not events and kind == FIELD.name:
            raise self._unknown(id_)
        if not events:
            raise self._lacking(kind, id_)
        behind, merged = list(events), list[str]()
        absorbed = await self._absorbed(kind, _place(kind, id_), events)
        while absorbed:
            merged += sorted(absorbed)
            further = await self._events(f"{kind}:{one}" for one in absorbed)
            behind += further
            found = [await self._absorbed(kind, one, further) for one in sorted(absorbed)]
            absorbed = frozenset().union(*found) - {*merged, id_}
        turn_ids = sorted({turn_id for event in behind for turn_id in _sources(event.payload)})
        turn_ids = [id_] if kind == MESSAGE.name else turn_ids
        turns = await self._turns(turn_ids)
        into = await self._into(kind, id_)
        causes = [await self._cause(kind, _place(kind, id_), event) for event in events]
        return Why(id_, kind, causes, turns, merged, into, len(turn_ids) - len(turns))

    async def _of_summary(self, id_: str) -> Why | None:
        """The event that wrote a summary, and the messages that it covers, if the viewer may see it."""
        if (summary_id := as_uuid(id_)) is None or not await summaries.is_seen(
            self._connection, self._viewer, summary_id
        ):
            return None
        event = await self._log.find(self._stream, summary_id)
        if event is None or not isinstance(event.payload, SummaryWritten):
            raise self._lacking(SUMMARY, id_)
        written = event.payload
        ends = [one.seq for one in await self._events(map(turn_tag, (written.first_turn_id, written.last_turn_id)))]
        covered = await self._log.read(self._stream, after=min(ends) - 1, until=event.seq) if ends else []
        said = [one.payload for one in covered if isinstance(one.payload, TurnRecorded) and one.seq <= max(ends)]
        turn_ids = [one.turn_id for one in said if written.thread_id in (one.thread_id, EVERY_THREAD)]
        turns = await self._turns(turn_ids)
        return Why(id_, SUMMARY, [await self._cause(SUMMARY, id_, event)], turns, [], None, len(turn_ids) - len(turns))

    async def _of_passage(self, id_: str) -> Why | None:
        """The events of a document that one of its chunks is from, in the library that the viewer reads."""
        if (chunk_id := as_uuid(id_)) is None:
            return None
        column = chunks.c
        wanted = select(*stored(chunks)).where(owned(chunks, self._viewer), column.chunk_id == chunk_id)
        rows = await fetch(self._connection, chunks, wanted)
        document = {str(row["document_id"]) for row in rows if row["text"]}
        if not await self._visible(DOCUMENT.name, document):
            return None
        of = await self._events(f"{DOCUMENT.name}:{one}" for one in document)
        events = [event for event in of if _names_chunk(event.payload, chunk_id)]
        if not events:
            raise self._lacking(PASSAGE, id_)
        return Why(id_, PASSAGE, [await self._cause(PASSAGE, id_, one) for one in events], [], [], None, 0)

    def _lacking(self, kind: str, id_: str) -> Tampered:
        return Tampered(f"the tag index of the log lacks {kind} {id_}", field="id", fix="run `mnemolog verify --heal`")

    async def _events(self, tags: Iterable[str]) -> Sequence[Recorded]:
        wanted = list(tags)
        return await self._log.read(self._stream, tags=wanted, until=self._until) if wanted else []

    def _unknown(self, id_: str) -> NotFound:
        whose = f"agent {self._viewer.agent_id!r}" if self._viewer.library else f"user {self._viewer.user_id!r}"
        return NotFound(
            f"{whose} has nothing with the id {id_!r:.80}",
            field="id",
            fix="give the id of something that a search found, or the name of a profile field",
        )

    async def _visible(self, kind: str, ids: Collection[str]) -> frozenset[str]:
        return await visible(self._connection, self._viewer, kind, ids) if ids else frozenset()

    async def _absorbed(self, kind: str, id_: str, events: Sequence[Recorded]) -> frozenset[str]:
        """The subjects merged into it, if the merge is in force and they may be seen."""
        undone = _undone(events)
        ids = {
            str(one)
            for event in events
            if event.event_id not in undone and id_ == str(getattr(event.payload, f"{kind}_id", None))
            for one in getattr(event.payload, "absorbed_ids", ())
        }
        return await self._visible(kind, ids)

    async def _into(self, kind: str, id_: str) -> str | None:
        shown = SHOWN[kind]
        if shown is None or shown.merged_into is None:
            return None
        table = shown.id.table
        wanted = select(shown.merged_into).where(owned(table, self._viewer), shown.id == UUID(id_))
        into = (await self._connection.execute(wanted)).scalar_one_or_none()
        return str(into) if into and await self._visible(kind, {str(into)}) else None

    async def _cause(self, kind: str, id_: str, event: Recorded) -> WhyEvent:
        if kind not in SHOWN:
            others = set[str]()
        else:
            others = {tag.partition(":")[2] for tag in event.payload.tags() if tag.startswith(f"{kind}:")} - {id_}
        match, meta = getattr(event.payload, "match", None), event.meta
        return WhyEvent(
            event.seq,
            event.event_id,
            event.payload.type_name(),
            event.occurred_at,
            event.recorded_at,
            meta.actor,
            meta.agent_id,
            meta.thread_id,
            meta.run_id,
            meta.policy_version,
            match.model_dump(mode="json", exclude_none=True) if match else None,
            getattr(event.payload, "undoes", None),
            sorted(await self._visible(kind, others)),
            rule_of(event.payload),
        )

    async def _turns(self, turn_ids: Sequence[str]) -> Sequence[SourceTurn]:
        """The turns whose message the viewer may see."""
        seen = await self._visible(MESSAGE.name, turn_ids)
        events = await self._events(map(turn_tag, sorted(seen)))
        return [_turn(event, event.payload) for event in events if isinstance(event.payload, TurnRecorded)]


def _names_chunk(payload: Event, chunk_id: UUID) -> bool:
    """Whether an event tells of a chunk: where its document comes from, its text, its place, or that it was removed."""
    match payload:
        case DocumentAdded():
            return True
        case RevisionEvent():
            return chunk_id in {*payload.removed, *(one.chunk_id for one in (*payload.added, *payload.moved))}
        case DocumentChunksStored():
            return chunk_id in payload.chunk_ids
    return False


def _turn(event: Recorded, turn: TurnRecorded) -> SourceTurn:
    return SourceTurn(
        turn.turn_id,
        turn.thread_id,
        turn.role,
        turn.speaker,
        turn.text,
        event.occurred_at,
        event.seq,
        event.erased,
    )


def _sources(payload: Event) -> Sequence[str]:
    """The turns that an event was extracted from, also an end or a correction."""
    return (*(sources_of(payload) or ()), *getattr(payload, "stated_in", ()))


def _undone(events: Sequence[Recorded]) -> frozenset[UUID]:
    """The changes that were undone, and not redone."""
    undone: set[UUID] = set()
    for event in reversed(events):
        undoes = getattr(event.payload, "undoes", None)
        if undoes and event.event_id not in undone:
            undone.add(undoes)
    return frozenset(undone)


def _place(kind: str, id_: str) -> str:
    return profile.place_of(id_) if kind == FIELD.name else id_
