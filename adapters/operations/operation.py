"""An operation: one thing that can be asked, defined once for every face.

Decided in docs/decisions/0049-operations-are-defined-once.md.
"""

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeVar, get_args, get_origin, get_type_hints

from pydantic.fields import FieldInfo

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.operations.requests import Request, Write, request_of
from mnemolog.commands.decider import Command
from mnemolog.domain.principal import Role

Q = TypeVar("Q", bound=Request)
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation(Generic[Q, R]):
    """`name` is the Python verb and the OpenAPI id, `command` the words of the CLI, `route` method and path under /v1.

    What `run` says of itself is the help of every face: its first sentence the summary, the rest the description.
    `arguments` are the fields that Python and the command line take by position; all others go by name. `done` is what
    the command line says of a write that changed something, such as "Updated". Before an operation that `destroys` it
    shows a dry run, and asks.
    """

    name: str
    command: str
    route: str
    request: type[Q]
    result: Any
    run: Callable[[Engine, Q], Awaitable[R]]
    role: Role
    tag: str
    arguments: tuple[str, ...] = ()
    done: str = ""
    destroys: bool = False
    status: int = 200
    example: dict[str, Any] | None = None

    @property
    def method(self) -> str:
        return self.route.split()[0]

    @property
    def path(self) -> str:
        return self.route.split()[1]

    @property
    def summary(self) -> str:
        return self._help().partition("\n\n")[0].replace("\n", " ").removesuffix(".")

    @property
    def description(self) -> str:
        return self._help().partition("\n\n")[2].replace("\n", " ")

    @property
    def writes(self) -> bool:
        return issubclass(self.request, Write)

    def _help(self) -> str:
        return inspect.cleandoc(self.run.__doc__ or "")


def operation(
    command: str,
    route: str,
    asks: type[Command] | type[Request] | None = None,
    *,
    tag: str,
    role: Role | None = None,
    arguments: tuple[str, ...] = (),
    done: str = "",
    status: int = 200,
    example: dict[str, Any] | None = None,
    destroys: bool = False,
) -> Callable[[Callable[[Engine, Q], Awaitable[R]]], Operation[Q, R]]:
    """Makes an operation of the function below, which gives it its name, its help, its request and its result.

    `asks` is the request where it is not the annotated one, or the command that the request is made from. The role is
    `read` or `write` unless it is given.
    """

    def defined(run: Callable[[Engine, Q], Awaitable[R]]) -> Operation[Q, R]:
        hints = get_type_hints(run, include_extras=True)
        asked: Any = asks or hints["asked"]
        request: Any = request_of(asked) if issubclass(asked, Command) else asked
        return Operation(
            name=run.__name__.removesuffix("_"),
            command=command,
            route=route,
            request=request,
            result=hints["return"],
            run=run,
            role=role or (Role.WRITE if issubclass(request, Write) else Role.READ),
            tag=tag,
            arguments=arguments,
            done=done,
            status=status,
            example=example,
            destroys=destroys,
        )

    return defined


def description_of(field: FieldInfo) -> str:
    """What the field itself says, or else what its type does."""
    return field.description or _described(field.annotation) or ""


def _described(annotation: Any) -> str | None:
    if get_origin(annotation) is Annotated:
        own = (one.description for one in get_args(annotation)[1:] if isinstance(one, FieldInfo) and one.description)
        return next(own, None)
    return next((found for one in get_args(annotation) if (found := _described(one))), None)
