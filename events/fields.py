"""Field types validated by the domain's rules, and the validation of whole requests."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, TypeVar
from uuid import UUID

from pydantic import (
    BaseModel,
    BeforeValidator,
    FailFast,
    GetCoreSchemaHandler,
    Strict,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
)
from pydantic_core import CoreSchema, PydanticCustomError, PydanticKnownError, PydanticUndefined
from pydantic_core.core_schema import no_info_before_validator_function

from mnemolog.domain import identity, importance, text
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.json_value import MAX_DOCUMENT_DEPTH, require_depth
from mnemolog.events.known_fields import meant
from mnemolog.events.shapes import UNIT, id_shape, label_shape, text_shape

REFUSED = "refused"
MAX_LABEL, MAX_DETAIL = 2000, 32 * 1024
MANY_FIELDS = 1000

Model = TypeVar("Model", bound=BaseModel)


def checked_by(rule: Callable[[Any, str], object], json_schema_input_type: Any = PydanticUndefined) -> BeforeValidator:
    """A field validated by a domain rule: `rule(value, name)` returns the value or raises InvalidInput.

    `json_schema_input_type`: what the rule accepts, if the field's own type does not say it.
    """

    def check(value: object, info: ValidationInfo) -> object:
        name = info.field_name or "value"
        try:
            return rule(value, name)
        except InvalidInput as error:  # Pydantic knows the path to the field; `invalid_input` combines both.
            below = error.field.removeprefix(name) if error.field.startswith((f"{name}.", f"{name}[")) else ""
            context = {"message": error.message, "fix": error.fix, "kind": type(error), "below": below}
            raise PydanticCustomError(REFUSED, "{message}", context) from error

    return BeforeValidator(check, json_schema_input_type=json_schema_input_type)


def _optional_text(max_bytes: int) -> BeforeValidator:
    return checked_by(lambda value, field: "" if value in (None, "") else text.clean(value, field, max_bytes=max_bytes))


def _words(value: object, field: str) -> str:
    return "" if value is None or (isinstance(value, str) and not value.strip()) else text.clean(value, field)


def _tenant(value: object, field: str) -> object:
    if isinstance(value, str) and _TENANT.fullmatch(value):
        return value
    raise InvalidInput(
        f"{value!r:.60} is not a tenant id", field=field, fix="use 1 to 40 of the characters A-Z a-z 0-9 . _ -"
    )


# Restricted so that a tenant is one token of a NATS subject and one part of a stream name.
_TENANT = re.compile(r"[A-Za-z0-9._-]{1,40}")
Id = Annotated[str, checked_by(identity.identifier), WithJsonSchema(id_shape())]
Tenant = Annotated[str, checked_by(_tenant)]
Text = Annotated[str, checked_by(text.clean), WithJsonSchema(text_shape())]
# The text of a message, which is empty where only an attachment was sent.
Words = Annotated[str, checked_by(_words), WithJsonSchema(label_shape(text.MAX_TEXT_BYTES))]
Label = Annotated[str, _optional_text(MAX_LABEL), WithJsonSchema(label_shape(MAX_LABEL))]
Detail = Annotated[str, _optional_text(MAX_DETAIL), WithJsonSchema(label_shape(MAX_DETAIL))]
Instant = Annotated[datetime, checked_by(identity.aware)]
Uuid = Annotated[UUID, checked_by(identity.parse_uuid)]
Ids = Annotated[tuple[Id, ...], FailFast()]
Uuids = Annotated[tuple[Uuid, ...], FailFast()]
Flag = Annotated[bool, Strict()]
# An integer in the sense of JSON Schema: 84.0 is one. It must be last, so that the schema keeps earlier bounds.
WHOLE = BeforeValidator(lambda value: _whole(value))
Unit = Annotated[float, Strict(), checked_by(lambda value, field: _in_unit(value, field)), WithJsonSchema(UNIT)]


@dataclass(frozen=True, slots=True)
class AtMost:
    """The length of a tuple, counted before its items are validated, which ends at the first fault (as `FailFast`).

    A body may hold a million items that are all wrong. Pydantic would validate each before it counted them.
    """

    most: int
    least: int = 0

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = handler(source)
        items: Any = schema["schema"] if schema["type"] == "nullable" else schema
        least = {"min_length": self.least} if self.least else {}
        items |= {**least, "max_length": self.most, "fail_fast": True}
        return no_info_before_validator_function(self._counted, schema)

    def _counted(self, value: object) -> object:
        if isinstance(value, list | tuple) and len(value) > self.most:
            size = {"field_type": "List", "max_length": self.most, "actual_length": len(value)}
            raise PydanticKnownError("too_long", size)
        return value


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _in_unit(value: object, field: str) -> object:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return importance.checked(value, field) if is_number else value  # type: ignore[arg-type]


def validated(model: type[Model], fields: Mapping[str, Any]) -> Model:
    """The request as its model; raises InvalidInput with the dotted path of the first fault."""
    require_depth(fields, "", MAX_DOCUMENT_DEPTH)
    try:
        return model.model_validate(with_few_unknown(model, fields))
    except ValidationError as error:
        raise invalid_input(error, model) from error


def with_few_unknown(model: type[BaseModel], fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields; of very many, only the first that the model does not know, since each of them is a fault."""
    if len(fields) < MANY_FIELDS or model.model_config.get("extra") != "forbid":
        return fields
    known = {name for own, field in model.model_fields.items() for name in (own, field.alias, field.validation_alias)}
    first = next((name for name in fields if name not in known), None)
    return {name: value for name, value in fields.items() if name in known or name == first}


