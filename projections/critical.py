"""The critical facts of a context: those that hold, with what was said of them since, and those that ended lately."""

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.predicates import PredicatePolicy
from mnemolog.domain.viewer import Viewer
from mnemolog.projections import doubts
from mnemolog.projections.asking import together
from mnemolog.projections.graph import hydration
from mnemolog.projections.graph.facts import Point, ended_lately
from mnemolog.projections.retrieval import Hit
from mnemolog.projections.sources.graph import fact_hit, former_hit

ENDED_FOR = timedelta(days=90)
"""How long a critical fact that has ended is shown as such: an end that was misread is seen."""
MOST_ENDED = 5


async def critical(
    connection: AsyncConnection, viewer: Viewer, predicates: PredicatePolicy, point: Point
) -> Sequence[Hit]:
    """Those that hold, each with what was said last that may end it, and then those that ended lately."""
    holding, ended = await together(
        hydration.critical(connection, viewer, predicates, point),
        ended_lately(connection, viewer, point, predicates, predicates.critical, ENDED_FOR),
    )
    said = await doubts.of_critical(connection, viewer, holding)
    shown = [fact_hit(one, said.get(one.id)) for one in holding]
    over = [former_hit(row) for row in ended if row["critical"]]
    return [*shown, *over[:MOST_ENDED]]
