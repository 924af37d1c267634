"""The route that carries the bytes of a document."""

from typing import Annotated

from fastapi import Query, Request

from mnemolog.adapters.http.artifacts import BYTES, whole
from mnemolog.adapters.http.routes import PREFIX, IdempotencyKey, TheEngine, api_router, request_without
from mnemolog.adapters.operations.knowledge import AddDocument, DocumentAdded, add_document
from mnemolog.domain.identity import identifier

router = api_router(PREFIX, "knowledge")
_ADD = request_without(AddDocument, {"idempotency_key"}, "AddDocumentQuery")


@router.post(
    "/knowledge",
    status_code=201,
    summary="Add a document",
    openapi_extra={"requestBody": {"content": {"*/*": BYTES}}},
)
async def add_document_(
    query: Annotated[_ADD, Query()],  # type: ignore[valid-type]
    request: Request,
    engine: TheEngine,
    idempotency_key: IdempotencyKey = None,
) -> DocumentAdded:
    """The body is the file, whatever its Content-Type. The same source again updates the document."""
    key = {} if idempotency_key is None else {"idempotency_key": identifier(idempotency_key, "idempotency_key")}
    return await add_document(engine, whole(AddDocument, query, **key), await request.body())
