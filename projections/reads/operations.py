"""The reads of operational counts."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.principal import Role
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.operations.counted import Over, Wanted
from mnemolog.projections.operations.reader import counts
from mnemolog.projections.paging import Slice, slice_of
from mnemolog.projections.reads.moment import NOW, Moment
from mnemolog.projections.reads.reading import OPERATIONS, Reading


class OperationReads(Reading):
    """The part of `Reads` for operational counts (B §14)."""

    async def operations(
        self, viewer: Viewer, wanted: Wanted, limit: int = 100, moment: Moment = NOW, cursor: str | None = None
    ) -> Slice:
        """How often operations happened, the latest period first."""
        if self._principal and wanted.over is not Over.AGENT:
            self._principal.require_every_agent()
            if wanted.over is Over.TENANT:
                self._principal.require(Role.ADMIN)
                self._principal.require_every_user()
        if wanted.over is Over.TENANT and (moment.as_of is not None or moment.after):
            raise InvalidInput("is of one user", field="as_of", fix="leave out `as_of` and `after`, or pass `until`")
        found: Sequence[Mapping[str, Any]] = await self._read(
            viewer, moment, (OPERATIONS,), partial(counts, wanted=wanted)
        )
        return slice_of(found, "id", limit, cursor)
