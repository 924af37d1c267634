"""What every part of `Reads` builds on: one way to ask projections at a moment."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.viewer import Viewer
from mnemolog.projections.reads.moment import Moment

T = TypeVar("T")


class Reading(ABC):
    """Implemented by `Reads`."""

    @abstractmethod
    async def _read(
        self,
        viewer: Viewer,
        moment: Moment,
        names: Sequence[str],
        ask: Callable[[AsyncConnection, Viewer], Awaitable[T]],
    ) -> T: ...
