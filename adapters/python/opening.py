"""The engine of an object, who asks of it, and what was written through it."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar
from uuid import UUID
from weakref import WeakKeyDictionary

from mnemolog.adapters.background.shared import SharedEngine, with_own
from mnemolog.adapters.config import load
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.engine.moment import Moment
from mnemolog.adapters.unreachable import UNREACHABLE, own_words
from mnemolog.commands.memories import MemoryCommand
from mnemolog.domain.errors import EngineEnded, InvalidInput
from mnemolog.domain.identity import aware, identifier
from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import Position, Receipt, StreamId
from mnemolog.events.fields import validated

CommandType = TypeVar("CommandType", bound=MemoryCommand)
P = ParamSpec("P")
T = TypeVar("T")
O = TypeVar("O", bound="Opening")  # noqa: E741


class Opening:
    """Has an engine from its first use to `close`, which it shares with other objects, and sees its own writes."""

    def __init__(
        self, data_dir: str | Path | None = None, *, agent_id: str = "default", thread_id: str = "main", **settings: Any
    ) -> None:
        self._settings = load(data_dir=data_dir, http_port=0, **settings)
        self._agent_id, self._thread_id = identifier(agent_id, "agent_id"), identifier(thread_id, "thread_id")
        self._uses: WeakKeyDictionary[asyncio.AbstractEventLoop, _Use] = WeakKeyDictionary()
        self._written: dict[StreamId, int] = {}

    def __init_subclass__(cls) -> None:
        """Every verb tells of a server or an engine that went away by an error of ours."""
        for name, member in list(vars(cls).items()):
            if inspect.iscoroutinefunction(member) and not name.startswith("_"):
                setattr(cls, name, _guarded(member))

    async def __aenter__(self) -> Self:
        await self._engine()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the engine. Nothing is lost; the next use finds it again, or starts it."""
        if use := self._uses.pop(asyncio.get_running_loop(), None):
            await use.shared.release()

    async def _engine(self) -> Engine:
        use = self._use()
        engine = await use.shared.engine()
        if use.engine is not engine:
            use.bound, use.engine = await with_own(engine, self._settings).authenticated(), engine
            self._settings = use.bound.settings  # The tenant is that of the API key.
        assert use.bound is not None
        return use.bound

    def _use(self) -> "_Use":
        loop = asyncio.get_running_loop()
        if loop not in self._uses:
            self._uses[loop] = _Use(SharedEngine.of(self._settings))
            self._uses[loop].shared.users += 1
        return self._uses[loop]

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


@dataclass(slots=True)
class _Use:
    """An object's part in an engine that it shares: `bound` is `engine` in the name of its API key."""

    shared: SharedEngine
    engine: Engine | None = None
    bound: Engine | None = None


def _guarded(verb: Callable[Concatenate[O, P], Awaitable[T]]) -> Callable[Concatenate[O, P], Coroutine[Any, Any, T]]:
    """While it runs, an engine that ends is replaced. What the drivers raise becomes EngineEnded or ServerFailed."""

    @wraps(verb)
    async def guarded(self: O, /, *args: P.args, **kwargs: P.kwargs) -> T:
        shared = self._use().shared
        shared.calls += 1
        try:
            return await verb(self, *args, **kwargs)
        except UNREACHABLE as fault:
            if isinstance(fault, OSError) and fault.filename is not None:
                raise  # A file that the caller named.
            raise _gone(fault) from fault
        finally:
            shared.calls -= 1

    return guarded


def _gone(fault: BaseException) -> EngineEnded:
    return EngineEnded(
        f"the engine, or a server of it, ended in the middle of this call ({own_words(fault) or type(fault).__name__})",
        fix="call again: an engine is found or started. What was acknowledged is kept; of a write that was not, an "
        "idempotency key tells",
    )
