"""Generates docs/reference/operations.md from the registry of operations (`make reference`)."""

import types
from collections.abc import Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from itertools import groupby
from typing import Annotated, Any, Literal, Union, get_args, get_origin
from uuid import UUID

from pydantic import AwareDatetime, BaseModel
from pydantic.fields import FieldInfo

from mnemolog.adapters.operations.operation import Operation, description_of
from mnemolog.adapters.operations.registry import OPERATIONS
from mnemolog.adapters.operations.requests import Keyed, Paging, ReadOptions, Request, WriteOptions

HEAD = """# Operations

All operations of Mnemolog. Names, fields, results and [errors](errors.md) are the same in Python, on the command line
and over HTTP. This page is generated from the registry of operations by `make reference`.

In Python, all fields except those in parentheses are keyword arguments. On the command line, fields in capitals are
arguments and all others options: `user_id` is `--user-id`; `mnemolog COMMAND --help` lists short forms. Over HTTP,
fields that are not in the path go into the query of a GET or DELETE, otherwise into the JSON body; the idempotency key
is the header `Idempotency-Key`. See also [Command line](cli.md), [HTTP](http.md) and [Python](python.md).
"""
WORDS: Mapping[Any, str] = {
    str: "text",
    bool: "true or false",
    int: "integer",
    float: "number",
    datetime: "time",
    AwareDatetime: "time",
    UUID: "id",
}


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *_shared(), *_operations(), ""])


def _shared() -> Iterator[str]:
    yield "## Common fields\n"
    for title, model in (
        ("Every operation; those on an agent's library have no user", Request),
        ("Every read", ReadOptions),
        ("Every list", Paging),
        ("Every write", Keyed),
        ("Every write to what is known", WriteOptions),
    ):
        own = {name: model.model_fields[name] for name in model.__annotations__}
        yield f"{title}:\n"
        yield from _table(own)


def _operations() -> Iterator[str]:
    for tag, operations in groupby(sorted(OPERATIONS, key=lambda one: one.tag), key=lambda one: one.tag):
        yield f"## {tag.capitalize()}\n"
        for operation in operations:
            yield from _operation(operation)


def _operation(operation: Operation[Any, Any]) -> Iterator[str]:
    yield f"### {operation.name}\n"
    yield f"{operation.summary}. {operation.description}".strip() + "\n"
    arguments = ", ".join(operation.arguments)
    yield f"- Python: `memory.{operation.name}({arguments})`"
    words = " ".join([operation.command, *(one.upper() for one in operation.arguments)])
    yield f"- Command line: `mnemolog {words}`"
    yield f"- HTTP: `{operation.method} /v1{operation.path}`"
    yield f"- Role: `{operation.role}`\n"
    shared = {name for model in (Request, ReadOptions, Paging, WriteOptions) for name in model.model_fields}
    own = {
        name: field
        for name, field in operation.request.model_fields.items()
        if name not in shared or name in operation.request.__annotations__
    }
    yield from _table(own)
    yield f"Result: {_result(operation.result)}\n"


def _table(fields: dict[str, FieldInfo]) -> Iterator[str]:
    if not fields:
        return
    yield "| field | type | default | description |\n|---|---|---|---|"
    for name, field in fields.items():
        default = "required" if field.is_required() else _default(field.default)
        yield f"| `{field.alias or name}` | {type_of(field.annotation)} | {default} | {description_of(field)} |"
    yield ""


def _default(value: Any) -> str:
    if isinstance(value, BaseModel):
        return ""
    if value in (None, (), "", {}):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def type_of(annotation: Any) -> str:
    """A type in plain words."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return type_of(inner[0])
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(type_of(one) for one in inner if one is not types.NoneType))
    if origin is Literal:
        return " ".join(f"`{one}`" for one in inner)
    if origin in (list, tuple):
        return f"list of {type_of(inner[0])}"
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return " ".join(f"`{one.value}`" for one in annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "object: " + ", ".join(f"`{field.alias or name}`" for name, field in annotation.model_fields.items())
    return WORDS.get(annotation, "JSON")


def _result(result: Any) -> str:
    if get_origin(result) in (Union, types.UnionType):
        return " or ".join(_result(one) for one in get_args(result))
    fields = ", ".join(f"`{name}`" for name in result.model_fields)
    of_items = result.__pydantic_generic_metadata__["args"]
    return f"{fields}; each item has {_result(of_items[0])}" if of_items else fields


if __name__ == "__main__":
    print(page(), end="")  # noqa: T201
