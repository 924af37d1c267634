"""One Typer command for each operation in the registry."""

import inspect
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from mnemolog.adapters.cli import ids, output, panels
from mnemolog.adapters.cli.erased_texts import texts_of
from mnemolog.adapters.cli.options import Json, Yes
from mnemolog.adapters.cli.session import settings_of, with_engine
from mnemolog.adapters.cli.show import show, show_erased
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.operations.erasure import Erased, Proof
from mnemolog.adapters.operations.operation import Operation, description_of
from mnemolog.adapters.operations.registry import OPERATIONS
from mnemolog.domain.errors import InvalidInput, NestedTooDeep
from mnemolog.domain.json_value import parsed_json
from mnemolog.domain.principal import Role
from mnemolog.events.fields import validated

# Short names of options.
SHORT = {
    "user_id": ("--user", "-u"),
    "agent_id": ("--agent", "-a"),
    "thread_id": ("--thread", "-t"),
    "run_id": ("--run",),
    "idempotency_key": ("--key",),
    "limit": ("-n",),
    "top_k": ("-k",),
    "categories": ("--category", "-c"),
    "filters": ("--filter", "-f"),
    "budget_tokens": ("--budget",),
    "entity_refs": ("--ref",),
    "entity_ids": ("--entity",),
    "topics": ("--topic",),
    "aliases": ("--alias",),
    "source_turn_ids": ("--turn",),
}
# An argument that means standard input.
STDIN = "-"
_NAME = re.compile("`([a-z_]+)`")
_COMMANDS = {one.name: one.command for one in OPERATIONS}
_OBJECTS = re.compile(r"\s*(\[\s*)?\{")
FROM_ENVIRONMENT = {"user_id": "MNEMOLOG_USER"}


GROUPS = {
    "entity": "People, places and things that a user mentions.",
    "fact": "Bitemporal facts about people, places and things.",
    "envelope": "What an agent gives its model to answer a message.",
    "profile": "What a user says about themselves, field by field.",
    "consent": "Proposed profile changes awaiting the user's consent.",
    "message": "The messages of conversations.",
    "summary": "Summaries of conversations.",
    "thread": "Conversations.",
    "episode": "The topic chapters of conversations.",
    "affect": "The mood of a conversation, which fades by itself.",
    "focus": "What a conversation is about.",
    "user": "Export, import or erase a user.",
    "artifact": "Files and links of a conversation.",
    "knowledge": "The libraries of agents: documents, divided into chunks.",
    "cluster": "The clusters of an agent's scenes.",
    "patrol": "Age, consolidate and regroup the scenes of an agent.",
    "being": "What is kept for a being: its soul, rules, notes, diary and so on. Each agent has its own.",
    "webhook": "Send changes to URLs, signed.",
    "todo": "Commitments, habits, open threads and frictions, each kept by one agent.",
}


def add_command(app: typer.Typer, operation: Operation[Any, Any]) -> None:
    """Registers a command by its words: `entity add` is `add` in the group `entity`."""
    *group, name = operation.command.split()
    panel = panels.CHANGE if operation.writes else panels.READ
    panel = panels.ERASE if operation.role is Role.ERASE else panel
    words = _in_commands(f"{operation.summary}.\n\n{operation.description}".strip())
    for one in group:
        app = group_of(app, one)
    app.command(name, help=words, rich_help_panel=None if group else panel)(_command(operation))


def _in_commands(words: str) -> str:
    """The names of operations as commands: `erase_message` is `message erase`."""
    return _NAME.sub(lambda found: f"`{_COMMANDS.get(found[1], found[1])}`", words)


def group_of(app: typer.Typer, name: str) -> typer.Typer:
    """The group with this name, created at its first use."""
    found = next((one.typer_instance for one in app.registered_groups if one.name == name), None)
    if found is None:
        found = typer.Typer(help=GROUPS[name], no_args_is_help=True)
        app.add_typer(found, name=name, rich_help_panel=panels.CHANGE)
    return found


