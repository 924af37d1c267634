"""What is answered over HTTP. Times are in UTC."""

from typing import Any, Literal, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from mnemolog.adapters.engine.erasing import Erasure
from mnemolog.adapters.engine.reads import Changes
from mnemolog.domain.delta import Change, Entry
from mnemolog.domain.memory import Cause, Kind, Status
from mnemolog.domain.memory_key import EntityType, FactType, MemoryType, Source
from mnemolog.domain.scope import Scope
from mnemolog.domain.turn import Role
from mnemolog.events.envelope import Receipt
from mnemolog.events.fields import Instant
from mnemolog.projections.query import Answer, Hit


class _View(BaseModel):
    model_config = ConfigDict(from_attributes=True)


class ReceiptView(_View):
    """The write is durable. `already`: it had been written before, and nothing changed now."""

    stream: str
    event_ids: list[UUID]
    first_seq: int
    last_seq: int
    already: bool
    erased: bool = Field(False, description="What this request wrote before was erased since.")
    token: str = Field(description="Pass it as `after` to a read that must see this write.")

    @classmethod
    def of(cls, receipt: Receipt, **more: Any) -> Self:
        return cls.model_validate({**receipt.as_dict(), **more})


class CreatedView(ReceiptView):
    """The receipt, and the id of the new memory."""

    memory_id: UUID


class ErasureView(ReceiptView):
    """The receipt of an erasure, and what it took."""

    memories: list[UUID]
    turns: list[str]
    known: list[str] = Field(
        description="Entities, facts, fields of the profile and todos.", examples=[["entity:0194…", "profile:city"]]
    )
    cleared: list[str] = Field(description="Entities that only lost what went with a turn.")
    messages: int = Field(description="Waiting turns and dead letters that were deleted on JetStream.")
    held_up: dict[str, dict[str, str]] = Field(
        description="Projections that stopped, are paused or late: why, and what to do. The text was taken out of them."
    )

    @classmethod
    def of_erasure(cls, erasure: Erasure) -> Self:
        taken = erasure.extent.as_dict()
        held_up = {name: error.as_dict() for name, error in erasure.held_up.items()}
        return cls.of(erasure.receipt, **taken, messages=erasure.messages, held_up=held_up)


class Bullet(_View):
    """One memory as a prompt takes it."""

    id: UUID
    category: str
    text: str = Field(examples=["[tasks] Ship v1 by September"])


class MemoryView(_View):
    """One memory, whole. `importance` and `confidence` lie in [0, 1]."""

    user_id: str
    memory_id: UUID
    kind: Kind
    scope: Scope
    agent_id: str | None = Field(description="The owner of an agent-scoped memory.")
    text: str
    category: str
    importance: float
    importance_level3: int = Field(description="The nearest of D's levels, 0 to 3.")
    importance_level5: int = Field(description="The nearest of B's, 1 to 5.")
    confidence: float
    pinned: bool
    status: Status
    merged_into: UUID | None
    purge_at: Instant | None
    role: Role | None
    run_id: str | None
    actor_id: str
    thread_id: str
    source_turn_ids: list[str]
    entity_ids: list[UUID]
    type: MemoryType | None
    entity_type: EntityType | None
    fact_type: FactType | None
    source: Source
    memory_key: str = Field(description='Its key, or "": only one visible memory of a scope and agent has it.')
    entity_refs: list[str]
    entity_label: str
    topics: list[str]
    observations: int = Field(description="How often it was said.")
    last_accessed: Instant = Field(description="When it was last written, found or brought back.")
    reactivation_count: int
    fresh: bool = Field(description="Of a scene: made in this patrol cycle of its agent.")
    session_count: int = Field(
        description="Of a scene: the patrol cycles since it was last made, found or brought back."
    )
    deleted_cause: Cause | None
    forgotten_at: Instant | None = Field(description="Since when it is hidden.")
    forget_reason: str = Field(description='Why it was forgotten; "" where nobody said.')
    contradicts: list[UUID] = Field(description="The active memories that say otherwise, linked as `contradicts`.")
    contradicted_by: UUID | None = Field(description="The newest of `contradicts`, where it is newer than this one.")
    contradicted_at: Instant | None = Field(description="When that one was said.")
    occurred_at: Instant
    created_at: Instant
    updated_at: Instant
    seq: int


