"""Which field of a request an unknown name stands for."""

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

ALIKE = 0.75
"""How similar, in [0, 1], a name must be to the field that it is taken for."""
# What other APIs call a field. Of several, the first that the request has is meant.
OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("created_at", "timestamp", "time", "ts", "datetime", "sent_at", "said_at"), ("occurred_at", "told_at")
    ),
    **dict.fromkeys(("at", "date", "when"), ("occurred_at", "since", "due", "as_of")),
    **dict.fromkeys(("start", "from", "after", "valid_from", "start_date"), ("since",)),
    **dict.fromkeys(("end", "to", "before", "valid_to", "end_date"), ("until",)),
    **dict.fromkeys(("author", "from_name", "username", "sender"), ("name", "speaker", "actor_id")),
    **dict.fromkeys(("body", "message", "memory", "fact", "value"), ("content", "text", "object")),
    **dict.fromkeys(("content", "text"), ("text", "content", "query", "messages")),
    **dict.fromkeys(("q", "question", "search", "input"), ("query", "message")),
    **dict.fromkeys(("limit", "k", "n", "n_results", "size", "max_results"), ("top_k", "limit")),
    **dict.fromkeys(("max_tokens", "token_budget", "tokens"), ("budget_tokens",)),
    **dict.fromkeys(("min_score", "score_threshold", "min_similarity"), ("threshold",)),
    **dict.fromkeys(("user", "uid"), ("user_id",)),
    **dict.fromkeys(("agent", "assistant_id", "persona_id"), ("agent_id",)),
    **dict.fromkeys(("chat_id", "conversation_id", "session_id", "thread"), ("thread_id",)),
    **dict.fromkeys(("id", "msg_id", "turn_id"), ("message_id", "memory_id", "fact_id")),
    **dict.fromkeys(("meta", "extra", "properties"), ("metadata",)),
    **dict.fromkeys(("tags", "labels", "category"), ("themes", "categories", "category")),
}


def meant(model: type[BaseModel], path: Iterable[int | str]) -> str | None:
    """The field of the model that stands where an unknown one was given and is probably meant, if there is one.

    >>> from pydantic import create_model
    >>> meant(create_model("Message", content=(str, ""), occurred_at=(str, "")), ["created_at"])
    'occurred_at'
    """
    *above, name = path
    schema = _schema(model)
    places = [schema]
    for part in above:
        below = [found for place in places for found in _below(place, part, schema)]
        places = below or places  # Pydantic names the branch of a union in the path, too.
    known = [field for place in places for one in _forms(place, schema) for field in one.get("properties", ())]
    listed = [field for field in OTHER_NAMES.get(str(name).lower(), ()) if field in known]
    close = get_close_matches(str(name).lower().replace("-", "_"), known, 1, ALIKE)
    return next(iter([*listed, *close]), None)


@lru_cache
def _schema(model: type[BaseModel]) -> Mapping[str, Any]:
    """Takes milliseconds for a large model, and a file may have thousands of unknown fields."""
    return model.model_json_schema()


def _forms(place: Any, schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The object itself or those that it refers to."""
    if not isinstance(place, Mapping):
        return
    if reference := place.get("$ref"):
        yield from _forms(schema["$defs"][reference.rpartition("/")[2]], schema)
    for one in (*place.get("anyOf", ()), *place.get("oneOf", ()), *place.get("allOf", ())):
        yield from _forms(one, schema)
    yield place


def _below(place: Any, part: int | str, schema: Mapping[str, Any]) -> Iterator[Any]:
    for one in _forms(place, schema):
        if isinstance(part, int):
            yield from (one["items"],) if "items" in one else ()
        elif part in one.get("properties", ()):
            yield one["properties"][part]
