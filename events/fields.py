"""Field types for what comes from outside, checked by the domain's rules, and the one way to check a whole request."""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Annotated, Any, TypeVar
from uuid import UUID

from pydantic import BaseModel, BeforeValidator, Strict, ValidationError, ValidationInfo

from mnemolog.domain import identity, importance, text
from mnemolog.domain.errors import InvalidInput

Model = TypeVar("Model", bound=BaseModel)


def _by(rule: Callable[[Any, str], object]) -> BeforeValidator:
    def check(value: object, info: ValidationInfo) -> object:
        return rule(value, info.field_name or "value")

    return BeforeValidator(check)


def _optional_text(value: object, field: str) -> object:
    return "" if value in (None, "") else text.clean(value, field, max_bytes=2000)


def _tenant(value: object, field: str) -> object:
    if isinstance(value, str) and _TENANT.fullmatch(value):
        return value
    raise InvalidInput(
        f"{value!r:.60} is no tenant id", field=field, fix="use 1 to 40 of the characters A-Z a-z 0-9 . _ -"
    )


# Short and plain, so that a tenant is one token of a subject and one part of a stream's name, and can be read back.
_TENANT = re.compile(r"[A-Za-z0-9._-]{1,40}")
Id = Annotated[str, _by(identity.identifier)]
Tenant = Annotated[str, _by(_tenant)]
Text = Annotated[str, _by(text.clean)]
Label = Annotated[str, _by(_optional_text)]
Instant = Annotated[datetime, _by(identity.aware)]
Uuid = Annotated[UUID, _by(identity.parse_uuid)]
Flag = Annotated[bool, Strict()]
Unit = Annotated[float, Strict(), _by(lambda value, field: _in_unit(value, field))]


def _in_unit(value: object, field: str) -> object:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return importance.checked(value, field) if is_number else value  # type: ignore[arg-type]


def validated(model: type[Model], fields: Mapping[str, Any]) -> Model:
    """The request as its model; InvalidInput with the dotted path of the first fault otherwise."""
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        raise invalid_input(error) from error


def invalid_input(error: ValidationError) -> InvalidInput:
    """Pydantic's first complaint as the product's own error."""
    first = error.errors()[0]
    path = ".".join(str(part) for part in first["loc"])
    return InvalidInput(f"{first['msg'].lower()}, not {first['input']!r:.80}", field=path, fix=_fix(first["type"]))


def _fix(kind: str) -> str:
    fixes = {
        "missing": "add this field",
        "extra_forbidden": "leave this field out, or correct its name",
        "bool_type": "give true or false",
        "int_type": "give a whole number",
        "float_type": "give a number",
        "string_type": "give text",
        "enum": "use one of the values that are named",
        "literal_error": "use one of the values that are named",
    }
    return fixes.get(kind, "correct the value")
