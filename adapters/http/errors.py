"""Errors as HTTP responses: maps the error tree to status codes and bodies."""

import inspect
import logging
from collections.abc import Mapping
from typing import Any, cast

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mnemolog.adapters.unreachable import UNREACHABLE, failed
from mnemolog.domain import errors
from mnemolog.domain.errors import InvalidInput, MnemologError, NotFound
from mnemolog.domain.principal import Principal, Role
from mnemolog.events.fields import invalid_input

_logger = logging.getLogger("mnemolog.http")

# The first match applies, so subclasses come before their base class.
STATUS: tuple[tuple[type[MnemologError], int], ...] = (
    (errors.CategoryNotAllowed, 403),
    (errors.Unauthenticated, 401),
    (errors.NotPermitted, 403),
    (errors.InvalidInput, 422),
    (errors.Erased, 410),
    (errors.NotFound, 404),
    (errors.Conflict, 409),
    (errors.TooManyRequests, 429),
    (errors.ReadTimeout, 504),
    (errors.ProjectionPoisoned, 503),
    (errors.AppendTimeout, 503),
    (errors.Overloaded, 503),
    (errors.EngineError, 503),
    (errors.MnemologError, 500),
)
RETRY_SECONDS = 1


class Problem(BaseModel):
    """The error: message, field and fix."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "code": "invalid_input",
                    "message": "is empty",
                    "field": "query",
                    "fix": "send at least one visible character",
                }
            ]
        }
    )

    code: str = Field(description="Stable: match on this.")
    message: str = Field(description="For people; may change.")
    field: str = Field(description="The field concerned, as a dotted path, or .")
    fix: str = Field(description="What to do about it, or .")


class ErrorAnswer(BaseModel):
    """The body of every error response."""

    error: Problem


SCHEMAS = "#/components/schemas/"
# By reference, because FastAPI would otherwise build the model again for each status of each route.
_BODY = {"application/json": {"schema": {"$ref": SCHEMAS + ErrorAnswer.__name__}}}
DOCUMENTED: dict[int | str, dict[str, Any]] = {
    status: {"content": _BODY, "description": description}
    for status, description in {
        401: "Missing, invalid or revoked API key.",
        403: "The API key or the agent is not permitted to do this.",
        404: "The user has nothing with this id that the agent may see.",
        410: "The memory was erased: its text is destroyed.",
        409: "The request conflicts with stored data.",
        413: "The body is larger than 2 MiB.",
        422: "A field is invalid; `field` names it.",
        429: "This caller has too many open reads; `Retry-After` says when to retry.",
        503: "A server does not answer.",
        504: "The writes to include did not become visible in time.",
    }.items()
}


def answer_errors(app: FastAPI) -> None:
    """Map every exception of a route to a response. Unexpected ones become a 500 without details."""
    app.add_exception_handler(MnemologError, _on_error)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(HTTPException, _on_http)
    app.add_exception_handler(ClientDisconnect, _on_half_a_body)
    app.add_exception_handler(Exception, _on_unforeseen)
    for unreachable in UNREACHABLE:
        app.add_exception_handler(unreachable, _on_unreachable)


class Unforeseen:
    """Answers what nobody foresaw, inside the other layers, which may add their headers.

    Starlette's own answer is given outside of all layers; a page of another origin could not read it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def noticed(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, noticed)
        except Exception:
            if scope["type"] == "http" and not begun:
                await _unforeseen()(scope, receive, send)
            raise  # The traceback goes to the server's log.


def status_of(error: MnemologError) -> int:
    return next(status for kind, status in STATUS if isinstance(error, kind))


def error_answer(error: MnemologError, status: int, headers: Mapping[str, str] | None = None) -> Response:
    """The body `{"error": {...}}`."""
    return JSONResponse({"error": error.as_dict()}, status, headers)


async def _on_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, MnemologError)
    status = status_of(error)
    if status >= 500:
        _logger.warning("%s %s: %s", request.method, request.url.path, error)
    retry = {"Retry-After": str(RETRY_SECONDS)} if status in (429, 503) else None
    principal: Principal | None = request.state.principal
    fields = error.as_dict() if principal is None or principal.may(Role.READ) else error.plain()
    return JSONResponse({"error": fields}, status, retry)


async def _on_invalid(request: Request, error: Exception) -> Response:
    """Errors of FastAPI's validation, in the form of our own."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    parameters = inspect.signature(request.scope["endpoint"]).parameters
    annotated = parameters["request"].annotation if "request" in parameters else None
    model = getattr(annotated, "__origin__", annotated)
    model = model if isinstance(model, type) and issubclass(model, BaseModel) else None
    found = invalid_input(cast(ValidationError, error), model)  # Both list their errors in the same form.
    place, _, path = found.field.partition(".")
    no_object = not path and first["type"] in ("missing", "model_attributes_type")
    fix = "send one JSON object with Content-Type: application/json" if no_object else found.fix
    return error_answer(type(found)(found.message, field=path or place, fix=fix), 422)


async def _on_http(request: Request, error: Exception) -> Response:
    """Errors of the framework: an unknown route or method, a body that is too large or not UTF-8."""
    assert isinstance(error, HTTPException)
    match error.status_code:
        case 404:
            problem: MnemologError = NotFound(f"there is no route {request.url.path}", field="path", fix="see /docs")
        case 405:
            problem = InvalidInput(f"{request.method} is not supported here", field="method", fix="see /docs")
        case 413:
            problem = InvalidInput(error.detail, field="body", fix="send a smaller request")
        case 400 if isinstance(error.__cause__, MnemologError):
            return error_answer(error.__cause__, status_of(error.__cause__))
        case 400:
            what = "is not JSON: it cannot be decoded"
            return error_answer(InvalidInput(what, field="body", fix="send one JSON object in UTF-8"), 422)
        case _:
            problem = MnemologError(error.detail)
    return error_answer(problem, error.status_code, error.headers)


async def _on_half_a_body(request: Request, error: Exception) -> Response:
    """Nobody reads it: the connection was closed. It is counted, and is not the server's fault."""
    return error_answer(InvalidInput("ended too early", field="body", fix="send it again"), 422)


async def _on_unreachable(request: Request, error: Exception) -> Response:
    # The error's text may contain an address or a statement with values, so it is neither returned nor logged.
    _logger.warning("%s %s: %s", request.method, request.url.path, type(error).__name__)
    return error_answer(failed(error), 503, {"Retry-After": str(RETRY_SECONDS)})


async def _on_unforeseen(request: Request, error: Exception) -> Response:
    """Of a layer around the routes. Starlette raises the error again after the response."""
    return _unforeseen()


def _unforeseen() -> Response:
    return error_answer(MnemologError(fix="this is a bug: report it with the server's log"), 500)
