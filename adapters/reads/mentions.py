"""Which entities a text mentions. Texts that come while others are looked up share the next look-up."""

import asyncio
import logging
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from uuid import UUID

from mnemolog.adapters.reads.reads import Reads
from mnemolog.adapters.unreachable import UNREACHABLE
from mnemolog.domain.errors import MnemologError
from mnemolog.domain.viewer import Viewer

_logger = logging.getLogger("mnemolog.reads")

LARGEST_GROUP = 64


@dataclass(frozen=True, slots=True)
class Mention:
    """A viewer's text as its phrases, and the future of the entities that it names."""

    viewer: Viewer
    phrases: Collection[str]
    entity_ids: "asyncio.Future[Sequence[UUID]]" = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


class Mentions:
    """A turn is recorded even if nobody can tell what it mentions: then it mentions nothing."""

    def __init__(self, reads: Reads) -> None:
        self._reads = reads
        self._waiting: list[Mention] = []
        self._looking: asyncio.Task[None] | None = None

    async def of(self, viewer: Viewer, phrases: Collection[str]) -> Sequence[UUID]:
        """The entities with one of these names, normalised."""
        if not phrases:
            return ()
        mention = Mention(viewer, phrases)
        self._waiting.append(mention)
        if self._looking is None:
            self._looking = asyncio.create_task(self._look_up_all())
        return await mention.entity_ids

    async def aclose(self) -> None:
        """End the look-up, before its connection is closed."""
        if self._looking:
            self._looking.cancel()
            with suppress(asyncio.CancelledError):
                await self._looking

    async def _look_up_all(self) -> None:
        group: list[Mention] = []
        try:
            while self._waiting:
                # Those of one tenant lie together: a connection sees the rows of one.
                waiting = sorted(self._waiting, key=lambda one: one.viewer.tenant)
                group, self._waiting = waiting[:LARGEST_GROUP], waiting[LARGEST_GROUP:]
                for _, of_tenant in groupby(group, key=lambda one: one.viewer.tenant):
                    await self._look_up([one for one in of_tenant if not one.entity_ids.done()])
        finally:
            self._looking = None
            for mention in (*group, *self._waiting):  # Still open only when the engine closes.
                mention.entity_ids.cancel()

    async def _look_up(self, group: Sequence[Mention]) -> None:
        if not group:
            return
        found: Sequence[Sequence[UUID]] = [()] * len(group)
        try:
            found = await self._reads.named_in([(one.viewer, one.phrases) for one in group])
        except (MnemologError, *UNREACHABLE) as error:
            _logger.warning(
                "the entities that %d turns mention are not looked up: %s", len(group), type(error).__name__
            )
        for mention, entity_ids in zip(group, found, strict=True):
            if not mention.entity_ids.done():
                mention.entity_ids.set_result(entity_ids)
