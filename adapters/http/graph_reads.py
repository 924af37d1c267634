"""Routes that read the graph: entities, their relations, variants and history; facts and theirs."""

from typing import Annotated

from fastapi import APIRouter, Query

from mnemolog.adapters.http.graph_requests import (
    EntitiesRead,
    EntityId,
    EntityList,
    EntityRead,
    EntityView,
    FactList,
    FactsRead,
    FactView,
    HeldRead,
    KnownView,
    RelationId,
    RelationsView,
)
from mnemolog.adapters.http.requests import HistoryRead, TheEngine, viewer_of
from mnemolog.adapters.http.responses import HistoryEntry, HistoryView
from mnemolog.events.graph_fold import ENTITY, RELATION

router = APIRouter(tags=["graph"])


@router.get("/entities", summary="List the people, places and things that a user mentions")
async def get_entities(asked: Annotated[EntitiesRead, Query()], engine: TheEngine) -> EntityList:
    """Last seen first."""
    rows = await engine.reads.entities(viewer_of(engine, asked), asked.moment(), asked.name)
    return EntityList(entities=[EntityView.model_validate(row) for row in rows])


@router.get("/entities/{entity_id}", summary="Read one entity")
async def get_entity(entity_id: EntityId, asked: Annotated[HeldRead, Query()], engine: TheEngine) -> KnownView:
    """Hidden ones too; `status` says so. Of one that was merged, what it was merged into."""
    return KnownView.of(await engine.reads.entity(viewer_of(engine, asked), entity_id, asked.moment(), asked.held()))


@router.get("/entities/{entity_id}/relations", summary="Read what is told of an entity")
async def get_relations(entity_id: EntityId, asked: Annotated[HeldRead, Query()], engine: TheEngine) -> RelationsView:
    """In both directions."""
    viewer = viewer_of(engine, asked)
    return RelationsView.of(await engine.reads.entity(viewer, entity_id, asked.moment(), asked.held()))


@router.get("/entities/{entity_id}/variants", summary="Read which entities may be the same")
async def get_variants(entity_id: EntityId, asked: Annotated[EntityRead, Query()], engine: TheEngine) -> EntityList:
    """Of the same category and scope, with a name that differs by a slip: such as Makesh and Mukesh (D13)."""
    rows = await engine.reads.variants(viewer_of(engine, asked), entity_id, asked.moment())
    return EntityList(entities=[EntityView.model_validate(row) for row in rows])


@router.get("/entities/{entity_id}/history", summary="Read what happened to an entity")
async def get_entity_history(
    entity_id: EntityId, asked: Annotated[HistoryRead, Query()], engine: TheEngine
) -> HistoryView:
    """Every write that touched it, newest first."""
    viewer = viewer_of(engine, asked)
    rows = await engine.reads.history(viewer, entity_id, asked.limit, asked.moment(), kinds=(ENTITY.name,))
    return HistoryView(history=[HistoryEntry.model_validate(row) for row in rows])


@router.get("/facts", summary="Read facts")
async def get_facts(asked: Annotated[FactsRead, Query()], engine: TheEngine) -> FactList:
    """What held at one time, as it was known at the same or at another. Facts that are overridden say by what (A09)."""
    rows = await engine.reads.facts(viewer_of(engine, asked), asked.about, asked.held(), asked.moment())
    return FactList(facts=[FactView.model_validate(row) for row in rows])


@router.get("/facts/{relation_id}/history", summary="Read what happened to a fact")
async def get_fact_history(
    relation_id: RelationId, asked: Annotated[HistoryRead, Query()], engine: TheEngine
) -> HistoryView:
    """Every write that touched it, or changed when it held, newest first."""
    viewer = viewer_of(engine, asked)
    rows = await engine.reads.history(viewer, relation_id, asked.limit, asked.moment(), kinds=(RELATION.name,))
    return HistoryView(history=[HistoryEntry.model_validate(row) for row in rows])
