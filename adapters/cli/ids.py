"""Abbreviated ids: tables show a unique prefix of each id, and commands accept it."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any, TypeVar
from uuid import UUID

from pydantic.fields import FieldInfo

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.operations.operation import Operation
from mnemolog.adapters.operations.webhooks import ListWebhooks, OneWebhook, deliveries_beginning, list_webhooks
from mnemolog.domain.errors import NotFound
from mnemolog.domain.viewer import Viewer
from mnemolog.events.artifacts_fold import ARTIFACT
from mnemolog.events.being_fold import BEING_ENTRY
from mnemolog.events.documents_fold import DOCUMENT
from mnemolog.events.episode_fold import EPISODE
from mnemolog.events.fields import validated
from mnemolog.events.graph_fold import ENTITY, RELATION
from mnemolog.events.memory_fold import MEMORY
from mnemolog.events.message_fold import MESSAGE
from mnemolog.events.profile_fold import TODO
from mnemolog.projections.id_prefix import EVENT, LISTED_IDS, PROPOSAL, SESSION, SUMMARY, one_of

R = TypeVar("R", ListWebhooks, OneWebhook)
BEGINNING = re.compile(r"(?=[0-9a-f-]{6,35}$)[0-9a-f]{1,8}(-[0-9a-f]{0,4}){0,3}(-[0-9a-f]{0,11})?", re.IGNORECASE)
_KINDS = {
    "memory_id": MEMORY.name,
    "message_id": MESSAGE.name,
    "turn_id": MESSAGE.name,
    "source_turn_ids": MESSAGE.name,
    "entity_id": ENTITY.name,
    "entity_ids": ENTITY.name,
    "active_entity_ids": ENTITY.name,
    "relation_id": RELATION.name,
    "todo_id": TODO.name,
    "artifact_id": ARTIFACT.name,
    "episode_id": EPISODE.name,
    "document_id": DOCUMENT.name,
    "entry_id": BEING_ENTRY.name,
    "event_id": EVENT,
    "session_id": SESSION,
    "summary_id": SUMMARY,
    "patch_id": PROPOSAL,
}
# Names, values or ids of entities. What is shorter than any id in a table may be a word, such as `decade`.
_NAMES = frozenset({"subject", "object", "about"})
_SHORTEST = 13
# Neither a projection nor a history has these.
_OF_WEBHOOKS = frozenset({"webhook_id", "delivery_id"})
# Ids of the command's own kind.
_SAME_KIND = frozenset({"absorbed_ids", "to_id"})
_FILTERS = "filters"
# Ids of any kind. `why` also accepts the name of a profile field.
_ANY = "id"


def with_placeholders(operation: Operation[Any, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields with a placeholder for each abbreviated id, so that everything else is validated before an engine is
    used.
    """
    known, numbers = operation.request.model_fields, count()

    def placed(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return tuple(map(placed, value))
        return str(UUID(int=next(numbers))) if BEGINNING.fullmatch(str(value)) else value

    def replaced(name: str, value: Any) -> Any:
        if name == _FILTERS and isinstance(value, Mapping):
            return {one: placed(ids) if one in _KINDS else ids for one, ids in value.items()}
        return placed(value) if _takes_ids(name, known[name], value) else value

    return {name: replaced(name, value) for name, value in fields.items()}


async def completed(engine: Engine, operation: Operation[Any, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields with each abbreviated id replaced by the full one; raises NotFound or AmbiguousId."""
    known, tenant = operation.request.model_fields, engine.settings.tenant
    agent_id = str(fields.get("agent_id", known["agent_id"].default))
    if "user_id" in known:
        viewer = Viewer(tenant, str(fields.get("user_id", known["user_id"].default)), agent_id)
    else:
        viewer = Viewer.of_library(tenant, agent_id)
    found: dict[str, Any] = {}
    for name, value in fields.items():
        if name == _FILTERS and isinstance(value, Mapping):
            found[name] = {one: await _filter(engine, viewer, one, ids) for one, ids in value.items()}
        elif _takes_ids(name, known[name], value):
            found[name] = await _each(value, partial(_whole, engine, viewer, operation, name, {**fields, **found}))
        else:
            found[name] = value
    return found


async def _filter(engine: Engine, viewer: Viewer, name: str, value: Any) -> Any:
    if name not in _KINDS:
        return value
    return await _each(value, lambda text: engine.reads.id_beginning(viewer, text, f"{_FILTERS}.{name}", _KINDS[name]))


async def _each(value: Any, whole: Callable[[str], Awaitable[str]]) -> Any:
    """An id, or several, each abbreviated one replaced by the whole one."""
    if isinstance(value, list | tuple):
        return tuple([await _each(one, whole) for one in value])
    return await whole(str(value)) if BEGINNING.fullmatch(str(value)) else str(value)


async def _whole(
    engine: Engine, viewer: Viewer, operation: Operation[Any, Any], name: str, asked: Mapping[str, Any], text: str
) -> str:
    if name in _OF_WEBHOOKS:
        ids = await _of_webhooks(engine, name, text, asked)
        return one_of([one for one in ids if one.startswith(text.lower())], text, name)
    same = _KINDS[operation.arguments[0]] if name in _SAME_KIND else None
    kind = ENTITY.name if name in _NAMES else _KINDS.get(name, same)
    try:
        return await engine.reads.id_beginning(viewer, text, name, kind)
    except NotFound:
        # The id of a message is whatever its producer chose, and may be new.
        if name in _NAMES or kind == MESSAGE.name or operation.request.model_fields[name].annotation is str:
            return text
        raise


async def _of_webhooks(engine: Engine, name: str, text: str, asked: Mapping[str, Any]) -> Sequence[str]:
    """The ids of the webhooks, of which there are few; or those of deliveries of a webhook that begin so."""
    if name == "webhook_id":
        return [str(one.webhook_id) for one in (await list_webhooks.run(engine, _request(ListWebhooks, asked))).items]
    return await deliveries_beginning(engine, _request(OneWebhook, asked), text, LISTED_IDS + 1)


def _request(kind: type[R], asked: Mapping[str, Any]) -> R:
    return validated(kind, {name: value for name, value in asked.items() if name in kind.model_fields})


def _takes_ids(name: str, field: FieldInfo, value: Any) -> bool:
    return (
        name in _KINDS
        or (name in _NAMES and len(str(value)) >= _SHORTEST)
        or name in _OF_WEBHOOKS
        or name in _SAME_KIND
        or (name == _ANY and field.annotation in (UUID, str))
    )
