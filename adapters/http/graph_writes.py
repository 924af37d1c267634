"""Routes that change the graph: tell, end, retire facts; make entities known, name and merge them; forget, restore."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter
from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.http.graph_requests import EntityId, EntityView, RelationId
from mnemolog.adapters.http.memory_requests import MERGED
from mnemolog.adapters.http.requests import IdempotencyKey, TheEngine, Writer, fields_of, viewer_of
from mnemolog.adapters.http.responses import ReceiptView
from mnemolog.commands.entities import (
    AddAlias,
    EntityCommand,
    ForgetEntity,
    MergeEntities,
    RestoreEntity,
    UpdateEntity,
)
from mnemolog.commands.entity_requests import Aliases, Attributes, Category
from mnemolog.commands.fact_changes import EndFact, FactCommand, ForgetFact, RestoreFact, RetireFact
from mnemolog.commands.facts import Day, FactObject, Predicated, Sources
from mnemolog.commands.naming import Name
from mnemolog.domain.entity import THING
from mnemolog.domain.principal import Role
from mnemolog.domain.scope import Scope
from mnemolog.events.envelope import Receipt
from mnemolog.events.fields import Flag, Label, Unit, Uuid, validated

router = APIRouter(tags=["graph"])

VARIANTS = "Entities whose names may be spellings of those that were written: merge them if they are the same."
FACT = {"subject": "Alice", "predicate": "lives_in", "object": "Berlin", "since": "2026-01-10"}
EXAMPLE: JsonDict = {"user_id": "ana", **FACT}


class NewFact(Writer):
    """A fact by name. Names may be aliases or ids; `me` is the user himself. A day is its start in UTC."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    subject: Name
    predicate: Predicated
    object: FactObject
    literal: Flag | None = None
    since: Day | None = None
    until: Day | None = None
    scope: Scope = Scope.GLOBAL
    confidence: Unit = 1.0
    metadata: Attributes = {}  # noqa: RUF012
    source_turn_ids: Sources = ()
    memory_id: Uuid | None = None


class Ending(Writer):
    """Until when a fact held; until now unless said."""

    until: Day | None = None


class Forgetting(Writer):
    """Why something is forgotten."""

    reason: Label = ""


class NewEntity(Writer):
    """Somebody or something; with `another`, one more of that name."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"user_id": "ana", "name": "Marta", "category": "Person"}]}
    )

    name: Name
    category: Category = THING
    aliases: Aliases = ()
    attributes: Attributes = {}  # noqa: RUF012
    confidence: Unit = 1.0
    scope: Scope = Scope.GLOBAL
    another: Flag = False


class EntityChange(Writer):
    """What to change; fields that are left out or null stay as they are."""

    name: Name | None = None
    category: Category | None = None
    aliases: Aliases | None = None
    attributes: Attributes | None = None
    confidence: Unit | None = None


class Alias(Writer):
    """A further name, and the question that it answers, if one was asked."""

    alias: Name
    question: Label = ""


class EntityMerge(Writer):
    """The entities that are the same as this one."""

    absorbed_ids: Annotated[tuple[Uuid, ...], Field(json_schema_extra=MERGED)]


class ToldView(ReceiptView):
    """The receipt, and the id of the relation that holds the fact."""

    relation_id: UUID
    variants: list[EntityView] = Field(description=VARIANTS)


class ObservedView(ReceiptView):
    """The receipt, and the entity's id."""

    entity_id: UUID
    variants: list[EntityView] = Field(description=VARIANTS)


class NamedView(ReceiptView):
    """The receipt, and whom the name may mean as well."""

    variants: list[EntityView] = Field(description=VARIANTS)


@router.post("/facts", status_code=201, summary="Tell a fact")
async def tell_fact(body: NewFact, key: IdempotencyKey, engine: TheEngine) -> ToldView:
    """Who is named for the first time becomes known with it. What was known already is an observation."""
    relation_id, receipt = await engine.writes.remember(fields_of(engine, body), key)
    return ToldView.of(receipt, relation_id=relation_id, variants=await _variants(engine, body, receipt))


@router.post("/facts/{relation_id}/end", summary="End a fact")
async def end_fact(relation_id: RelationId, body: Ending, key: IdempotencyKey, engine: TheEngine) -> ReceiptView:
    """It held until then, as is known from now on."""
    return await _fact(engine, EndFact, body, key, relation_id, at=engine.writes.now())


