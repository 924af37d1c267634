"""The writes of whole batches: roll back, forget many things at once."""

from collections.abc import Sequence
from uuid import UUID

from mnemolog.commands.artifacts import DeleteArtifact
from mnemolog.commands.entities import ForgetEntity
from mnemolog.commands.fact_changes import ForgetFact
from mnemolog.commands.handler import Handler, Keyed
from mnemolog.commands.memories import MEMORIES, SoftDeleteMemory, UndoChange
from mnemolog.commands.memory_undo import last_change
from mnemolog.commands.messages import DeleteMessage
from mnemolog.commands.rollback import NAMED, Plan, Rollback
from mnemolog.commands.rollback import touched as touched_by
from mnemolog.commands.steps import in_steps
from mnemolog.commands.undo import ROLLBACKS
from mnemolog.commands.writes.deciders import decider_of
from mnemolog.domain.errors import InvalidInput
from mnemolog.events.envelope import Receipt, Recorded, StreamId, batch_tag, run_tag
from mnemolog.events.event import Event
from mnemolog.events.fields import validated
from mnemolog.events.log import EventLog, Outcome

Hiding = SoftDeleteMemory | DeleteMessage | ForgetFact | ForgetEntity | DeleteArtifact


class BatchWrites:
    """The part of `Writes` that does many things as one."""

    _handler: Handler
    _log: EventLog

    async def rollback(self, command: Rollback, idempotency_key: str | None = None) -> Receipt:
        """Undo one change, or all of a run, a batch or a stretch of a thread, in one append (X03, X15)."""
        completed = await self._completed(command)
        return await self._handler.handle(ROLLBACKS.decider, completed, idempotency_key=idempotency_key)

    async def rolled_back(self, command: Rollback, idempotency_key: str | None = None) -> tuple[Plan, Receipt]:
        """A rollback, with what its events undid, sent again or not, and the conflicts that are left as they are."""
        receipt = await self.rollback(command, idempotency_key)
        left = (await self.preview_rollback(command)).conflicts if command.skip_conflicts else ()
        return Plan(undone=await self.undone_by(receipt), conflicts=left), receipt

    async def preview_rollback(self, command: Rollback) -> Plan:
        """What a rollback would undo now, and what stands in its way, for whoever asks."""
        completed = self._handler.admitted(await self._completed(command))
        state = await self._handler.read(ROLLBACKS.decider, completed)
        if command.of_event:
            ROLLBACKS.require_change(state, completed)
        return await in_steps(ROLLBACKS.planning(state, completed))

    async def restore_batch(self, command: Rollback) -> Sequence[Event]:
        """Undo what undid the changes of a batch, except where something was changed since; the events that do.

        Deleted items stay deleted.
        """
        events = await self._events_of(self._handler.admitted(command))
        ids = {event.event_id for event in events}
        changes = await self._log.read(command.stream(), tags=touched_by(events)) if events else ()
        undos = [event for event in changes if getattr(event.payload, "undoes", None) in ids]
        generated = {"event_ids": tuple(event.event_id for event in undos), "touched": touched_by(undos)}
        completed = command.model_copy(
            update={**generated, "skip_conflicts": True, "correlation_id": self._handler.new_id()}
        )
        state = await self._handler.read(ROLLBACKS.decider, completed)
        plan = await in_steps(ROLLBACKS.planning(state, self._handler.admitted(completed)))
        if not plan.events:
            return ()
        receipt = await self._handler.handle(ROLLBACKS.decider, completed)
        written = await self._log.read(receipt.stream, after=receipt.first_seq - 1, until=receipt.last_seq)
        return [event.payload for event in written if event.event_id in receipt.event_ids]

    async def preview_undo(
        self, stream: StreamId, memory_id: UUID | None, event_id: UUID | None = None, **context: str | None
    ) -> Plan:
        """What an undo of the last change of a memory, or of an event, would write; what stands in its way."""
        about = {"tenant": stream.tenant, "user_id": stream.owner, "at": self._handler.now(), **context}
        if memory_id is not None:
            last = validated(UndoChange, {**about, "memory_id": memory_id})
            event_id = last_change(self._handler.admitted(last), await self._handler.read(MEMORIES, last))
        return await self.preview_rollback(validated(Rollback, {**about, "of_event": event_id}))

    async def undone_by(self, receipt: Receipt) -> tuple[UUID, ...]:
        """What undoes a merge are several events."""
        written = await self._log.read(receipt.stream, after=receipt.first_seq - 1, until=receipt.last_seq)
        ids = frozenset(receipt.event_ids)
        own = (event.payload for event in written if event.event_id in ids)
        return tuple(dict.fromkeys(undoes for payload in own if (undoes := getattr(payload, "undoes", None))))

    async def _completed(self, command: Rollback) -> Rollback:
        """With the events of what it names. What an event touched never changes, so nothing can come between."""
        events = await self._events_of(self._handler.admitted(command))
        generated = {"event_ids": tuple(event.event_id for event in events), "touched": touched_by(events)}
        return command.model_copy(update={**generated, "correlation_id": self._handler.new_id()})

    async def _events_of(self, command: Rollback) -> Sequence[Recorded]:
        """The events of a change, a run, a batch or a stretch of a thread, oldest first; of one of them."""
        named = len(NAMED) - [getattr(command, name) for name in NAMED].count(None)
        if named != 1:
            raise InvalidInput(
                "only one of these can be rolled back at a time"
                if named
                else "nothing is named that can be rolled back",
                field="of_run",
                fix="give one of of_run, of_batch and of_thread",
            )
        stream = command.stream()
        if command.of_event:
            found = await self._log.find(stream, command.of_event)
            return [found] if found else []
        if command.of_run:
            events = await self._log.read(stream, tags=[run_tag(command.of_run)])
        elif command.of_batch:
            events = await self._log.read(stream, tags=[batch_tag(command.of_batch)])
        else:
            events = [event for event in await self._log.read(stream) if _within(event, command)]
        # A change and its undo are one change that is not in force: else each rollback of a thread took back the last.
        ids = {event.event_id for event in events}
        return [event for event in events if getattr(event.payload, "undoes", None) not in ids]

    async def forget_all(self, commands: Sequence[Hiding], keyed: Keyed | None = None) -> Sequence[Outcome]:
        """Hide things of one user and of one kind, each with its own outcome, in one append."""
        first, timed = commands[0], [(command, self._handler.now()) for command in commands]
        return await self._handler.handle_all(decider_of(first), first.stream(), timed, keyed)


def _within(event: Recorded, command: Rollback) -> bool:
    since, until = command.since, command.until
    in_time = (since is None or since <= event.recorded_at) and (until is None or event.recorded_at < until)
    return event.meta.thread_id == command.of_thread and in_time
