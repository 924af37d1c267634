"""Operations on facts about the people, places and things that a user mentions."""

from typing import Annotated

from pydantic import Field

from mnemolog.adapters.operations.engine import Engine
from mnemolog.adapters.operations.graph_results import Bitemporal, FactAdded, FactView, suggested
from mnemolog.adapters.operations.operation import operation
from mnemolog.adapters.operations.requests import (
    PagedRead,
    RunRequest,
    Write,
    fields_of,
    request_of,
    run_uuid,
    stream_of,
    viewer_of,
)
from mnemolog.adapters.operations.results import Page, Result, Written, written
from mnemolog.commands.fact_changes import ConfirmFact, EndFact, ForgetFact, RestoreFact, RetireFact
from mnemolog.commands.facts import Predicated, Remember, WithDates
from mnemolog.domain.principal import Role
from mnemolog.events.fields import Id


class DatedWrite(WithDates, Write):
    """A write with dates that may be a year or a month."""


class ExtractFacts(RunRequest):
    """The agent whose threads are read."""


class FactsExtracted(Result):
    """What was extracted. `mnemolog rollback --of-run RUN_ID` undoes it."""

    run_id: str
    threads: int = Field(description="The number of threads that were read.")
    events: int = Field(description="The number of events that were recorded: facts, ends and corrections.")


class FactList(Bitemporal, PagedRead):
    """All facts, or those about an entity."""

    about: Annotated[
        Id | None, Field(description="Only facts about this entity: a name, an alias or an id; `me` is the user.")
    ] = None
    predicate: Annotated[
        Predicated | None, Field(description="Only facts with this predicate.", examples=["lives_in"])
    ] = None


@operation(
    "fact add",
    "POST /facts",
    request_of(Remember, base=DatedWrite),
    tag="graph",
    arguments=("subject", "predicate", "object"),
    done="Recorded",
    status=201,
    example={"user_id": "ana", "subject": "Alice", "predicate": "lives_in", "object": "Berlin", "since": "2026-01-10"},
)
async def add_fact(engine: Engine, request: Write) -> FactAdded:
    """Record a fact.

    Unknown entities are added. A known fact is confirmed. If a name is ambiguous, the error `ambiguous_entity` lists
    the entities and contains a question to ask.
    """
    relation_id, receipt = await engine.writes.remember(fields_of(engine, request), request.idempotency_key)
    return FactAdded.of(receipt, relation_id=relation_id, variants=await suggested(engine, request, receipt))


@operation("fact list", "GET /facts", tag="graph")
async def list_facts(engine: Engine, request: FactList) -> Page[FactView]:
    """List facts.

    Returns facts that held at `valid_at`, as known at `known_at`: the agent's own first, then critical ones, then by
    confidence and age. `overridden_by` is the fact of another scope that takes precedence. `valid_at` "any" gives the
    timeline: each value of a subject and predicate with when it held and when that was learned, the oldest first, with
    those that are yet to begin and those that turned out never to have held.
    """
    from mnemolog.projections.paging import slice_of

    viewer, moment = viewer_of(engine, request), request.moment()
    rows = await engine.reads.facts(viewer, request.about, request.when(), moment, predicate=request.predicate)
    return Page[FactView].of(slice_of(rows, "relation_id", request.limit, request.cursor, "valid_from"))


@operation("fact end", "POST /facts/{relation_id}/end", request_of(EndFact, base=DatedWrite), tag="graph", done="Ended")
async def end_fact(engine: Engine, request: Write) -> Written:
    """End a fact: it held until then.

    With `told_at`, the end counts as known since then, and `until` defaults to `told_at`.
    """
    return await written(engine, EndFact, request)


@operation("fact retire", "POST /facts/{relation_id}/retire", RetireFact, tag="graph", done="Retired")
async def retire_fact(engine: Engine, request: Write) -> Written:
    """Retire a fact: it never held.

    A fact that it had ended is valid again. With `told_at`, that is known since then.
    """
    return await written(engine, RetireFact, request)


@operation("fact delete", "DELETE /facts/{relation_id}", ForgetFact, tag="graph", done="Deleted")
async def delete_fact(engine: Engine, request: Write) -> Written:
    """Delete a fact: hidden at once, and erased after 30 days unless it is restored.

    `erase_fact` destroys it at once.
    """
    return await written(engine, ForgetFact, request)


@operation("fact restore", "POST /facts/{relation_id}/restore", RestoreFact, tag="graph", done="Restored")
async def restore_fact(engine: Engine, request: Write) -> Written:
    """Restore a deleted fact."""
    return await written(engine, RestoreFact, request)


@operation("fact confirm", "POST /facts/{relation_id}/confirm", ConfirmFact, tag="graph", done="Confirmed")
async def confirm_fact(engine: Engine, request: Write) -> Written:
    """Confirm a fact in the user's name, such as one from a tool.

    It is then trusted like the user's own words. Only the user, or an API key with the role `consent`, can confirm.
    """
    return await written(engine, ConfirmFact, request)


@operation("fact extract", "POST /facts/extract", tag="graph", done="Extracted", lasting=True)
async def extract_facts(engine: Engine, request: ExtractFacts) -> FactsExtracted:
    """Extract facts from all that the user said to one agent, by the rules of this version.

    For messages from before an upgrade, or from before extraction was turned on. Records what is missing: nothing
    twice, and nothing that was undone, deleted or corrected.
    """
    from mnemolog.adapters.maintenance.extracting import extract_anew

    if engine.principal:
        engine.principal.require_viewer(viewer_of(engine, request), Role.WRITE)
    run_id = f"extraction-{run_uuid(engine, request)}"
    threads, events = await extract_anew(engine.by_itself(), stream_of(engine, request), request.agent_id, run_id)
    return FactsExtracted(run_id=run_id, threads=threads, events=events)
