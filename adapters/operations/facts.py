"""Operations on facts about the people, places and things that a user mentions."""

from typing import Annotated

from pydantic import Field

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.operations.graph_results import Bitemporal, FactAdded, FactView, suggested
from mnemolog.adapters.operations.operation import operation
from mnemolog.adapters.operations.requests import (
    PagedRead,
    Write,
    command_of,
    fields_of,
    viewer_of,
)
from mnemolog.adapters.operations.results import Page, Written
from mnemolog.commands.fact_changes import EndFact, FactCommand, ForgetFact, RestoreFact, RetireFact
from mnemolog.commands.facts import Remember
from mnemolog.events.fields import Id
from mnemolog.projections.paging import slice_of


class FactList(Bitemporal, PagedRead):
    """All facts, or those about an entity."""

    about: Annotated[
        Id | None, Field(description="Only facts about this entity: a name, an alias or an id; `me` is the user.")
    ] = None
    inactive: Annotated[
        bool, Field(description="Include facts that ended, were retired or begin in the future; `state` says which.")
    ] = False


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

    Unknown entities are added. A known fact is confirmed. If a name is ambiguous, the error `ambiguous_entity` lists
    the entities and contains a question to ask.
    """
    relation_id, receipt = await engine.writes.remember(fields_of(engine, asked), asked.idempotency_key)
    return FactAdded.of(receipt, relation_id=relation_id, variants=await suggested(engine, asked, receipt))


@operation("fact list", "GET /facts", tag="graph")
async def list_facts(engine: Engine, asked: FactList) -> Page[FactView]:
    """List facts.

    Returns facts that held at `valid_at`, as known at `known_at`: the agent's own first, then by critical, confidence
    and age. `overridden_by` is the fact of another scope that takes precedence (A09).
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

    A fact that it had ended is valid again.
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
    """Delete a fact: hidden at once, restorable until purged.

    Purged after 30 days. `erase_fact` destroys it at once.
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


async def _change_fact(kind: type[FactCommand], engine: Engine, asked: Write) -> Written:
    return Written.of(await engine.writes.change_fact(command_of(kind, engine, asked), asked.idempotency_key))


FACTS = (
    add_fact,
    list_facts,
    end_fact,
    retire_fact,
    delete_fact,
    restore_fact,
)
