"""An operation, defined once for HTTP, the command line and Python.

Decided in docs/decisions/0049-operations-are-defined-once.md.
"""

import inspect
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import wraps
from typing import Annotated, Any, Generic, TypeVar, get_args, get_origin, get_type_hints

from pydantic.fields import FieldInfo

from mnemolog.adapters.operations.engine import Engine
from mnemolog.adapters.operations.requests import AnyRequest, Keyed, request_of
from mnemolog.commands.decider import Command
from mnemolog.domain.principal import Role

Q = TypeVar("Q", bound=AnyRequest)
R = TypeVar("R")
# What operations with these tags write is in tables of its own.
NOT_IN_THE_LOG = frozenset({"webhooks"})
# A field in the path of a route.
PLACE = re.compile(r"{(\w+)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation(Generic[Q, R]):
    """`name` is the Python method and the OpenAPI id, `command` the CLI words, `route` method and path under /v1.
    HTTP answers at `also` as well, if that is not empty: another path for the same.

    The docstring of `run` is the help everywhere: the first sentence is the summary, the rest the description.
    `arguments` are the positional fields in Python and on the command line; all others are keywords. `done` is what the
    command line prints for a write that changed something, such as "Updated". Before an operation that `destroys`, the
    command line shows a dry run and asks for confirmation.
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
    also: str = ""

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
        return issubclass(self.request, Keyed)

    def _help(self) -> str:
        return inspect.cleandoc(self.run.__doc__ or "")


def operation(
    command: str,
    route: str,
    asks: type[Command] | type[AnyRequest] | None = None,
    *,
    tag: str,
    role: Role | None = None,
    arguments: tuple[str, ...] = (),
    done: str = "",
    status: int = 200,
    example: dict[str, Any] | None = None,
    destroys: bool = False,
    lasting: bool = False,
    also: str = "",
) -> Callable[[Callable[[Engine, Q], Awaitable[R]]], Operation[Q, R]]:
    """Turns the decorated function into an operation, with its name, help, request and result.

    `asks` is the request if it is not the annotated one, or the command from which the request is made. `arguments`
    come after the fields that are in the path. The default role is `read` or `write`, or `erase` if it `destroys`.
    One deadline limits all that the operation waits for, unless it destroys or is `lasting`.
    """

    def defined(run: Callable[[Engine, Q], Awaitable[R]]) -> Operation[Q, R]:
        hints = get_type_hints(run, include_extras=True)
        of: Any = asks or next(hint for name, hint in hints.items() if name not in ("engine", "return"))
        request: Any = request_of(of) if issubclass(of, Command) else of
        usual = Role.ERASE if destroys else Role.WRITE if issubclass(request, Keyed) else Role.READ
        return Operation(
            name=run.__name__.removesuffix("_"),
            command=command,
            route=route,
            request=request,
            result=hints["return"],
            run=run
            if destroys or lasting
            else _in_time(run, writes=issubclass(request, Keyed), appends=tag not in NOT_IN_THE_LOG),
            role=role or usual,
            tag=tag,
            arguments=(*PLACE.findall(route), *arguments),
            done=done,
            status=status,
            example=example,
            destroys=destroys,
            also=also,
        )

    return defined


def _in_time(
    run: Callable[[Engine, Q], Awaitable[R]], *, writes: bool, appends: bool
) -> Callable[[Engine, Q], Awaitable[R]]:
    """Within the deadline of writes; of a read, in as much time beyond its own. A read as of a moment takes longer."""

    async def work(engine: Engine, request: Q) -> R:
        return await run(engine, request)

    @wraps(run)
    async def timely(engine: Engine, request: Q) -> R:
        from mnemolog.adapters.deadline import read_within, write_within

        settings = engine.settings
        if writes:
            return await write_within(settings.append_deadline, work(engine, request), appends=appends)
        if getattr(request, "as_of", None) is not None:
            return await run(engine, request)
        own = getattr(request, "deadline", None) or settings.read_deadline
        return await read_within(own + settings.append_deadline, work(engine, request))

    return timely


def description_of(field: FieldInfo) -> str:
    """The description of the field, or else of its type."""
    return field.description or _described(field.annotation) or ""


def _described(annotation: Any) -> str | None:
    if get_origin(annotation) is Annotated:
        own = (one.description for one in get_args(annotation)[1:] if isinstance(one, FieldInfo) and one.description)
        return next(own, None)
    return next((found for one in get_args(annotation) if (found := _described(one))), None)
