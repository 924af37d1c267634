"""Objects of LangGraph on a memory: the caller's, or one that they open themselves."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mnemolog.blocking import Memory
from mnemolog.domain.errors import InvalidInput
from mnemolog.memory import AsyncMemory
from mnemolog.mirror import Blocking


class Borrowing:
    """Works on `_memory`, and on `_blocking` where it may not await."""

    def _use(self, memory: Memory | AsyncMemory | str | Path | None, settings: Mapping[str, Any]) -> None:
        """A given memory is the caller's, who closes it; else one is opened, in a data directory."""
        self._own = not isinstance(memory, Memory | AsyncMemory)
        if isinstance(memory, Memory | AsyncMemory):
            if settings:
                raise InvalidInput("cannot be combined with `memory`", field=min(settings), fix="set it on that memory")
            self._memory: AsyncMemory = memory.mirrored if isinstance(memory, Memory) else memory
        else:
            self._memory = AsyncMemory(memory, **settings)
        self._blocking = memory if isinstance(memory, Memory) else Blocking(self._memory)

    async def aclose(self) -> None:
        """Close an engine that this object opened itself. The next use opens it again."""
        if self._own:
            await self._memory.close()

    def close(self) -> None:
        """Close an engine that this object opened itself. The next use opens it again."""
        if self._own:
            self._blocking.close()
