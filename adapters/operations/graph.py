"""Operations on the graph: the people, places and things that a user mentions, and facts about them."""

from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.operations.operation import operation
from mnemolog.adapters.operations.requests import (
    AsOf,
    PagedRead,
    Read,
    Request,
    Write,
    command_of,
    fields_of,
    viewer_of,
)
from mnemolog.adapters.operations.results import Page, Result, Written
from mnemolog.commands.entities import (
    AddAlias,
    EntityCommand,
    ForgetEntity,
    MergeEntities,
    ObserveEntity,
    RestoreEntity,
    UpdateEntity,
)
from mnemolog.commands.fact_changes import EndFact, FactCommand, ForgetFact, RestoreFact, RetireFact
from mnemolog.commands.facts import Day, Remember
from mnemolog.domain.memory import Status
from mnemolog.domain.principal import Role
from mnemolog.domain.scope import Scope
from mnemolog.events.envelope import Receipt
from mnemolog.events.fields import Id, Instant, Uuid
from mnemolog.projections.graph.facts import State
from mnemolog.projections.paging import slice_of
from mnemolog.projections.reads.graph import When

ENTITY_ID = Annotated[Uuid, Field(description="The entity's id.")]
VARIANTS = "Entities whose names differ by a slip only: merge them if they are the same (D13)."


class EntityView(Result):
    """A person, place or thing that a user mentions (A §4.1)."""

    def __str__(self) -> str:
        return self.name

    user_id: str
    entity_id: UUID
    scope: Scope
    agent_id: str | None = Field(description="The owner of an agent-scoped entity.")
    name: str
    name_normalized: str
    aliases: list[str]
    category: str = Field(examples=["Person"])
    attributes: dict[str, Any]
    confidence: float
    status: Status
    purge_at: Instant | None
    forgotten_at: Instant | None = Field(description="Since when it is hidden.")
    forget_reason: str
    source_turn_ids: list[str]
    last_seen: Instant = Field(description="When it was last mentioned, or spoke.")
    created_at: Instant
    updated_at: Instant
    seq: int


class FactView(Result):
    """A fact: when it holds, and from when until when that is known (X13)."""

    def __str__(self) -> str:
        return f"{self.subject} {self.predicate} {self.value if self.object is None else self.object}"

    user_id: str
    relation_id: UUID
    scope: Scope
    agent_id: str | None = Field(description="The owner of an agent-scoped fact.")
    subject_id: UUID
    subject: str = Field(description="The name of who or what it is about.")
    predicate: str
    object_id: UUID | None
    object: str | None = Field(description="The name of the entity that it points to; null when it has a `value`.")
    value: Any
    metadata: dict[str, Any]
    confidence: float
    state: State
    critical: bool = Field(description="Never to be left out of a context.")
    overridden_by: UUID | None = Field(description="The fact of the other scope that wins over this one (A09).")
    valid_from: Instant
    valid_to: Instant | None
    known_from: Instant
    known_to: Instant | None
    memory_id: UUID | None
    source_turn_ids: list[str]
    created_at: Instant
    updated_at: Instant
    seq: int


class EntityDetail(EntityView):
    """An entity, or the one that it was merged into, and the facts about it."""

    card: str = Field(description="Its first facts in one line (D06).", examples=["[person:marta]: lives_in Porto"])
    outgoing: list[FactView] = Field(description="The facts of which it is the subject.")
    incoming: list[FactView] = Field(description="The facts of which it is the object.")


class EntityAdded(Written):
    """The receipt, and the entity's id."""

    entity_id: UUID
    variants: list[EntityView] = Field(description=VARIANTS)


class EntityUpdated(Written):
    """The receipt, and entities with a similar name."""

    variants: list[EntityView] = Field(description=VARIANTS)


class FactAdded(Written):
    """The receipt, and the fact's id."""

    relation_id: UUID
    variants: list[EntityView] = Field(description=VARIANTS)


class EntityList(PagedRead):
    """All entities, or those of a name."""

    name: Annotated[Id | None, Field(description="Only entities with this name or alias, in any spelling.")] = None


class Bitemporal(Read):
    """What held at one time, as it was known at the same or at another."""

    valid_at: Annotated[
        Day | None,
        Field(
            description="What held then: a day, or a time with its offset; now by default.",
            examples=["2026-02-01"],
        ),
    ] = None
    known_at: Annotated[
        AsOf | None,
        Field(
            description="As it was known then: a time, or a sequence number; now by default. `as_of` sets both times."
        ),
    ] = None

    def when(self) -> When:
        return When(self.valid_at, self.known_at)


