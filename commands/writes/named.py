"""The events that a rollback names: of a change, a run, a batch or a stretch of a thread."""

from collections.abc import Sequence

from mnemolog.commands.rollback import NAMED, Rollback
from mnemolog.domain.errors import InvalidInput
from mnemolog.events.envelope import Recorded, batch_tag, run_tag
from mnemolog.events.log import EventLog


async def named_by(log: EventLog, command: Rollback) -> Sequence[Recorded]:
    """Oldest first; InvalidInput unless exactly one thing is named."""
    if [getattr(command, name) for name in NAMED].count(None) != len(NAMED) - 1:
        raise InvalidInput(
            "one thing at a time is rolled back", field="of_run", fix="give one of of_run, of_batch and of_thread"
        )
    stream = command.stream()
    if command.of_event:
        found = await log.find(stream, command.of_event)
        return [found] if found else []
    if command.of_run:
        return _without_own_undos(await log.read(stream, tags=[run_tag(command.of_run)]))
    if command.of_batch:
        return _without_own_undos(await log.read(stream, tags=[batch_tag(command.of_batch)]))
    return _without_own_undos([event for event in await log.read(stream) if _within(event, command)])


def _without_own_undos(events: Sequence[Recorded]) -> Sequence[Recorded]:
    """A change and its undo are one change that is not in force: else each rollback of a thread took back the last."""
    named = {event.event_id for event in events}
    return [event for event in events if getattr(event.payload, "undoes", None) not in named]


def _within(event: Recorded, command: Rollback) -> bool:
    since, until = command.since, command.until
    in_time = (since is None or since <= event.recorded_at) and (until is None or event.recorded_at < until)
    return event.meta.thread_id == command.of_thread and in_time
