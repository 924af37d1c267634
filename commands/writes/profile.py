"""The writes of the profile and of todos: a part of `Writes`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from mnemolog.commands.handler import Handler
from mnemolog.commands.profile import PROFILE, ExpirePatch, ProposeProfile, StateProfile, patch_of
from mnemolog.commands.todos import TODOS, OpenTodo
from mnemolog.domain import consent
from mnemolog.domain.consent import PatchStatus
from mnemolog.domain.profile import ProfilePolicy
from mnemolog.events.envelope import Receipt, StreamId
from mnemolog.events.fields import validated
from mnemolog.events.log import EventLog, event_of
from mnemolog.events.profile import TodoEvent


@dataclass(frozen=True, slots=True)
class Proposed:
    """What became of a proposal: `status` is `proposed` while it waits, `granted` or `corroborated` once it applies."""

    patch_id: UUID
    status: PatchStatus
    receipt: Receipt


class ProfileWrites:
    """What `Writes` does to the profile and to todos."""

    _handler: Handler
    _log: EventLog
    _profile: ProfilePolicy

    async def propose(
        self, fields: Mapping[str, Any], idempotency_key: str | None = None, *, consented: bool = False
    ) -> Proposed:
        """A change of the profile; it applies at once, at a later signal, or when it is granted (B §10).

        `consented`: the person himself says so, here and now.
        """
        return await self._proposed(self.proposal(fields, consented=consented), idempotency_key)

    async def _proposed(self, command: ProposeProfile, idempotency_key: str | None) -> Proposed:
        receipt = await self._handler.handle(PROFILE, command, idempotency_key=idempotency_key)
        patch = patch_of(await self._handler.read(PROFILE, command), command)
        if patch is None:  # What holds already was brought back by an undo.
            return Proposed(command.patch_id, PatchStatus.GRANTED, receipt)
        return Proposed(patch.proposed.patch_id, patch.status, receipt)

    def proposal(self, fields: Mapping[str, Any], *, consented: bool = False) -> ProposeProfile:
        """The command, if the policy knows the field and who asks may consent."""
        generated = {"patch_id": self._handler.new_id(), "at": self._handler.now(), "sensitive": True}
        command = validated(StateProfile if consented else ProposeProfile, {**generated, **fields})
        sensitive = self._profile.is_sensitive(command.field)
        if consented:
            consent.require_word_of(self._handler.admitted(command).actor)
        return command.model_copy(update={"sensitive": sensitive})

    async def expire_patch(self, stream: StreamId, patch_id: UUID) -> Receipt:
        """Note that nobody decided in time; nothing when somebody did."""
        context = {"tenant": stream.tenant, "user_id": stream.owner, "actor": consent.CLOCK}
        command = validated(ExpirePatch, {**context, "patch_id": patch_id, "at": self._handler.now()})
        return await self._handler.handle(PROFILE, command)

    async def open_todo(self, fields: Mapping[str, Any], idempotency_key: str | None = None) -> tuple[UUID, Receipt]:
        """A todo of the asking agent; its id is generated. A retry with the same key gives the first id."""
        command = validated(OpenTodo, {"todo_id": self._handler.new_id(), **fields})
        receipt = await self._handler.handle(TODOS, command, idempotency_key=idempotency_key)
        return await self._opened(receipt), receipt

    async def _opened(self, receipt: Receipt) -> UUID:
        """The todo that was opened when the idempotency key was first used."""
        opened = await event_of(self._log, receipt)
        assert isinstance(opened, TodoEvent)
        return opened.todo_id
