"""The catalogue of registered event types, derived from the types themselves."""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from types import SimpleNamespace
from typing import Any, get_args, get_origin

from pydantic import BaseModel

from mnemolog.domain.errors import InvalidInput
from mnemolog.events.codec import schema
from mnemolog.events.event import BLIND, Event
from mnemolog.events.published import published, uncited
from mnemolog.events.registry import REGISTRY, Registry


@dataclass(frozen=True, slots=True)
class EventType:
    """One type at its current version. In `tags`, `key_scope` and `shreds`, `<name>` stands for the field's value.

    `key_scope` is "" where nothing is personal. `schema` is the JSON Schema of the payload, in which personal fields
    carry `x-personal`.
    """

    name: str
    version: int
    description: str
    tags: Sequence[str]
    key_scope: str
    personal: Sequence[str]
    shreds: Sequence[str]
    schema: dict[str, Any]


def catalogue(registry: Registry = REGISTRY) -> Sequence[EventType]:
    """Every type, by name."""
    return [_described(registry.types[name]) for name in sorted(registry.types)]


def described(name: str, registry: Registry = REGISTRY) -> EventType:
    """One type; InvalidInput when there is none of this name."""
    if name not in registry.types:
        raise InvalidInput(
            f"there is no event type {name!r}", field="type", fix=f"use one of {', '.join(sorted(registry.types))}"
        )
    return _described(registry.types[name])


def _described(event_type: type[Event]) -> EventType:
    event, personal = _with_names_for_values(event_type), sorted(event_type.personal_fields())
    return EventType(
        event_type.type_name(),
        event_type.version,
        uncited(inspect.cleandoc(event_type.__doc__ or "")),
        sorted(tag.removeprefix(BLIND) for tag in event.tags()),
        event.key_scope() if personal else "",
        personal,
        sorted(event.shreds()),
        published(schema(event_type)),
    )


def _with_names_for_values(model: type[Any]) -> Any:
    """An instance whose fields have their own names as values, so that tags show the fields they are made of."""
    named = {name: _placeholder(name, field.annotation) for name, field in model.model_fields.items()}
    return model.model_construct(**named)


def _placeholder(name: str, annotation: Any) -> Any:
    if get_origin(annotation) is tuple:
        return (_placeholder(name, get_args(annotation)[0]),)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return _with_names_for_values(annotation)
    if isinstance(annotation, type) and is_dataclass(annotation):
        return SimpleNamespace(**{field.name: f"<{field.name}>" for field in fields(annotation)})
    return f"<{name}>"
