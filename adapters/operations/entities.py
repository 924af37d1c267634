"""Operations on the people, places and things that a user mentions."""

from typing import Annotated

from pydantic import Field

from mnemolog.adapters.operations.engine import Engine
from mnemolog.adapters.operations.graph_results import (
    Bitemporal,
    EntityAdded,
    EntityDetail,
    EntityUpdated,
    EntityView,
    suggested,
)
from mnemolog.adapters.operations.operation import operation
from mnemolog.adapters.operations.requests import PagedRead, Write, command_of, fields_of, viewer_of
from mnemolog.adapters.operations.results import Page, Written, written
from mnemolog.commands.entities import AddAlias, ForgetEntity, MergeEntities, ObserveEntity, RestoreEntity, UpdateEntity
from mnemolog.events.fields import Id, Uuid

ENTITY_ID = Annotated[Uuid, Field(description="The entity's id.")]


class EntityList(PagedRead):
    """All entities, or those with a name."""

    name: Annotated[Id | None, Field(description="Only entities with this name or alias, in any spelling.")] = None


class EntityRead(Bitemporal):
    """One entity, and the facts about it."""

    entity_id: ENTITY_ID


class VariantsRead(PagedRead):
    """One entity."""

    entity_id: ENTITY_ID


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
async def add_entity(engine: Engine, request: Write) -> EntityAdded:
    """Add a person, place or thing.

    If an entity with that name exists, it is extended with the new data, and its id is returned.
    """
    entity_id, receipt = await engine.writes.observe_entity(fields_of(engine, request), request.idempotency_key)
    return EntityAdded.of(receipt, entity_id=entity_id, variants=await suggested(engine, request, receipt))


@operation("entity list", "GET /entities", tag="graph")
async def list_entities(engine: Engine, request: EntityList) -> Page[EntityView]:
    """List the people, places and things that a user mentions, last seen first.

    Deleted and merged ones are left out.
    """
    viewer = viewer_of(engine, request)
    return Page[EntityView].of(
        await engine.reads.entities(viewer, request.moment(), request.name, request.limit, request.cursor)
    )


@operation("entity get", "GET /entities/{entity_id}", tag="graph")
async def get_entity(engine: Engine, request: EntityRead) -> EntityDetail:
    """Read one entity, and the facts about it.

    Also returns hidden entities; see `status`. For a merged entity, returns the one it was merged into.
    """
    found = await engine.reads.entity(viewer_of(engine, request), request.entity_id, request.moment(), request.when())
    id_ = found.entity["entity_id"]
    outgoing = [row for row in found.facts if row["subject_id"] == id_]
    incoming = [row for row in found.facts if row["subject_id"] != id_]
    return EntityDetail.model_validate({**found.entity, "card": found.card, "outgoing": outgoing, "incoming": incoming})


@operation(
    "entity update",
    "PATCH /entities/{entity_id}",
    UpdateEntity,
    tag="graph",
    done="Updated",
    example={"user_id": "ana", "category": "Person"},
)
async def update_entity(engine: Engine, request: Write) -> EntityUpdated:
    """Update an entity.

    Omitted fields stay the same. A replaced name is kept as an alias.
    """
    receipt = await engine.writes.handle(command_of(UpdateEntity, engine, request), request.idempotency_key)
    return EntityUpdated.of(receipt, variants=await suggested(engine, request, receipt))


@operation(
    "entity add-alias",
    "POST /entities/{entity_id}/aliases",
    AddAlias,
    tag="graph",
    arguments=("alias",),
    done="Added the alias to",
)
async def add_alias(engine: Engine, request: Write) -> Written:
    """Give an entity another name.

    Also answers the question of an `ambiguous_entity` error.
    """
    return await written(engine, AddAlias, request)


@operation(
    "entity merge",
    "POST /entities/{entity_id}/merge",
    MergeEntities,
    tag="graph",
    arguments=("absorbed_ids",),
    done="Merged",
)
async def merge_entities(engine: Engine, request: Write) -> Written:
    """Merge entities that are the same.

    The others then resolve to this one; `undo` with the event's id separates them again.
    """
    return await written(engine, MergeEntities, request)


@operation("entity delete", "DELETE /entities/{entity_id}", ForgetEntity, tag="graph", done="Deleted")
async def delete_entity(engine: Engine, request: Write) -> Written:
    """Delete an entity and the facts about it: hidden at once, and erased after 30 days unless it is restored.

    `erase_entity` destroys it at once.
    """
    return await written(engine, ForgetEntity, request)


@operation("entity restore", "POST /entities/{entity_id}/restore", RestoreEntity, tag="graph", done="Restored")
async def restore_entity(engine: Engine, request: Write) -> Written:
    """Restore a deleted entity and the facts about it."""
    return await written(engine, RestoreEntity, request)


@operation("entity variants", "GET /entities/{entity_id}/variants", tag="graph")
async def list_variants(engine: Engine, request: VariantsRead) -> Page[EntityView]:
    """List the entities that may be the same as this one.

    They have the same category and scope, and names that differ only by a possible typo, such as Makesh and Mukesh.
    """
    from mnemolog.projections.paging import slice_of

    rows = await engine.reads.variants(viewer_of(engine, request), request.entity_id, request.moment())
    return Page[EntityView].of(slice_of(rows, "entity_id", request.limit, request.cursor))
