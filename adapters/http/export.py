"""The route that exports a user as JSON Lines (X17)."""

import logging
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import Query, Request
from starlette.responses import StreamingResponse

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.export.exporting import head_of, lines
from mnemolog.adapters.export.form import Failed, Head, written
from mnemolog.adapters.http.routes import PREFIX, TheEngine, api_router, require_access
from mnemolog.domain.errors import MnemologError, ServerFailed
from mnemolog.domain.identity import identifier
from mnemolog.events.envelope import StreamId
from mnemolog.events.shapes import id_text_shape

_logger = logging.getLogger("mnemolog.http")

router = api_router(PREFIX, "maintenance")
NDJSON = "application/x-ndjson"
UserInQuery = Annotated[str, Query(json_schema_extra=id_text_shape(), description="The user whose memory it is.")]


@router.get(
    "/user/export",
    summary="Export a user",
    response_class=StreamingResponse,
    responses={200: {"content": {NDJSON: {}}, "description": "A header, then an event a line; or an error."}},
)
async def export_user(user_id: UserInQuery, request: Request, engine: TheEngine) -> StreamingResponse:
    """The same file as `mnemolog user export`. If it fails after its first line, the last line is `{"error": {...}}`.

    A response that was cut off has fewer events than its first line says.
    """
    stream = StreamId.of_user(identifier(user_id, "user_id"), engine.settings.tenant)
    head = await head_of(engine, stream)
    return StreamingResponse(_pieces(request, engine, stream, head), media_type=NDJSON)


async def _pieces(request: Request, engine: Engine, stream: StreamId, head: Head) -> AsyncIterator[bytes]:
    try:
        async for _, piece in lines(engine, stream, head):
            await require_access(request)
            yield piece
    except Exception as error:  # noqa: BLE001  The response has begun: its last line has the error.
        _logger.warning("an export failed: %s", type(error).__name__)  # Its text may quote exported data.
        unforeseen = ServerFailed(fix="export again; if the error persists, run `mnemolog doctor`")
        yield written(Failed(error=(error if isinstance(error, MnemologError) else unforeseen).as_dict()))