class LinkView(_View):
    """The far end of a link. `strength` lies in [0, 1]; `out` leads there, `in` comes from there."""

    memory_id: UUID
    direction: Literal["out", "in"]
    relation_type: str
    strength: float
    category: str
    text: str
    created_at: Instant


class LinksView(_View):
    """What a memory is linked to, the strongest first."""

    links: list[LinkView]


class HitView(MemoryView):
    """A memory that answers a query, and why it ranks where it does."""

    score: float = Field(description="The fused rank, in [0, 1].")
    similarity: float | None = Field(description="The cosine similarity to the query.")
    text_rank: float | None = Field(description="The full-text rank.")

    @classmethod
    def of(cls, hit: Hit) -> Self:
        found = {"score": hit.score, "similarity": hit.similarity, "text_rank": hit.text_rank}
        return cls.model_validate({**hit.row, **found})


class BulletAnswer(_View):
    """What answers as bullets, beneath the delta header (B §1)."""

    header: str = Field(description='What changed since `since_rev`, or "".')
    rev: int = Field(description="The thread's revision: the next `since_rev`.")
    bullets: list[Bullet]

    @classmethod
    def of(cls, answer: Answer) -> Self:
        bullets = [Bullet(id=hit.memory_id, category=hit.category, text=hit.bullet) for hit in answer.hits]
        return cls(header=answer.header, rev=answer.rev, bullets=bullets)


class FullAnswer(_View):
    """What answers as whole memories."""

    header: str
    rev: int
    memories: list[HitView]

    @classmethod
    def of(cls, answer: Answer) -> Self:
        return cls(header=answer.header, rev=answer.rev, memories=[HitView.of(hit) for hit in answer.hits])


class MemoryList(_View):
    """Memories, changed last first."""

    memories: list[MemoryView]


class HistoryEntry(_View):
    """One write that touched a memory, an entity or a fact. A reference is `<id>@<seq>`, which `as_of` can show."""

    id: UUID
    subject: str = Field(description="What it touched: memory, entity, relation, profile or todo.")
    subject_id: str
    memory_id: UUID | None
    event: Literal["ADD", "UPDATE", "DELETE", "MERGE", "LINK", "TTL", "RESTORE"]
    old_ref: str | None
    new_ref: str | None
    actor: str | None
    meta: dict[str, Any]
    seq: int
    ts: Instant


class HistoryView(_View):
    """What happened, newest first."""

    history: list[HistoryEntry]


class ChangeView(_View):
    """One row of the change log, with the memory as it reads now."""

    rev: int
    memory_id: UUID
    change: Change
    category: str
    text: str
    importance: float
    combined: int = Field(description="How many memories a merge combined.")

    @classmethod
    def of(cls, entry: Entry) -> Self:
        return cls.model_validate(entry)


class ChangesView(_View):
    """What a delta header tells, and the revision that the next one starts from."""

    header: str
    rev: int
    changes: list[ChangeView]

    @classmethod
    def of(cls, found: Changes) -> Self:
        return cls(header=found.header, rev=found.rev, changes=[ChangeView.of(entry) for entry in found.entries])


class SessionView(_View):
    """The session object of A §3.1."""

    slot_contract_version: str
    user_id: str
    agent_id: str
    chat_id: str
    msg_count: int
    summary: str
    turns: list[dict[str, str]]
    scratch: dict[str, Any]
    active_entity_ids: list[str]
    updated_at: str


class LiveView(_View):
    """What a caller without a token or a key is told: the server answers."""

    model_config = ConfigDict(extra="forbid")

    status: Literal["ok"] = "ok"


class HealthView(_View):
    """`degraded`: all that is sound is served, but streams stand still in some projection, or damage was found."""

    status: Literal["ok", "degraded"]
    lag: dict[str, int] = Field(description="By projection, how many events it is behind the log.")
    outbox: int = Field(description="How many appends wait for JetStream.")
    stopped: dict[str, dict[str, str]] = Field(
        description="By projection, the streams set aside and where they stopped."
    )
    incidents: int = Field(description="How many were found and not acknowledged: `mnemolog incidents list`.")
    failed_jobs: int = Field(description="Jobs with no attempt left: `mnemolog jobs list --status failed`.")
