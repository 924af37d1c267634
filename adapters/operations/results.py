"""Results of operations, the same in HTTP, the command line and Python. Times are in UTC."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from mnemolog.adapters.operations.engine import Engine
from mnemolog.adapters.operations.requests import Keyed, command_of
from mnemolog.commands.decider import Command
from mnemolog.commands.rollback import Plan
from mnemolog.domain.category import Context as Mode
from mnemolog.domain.delta import Change, Entry
from mnemolog.domain.memory import Cause, Kind, Status
from mnemolog.domain.memory_key import EntityType, FactType, MemoryType, Source
from mnemolog.domain.message import KIND as MESSAGE
from mnemolog.domain.message import found_id
from mnemolog.domain.origin import Origin
from mnemolog.domain.ranking import FORMER, bullet
from mnemolog.domain.scope import Scope
from mnemolog.domain.turn import Role
from mnemolog.events.envelope import Receipt
from mnemolog.events.fields import Instant
from mnemolog.events.memory import ContentFields
from mnemolog.projections.retrieval import Hit

if TYPE_CHECKING:
    from mnemolog.projections.context import AgentContext
    from mnemolog.projections.memories.cards import Card
    from mnemolog.projections.paging import Slice
    from mnemolog.projections.prompt_text import EntityCard
    from mnemolog.projections.reads.memories import Changes as Delta
    from mnemolog.projections.sections import Section

T = TypeVar("T")

REFERENCES = "What pronouns in the query were taken to mean, by the conversation in `thread_id`."


class Result(BaseModel):
    model_config = ConfigDict(from_attributes=True, frozen=True)


KIND = "The kind of a memory, `message`, `relation` for a fact, `entity`, `profile`, `todo`, `summary` or `artifact`."
DATE = "When it was said; of a fact, since when it has held."
CURRENT = "Whether nothing newer or more authoritative is known instead."
SUPERSEDED_BY = "The id of what is current instead, if that is known."
PROFILE = "How the hits are ranked."
RELATED_TO_ANSWERS = "At most two memories that are linked to those that answer, within the same filters and budget."
RELATED = "At most two memories that are linked to the hits, within the same filters and budget."
NOTHING = 'If nothing was found, or nothing fits the budget: says so, and what was looked for. Else "".'
NOTHING_OR_UNKNOWN = f"What of the query is not known. {NOTHING}"
ORIGIN = "Where it comes from: `user` and `agent`, or from outside. Nothing from outside is trusted like the user."
UNKNOWN = (
    "The names in the query that are not known: no entity has them and nothing found mentions them. Also what is not "
    "known of whom it asks about, such as `my uncle` or `Eva's home`."
)


class Page(Result, Generic[T]):
    """A page of a list. Pass `next_cursor` to get the next page; it is null on the last one."""

    items: list[T]
    next_cursor: str | None = None

    @classmethod
    def of(cls, rows: "Slice") -> Self:
        return cls.model_validate({"items": rows, "next_cursor": rows.next_cursor})

    def __iter__(self) -> Iterator[T]:  # type: ignore[override]
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, place: int) -> T:
        return self.items[place]


class Written(Result):
    """The receipt of a durable write. `already`: it had been written before, and nothing was changed now."""

    stream: str
    event_ids: list[UUID]
    first_seq: int
    last_seq: int
    already: bool
    erased: bool = Field(False, description="What this request wrote originally has been erased since.")
    token: str = Field(description="Pass it as `after` to a read that must see this write.")

    @classmethod
    def of(cls, receipt: Receipt, **more: Any) -> Self:
        return cls.model_validate({**receipt.as_dict(), **more})


async def written(engine: Engine, kind: type[Command], request: Keyed, **more: Any) -> Written:
    """Run the command for a request."""
    return Written.of(await engine.writes.handle(command_of(kind, engine, request, **more), request.idempotency_key))


class Created(Written):
    """The receipt, and the id of the new memory."""

    memory_id: UUID


class Bullet(Result):
    """One hit as a line for a prompt."""

    def __str__(self) -> str:
        return self.text

    id: str
    kind: str = Field(description=KIND)
    category: str
    date: Instant = Field(description=DATE)
    origin: Origin = Field(Origin.USER, description=ORIGIN)
    current: bool = Field(True, description=CURRENT)
    superseded_by: str | None = Field(None, description=SUPERSEDED_BY)
    text: str = Field(examples=["[tasks] Ship v1 by September (2026-03-01)"])

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Self:
        newer = row.get("contradicted_by")
        return cls(
            id=found_id(row),
            kind=row["kind"],
            category=row["category"],
            date=row["occurred_at"],
            origin=row["origin"],
            current=newer is None and row.get("former") != FORMER,
            superseded_by=str(newer) if newer else None,
            text=bullet(row),
        )

    @classmethod
    def of_hit(cls, hit: Hit) -> Self:
        return cls.model_validate({**_common(hit), "text": hit.bullet})


class MemoryView(ContentFields, Result):
    """One memory with all fields. `importance` and `confidence` are in [0, 1]."""

    def __str__(self) -> str:
        return self.text

    user_id: str
    memory_id: UUID
    kind: Kind
    scope: Scope
    agent_id: str | None = Field(description="The owner of an agent-scoped memory.")
    importance_level3: int = Field(description="The nearest level on the scale 0 to 3.")
    importance_level5: int = Field(description="The nearest level on the scale 1 to 5.")
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
    origin: Origin = Field(description=ORIGIN)
    memory_key: str = Field(description='Its key, or "": only one visible memory of a scope and agent has it.')
    entity_refs: list[str]
    entity_label: str
    topics: list[str]
    observations: int = Field(description="How often it was stated.")
    last_accessed: Instant = Field(description="When it was last written, found or restored.")
    reactivation_count: int
    fresh: bool = Field(description="For a scene: whether it was created in its agent's current cycle.")
    session_count: int = Field(
        description="For a scene: the number of cycles since it was last created, found or restored."
    )
    deleted_cause: Cause | None
    forgotten_at: Instant | None = Field(description="When it was hidden.")
    forget_reason: str = Field(description='The reason for its deletion, or "".')
    contradicts: list[UUID] = Field(description="Active memories that contradict it, linked as `contradicts`.")
    contradicted_by: UUID | None = Field(description="The newest of `contradicts`, if it is newer than this one.")
    contradicted_at: Instant | None = Field(description="When that one was stated.")
    occurred_at: Instant
    created_at: Instant
    updated_at: Instant
    seq: int


class LinkView(Result):
    """A linked memory. `strength` is in [0, 1]; the direction is `out` to it or `in` from it."""

    memory_id: UUID
    direction: Literal["out", "in"]
    relation_type: str
    strength: float
    category: str
    text: str
    created_at: Instant


class AttachmentView(Result):
    """An attachment of a message."""

    type: str
    url: str
    caption: str


class MessageView(Result):
    """One message of a conversation."""

    def __str__(self) -> str:
        return self.line

    user_id: str
    message_id: str
    kind: Literal["message"]
    thread_id: str
    agent_id: str = Field(description="The agent of the conversation.")
    actor_id: str
    run_id: str | None
    episode_id: UUID | None = Field(
        None, description="The agent's episode that it is in; null until that is decided, and in a search."
    )
    role: Role
    origin: Origin = Field(description=ORIGIN)
    speaker: str
    speaker_entity_id: UUID | None
    text: str
    line: str = Field(description="Speaker, text and captions in one line, and its artifacts except in a search.")
    surrogates: list[str] = Field(
        [],
        description="The lines that stand for its artifacts; empty in a search.",
        examples=[["[image#A7F3C2] a red bicycle"]],
    )
    attachments: list[AttachmentView]
    metadata: dict[str, Any]
    category: str
    status: Status
    purge_at: Instant | None
    forgotten_at: Instant | None = Field(description="When it was hidden.")
    forget_reason: str = Field(description='The reason for its deletion, or "".')
    occurred_at: Instant
    created_at: Instant
    updated_at: Instant
    seq: int


class Scored(Result):
    """How well a hit matches a query, when it was said, and whether it is current."""

    def __str__(self) -> str:
        return self.bullet

    id: str
    bullet: str = Field(
        description="As a line for a prompt: dated, and marked if something newer is known.",
        examples=["[tasks] Ship v1 by September (2026-03-01)"],
    )
    date: Instant = Field(description=DATE)
    current: bool = Field(description=CURRENT)
    superseded_by: str | None = Field(description=SUPERSEDED_BY)
    score: float = Field(description="The fused score, in [0, 1].")
    parts: dict[str, float] = Field(description="What the score was made of.")
    similarity: float | None = Field(description="The cosine similarity to the query.")
    text_rank: float | None = Field(description="The keyword (BM25) score.")


class MemoryHit(MemoryView, Scored):
    """A memory that matches a query, with its scores."""

    __str__ = Scored.__str__


class MessageHit(MessageView, Scored):
    """A message that matches a query, with its scores."""

    __str__ = Scored.__str__


class KnownHit(Scored):
    """Anything else that matches a query, such as a fact, a todo or a passage of a document, with its scores."""

    kind: str = Field(description=KIND)
    category: str
    origin: Origin = Field(description=ORIGIN)
    text: str = Field(examples=["Ana lives in Leipzig"])
    source_turn_ids: list[str] = Field(description="The turns that it comes from.")
    details: dict[str, Any] = Field(description="All of it, as the operation that reads it shows it.")

    @classmethod
    def of(cls, hit: Hit) -> Self:
        details = hit.row["details"]
        turns = details.get("source_turn_ids", ())
        said = {"text": hit.text, "details": details, "source_turn_ids": turns}
        return cls.model_validate({**_common(hit), **_scores(hit), **said})


AnyHit = MemoryHit | MessageHit | KnownHit


def hit_view(hit: Hit) -> AnyHit:
    if "details" in hit.row:
        return KnownHit.of(hit)
    view = MessageHit if hit.kind == MESSAGE else MemoryHit
    return view.model_validate({**hit.row, **_common(hit), **_scores(hit)})


def _scores(hit: Hit) -> dict[str, Any]:
    return {name: getattr(hit, name) for name in ("bullet", "score", "similarity", "text_rank", "parts")}


def _common(hit: Hit) -> dict[str, Any]:
    names = ("id", "origin", "kind", "category", "date", "current", "superseded_by")
    return {name: getattr(hit, name) for name in names}


class ReferenceView(Result):
    """What words of a query refer to: the entity that a pronoun stands for, or the topic of the conversation."""

    text: str = Field(examples=["she"])
    entity_id: UUID | None = None
    name: str = Field("", description="The entity's name.", examples=["Ana"])
    topic: str = Field("", description="The topic, which was added to the query.")


class Bullets(Result):
    """Search results as bullets, with the delta header."""

    header: str = Field(description='What changed since `since_rev`, or "".')
    rev: int = Field(description="The thread's revision: the next `since_rev`.")
    bullets: list[Bullet]
    related: list[Bullet] = Field(description=RELATED)
    unknown: list[str] = Field(description=UNKNOWN)
    skipped: list[str] = Field(description="What the answer was made without, such as similarity while a model fails.")
    references: list[ReferenceView] = Field(description=REFERENCES)
    profile: str = Field(description=PROFILE)
    nothing: str = Field(description=NOTHING)
    served_id: UUID | None = Field(default=None, description="The event that records it, with `record`.")


class SearchResult(Result):
    """Search results with all their fields, the best first."""

    header: str = Field(description='What changed since `since_rev`, or "".')
    rev: int = Field(description="The thread's revision: the next `since_rev`.")
    hits: list[AnyHit]
    related: list[AnyHit] = Field(description=RELATED)
    unknown: list[str] = Field(description=UNKNOWN)
    skipped: list[str] = Field(description="What the answer was made without, such as similarity while a model fails.")
    references: list[ReferenceView] = Field(description=REFERENCES)
    profile: str = Field(description=PROFILE)
    nothing: str = Field(description=NOTHING)
    served_id: UUID | None = Field(default=None, description="The event that records it, with `record`.")

    def __iter__(self) -> Iterator[AnyHit]:  # type: ignore[override]
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, place: int) -> AnyHit:
        return self.hits[place]


class FieldChange(Result):
    """A field that a write changed: its value before and after, null where it had none."""

    field: str = Field(examples=["text"])
    old: Any
    new: Any


class HistoryEntry(Result):
    """One write to a memory, entity, fact, profile field or todo, and what it changed.

    A reference is `<id>@<seq>`, to be read with `as_of`.
    """

    id: UUID
    subject: str = Field(description="The kind of item: memory, entity, relation, profile or todo.")
    subject_id: str
    memory_id: UUID | None
    event: Literal["ADD", "UPDATE", "DELETE", "MERGE", "LINK", "TTL", "RESTORE"]
    old_ref: str | None
    new_ref: str | None
    actor: str | None
    changes: list[FieldChange] = Field([], description="The fields that it changed, with their old and new values.")
    erased: bool = Field(False, description="Its words were erased: `changes` leaves out what held them.")
    run_id: str | None = Field(None, description="The run that it is part of; `rollback` undoes it.")
    rule: str | None = Field(None, description="The rule that extracted it from a message, after the name of its set.")
    meta: dict[str, Any]
    seq: int
    ts: Instant


class ChangeView(Result):
    """One row of the change log, with the current memory."""

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


class Changes(Result):
    """The delta header, and the revision to continue from."""

    header: str
    rev: int
    changes: list[ChangeView]

    @classmethod
    def of(cls, found: "Delta") -> Self:
        return cls(header=found.header, rev=found.rev, changes=[ChangeView.of(entry) for entry in found.entries])


class LiveView(Result):
    """The response to callers without a token or key."""

    model_config = ConfigDict(extra="forbid")

    status: Literal["ok"] = "ok"


class HealthView(Result):
    """`degraded`: reads and writes work, but a projection has stopped streams, or damage was found."""

    status: Literal["ok", "degraded"]
    lag: dict[str, int] = Field(description="Events not applied yet, by projection.")
    outbox: int = Field(description="The number of appends waiting for JetStream.")
    stopped: dict[str, dict[str, str]] = Field(description="Stopped streams and their position, by projection.")
    incidents: int = Field(description="The number of open incidents: `mnemolog incident list`.")
    failed_jobs: int = Field(description="The number of failed jobs: `mnemolog job list --status failed`.")
    paused_minds: list[str] = Field(description="Minds that pause after failures in a row: `mnemolog minds list`.")


class SectionView(Result):
    """The memories of a category, and its messages. `rag_length` is null if the whole category is shown."""

    category: str
    context: Mode
    rag_length: int | None
    memories: list[MemoryView]
    messages: list[MessageView]

    @classmethod
    def of(cls, section: "Section") -> Self:
        length = section.mode.rag_length if section.mode.context is Mode.RAG else None
        return cls(
            category=section.category,
            context=section.mode.context,
            rag_length=length,
            memories=[MemoryView.model_validate(row) for row in section.rows if row["kind"] != MESSAGE],
            messages=[MessageView.model_validate(row) for row in section.rows if row["kind"] == MESSAGE],
        )


class CardView(Result):
    """The most important memories about an entity: at most three, also as one line."""

    ref: str
    line: str
    memories: list[MemoryView]

    @classmethod
    def of(cls, card: "Card") -> Self:
        rows = [MemoryView.model_validate(row) for row in card.memories]
        return cls(ref=card.ref, line=card.line, memories=rows)


class EntityCardView(Result):
    """An entity, and its most important facts in one line."""

    entity_id: UUID
    name: str
    category: str = Field(examples=["Person"])
    line: str = Field(examples=["[person:marta]: lives in Berlin"])

    @classmethod
    def of(cls, card: "EntityCard") -> Self:
        return cls.model_validate({**card.row, "line": card.line})


class Context(Result):
    """`foundation`: pinned memories, which are in their categories too. `bullets` contains each item once."""

    def __str__(self) -> str:
        return self.text

    header: str = Field(description='What changed since `since_rev`, first in the prompt, or "".')
    rev: int = Field(description="The thread's revision: the next `since_rev`.")
    entities: list[EntityCardView] = Field(description="The entities that the query names or refers to.")
    cards: list[CardView] = Field(description="Cards of the entities in these memories; put them first in the prompt.")
    critical: list[KnownHit] = Field(
        description="Facts that are in every context, whatever the budget, such as allergies and medication. Those that"
        " ended in the last 90 days come last, and are not current."
    )
    conversation: list[KnownHit] = Field(
        description="The latest summaries of the thread, of the agent's last session and of the user."
    )
    recent: list[MessageView] = Field(description="The last messages of the thread, with `recent`, the oldest first.")
    known: list[KnownHit] = Field(
        description="Facts, profile fields, todos, summaries and artifacts that the query asks for, best first."
    )
    foundation: list[MemoryView]
    categories: list[SectionView]
    related: list[MemoryView] = Field(description=RELATED_TO_ANSWERS)
    bullets: list[Bullet] = Field(
        description="Critical facts, and what fits into `budget_tokens`: the conversation, what is known, foundation, "
        "then by category."
    )
    text: str = Field(
        description="Everything for a prompt: grouped, dated, within `budget_tokens`; last, what day it is."
    )
    unknown: list[str] = Field(description=UNKNOWN)
    skipped: list[str] = Field(description="What the answer was made without, such as similarity while a model fails.")
    references: list[ReferenceView] = Field(description=REFERENCES)
    nothing: str = Field(description=NOTHING_OR_UNKNOWN)
    served_id: UUID | None = Field(default=None, description="The event that records it, with `record`.")

    @property
    def lines(self) -> list[str]:
        """The delta header, cards and bullets as lines for a prompt, critical facts first."""
        bullets, first = [one.text for one in self.bullets], len(self.critical)
        cards = [*(one.line for one in self.entities), *(card.line for card in self.cards)]
        return [*self.header.splitlines(), *bullets[:first], *cards, *bullets[first:]]

    @classmethod
    def of(cls, found: "AgentContext") -> Self:
        return cls(
            header=found.header,
            rev=found.rev,
            entities=[EntityCardView.of(one) for one in found.entities],
            cards=[CardView.of(card) for card in found.cards],
            foundation=[MemoryView.model_validate(row) for row in found.foundation],
            categories=[SectionView.of(section) for section in found.sections],
            related=[MemoryView.model_validate(row) for row in found.related],
            critical=list(map(KnownHit.of, found.critical)),
            conversation=list(map(KnownHit.of, found.conversation)),
            recent=[MessageView.model_validate(hit.row) for hit in found.recent],
            known=list(map(KnownHit.of, found.known)),
            bullets=[
                *map(Bullet.of_hit, found.hits),
                *map(Bullet.of, found.rows),
            ],
            text=found.text,
            nothing=found.nothing,
            unknown=list(found.unknown),
            skipped=list(found.skipped),
            references=list(map(ReferenceView.model_validate, found.references)),
        )


class CauseView(Result):
    """One event. `policy_version` is the policy it was decided under."""

    seq: int
    event_id: UUID
    type: str
    occurred_at: Instant
    recorded_at: Instant
    actor: str
    agent_id: str
    thread_id: str
    run_id: str | None
    policy_version: str
    match: dict[str, Any] | None = Field(description="How a statement matched a known memory: band, similarity, model.")
    undoes: UUID | None
    about: list[str] = Field(description="Other items of the same kind that it changed, if the agent may see them.")
    rule: str | None = Field(description="The rule that extracted it from a message, after the name of its set.")


class SourceTurnView(Result):
    """The text, or "" once erased."""

    turn_id: str
    thread_id: str
    role: str
    speaker: str
    text: str
    occurred_at: Instant
    seq: int
    erased: bool


class WhyView(Result):
    """`merged_from`: directly or through several merges."""

    id: str
    kind: str = Field(examples=["memory", "entity", "relation", "todo", "profile"])
    events: list[CauseView]
    turns: list[SourceTurnView]
    merged_from: list[str]
    merged_into: str | None
    unseen_turns: int = Field(description="The number of source turns that the agent may not see.")


class ConflictView(Result):
    """An event that cannot be undone, and why."""

    event_id: UUID
    code: str
    message: str
    field: str
    fix: str


class RevertView(Result):
    """An event that would be written: its type and its subject, such as `memory:<id>`."""

    subject: str
    type: str


class Undone(Result):
    """The undone events, newest first; the conflicts; and the receipt, which is null after a dry run."""

    undone: list[UUID]
    changes: list[RevertView] = Field(description="For a dry run: what would be written.")
    conflicts: list[ConflictView]
    receipt: Written | None

    @classmethod
    def of(cls, plan: Plan, receipt: Receipt | None) -> Self:
        return cls(
            undone=list(plan.undone),
            changes=[RevertView.model_validate(one) for one in plan.changes],
            conflicts=[ConflictView.model_validate(one.as_dict()) for one in plan.conflicts],
            receipt=Written.of(receipt) if receipt else None,
        )
