"""One FastAPI route under /v1 for each operation in the registry."""

import inspect
from functools import partial
from operator import attrgetter
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Header, Path, Query, Request, Security
from fastapi.security import HTTPBearer
from pydantic import BaseModel, ValidationError, ValidatorFunctionWrapHandler, WrapValidator, create_model

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.http.errors import DOCUMENTED
from mnemolog.adapters.operations.operation import Operation, description_of
from mnemolog.domain.identity import identifier
from mnemolog.events.fields import invalid_input, with_few_unknown
from mnemolog.events.shapes import id_text_shape

PREFIX = "/v1"
IN_QUERY = frozenset({"GET", "DELETE"})
# Only for the OpenAPI document: `Authenticated` has checked every request before a route sees it.
BEARER = Security(
    HTTPBearer(auto_error=False, description="The token in http.token of the data directory, or an API key.")
)


def api_router(prefix: str = "", *tags: str, secured: bool = True) -> APIRouter:
    """Routes with the responses common to all of them. Each is named by its function, for generated clients."""
    return APIRouter(
        prefix=prefix,
        tags=[*tags],
        dependencies=[BEARER] if secured else [],
        responses=DOCUMENTED,
        generate_unique_id_function=attrgetter("name"),
    )


async def _engine(request: Request) -> Engine:
    """An engine that acts for the request's principal, restricted to its scope."""
    engine: Engine = request.app.state.engine
    principal = request.state.principal
    return engine.by(principal) if principal else engine.of_anybody()


TheEngine = Annotated[Engine, Depends(_engine)]
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        json_schema_extra=id_text_shape(),
        description="A retry of the same request with the same key changes nothing and gets the first receipt.",
        examples=["9f1c7a52-first-try"],
    ),
]


def add_route(router: APIRouter, operation: Operation[Any, Any]) -> None:
    """Path parameters and the idempotency key come from where HTTP has them, other fields from the body or query."""
    endpoint = _endpoint(operation)
    for path in filter(None, (operation.path, operation.also)):
        router.add_api_route(
            path,
            endpoint,
            methods=[operation.method],
            name=operation.name,
            operation_id=operation.name,
            summary=operation.summary,
            description=operation.description or None,
            status_code=operation.status,
            response_model=operation.result,
            tags=[operation.tag],
            openapi_extra={"x-role": operation.role.value},
            include_in_schema=path == operation.path,
        )


def _endpoint(operation: Operation[Any, Any]) -> Any:
    fields = operation.request.model_fields
    in_path = [name for name in fields if f"{{{name}}}" in operation.path]
    name = "".join(word.title() for word in operation.name.split("_"))
    rest = request_without(operation.request, {*in_path, "idempotency_key"}, name)

    async def endpoint(engine: Engine, request: BaseModel, idempotency_key: str | None = None, **path: Any) -> Any:
        fields = {**path, **{name: getattr(request, name) for name in request.model_fields_set}}
        if idempotency_key is not None:
            fields["idempotency_key"] = identifier(idempotency_key, "idempotency_key")
        return await operation.run(engine, operation.request.model_construct(set(fields), **fields))

    if operation.method in IN_QUERY:
        given: Any = Annotated[rest, Query()]
    else:
        examples = [operation.example] if operation.example else None
        given = Annotated[rest, WrapValidator(partial(_checked, rest)), Body(examples=examples)]
    parameters: dict[str, Any] = {
        name: Annotated[fields[name].rebuild_annotation(), Path(description=description_of(fields[name]))]
        for name in in_path
    }
    parameters |= {"engine": TheEngine, "request": given}
    if operation.writes:
        parameters["idempotency_key"] = IdempotencyKey
    endpoint.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                annotation=annotation,
                default=None if name == "idempotency_key" else inspect.Parameter.empty,
            )
            for name, annotation in parameters.items()
        ]
    )
    endpoint.__name__ = operation.name
    return endpoint


def _checked(request: type[BaseModel], body: Any, validate: ValidatorFunctionWrapHandler) -> Any:
    """The body as a request; raises its first fault: FastAPI would list all of them, of which it may have 100,000."""
    try:
        return validate(with_few_unknown(request, body) if isinstance(body, dict) else body)
    except ValidationError as error:
        if isinstance(body, dict):
            found = invalid_input(error, request)
            raise type(found)(found.message, field=found.field or "body", fix=found.fix) from None
        raise


def request_without(request: type[BaseModel], without: set[str], name: str) -> type[BaseModel]:
    """The request without what comes from elsewhere, under this name."""
    if not without & request.model_fields.keys():
        return request
    kept: dict[str, Any] = {
        name: (field.rebuild_annotation(), field) for name, field in request.model_fields.items() if name not in without
    }
    made: type[BaseModel] = create_model(name, __config__=request.model_config, **kept)
    made.__doc__ = request.__doc__
    return made


async def require_access(request: Request) -> None:
    """Unauthenticated once a response that is still being sent would be refused: its API key was revoked, or it was
    requested without one before the first key was created.
    """
    await request.app.state.callers.of(request.scope)