class EntityRead(Bitemporal):
    """One entity, and the facts about it."""

    entity_id: ENTITY_ID


class VariantsRead(PagedRead):
    """One entity."""

    entity_id: ENTITY_ID


class FactList(Bitemporal, PagedRead):
    """All facts, or those about an entity."""

    about: Annotated[
        Id | None, Field(description="Only facts about this entity: a name, an alias or an id; `me` is the user.")
    ] = None
    inactive: Annotated[
        bool, Field(description="Also list facts that ended, were retired or have yet to begin; `state` says which.")
    ] = False


@operation(
    "entity add",
    "POST /entities",
    ObserveEntity,
    tag="graph",
    arguments=("name",),
    done="Added",
    status=201,
    example={"user_id": "ana", "name": "Marta", "category": "Person"},
)
async def add_entity(engine: Engine, asked: Write) -> EntityAdded:
    """Add a person, place or thing.

    If there is one of that name, what is new about it is added to it, and the id is that one's.
    """
    entity_id, receipt = await engine.writes.observe_entity(fields_of(engine, asked), asked.idempotency_key)
    return EntityAdded.of(receipt, entity_id=entity_id, variants=await _suggested(engine, asked, receipt))


@operation("entity list", "GET /entities", tag="graph")
async def list_entities(engine: Engine, asked: EntityList) -> Page[EntityView]:
    """List the people, places and things that a user mentions, the last seen first.

    Deleted and merged ones are left out.
    """
    viewer = viewer_of(engine, asked)
    return Page[EntityView].of(
        await engine.reads.entities(viewer, asked.moment(), asked.name, asked.limit, asked.cursor)
    )


@operation("entity get", "GET /entities/{entity_id}", tag="graph", arguments=("entity_id",))
async def get_entity(engine: Engine, asked: EntityRead) -> EntityDetail:
    """Read one entity, and the facts about it.

    Hidden entities too; `status` says so. For a merged entity, the one that it was merged into.
    """
    found = await engine.reads.entity(viewer_of(engine, asked), asked.entity_id, asked.moment(), asked.when())
    id_ = found.entity["entity_id"]
    outgoing = [row for row in found.facts if row["subject_id"] == id_]
    incoming = [row for row in found.facts if row["subject_id"] != id_]
    return EntityDetail.model_validate({**found.entity, "card": found.card, "outgoing": outgoing, "incoming": incoming})


@operation(
    "entity update",
    "PATCH /entities/{entity_id}",
    UpdateEntity,
    tag="graph",
    arguments=("entity_id",),
    done="Updated",
    example={"user_id": "ana", "category": "Person"},
)
async def update_entity(engine: Engine, asked: Write) -> EntityUpdated:
    """Update an entity.

    Fields that are left out stay as they are. A name that is replaced stays as an alias.
    """
    receipt = await engine.writes.change_entity(command_of(UpdateEntity, engine, asked), asked.idempotency_key)
    return EntityUpdated.of(receipt, variants=await _suggested(engine, asked, receipt))


@operation(
    "entity add-alias",
    "POST /entities/{entity_id}/aliases",
    AddAlias,
    tag="graph",
    arguments=("entity_id", "alias"),
    done="Added the alias to",
)
async def add_alias(engine: Engine, asked: Write) -> Written:
    """Give an entity another name.

    Also answers the question of an `ambiguous_entity` error.
    """
    return await _change_entity(AddAlias, engine, asked)


@operation(
    "entity merge",
    "POST /entities/{entity_id}/merge",
    MergeEntities,
    tag="graph",
    arguments=("entity_id", "absorbed_ids"),
    done="Merged",
)
async def merge_entities(engine: Engine, asked: Write) -> Written:
    """Merge entities that are the same.

    This one stands for the others from now on; `undo` with the event's id separates them again.
    """
    return await _change_entity(MergeEntities, engine, asked)


@operation(
    "entity delete",
    "DELETE /entities/{entity_id}",
    ForgetEntity,
    tag="graph",
    arguments=("entity_id",),
    done="Deleted",
)
async def delete_entity(engine: Engine, asked: Write) -> Written:
    """Delete an entity and the facts about it: hidden at once, and restorable until they are purged.

    Purged after 30 days. `erase_entity` destroys it now.
    """
    return await _change_entity(ForgetEntity, engine, asked)


@operation(
    "entity restore",
    "POST /entities/{entity_id}/restore",
    RestoreEntity,
    tag="graph",
    arguments=("entity_id",),
    done="Restored",
)
async def restore_entity(engine: Engine, asked: Write) -> Written:
    """Restore a deleted entity and the facts about it."""
    return await _change_entity(RestoreEntity, engine, asked)


