"""An engine that starts at the first use, who asks of it, and what was written through it."""

import asyncio
from contextlib import AsyncExitStack
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar
from uuid import UUID

from mnemolog.adapters.config import load
from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.adapters.engine.moment import Moment
from mnemolog.commands.memories import MemoryCommand
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.identity import aware, identifier
from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import Position, Receipt, StreamId
from mnemolog.events.fields import validated

CommandType = TypeVar("CommandType", bound=MemoryCommand)


class Opening:
    """Opens its engine once, however many ask at the same time, and sees its own writes."""

    def __init__(
        self,
        data_dir: str | Path | None = None,
        *,
        user_id: str | None = None,
        agent_id: str = "default",
        thread_id: str = "main",
        **settings: Any,
    ) -> None:
        self._settings = load(data_dir=data_dir, http_port=0, **settings)
        self._user_id = None if user_id is None else identifier(user_id, "user_id")
        self._agent_id, self._thread_id = identifier(agent_id, "agent_id"), identifier(thread_id, "thread_id")
        self._stack = AsyncExitStack()
        self._opened: Engine | None = None
        self._opening = asyncio.Lock()
        self._written: dict[StreamId, int] = {}

    async def __aenter__(self) -> Self:
        await self._engine()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop the servers. Nothing is lost; the next use starts them again."""
        self._opened = None
        await self._stack.aclose()

    async def _engine(self) -> Engine:
        async with self._opening:
            if self._opened is None:
                engine = await self._stack.enter_async_context(open_engine(self._settings))
                self._opened = await engine.authenticated()
                self._settings = self._opened.settings  # The tenant is that of the API key.
            return self._opened

    async def _execute(self, command: type[CommandType], user_id: str, memory_id: UUID | str, **fields: Any) -> Receipt:
        engine = await self._engine()
        request = validated(command, {**self._who(user_id), "memory_id": memory_id, **fields})
        return self._noted(await engine.writes.execute(request))

    def _who(self, user_id: str) -> dict[str, str]:
        return {
            "tenant": self._settings.tenant,
            "user_id": user_id,
            "agent_id": self._agent_id,
            "thread_id": self._thread_id,
        }

    def _stream(self, user_id: str) -> StreamId:
        return StreamId.of_user(identifier(user_id, "user_id"), self._settings.tenant)

    def _viewer(self, user_id: str) -> Viewer:
        return Viewer(self._settings.tenant, user_id, self._agent_id)

    def _noted(self, receipt: Receipt) -> Receipt:
        self._written[receipt.stream] = max(receipt.last_seq, self._written.get(receipt.stream, 0))
        return receipt

    async def _moment(
        self,
        stream: StreamId,
        as_of: datetime | str | int | None,
        after: Receipt | str | None = None,
        deadline: float | None = None,
    ) -> Moment:
        if as_of is None:
            if stream not in self._written:  # What earlier processes wrote is seen too.
                self._written[stream] = await (await self._engine()).log.head(stream)
            seen = Position(stream, self._written[stream])
            asked = seen if after is None else Position.of_token(after if isinstance(after, str) else after.token)
            return Moment(after=seen if asked.stream == stream and asked.seq < seen.seq else asked, deadline=deadline)
        if isinstance(as_of, bool) or (isinstance(as_of, int) and as_of < 0):
            raise InvalidInput(f"{as_of!r} is no moment", field="as_of", fix="give a time with its offset, or a seq")
        return Moment(as_of=as_of if isinstance(as_of, int) else aware(as_of, "as_of"))
