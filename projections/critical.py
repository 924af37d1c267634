"""The critical facts of a context: those that hold, with what was said of them since, and those that ended lately."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.facts import State
from mnemolog.domain.predicates import PredicatePolicy
from mnemolog.domain.viewer import Viewer
from mnemolog.projections import doubts
from mnemolog.projections.asking import together
from mnemolog.projections.graph import hydration
from mnemolog.projections.graph.facts import Point, facts, stated
from mnemolog.projections.retrieval import Hit
from mnemolog.projections.rows import Row
from mnemolog.projections.sources.graph import fact_hit, former_hit

ENDED_FOR = timedelta(days=90)
"""How long a critical fact that has ended is shown as such: an end that was misread is seen."""
MOST_ENDED = 5


async def critical(
    connection: AsyncConnection, viewer: Viewer, predicates: PredicatePolicy, point: Point
) -> Sequence[Hit]:
    """Those that hold, each with what was said last that may end it, and then those that ended lately."""
    holding, over = await together(
        hydration.critical(connection, viewer, predicates, point), _ended(connection, viewer, predicates, point)
    )
    said = await doubts.of_critical(connection, viewer, holding)
    held = {stated(one.row) for one in holding}
    ended = [row for row in over if stated(row) not in held]
    shown = [fact_hit(one, said.get(one.id)) for one in holding]
    return [*shown, *map(former_hit, ended[:MOST_ENDED])]


async def _ended(
    connection: AsyncConnection, viewer: Viewer, predicates: PredicatePolicy, point: Point
) -> Sequence[Row]:
    """The critical facts that ended lately, the last first."""
    names = sorted(name for name, rule in predicates.predicates.items() if rule.critical)
    rows = await facts(connection, viewer, replace(point, always=True), predicates, predicate=names)
    late = [row for row in rows if row["critical"] and row["state"] is State.ENDED]
    late = [row for row in late if row["valid_to"] > point.valid_at - ENDED_FOR]
    return sorted(late, key=lambda row: (row["valid_to"], row["relation_id"]), reverse=True)
