"""Operations on the patrol of a being, and on the clusters of its scenes (C)."""

from typing import Annotated
from uuid import UUID

from pydantic import Field

from mnemolog.adapters.operations.engine import Engine
from mnemolog.adapters.operations.operation import operation
from mnemolog.adapters.operations.requests import PagedRead, RunRequest, run_uuid, viewer_of
from mnemolog.adapters.operations.results import Page, Result
from mnemolog.domain.cluster import Root, cluster_id, is_root, name_of, root_of
from mnemolog.domain.nodes import clusters, vector_of
from mnemolog.domain.patrol import Step, What
from mnemolog.events.fields import Flag, Id


class RunPatrol(RunRequest):
    """The being to patrol."""

    run_id: Annotated[
        Id | None,
        Field(
            description="The id of the run, for rolling it back; an earlier run's id continues it where it stopped. "
            "Default: a new one, the same for the same idempotency key."
        ),
    ] = None
    dry_run: Annotated[Flag, Field(description="Return what would be done, and change nothing.")] = False


class ClustersRead(PagedRead):
    """The clusters of a being."""


class PatrolChange(Result):
    """One change. `id` is a scene, a note, or an entry that was written.

    In a dry run, a scene that would be created has the id of its note, and an entry that would be written none.
    """

    what: What
    id: UUID | None
    into: str = Field(description='The label of its cluster, the scene that absorbed it, or the store; else "".')


class PatrolStep(Result):
    """What a step did."""

    step: Step
    changes: list[PatrolChange]
    why: str = Field(description='Why the step, or a part of it, was skipped; else "".')


class PatrolResult(Result):
    """What a patrol did, step by step. `mnemolog rollback --of-run RUN_ID` undoes it."""

    agent_id: str
    run_id: str
    dry_run: bool
    steps: list[PatrolStep]


class ClusterView(Result):
    """A cluster. The two roots are always there."""

    cluster_id: UUID
    label: str = Field(description="The root, and the name below it.")
    name: str
    root: Root
    is_parent: bool = Field(description="Whether it is a root, which is never split or merged.")
    active: int
    dying: int
    dead: int
    memory_ids: list[UUID] = Field(description="Its scenes, dead ones included, oldest first.")
    vector: list[float] = Field(description="The mean of the vectors of its active scenes; empty without any.")


@operation("patrol run", "POST /patrol", tag="being", done="Patrolled", lasting=True)
async def run_patrol(engine: Engine, request: RunPatrol) -> PatrolResult:
    """Run a patrol over the scenes of one agent of a user.

    Turns notes into scenes, ages, consolidates, revives and regroups scenes, and writes the diary and think_md.
    Without a chat model, consolidation, splitting, diary and think_md are skipped. The engine runs one by itself after
    each session of the agent.
    """
    from mnemolog.adapters.maintenance.patrolling import patrol

    being = viewer_of(engine, request)
    run_id = request.run_id or f"patrol-{run_uuid(engine, request)}"
    done = await patrol(engine, being, run_id, dry_run=request.dry_run)
    steps = [PatrolStep.model_validate(one) for one in done.steps]
    return PatrolResult(agent_id=being.agent_id, run_id=run_id, dry_run=done.dry_run, steps=steps)


@operation("cluster list", "GET /clusters", tag="being")
async def list_clusters(engine: Engine, request: ClustersRead) -> Page[ClusterView]:
    """List the clusters of an agent's scenes, by label.

    The roots are Business and Private. A scene that no patrol has placed yet is in Private.
    """
    from mnemolog.projections.paging import slice_of

    being = viewer_of(engine, request)
    _, board = await engine.reads.board(being, moment=request.moment())
    found = {**{root.value: [] for root in Root}, **clusters(board)}
    labels = slice_of([{"label": one} for one in sorted(found)], "label", request.limit, request.cursor)
    views = [
        ClusterView(
            cluster_id=cluster_id(being.agent_id, label),
            label=label,
            name=name_of(label),
            root=root_of(label),
            is_parent=is_root(label),
            active=sum(one.active for one in scenes),
            dying=sum(one.dying for one in scenes),
            dead=sum(one.dead for one in scenes),
            memory_ids=[one.memory_id for one in scenes],
            vector=list(vector_of(scenes)),
        )
        for label, scenes in ((row["label"], found[row["label"]]) for row in labels)
    ]
    return Page[ClusterView](items=views, next_cursor=labels.next_cursor)
