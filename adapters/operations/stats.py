"""The operation that counts operations."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from mnemolog.adapters.operations.engine import Engine
from mnemolog.adapters.operations.operation import operation
from mnemolog.adapters.operations.requests import PagedRead, viewer_of
from mnemolog.adapters.operations.results import Page, Result
from mnemolog.events.fields import Id, Instant
from mnemolog.projections.operations.counted import Node, Outcome, Over, Period, Wanted


class StatsRead(PagedRead):
    """How often operations happened."""

    over: Annotated[
        Over,
        Field(
            description="Whose operations to count: this agent's for the user, those of all agents for the user, or "
            "those for all users of the tenant, which needs the role `admin`."
        ),
    ] = Over.AGENT
    by: Annotated[Period, Field(description="The length of a period, in UTC, or `total` for one count of all.")] = (
        Period.DAY
    )
    since: Annotated[Instant | None, Field(description="Count from the start of the hour that contains this time.")] = (
        None
    )
    until: Annotated[Instant | None, Field(description="Count the hours that begin before this time.")] = None
    node: Annotated[Node | None, Field(description="Only operations of this node.")] = None
    op: Annotated[Id | None, Field(description="Only this operation, such as `create`.", examples=["create"])] = None
    status: Annotated[Outcome | None, Field(description="Only operations with this outcome.")] = None


class OperationCount(Result):
    """How often an operation happened in a period."""

    period: datetime | None = Field(description="The beginning of the period; null for a total.")
    node: Node = Field(description="Where it ran: for a caller, in a search, on episodes, or in the background.")
    op: str = Field(description="What it did, such as `classify`, `search`, `create`, `merge` or `recall`.")
    status: Outcome = Field(
        description="`skipped`: what was said was known or not worth remembering, or a context was served without a "
        "search. "
        "`error`: a file could not be read."
    )
    subject: str = Field(description="What it changed or found, such as `memory`.")
    count: int
    similarity: float | None = Field(description="The mean similarity of the best neighbours, if any were found.")


@operation("stats", "GET /stats", tag="maintenance")
async def stats(engine: Engine, request: StatsRead) -> Page[OperationCount]:
    """Count operations by node and kind, over time.

    Only operations that were recorded are counted: a refused request leaves no trace.
    """
    wanted = Wanted(**request.model_dump(include=set(Wanted.__slots__)))
    viewer, moment = viewer_of(engine, request), request.moment()
    return Page[OperationCount].of(await engine.reads.operations(viewer, wanted, request.limit, moment, request.cursor))
