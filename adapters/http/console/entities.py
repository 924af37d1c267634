"""People, places and things: a graph with the strongest first, a list of the same, and one of them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from starlette.responses import JSONResponse, Response

from mnemolog.adapters.http.console.listing import every, part_of
from mnemolog.adapters.http.console.memories import past
from mnemolog.adapters.http.console.timeline import moment_of
from mnemolog.adapters.http.console.visit import Visit
from mnemolog.adapters.operations.entities import get_entity, list_entities, list_variants
from mnemolog.adapters.operations.facts import list_facts
from mnemolog.adapters.operations.graph_results import EntityView

PAGE, FACTS, DRAWN = 50, 50, 500


@dataclass(frozen=True, slots=True)
class Node:
    """An entity, and how many facts are about it or point to it."""

    entity: EntityView
    degree: int


@dataclass(frozen=True, slots=True)
class Graph:
    """The strongest nodes first, and the facts between them: from, predicate, to."""

    nodes: Sequence[Node]
    edges: Sequence[tuple[UUID, str, UUID]]


async def entities(visit: Visit) -> Response:
    """The graph, and the list beside it."""
    at = moment_of(visit.query, "at")
    graph = await _graph(visit, at)
    categories = Counter(node.entity.category for node in graph.nodes)
    category, wanted = visit.query.get("category", ""), visit.query.get("name", "").casefold()
    found = [node for node in graph.nodes if category in ("", node.entity.category) and _named(node.entity, wanted)]
    page = part_of(found, visit.query, PAGE)
    return visit.page("entities.html", at=at, page=page, categories=categories, total=len(graph.nodes), drawn=DRAWN)


async def graph(visit: Visit) -> Response:
    """What the script draws: names, and facts between what has one."""
    found = await _graph(visit, moment_of(visit.query, "at"))
    drawn = {node.entity.entity_id: place for place, node in enumerate(found.nodes[:DRAWN])}
    nodes = [
        {
            "name": node.entity.name,
            "category": node.entity.category,
            "degree": node.degree,
            "to": visit.path(f"/entities/{node.entity.entity_id}"),
        }
        for node in found.nodes[:DRAWN]
    ]
    edges = [(drawn[one], said, drawn[other]) for one, said, other in found.edges if one in drawn and other in drawn]
    return JSONResponse({"nodes": nodes, "edges": edges})


async def entity(visit: Visit) -> Response:
    """One of them: what is known of it, what may be the same, and its history."""
    id_: UUID = visit.request.path_params["id"]
    found = await visit.ask(get_entity, entity_id=id_)
    facts = part_of([*found.outgoing, *found.incoming], visit.query, FACTS)
    variants = await visit.ask(list_variants, entity_id=id_)
    return visit.page("entity.html", entity=found, facts=facts, variants=variants, **await past(visit, id_))


async def _graph(visit: Visit, at: datetime | None) -> Graph:
    found = await every(visit, list_entities, as_of=at)
    facts = await every(visit, list_facts, as_of=at)
    known = {one.entity_id for one in found}
    edges = [(one.subject_id, one.predicate, one.object_id) for one in facts if one.object_id in known]
    edges = [edge for edge in edges if edge[0] in known]
    degrees: Mapping[UUID, int] = Counter(
        id_ for one in facts for id_ in (one.subject_id, one.object_id) if id_ is not None
    )
    nodes = sorted((Node(one, degrees[one.entity_id]) for one in found), key=lambda node: (-node.degree, _name(node)))
    return Graph(nodes, edges)


def _name(node: Node) -> str:
    return node.entity.name.casefold()


def _named(one: EntityView, wanted: str) -> bool:
    names: Sequence[Any] = (one.name, *one.aliases)
    return any(wanted in name.casefold() for name in names)
