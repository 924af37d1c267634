"""The route that streams a user's changes as server-sent events."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Annotated

from fastapi import Header, Query, Request
from starlette.responses import StreamingResponse

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.http.routes import PREFIX, TheEngine, api_router, require_access
from mnemolog.adapters.operations.watching import Changed, Watch, watch
from mnemolog.adapters.unreachable import UNREACHABLE
from mnemolog.domain.errors import MnemologError, ServerFailed
from mnemolog.events.access import API_KEYS
from mnemolog.events.envelope import MAX_DIGITS

_logger = logging.getLogger("mnemolog.http")

router = api_router(PREFIX, "recall")
EVENTS = "text/event-stream"
NAMES = ("ready", "change", "end", "error")
EVENT = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "description": "The seq to go on after."},
        "event": {"type": "string", "enum": NAMES},
        "data": {"type": "string", "description": "JSON: of a `change`, one change; of an `error`, the error."},
    },
}
# Proxies must pass on what arrives.
UNBUFFERED = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_SEQ = f"^[0-9]{{1,{MAX_DIGITS}}}$"
LastSeen = Annotated[
    str | None,
    Header(
        alias="Last-Event-ID",
        pattern=_SEQ,
        json_schema_extra={"type": "string", "pattern": _SEQ},  # A header is never null.
        description="The last id received: the stream goes on after it, whatever `since` says.",
    ),
]


@router.get(
    "/changes/stream",
    summary="Watch the changes of a user",
    response_class=StreamingResponse,
    responses={200: {"content": {EVENTS: {"schema": EVENT}}, "description": "Server-sent events."}},
)
async def watch_(
    query: Annotated[Watch, Query()], request: Request, engine: TheEngine, last_event_id: LastSeen = None
) -> StreamingResponse:
    """Each `change` event is one change, in the order of the log; its `id` is where to go on after it.

    The first event is `ready`, and a comment comes every 15 seconds. An `error` event ends the stream, and so does
    `end`, once `wait` is over.
    """
    if last_event_id is not None:
        query = query.model_copy(update={"since": int(last_event_id)})
    watched = watch(engine, query, stopping=request.app.state.stopping)
    first = await anext(watched)  # A user out of scope is refused before the answer begins.
    return StreamingResponse(_told(request, engine, watched, first), media_type=EVENTS, headers=UNBUFFERED)


async def _told(
    request: Request, engine: Engine, watched: AsyncGenerator[Changed, None], first: Changed
) -> AsyncIterator[bytes]:
    try:
        async with aclosing(watched), engine.reads.held_open():
            yield _frame("ready", first.seq, f'{{"seq":{first.seq}}}')
            async with aclosing(_permitted(request, engine, watched)) as permitted:
                async for found in permitted:
                    for piece in _pieces(found):
                        yield piece
        if not request.app.state.stopping.is_set():
            yield _frame("end", None, "{}")
    except MnemologError as error:
        yield _frame("error", None, json.dumps(error.as_dict()))
    except UNREACHABLE as fault:
        _logger.warning("a stream of changes ends: %s", type(fault).__name__)
        yield _frame("error", None, json.dumps(ServerFailed(fix="connect again").as_dict()))


async def _permitted(
    request: Request, engine: Engine, watched: AsyncGenerator[Changed, None]
) -> AsyncGenerator[Changed, None]:
    """What is watched. Unauthenticated as soon as the request would be refused."""
    with engine.appends.of(API_KEYS) as appended:
        await engine.appends.listen()
        coming, keys = asyncio.create_task(_next(watched)), asyncio.create_task(appended.wait())
        try:
            while True:
                await asyncio.wait((coming, keys), return_when=asyncio.FIRST_COMPLETED)
                if keys.done():
                    appended.clear()
                    keys = asyncio.create_task(appended.wait())
                    await engine.api_keys.refresh()
                await require_access(request)
                if coming.done():
                    if (found := coming.result()) is None:
                        return
                    coming = asyncio.create_task(_next(watched))
                    yield found
        finally:
            for task in (coming, keys):
                task.cancel()
            await asyncio.gather(coming, keys, return_exceptions=True)


async def _next(watched: AsyncGenerator[Changed, None]) -> Changed | None:
    return await anext(watched, None)


def _pieces(found: Changed) -> list[bytes]:
    """Only the last change of an event has an id, so that a reader who was cut off before it gets all of them again."""
    if not found.changes:
        return [f"id: {found.seq}\n: heartbeat\n\n".encode()]
    following = [*(one.seq for one in found.changes[1:]), None]
    told = zip(found.changes, following, strict=True)
    frames = [_frame("change", None if one.seq == after else one.seq, one.model_dump_json()) for one, after in told]
    return [*frames, f"id: {found.seq}\n\n".encode()]


def _frame(event: str, id_: int | None, data: str) -> bytes:
    place = "" if id_ is None else f"id: {id_}\n"
    return f"{place}event: {event}\ndata: {data}\n\n".encode()
