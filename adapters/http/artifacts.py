"""The routes that carry the bytes of artifacts."""

import re
from typing import Annotated, Any, TypeVar
from urllib.parse import quote

from fastapi import Path, Query, Request, Response
from pydantic import BaseModel

from mnemolog.adapters.http.routes import PREFIX, IdempotencyKey, TheEngine, api_router, request_without
from mnemolog.adapters.operations.artifacts import (
    AddArtifact,
    ArtifactAdded,
    ArtifactRead,
    add_artifact,
    download_artifact,
)
from mnemolog.domain.identity import identifier
from mnemolog.events.fields import Uuid

R = TypeVar("R", bound=BaseModel)

router = api_router(PREFIX, "artifacts")
BINARY = "application/octet-stream"
_ADD = request_without(AddArtifact, {"idempotency_key"}, "AddArtifactQuery")
_READ = request_without(ArtifactRead, {"artifact_id"}, "DownloadArtifactQuery")
BYTES = {"schema": {"type": "string", "format": "binary"}}
_MIME = re.compile(r"[a-z0-9!#$&^_.+-]{1,60}/[a-z0-9!#$&^_.+-]{1,60}", re.IGNORECASE)


@router.post(
    "/artifacts",
    status_code=201,
    summary="Add a file or link",
    openapi_extra={"requestBody": {"content": {"*/*": BYTES}}},
)
async def add_artifact_(
    query: Annotated[_ADD, Query()],  # type: ignore[valid-type]
    request: Request,
    engine: TheEngine,
    idempotency_key: IdempotencyKey = None,
) -> ArtifactAdded:
    """The body is the file, whatever its Content-Type; without a body, `url` makes a link.

    Its text is extracted in the background. The same content again changes nothing.
    """
    content = await request.body() or None
    key = {} if idempotency_key is None else {"idempotency_key": identifier(idempotency_key, "idempotency_key")}
    return await add_artifact(engine, whole(AddArtifact, query, **key), content)


@router.get(
    "/artifacts/{artifact_id}/content",
    summary="Download the file of an artifact",
    response_class=Response,
    responses={200: {"content": {BINARY: BYTES}, "description": "The file."}},
)
async def download_artifact_(
    artifact_id: Annotated[Uuid, Path(description="The artifact's id.")],
    query: Annotated[_READ, Query()],  # type: ignore[valid-type]
    engine: TheEngine,
) -> Response:
    """Sent as an attachment, which no browser opens as a page of this server."""
    found, content = await download_artifact(engine, whole(ArtifactRead, query, artifact_id=artifact_id))
    headers = {
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(found.name or found.label, safe='')}",
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "sandbox; default-src 'none'",
    }
    mime = found.mime if _MIME.fullmatch(found.mime) else BINARY
    return Response(content, media_type=mime, headers=headers)


def whole(model: type[R], query: BaseModel, **more: Any) -> R:
    given = {**{name: getattr(query, name) for name in query.model_fields_set}, **more}
    return model.model_construct(set(given), **given)