def _command(operation: Operation[Any, Any]) -> Callable[..., None]:
    def command(context: typer.Context, as_json: bool, yes: bool = False, **values: Any) -> None:
        fields = fields_of(operation.request, values)
        if operation.destroys and not yes and not values["dry_run"]:
            if not as_json:
                ask(context, operation, {**fields, "dry_run": True}, as_json=False)
            typer.confirm("Erase this permanently?", abort=True, err=True)
        ask(context, operation, fields, as_json=as_json)

    more = {"yes": (Yes, False)} if operation.destroys else {}
    command.__signature__ = signature_of(operation.request, operation.arguments, **more)  # type: ignore[attr-defined]
    return command


def signature_of(request: type[BaseModel], arguments: Sequence[str] = (), **more: tuple[Any, Any]) -> inspect.Signature:
    """The parameters of a command for a request: its fields, of which some are arguments, `more` and `as_json`."""
    return inspect.Signature(
        [
            _parameter("context", typer.Context),
            *(_field(request, arguments, name) for name in _ordered(request, arguments)),
            *(_parameter(name, *one) for name, one in more.items()),
            _parameter("as_json", Json, False),
        ]
    )


def fields_of(request: type[BaseModel], values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a request that were given on the command line."""
    given = {name: value for name, value in values.items() if value not in (None, [], ())}
    return {name: _value(name, request.model_fields[name], value) for name, value in given.items()}


def ask(context: typer.Context, operation: Operation[Any, Any], fields: Mapping[str, Any], *, as_json: bool) -> None:
    """Run an operation and show its result. The exit code is 1 if a proof fails."""
    request = validated(operation.request, ids.with_placeholders(operation, fields))

    async def run(engine: Engine) -> tuple[Any, Any, Mapping[str, str]]:
        request = validated(operation.request, await ids.completed(engine, operation, fields))
        engine.report = lambda how_far: status.update(f"{operation.summary}: {how_far}")
        result = await operation.run(engine, request)
        rehearsed = isinstance(result, Erased) and not result.receipt and not as_json
        return request, result, await texts_of(engine, request, result) if rehearsed else {}

    with output.errors.status(operation.summary) as status:
        request, result, texts = with_engine(settings_of(context.obj), run)
    if as_json:
        output.as_json(result.model_dump(mode="json", by_alias=True))
    elif texts:
        show_erased(result, texts)
    else:
        show(operation, request, result)
    if isinstance(result, Proof) and not result.erased:
        raise typer.Exit(1)


def _ordered(request: type[BaseModel], arguments: Sequence[str]) -> list[str]:
    """Arguments, then required options, then the request's own options, then the common ones."""
    fields = request.model_fields
    common = [name for base in request.__mro__[1:] for name in getattr(base, "__annotations__", {})]
    place = {name: (not field.is_required(), name in common) for name, field in fields.items()}
    return [*arguments, *sorted((one for one in fields if one not in arguments), key=place.__getitem__)]


def _field(request: type[BaseModel], arguments: Sequence[str], name: str) -> inspect.Parameter:
    field = request.model_fields[name]
    kind, many = _type(field)
    described = _help(field)
    if name in arguments:
        metavar = (field.alias or name).upper()
        argument = typer.Argument(help=described, metavar=metavar, show_default=False)
        default = inspect.Parameter.empty if field.is_required() else None
        return _parameter(name, Annotated[list[kind] if many else kind, argument], default)  # type: ignore[valid-type]
    flag = (field.alias or name).replace("_", "-")
    others = {f"--{one.alias or own}" for own, one in request.model_fields.items() if own != name}
    names = [f"--{flag}", *(one for one in SHORT.get(name, ()) if one not in others)]
    if kind is bool:
        names[0] = f"--{flag}/--no-{flag}"
    option = typer.Option(*names, help=described, show_default=False, envvar=FROM_ENVIRONMENT.get(name))
    annotation: Any = list[kind] if many else kind  # type: ignore[valid-type]
    if field.is_required():
        return _parameter(name, Annotated[annotation, option])
    return _parameter(name, Annotated[annotation | None, option], None)


def _help(field: FieldInfo) -> str:
    """The description, the allowed values and the default of a field."""
    annotation = _without_none(field.annotation)
    parts = [description_of(field)]
    if len(choices := _choices(field.annotation)) > 1:
        parts.append(f"One of {', '.join(choices)}.")
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        parts.append(f"As NAME=VALUE, where NAME is one of {', '.join(annotation.model_fields)}; repeatable.")
        parts.append("Or as one JSON object; `-` reads it from standard input.")
    if _is_json_list(field):
        parts.append("`-` reads it from standard input.")
    if field.default and isinstance(field.default, str | int | float):
        parts.append(f"Default: {field.default}.")
    return " ".join(parts)


def _choices(annotation: Any) -> Sequence[str]:
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return [one.value for one in annotation]
    if get_origin(annotation) is Literal:
        return [str(one) for one in get_args(annotation)]
    return next((found for one in get_args(annotation) if (found := _choices(one))), ())


def _parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _type(field: FieldInfo) -> tuple[type, bool]:
    """The type on the command line, and whether the option is repeatable. All other types are text, validated by the
    field.
    """
    annotation = _without_none(field.annotation)
    if _is_json(field):
        return (str, True) if isinstance(annotation, type) and issubclass(annotation, BaseModel) else (str, False)
    if get_origin(annotation) in (tuple, list):
        return str, True
    return (annotation if annotation in (bool, int, float) else str), False


def _value(name: str, field: FieldInfo, value: Any) -> Any:
    """An object is given as JSON or, if its names are known, as repeatable `name=value`; an object in a list as JSON or
    as text. A single `-` reads it from standard input.
    """
    if not _is_json(field) and not _is_json_list(field):
        return tuple(value) if isinstance(value, list) else value
    if piped := value == [STDIN]:
        value = [_piped(name)]
    if _is_json_list(field):
        given = [_parsed(name, one) if _OBJECTS.match(one) else one for one in value]
        return given[0] if len(given) == 1 else given
    if piped or not isinstance(value, list):
        return _parsed(name, value[0] if piped else value)
    if len(value) == 1 and _OBJECTS.match(value[0]):
        return _parsed(name, value[0])
    return dict(_pair(name, _without_none(field.annotation), one) for one in value)


def _piped(name: str) -> str:
    try:
        return sys.stdin.read()
    except UnicodeDecodeError as error:
        raise InvalidInput("is not UTF-8", field=name, fix="send text in UTF-8") from error


def _pair(name: str, model: type[BaseModel], text: str) -> tuple[str, Any]:
    key, found, value = text.partition("=")
    if not found:
        raise InvalidInput(f"{text!r:.60} has no value", field=f"{name}.{key}", fix=f"write {key}=VALUE")
    many = key in model.model_fields and _type(model.model_fields[key])[1]
    if many and not value.startswith("["):
        return key, tuple(value.split(","))
    try:
        return key, json.loads(value)
    except (ValueError, RecursionError):
        return key, value


def _parsed(name: str, text: str) -> Any:
    try:
        return parsed_json(text, name)
    except NestedTooDeep:
        raise
    except InvalidInput as error:
        raise InvalidInput(
            f"{text!r:.60} is not JSON", field=name, fix='give a JSON object, such as {"a": 1}'
        ) from error


def _is_json(field: FieldInfo) -> bool:
    annotation = _without_none(field.annotation)
    return get_origin(annotation) is dict or (isinstance(annotation, type) and issubclass(annotation, BaseModel))


def _is_json_list(field: FieldInfo) -> bool:
    annotation = _without_none(field.annotation)
    kind = get_args(annotation)[0] if get_origin(annotation) is tuple else None
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _without_none(annotation: Any) -> Any:
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) in (Union, UnionType):
        kinds = [one for one in get_args(annotation) if one is not NoneType]
        return _without_none(kinds[0]) if len(kinds) == 1 else str
    if get_origin(annotation) is Literal:
        return str
    return annotation
