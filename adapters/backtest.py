"""A back-test of a policy over what is in the log of a user; nothing is written, and no model is asked (X06)."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Table

from mnemolog.adapters.maintenance.extracting import READ_FOR
from mnemolog.adapters.services import Services
from mnemolog.commands.backtest.comparison import Comparison, RecordedStream, compare
from mnemolog.commands.backtest.decisions import PRONOUN, Difference
from mnemolog.commands.backtest.shadow import Terms
from mnemolog.domain.message import subject_id
from mnemolog.domain.policy import Policy
from mnemolog.domain.segmentation import Vector
from mnemolog.domain.viewer import Viewer
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.envelope import DEFAULT_AGENT, USER, Recorded, StreamId
from mnemolog.events.memory import ContentEvent, MemoryObserved
from mnemolog.projections.conversation.tables import messages
from mnemolog.projections.memories import due
from mnemolog.projections.memories.tables import memories
from mnemolog.projections.rows import Row
from mnemolog.projections.vectors.embedder import Embedder
from mnemolog.projections.vectors.projector import embedded_text
from mnemolog.projections.working.referents import referents

# Vectors that are read in one query.
PAGE = 1000


@dataclass(frozen=True, slots=True)
class Backtest(Comparison):
    """What differs between the policy in effect (`now`) and another one (`then`), up to `head` of the stream."""

    now: str
    then: str
    head: int

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


async def backtest(
    engine: Services, stream: StreamId, policy: Policy, after: int = 0, at: datetime | None = None
) -> Backtest:
    """Make the decisions of a user's stream again, under the policy in effect and under this one.

    Only differences in decisions behind `after` are shown; the shadow is that of the whole stream. What fades, what an
    agent may read and what comes into a context is asked of memories as they are, at this time or now.
    """
    at, embedder = at or engine.writes.now(), await engine.projections.embedder()
    calibration = embedder.calibration
    events = await engine.log.read(stream)
    terms = Terms(
        now=engine.policy,
        then=policy,
        bands=calibration.bands,
        link_min=calibration.link_min,
        topic_similarity=calibration.topic_similarity,
        model=embedder.model,
    )
    compares = terms.divide_otherwise or terms.write_otherwise
    vectors = await _vectors(engine, stream, embedder, events) if compares else {}
    # Off the loop, on which other work waits.
    found = await asyncio.to_thread(compare, RecordedStream(events, at, vectors, READ_FOR), terms)
    decided = [one for one in found.differences if one.seq is None or one.seq > after]
    decided = await asyncio.to_thread(_resolved, events, decided, terms)
    return Backtest(
        now=engine.policy.version,
        then=policy.version,
        head=events[-1].seq if events else 0,
        differences=[*decided, *await _fading(engine, stream, policy, at)],
        shadow=found.shadow,
        unfollowed=found.unfollowed,
        looked_at=found.looked_at,
        unread=found.unread,
        untested=found.untested,
    )


def _resolved(events: Sequence[Recorded], differences: Sequence[Difference], terms: Terms) -> list[Difference]:
    """The differences, of pronouns with what they refer to in the session of their time."""
    turn_ids = {one.id for one in differences if one.decision == PRONOUN}
    if not turn_ids:
        return list(differences)
    meant = referents(events, turn_ids, (terms.now.pronouns, terms.then.pronouns))
    return [
        replace(one, now=meant[one.id][0], then=meant[one.id][1]) if one.decision == PRONOUN else one
        for one in differences
    ]


async def _vectors(
    engine: Services, stream: StreamId, embedder: Embedder, events: Sequence[Recorded]
) -> Mapping[str, Vector]:
    """The vectors of messages and memories that are in the index or cached, by their text. No model is asked."""
    texts = {one.text: None for event in events if isinstance(one := event.payload, TurnRecorded | MemoryObserved)}
    subjects = {}
    for event in events:
        payload = event.payload
        if isinstance(payload, ContentEvent | TurnRecorded) and (text := embedded_text(payload)):
            id_ = payload.memory_id if isinstance(payload, ContentEvent) else subject_id(payload.turn_id)
            subjects[id_] = text
            texts[text] = None
    found: dict[str, Vector] = {text: one.tolist() for text, one in embedder.cached(list(texts)).items()}
    ids, viewer = list(subjects), Viewer(stream.tenant, stream.owner, DEFAULT_AGENT)
    async with engine.projections.live.connect() as connection:
        for first in range(0, len(ids), PAGE):
            kept = await engine.projections.index.vectors_of(connection, viewer, ids[first : first + PAGE])
            found |= {subjects[id_]: one.tolist() for id_, one in kept.items() if subjects[id_] not in found}
    return found


async def _fading(engine: Services, stream: StreamId, policy: Policy, at: datetime) -> list[Difference]:
    """What retention would take now under one of the policies only."""
    found = []
    for decision, id_, table, condition in (
        ("fade", "memory_id", memories, due.fading),
        ("message", "message_id", messages, due.expired_messages),
    ):
        now, then = [
            await _rows(engine, stream, table, condition(retention, at))
            for retention in (engine.policy.retention, policy.retention)
        ]
        for key in [*(now.keys() - then.keys()), *(then.keys() - now.keys())]:
            fades, row = key in then, {**now, **then}[key]
            ways = ("kept", "taken") if fades else ("taken", "kept")
            found.append(Difference(decision, None, str(row[id_]), row["text"] or "", *ways))
    return sorted(found, key=lambda one: (one.decision, one.id))


async def _rows(engine: Services, stream: StreamId, table: Table, condition: ColumnElement[bool]) -> dict[Any, Row]:
    mine = (table.c.tenant == stream.tenant) & (table.c.user_id == stream.name.partition(":")[2])
    key = [column.name for column in table.primary_key.columns]
    async with engine.projections.live.connect() as connection:
        pages = [page async for page in due.pages(connection, mine & condition, table, USER)]
    return {tuple(row[name] for name in key): row for page in pages for row in page}
