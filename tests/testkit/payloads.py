"""Hypothesis strategies for every registered payload, from its model: a new type is covered once it is registered."""

from dataclasses import is_dataclass
from datetime import datetime, timedelta, timezone
from typing import Annotated, Any, get_args, get_origin, get_type_hints
from uuid import UUID

from hypothesis import strategies as st
from pydantic import BaseModel, JsonValue

from mnemolog.domain.identity import uuid7
from mnemolog.events.envelope import Meta, NewEvent
from mnemolog.events.event import Event
from mnemolog.events.registry import REGISTRY

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
ids = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=20)
units = st.floats(0, 1)
zones = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
instants = st.datetimes(datetime(1970, 1, 2), datetime(9999, 12, 30), timezones=zones)  # noqa: DTZ001
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | units | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
uuids = st.builds(uuid7, instants, st.binary(min_size=10, max_size=10))


def of(model: type[BaseModel]) -> st.SearchStrategy[Any]:
    """Instances of a model, with each field drawn from its annotation."""
    fields = {name: _of_type(field.annotation) for name, field in model.model_fields.items()}
    return st.builds(model, **fields)


def _of_type(annotation: Any) -> st.SearchStrategy[Any]:
    arguments = get_args(annotation)
    if get_origin(annotation) is Annotated:
        return _of_type(arguments[0])
    if get_origin(annotation) is tuple:
        return st.lists(_of_type(arguments[0]), max_size=4).map(tuple)
    if get_origin(annotation) is dict:
        return st.dictionaries(*map(_of_type, arguments), max_size=4)
    if arguments:
        return st.one_of(*map(_of_type, arguments))
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return of(annotation)
    if isinstance(annotation, type) and is_dataclass(annotation):
        return st.builds(annotation, **{name: _of_type(kind) for name, kind in get_type_hints(annotation).items()})
    return _PLAIN[annotation] if annotation in _PLAIN else st.from_type(annotation)


_PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    str: texts,
    float: units,
    datetime: instants,
    UUID: uuids,
    JsonValue: values,
}

payloads: st.SearchStrategy[Event] = st.one_of(*map(of, REGISTRY.types.values()))
metas = st.builds(
    Meta,
    actor=ids,
    agent_id=ids,
    thread_id=ids,
    causation_id=st.none() | uuids,
    correlation_id=st.none() | uuids,
    policy_version=ids,
)
new_events = st.builds(NewEvent, uuids, payloads, metas, instants)