@router.post("/facts/{relation_id}/retire", summary="Retire a fact that never held")
async def retire_fact(relation_id: RelationId, body: Writer, key: IdempotencyKey, engine: TheEngine) -> ReceiptView:
    """What it had ended goes on."""
    return await _fact(engine, RetireFact, body, key, relation_id)


@router.post("/facts/{relation_id}/forget", summary="Forget a fact")
async def forget_fact(relation_id: RelationId, body: Forgetting, key: IdempotencyKey, engine: TheEngine) -> ReceiptView:
    """It is hidden at once, until it is restored."""
    return await _fact(engine, ForgetFact, body, key, relation_id, at=engine.writes.now())


@router.post("/facts/{relation_id}/restore", summary="Restore a forgotten fact")
async def restore_fact(relation_id: RelationId, body: Writer, key: IdempotencyKey, engine: TheEngine) -> ReceiptView:
    """It is shown again."""
    return await _fact(engine, RestoreFact, body, key, relation_id)


@router.post("/entities", status_code=201, summary="Make an entity known")
async def observe_entity(body: NewEntity, key: IdempotencyKey, engine: TheEngine) -> ObservedView:
    """The one that bears the name, if there is one: what is new of it is added."""
    entity_id, receipt = await engine.writes.observe_entity(fields_of(engine, body), key)
    return ObservedView.of(receipt, entity_id=entity_id, variants=await _variants(engine, body, receipt))


@router.patch("/entities/{entity_id}", summary="Update an entity")
async def update_entity(entity_id: EntityId, body: EntityChange, key: IdempotencyKey, engine: TheEngine) -> NamedView:
    """A name that is replaced stays as an alias."""
    request = validated(UpdateEntity, {**fields_of(engine, body), "entity_id": entity_id})
    receipt = await engine.writes.change_entity(request, key)
    return NamedView.of(receipt, variants=await _variants(engine, body, receipt))


@router.post("/entities/{entity_id}/aliases", summary="Give an entity a further name")
async def add_alias(entity_id: EntityId, body: Alias, key: IdempotencyKey, engine: TheEngine) -> ReceiptView:
    """Also the answer to the question of an `ambiguous_entity`."""
    return await _entity(engine, AddAlias, body, key, entity_id)


@router.post("/entities/{entity_id}/merge", summary="Merge entities that are the same")
async def merge_entities(entity_id: EntityId, body: EntityMerge, key: IdempotencyKey, engine: TheEngine) -> ReceiptView:
    """The others stand for this one from now on. `POST /undo` parts them again."""
    return await _entity(engine, MergeEntities, body, key, entity_id)


@router.post("/entities/{entity_id}/forget", summary="Forget an entity")
async def forget_entity(entity_id: EntityId, body: Forgetting, key: IdempotencyKey, engine: TheEngine) -> ReceiptView:
    """It is hidden with all that is told of it, until it is restored."""
    return await _entity(engine, ForgetEntity, body, key, entity_id, at=engine.writes.now())


@router.post("/entities/{entity_id}/restore", summary="Restore a forgotten entity")
async def restore_entity(entity_id: EntityId, body: Writer, key: IdempotencyKey, engine: TheEngine) -> ReceiptView:
    """It is shown again, with all that is told of it."""
    return await _entity(engine, RestoreEntity, body, key, entity_id)


async def _variants(engine: Engine, asked: Writer, receipt: Receipt) -> list[EntityView]:
    """None for a key that may write and not read."""
    if not engine.writes.may(Role.READ):
        return []
    rows = await engine.reads.suggested(viewer_of(engine, asked), receipt)
    return [EntityView.model_validate(row) for row in rows]


async def _fact(
    engine: Engine, command: type[FactCommand], asked: Writer, key: str | None, relation_id: UUID, **fields: object
) -> ReceiptView:
    request = validated(command, {**fields_of(engine, asked), "relation_id": relation_id, **fields})
    return ReceiptView.of(await engine.writes.change_fact(request, key))


async def _entity(
    engine: Engine, command: type[EntityCommand], asked: Writer, key: str | None, entity_id: UUID, **fields: object
) -> ReceiptView:
    request = validated(command, {**fields_of(engine, asked), "entity_id": entity_id, **fields})
    return ReceiptView.of(await engine.writes.change_entity(request, key))
