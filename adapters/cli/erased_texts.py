"""The texts of what an erasure would destroy, for the confirmation: only those that the caller may read."""

from collections.abc import Mapping, Sequence
from typing import Any

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.operations.artifacts import get_artifact
from mnemolog.adapters.operations.entities import get_entity
from mnemolog.adapters.operations.erasure import Erased
from mnemolog.adapters.operations.facts import list_facts
from mnemolog.adapters.operations.knowledge import get_document
from mnemolog.adapters.operations.memories import get
from mnemolog.adapters.operations.messages import get_message
from mnemolog.adapters.operations.operation import Operation
from mnemolog.adapters.operations.requests import AnyRequest
from mnemolog.adapters.operations.todos import list_todos
from mnemolog.domain.errors import CategoryNotAllowed, NotFound, NotPermitted
from mnemolog.domain.sentence import value_text
from mnemolog.events.fields import validated

LISTED = 10  # The maximum number of items shown of each kind.
_MAY_NOT_READ = (CategoryNotAllowed, NotFound, NotPermitted)
# Kinds that are read one by one: the operation, the field of its request, the field of its result.
_ONE_BY_ONE: Mapping[str, tuple[Operation[Any, Any], str, str]] = {
    "memory": (get, "memory_id", "text"),
    "turn": (get_message, "message_id", "line"),
    "entity": (get_entity, "entity_id", "name"),
    "artifact": (get_artifact, "artifact_id", "surrogate"),
    "document": (get_document, "document_id", "title"),
}


async def texts_of(engine: Engine, request: AnyRequest, found: Erased) -> Mapping[str, str]:
    """By id, of the first of each kind."""
    who = {name: value for name in ("user_id", "agent_id") if (value := getattr(request, name, None)) is not None}
    known = [tag.partition(":")[::2] for tag in (*found.known, *found.cleared)]
    kinds: dict[str, list[str]] = {"memory": [str(one) for one in (*found.memories, *found.survivors)]}
    kinds["turn"] = list(found.turns)
    for kind, id_ in known:
        kinds.setdefault(kind, []).append(id_)
    texts = dict[str, str]()
    for kind, (operation, field, text) in _ONE_BY_ONE.items():
        for id_ in kinds.get(kind, [])[:LISTED]:
            for one in await _read(engine, operation, {**who, field: id_}):
                texts[id_] = getattr(one, text)
    if "relation" in kinds:
        for fact in await _page(engine, list_facts, who):
            thing = fact.object if fact.object is not None else value_text(fact.value)
            texts[str(fact.relation_id)] = f"{fact.subject} {fact.predicate} {thing}"
    if "todo" in kinds:
        texts |= {str(todo.todo_id): todo.text for todo in await _page(engine, list_todos, who)}
    return texts


async def _page(engine: Engine, operation: Operation[Any, Any], who: Mapping[str, Any]) -> Sequence[Any]:
    return [one for page in await _read(engine, operation, {**who, "limit": 100}) for one in page]


async def _read(engine: Engine, operation: Operation[Any, Any], fields: Mapping[str, Any]) -> Sequence[Any]:
    """The result, or none if the caller may not read it or it is hidden."""
    given = {name: value for name, value in fields.items() if name in operation.request.model_fields}
    try:
        return [await operation.run(engine, validated(operation.request, given))]
    except _MAY_NOT_READ:
        return []