@contextmanager
def within(path: str) -> Iterator[None]:
    """Reports faults of a part with the path in the whole."""
    try:
        yield
    except InvalidInput as error:
        field = path if error.field == "field" else f"{path}.{error.field}"
        raise type(error)(error.message, field=field, fix=error.fix) from error


def invalid_input(error: ValidationError, model: type[BaseModel] | None = None) -> InvalidInput:
    """Pydantic's first error as InvalidInput. `model`: the request that was validated."""
    first = error.errors()[0]
    path, message, fix = fault_of(first, model)
    kind: type[InvalidInput] = first["ctx"].get("kind", InvalidInput) if first["type"] == REFUSED else InvalidInput
    return kind(message, field=path, fix=fix)


def fault_of(complaint: Mapping[str, Any], model: type[BaseModel] | None = None) -> tuple[str, str, str]:
    """A pydantic error in our words: path, message and fix, which names the field that an unknown one stands for."""
    # Truncated, since an unknown field may have any name.
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in complaint["loc"])
    path = "".join(parts).removeprefix(".")[:200]
    if complaint["type"] == REFUSED:
        context = complaint["ctx"]
        return path + context.get("below", ""), context["message"], context["fix"]
    if complaint["type"] == "missing":
        return path, "is missing", _fix("missing")
    if complaint["type"] == "extra_forbidden":
        field = meant(model, complaint["loc"]) if model else None
        return path, "is not known here", f"use {field!r}" if field else "remove it, or correct its name"
    if complaint["type"] in ("too_short", "too_long"):
        return path, *_length(complaint)
    if complaint["type"] in _CONTAINERS:
        return path, f"must be {_CONTAINERS[complaint['type']]}, not {complaint['input']!r:.80}", "correct the value"
    expected = _MEMBER.sub(r"\1", clause(complaint["msg"]))
    return path, f"{expected}, not {complaint['input']!r:.80}", _fix(complaint["type"])


def _length(complaint: Mapping[str, Any]) -> tuple[str, str]:
    """A text, a list or the like that is too short or too long: message and fix."""
    limits, one, many = complaint["ctx"], "entry", "entries"
    if isinstance(complaint["input"], str):
        one, many = "character", "characters"
    least, most, there = limits.get("min_length"), limits.get("max_length"), limits["actual_length"]
    counted = "too many" if there is None else f"{there:,}"  # Of one that is not read to its end.
    given = "is empty" if there == 0 else f"has {counted} {one if there == 1 else many}"
    return given, f"give at least {least}" if least is not None else f"give at most {most}"


# What pydantic calls by the names of Python.
_CONTAINERS = {
    "dict_type": "a JSON object",
    "model_type": "a JSON object",
    "list_type": "a list",
    "tuple_type": "a list",
}
# An enum member as shown in pydantic's messages for literals.
_MEMBER = re.compile(r"<\w+\.\w+: ('[^']*')>")


def clause(message: str) -> str:
    """A pydantic message, to be used within a sentence; quoted values are not changed."""
    return f"{message[:1].lower()}{message[1:]}"


def _fix(kind: str) -> str:
    fixes = {
        "missing": "add this field",
        "bool_type": "give true or false",
        "int_type": "give a whole number",
        "float_type": "give a number",
        "string_type": "give text",
        "enum": "use one of the values that are named",
        "literal_error": "use one of the values that are named",
    }
    return fixes.get(kind, "correct the value")
