"""The reads of the profile, of proposals and of todos."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from mnemolog.domain import consent, todo
from mnemolog.domain.identity import identifier
from mnemolog.domain.viewer import Viewer
from mnemolog.events.profile import field_tag, todo_tag
from mnemolog.projections.history import from_log
from mnemolog.projections.paging import Slice, slice_of
from mnemolog.projections.profile import reader as profile
from mnemolog.projections.reads.moment import NOW, Moment
from mnemolog.projections.reads.reading import CONVERSATION, PROFILE, Reading


class ProfileReads(Reading):
    """The part of `Reads` for the profile and the agent's own todos."""

    async def profile(self, viewer: Viewer, moment: Moment = NOW) -> Sequence[Mapping[str, Any]]:
        """What users said about themselves, by field (B §10)."""
        return await self._read(viewer, moment, (PROFILE,), profile.fields)

    async def consent(
        self,
        viewer: Viewer,
        status: consent.PatchStatus | None = None,
        limit: int = 100,
        moment: Moment = NOW,
        cursor: str | None = None,
    ) -> Slice:
        """The proposals for the profile and their outcome, newest first (B §10)."""
        ask = partial(profile.patches, status=status, limit=limit, cursor=cursor)
        return await self._read(viewer, moment, (PROFILE,), ask)

    async def todos(
        self,
        viewer: Viewer,
        status: todo.TodoStatus | None = None,
        kind: todo.TodoKind | None = None,
        moment: Moment = NOW,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Slice:
        """The agent's own todos about a user: those due first come first, then the oldest (D11)."""
        ask = partial(profile.own_todos, status=status, kind=kind, limit=limit, cursor=cursor)
        return await self._read(viewer, moment, (PROFILE, CONVERSATION), ask)

    async def field_history(
        self, viewer: Viewer, field: str, limit: int = 100, moment: Moment = NOW, cursor: str | None = None
    ) -> Slice:
        """What was proposed, decided and set for a field of the profile, newest first."""
        self._admitted(viewer)  # Before any other check.
        field = identifier(field, "field")
        found = await self._from_log(viewer, moment, field_tag(field), partial(from_log.of_field, field=field))
        return slice_of(found, "id", limit, cursor)

    async def todo_history(
        self, viewer: Viewer, todo_id: UUID, limit: int = 100, moment: Moment = NOW, cursor: str | None = None
    ) -> Slice:
        """How one of the agent's own todos was opened and changed, newest first."""
        read = partial(from_log.of_todo, todo_id=todo_id)
        return slice_of(await self._from_log(viewer, moment, todo_tag(todo_id), read), "id", limit, cursor)