@operation("entity variants", "GET /entities/{entity_id}/variants", tag="graph", arguments=("entity_id",))
async def list_variants(engine: Engine, asked: VariantsRead) -> Page[EntityView]:
    """List the entities that may be the same as this one.

    They have the same category and scope, and a name that differs by a slip only, as Makesh and Mukesh do (D13).
    """
    rows = await engine.reads.variants(viewer_of(engine, asked), asked.entity_id, asked.moment())
    return Page[EntityView].of(slice_of(rows, "entity_id", asked.limit, asked.cursor))


@operation(
    "fact add",
    "POST /facts",
    Remember,
    tag="graph",
    arguments=("subject", "predicate", "object"),
    done="Recorded",
    status=201,
    example={"user_id": "ana", "subject": "Alice", "predicate": "lives_in", "object": "Berlin", "since": "2026-01-10"},
)
async def add_fact(engine: Engine, asked: Write) -> FactAdded:
    """Record a fact.

    Entities that are mentioned for the first time are added. A fact that is known already is confirmed. Where several
    entities have a name and nothing tells which is meant, `ambiguous_entity` lists them and asks one question.
    """
    relation_id, receipt = await engine.writes.remember(fields_of(engine, asked), asked.idempotency_key)
    return FactAdded.of(receipt, relation_id=relation_id, variants=await _suggested(engine, asked, receipt))


@operation("fact list", "GET /facts", tag="graph")
async def list_facts(engine: Engine, asked: FactList) -> Page[FactView]:
    """List facts.

    Those that held at `valid_at`, as they were known at `known_at`; the agent's own first, then those that are
    critical, certain, new. `overridden_by` names the fact of another scope that wins over this one (A09).
    """
    viewer = viewer_of(engine, asked)
    rows = await engine.reads.facts(viewer, asked.about, asked.when(), asked.moment(), inactive=asked.inactive)
    return Page[FactView].of(slice_of(rows, "relation_id", asked.limit, asked.cursor))


@operation(
    "fact end",
    "POST /facts/{relation_id}/end",
    EndFact,
    tag="graph",
    arguments=("relation_id",),
    done="Ended",
)
async def end_fact(engine: Engine, asked: Write) -> Written:
    """End a fact: it held until then."""
    return await _change_fact(EndFact, engine, asked)


@operation(
    "fact retire",
    "POST /facts/{relation_id}/retire",
    RetireFact,
    tag="graph",
    arguments=("relation_id",),
    done="Retired",
)
async def retire_fact(engine: Engine, asked: Write) -> Written:
    """Retire a fact: it never held.

    A fact that it had ended holds again.
    """
    return await _change_fact(RetireFact, engine, asked)


@operation(
    "fact delete",
    "DELETE /facts/{relation_id}",
    ForgetFact,
    tag="graph",
    arguments=("relation_id",),
    done="Deleted",
)
async def delete_fact(engine: Engine, asked: Write) -> Written:
    """Delete a fact: hidden at once, and restorable until it is purged.

    Purged after 30 days. `erase_fact` destroys it now.
    """
    return await _change_fact(ForgetFact, engine, asked)


@operation(
    "fact restore",
    "POST /facts/{relation_id}/restore",
    RestoreFact,
    tag="graph",
    arguments=("relation_id",),
    done="Restored",
)
async def restore_fact(engine: Engine, asked: Write) -> Written:
    """Restore a deleted fact."""
    return await _change_fact(RestoreFact, engine, asked)


async def _change_entity(kind: type[EntityCommand], engine: Engine, asked: Write) -> Written:
    return Written.of(await engine.writes.change_entity(command_of(kind, engine, asked), asked.idempotency_key))


async def _change_fact(kind: type[FactCommand], engine: Engine, asked: Write) -> Written:
    return Written.of(await engine.writes.change_fact(command_of(kind, engine, asked), asked.idempotency_key))


async def _suggested(engine: Engine, asked: Request, receipt: Receipt) -> list[EntityView]:
    """None for an API key that may write and not read."""
    if not engine.writes.may(Role.READ):
        return []
    rows = await engine.reads.suggested(viewer_of(engine, asked), receipt)
    return [EntityView.model_validate(row) for row in rows]


GRAPH = (
    add_entity,
    list_entities,
    get_entity,
    update_entity,
    add_alias,
    merge_entities,
    delete_entity,
    restore_entity,
    list_variants,
    add_fact,
    list_facts,
    end_fact,
    retire_fact,
    delete_fact,
    restore_fact,
)
