"""What waits for somebody's decision: consent to profile changes, contradictions, and open questions."""

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from mnemolog.adapters.http.console.listing import MOST_A_READ, part_of
from mnemolog.adapters.http.console.visit import Visit
from mnemolog.adapters.operations import memories as of_memories
from mnemolog.adapters.operations.entities import merge_entities
from mnemolog.adapters.operations.facts import list_facts, retire_fact
from mnemolog.adapters.operations.operation import Operation
from mnemolog.adapters.operations.profile import get_profile, grant_consent, list_consent, refuse_consent
from mnemolog.adapters.operations.todos import list_todos, update_todo
from mnemolog.domain.errors import NotFound

PAGE = 20
# What can be decided: the operation, the field of its id, and what else it is asked.
DECISIONS: Mapping[str, tuple[Operation[Any, Any], str, Mapping[str, str]]] = {
    "grant": (grant_consent, "patch_id", {}),
    "refuse": (refuse_consent, "patch_id", {}),
    "outdated": (of_memories.archive, "memory_id", {}),
    "wrong": (of_memories.delete, "memory_id", {}),
    "retire": (retire_fact, "relation_id", {}),
    "done": (update_todo, "todo_id", {"status": "done"}),
    "drop": (update_todo, "todo_id", {"status": "dropped"}),
}


async def decisions(visit: Visit) -> Response:
    """Everything that waits, a page of each."""
    query = visit.query
    consent = await visit.ask(list_consent, limit=PAGE, cursor=query.get("consent_cursor"))
    profile = await visit.ask(get_profile)
    newest = await visit.ask(of_memories.list_, limit=MOST_A_READ)
    memories = {one.memory_id: one for one in newest.items}
    pairs = [(one, memories[one.contradicted_by]) for one in newest.items if one.contradicted_by in memories]
    facts = {one.relation_id: one for one in (await visit.ask(list_facts, limit=MOST_A_READ)).items}
    overridden = [(one, facts[one.overridden_by]) for one in facts.values() if one.overridden_by in facts]
    todos = await visit.ask(list_todos, limit=PAGE, cursor=query.get("todo_cursor"))
    return visit.page(
        "decisions.html",
        consent=consent,
        current={one.field: one.value for one in profile.fields},
        pairs=part_of(pairs, query, PAGE, "pair"),
        overridden=part_of(overridden, query, PAGE, "fact"),
        todos=todos,
        more=newest.next_cursor is not None,
    )


async def decide(visit: Visit) -> Response:
    """Carry out one decision."""
    chosen = visit.request.path_params["decision"]
    if chosen not in DECISIONS:
        raise NotFound("there is no such page", field="", fix="go back to the start")
    operation, name, fields = DECISIONS[chosen]
    await visit.ask(operation, **{name: visit.form.get("id", "")}, **fields)
    return visit.to("/decisions", done=chosen)


async def merge(visit: Visit) -> Response:
    """Make one of two entities. Its history can undo it."""
    id_ = visit.request.path_params["id"]
    await visit.ask(merge_entities, entity_id=id_, absorbed_ids=[visit.form.get("absorbed", "")])
    return visit.to(f"/entities/{id_}", done="merge")
