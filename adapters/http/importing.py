"""The route that imports an exported user as JSON Lines, with progress in the response (X17)."""

import asyncio
import logging
from asyncio import to_thread
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import datetime
from tempfile import TemporaryFile
from typing import IO, Any

from fastapi import Request
from pydantic_core import to_json
from starlette.responses import StreamingResponse

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.export.exporting import require_admin
from mnemolog.adapters.export.importing import Checked, checked, imported
from mnemolog.adapters.http.export import NDJSON, UserInQuery
from mnemolog.adapters.http.routes import PREFIX, TheEngine, api_router
from mnemolog.domain.errors import InvalidInput, LogError, MnemologError
from mnemolog.domain.identity import identifier
from mnemolog.events.envelope import Receipt, StreamId

_logger = logging.getLogger("mnemolog.http")

router = api_router(PREFIX, "maintenance")

CHUNK = 1 << 20


@router.post(
    "/user/import",
    summary="Import a user",
    response_class=StreamingResponse,
    openapi_extra={"requestBody": {"required": True, "content": {NDJSON: {"schema": {"type": "string"}}}}},
    responses={200: {"content": {NDJSON: {}}, "description": "Progress, and the receipt in the last line."}},
)
async def import_user(user_id: UserInQuery, request: Request, engine: TheEngine) -> StreamingResponse:
    """The body is an export with any number of events. It is checked completely, then written completely or not at all.

    The response has a line `{"written": 100, "events": 4200}` from time to time and `{"receipt": {...}}` at the end; or
    `{"error": {...}}`, and nothing was written. The same body again changes nothing.
    """
    name = identifier(user_id, "user_id")
    require_admin(engine, StreamId.of_user(name, engine.settings.tenant))
    file: IO[bytes] = await to_thread(lambda: TemporaryFile(dir=engine.settings.directory))  # noqa: SIM115
    try:
        # Only one chunk is in memory.
        chunks: list[bytes] = []
        async for chunk in request.stream():
            chunks.append(chunk)
            if sum(map(len, chunks)) >= CHUNK:
                await to_thread(file.writelines, chunks)
                chunks = []
        await to_thread(file.writelines, chunks)
        found = await to_thread(_checked, file, engine.writes.now())
        lines = _Lines(engine, found, name)
        await lines.begun()
    except BaseException:
        file.close()
        raise
    return StreamingResponse(lines.reported(file), media_type=NDJSON)


def _checked(file: IO[bytes], now: datetime) -> Checked:
    try:
        return checked(file, now)
    except LogError as error:  # The reason goes into the response, not into our log.
        raise InvalidInput(error.message, field=error.field, fix=error.fix) from error


class _Lines:
    """A running import and its progress lines. An error before its first batch fails the request."""

    def __init__(self, engine: Engine, file: Checked, user_id: str) -> None:
        self._total, self._written, self._moved = file.head.events, 0, asyncio.Event()
        self._task = asyncio.create_task(imported(engine, file, user_id, self._progressed))
        self._task.add_done_callback(lambda task: self._moved.set())

    async def begun(self) -> None:
        """If the request is cancelled before then, nothing is written."""
        try:
            await self._moved.wait()
        except asyncio.CancelledError:
            await self._stopped()
            raise
        if self._task.done():
            self._task.result()

    async def reported(self, file: IO[bytes]) -> AsyncIterator[bytes]:
        """If the client disconnects before the end, nothing is written."""
        try:
            reported = 0
            while not self._task.done():
                self._moved.clear()
                if self._written > reported:
                    reported = self._written
                    yield _line({"written": reported, "events": self._total})
                await self._moved.wait()
            yield _line(self._end())
        finally:
            await self._stopped()
            file.close()

    async def _stopped(self) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await self._task

    def _end(self) -> dict[str, Any]:
        try:
            receipt: Receipt = self._task.result()
        except MnemologError as error:
            return {"error": error.as_dict()}
        except Exception as error:  # noqa: BLE001  The response has begun: its last line has the error.
            _logger.error("an import failed: %s", type(error).__name__)  # Its text may quote imported data.
            return {"error": MnemologError("the import failed; nothing was written", fix="send it again").as_dict()}
        return {"receipt": receipt.as_dict()}

    def _progressed(self, count: int) -> None:
        self._written += count
        self._moved.set()


def _line(value: dict[str, Any]) -> bytes:
    return to_json(value) + b"\n"
